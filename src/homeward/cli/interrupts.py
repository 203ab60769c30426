"""Ctrl-C: a run stops between two steps, and every command then exits with code 130.

Python raises KeyboardInterrupt wherever it happens to be. Inside compiled code that becomes a
SystemError, and a library may turn it into an error of its own or drop it. So the handler also
remembers that Ctrl-C was pressed; whatever ends a command after that counts as a stop.
"""

from __future__ import annotations

import atexit
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType

STOPPED = 130
"""Exit code after Ctrl-C."""

T = TypeVar("T")


class Handler:
    """Handler of SIGINT: raises KeyboardInterrupt, or only takes note while `waiting`.

    A second Ctrl-C raises also while `waiting`.
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
    """Handle Ctrl-C, unless it is ignored or handled otherwise; then exit with code 130.

    Once the process ends, it is ignored.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        yield
        return
    CTRL_C.pressed = False
    signal.signal(signal.SIGINT, CTRL_C)
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    except (KeyboardInterrupt, Exception):
        if not CTRL_C.pressed:
            raise
        sys.exit(STOPPED)
    finally:
        signal.signal(signal.SIGINT, before)


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
