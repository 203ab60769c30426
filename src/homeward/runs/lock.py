"""File locks that allow one writer at a time, and end with the process that holds them.

`filelock` uses the system's lock on an open file, which ends with the process. The lock file names
the holder and is deleted on release. The lock file of a killed process blocks nobody.
"""

from __future__ import annotations

import fcntl
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from homeward.errors import HomewardError
from homeward.files import refusing

LOCK_TIMEOUT = 0.5  # seconds: longer than `is_held` holds a lock, too short for users to notice


class BusyError(HomewardError):
    """Another process is writing the same run or study."""


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold the lock on the file `path`; raise `BusyError` if another process holds it.

    The message begins with `what` and names the other process.
    """
    lock = FileLock(path, LOCK_TIMEOUT, poll_interval=0.02, thread_local=False, on_acquired=_sign)
    with refusing(path.parent, "can't be written"):
        path.parent.stat()  # raises if there is no directory; the lock would create it
        try:
            lock.acquire()
        except Timeout:
            holder = ""
            with suppress(OSError):  # the holder may have just deleted the file
                holder = path.read_bytes()[:200].decode(errors="replace")
            raise BusyError(f"{what}: {holder or 'another process'} is writing it") from None
    try:
        yield
    finally:
        with suppress(OSError):  # the directory may be gone
            os.unlink(path)
        lock.release()


def _sign(handle: int) -> None:
    """Write the number and the machine of this process into the open lock file."""
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"process {os.getpid()} on {platform.node()}".encode(), 0)


def is_held(path: Path) -> bool:
    """Return whether a living process holds the lock.

    This tries a shared lock, which `filelock` does not have. So several processes can check at the
    same time, also without permission to write.
    """
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
