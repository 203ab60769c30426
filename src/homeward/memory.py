"""Reuse of freed memory, for processes that run only a command of Homeward.

Every step on a large map allocates and frees arrays of many megabytes. The C library of Linux
returns them to the system at once and requests them again, zeroed page by page: a third of a step's
time on 1000 × 2000 cells. Only commands change how the process allocates memory. The library does
not, since other code may run in the same process.
"""

from __future__ import annotations

import ctypes
import sys

TRIM_THRESHOLD, MMAP_MAX = -1, -4  # options of glibc's `mallopt`
MAX_FREE_BYTES = 2**31 - 1  # free bytes at the end of the heap that are kept: the largest int


def keep_freed() -> bool:
    """Make this process keep freed memory for reuse; return whether that was possible."""
    if sys.platform != "linux":
        return False
    options = getattr(ctypes.CDLL(None), "mallopt", None)
    if options is None:  # musl has none
        return False
    return bool(options(MMAP_MAX, 0)) and bool(options(TRIM_THRESHOLD, MAX_FREE_BYTES))
