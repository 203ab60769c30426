"""The books of a run whose level is the whole run's, checked with plain arithmetic.

After each step a run relies on a set E of edges. Let Y = Pr(every edge of E works | all that was
seen) if E holds a way home from where the explorer is, and 0 if not. What was seen in between does
not change E[Y]; only a change of E does. With b(e) the probability that an edge never works, given
what was seen before the step, going from E to E' lowers Y by at most each of

- Σ b(e) over the edges of E' that are not in E, if E' holds a way home: Y' ≥ Y − Pr(one of them
  never works);
- (1 − max b(e) over the way home of E) − max(0, 1 − Σ b(e) over E'): the most that Y can have been
  less the least that Y' is. Where a way home is missing its side is 0.

The run must have spent the smaller of the two, at least. Then Y plus what was spent is a
submartingale, and E[Y] ≥ δ whenever the run is called off if never more than 1 − δ is spent.

Nothing here is taken from the planner but what it wrote down. Beliefs give b: an upper bound where
it is summed, and a lower bound where its largest counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homeward.beliefs import BlockedMoves, BoundedMoves, SureMoves
from homeward.certificates.checked_claim import CheckedClaim
from homeward.models import Moves

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from homeward.arrays import FloatArray, IntArray
    from homeward.beliefs import Belief

ALLOWANCE = 1e-9
"""How much more than 1 − δ may be spent."""

ROUNDING = 1e-12
"""Relative error that sums may have."""

Edge = tuple[int, int]
"""A state and an action."""

MOST_REASONS = 5
"""Reasons that are told of one home; the first ones say most."""


class HomeClaim(NamedTuple):
    """A way home that a run says it keeps.

    Attributes
    ----------
    name
        What to call it.
    homes
        States of which any is home.
    level
        The level δ of the whole run.
    within
        Moves that the way may take; None for any number.
    """

    name: str
    homes: frozenset[int]
    level: float
    within: int | None = None


class AuditStep(NamedTuple):
    """A recorded step and what was believed before it.

    Attributes
    ----------
    number
        Counted from 1.
    state
        Where the step began.
    next_state
        Where it ended.
    holding
        The JSON value that the record has on what is held, as differences to the step before.
    belief
        What was believed before the step.
    """

    number: int
    state: int
    next_state: int
    holding: Any
    belief: Belief


@dataclass(frozen=True, slots=True)
class HomeVerdict(CheckedClaim):
    """What became of the claim that a run keeps a way home.

    Attributes
    ----------
    name
        What is kept.
    level
        What was asked for.
    kept
        What the last record says: 1 less what was spent.
    charged
        What had to be spent, at least.
    steps
        Steps that were checked.
    reasons
        What speaks against it, by step.
    """

    name: str
    level: float
    kept: float
    charged: float
    steps: int
    reasons: tuple[str, ...] = ()

    @property
    def upheld(self) -> str:
        """What is said of the claim where nothing speaks against it."""
        return f"confirmed: a way home after each of {self.steps} steps, and the charges were paid"


class Chances(NamedTuple):
    """A graph and what a belief says of its edges, each [S, A].

    Attributes
    ----------
    dest
        Where an edge leads.
    most
        Upper bound on the probability that it never works.
    least
        Lower bound on that.
    at_once
        Whether an edge that ever works does so at the first attempt.
    """

    dest: IntArray
    most: FloatArray
    least: FloatArray
    at_once: bool


def why_not(belief: Belief) -> str | None:
    """Return why a run on such a belief can't be audited; None if it can."""
    model = belief.mean()
    if not isinstance(model, Moves):
        return "its model is not a move-or-stay graph"
    if (np.isfinite(model.reward) & (model.reward != 0.0)).any():
        return "its model has rewards"
    if not isinstance(belief, BlockedMoves):
        return "its belief does not say how likely an edge never works"
    return None


def audit(claims: Sequence[HomeClaim], steps: Iterable[AuditStep]) -> tuple[HomeVerdict, ...]:
    """Check what a run relied on and spent for each home, step by step."""
    books = [_Book(claim) for claim in claims]
    for step in steps:
        chances = _chances(step.belief)
        for k, book in enumerate(books):
            book.check(step, k, chances)
    return tuple(book.verdict() for book in books)


def _chances(belief: Any) -> Chances:
    """Return what a belief says of the edges; those that can't be chosen never work."""
    model = belief.mean()
    most = least = np.asarray(belief.blocked_probability(), np.float64)
    if isinstance(belief, BoundedMoves):
        least = 1.0 - belief.success_bounds()[1]
    closed = ~np.isfinite(model.reward)
    if closed.any():
        most, least = np.where(closed, 1.0, most), np.where(closed, 1.0, least)
    at_once = isinstance(belief, SureMoves) and belief.moves_work_or_never
    return Chances(model.dest, most, least, at_once)


@dataclass(slots=True, eq=False)
class _Book:
    """What is relied on and spent for one home, as far as the records were read."""

    claim: HomeClaim
    way: IntArray | None = None  # [S] action that is relied on in each state, or −1
    spent: float = 0.0
    charged: float = 0.0
    steps: int = 0
    reasons: list[str] = field(default_factory=list)
    unread: bool = False

    def check(self, step: AuditStep, k: int, chances: Chances) -> None:
        """Check one step; after a record that can't be read there is nothing to check against."""
        if self.unread:
            return
        try:
            charge = 0.0
            if self.way is None:  # before the first step a way home from the start was taken on
                nothing = np.full(len(chances.dest), -1)
                self.way = _changed(nothing, step.holding["opened"][k], chances.dest.shape)
                charge = _risk(self.way, chances)
            way = _changed(self.way, step.holding["ways"][k], chances.dest.shape)
            spent = [float(x) for x in step.holding["spent"]]
            kept = float(step.holding["kept"])
            paid = spent[k] - self.spent
        except (KeyError, TypeError, ValueError, IndexError) as cause:
            self.unread = True
            self._object(step, f"what is held can't be read ({type(cause).__name__}: {cause})")
            return
        before = self._path(self.way, step.state, chances)
        after = self._path(way, step.next_state, chances)
        charge = min(1.0, charge + self._charge(way, before, after, chances))
        self._judge_way(step, before, after, chances)
        if kept != max(0.0, 1.0 - max(spent)):
            self._object(step, f"{kept:.6g} is said to be kept with {max(spent):.6g} spent")
        if paid < 0.0:
            self._object(step, f"what was spent falls from {self.spent:.6g} to {spent[k]:.6g}")
        elif not paid >= charge * (1.0 - ROUNDING) - 4.0 * np.finfo(float).eps:
            self._object(step, f"{paid:.6g} was spent, and {charge:.6g} had to be")
        most = 1.0 - self.claim.level
        if not spent[k] <= most + ALLOWANCE + ROUNDING:
            self._object(step, f"{spent[k]:.6g} is spent, and only {most:.6g} may be")
        self.way, self.spent = way, max(spent[k], self.spent)
        self.charged += charge
        self.steps += 1

    def verdict(self) -> HomeVerdict:
        """Return what came of it."""
        claim, kept = self.claim, max(0.0, 1.0 - self.spent)
        reasons = self.reasons[:MOST_REASONS]
        if len(self.reasons) > MOST_REASONS:
            reasons.append(f"and {len(self.reasons) - MOST_REASONS} more")
        return HomeVerdict(claim.name, claim.level, kept, self.charged, self.steps, tuple(reasons))

    def _judge_way(
        self,
        step: AuditStep,
        before: list[Edge] | None,
        after: list[Edge] | None,
        chances: Chances,
    ) -> None:
        """Note what is wrong with the way home after a step."""
        lost = before is None or any(chances.least[e] >= 1.0 for e in before)
        within = self.claim.within
        if after is None and not lost:
            said = f"the edges relied on hold no way home from state {step.next_state}"
            self._object(step, said)
        elif after is not None and within is not None:
            if len(after) > within:
                said = f"the way home takes {len(after)} moves, and {within} are allowed"
                self._object(step, said)
            elif after and not chances.at_once:
                self._object(step, "moves may take several attempts, so no number of steps is sure")

    def _charge(
        self,
        way: IntArray,
        before: list[Edge] | None,
        after: list[Edge] | None,
        chances: Chances,
    ) -> float:
        """Return what a step has to spend: by how much it may lower Y, at most."""
        assert self.way is not None
        most = 0.0 if before is None else 1.0
        for edge in before or ():
            most = min(most, 1.0 - float(chances.least[edge]))
        if after is None:
            return most
        new = _risk(np.where(way == self.way, -1, way), chances)
        return min(new, max(0.0, most - max(0.0, 1.0 - _risk(way, chances))))

    def _path(self, way: IntArray, state: int, chances: Chances) -> list[Edge] | None:
        """Return the edges of a way home from a state; None if there is none."""
        passed: list[Edge] = []
        while state not in self.claim.homes:
            action = int(way[state])
            if action < 0 or len(passed) > len(way):
                return None
            passed.append((state, action))
            state = int(chances.dest[state, action])
        return passed

    def _object(self, step: AuditStep, reason: str) -> None:
        self.reasons.append(f"step {step.number}: {reason}")


def _risk(way: IntArray, chances: Chances) -> float:
    """Return the sum of the probabilities that an edge of a set [S] never works."""
    states = np.flatnonzero(way >= 0)
    return float(chances.most[states, way[states]].sum())


def _changed(way: IntArray, difference: Any, shape: tuple[int, ...]) -> IntArray:
    """Return a set of edges [S] with a recorded difference: states, and the action in each."""
    found = way.copy()
    for state, action in zip(*difference, strict=True):
        if not (0 <= state < shape[0] and -1 <= action < shape[1]):
            raise ValueError(f"there is no edge ({state}, {action})")
        found[state] = action
    return found
