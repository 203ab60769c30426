"""Prior of categorical heights: checks, cumulative probabilities, and draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homeward.arrays import SUM_TOLERANCE, FloatArray, IntArray, floats, frozen, number
from homeward.errors import InvalidBeliefError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from homeward.errors import InvalidInputError

LEVELS = 5
"""Number of heights in the paper's worlds."""


def check_prior(prior: ArrayLike | None, states: int, error: type[InvalidInputError]) -> FloatArray:
    """Return a checked distribution of heights, [H] or [S, H]; None is uniform from 1 to 5."""
    if prior is None:
        return frozen(np.full(LEVELS, 1.0 / LEVELS))
    mass = floats(prior, "the prior", None, error)
    if np.ndim(prior) not in (1, 2) or mass.shape[:-1] not in ((), (states,)):
        raise error(f"the prior has shape {np.shape(prior)}, expected [H] or [{states}, H]")
    if mass.shape[-1] == 0:
        raise error("the prior has no heights")
    rows = np.atleast_2d(mass)

    def name(row: int) -> str:
        return "the prior" if mass.ndim == 1 else f"the prior of square s={row}"

    if not (rows.min() >= 0.0 and rows.max() <= 1.0):
        row, column = (int(i) for i in np.argwhere((rows < 0.0) | (rows > 1.0))[0])
        raise error(
            f"{name(row)} has height {column + 1} at {rows[row, column]:g}, not a probability"
        )
    sums = rows.sum(axis=1)
    worst = int(np.argmax(np.abs(sums - 1.0)))
    if abs(sums[worst] - 1.0) > SUM_TOLERANCE:
        raise error(f"{name(worst)} sums to {sums[worst]:.10g}, expected 1")
    return mass


def check_walls(walls: ArrayLike, states: int) -> FloatArray:
    """Return checked probabilities of walls: [1], the same for all, or [S]."""
    error = InvalidBeliefError
    if np.ndim(walls) == 0:
        chance = np.array([number(walls, "the chance of a wall", error)])
    else:
        chance = floats(walls, "the chance of a wall", (states,), error)
    if not (chance.min() >= 0.0 and chance.max() <= 1.0):
        at = int(np.argmax((chance < 0.0) | (chance > 1.0)))
        raise error(f"the chance of a wall at s={at} is {chance[at]:g}, not a probability")
    return frozen(chance)


def cumulative(mass: FloatArray) -> FloatArray:
    """Return Pr(height ≤ 0, 1, ..., H + 1) [R, H + 2]; exactly 1 from the highest height on."""
    below = np.zeros((len(mass), mass.shape[1] + 2))
    np.cumsum(mass, axis=1, out=below[:, 1:-1])
    np.minimum(below, 1.0, out=below)
    last = mass.shape[1] - np.argmax(mass[:, ::-1] > 0.0, axis=1)
    below[np.arange(below.shape[1]) >= last[:, None]] = 1.0
    return below


def draw_heights(prior: FloatArray, states: int, rng: np.random.Generator) -> IntArray:
    """Draw heights [S] independently from a prior [H] or [S, H]."""
    below = cumulative(np.atleast_2d(prior))
    drawn: IntArray = 1 + (rng.random((states, 1)) >= below[:, 1:-2]).sum(axis=1, dtype=np.int32)
    return drawn
