from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any, cast

import pytest

from homeward.cli.progress import show_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homeward.runs import Run

NO_RUN = cast("Run", None)  # what is quiet asks nothing of it


def steps(taken: list[int], interrupts: int, at: int = 2) -> Iterator[Any]:
    """Yield five steps; Ctrl-C comes while one of them is taken."""
    for number in range(5):
        for _ in range(interrupts if number == at else 0):
            signal.raise_signal(signal.SIGINT)
        taken.append(number)
        yield number


def test_ctrl_c_stops_a_run_after_the_step_in_which_it_came() -> None:
    taken: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        show_steps(NO_RUN, steps(taken, 1), None, quiet=True)
    assert taken == [0, 1, 2]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_stops_it_at_once() -> None:
    taken: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        show_steps(NO_RUN, steps(taken, 2), None, quiet=True)
    assert taken == [0, 1]


def test_ctrl_c_in_the_last_step_is_not_lost() -> None:
    with pytest.raises(KeyboardInterrupt):
        show_steps(NO_RUN, steps([], 1, at=4), None, quiet=True)


def test_where_ctrl_c_is_ignored_it_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        taken: list[int] = []
        show_steps(NO_RUN, steps(taken, 1), None, quiet=True)
        assert taken == [0, 1, 2, 3, 4]
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
