"""Runs a meadow in processes that are killed, and says what was left: ``python -m`` this.

Everything is imported once; each attempt is a fork, so that many can be killed in little time.

- ``clock``: a fork is killed after a random time, again and again until it is through.
- ``calls``: a fork is killed at the n-th thing that it asks of the file system, for every n; half
  of what it was to write is then written.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.runs.kinds import NAME

from homeward.runs import Run

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS = ("write", "fsync", "replace", "rename", "ftruncate", "unlink", "mkdir", "rmdir", "pwrite")
BUSY = 3


def go_on(directory: Path, config: dict[str, Any]) -> None:
    """Make the run unless it is there, and take it to its end."""
    run = Run.open(directory) if directory.exists() else Run.create(directory, NAME, config)
    run.resume()


def forked(work: Callable[[], None]) -> int:
    """Do something in a fork of this process; give its id."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            os._exit(BUSY)
        os._exit(0)
    return child


def outcome(child: int) -> int:
    """Wait for a fork; give its exit code, negative if it was killed."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kept(directory: Path) -> dict[str, Any]:
    """Say what is to be the same after any number of kills."""
    run = Run.open(directory)
    manifest = run.manifest
    return {
        "log": (directory / "steps.jsonl").read_text(),
        "status": run.status,
        "end": manifest.end,
        "steps": manifest.steps,
        "fields": {name: array.tolist() for name, array in run.fields().items()},
        "files": sorted(p.name for p in directory.iterdir()),
    }


def dying_at(call: int) -> None:
    """Kill this process at the n-th call, halfway through it if it is a write."""
    count = 0

    def dying(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            nonlocal count
            count += 1
            if count == call:
                if name in ("write", "pwrite"):
                    real(given[0], bytes(given[1])[: len(given[1]) // 2], *given[2:], **named)
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **named)

        return called

    for name in CALLS:
        setattr(os, name, dying(name, getattr(os, name)))


def by_the_clock(root: Path, config: dict[str, Any], kills: int) -> dict[str, Any]:
    rng = random.Random(1)
    began = time.perf_counter()
    assert outcome(forked(partial(go_on, root / "whole", config))) == 0
    whole = time.perf_counter() - began
    killed, ends, number = 0, [], 0
    while killed < kills:
        directory = root / f"run{number}"
        number += 1
        code = -signal.SIGKILL
        while code:
            child = forked(partial(go_on, directory, config))
            time.sleep(rng.uniform(0.0, 0.5 * whole))
            os.kill(child, signal.SIGKILL)
            code = outcome(child)
            assert code in (0, -signal.SIGKILL)
            killed += code != 0
        ends.append(kept(directory) == kept(root / "whole"))
    return {"killed": killed, "same": ends, "whole": kept(root / "whole")}


def by_the_call(root: Path, config: dict[str, Any]) -> dict[str, Any]:
    assert outcome(forked(partial(go_on, root / "whole", config))) == 0
    different, call, code = [], 0, -signal.SIGKILL
    while code:
        call += 1
        directory = root / "run"
        shutil.rmtree(directory, ignore_errors=True)

        def attempt(call: int = call, directory: Path = directory) -> None:
            dying_at(call)
            go_on(directory, config)

        code = outcome(forked(attempt))
        assert code in (0, -signal.SIGKILL)
        assert outcome(forked(partial(go_on, directory, config))) == 0
        if kept(directory) != kept(root / "whole"):
            different.append(call)
    return {"calls": call - 1, "different": different}


if __name__ == "__main__":
    how, folder, settings = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
    # What is compiled here is compiled in the forks. What is written need not reach the disk to
    # outlive a process; that would only take time.
    setattr(os, "fsync", lambda handle: None)  # noqa: B010
    go_on(folder / "warm", settings)
    if how == "clock":
        found = by_the_clock(folder, settings, int(sys.argv[4]))
    else:
        found = by_the_call(folder, settings)
    sys.stdout.write(json.dumps(found))
