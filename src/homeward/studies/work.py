"""The work of one process: run tasks in sequence within a time budget."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from homeward.runs.kind import load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Scalar: TypeAlias = str | bool | int | float | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a task: a row, or an error."""

    position: int
    row: dict[str, Scalar] | None
    error: str | None  # with its traceback
    seconds: float

    @property
    def failed(self) -> bool:
        """Whether there is no row."""
        return self.row is None


def perform(
    reference: str, items: Sequence[tuple[int, Mapping[str, Any], int]], budget: float
) -> list[Outcome]:
    """Run tasks (position, cell, seed) until all are done or `budget` seconds are used up.

    At least one is run. A task that raises gives a failed outcome.
    """
    task = load(reference, "the task")
    found: list[Outcome] = []
    began = time.perf_counter()
    for position, cell, seed in items:
        start = time.perf_counter()
        row, error = None, None
        try:
            row = flat(task(dict(cell), seed), cell)
        except Exception:
            error = traceback.format_exc()
        now = time.perf_counter()
        found.append(Outcome(position, row, error, now - start))
        if now - began >= budget:
            break
    return found


def perform_alone(
    reference: str, items: Sequence[tuple[int, Mapping[str, Any], int]], budget: float
) -> list[Outcome]:
    """Run tasks in one thread, in a process that shares the machine with others like it."""
    load(reference, "the task")
    one_thread()
    return perform(reference, items, budget)


def one_thread() -> None:
    """Limit Numba to one thread; distributed itself limits BLAS when it starts a worker."""
    if "numba" in sys.modules:
        sys.modules["numba"].set_num_threads(1)
    else:
        os.environ["NUMBA_NUM_THREADS"] = "1"


def flat(row: Any, cell: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return a row with plain values; raise unless it is a dict of single values with new keys."""
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
            raise ValueError(f"{key!r} of the row is {plain}, outside of 64 bits")
        found[key] = plain
    return found


def dask_setup(worker: Any) -> None:
    """Ignore Ctrl-C, which the process that conducts the study handles; called in each worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
