"""Arrays that share memory between versions (`Shared`), or are computed when read (`Deferred`).

Versions of a large array share one buffer, so that a small change costs little.

The newest version owns the buffer. A change of this version writes in place. The older version then
keeps only the entries that were overwritten, and finds all others through its successor (Baker's
trick). If an older version is read again, it makes a copy. A change also makes a copy while other
code holds an array that was read from the buffer, which the buffer's reference count shows. So an
array that was read never changes. After as many overwritten entries as the array has, a change
makes a copy too. So older versions never need more memory than a second array.
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

MAX_CHANGES = 64  # largest number of changes between two versions that `changes_to` compares

_LOCK = RLock()


class LazyArrays:
    """Base of dataclasses with array fields that are computed when they are read.

    `_sources` maps the name of each such field to its `Shared` or `Deferred` source.
    """

    def _defer(self, *names: str) -> None:
        """Move the values of the fields `names` to `_sources`; an array becomes `Shared`."""
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
        """Make the first version of an array; nobody else may write to the array."""
        self._buffer: NDArray[Any] | None = array  # None once a newer version owns it
        self._newer: Shared | None = None  # the version to which the buffer was passed
        self._next: weakref.ref[Shared] | None = None  # the version that `changed` returned
        self._at: IntArray | None = None  # flat indices at which the next version differs
        self._overwritten: NDArray[Any] | None = None  # entries of this version at `_at`
        self._since = 0  # number of entries that were overwritten since the buffer was made

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
        """Return the array, writable, for compiled searches, which must not write to it.

        For a read-only array, which has another type, they would be compiled a second time.
        """
        with _LOCK:
            if self._buffer is None or not self._buffer.flags.writeable:
                return self.read().copy()
            return self._buffer.view()

    def at(self, indices: IntArray) -> NDArray[Any]:
        """Return the entries [n] at flat `indices` [n], which are ascending."""
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
        """Return a new version with `values` at the flat indices `at` [n], all different."""
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
        """Return the flat indices [n] at which a later version `other` may differ.

        Return None if `other` is not a later version, or more than `MAX_CHANGES` changes later.
        """
        changes: list[IntArray] = [np.empty(0, np.int64)]
        version: Shared | None = self
        while version is not other:
            if version is None or version._at is None or len(changes) > MAX_CHANGES:
                return None
            changes.append(version._at)
            version = None if version._next is None else version._next()
        return changes[1] if len(changes) == 2 else np.unique(np.concatenate(changes))

    def bytes_beyond(self, before: Shared | None) -> int:
        """Return the bytes that this version takes in addition to the earlier version `before`."""
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
        """Return the reference count of the buffer."""
        return sys.getrefcount(self._buffer)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return Shared, (self.read().copy(),)


ALONE = Shared(np.empty(0))._holders()  # reference count of a buffer that no other code holds
