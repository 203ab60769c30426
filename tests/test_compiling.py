from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from numba.core.dispatcher import Dispatcher

import homeward
from homeward.compiling import MESSAGE, Announcer

if TYPE_CHECKING:
    import pytest


class Terminal(io.StringIO):
    """A standard error that someone looks at."""

    def isatty(self) -> bool:
        return True


def compiling(module: str) -> Any:
    """Make what Numba tells a listener of."""
    function = SimpleNamespace(__module__=module)
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


def test_a_terminal_sees_a_spinner_until_the_outermost_kernel_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    announcer, ours = Announcer(), compiling("homeward.solvers.kernels")
    announcer.on_start(ours)
    assert announcer._spinner is not None
    assert announcer._spinner.console.file is screen
    assert str(announcer._spinner.status).startswith(MESSAGE)
    announcer.on_start(ours)
    announcer.on_end(ours)
    assert announcer._spinner is not None
    announcer.on_end(ours)
    assert announcer._spinner is None


def test_it_is_said_once_and_only_of_our_own(caplog: pytest.LogCaptureFixture) -> None:
    announcer = Announcer()
    with caplog.at_level(logging.INFO, "homeward"):
        for module in ("elsewhere", "homeward.solvers.kernels", "homeward.beliefs.heights"):
            announcer.on_start(compiling(module))
            announcer.on_end(compiling(module))
    assert caplog.messages == [MESSAGE]
    assert announcer._spinner is None  # nobody looks


def test_a_second_process_finds_it_compiled(tmp_path: Path) -> None:
    script = (
        "import logging, numpy as np; logging.basicConfig(level=logging.INFO)\n"
        "from homeward.solvers import kernels\n"
        "print(kernels.sizes_of(np.array([[1.0, -3.0]]))[0])"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        for _ in range(2)
    ]
    assert [run.stdout.strip() for run in said] == ["3.0", "3.0"]
    assert MESSAGE in said[0].stderr
    assert MESSAGE not in said[1].stderr


def test_kernels_of_several_processes_do_not_take_each_other_s_functions(tmp_path: Path) -> None:
    """Two processes compile `add` of their own as their first function; a third one loads both."""
    (tmp_path / "adding.py").write_text(
        "from homeward.compiling import njit\n"
        "def adder(k):\n"
        "    @njit\n"
        "    def add(n):\n"
        "        return n + k if n < 1000 else add(n - 1) + add(n - 2)\n"
        "    return add\n"
    )
    for k in "12":
        (tmp_path / f"plus{k}.py").write_text(
            "from adding import adder, njit\n"
            f"add = adder({k})\n"
            "@njit('int64(int64)', cache=True)\n"
            "def plus(n):\n"
            "    return add(n)\n"
            "print(plus(0))\n"
        )
    env = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    said = [
        subprocess.run(
            [sys.executable, "-c", f"import {names}"],
            env=env,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for names in ("plus1", "plus2", "plus1, plus2")
    ]
    assert said == [["1"], ["2"], ["1", "2"]]


def test_every_kernel_is_compiled_under_a_name_of_its_own() -> None:
    """Only `compiling` may import Numba's decorators: it replaces Numba's names."""
    source = Path(homeward.__file__).parent
    named = [path.name for path in source.rglob("*.py") if "from numba" in path.read_text("utf-8")]
    assert named == ["compiling.py"]


def test_python_functions_never_call_a_kernel_that_has_no_wrapper_for_them() -> None:
    import_module("homeward.agents.searches")  # and with it the modules of kernels
    modules = [m for name, m in sys.modules.items() if name.startswith("homeward.")]
    inner = {
        id(value): name
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Dispatcher) and value.targetoptions.get("no_cpython_wrapper")
    }
    assert len(inner) > 5
    for module in modules:
        holders = [module, *(v for v in vars(module).values() if isinstance(v, type))]
        for function in (f for holder in holders for f in vars(holder).values()):
            if isinstance(function, FunctionType):
                names = function.__globals__
                called = {id(names.get(name)) for name in function.__code__.co_names}
                assert not called & inner.keys(), function.__qualname__
