"""Audit of the risk budget of a run whose level δ holds for the whole run.

After each step a run relies on a set E of edges. Let Y = Pr(every edge of E works | observations)
if E contains a way home from the current state, and else 0. Observations do not change E[Y]; only a
change of E does. With b(e) the probability that an edge never works, given the observations before
the step, going from E to E' lowers Y by at most each of

- Σ b(e) over the edges of E' that are not in E, if E' contains a way home: Y' ≥ Y − Pr(one of them
  never works);
- (1 − max b(e) over the way home of E) − max(0, 1 − Σ b(e) over E'): the largest possible Y minus
  the smallest possible Y'. If a way home is missing, its side is 0;
- Y − Y' itself, where the belief knows how likely edges work together (`joint`).

The run must have spent at least the smallest of them. Then Y plus what was spent is a
submartingale, and if at most 1 − δ is spent, E[Y] ≥ δ whenever the run is called off.

Nothing is taken from the planner except its records. Beliefs give b: an upper bound where it is
summed, and a lower bound where its maximum counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homeward.beliefs import BlockedMoves, BoundedMoves, SureMoves
from homeward.certificates.joint import together
from homeward.certificates.verdicts import HomeVerdict
from homeward.models import Moves

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from homeward.arrays import FloatArray, IntArray
    from homeward.beliefs import Belief

BUDGET_TOLERANCE = 1e-9
"""Largest amount by which what is spent may exceed 1 − δ."""

SUM_TOLERANCE = 1e-12
"""Largest relative error of a sum."""

MAX_REASONS = 5
"""Reasons that are listed per home; the others are only counted."""

Edge = tuple[int, int]
"""A state and an action."""


class HomeClaim(NamedTuple):
    """A run's claim that it keeps a way home."""

    name: str
    homes: frozenset[int]  # states that count as home
    level: float  # δ of the whole run
    within: int | None = None  # largest number of moves; None for any number


class Edges(NamedTuple):
    """A graph and the probabilities that its edges never work, each [S, A]."""

    dest: IntArray  # next state if the edge works
    most: FloatArray  # upper bound on the probability that it never works
    least: FloatArray  # lower bound on it
    at_once: bool  # whether an edge that ever works does so at the first attempt


def why_not(belief: Belief) -> str | None:
    """Return why a run on a belief can't be audited; None if it can."""
    model = belief.mean()
    if not isinstance(model, Moves):
        return "its model is not a move-or-stay graph"
    if (np.isfinite(model.reward) & (model.reward != 0.0)).any():
        return "its model has rewards"
    if not isinstance(belief, BlockedMoves):
        return "its belief does not know the probability that an edge never works"
    return None


def audit(
    claims: Sequence[HomeClaim], steps: Iterable[tuple[Any, Belief]]
) -> tuple[HomeVerdict, ...]:
    """Return the verdict on each home: whether each step kept a way home and spent enough.

    A step is its record (`step`, `state`, `next_state`, `holding`) and the belief before it.
    """
    accounts = [_Account(claim) for claim in claims]
    for record, belief in steps:
        edges = _edges(belief)
        for k, account in enumerate(accounts):
            account.check(record, k, edges, belief)
    return tuple(account.verdict() for account in accounts)


def _edges(belief: Any) -> Edges:
    """Return the edges with their probabilities; those that can't be chosen never work."""
    model = belief.mean()
    most = least = np.asarray(belief.blocked_probability(), np.float64)
    if isinstance(belief, BoundedMoves):
        least = 1.0 - belief.success_bounds()[1]
    closed = ~np.isfinite(model.reward)
    if closed.any():
        most, least = np.where(closed, 1.0, most), np.where(closed, 1.0, least)
    at_once = isinstance(belief, SureMoves) and belief.moves_work_or_never
    return Edges(model.dest, most, least, at_once)


class _Account:
    """The edges relied on and the risk spent for one home, up to the last record that was read."""

    def __init__(self, claim: HomeClaim) -> None:
        self.claim, self.unread = claim, False
        self.way: IntArray | None = None  # [S] action relied on in each state, −1 for none
        self.spent, self.charged, self.steps = 0.0, 0.0, 0
        self.reasons: list[str] = []

    def check(self, step: Any, k: int, edges: Edges, belief: Any = None) -> None:
        """Check one step; steps after an unreadable record are not checked."""
        if self.unread:
            return
        try:
            charge = 0.0
            if self.way is None:  # the way home from the start is charged before the first step
                nothing = np.full(len(edges.dest), -1)
                self.way = _changed(nothing, step.holding["opened"][k], edges.dest.shape)
                charge = _risk(self.way, edges)
                works = self._works(self.way, edges, belief) if charge > 0.0 else None
                charge = charge if works is None else min(charge, 1.0 - works)
            way = _changed(self.way, step.holding["ways"][k], edges.dest.shape)
            spent = [float(x) for x in step.holding["spent"]]
            kept = float(step.holding["kept"])
            paid = spent[k] - self.spent
        except (KeyError, TypeError, ValueError, IndexError) as cause:
            self.unread = True
            self._object(step, f"the record can't be read ({type(cause).__name__}: {cause})")
            return
        before = self._path(self.way, step.state, edges)
        after = self._path(way, step.next_state, edges)
        # What the step has to spend: an upper bound on the decrease of Y.
        most = 0.0 if before is None else 1.0
        most = min([most, *(1.0 - float(edges.least[edge]) for edge in before or ())])
        if after is not None:
            new = _risk(np.where(way == self.way, -1, way), edges)
            most = min(new, max(0.0, most - max(0.0, 1.0 - _risk(way, edges))))
            pair = [self._works(w, edges, belief) if most > 0.0 else None for w in (self.way, way)]
            if pair[0] is not None and pair[1] is not None:
                most = min(most, max(0.0, pair[0] - pair[1]))
        charge = min(1.0, charge + most)
        within = self.claim.within
        if after is None:
            if before is not None and not any(edges.least[e] >= 1.0 for e in before):
                lost = f"the edges relied on contain no way home from state {step.next_state}"
                self._object(step, lost)
        elif within is not None and len(after) > within:
            self._object(step, f"the way home takes {len(after)} moves, but {within} are allowed")
        elif within is not None and after and not edges.at_once:
            self._object(step, "moves may take several attempts: steps are not bounded")
        if kept != max(0.0, 1.0 - max(spent)):
            self._object(step, f"{kept:.6g} is claimed to be kept with {max(spent):.6g} spent")
        if paid < 0.0:
            self._object(step, f"the spent risk falls from {self.spent:.6g} to {spent[k]:.6g}")
        elif not paid >= charge * (1.0 - SUM_TOLERANCE) - 4.0 * np.finfo(float).eps:
            self._object(step, f"{paid:.6g} was spent, but {charge:.6g} is required")
        budget = 1.0 - self.claim.level
        if not spent[k] <= budget + BUDGET_TOLERANCE + SUM_TOLERANCE:
            self._object(step, f"{spent[k]:.6g} is spent, but at most {budget:.6g} is allowed")
        self.way, self.spent = way, max(spent[k], self.spent)
        self.charged += charge
        self.steps += 1

    def verdict(self) -> HomeVerdict:
        """Return the verdict after the last step."""
        claim, kept = self.claim, max(0.0, 1.0 - self.spent)
        reasons = self.reasons[:MAX_REASONS]
        if len(self.reasons) > MAX_REASONS:
            reasons.append(f"and {len(self.reasons) - MAX_REASONS} more")
        return HomeVerdict(claim.name, claim.level, kept, self.charged, self.steps, tuple(reasons))

    def _works(self, way: IntArray, edges: Edges, belief: Any) -> float | None:
        """Return the probability that all edges of a set [S] work; None if it is not known."""
        if self.claim.within is not None and not edges.at_once:
            return None
        states = np.flatnonzero(way >= 0)
        relied = [(int(s), int(way[s])) for s in states if edges.most[s, way[s]] > 0.0]
        return together(belief, relied)

    def _path(self, way: IntArray, state: int, edges: Edges) -> list[Edge] | None:
        """Return the edges of the way home from a state; None if there is none."""
        passed: list[Edge] = []
        while state not in self.claim.homes:
            action = int(way[state])
            if action < 0 or len(passed) > len(way):
                return None
            passed.append((state, action))
            state = int(edges.dest[state, action])
        return passed

    def _object(self, step: Any, reason: str) -> None:
        self.reasons.append(f"step {step.step}: {reason}")


def _risk(way: IntArray, edges: Edges) -> float:
    """Return the sum of the probabilities that an edge of a set [S] never works."""
    states = np.flatnonzero(way >= 0)
    return float(edges.most[states, way[states]].sum())


def _changed(way: IntArray, difference: Any, shape: tuple[int, ...]) -> IntArray:
    """Return a set of edges [S] after a recorded change: states, and the new action in each."""
    found = way.copy()
    for state, action in zip(*difference, strict=True):
        if not (0 <= state < shape[0] and -1 <= action < shape[1]):
            raise ValueError(f"there is no edge ({state}, {action})")
        found[state] = action
    return found
