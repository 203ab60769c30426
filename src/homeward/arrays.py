"""Array types, and the checks that every value object makes on what it is handed."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from homeward.errors import InvalidInputError

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.integer[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]

SUM_TOLERANCE = 1e-9
"""How far a sum of probabilities may pass 1 before it counts as wrong."""


def unless_given() -> Any:
    """Mark a field of a value object that is filled in on construction unless it is given."""
    return field(default=None)


def place(index: tuple[int, ...], axes: str) -> str:
    """Name one entry of an array: ``place((17, 3), "sa")`` is ``(s=17, a=3)``."""
    return "(" + ", ".join(f"{axis}={int(i)}" for axis, i in zip(axes, index, strict=True)) + ")"


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Give a read-only view of an array; the caller's own handle stays writeable."""
    view = array.view()
    view.flags.writeable = False
    return view


def floats(
    values: ArrayLike, name: str, shape: tuple[int, ...] | None, error: type[InvalidInputError]
) -> FloatArray:
    """Check that `values` are numbers of that shape without NaN; give read-only float64."""
    try:
        array = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise error(f"{name} is not an array of numbers: {cause}") from cause
    if shape is not None and array.shape != shape:
        raise error(f"{name} has shape {array.shape}, expected {shape}")
    bad = np.isnan(array)
    if bad.any():
        raise error(f"{name} is NaN at {tuple(int(i) for i in np.argwhere(bad)[0])}")
    return frozen(array)


def probabilities(
    values: ArrayLike, name: str, shape: tuple[int, ...], axes: str, error: type[InvalidInputError]
) -> FloatArray:
    """Check that every entry of `values` is a probability; give it as read-only float64."""
    array = floats(values, name, shape, error)
    bad = (array < 0) | (array > 1)
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise error(f"{name} {place(index, axes)} is {array[index]:g}, not a probability")
    return array


def indices(
    values: ArrayLike,
    name: str,
    shape: tuple[int, ...] | None,
    bounds: tuple[int, int],
    axes: str,
    error: type[InvalidInputError],
) -> IntArray:
    """Check that every entry of `values` is a whole number in ``low <= i < high``; give int32."""
    array = np.asarray(values)
    if not np.issubdtype(array.dtype, np.integer):
        raise error(f"{name} must hold whole numbers, not {array.dtype}")
    if shape is not None and array.shape != shape:
        raise error(f"{name} has shape {array.shape}, expected {shape}")
    low, high = bounds
    bad = (array < low) | (array >= high)
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        raise error(f"{name} {place(index, axes)} is {array[index]}, outside {low}..{high - 1}")
    result: IntArray = frozen(np.ascontiguousarray(array, dtype=np.int32))
    return result


def rewards(
    values: ArrayLike | None, shape: tuple[int, int], error: type[InvalidInputError]
) -> FloatArray:
    """Check rewards [S, A]: −inf marks an action that can't be chosen; each state needs another."""
    if values is None:
        return frozen(np.zeros(shape))
    array = floats(values, "the reward", shape, error)
    if (array == np.inf).any():
        index = tuple(int(i) for i in np.argwhere(array == np.inf)[0])
        raise error(f"the reward {place(index, 'sa')} is +inf")
    idle = ~np.isfinite(array).any(axis=1)
    if idle.any():
        raise error(f"state s={int(np.argmax(idle))} has no action that can be chosen")
    return array
