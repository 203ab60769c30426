"""Array types, and functions that check the arguments of value objects."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
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

SUM_TOLERANCE = 1e-9  # largest amount by which a sum of probabilities may exceed 1


def unless_given() -> Any:
    """Return a dataclass field with default None, which `__post_init__` replaces by a value."""
    return field(default_factory=lambda: None)


def set_fields(value: object, **fields: object) -> None:
    """Set fields of a frozen dataclass, for instance in its `__post_init__`."""
    for name, content in fields.items():
        object.__setattr__(value, name, content)


def place(index: Shape, axes: str) -> str:
    """Return an array index as text: ``place((17, 3), "sa")`` is ``(s=17, a=3)``."""
    return "(" + ", ".join(f"{axis}={int(i)}" for axis, i in zip(axes, index, strict=True)) + ")"


def first_of(mask: BoolArray) -> Shape:
    """Return the index of the first True entry of a mask."""
    return tuple(int(i) for i in np.argwhere(mask)[0])


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array; a read-only array is returned itself."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def locked(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array that its owner may still change read-only for all others; return it."""
    array.flags.writeable = False
    return array


def unlocked(array: NDArray[Any]) -> NDArray[Any]:
    """Return a writable view of a `locked` array, for its owner."""
    array.flags.writeable = True
    view = array.view()
    array.flags.writeable = False
    return view


def are_among(ascending: IntArray, values: IntArray) -> BoolArray:
    """Return the mask [m] of the `values` [m] that occur in an `ascending` array [n]."""
    if not len(ascending):
        return np.zeros(len(values), np.bool_)
    result: BoolArray = ascending.take(np.searchsorted(ascending, values), mode="clip") == values
    return result


def own(array: NDArray[Any], given: object) -> NDArray[Any]:
    """Return `array` read-only; it is copied if it shares writable memory with `given`."""
    if isinstance(given, np.ndarray):
        shared = given.flags.writeable and np.may_share_memory(array, given)
    else:
        shared = array.base is not None  # a view of some other buffer
    return frozen(array.copy() if shared else array)


def numbers(
    values: ArrayLike, name: str, shape: Shape | None, error: Error, *, packed: bool = True
) -> FloatArray:
    """Return `values` as float64; raise unless they are real numbers of this shape.

    The result may share memory with `values`. `packed` makes it contiguous, as kernels require;
    without `packed` a broadcast array stays small.
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
    """Return `values` as read-only float64; raise on NaN, other types or another shape."""
    array = numbers(values, name, shape, error)
    if array.size and np.isnan(array.min()):
        raise error(f"{name} is NaN at {first_of(np.isnan(array))}")
    return own(array, values)


def probabilities(
    values: ArrayLike, name: str, shape: Shape, axes: str, error: Error
) -> FloatArray:
    """Return `values` as read-only float64; raise unless they are probabilities of this shape.

    `axes` has a letter for each axis, which the message uses (`place`).
    """
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
    """Return `values` as read-only int32; raise unless they are integers in ``low <= i < high``.

    `bounds` is (low, high). `axes` has a letter for each axis, which the message uses (`place`).
    """
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
    """Return `value` as int; raise unless it is a whole number in ``0 <= i < count``."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise error(f"{name} is {value!r}, expected a whole number from 0 to {count - 1}")
    if not 0 <= int(value) < count:
        raise error(f"{name} is {int(value)}, outside 0..{count - 1}")
    return int(value)


def named_index(
    value: object, known: Sequence[str] | None, count: int, name: str, error: Error
) -> int:
    """Return the index of a state or action, given by number or by a name in `known`.

    Raise if it does not exist. `count` is the number of states or actions; `name` begins the
    message.
    """
    if not isinstance(value, str):
        return index(value, count, name, error)
    if known is None:
        raise error(f"{name} is {value!r}, but the model has no names: give a number")
    if list(known).count(value) > 1:
        raise error(f"{name} is {value!r}, a name that the model has more than once")
    if value not in known:
        near = difflib.get_close_matches(value, known, 1)
        hint = f": did you mean {near[0]!r}?" if near else f"; its names are {listed(known)}"
        raise error(f"{name} is {value!r}, which is not one of the model's names{hint}")
    return list(known).index(value)


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return the first `most` names as text, with the number of others: "a, b and 3 more"."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def number(value: object, name: str, error: Error) -> float:
    """Return `value` as float; raise unless it is a real number and not NaN."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or value != value:
        raise error(f"{name} is {value!r}, expected a number")
    return float(value)


def names(given: object, count: int, what: str, error: Error) -> tuple[str, ...] | None:
    """Return the `given` names as a tuple, or None; raise unless there are `count` names."""
    if given is None:
        return None
    if not isinstance(given, tuple | list) or not all(isinstance(name, str) for name in given):
        raise error(f"the {what} names are not a sequence of names")
    if len(given) != count:
        raise error(f"{len(given)} {what} names for {count} {what}s")
    return tuple(given)


def marks(given: object, name: str, count: int, error: Error) -> BoolArray:
    """Return the `given` mask [count] read-only, all False for None; raise if it is invalid."""
    array = np.zeros(count, dtype=bool) if given is None else np.asarray(given)
    if array.shape != (count,) or array.dtype != np.bool_:
        raise error(f"{name} is {array.dtype} of shape {array.shape}, expected {count} booleans")
    return own(array, given)


def checked_counts(given: object, shape: Shape, error: Error) -> IntArray:
    """Return the `given` counts as read-only int32, zeros for None; raise if they are invalid."""
    counts: Any = np.zeros(shape, np.int32) if given is None else given
    axes = "ijk"[: len(shape)]
    return indices(counts, "a count", shape, (0, int(np.iinfo(np.int32).max)), axes, error)


def narrowed(bounds: FloatArray) -> NDArray[np.float32]:
    """Return lower bounds [...] in single precision, rounded down."""
    near = bounds.astype(np.float32)
    return np.where(near > bounds, np.nextafter(near, np.float32(-np.inf)), near)


def is_default_zero(values: object) -> bool:
    """Return whether `values` is a broadcast 0, the default of `rewards`; this takes O(1) time."""
    if not isinstance(values, np.ndarray) or not values.size:
        return False
    return not any(values.strides) and bool(values.flat[0] == 0)


def rewards(values: ArrayLike | None, shape: tuple[int, int], error: Error) -> FloatArray:
    """Return the rewards [S, A], zeros for None; raise if they are invalid.

    A reward of −inf means that the action can't be chosen.
    """
    if values is None or (is_default_zero(values) and np.shape(values) == shape):
        return np.broadcast_to(np.float64(0.0), shape)  # takes no memory
    array = floats(values, "the reward", shape, error)
    if array.max() == np.inf:
        raise error(f"the reward {place(first_of(array == np.inf), 'sa')} is +inf")
    idle = array.max(axis=1) == -np.inf
    if idle.any():
        raise error(f"state s={int(np.argmax(idle))} has no action that can be chosen")
    return array
