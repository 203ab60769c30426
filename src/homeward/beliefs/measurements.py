"""Measured heights of some cells: the observations of a belief over normal heights."""

from __future__ import annotations

from dataclasses import dataclass, field

from homeward.arrays import BoolArray, FloatArray, IntArray, indices, numbers, own
from homeward.beliefs.height_kernels import (
    BLOCKED,
    FINE,
    NO_HEIGHT,
    NO_VARIANCE,
    OUTSIDE,
    TWICE,
    learn,
)
from homeward.beliefs.observations import Transition, is_packed
from homeward.errors import InvalidBeliefError


@dataclass(frozen=True, slots=True, eq=False)
class Heights:
    """Measured heights of some cells.

    Attributes
    ----------
    cells : [n] measured cells
    heights : [n] m, measured heights
    variances : [n] m², variances of the errors; infinite for a measurement without information
    moved : Move before the measurement; None if there was no move
    """

    cells: IntArray
    heights: FloatArray
    variances: FloatArray
    moved: Transition | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        error = InvalidBeliefError
        if self.moved is not None and not isinstance(self.moved, Transition):
            raise error(f"the move before a measurement is {self.moved!r}, expected a Transition")
        cells = self.cells
        if not is_packed(cells):
            cells = indices(cells, "measured cell", None, (0, 2**31 - 1), "n", error)
            if cells.ndim != 1:
                raise error(f"the measured cells have shape {cells.shape}, expected [n]")
            object.__setattr__(self, "cells", cells)
        for name, what in (("heights", "the measured heights"), ("variances", "their variances")):
            given = getattr(self, name)
            object.__setattr__(self, name, own(numbers(given, what, cells.shape, error), given))

    def take_in(
        self, blocked: BoolArray, height: FloatArray, variance: FloatArray, measured: BoolArray
    ) -> None:
        """Write the posterior into ``height``, ``variance`` [S]; mark ``measured`` cells [S]."""
        fault, at = learn(
            self.cells, self.heights, self.variances, blocked, height, variance, measured
        )
        if fault == FINE:
            return
        cell, states = int(self.cells[at]), len(height)
        raise InvalidBeliefError(
            {
                OUTSIDE: f"a measured cell is s={cell}, outside 0..{states - 1}",
                BLOCKED: f"cell s={cell} is measured and blocked",
                TWICE: f"cell s={cell} is measured twice at once",
                NO_HEIGHT: f"cell s={cell} is measured at a height of {self.heights[at]:g} m",
                NO_VARIANCE: f"cell s={cell} is measured with a variance of "
                f"{self.variances[at]:g}, expected > 0",
            }.get(fault, f"cell s={cell} is measured until no variance is left")
        )
