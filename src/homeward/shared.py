"""Fields of dataclasses that are computed when they are read: `Deferred` arrays of `LazyArrays`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from homeward.arrays import frozen


class LazyArrays:
    """Base of dataclasses with array fields that are computed when they are read.

    `_sources` maps the name of each such field to its `Deferred` source.
    """

    def _defer(self, *names: str) -> None:
        """Move the values of the fields `names` to `_sources`."""
        sources = dict(self.__dict__.get("_sources", {}))
        for name in names:
            sources[name] = getattr(self, name)
            object.__delattr__(self, name)
        self.__dict__["_sources"] = sources

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            source = self.__dict__.get("_sources", {}).get(name)
            if source is None:
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
            array = source.read()
            object.__setattr__(self, name, array)
            return array


class Deferred:
    """An array that is made when it is read."""

    def __init__(self, make: Callable[[], NDArray[Any]]) -> None:
        self._make = make

    def read(self) -> NDArray[Any]:
        """Return the array, read-only."""
        return frozen(self._make())

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self.read().copy(),)


def _made(array: NDArray[Any]) -> Deferred:
    """Return a source of an array that was made already."""
    return Deferred(lambda: array)
