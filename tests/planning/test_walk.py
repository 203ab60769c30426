"""One step of the default explorer, traced: the walk from an observation to the next action.

A function counts once, however often it is called. Those of a belief, a bonus or a solver count
where planning calls them; what they call themselves is their own affair, as is what a compiled
kernel or `kept_ways` calls. Properties, comprehensions, constructors of values and
`homeward.arrays` do not count.
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

import pytest
from numba.core.dispatcher import Dispatcher

from homeward.kinds.grid.config import GridConfig
from homeward.kinds.grid.kind import make as make_grid
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import make as make_rover
from homeward.planning import kept_ways, ledger, rate

if TYPE_CHECKING:
    from types import FrameType

    from homeward.planning.explorer import Loop

WALK = [
    "Explorer.learn",
    "learned",
    "Guide.broke",
    "{belief}.mean",
    "Explorer.step",
    "Guide.decide",
    "RateSearch.choose",
    "RateSearch.view",
    "graph_of",
    "{belief}.blocked_probability",
    "ways_to",
    "{bonus}.looks",
    "Ledger.survey",
    "KeptWays.find",
    "RateSearch.still",
    "View.looks",
    "Shares.at",
    "RateSearch.best",
    "Ledger.pay",
    "Promise.after",
    "plan_of",
    "Explorer._act",
]
"""What planning calls between an observation and the next action, apart from kernels, in order."""

KERNELS = {"settle", "follow", "with_way"}


VALUES = ("homeward.arrays",)


def is_named(frame: FrameType) -> bool:
    """Return whether a frame is a function or method that is written out, not a property."""
    name = frame.f_code.co_qualname
    if "<" in name or name.endswith(("__init__", "__post_init__", "__new__")):
        return False
    owner, _, attribute = name.rpartition(".")
    found = getattr(frame.f_globals.get(owner), attribute, None) if owner else True
    return not isinstance(found, property)


def is_planning(frame: FrameType | None) -> bool:
    return (
        frame is not None
        and "/homeward/planning/" in frame.f_code.co_filename
        and (not frame.f_code.co_filename.endswith("kept_ways.py"))
    )


def traced(
    explorer: Loop, warm: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[str], set[str]]:
    """Return the functions and the kernels of one step, from an observation to the next action."""
    functions: dict[str, None] = {}
    kernels: set[str] = set()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event != "call" or not module.startswith("homeward") or module in VALUES:
            return
        caller = frame.f_back
        while caller is not None and "<" in caller.f_code.co_qualname:
            caller = caller.f_back  # a comprehension belongs to the function that holds it
        called = is_planning(caller) and caller is not None and is_named(caller)
        if is_named(frame) and (called or frame.f_code.co_qualname == "Explorer.step"):
            functions[frame.f_code.co_qualname] = None

    for module in (kept_ways, ledger, rate):
        for name, kernel in inspect.getmembers(module, lambda v: isinstance(v, Dispatcher)):

            def call(*given: Any, name: str = name, kernel: Any = kernel) -> Any:
                kernels.add(name)
                return kernel(*given)

            monkeypatch.setattr(module, name, call)
    steps, act = explorer.explore(warm + 2), explorer.world.act
    for _ in range(warm):
        next(steps)
    acts: list[int] = []

    def watched(action: int) -> Any:
        sys.setprofile(None)
        acts.append(action)
        if len(acts) == 1:
            kernels.clear()
        observation = act(action)
        if len(acts) == 1:
            sys.setprofile(profile)
        return observation

    monkeypatch.setattr(explorer.world, "act", watched)
    try:
        next(steps)
        found = set(kernels)
        next(steps)
        found |= kernels
    finally:
        sys.setprofile(None)
    return list(functions), found


def named(belief: str, bonus: str) -> list[str]:
    return [name.format(belief=belief, bonus=bonus) for name in WALK]


@pytest.mark.parametrize("seed", [0, 1])
def test_a_step_on_terrain_passes_through_these_functions(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = RoverConfig(rows=400, columns=400, sensor_range=29.0, seed=seed)
    functions, kernels = traced(make_rover(config).explorer(), 6, monkeypatch)
    walk = named("TerrainBelief", "InformationGain")
    walk[walk.index("TerrainBelief.mean")] = "SlopeBelief.mean"
    blocked = walk.index("TerrainBelief.blocked_probability")
    walk.insert(blocked + 1, "TerrainBelief.least_blocked")
    walk.remove("Shares.at")
    assert functions == walk
    assert len(functions) + len(kernels) <= 28
    assert kernels == KERNELS | {"free_again", "search_outward", "look_ahead"}


def test_a_step_on_a_grid_passes_through_these_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    functions, kernels = traced(make_grid(GridConfig(size=8, seed=4)).explorer(), 4, monkeypatch)
    walk = named("HeightBelief", "Uncover")
    best = walk.index("RateSearch.best")
    walk[best - 1], walk[best] = walk[best], walk[best - 1]  # no path is being pursued
    walk.insert(walk.index("HeightBelief.blocked_probability") + 1, "HeightBelief.least_blocked")
    assert functions == walk
    assert len(functions) + len(kernels) <= 28
    assert kernels == KERNELS | {"free_again", "best_tour"}
