"""Ways home on any belief over general models, by its correction of the mean model.

With p = E[P] and v a lower bound on the probability V of coming home, an action leads home with

    E[Σ_t P_t V_t]  ≥  σ + Σ_t p_t v_t      and      ≥  Σ_t max(0, p_t − (1 − v_t)),

the second since E[P_t (1 − V_t)] is at most p_t and at most 1 − v_t. The larger one, `after_rows`,
charges death once; both are exact where the row is known. On beliefs that learn from transitions
alone (`Belief.learns_transitions`) an action is charged by the expected fall of v itself, after the
update on each outcome; the charge is below 0 if v is expected to rise. On other beliefs an action
costs u(s) − w(s, a): u is an upper bound on the probability that the policy relied on leads home,
and w the bound of above for the policy that is relied on next (``docs/theory.md``, section 11).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack, vstack

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs import Belief
from homeward.beliefs.base import claimed, corrections_of
from homeward.beliefs.corrections import Correction
from homeward.beliefs.observations import Transition
from homeward.models import Moves, SparseMDP
from homeward.planning.promise import Promise
from homeward.planning.returning.policies import (
    PolicyOptions,
    PolicyReturning,
    can_reach,
    check_answer,
    leads_home,
    mask_of,
)
from homeward.solvers import GIVE_UP, solve_return
from homeward.solvers.folding import missing_mass
from homeward.solvers.returns import return_value
from homeward.threads import on_one_thread

SOLVE_TOLERANCE = 1e-14  # allowance for the rounding of a linear solve, in probability
LEAST_RISE = 1e-9  # rise of a bound, in probability, that is worth another round
ROUNDED = 1.0 + 2.0**-46  # more than a sum of a few products of probabilities is rounded


class Solved(NamedTuple):
    """The best return policy under a correction."""

    model: SparseMDP  # the mean model
    sigma: FloatArray  # [S, A] the correction, at most 0
    policy: IntArray  # [S] −1 at home and where it gives up
    value: FloatArray  # [S] lower bound on the probability of coming home


@dataclass(frozen=True, slots=True, eq=False)
class CorrectedReturning(PolicyReturning):
    """Keeps a promise by a correction; see `returning.Returning`."""

    correction: Correction | None = None  # the naive one proves nothing; None: the tightest

    evaluator: ClassVar[str] = "correction"

    def open(self, belief: Belief, start: int) -> Promise:
        """Return the promise of a run before its first step; it pays for the way home."""
        solved = self.solve(belief)
        return Promise.of(solved.policy, 1.0 - float(solved.value[start]))

    @on_one_thread
    def options(
        self, belief: Belief, promise: Promise, state: int, changed: IntArray | None
    ) -> PolicyOptions:
        """Return what the promise allows in a state."""
        held = promise.way
        solved = self.solve(belief, held)
        model, sigma, policy, value = solved
        at_home = mask_of(model.states, self.goal.homes)
        ahead = after_rows(model.transitions, sigma.ravel(), value).reshape(sigma.shape)
        after, least, most = ahead[state], float(value[state]), float(value[state])
        same = bool((held == policy).all())
        if belief.learns_transitions:
            charge = np.maximum(0.0, value[:, None] - ahead)
            expected = self._expected(belief, solved, state)
            charge[state] = value[state] + SOLVE_TOLERANCE - expected
            after = np.maximum(after, expected - SOLVE_TOLERANCE)
        else:
            ahead = np.minimum(ahead, value[:, None])  # the next policy is relied on before it
            highest = _most(solved, policy, at_home)
            charge = np.clip(highest[:, None] - ahead, 0.0, 1.0)
            if same:
                charge[state, _stays(model, state)] = 0.0
                if policy[state] != GIVE_UP:
                    charge[state, policy[state]] = 0.0
            else:
                highest = _most(solved, held, at_home)
                charge[state] = np.clip(highest[state] - ahead[state], 0.0, 1.0)
                least = float(return_value(model, sigma, self.goal.homes, held)[state])
            most = float(highest[state])
        charge[np.abs(charge) <= 2.0 * SOLVE_TOLERANCE] = 0.0
        links = model.transitions, model.actions
        lost = not any(leads_home(*links, way, at_home)[state] for way in (held, policy))
        best = Promise.of(policy, promise.spent)
        return PolicyOptions(
            goal=self.goal,
            state=state,
            promise=best if same or belief.learns_transitions else promise,
            best=best,
            bounds=value,
            charge=charge,
            ahead=after,
            least=least,
            most=most,
            lost=lost,
        )

    def observed(
        self,
        belief: Belief,
        promise: Promise,
        observation: Any,
        moved: Transition | None,
        state: int,
    ) -> Promise:
        """Return the promise after the belief was updated by an observation.

        On a belief that learns from transitions alone, the policy is solved again, as the charge
        assumes. It raises unless the observation holds the transition of the move and nothing else
        but visits: what else it tells was not charged.
        """
        if not belief.learns_transitions:
            return promise
        if self.correction is not Correction.NAIVE:
            kind = type(belief).__name__
            what = f"the budget of a {kind} without sampled certificates"
            check_answer(observation, moved, belief.mean(), what)
        return Promise.of(self.solve(belief, promise.way).policy, promise.spent)

    @on_one_thread
    def solve(self, belief: Belief, start: IntArray | None = None) -> Solved:
        """Return the best return policy, its correction and its bound.

        The search starts from the policy `start` [S]. On move-or-stay models with rewards, the
        probabilities that moves never work make the correction smaller.
        """
        mean, homes = belief.mean(), self.goal.homes
        model = mean.sparse()
        naive = self.correction is Correction.NAIVE
        kind = Correction.NAIVE if naive else Correction.GENERAL
        sigma = corrections_of(belief, mean, 0.5, kind).returning
        if isinstance(mean, Moves) and self.correction in (None, Correction.MOVES):
            blocked = belief.blocked_probability()
            blocked = claimed(belief, "blocked_probability", blocked, mean)
            found = solve_return(mean, np.maximum(sigma, -mean.success * blocked), homes)
        else:
            found = solve_return(mean, sigma, homes, start)
        policy, value = found.policy, found.value.copy()
        going = np.flatnonzero(policy != GIVE_UP)
        rows = model.transitions[going * model.actions + policy[going]]
        for _ in range(model.states):
            better = after_rows(rows, sigma[going, policy[going]], value)
            if (better - value[going]).max(initial=0.0) <= LEAST_RISE:
                break
            value[going] = np.maximum(value[going], better)
        return Solved(model, sigma, policy, value)

    def _expected(self, belief: Belief, solved: Solved, state: int) -> FloatArray:
        """Return the expected bound [A] on coming home after each action and its update."""
        model, expected = solved.model, np.zeros(solved.model.actions)
        values: dict[Hashable, FloatArray] = {}
        for a in range(model.actions):
            row = model.transitions[[state * model.actions + a]]
            for there, probability in zip(row.indices.tolist(), row.data.tolist(), strict=True):
                lesson = belief.lesson(state, a, there)
                if lesson not in values:
                    after = belief.update(Transition(state, a, there))
                    values[lesson] = self.solve(after, solved.policy).value
                expected[a] += probability * values[lesson][there]
        return expected


def after_rows(rows: csr_array, sigma: FloatArray, value: FloatArray) -> FloatArray:
    """Return lower bounds [n] on coming home after actions with mean rows [n, S].

    `sigma` [n] are their corrections, `value` [S] lower bounds on coming home from each state.
    """
    lost, once = 1.0 - value, rows.copy()
    once.data = np.minimum(rows.data, lost[rows.indices])
    least = np.minimum(rows @ lost - sigma, once.sum(axis=1))
    bounds: FloatArray = np.clip(1.0 - (missing_mass(rows) + least) * ROUNDED, 0.0, 1.0)
    return bounds


def _most(solved: Solved, way: IntArray, at_home: BoolArray) -> FloatArray:
    """Return upper bounds [S] on the probability that a policy [S] leads home.

    They are 1 minus the corrected value of getting lost: of ending the process, or of entering a
    state from which the policy never leads home.
    """
    model, each, action = solved.model, np.arange(len(way)), np.maximum(way, 0)
    rows = model.transitions[each * model.actions + action]
    moving = (way != GIVE_UP) & ~at_home
    reached = can_reach(rows > 0.0, at_home, moving)
    moving &= reached
    ends = np.where(moving, missing_mass(rows), 0.0)
    chain = hstack([diags_array(moving.astype(np.float64)) @ rows, ends[:, None]])
    chain = vstack([chain, csr_array((1, model.states + 1))]).tocsr()
    due = np.append(np.where(moving, solved.sigma[each, action], 0.0), 0.0)
    lost = np.append(np.flatnonzero(~reached), model.states)
    loss = solve_return(SparseMDP(chain), due[:, None], lost).value[:-1]
    most: FloatArray = np.minimum(1.0, 1.0 - loss + SOLVE_TOLERANCE)
    return most


def _stays(model: SparseMDP, state: int) -> BoolArray:
    """Return the mask [A] of actions that surely stay in a state."""
    rows = model.transitions[state * model.actions : (state + 1) * model.actions]
    stays: BoolArray = rows[:, [state]].toarray()[:, 0] >= 1.0
    return stays
