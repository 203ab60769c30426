"""Functions that run in a worker process: they run tasks in sequence within a time budget."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from homeward.errors import HomewardError
from homeward.planning.explorer import Loop, Step
from homeward.runs.kind import Setup, load

Scalar: TypeAlias = str | bool | int | float | None


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """Result of a task: a row, or the text of an error.

    The text has a traceback unless the error is a `HomewardError`.
    """

    position: int
    row: dict[str, Scalar] | None
    error: str | None
    seconds: float

    @property
    def failed(self) -> bool:
        """Whether the task failed, so that it has no row."""
        return self.row is None


def play(
    setup: Setup,
    measure: Callable[[Loop, Step], bool | None] | None = None,
    explorer: Loop | None = None,
) -> Loop:
    """Explore until the end or the step limit of a setup, and return the explorer.

    By default the explorer is the setup's own. `measure` is called with the explorer after each
    step; the run stops if it returns True.
    """
    explorer = setup.explorer() if explorer is None else explorer
    for step in explorer.explore(setup.limit):
        if measure is not None and measure(explorer, step):
            break
    return explorer


def perform(
    reference: str,
    items: Sequence[tuple[int, Mapping[str, Any], int]],
    budget: float,
    alone: bool = True,
) -> list[TaskOutcome]:
    """Run tasks (position, cell, seed) in order, and return their outcomes.

    After `budget` seconds no further task starts; at least one task runs. A task that raises gives
    a failed outcome. `alone` is False if other workers share the machine: then one thread is used.
    """
    task = load(reference, "the task")
    if not alone:
        one_thread()
    found: list[TaskOutcome] = []
    began = now = time.perf_counter()
    for position, cell, seed in items:
        start, row, error = now, None, None
        try:
            row = flat(task(dict(cell), seed), cell)
        except HomewardError as cause:
            error = f"{type(cause).__name__}: {cause}"
        except Exception:
            error = traceback.format_exc()
        now = time.perf_counter()
        found.append(TaskOutcome(position, row, error, now - start))
        if now - began >= budget:
            break
    return found


def one_thread() -> None:
    """Limit Numba to one thread; Dask limits BLAS itself when it starts a worker."""
    if "numba" in sys.modules:
        sys.modules["numba"].set_num_threads(1)
    else:
        os.environ["NUMBA_NUM_THREADS"] = "1"


def flat(row: Any, cell: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return a task's row with plain Python values.

    Raise if a value is not a scalar, or if a key is "seed" or a key of the cell.
    """
    if not isinstance(row, dict):
        raise TypeError(f"the task returned a {type(row).__name__}, expected a dict")
    found: dict[str, Scalar] = {}
    for key, value in row.items():
        if not isinstance(key, str):
            raise TypeError(f"the row has the key {key!r}, expected a text")
        if key == "seed" or key in cell:
            raise ValueError(f"the row has the key {key!r}, which the cell also has")
        plain = value.item() if type(value).__module__ == "numpy" and value.ndim == 0 else value
        if not (plain is None or isinstance(plain, str | bool | int | float)):
            raise TypeError(f"{key!r} of the row is a {type(value).__name__}, expected one value")
        if isinstance(plain, int) and not -(2**63) <= plain < 2**63:
            raise ValueError(f"{key!r} of the row is {plain}, which needs more than 64 bits")
        found[key] = plain
    return found


def dask_setup(worker: Any) -> None:
    """Make a worker ignore Ctrl-C, which the main process handles; Dask calls this hook."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
