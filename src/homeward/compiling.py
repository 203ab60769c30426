"""First use compiles the kernels: say so, once, with a spinner on a terminal.

Numba keeps what it compiles beside the sources (or where NUMBA_CACHE_DIR says), so that the next
process only loads it. A listener on Numba's compile events tells the one from the other.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

from numba.core import event

if TYPE_CHECKING:
    from rich.status import Status

MESSAGE = "Compiling the solvers for this machine; that is done once and kept"
logger = logging.getLogger("homeward")


class Announcer(event.Listener):
    """Shows a spinner while one of our kernels is being compiled."""

    def __init__(self) -> None:
        self._depth = 0
        self._said = False
        self._spinner: Status | None = None

    def on_start(self, event: Any) -> None:
        """Begin to spin with the outermost kernel."""
        if not _is_ours(event):
            return
        self._depth += 1
        if self._depth > 1:
            return
        if not self._said:
            self._said = True
            logger.info(MESSAGE)
        if sys.stderr.isatty():
            from rich.console import Console

            self._spinner = Console(stderr=True).status(f"{MESSAGE} …")
            self._spinner.start()

    def on_end(self, event: Any) -> None:
        """End with it."""
        if not _is_ours(event):
            return
        self._depth -= 1
        if self._depth == 0 and self._spinner is not None:
            self._spinner.stop()
            self._spinner = None


def _is_ours(event: Any) -> bool:
    """Tell whether what is compiled is a function of this package."""
    return str(event.data["dispatcher"].py_func.__module__).startswith("homeward.")


def announce() -> None:
    """Listen from now on, once per process."""
    global _announcer
    if _announcer is None:
        _announcer = Announcer()
        event.register("numba:compile", _announcer)  # type: ignore[no-untyped-call]


_announcer: Announcer | None = None
