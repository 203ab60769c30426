"""Time of a step in a grid world, and the fraction of it outside compiled kernels.

A step plans, acts, observes and updates the belief. The exploration runs twice from the same start:
once to measure the steps, and once with a timer around every kernel that Python calls, to measure
the fraction of time outside kernels.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from homeward.errors import InvalidProblemError
from homeward.kinds.grid.config import GridConfig
from homeward.kinds.grid.kind import make
from homeward.paper.timing import step_seconds
from homeward.runs.config import checked
from lab.bench.terrain import quartiles

KERNEL_MODULES = (
    "homeward.solvers.kernels",
    "homeward.solvers.returns",
    "homeward.beliefs.corrections",
    "homeward.criteria",
    "homeward.beliefs.levels",
)
"""Modules in which callers look up kernels."""


def measure(size: int, walls: float, delta: float, steps: int, seed: int) -> dict[str, float]:
    """Return quartiles of the first `steps` step times, and the fraction outside kernels."""
    _explore(size, walls, delta, min(steps, 3), seed)  # compiles
    times = _explore(size, walls, delta, steps, seed)
    if not times:
        raise InvalidProblemError(
            f"no square can be explored safely on {size} × {size} squares with {walls:g} walls"
        )
    with clocked() as inside:
        again = _explore(size, walls, delta, steps, seed)
    middle, low, high = (1e3 * seconds for seconds in quartiles(times))
    row = {"squares": size * size, "walls": walls, "steps": len(times), "median_ms": middle}
    row |= {"lower_ms": low, "upper_ms": high}
    return {**row, "outside_kernels": 1.0 - inside() / sum(again)}


def _explore(size: int, walls: float, delta: float, steps: int, seed: int) -> list[float]:
    """Explore from the middle with Algorithm 1 and return the seconds of every step."""
    middle = (size // 2) * (size + 1)
    given: dict[str, Any] = {"size": size, "walls": walls, "start": middle, "seed": seed}
    given |= {"delta": delta, "algorithm": "paper", "home": "current", "limit": steps}
    return step_seconds(make(checked(GridConfig, given, "the grid")))


@contextmanager
def clocked() -> Iterator[Callable[[], float]]:
    """Time every call of a kernel; yield a function that returns the seconds in kernels so far."""
    spent = 0.0

    def around(kernel: Any) -> Any:
        def call(*arguments: Any) -> Any:
            nonlocal spent
            before = time.perf_counter()
            answer = kernel(*arguments)
            spent += time.perf_counter() - before
            return answer

        return call

    kept = [
        (module, name, kernel)
        for module in map(import_module, KERNEL_MODULES)
        for name, kernel in vars(module).items()
        if hasattr(kernel, "py_func")
    ]
    try:
        for module, name, kernel in kept:
            setattr(module, name, around(kernel))
        yield lambda: spent
    finally:
        for module, name, kernel in kept:
            setattr(module, name, kernel)
