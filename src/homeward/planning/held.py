"""What a run carries from one decision to the next, and how it is written down.

A record holds the difference to the step before, so that a step costs what changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.arrays import frozen
from homeward.errors import InvalidFileError

if TYPE_CHECKING:
    from homeward.arrays import IntArray


MAX_FREE_SHARE = 1e-3
"""Share of what is left of a budget that may be added anywhere on a way at no toll."""


@dataclass(frozen=True, slots=True, eq=False)
class Account:
    """What a run relies on for one home, and what it has spent.

    Attributes
    ----------
    way
        Action [S] that is relied on in each state; −1 where none is.
    spent
        Probability of losing the way home that has been accepted so far.
    """

    way: IntArray
    spent: float = 0.0


@dataclass(frozen=True, slots=True)
class Proposal:
    """A place worth looking at and the way there.

    Attributes
    ----------
    path
        States from where the explorer is to the place, both included.
    gain
        What is expected to be learned.
    steps
        Expected steps until then.
    share
        Largest share of what is left of a budget that a state on the path needs.
    along
        Whether the gain is that of all looks on the path, not of the last alone.
    """

    path: tuple[int, ...]
    gain: float
    steps: float
    share: float = 0.0
    along: bool = False

    @property
    def rate(self) -> float:
        """Gain per step."""
        return self.gain / self.steps

    @property
    def max_share(self) -> float:
        """Share of what is left of a budget that it may come to add while it is held."""
        return min(1.0, max(MAX_FREE_SHARE, 1.25 * self.share))

    def worth(self, power: float) -> float:
        """Return the gain over steps to a `power`."""
        return float(self.gain / self.steps**power)


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """What a run holds after a step.

    Attributes
    ----------
    accounts
        One for each home that is kept.
    proposal
        What is being pursued; None before the first decision.
    remaining
        What could still be learned at the last news.
    idle
        Decisions since then.
    """

    accounts: tuple[Account, ...] = ()
    proposal: Proposal | None = None
    remaining: float = np.inf
    idle: int = 0

    @property
    def kept(self) -> float:
        """The probability of coming home that the run has kept so far; 1 if none is asked for."""
        return max(0.0, 1.0 - max((a.spent for a in self.accounts), default=0.0))

    def at(self, remaining: float, floor: float) -> Held:
        """Return what is held once a gain of `remaining` is left to learn.

        There is news, and the idle count is 0, if a gain of `floor` was learned since the last.
        """
        if self.remaining - remaining >= floor:
            return replace(self, remaining=remaining, idle=0)
        return replace(self, idle=self.idle + 1)

    def emptied(self) -> Held:
        """Return the same number of accounts that rely on nothing."""
        return Held(tuple(Account(frozen(np.full_like(a.way, -1))) for a in self.accounts))

    def encode(self, before: Held) -> dict[str, Any]:
        """Return a JSON value that says what has changed since `before`."""
        value: dict[str, Any] = {
            "kept": self.kept,
            "spent": [a.spent for a in self.accounts],
            "ways": [
                _difference(old.way, new.way)
                for old, new in zip(before.accounts, self.accounts, strict=True)
            ],
            "remaining": self.remaining,
            "idle": self.idle,
        }
        if self.proposal is not None:
            known = () if before.proposal is None else before.proposal.path
            path, skip = self.proposal.path, len(known) - len(self.proposal.path)
            same = skip >= 0 and known[skip:] == path
            value["path"] = skip if same else list(path)
            value["worth"] = [self.proposal.gain, self.proposal.steps, self.proposal.share]
            value["along"] = self.proposal.along
        return value

    @classmethod
    def decode(cls, value: Any, before: Held) -> Held:
        """Read what `encode` returned."""
        try:
            accounts = tuple(
                Account(_changed(old.way, way), float(spent))
                for old, way, spent in zip(
                    before.accounts, value["ways"], value["spent"], strict=True
                )
            )
            proposal = None
            if "path" in value:
                path = value["path"]
                if isinstance(path, int):
                    path = () if before.proposal is None else before.proposal.path[path:]
                gain, steps, share = (float(x) for x in value["worth"])
                proposal = Proposal(tuple(path), gain, steps, share, bool(value.get("along")))
            return cls(accounts, proposal, float(value["remaining"]), int(value["idle"]))
        except (KeyError, TypeError, ValueError, IndexError) as cause:
            raise InvalidFileError(f"what the run holds can't be read: {cause}") from cause


def _difference(old: IntArray, new: IntArray) -> list[list[int]]:
    """Return the indices at which two arrays differ, and the new values there."""
    at = np.flatnonzero(old != new)
    return [at.tolist(), new[at].tolist()]


def _changed(old: IntArray, difference: Any) -> IntArray:
    at, values = difference
    new = old.copy()
    new[np.array(at, np.intp)] = values
    return frozen(new)
