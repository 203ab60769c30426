"""How kernels are compiled: their decorators, their names, and a message at first use.

Numba keeps compiled code beside the sources (or in NUMBA_CACHE_DIR), so that the next process only
loads it. A listener on Numba's compile events sees which of the two happens.

**Names.** Numba names compiled functions by a count that starts at 1 in every process. Functions
with equal Python names, as `np.sort` and `np.argsort` make inside kernels, get equal names if two
processes compile them at the same count. A third process that loads both then calls the wrong
function and computes wrong results without an error. Random numbers in place of the count prevent
this, so every kernel of the package imports `njit` from this module.
"""

from __future__ import annotations

import logging
import secrets
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from numba import njit as njit
from numba import prange as prange
from numba.core import event
from numba.core.bytecode import FunctionIdentity

if TYPE_CHECKING:
    from rich.status import Status

    int64 = int
else:
    from numpy import int64 as int64

MESSAGE = "Compiling the solvers for this machine; the compiled code is kept for later runs"
logger = logging.getLogger("homeward")

FunctionIdentity._unique_ids = iter(lambda: secrets.randbits(64), None)  # type: ignore[assignment]

kernel = njit(cache=True, error_model="numpy")
"""Decorator of a compiled function that Python calls; a division by 0 is infinite or NaN."""

if TYPE_CHECKING:  # the options of `inner_kernel` have no types
    inner_kernel = kernel
else:
    inner_kernel = njit(
        cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
    )
"""Decorator of a compiled function that only kernels call: it takes less time to compile.

It has no wrapper for Python. If Python called it, the process would crash.
"""


class Announcer(event.Listener):
    """Shows a spinner while one of our kernels is being compiled."""

    def __init__(self) -> None:
        self._depth = 0
        self._logged = False
        self._spinner: Status | None = None

    def on_start(self, event: Any) -> None:
        """Start the spinner with the outermost kernel."""
        if not _is_ours(event):
            return
        self._depth += 1
        if self._depth > 1:
            return
        if not self._logged:
            self._logged = True
            logger.info(MESSAGE)
        if sys.stderr.isatty() and find_spec("rich") is not None:
            from rich.console import Console

            self._spinner = Console(stderr=True).status(f"{MESSAGE} …")
            self._spinner.start()

    def on_end(self, event: Any) -> None:
        """Stop the spinner with the outermost kernel."""
        if not _is_ours(event):
            return
        self._depth -= 1
        if self._depth == 0 and self._spinner is not None:
            self._spinner.stop()
            self._spinner = None


def _is_ours(event: Any) -> bool:
    """Return whether the compiled function belongs to this package."""
    return str(event.data["dispatcher"].py_func.__module__).startswith("homeward.")


def announce() -> None:
    """Register the listener, once per process."""
    global _announcer
    if _announcer is None:
        _announcer = Announcer()
        event.register("numba:compile", _announcer)  # type: ignore[no-untyped-call]


_announcer: Announcer | None = None
