"""Checks that Ctrl-C stops a run cleanly at any moment, and that it resumes to the same run.

Each try starts ``homeward`` from a shell, as a user does, sends SIGINT to both, as a terminal does,
and resumes the run. The moments cover the life of a run in four phases:

- start-up: from the start of the process to the first step, while it imports and makes the world;
- compiling: the same with an empty cache of compiled code, from the creation of the run on;
- steps: after a random one of its steps;
- outputs: from the last step to the end, while it writes and draws.

The shell must see exit code 130, nothing may print a traceback, and the resumed run must have the
log of an undisturbed run, byte for byte, and files of the same names. A try whose process ended by
itself with code 0 tells nothing and is repeated.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

STEPS = 120
ROVER = ("explore", "--rows", "200", "--columns", "300")
DRIVEN = ("--ground", "driven", "--climb", "20", "--descend", "30", "--roll", "20")
PAPER = ("--algorithm", "paper")
COMMANDS = {
    "rover": ROVER,
    "rover, Algorithm 1": (*ROVER, *PAPER),
    "rover, driven ground": (*ROVER, *DRIVEN),
    "rover, driven ground, Algorithm 1": (*ROVER, *DRIVEN, *PAPER),
    "grid": ("run", "grid"),
    "grid, Algorithm 1": ("run", "grid", *PAPER),
}
"""The runs that are interrupted."""

PHASES = ("start-up", "steps", "outputs", "start-up", "compiling")  # phases of successive tries
COMPILING_SECONDS = 30.0  # after the start of a run, for the moments of `compiling`
REPEATS = 10  # largest number of repetitions of a try whose process ended by itself
LOG, CREATED = "steps.jsonl", "manifest.json"
STOPPED = 130
SHELL = ("sh", "-c", 'trap : INT; "$@"; exit $?', "sh", sys.executable, "-m", "homeward")
"""A shell that survives Ctrl-C and exits with the code that it sees."""


class Try(NamedTuple):
    """The result of one interrupted run."""

    run: str
    phase: str
    moment: float  # fraction of the phase
    code: int  # exit code that the shell sees
    output: str  # stderr of the interrupted process
    steps: int  # number of steps in the log of the interrupted run
    same: bool  # whether the resumed run has the log and the files of the undisturbed one

    @property
    def clean(self) -> bool:
        """Whether the process exited with code 130 and printed no traceback."""
        return self.code == STOPPED and "Traceback" not in self.output


class Undisturbed(NamedTuple):
    """A run that was not interrupted."""

    log: bytes
    files: set[str]
    before: float  # seconds from the start of the process to the first step
    after: float  # seconds from the last step to the end


def interrupt(tries: int, seed: int) -> Iterator[Try]:
    """Interrupt runs of all commands and phases at random moments; resume and yield each."""
    rng = np.random.default_rng(seed)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a script
        signal.signal(signal.SIGINT, signal.default_int_handler)  # children inherit the default
    undisturbed: dict[str, Undisturbed] = {}
    with TemporaryDirectory() as folder:
        for number in range(tries):
            name = [*COMMANDS][number % len(COMMANDS)]
            command = [*COMMANDS[name], "--steps", str(STEPS), "--seed", "1", "--out"]
            if name not in undisturbed:
                for once in range(2):  # the first may compile
                    undisturbed[name] = _undisturbed(command, Path(folder) / f"{number} {once}")
            phase, code, again = PHASES[number % len(PHASES)], 0, 0
            while code == 0 and again < REPEATS:
                again += 1
                moment, out = float(rng.random()), Path(folder) / f"{number}.{again}"
                whole = undisturbed[name]
                code, output = _interrupted([*command, str(out)], out, phase, moment, whole)
            left = _lines(out)
            resume = ["runs", "resume", str(out)] if out.exists() else [*command, str(out)]
            _start(*resume).communicate()
            same = _files(out) == undisturbed[name].files
            same = same and (out / LOG).read_bytes() == undisturbed[name].log
            yield Try(name, phase, moment, code, output, left, same)


def _interrupted(
    command: list[str], out: Path, phase: str, moment: float, whole: Undisturbed
) -> tuple[int, str]:
    """Start a run and interrupt it in a phase; return the exit code and the text of stderr."""
    with TemporaryDirectory() as cache:
        more = {"NUMBA_CACHE_DIR": cache} if phase == "compiling" else {}
        process, last = _start(*command, **more), whole.log.count(b"\n")
        if phase == "start-up":
            time.sleep(moment * whole.before)
        elif phase == "compiling":
            _wait(process, lambda: (out / CREATED).exists())
            time.sleep(moment * COMPILING_SECONDS)
        elif phase == "steps":
            _wait(process, lambda: _lines(out) > moment * (last - 1))
        else:
            _wait(process, lambda: _lines(out) == last)
            time.sleep(moment * whole.after)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
        _, output = process.communicate()
    return process.returncode, output


def _undisturbed(command: list[str], out: Path) -> Undisturbed:
    """Run a command to its end; return its log, the names of its files, and its times."""
    begin, process = time.monotonic(), _start(*command, str(out))
    _wait(process, lambda: _lines(out) > 0)
    first = last = time.monotonic()
    taken = 0
    while process.poll() is None:
        if (lines := _lines(out)) > taken:
            taken, last = lines, time.monotonic()
        time.sleep(0.002)
    _, errors = process.communicate()
    if process.returncode:
        raise RuntimeError(f"a run that nobody interrupted failed: {errors}")
    log = (out / LOG).read_bytes()
    return Undisturbed(log, _files(out), first - begin, time.monotonic() - last)


def _files(out: Path) -> set[str]:
    """Return the names of the files in a run's folder."""
    return {path.name for path in out.iterdir()} if out.exists() else set()


def _lines(out: Path) -> int:
    """Return the number of steps in the log of a run."""
    return (out / LOG).read_bytes().count(b"\n") if (out / LOG).exists() else 0


def _wait(process: subprocess.Popen[str], ready: Callable[[], bool]) -> None:
    """Wait until `ready()` is true or the process has ended."""
    while process.poll() is None and not ready():
        time.sleep(0.002)


def _start(*command: str, **environment: str) -> subprocess.Popen[str]:
    """Start a command of homeward from a shell, with additional environment variables."""
    pipe: Any = subprocess.PIPE
    return subprocess.Popen(
        [*SHELL, *command],
        stdout=subprocess.DEVNULL,
        stderr=pipe,
        text=True,
        start_new_session=True,
        env=os.environ | environment,
    )
