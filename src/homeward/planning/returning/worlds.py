"""Ways home on a `FiniteBelief` of general models: exact, with policies that adapt.

A *way* has one policy for each set B of worlds that are still possible. If only some worlds of B
allow a transition that is observed, the possible worlds shrink to this smaller set B', and the
policy of B' is followed from then on. So a way tries one path first, and another one after the
first has turned out to be closed. In world m of B, with π the policy of B,

    W_m,B(s) = Σ_t P_m[s, π(s), t] W_m,B'(t),      B' = {k ∈ B : P_k[s, π(s), t] > 0}.

Sets only shrink, so the values of smaller sets come first, and those of B are one linear system for
each world. The policy of B is chosen on the mean model of B, in which a transition to a smaller set
counts as coming home with the mean value of that set. Its value is exact, however it was chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import spsolve

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs.observations import Transition
from homeward.planning.promise import Promise
from homeward.planning.returning.policies import (
    LEAST_LINK,
    PolicyOptions,
    PolicyReturning,
    can_reach,
    check_answer,
    common_transitions,
    mask_of,
    quick_way,
)
from homeward.solvers import GIVE_UP
from homeward.solvers.folding import missing_mass
from homeward.threads import on_one_thread

if TYPE_CHECKING:
    from homeward.beliefs import FiniteBelief

MAX_WORLDS = 6  # most worlds for which a way home adapts: it may have 2**n − 1 policies
SOLVE_TOLERANCE = 1e-14  # allowance for the rounding of a linear solve, in probability


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """A way home with its value."""

    policies: Mapping[int, IntArray]  # policy [S] by set of worlds; empty if `policy` serves all
    policy: IntArray  # [S] policy of the present set
    value: FloatArray  # [S] probability of reaching home, averaged over the worlds of the belief
    after: FloatArray  # [S, A] this probability after one action, if the way is followed then

    def promise(self, spent: float) -> Promise:
        """Return the promise that relies on this way."""
        return Promise.of(self.policy, spent, policies=self.policies)


@dataclass(frozen=True, slots=True, eq=False)
class WorldReturning(PolicyReturning):
    """Keeps a promise on a `FiniteBelief`; see `returning.Returning`.

    After an action the run holds the way for which the action costs least: the way held before, the
    best adaptive way, or the best way that does not adapt. With Y the probability that the held way
    works, an action after which way k is held costs Y − min(Y_k now, Y_k after the action).
    """

    evaluator: ClassVar[str] = "exact"

    @on_one_thread
    def open(self, belief: Any, start: int) -> Promise:
        """Return the promise of a run before its first step; it pays for the way home."""
        way = max(Worlds(belief, self.goal.homes).ways(), key=lambda way: float(way.value[start]))
        return way.promise(max(0.0, 1.0 - float(way.value[start]) + SOLVE_TOLERANCE))

    @on_one_thread
    def options(
        self, belief: Any, promise: Promise, state: int, changed: IntArray | None
    ) -> PolicyOptions:
        """Return what the promise allows in a state."""
        worlds = Worlds(belief, self.goal.homes)
        held = worlds.held(promise.policies, promise.way)
        ways = [held, *worlds.ways()]
        best = max(ways, key=lambda way: float(way.value[state]))
        charge = np.maximum(0.0, best.value[:, None] - best.after + SOLVE_TOLERANCE)
        kept = np.array([np.minimum(way.value[state], way.after[state]) for way in ways])  # [K, A]
        charge[state] = held.value[state] - kept.max(axis=0) + SOLVE_TOLERANCE
        charge[np.abs(charge) <= 2.0 * SOLVE_TOLERANCE] = 0.0
        value = np.maximum(0.0, best.value - SOLVE_TOLERANCE)
        ahead = np.max([way.after[state] for way in ways], axis=0)
        promises = [way.promise(promise.spent) for way in ways]
        now = promises[ways.index(best)]  # at least as good as the held way: it costs nothing
        return PolicyOptions(
            goal=self.goal,
            state=state,
            promise=now,
            best=now,
            bounds=value,
            charge=charge,
            ahead=np.maximum(0.0, ahead - SOLVE_TOLERANCE),
            least=float(value[state]),
            most=float(value[state]),
            lost=not best.value[state] > 0.0,
            exact=True,
            choices=tuple(promises[k] for k in kept.argmax(axis=0)),
        )

    def observed(
        self,
        belief: Any,
        promise: Promise,
        observation: Any,
        moved: Transition | None,
        state: int,
    ) -> Promise:
        """Return the promise after the belief was updated by an observation.

        A way home that adapts raises unless the observation holds the transition of the move and
        nothing else but visits: the set of worlds would shrink by what the way does not expect.
        """
        if not promise.policies:
            return promise
        what = "a way home that adapts to what is observed"
        check_answer(observation, moved, belief.mean(), what)
        policy = promise.policies.get(set_of(belief), promise.way)
        return Promise.of(policy, promise.spent, policies=promise.policies)


def set_of(belief: FiniteBelief) -> int:
    """Return the set of possible worlds of a belief: bit k is set if world k is possible."""
    return sum(1 << int(label) for label in belief.labels[belief.weights > 0.0])


class Worlds:
    """The M possible worlds of a belief, with N possible transitions (see `common_transitions`)."""

    def __init__(self, belief: FiniteBelief, homes: IntArray) -> None:
        model = belief.worlds[0].sparse()
        possible = np.flatnonzero(belief.weights > 0.0)
        self.states, self.actions = model.states, model.actions
        self.closed = ~np.isfinite(model.reward)  # [S, A]
        self.weights = belief.weights[possible]  # [M]
        self.whole = set_of(belief)
        self.at_home = mask_of(model.states, homes)
        worlds = [belief.worlds[int(m)].sparse().transitions.tocoo() for m in possible]
        self.row, self.there, self.chance = common_transitions(worlds)  # [N], [N], [M, N]
        self.ends = np.array([missing_mass(world.tocsr()) for world in worlds])  # [M, S·A]
        self.bits = [1 << int(label) for label in belief.labels[possible]]
        self.adapts = len(worlds) <= MAX_WORLDS and max(self.bits) < 2**62
        bits = np.array(self.bits if self.adapts else [0] * len(worlds), np.int64)
        self.allowed = np.where(self.chance > 0.0, bits[:, None], 0).sum(axis=0)  # [N] sets

    def ways(self) -> list[Way]:
        """Return the best way that adapts, if few worlds are left, and the best that does not."""
        adaptive = [self.best(adapts=True)] if self.adapts else []
        if adaptive and not adaptive[0].policies:  # nothing that is observed rules out a world
            return adaptive
        return [*adaptive, self.best(adapts=False)]

    def best(self, *, adapts: bool) -> Way:
        """Return the way home that is chosen on mean models; see the module docstring."""

        def choose(worlds: BoolArray, stays: BoolArray, done: FloatArray) -> IntArray:
            weights = np.where(worlds, self.weights, 0.0)
            weights = weights / weights.sum()
            mean = np.where(stays, weights @ self.chance, 0.0)
            home = int(np.argmax(self.at_home))
            won = np.bincount(self.row, weights @ done, self.states * self.actions)
            rows = np.flatnonzero(won)  # what smaller sets are worth counts as coming home
            data = np.concatenate([mean, won[rows]])
            at = np.concatenate([self.row, rows]), np.append(self.there, np.full(len(rows), home))
            matrix = csr_array((data, at), (self.states * self.actions, self.states))
            return quick_way(matrix, self.closed, self.at_home)

        return self._evaluated(choose, adapts=adapts)

    def held(self, policies: Mapping[int, IntArray], policy: IntArray) -> Way:
        """Return a way home with its value; `policy` [S] serves sets that `policies` lacks."""
        if not policies:
            return self._evaluated(lambda *_: policy, adapts=False)
        ordered = iter(policies.get(subset, policy) for subset in self._sets(self.whole))
        return self._evaluated(lambda *_: next(ordered), adapts=True)

    def _sets(self, subset: int) -> list[int]:
        """Return `subset` and all sets that it can shrink to, smaller sets first."""
        visited: dict[int, None] = {}

        def visit(one: int) -> None:
            for smaller in np.unique(self.allowed & one).tolist():
                if smaller not in (0, one) and smaller not in visited:
                    visit(smaller)
            visited[one] = None

        visit(subset)
        return list(visited)

    def _evaluated(self, choose: Callable[..., IntArray], *, adapts: bool) -> Way:
        """Return the way whose policies are chosen by `choose`, smaller sets first.

        `choose` is called with the mask [M] of the worlds of a set, the mask [N] of the transitions
        that keep the set, and for the other transitions probability times value [M, N].
        """
        values: dict[int, FloatArray] = {}  # [M, S] by set
        policies: dict[int, IntArray] = {}
        for subset in self._sets(self.whole) if adapts else [self.whole]:
            worlds = np.array([not adapts or bool(bit & subset) for bit in self.bits])
            goes_to = self.allowed & subset if adapts else np.full(len(self.row), subset)
            stays, done = goes_to == subset, np.zeros_like(self.chance)
            for smaller in np.unique(goes_to[~stays & (goes_to != 0)]).tolist():
                there = goes_to == smaller
                done[:, there] = self.chance[:, there] * values[smaller][:, self.there[there]]
            policy = policies[subset] = choose(worlds, stays, done)
            value = values[subset] = np.zeros((len(worlds), self.states))
            for m in np.flatnonzero(worlds):
                value[m] = self._reaching(policy, int(m), stays, done[m])
        # Here `goes_to` and the values of all smaller sets are those of the whole set.
        ahead = done + np.where(stays, self.chance * value[:, self.there], 0.0)
        after: FloatArray = np.zeros(self.states * self.actions)
        np.add.at(after, self.row, self.weights @ ahead)
        after = after.reshape(self.states, self.actions)
        return Way(policies if len(policies) > 1 else {}, policy, self.weights @ value, after)

    def _reaching(
        self, policy: IntArray, world: int, stays: BoolArray, done: FloatArray
    ) -> FloatArray:
        """Return the probability [S] of coming home in one world under the policy of one set.

        `stays` [N] is the mask of the transitions that keep the set. For the others, `done` [N] is
        the probability of the transition times the value of the smaller set.
        """
        states, moving = self.states, (policy != GIVE_UP) & ~self.at_home
        here = moving[self.row // self.actions]
        here &= self.row % self.actions == policy[self.row // self.actions]
        source, there = self.row[here] // self.actions, self.there[here]
        chance, done = self.chance[world, here], done[here]
        onward = np.where(stays[here], chance, 0.0)
        home = self.at_home[there]
        into = np.bincount(source, done + np.where(home, onward, 0.0), states)
        links = csr_array((np.where(home, 0.0, onward), (source, there)), (states, states))
        reaches = can_reach(links > LEAST_LINK, into > LEAST_LINK)
        ends = self.ends[world][np.arange(states) * self.actions + np.maximum(policy, 0)]
        away = np.where(source == there, chance - onward, chance)
        leaving = ends + np.bincount(source, away, states)
        value = self.at_home.astype(np.float64)
        active = np.flatnonzero(reaches)
        if len(active):
            inner = links[active][:, active]
            inner.setdiag(0.0)
            # Leaving is a sum, not 1 − staying: so a probability of 1e-12 keeps its digits.
            system = diags_array(leaving[active]) - inner
            value[active] = np.clip(spsolve(system.tocsc(), into[active]), 0.0, 1.0)
        return value
