"""One writer at a time: a lock that dies with the process that holds it.

The lock is the system's own on an open file (``flock``), so that a killed process leaves none. The
file says who holds it. It goes away with the lock; one that a killed process left is no obstacle.
"""

from __future__ import annotations

import fcntl
import os
import platform
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from homeward.errors import HomewardError
from homeward.files import refusing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""How a lock is opened: no link is followed, and nothing is waited for that is not a plain file."""

PATIENCE = 0.5
"""Seconds to wait for a lock: longer than `is_held` holds one, shorter than people notice."""


class BusyError(HomewardError):
    """Another process is writing the same run or study."""


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold the lock on the file `path`; refuse if another process does, and say which."""
    handle = _acquire(path, what)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} on {platform.node()}".encode(), 0)
        yield
    finally:
        with suppress(OSError):  # the directory may be gone
            os.unlink(path)
        os.close(handle)


def is_held(path: Path) -> bool:
    """Tell whether a living process holds the lock."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _acquire(path: Path, what: str) -> int:
    """Give a handle that holds the lock."""
    until = time.monotonic() + PATIENCE
    while True:
        with refusing(path.parent, "can't be written"):
            handle = os.open(path, FLAGS, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The one before may have removed the file between the opening and the locking; then
            # the next would lock another file of that name.
            if _same_file(handle, path):
                return handle
        except BlockingIOError:
            if time.monotonic() > until:
                holder = os.pread(handle, 200, 0).decode(errors="replace") or "another process"
                os.close(handle)
                raise BusyError(f"{what}: {holder} is writing it") from None
            time.sleep(0.02)
        os.close(handle)


def _same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False
