from __future__ import annotations

import ast
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import pytest

from homeward.cli.interrupts import listening
from homeward.cli.progress_bar import show_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


def command(then: Callable[[], None]) -> None:
    """Run a command in which a library drops Ctrl-C."""
    with listening():
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        then()


def fail() -> None:
    raise SystemError("returned a result with an exception set")


def test_an_error_after_ctrl_c_exits_with_130() -> None:
    with pytest.raises(SystemExit) as stopped:
        command(fail)
    assert stopped.value.code == 130
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_without_ctrl_c_is_an_error() -> None:
    with pytest.raises(SystemError), listening():
        fail()


def test_ctrl_c_that_was_dropped_before_the_first_step_stops_the_run() -> None:
    taken: list[int] = []
    with pytest.raises(SystemExit):
        command(lambda: show_steps(NO_RUN, steps(taken, 0), None, quiet=True))
    assert taken == [0]


def test_an_exit_after_ctrl_c_exits_with_130() -> None:
    with pytest.raises(SystemExit) as stopped:
        command(lambda: sys.exit(0))
    assert stopped.value.code == 130


def test_a_ctrl_c_that_python_can_not_raise_prints_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Dying:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def drop() -> None:
        with suppress(KeyboardInterrupt):
            Dying()
        raise RuntimeError

    with pytest.raises(SystemExit) as stopped, listening():
        drop()
    assert stopped.value.code == 130
    assert capsys.readouterr().err == ""


def test_until_the_command_listens_ctrl_c_ends_it_silently() -> None:
    struck = """
import signal
import homeward.cli.interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)
homeward.cli.interrupts.listening = lambda: signal.raise_signal(signal.SIGINT)
from homeward.cli import main
main()
"""
    ended = subprocess.run([sys.executable, "-c", struck], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGINT
    assert ended.stderr == b""


def test_the_command_loads_little_before_it_is_safe_from_ctrl_c() -> None:
    listed = (
        "import sys; before = {*sys.modules}; import homeward.cli; print({*sys.modules} - before)"
    )
    told = subprocess.run(
        [sys.executable, "-c", listed], capture_output=True, text=True, check=True
    )
    own = {name for name in ast.literal_eval(told.stdout) if name.startswith("homeward")}
    assert own == {"homeward", "homeward.cli", "homeward.environments"}
    assert not {"lazy_loader", "typing", "signal"} & ast.literal_eval(told.stdout)
