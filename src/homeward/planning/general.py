"""Plans until the next news on general models: information per step by a price on steps.

The proposal is a policy that ends by collecting a bonus. With a price λ per unit of cost its worth

    V(s) = max_a max( r[s, a] + ξ[s, a] − λ k[s, a],  r[s, a] − λ k[s, a] + Σ_t p[s, a, t] V(t) )

is that of a stochastic shortest path on the mean model, solved by policy iteration from collecting
at once. λ is the best ratio of gain to cost where V is 0 at the start: Dinkelbach's method
sets λ to the ratio that the last policy has and solves again, until it no longer rises. The cost is
one a step; where nothing free is worth it, the risk of a step.

Where a model earns, waiting to earn is what a step forgoes: the largest reward per step that can be
kept up at no risk is taken off every reward, so no policy gains by only waiting. Once nothing is
worth learning, the policy that earns most without risking anything more is followed.

What an action risks is the expected fall of a lower bound v on Y, the probability that the held way
home works. On a `FiniteBelief` v is Y itself: the way home is evaluated in each world. On a
`DirichletBelief` v is the corrected way home, now and after each outcome of the action with what it
teaches; where a look makes surer, the charge is negative. Other beliefs are charged 1 − (σ[s, a] +
Σ_t p[s, a, t] v_t), by the one-step lemma. ``docs/theory.md``, section 11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import spsolve

from homeward.arrays import frozen
from homeward.beliefs import DirichletBelief, FiniteBelief, Transition, corrections_of
from homeward.beliefs.corrections import Correction
from homeward.models import SparseMDP
from homeward.planning.held import Account
from homeward.solvers import GIVE_UP, solve_return
from homeward.solvers.engines import engine

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.planning.ledger import Ledger

ROUNDS = 200
"""Rounds of policy iteration at most."""

FORGONE = 1e-6
"""1 − γ of the optimum by which the reward that a step forgoes is bounded."""

LEAK = 1e-10
"""Probability by which a priced path ends at every step: it gives every policy a value."""

ROUNDING = 1e-14
"""Allowance for the rounding of a linear solve, in probability."""


class Returns(NamedTuple):
    """The ways home on a general model, as a ledger sees them.

    Attributes
    ----------
    account
        What is held.
    value
        Lower bound [S] on the probability that the held way home works.
    charge
        What each action [S, A] would cost: exact in the present state, elsewhere an estimate that
        plans rely on. Below 0 where it is expected to make the way home surer.
    lost
        Whether no way home is left.
    """

    account: Account
    value: FloatArray
    charge: FloatArray
    lost: bool

    def pay(self, state: int, action: int) -> Account:
        """Return the account after an action; what makes the way home surer refills it, up to δ."""
        cost = 0.0 if self.lost else float(self.charge[state, action])
        return Account(self.account.way, min(1.0, max(0.0, self.account.spent + cost)))


class Ratio(NamedTuple):
    """The best ratio of gain to cost from a state.

    Attributes
    ----------
    action
        What to do now; −1 where nothing can be gained.
    gain, steps, cost
        Expected totals until the bonus is collected; the gain less what waiting would earn.
    """

    action: int
    gain: float
    steps: float
    cost: float


def returns_of(
    belief: Any,
    model: SparseMDP,
    ledger: Ledger,
    account: Account | None,
    state: int,
    correction: Correction | None,
) -> Returns:
    """Return the ways home and what actions cost, given what is held (None: nothing yet)."""
    kind = Correction.NAIVE if correction is Correction.NAIVE else Correction.GENERAL
    sigma = corrections_of(belief, model, 0.5, kind).returning
    solved = solve_return(model, sigma, ledger.homes)
    policy, value = solved.policy, solved.value
    shape = (model.states, model.actions)
    if isinstance(belief, FiniteBelief) and kind is Correction.GENERAL:
        worlds = [world.sparse().transitions for world in belief.worlds]
        chances = _in_worlds(worlds, policy, ledger.homes, model)
        if account is not None:
            held = _in_worlds(worlds, account.way, ledger.homes, model)
            if belief.weights @ held[:, state] > belief.weights @ chances[:, state]:
                policy, chances = account.way, held
        value = belief.weights @ chances
        after = sum(
            weight * (rows @ chance).reshape(shape)
            for weight, rows, chance in zip(belief.weights, worlds, chances, strict=True)
        )
        charge = np.maximum(0.0, value[:, None] - after + ROUNDING)
        value = np.maximum(0.0, value - ROUNDING)
    else:
        after = sigma + (model.transitions @ value).reshape(shape)
        if isinstance(belief, DirichletBelief):
            charge = np.maximum(0.0, value[:, None] - after)
            charge[state] = value[state] + ROUNDING - _returns_after(belief, state, ledger, kind)
        else:
            charge = np.clip(1.0 - after, 0.0, 1.0)
            if account is not None and account.way[state] >= 0 and (account.way == policy).all():
                charge[state, account.way[state]] = 0.0
    charge[np.abs(charge) <= 2.0 * ROUNDING] = 0.0
    lost = not _can_reach(model, policy if account is None else account.way, state, ledger.homes)
    lost = lost and not _can_reach(model, policy, state, ledger.homes)
    spent = 1.0 - float(value[state]) if account is None else account.spent
    return Returns(Account(frozen(policy), spent), value, charge, lost)


def way_home_of(belief: DirichletBelief, ledger: Ledger, correction: Correction | None) -> IntArray:
    """Return the corrected way home [S] of what is believed now."""
    kind = Correction.NAIVE if correction is Correction.NAIVE else Correction.GENERAL
    model = belief.mean()
    sigma = corrections_of(belief, model, 0.5, kind).returning
    return frozen(solve_return(model, sigma, ledger.homes).policy)


def _returns_after(
    belief: DirichletBelief, state: int, ledger: Ledger, kind: Correction
) -> FloatArray:
    """Return the expected lower bound [A] on coming home after each action and what it teaches."""
    model = belief.mean()
    found = np.zeros(model.actions)
    values: dict[tuple[int, int], FloatArray] = {}
    for a in range(model.actions):
        row = model.transitions[[state * model.actions + a]]
        for there, probability in zip(row.indices.tolist(), row.data.tolist(), strict=True):
            tied = int(belief.kinds[state, a])
            leads = (belief.outcomes[state, a] == there) & (belief.alpha[tied] > 0.0)
            taught = tied, int(np.argmax(leads))  # tied actions teach the same
            if taught not in values:
                after = belief.update(Transition(state, a, there))
                mean = after.mean()
                sigma = corrections_of(after, mean, 0.5, kind).returning
                values[taught] = solve_return(mean, sigma, ledger.homes).value
            found[a] += probability * values[taught][there]
    return found


class Earning(NamedTuple):
    """The policy that earns most, seen from one state.

    Attributes
    ----------
    action
        What it does now.
    rates
        Discounted reward per step [A] of each action, with the policy followed afterwards; −inf
        where an action can't be taken.
    """

    action: int
    rates: FloatArray


def best_earning(
    model: SparseMDP, allowed: BoolArray, discount: float, state: int
) -> Earning | None:
    """Return the policy that earns most by actions that are `allowed` [S, A] for ever after.

    None where it would earn nothing.
    """
    usable = allowed & np.isfinite(model.reward)
    links = (model.transitions > 0).astype(np.int8)
    while True:  # an action that may lead to where nothing is allowed is not allowed either
        stuck: BoolArray = ~np.any(usable, axis=1)
        kept = usable & ((links @ stuck.astype(np.int8)) == 0).reshape(usable.shape)
        if (kept == usable).all():
            break
        usable = kept
    if stuck[state]:
        return None
    reward = np.where(usable, model.reward, -np.inf)
    reward[stuck] = 0.0  # they are never entered
    solved = engine(model, discount, reward[None]).optimise(np.ones(1))
    value = solved.values[0]
    if value[state] <= 0.0:
        return None
    rows = model.transitions[state * model.actions : (state + 1) * model.actions]
    rates = (1.0 - discount) * (reward[state] + discount * (rows @ value))
    return Earning(int(solved.policy[state]), rates)


def most_earned(model: SparseMDP, usable: BoolArray, state: int) -> float:
    """Return an upper bound on the reward per step that `usable` [S, A] actions can keep up.

    Only what can be reached from `state` counts. With V the optimum at a discount γ near 1, the
    largest (1 − γ) V bounds the average of every policy: under its stationary law the mean of its
    own (1 − γ) V is that average. At least 0: a run may end.
    """
    if not (usable & (model.reward > 0.0)).any():
        return 0.0
    rows = (diags_array(usable.ravel().astype(np.float64)) @ model.transitions).tocsr()
    parts = rows.data, rows.indices, rows.indptr[:: model.actions].copy()
    links = csr_array(parts, (model.states, model.states))
    met = breadth_first_order(links, state, return_predecessors=False)
    ending = SparseMDP(rows, np.where(usable, model.reward, 0.0))  # what is not usable ends
    solved = engine(ending, 1.0 - FORGONE, ending.reward[None]).optimise(np.ones(1))
    return max(0.0, FORGONE * float(solved.values[0, met].max())) * (1.0 + 1e-9)


def best_ratio(
    model: SparseMDP,
    bonus: FloatArray,
    cost: FloatArray,
    allowed: BoolArray,
    state: int,
    toll: FloatArray | float = 0.0,
    free: BoolArray | None = None,
) -> Ratio:
    """Return the policy start with the best ratio of bonus (and reward) to cost.

    `bonus` and `cost` [S, A] are at least 0, the cost above 0 where `allowed` [S, A]. A `toll`
    [S, A] is taken off the reward, and what a policy of `free` [S, A] actions (all unless given)
    could keep up earning.
    """
    usable = allowed & np.isfinite(model.reward)
    forgone = most_earned(model, usable if free is None else usable & free, state)
    reward = np.where(usable, model.reward - toll - forgone, 0.0)
    ends = np.where(usable, bonus, 0.0)
    if not usable[state].any() or not (ends > 0.0).any():
        return Ratio(-1, 0.0, np.inf, np.inf)
    price, best = 0.0, Ratio(-1, 0.0, np.inf, np.inf)
    least = 1e-9 * float(ends.max()) / float(cost[usable].max())
    for _ in range(50):
        policy, stops = _priced(model, ends, reward, cost, usable, max(price, least))
        gain, steps, costs = _totals(model, ends, reward, cost, policy, stops)
        if not (np.isfinite(gain[state]) and costs[state] > 0.0) or gain[state] <= 0.0:
            break
        ratio = float(gain[state] / costs[state])
        if best.action >= 0 and ratio <= price * (1.0 + 1e-12):
            break
        price = ratio
        best = Ratio(
            int(policy[state]), float(gain[state]), float(steps[state]), float(costs[state])
        )
    return best


def _priced(
    model: SparseMDP,
    ends: FloatArray,
    reward: FloatArray,
    cost: FloatArray,
    usable: BoolArray,
    price: float,
) -> tuple[IntArray, BoolArray]:
    """Return the best policy [S] under a price on costs, and where it ends by collecting [S].

    Policy iteration. A little leaks away at every step, so that a policy that never collects has a
    value too, a very low one.
    """
    states, shape = np.arange(model.states), usable.shape
    paid = np.where(usable, reward - price * cost, -np.inf)
    ending = np.where(usable & (ends > 0.0), paid + ends, -np.inf)
    last, last_action = ending.max(axis=1), ending.argmax(axis=1)
    nowhere = ~np.any(usable, axis=1)  # left out of plans by a value below any other
    bottom = -2.0 * (1.0 + np.abs(paid[usable]).max() + ends.max()) / LEAK
    stops = np.isfinite(last) | nowhere
    last = np.where(nowhere, bottom, last)
    policy = np.where(stops, last_action, usable.argmax(axis=1))
    for _ in range(ROUNDS):
        rows = model.transitions[states * model.actions + policy]
        onward = diags_array(np.where(stops, 0.0, 1.0 - LEAK)) @ rows
        right = np.where(stops, last, paid[states, policy])
        value = spsolve((eye_array(model.states) - onward).tocsc(), right)
        going = paid + (1.0 - LEAK) * (model.transitions @ value).reshape(shape)
        best, ahead = going.argmax(axis=1), going.max(axis=1)
        better = np.maximum(ahead, last) > value + 1e-11 * (1.0 + np.abs(value))
        better &= ~nowhere
        if not better.any():
            break
        ends_now = last >= ahead
        stops = np.where(better, ends_now, stops)
        policy = np.where(better, np.where(ends_now, last_action, best), policy)
    return policy.astype(np.int32), stops


def _totals(
    model: SparseMDP,
    ends: FloatArray,
    reward: FloatArray,
    cost: FloatArray,
    policy: IntArray,
    stops: BoolArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the expected gain, steps and cost [S] of a policy until it collects."""
    states = np.arange(model.states)
    rows = model.transitions[states * model.actions + policy]
    onward = diags_array((~stops).astype(np.float64)) @ rows
    paid = reward[states, policy] + np.where(stops, ends[states, policy], 0.0)
    right = np.column_stack([paid, np.ones(model.states), cost[states, policy]])
    # A policy that never collects has no total: a little leaks away, so that it shows as large.
    system = (eye_array(model.states) - (1.0 - 1e-12) * onward).tocsc()
    found = np.atleast_2d(spsolve(system, right))
    found = np.where(np.isfinite(found), found, np.inf)
    return found[:, 0], found[:, 1], found[:, 2]


def _in_worlds(
    worlds: list[csr_array], policy: IntArray, homes: IntArray, model: SparseMDP
) -> FloatArray:
    """Return the probability [M, S] that a policy reaches home, in each world."""
    states = np.arange(model.states)
    at_home = np.zeros(model.states, dtype=bool)
    at_home[homes] = True
    moving = (policy != GIVE_UP) & ~at_home
    found = np.zeros((len(worlds), model.states))
    for m, transitions in enumerate(worlds):
        rows = transitions[states * model.actions + np.maximum(policy, 0)]
        reaches = _reaches(rows, moving, at_home)
        active = np.flatnonzero(reaches & moving)
        found[m, at_home] = 1.0
        if len(active):
            part = rows[active]
            system = (eye_array(len(active)) - part[:, active]).tocsc()
            into = np.asarray(part[:, at_home].sum(axis=1)).ravel()
            found[m, active] = np.clip(spsolve(system, into), 0.0, 1.0)
    return found


def _reaches(rows: csr_array, moving: BoolArray, at_home: BoolArray) -> BoolArray:
    """Return which states [S] may reach home by links that a linear solve can tell from 0."""
    links = (rows > 2.0**-53).astype(np.int8)
    found = at_home.copy()
    while True:
        more = found | (moving & ((links @ found.astype(np.int8)) > 0))
        if (more == found).all():
            return found
        found = more


def _can_reach(model: SparseMDP, policy: IntArray, state: int, homes: IntArray) -> bool:
    """Tell whether a policy may lead home on the mean model, and so in some world."""
    at_home = np.zeros(model.states, dtype=bool)
    at_home[homes] = True
    rows = model.transitions[np.arange(model.states) * model.actions + np.maximum(policy, 0)]
    return bool(_reaches(rows, (policy != GIVE_UP) & ~at_home, at_home)[state])
