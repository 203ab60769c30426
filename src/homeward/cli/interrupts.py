"""Ctrl-C: a run stops between two steps, and every command then exits with code 130.

Python raises KeyboardInterrupt wherever it happens to be. Inside compiled code that becomes a
SystemError, and a library may turn it into an error of its own or drop it. So the handler also
remembers that Ctrl-C was pressed; whatever ends a command after that counts as a stop. Where Python
can't raise it, for instance in a callback of a library, it prints a traceback; we suppress that.
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
    """SIGINT handler: raises KeyboardInterrupt; while `waiting` it takes note of the first one."""

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
    """Exit with code 130 after Ctrl-C, unless the caller of the process ignores or handles it.

    While the interpreter shuts down, Ctrl-C is ignored.
    """
    before, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    if before not in (signal.default_int_handler, signal.SIG_DFL):
        yield
        return

    def show(dropped: Any) -> None:
        if dropped.exc_type is not KeyboardInterrupt:
            hook(dropped)

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
