"""Keep memory that was freed, in processes that are ours alone.

Every step on a large map makes and drops arrays of many megabytes. The C library of Linux hands
them back to the system at once and asks for them anew, zeroed page by page: a third of a step's
time on 1000 × 2000 cells. A library must not change how its user's process allocates; a command
may.
"""

from __future__ import annotations

import ctypes
import sys

TRIM_THRESHOLD, MMAP_MAX = -1, -4
"""Options of glibc's `mallopt`."""

NEVER = 2**31 - 1
"""Bytes to be free at the end of the heap before they are given back; the most that can be said."""


def keep_freed() -> bool:
    """Have this process keep what it frees, to use it again; tell whether that could be done."""
    if sys.platform != "linux":
        return False
    options = getattr(ctypes.CDLL(None), "mallopt", None)
    if options is None:  # musl has none
        return False
    return bool(options(MMAP_MAX, 0)) and bool(options(TRIM_THRESHOLD, NEVER))
