"""Ways home that adapt: return policies on a `FiniteBelief` that change when worlds are ruled out.

A *way* has one policy for each set B of worlds that are still possible. If only some worlds of B
allow a transition that is observed, the possible worlds shrink to this smaller set B', and the
policy of B' is followed from then on. So a way tries one path first, and another one after the
first has turned out to be closed.

Evaluation is exact. In world m of B, with π the policy of B,

    W_m,B(s) = Σ_t P_m[s, π(s), t] W_m,B'(t),      B' = {k ∈ B : P_k[s, π(s), t] > 0}.

Sets only shrink. So the values of smaller sets are computed first, and those of B are one linear
system for each world. The policy of B is chosen on the mean model of B, in which a transition to a
smaller set counts as coming home with the mean value of that set. If every transition is sure in
every world, this gives the best of all ways. Otherwise the way may not be the best, but its value
is exact.

With more than `MAX_WORLDS` worlds there could be too many sets: then one policy serves all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array
from scipy.sparse.linalg import spsolve

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen
from homeward.solvers import GIVE_UP
from homeward.solvers.folding import missing_mass

if TYPE_CHECKING:
    from homeward.beliefs import FiniteBelief

MAX_WORLDS = 6  # most worlds for which a way home adapts: it may have 2**n − 1 policies
HASTE = 1e-4  # loss of value per step when a way home is chosen, not when it is evaluated
MAX_SWEEPS, SWEEP_TOLERANCE = 5000, 1e-10  # limits of value iteration when a way home is chosen
MAX_DENSE = 10_000  # most entries of a full matrix whose sweeps are faster than sparse ones
LEAST_LINK = 2.0**-53  # largest probability of a transition that a linear solve can't tell from 0


def quick_way(transitions: csr_array, closed: BoolArray, at_home: BoolArray) -> IntArray:
    """Return the policy [S] that maximises E[(1 − `HASTE`)^steps; home] on a model.

    `transitions` is [S·A, S]; actions `closed` [S, A] can't be chosen. Without the loss per step, a
    policy could repeat a move that works in one world of two: on the mean model the move works in
    the end, but in the other world it never does.
    """
    value = at_home.astype(np.float64)
    rows = transitions.toarray() if closed.size * len(at_home) <= MAX_DENSE else transitions
    for _ in range(MAX_SWEEPS):
        ahead = (1.0 - HASTE) * (rows @ value).reshape(closed.shape)
        ahead[closed] = 0.0
        better = np.where(at_home, 1.0, ahead.max(axis=1))
        settled = float((better - value).max()) <= SWEEP_TOLERANCE
        value = better
        if settled:
            break
    policy = np.where(at_home | (value <= 0.0), GIVE_UP, ahead.argmax(axis=1))
    return frozen(policy.astype(np.int32))


def set_of(belief: FiniteBelief) -> int:
    """Return the set of possible worlds of a belief: bit k is set if world k is possible."""
    return sum(1 << int(label) for label in belief.labels[belief.weights > 0.0])


def can_reach(links: csr_array, targets: BoolArray, moving: BoolArray | None = None) -> BoolArray:
    """Return the mask [S] of states from which boolean `links` [S, S] lead to `targets` [S].

    Only states in the mask `moving` [S] are left again; None allows all states.
    """
    reached = targets
    while True:
        more = links @ reached
        more = reached | (more if moving is None else more & moving)
        if (more == reached).all():
            return reached
        reached = more


def common_transitions(worlds: Sequence[coo_array]) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the N transitions that are possible in any of M worlds.

    The result is the row s·A + a [N] and the next state [N] of each transition, in ascending order,
    and its probability in each world [M, N].
    """
    states = worlds[0].shape[1]
    keys = [world.row.astype(np.int64) * states + world.col for world in worlds]
    every = np.unique(np.concatenate(keys))
    chances = np.zeros((len(worlds), len(every)))
    for chance, key, world in zip(chances, keys, worlds, strict=True):
        np.add.at(chance, np.searchsorted(every, key), world.data)
    return *np.divmod(every, states), chances


@dataclass(frozen=True, slots=True, eq=False)
class AdaptiveWay:
    """A way home with its value."""

    policies: Mapping[int, IntArray]  # policy [S] by set of worlds; empty if `policy` serves all
    policy: IntArray  # [S] policy of the present set
    value: FloatArray  # [S] probability of reaching home, averaged over the worlds of the belief
    after: FloatArray  # [S, A] this probability after one action, if the way is followed then

    def same_as(self, other: AdaptiveWay) -> bool:
        """Return whether both ways have the same policies."""
        if self.policies.keys() != other.policies.keys():
            return False
        pairs = [(self.policy, other.policy)]
        pairs += [(self.policies[subset], other.policies[subset]) for subset in self.policies]
        return all(np.array_equal(*pair) for pair in pairs)


class Worlds:
    """The M possible worlds of a belief, with N possible transitions (see `common_transitions`)."""

    def __init__(self, belief: FiniteBelief, homes: IntArray) -> None:
        model = belief.worlds[0].sparse()
        possible = np.flatnonzero(belief.weights > 0.0)
        self.states, self.actions = model.states, model.actions
        self.closed = ~np.isfinite(model.reward)  # [S, A]
        self.weights = belief.weights[possible]  # [M]
        self.whole = set_of(belief)
        self.at_home = np.zeros(model.states, dtype=bool)
        self.at_home[homes] = True
        worlds = [belief.worlds[int(m)].sparse().transitions.tocoo() for m in possible]
        self.row, self.there, self.chance = common_transitions(worlds)  # [N], [N], [M, N]
        self.ends = np.array([missing_mass(world.tocsr()) for world in worlds])  # [M, S·A]
        self.bits = [1 << int(label) for label in belief.labels[possible]]
        self.adapts = len(worlds) <= MAX_WORLDS and max(self.bits) < 2**62
        bits = np.array(self.bits if self.adapts else [0] * len(worlds), np.int64)
        self.allowed = np.where(self.chance > 0.0, bits[:, None], 0).sum(axis=0)  # [N] sets

    def best(self, *, adapts: bool) -> AdaptiveWay:
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

    def held(self, policies: Mapping[int, IntArray], policy: IntArray) -> AdaptiveWay:
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

    def _evaluated(self, choose: Callable[..., IntArray], *, adapts: bool) -> AdaptiveWay:
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
        return AdaptiveWay(
            policies if len(policies) > 1 else {}, policy, self.weights @ value, after
        )

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
