"""Conducts a study in processes that are killed, and says what was left: ``python -m`` this.

- ``clock``: a fork without workers is killed after a random time, again and again until it is done.
- ``workers``: a fork with workers is killed when some tasks are done; they must not outlive it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import distributed  # noqa: F401  once for all forks
import psutil
from tests.runs.killing import forked, outcome

from homeward.studies import StudyFile, conduct, define, table_of, write_table

conductor: Any = sys.modules["homeward.studies.conduct"]
STUDY = define("naps", "tests.studies.tasks:napping", [{"nap": 0.004}], range(60))


def go_on(path: Path, workers: int) -> None:
    """Go on with the study to its end."""
    with StudyFile.open(path, STUDY) as study_file:
        for _ in conduct(study_file, workers=workers):
            pass


def table(path: Path) -> bytes:
    with StudyFile.read(path) as study_file:
        write_table(table_of(study_file), path.with_suffix(".csv"))
    return path.with_suffix(".csv").read_bytes()


def by_the_clock(root: Path, kills: int) -> dict[str, Any]:
    conductor.BATCH_SECONDS = 0.0  # every task by itself, so that more kills meet an entry
    rng = random.Random(2)
    began = time.perf_counter()
    assert outcome(forked(partial(go_on, root / "whole.sqlite", 0))) == 0
    whole = time.perf_counter() - began
    killed, same, number = 0, [], 0
    while killed < kills:
        path = root / f"study{number}.sqlite"
        number += 1
        code = -signal.SIGKILL
        while code:
            child = forked(partial(go_on, path, 0))
            time.sleep(rng.uniform(0.0, 0.3 * whole))
            os.kill(child, signal.SIGKILL)
            code = outcome(child)
            assert code in (0, -signal.SIGKILL)
            killed += code != 0
        same.append(table(path) == table(root / "whole.sqlite"))
    return {"killed": killed, "same": same}


def with_workers(root: Path) -> dict[str, Any]:
    assert outcome(forked(partial(go_on, root / "whole.sqlite", 0))) == 0
    path = root / "study.sqlite"
    child = forked(partial(go_on, path, 2))
    while done(path) < 10:
        time.sleep(0.005)
    workers = psutil.Process(child).children(recursive=True)
    os.kill(child, signal.SIGKILL)
    assert outcome(child) == -signal.SIGKILL
    _, outlived = psutil.wait_procs(workers, timeout=20.0)
    partly = done(path)
    assert outcome(forked(partial(go_on, path, 0))) == 0
    same = table(path) == table(root / "whole.sqlite")
    return {"workers": len(workers), "outlived": len(outlived), "partly": partly, "same": same}


def done(path: Path) -> int:
    if not path.exists() or not path.stat().st_size:
        return 0
    with StudyFile.read(path) as study_file:
        return study_file.done


if __name__ == "__main__":
    how, folder = sys.argv[1], Path(sys.argv[2])
    found = by_the_clock(folder, 20) if how == "clock" else with_workers(folder)
    sys.stdout.write(json.dumps(found))
