"""Checks that Ctrl-C stops a run cleanly at any moment, and that it resumes to the same run.

Each try starts ``homeward`` as a process, sends SIGINT at a random moment, and resumes the run.
Half of the moments lie between the start of the process and its first step, while it imports,
compiles and makes the world; the others between the first step and the end. The process must exit
with code 130 and without a traceback, and the log of the resumed run must be that of an undisturbed
run, byte for byte.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

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

LOG = "steps.jsonl"
STOPPED = 130


class Try(NamedTuple):
    """What became of one interrupted run."""

    run: str
    moment: float  # below 1 a fraction of the time to the first step, above 1 of that after it
    code: int
    output: str  # what the interrupted process wrote to stderr
    steps: int  # in the log when it had stopped
    same: bool  # whether the resumed run has the log of the undisturbed one

    @property
    def clean(self) -> bool:
        """Whether the process stopped as it should."""
        return self.code == STOPPED and "Traceback" not in self.output


def interrupt(tries: int, seed: int) -> Iterator[Try]:
    """Interrupt runs at random moments, in turn, and resume each."""
    rng = np.random.default_rng(seed)
    undisturbed: dict[str, tuple[bytes, float, float]] = {}
    with TemporaryDirectory() as folder:
        for number in range(tries):
            name = [*COMMANDS][number % len(COMMANDS)]
            command = [*COMMANDS[name], "--steps", str(STEPS), "--seed", "1", "--out"]
            if name not in undisturbed:
                for once in range(2):  # the first may compile
                    out, begin = Path(folder) / f"{number} {once}", time.monotonic()
                    process = _start(*command, str(out))
                    _wait_for_a_step(process, out)
                    first = time.monotonic()
                    process.communicate()
                    log = (out / LOG).read_bytes()
                    undisturbed[name] = log, first - begin, time.monotonic() - first
            log, before, after = undisturbed[name]
            while True:
                out, moment = Path(folder) / f"{number}", float(rng.random()) + number % 2
                process = _start(*command, str(out))
                if moment >= 1.0:
                    _wait_for_a_step(process, out)
                time.sleep(moment * before if moment < 1.0 else (moment - 1.0) * after)
                if process.poll() is None:
                    break
                out.rename(out.with_suffix(f".{moment}"))  # it was faster this time
            process.send_signal(signal.SIGINT)
            _, output = process.communicate()
            left = (out / LOG).read_bytes() if (out / LOG).exists() else b""
            again = ["runs", "resume", str(out)] if out.exists() else [*command, str(out)]
            _start(*again).communicate()
            same = (out / LOG).exists() and (out / LOG).read_bytes() == log
            yield Try(name, moment, process.returncode, output, left.count(b"\n"), same)


def _wait_for_a_step(process: subprocess.Popen[str], out: Path) -> None:
    while process.poll() is None and not ((out / LOG).exists() and (out / LOG).stat().st_size):
        time.sleep(0.002)


def _start(*command: str) -> subprocess.Popen[str]:
    pipe: Any = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-m", "homeward", *command], stdout=pipe, stderr=pipe, text=True
    )
