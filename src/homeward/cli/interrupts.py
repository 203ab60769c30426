"""Ctrl-C: a run stops between two steps, and every command then exits with code 130.

Python raises KeyboardInterrupt at an arbitrary point of the program. Compiled code turns it into a
SystemError, and a library may replace or drop it. So the handler also records that Ctrl-C was
pressed; any exception that ends a command afterwards counts as a stop. Where Python can't raise
KeyboardInterrupt, for instance in a callback of a library, it would print a traceback; we suppress
it.
"""

from __future__ import annotations

import atexit
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

STOPPED = 130  # exit code after Ctrl-C
T = TypeVar("T")


class Handler:
    """SIGINT handler that raises KeyboardInterrupt.

    While `waiting` is set, the first signal is only recorded in `pressed`.
    """

    def __init__(self) -> None:
        self.pressed = False
        self.waiting = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal."""
        at_once = self.pressed or not self.waiting
        self.pressed = True
        if at_once:
            raise KeyboardInterrupt


CTRL_C = Handler()


@contextmanager
def listening() -> Iterator[None]:
    """Handle SIGINT in a `with` block: after Ctrl-C, exit with code 130.

    If the caller already ignores or handles SIGINT, nothing changes. While the interpreter shuts
    down, Ctrl-C is ignored.
    """
    before, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    if before not in (signal.default_int_handler, signal.SIG_DFL):
        yield
        return

    def show(unraisable: Any) -> None:
        if unraisable.exc_type is not KeyboardInterrupt:
            hook(unraisable)

    CTRL_C.pressed = False
    sys.unraisablehook = show
    signal.signal(signal.SIGINT, CTRL_C)
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    except (KeyboardInterrupt, SystemExit, Exception):
        if not CTRL_C.pressed:
            raise
        sys.exit(STOPPED)
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = hook


def stop_between(steps: Iterable[T]) -> Iterator[T]:
    """Yield steps; after Ctrl-C raise KeyboardInterrupt once the current step has ended."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        CTRL_C.pressed = False
        signal.signal(signal.SIGINT, CTRL_C)
    elif before is not CTRL_C:
        yield from steps
        return
    CTRL_C.waiting = True
    try:
        for step in steps:
            if CTRL_C.pressed:
                raise KeyboardInterrupt
            yield step
        if CTRL_C.pressed:
            raise KeyboardInterrupt
    finally:
        CTRL_C.waiting = False
        signal.signal(signal.SIGINT, before)
