"""What a world can tell: the observations that the tabular beliefs learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homeward.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Visit:
    """We are in `state`."""

    state: int


@dataclass(frozen=True, slots=True)
class Transition:
    """`action` in `state` led to `next_state`, or ended the process (None)."""

    state: int
    action: int
    next_state: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The exact transition probabilities of some state-actions were seen."""

    pairs: tuple[tuple[int, int], ...]  # (state, action)
    probabilities: FloatArray  # [n, S]
