"""Array types, and the checks that value objects make on their arguments."""

from __future__ import annotations

from dataclasses import field
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from homeward.errors import InvalidInputError

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.integer[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]
Error: TypeAlias = type[InvalidInputError]
Shape: TypeAlias = tuple[int, ...]

SUM_TOLERANCE = 1e-9
"""A sum of probabilities may exceed 1 by this much."""


def unless_given() -> Any:
    """Return a field of a value object that `__post_init__` fills in unless it is given."""
    return field(default=None)


def settle(value: object, **fields: object) -> None:
    """Set fields of a frozen value object, in its `__post_init__`."""
    for name, content in fields.items():
        object.__setattr__(value, name, content)


def place(index: Shape, axes: str) -> str:
    """Return the name of an array entry: ``place((17, 3), "sa")`` is ``(s=17, a=3)``."""
    return "(" + ", ".join(f"{axis}={int(i)}" for axis, i in zip(axes, index, strict=True)) + ")"


def first_of(mask: BoolArray) -> Shape:
    """Return the index of the first marked entry."""
    return tuple(int(i) for i in np.argwhere(mask)[0])


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array, or the array itself if it is read-only."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def own(array: NDArray[Any], given: object) -> NDArray[Any]:
    """Return a read-only array that shares no writable memory with what was `given`."""
    if isinstance(given, np.ndarray):
        shared = given.flags.writeable and np.may_share_memory(array, given)
    else:
        shared = array.base is not None  # a view of some other buffer
    return frozen(array.copy() if shared else array)


def numbers(
    values: ArrayLike, name: str, shape: Shape | None, error: Error, *, packed: bool = True
) -> FloatArray:
    """Return `values`, checked to be real numbers of that shape, as float64; may share memory.

    `packed` makes them contiguous for kernels; without it a broadcast array stays small.
    """
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biuf":
            raise TypeError(f"{given.dtype} is not a real number")
    except (TypeError, ValueError) as cause:
        raise error(f"{name} is not an array of numbers: {cause}") from cause
    array = np.asarray(given, dtype=np.float64, order="C" if packed else None)
    if shape is not None and array.shape != shape:
        raise error(f"{name} has shape {array.shape}, expected {shape}")
    return array


def floats(values: ArrayLike, name: str, shape: Shape | None, error: Error) -> FloatArray:
    """Return `values`, checked to be numbers of that shape without NaN, as read-only float64."""
    array = numbers(values, name, shape, error)
    if array.size and np.isnan(array.min()):
        raise error(f"{name} is NaN at {first_of(np.isnan(array))}")
    return own(array, values)


def probabilities(
    values: ArrayLike, name: str, shape: Shape, axes: str, error: Error
) -> FloatArray:
    """Return `values`, checked to be probabilities, as read-only float64."""
    array = floats(values, name, shape, error)
    if array.size and not (array.min() >= 0 and array.max() <= 1):
        at = first_of((array < 0) | (array > 1))
        raise error(f"{name} {place(at, axes)} is {array[at]:g}, not a probability")
    return array


def indices(
    values: ArrayLike,
    name: str,
    shape: Shape | None,
    bounds: tuple[int, int],
    axes: str,
    error: Error,
) -> IntArray:
    """Return `values`, checked to be whole numbers in ``low <= i < high``, as read-only int32."""
    try:
        array = np.asarray(values)
    except ValueError as cause:
        raise error(f"{name} is not an array of whole numbers: {cause}") from cause
    if not np.issubdtype(array.dtype, np.integer):
        raise error(f"{name} must hold whole numbers, not {array.dtype}")
    if shape is not None and array.shape != shape:
        raise error(f"{name} has shape {array.shape}, expected {shape}")
    low, high = bounds
    if array.size and not (array.min() >= low and array.max() < high):
        at = first_of((array < low) | (array >= high))
        raise error(f"{name} {place(at, axes)} is {array[at]}, outside {low}..{high - 1}")
    return own(np.ascontiguousarray(array, dtype=np.int32), values)


def index(value: object, count: int, name: str, error: Error) -> int:
    """Return `value`, checked to be a whole number in ``0 <= i < count``, as int."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise error(f"{name} is {value!r}, expected a whole number from 0 to {count - 1}")
    if not 0 <= int(value) < count:
        raise error(f"{name} is {int(value)}, outside 0..{count - 1}")
    return int(value)


def number(value: object, name: str, error: Error) -> float:
    """Return `value`, checked to be a real number and not NaN, as float."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or value != value:
        raise error(f"{name} is {value!r}, expected a number")
    return float(value)


def names(given: object, count: int, what: str, error: Error) -> tuple[str, ...] | None:
    """Return names, checked to be one for each state or action, as a tuple."""
    if given is None:
        return None
    if not isinstance(given, tuple | list) or not all(isinstance(name, str) for name in given):
        raise error(f"the {what} names are not a sequence of names")
    if len(given) != count:
        raise error(f"{len(given)} {what} names for {count} {what}s")
    return tuple(given)


def marks(given: object, count: int, error: Error) -> BoolArray:
    """Return a read-only mask [count], all False unless given."""
    array = np.zeros(count, dtype=bool) if given is None else np.asarray(given)
    if array.shape != (count,) or array.dtype != np.bool_:
        raise error(f"expected {count} marks, got {array.dtype} of shape {array.shape}")
    return own(array, given)


def tally(given: object, shape: Shape, error: Error) -> IntArray:
    """Return counts of that shape as read-only int32, all 0 unless given."""
    counts: Any = np.zeros(shape, np.int32) if given is None else given
    axes = "ijk"[: len(shape)]
    return indices(counts, "a count", shape, (0, int(np.iinfo(np.int32).max)), axes, error)


def is_nothing(values: object) -> bool:
    """Return whether rewards are the broadcast zero of `rewards`, which takes no memory."""
    if not isinstance(values, np.ndarray) or not values.size:
        return False
    return not any(values.strides) and bool(values.flat[0] == 0)


def rewards(values: ArrayLike | None, shape: tuple[int, int], error: Error) -> FloatArray:
    """Return checked rewards [S, A]; −inf marks an action that can't be chosen."""
    if values is None or (is_nothing(values) and np.shape(values) == shape):
        nothing: FloatArray = np.broadcast_to(np.float64(0.0), shape)  # takes no memory
        return nothing
    array = floats(values, "the reward", shape, error)
    if array.max() == np.inf:
        raise error(f"the reward {place(first_of(array == np.inf), 'sa')} is +inf")
    idle = array.max(axis=1) == -np.inf
    if idle.any():
        raise error(f"state s={int(np.argmax(idle))} has no action that can be chosen")
    return array
