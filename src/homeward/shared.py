"""Versions of a large array that share one buffer, so that a small change costs little.

The newest version owns the buffer. Changing it writes in place; the older version then keeps only
the entries that were overwritten, and finds all others through its successor (Baker's trick). An
older version that is read again makes a copy. A change also makes a copy while anyone else holds an
array that was read from the buffer: its reference count tells. So arrays never change under those
who hold them. When as many entries were overwritten as the array has, a copy is made too; so older
versions never keep more than a second array alive.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from homeward.arrays import IntArray, frozen

MAX_CHANGES = 64  # largest number of versions between two whose difference `changes_to` returns

_LOCK = RLock()


class LazyArrays:
    """Base of dataclasses with array fields that are computed when they are read.

    `_sources` maps the name of each such field to its `Shared` or `Deferred` source.
    """

    def _defer(self, *names: str) -> None:
        """Replace the values of fields by their sources: an array becomes `Shared`."""
        sources = dict(self.__dict__.get("_sources", {}))
        for name in names:
            value = getattr(self, name)
            object.__delattr__(self, name)
            sources[name] = Shared(value) if isinstance(value, np.ndarray) else value
        self.__dict__["_sources"] = sources

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            source = self.__dict__.get("_sources", {}).get(name)
            if source is None:
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
            array = source.read()
            if not source.is_newest:  # keep the copy
                object.__setattr__(self, name, array)
            return array


class Deferred:
    """An array that is made when it is read."""

    is_newest = False

    def __init__(self, make: Callable[[], NDArray[Any]]) -> None:
        self._make = make

    def read(self) -> NDArray[Any]:
        """Return the array, read-only."""
        return frozen(self._make())

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return Shared, (self.read().copy(),)


class Shared:
    """One version of an array; all versions share a buffer (see the module docstring)."""

    __slots__ = ("__weakref__", "_at", "_buffer", "_newer", "_next", "_overwritten", "_since")

    in_place = getattr(sys, "_is_gil_enabled", lambda: True)()
    """Whether changes are written in place; without the GIL, reference counts are not exact."""

    def __init__(self, array: NDArray[Any]) -> None:
        """Take over an array that nobody else writes to."""
        self._buffer: NDArray[Any] | None = array  # None once a newer version owns it
        self._newer: Shared | None = None  # the version that took the buffer over
        self._next: weakref.ref[Shared] | None = None  # the version that was made of this one
        self._at: IntArray | None = None  # where that version differs
        self._overwritten: NDArray[Any] | None = None  # the entries of this version there
        self._since = 0  # entries that were overwritten since the buffer was made

    def _chain(self) -> tuple[list[Shared], NDArray[Any]]:
        """Return the versions from this one up to the owner of the buffer, and the buffer."""
        older, owner = [], self
        while owner._buffer is None:
            older.append(owner)
            assert owner._newer is not None
            owner = owner._newer
        return older, owner._buffer

    def read(self) -> NDArray[Any]:
        """Return the array, read-only: a view for the newest version, else a copy."""
        with _LOCK:
            older, buffer = self._chain()
            if not older:
                view = buffer.view()
                view.flags.writeable = False
                return view
            array = buffer.copy()
            flat = array.reshape(-1)
            for version in reversed(older):
                flat[version._at] = version._overwritten
            return frozen(array)

    def lend(self) -> NDArray[Any]:
        """Return the array for compiled searches, which must not write to it.

        A read-only array has another type, for which they would be compiled again.
        """
        with _LOCK:
            if self._buffer is None or not self._buffer.flags.writeable:
                return self.read().copy()
            return self._buffer.view()

    def at(self, indices: IntArray) -> NDArray[Any]:
        """Return the entries at flat indices [n], ascending."""
        with _LOCK:
            older, buffer = self._chain()
            values: NDArray[Any] = buffer.reshape(-1)[indices]
            for version in reversed(older):
                assert version._at is not None
                assert version._overwritten is not None
                place = np.searchsorted(indices, version._at)
                found = np.flatnonzero(place < len(indices))
                found = found[indices[place[found]] == version._at[found]]
                values[place[found]] = version._overwritten[found]
            return values

    @property
    def is_newest(self) -> bool:
        """Whether `read` returns a view, at no cost."""
        return self._buffer is not None

    def changed(self, at: IntArray, values: Any) -> Shared:
        """Return the version with other values at the flat indices `at` [n], all different."""
        with _LOCK:
            if self._is_alone() and self._since + len(at) <= self._buffer.size:  # type: ignore[union-attr]
                assert self._buffer is not None
                new, self._overwritten = Shared(self._buffer), self._buffer.reshape(-1)[at]
                new._since = self._since + len(at)
                self._buffer, self._newer, self._next, self._at = None, new, weakref.ref(new), at
            else:
                new = Shared(self.read().copy())
                if self._newer is None:
                    self._next, self._at = weakref.ref(new), at
            assert new._buffer is not None
            new._buffer.reshape(-1)[at] = values
            return new

    def changes_to(self, other: Shared) -> IntArray | None:
        """Return flat indices [n] that may differ in `other`; None beyond `MAX_CHANGES`."""
        found: list[IntArray] = [np.empty(0, np.int64)]
        version: Shared | None = self
        while version is not other:
            if version is None or version._at is None or len(found) > MAX_CHANGES:
                return None
            found.append(version._at)
            version = None if version._next is None else version._next()
        return found[1] if len(found) == 2 else np.unique(np.concatenate(found))

    def bytes_beyond(self, before: Shared | None) -> int:
        """Return the bytes that this version takes in addition to an earlier one."""
        total, version = 0, before
        while version is not None and version is not self:
            if version._at is not None and version._overwritten is not None:
                total += version._at.nbytes + version._overwritten.nbytes
            version = version._newer
        return total if version is self else self.read().nbytes

    def _is_alone(self) -> bool:
        """Return whether this version owns a buffer that nobody else can see."""
        if self._buffer is None or not self.in_place or self._holders() > ALONE:
            return False
        return bool(self._buffer.flags.owndata and self._buffer.flags.writeable)

    def _holders(self) -> int:
        return sys.getrefcount(self._buffer)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return Shared, (self.read().copy(),)


ALONE = Shared(np.empty(0))._holders()  # what `_holders` returns if nobody holds an array
