"""Ways home on general models, and the risk that each action adds to them.

Let Y be the probability that the held way home works, and v a lower bound on it. The charge of an
action is the expected decrease of v. On a `FiniteBelief` v is Y itself: the way home is evaluated
in each world. On a `DirichletBelief` v is the corrected value of the way home, before the action
and after an update on each of its outcomes; the charge is negative if v is expected to rise. On
other beliefs the charge is u(s) − w(s, a): u is an upper bound on the probability that the held way
home works, and w a lower bound on the probability that the next one works after the action
(`after_action.after_rows`; ``docs/theory.md``, section 11). Both are exact where rows are known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack, vstack

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen
from homeward.beliefs import DirichletBelief, FiniteBelief, Transition, corrections_of
from homeward.beliefs.corrections import Correction
from homeward.models import Moves, SparseMDP
from homeward.planning.adaptive import LEAST_LINK, Worlds, can_reach
from homeward.planning.after_action import after_rows
from homeward.planning.graph import graph_of, mask_of
from homeward.planning.promise import Promise
from homeward.solvers import GIVE_UP, solve_return
from homeward.solvers.folding import missing_mass

if TYPE_CHECKING:
    from homeward.planning.ledger import Ledger

SOLVE_TOLERANCE = 1e-14  # allowance for the rounding of a linear solve, in probability
LEAST_RISE = 1e-9  # rise of a bound, in probability, that is worth another round


class Returns(NamedTuple):
    """The ways home on a general model; the charge is exact in the present state only."""

    account: Promise  # the return policies that the run holds
    value: FloatArray  # [S] lower bound on the probability that the held way home works
    charge: FloatArray  # [S, A] risk that an action would add; below 0 if the way home gets safer
    lost: bool  # whether no way home is left
    after: FloatArray  # [A] lower bound on coming home after each action in the present state
    choices: tuple[Promise, ...] = ()  # [A] account after each action; empty: always `account`

    def pay(self, state: int, action: int, chance: float = 1.0) -> Promise:
        """Return the account after an action that is taken with probability `chance`.

        A negative charge reduces what is spent.
        """
        cost = 0.0 if self.lost else chance * float(self.charge[state, action])
        account = self.choices[action] if self.choices else self.account
        return replace(account, spent=min(1.0, max(0.0, account.spent + cost)))


def returns_of(
    belief: Any,
    model: SparseMDP,
    ledger: Ledger,
    account: Promise | None,
    state: int,
    correction: Correction | None,
) -> Returns:
    """Return the ways home and the charge of each action; `account` is None before a run."""
    if isinstance(belief, FiniteBelief) and correction is not Correction.NAIVE:
        return _exact_returns(belief, ledger, account, state)
    sigma, policy, value = _corrected(belief, model, ledger, correction)
    ahead = after_rows(model.transitions, sigma.ravel(), value).reshape(sigma.shape)
    after = ahead[state]
    if isinstance(belief, DirichletBelief):
        charge = np.maximum(0.0, value[:, None] - ahead)
        expected = _returns_after(belief, state, ledger, correction)
        charge[state] = value[state] + SOLVE_TOLERANCE - expected
        after = np.maximum(after, expected - SOLVE_TOLERANCE)
    else:
        ahead = np.minimum(ahead, value[:, None])  # the next way home is held before the action
        most = _most(model, sigma, policy, ledger.homes)
        charge = np.clip(most[:, None] - ahead, 0.0, 1.0)
        if account is not None and (account.way == policy).all():
            charge[state, _stays(model, state)] = 0.0
            if policy[state] != GIVE_UP:
                charge[state, policy[state]] = 0.0
        elif account is not None:
            most = _most(model, sigma, account.way, ledger.homes)
            charge[state] = np.clip(most[state] - ahead[state], 0.0, 1.0)
    charge[np.abs(charge) <= 2.0 * SOLVE_TOLERANCE] = 0.0
    at_home = mask_of(model.states, ledger.homes)
    ways = [policy] if account is None else [account.way, policy]
    lost = not any(reaches(model.transitions, model.actions, way, at_home)[state] for way in ways)
    spent = 1.0 - float(value[state]) if account is None else account.spent
    return Returns(Promise.of(policy, spent), value, charge, lost, after)


def _exact_returns(
    belief: FiniteBelief, ledger: Ledger, account: Promise | None, state: int
) -> Returns:
    """Return the ways home, evaluated in every world.

    After an action the run holds the way for which the action costs least: the way held before, the
    best adaptive way, or the best way that does not adapt. With Y the probability that the held way
    works, an action after which way k is held costs Y − min(Y_k now, Y_k after the action).
    """
    worlds = Worlds(belief, ledger.homes)
    ways = [worlds.best(adapts=worlds.adapts)]
    if ways[0].policies:
        ways.append(worlds.best(adapts=False))
    held = max(ways, key=lambda way: float(way.value[state]))
    spent = max(0.0, 1.0 - float(held.value[state]) + SOLVE_TOLERANCE)
    if account is not None:
        held, spent = worlds.held(account.policies, account.way), account.spent
        ways = [held, *(way for way in ways if not way.same_as(held))]
    best = max(ways, key=lambda way: float(way.value[state]))
    charge = np.maximum(0.0, best.value[:, None] - best.after + SOLVE_TOLERANCE)
    kept = np.array([np.minimum(way.value[state], way.after[state]) for way in ways])  # [K, A]
    charge[state] = held.value[state] - kept.max(axis=0) + SOLVE_TOLERANCE
    charge[np.abs(charge) <= 2.0 * SOLVE_TOLERANCE] = 0.0
    value = np.maximum(0.0, best.value - SOLVE_TOLERANCE)
    accounts = [Promise.of(way.policy, spent, policies=way.policies) for way in ways]
    choices = tuple(accounts[k] for k in kept.argmax(axis=0))
    lost = not best.value[state] > 0.0
    after = np.max([way.after[state] for way in ways], axis=0)
    after = np.maximum(0.0, after - SOLVE_TOLERANCE)
    return Returns(accounts[ways.index(best)], value, charge, lost, after, choices)


def way_home_of(belief: DirichletBelief, ledger: Ledger, correction: Correction | None) -> IntArray:
    """Return the return policy [S] that is best under the correction of a belief."""
    return frozen(_corrected(belief, belief.mean(), ledger, correction)[1])


def _corrected(
    belief: Any, model: SparseMDP, ledger: Ledger, correction: Correction | None
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return the correction σ [S, A], the best way home [S] under it, and its lower bound [S].

    On move-or-stay models with rewards, the risks of edges make the correction smaller.
    """
    kind = Correction.NAIVE if correction is Correction.NAIVE else Correction.GENERAL
    sigma, mean = corrections_of(belief, model, 0.5, kind).returning, belief.mean()
    if isinstance(mean, Moves):
        graph = graph_of(belief, mean, correction)
        least = np.maximum(sigma, -graph.success * graph.blocked)
        solved = solve_return(mean, least, ledger.homes)
    else:
        solved = solve_return(model, sigma, ledger.homes)
    policy, value = solved.policy, solved.value.copy()
    going = np.flatnonzero(policy != GIVE_UP)
    rows = model.transitions[going * model.actions + policy[going]]
    for _ in range(model.states):
        better = after_rows(rows, sigma[going, policy[going]], value)
        if (better - value[going]).max(initial=0.0) <= LEAST_RISE:
            break
        value[going] = np.maximum(value[going], better)
    return sigma, policy, value


def _most(model: SparseMDP, sigma: FloatArray, way: IntArray, homes: IntArray) -> FloatArray:
    """Return upper bounds [S] on the probability that a policy [S] leads home.

    They are 1 minus the corrected value of getting lost: of ending the process, or of entering a
    state from which the policy never leads home.
    """
    at_home, action = mask_of(model.states, homes), np.maximum(way, 0)
    rows = model.transitions[np.arange(model.states) * model.actions + action]
    moving = (way != GIVE_UP) & ~at_home
    reached = can_reach(rows > 0.0, at_home, moving)
    moving &= reached
    ends = np.where(moving, missing_mass(rows), 0.0)
    chain = hstack([diags_array(moving.astype(np.float64)) @ rows, ends[:, None]])
    chain = vstack([chain, csr_array((1, model.states + 1))]).tocsr()
    due = np.append(np.where(moving, sigma[np.arange(model.states), action], 0.0), 0.0)
    lost = np.append(np.flatnonzero(~reached), model.states)
    loss = solve_return(SparseMDP(chain), due[:, None], lost).value[:-1]
    most: FloatArray = np.minimum(1.0, 1.0 - loss + SOLVE_TOLERANCE)
    return most


def _stays(model: SparseMDP, state: int) -> BoolArray:
    """Return the mask [A] of actions that surely stay in a state."""
    rows = model.transitions[state * model.actions : (state + 1) * model.actions]
    stays: BoolArray = rows[:, [state]].toarray()[:, 0] >= 1.0
    return stays


def _returns_after(
    belief: DirichletBelief, state: int, ledger: Ledger, correction: Correction | None
) -> FloatArray:
    """Return the expected lower bound [A] on coming home after each action and its update."""
    model = belief.mean()
    expected = np.zeros(model.actions)
    values: dict[tuple[int, int], FloatArray] = {}
    for a in range(model.actions):
        row = model.transitions[[state * model.actions + a]]
        for there, probability in zip(row.indices.tolist(), row.data.tolist(), strict=True):
            tied = int(belief.kinds[state, a])
            leads = (belief.outcomes[state, a] == there) & (belief.alpha[tied] > 0.0)
            taught = tied, int(np.argmax(leads))  # tied actions have the same update
            if not belief.teaches(state, a):
                taught = -1, -1  # nothing is counted
            if taught not in values:
                after = belief.update(Transition(state, a, there))
                values[taught] = _corrected(after, after.mean(), ledger, correction)[2]
            expected[a] += probability * values[taught][there]
    return expected


def reaches(
    transitions: csr_array, actions: int, policy: IntArray, at_home: BoolArray
) -> BoolArray:
    """Return the mask [S] of states from which a policy [S] may reach home."""
    rows = transitions[np.arange(len(policy)) * actions + np.maximum(policy, 0)]
    return can_reach(rows > LEAST_LINK, at_home, (policy != GIVE_UP) & ~at_home)
