"""How long a step in a grid world takes, and how much of it is spent outside compiled kernels.

A step is all that an explorer does: plan, act, observe, update. The exploration is done twice from
the same start: once as it is, for the times of the steps, and once with a clock around every kernel
that Python calls, for the share of the time that is spent in them.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from homeward.bonuses import Uncover
from homeward.errors import InvalidProblemError
from homeward.kinds.grid.maps import HeightMap
from homeward.kinds.grid.world import HeightGridWorld
from homeward.planning.paper import PaperExplorer
from homeward.planning.planner import Planner
from homeward.safety import ReturnHome
from lab.bench.terrain import quartiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PLACES = (
    "homeward.solvers.kernels",
    "homeward.solvers.returns",
    "homeward.beliefs.correction_kernels",
    "homeward.safety.stay_inside",
    "homeward.beliefs.levels",
)
"""Where the kernels are looked up by those who call them."""


@dataclass(frozen=True, slots=True)
class Stride:
    """Steps of an exploration."""

    squares: int
    steps: int
    median: float  # s
    quartiles: tuple[float, float]  # s
    outside: float  # fraction of the time that is spent outside kernels


def measure(size: int, walls: float, delta: float, steps: int, seed: int) -> Stride:
    """Time the first `steps` of a safe exploration."""
    _explore(size, walls, delta, min(steps, 3), seed)  # compiles
    times = _explore(size, walls, delta, steps, seed)
    if not times:
        raise InvalidProblemError(
            f"nothing can be explored safely on {size} × {size} squares with {walls:g} walls"
        )
    with clocked() as inside:
        again = _explore(size, walls, delta, steps, seed)
    middle, low, high = quartiles(times)
    outside = 1.0 - inside() / sum(again)
    return Stride(size * size, len(times), middle, (low, high), outside)


def _explore(size: int, walls: float, delta: float, steps: int, seed: int) -> list[float]:
    """Explore from the middle and return the seconds of every step."""
    middle = (size // 2) * size + size // 2
    world = HeightGridWorld(HeightMap.random((size, size), seed, walls=walls, start=middle))
    planner = Planner(Uncover(), [ReturnHome(delta, "current")], 0.99)
    explorer = PaperExplorer(planner, world.grid.belief("known"), world)
    times = []
    before = time.perf_counter()
    for _ in explorer.explore(steps):
        now = time.perf_counter()
        times.append(now - before)
        before = time.perf_counter()
    return times


@contextmanager
def clocked() -> Iterator[Callable[[], float]]:
    """Time every call of a kernel; yields a function for the seconds spent in them so far."""
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
        for module in map(import_module, PLACES)
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
