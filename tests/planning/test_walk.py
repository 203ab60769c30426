"""One later step of the default explorer, traced: it must stay short enough to be read.

All named functions of the package that planning calls between two actions of the world count once,
kernels included, with their files; and every `isinstance`. Properties, constructors of values and
`homeward.arrays` do not count.
"""

from __future__ import annotations

import builtins
import sys
from typing import TYPE_CHECKING, Any

import pytest

from homeward.kinds.grid.config import GridConfig
from homeward.kinds.grid.kind import make as make_grid
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import make as make_rover

if TYPE_CHECKING:
    from types import FrameType

    from homeward.planning.explorer import Loop

MOST_FUNCTIONS, MOST_FILES = 45, 10


def is_planning(frame: FrameType | None) -> bool:
    return frame is not None and "/homeward/planning/" in frame.f_code.co_filename


def is_named(frame: FrameType) -> bool:
    """Return whether a frame is a function or method that is written out, not a property."""
    name = frame.f_code.co_qualname
    if "<" in name or name.endswith(("__init__", "__post_init__", "__new__")):
        return False
    owner, _, attribute = name.rpartition(".")
    found = getattr(frame.f_globals.get(owner), attribute, None) if owner else True
    value = frame.f_globals.get("__name__") == "homeward.arrays"
    return not isinstance(found, property) and not value


def traced(explorer: Loop, warm: int, monkeypatch: pytest.MonkeyPatch) -> tuple[set[str], set[str]]:
    """Return the functions and the files of one step, from an observation to the next action.

    What a belief, a bonus or a solver calls itself is its own affair.
    """
    functions, files, acts = set[str](), set[str](), list[int]()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        name, file = frame.f_code.co_qualname, frame.f_code.co_filename
        if event != "call" or "/homeward/" not in file or not is_named(frame):
            return
        if is_planning(frame) or is_planning(frame.f_back):
            functions.add(f"{file}:{name}")
            files.add(file)

    steps, act = explorer.explore(warm + 2), explorer.world.act
    for _ in range(warm):
        next(steps)

    def watched(action: int) -> Any:
        sys.setprofile(None)
        acts.append(action)
        observation = act(action)
        if len(acts) == 1:
            sys.setprofile(profile)
        return observation

    monkeypatch.setattr(explorer.world, "act", watched)
    try:
        next(steps)
        next(steps)
    finally:
        sys.setprofile(None)
    return functions, files


def short(found: tuple[set[str], set[str]]) -> bool:
    functions, files = found
    return len(functions) <= MOST_FUNCTIONS and len(files) <= MOST_FILES


@pytest.mark.parametrize("seed", [0, 1])
def test_a_step_on_terrain_is_short(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    config = RoverConfig(rows=400, columns=400, sensor_range=29.0, seed=seed)
    assert short(traced(make_rover(config).explorer(), 6, monkeypatch))


def test_a_step_on_a_grid_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    assert short(traced(make_grid(GridConfig(size=8, seed=4)).explorer(), 4, monkeypatch))


def test_planning_rarely_asks_for_a_type(monkeypatch: pytest.MonkeyPatch) -> None:
    config = RoverConfig(rows=400, columns=400, sensor_range=29.0, seed=0)
    explorer, asked, ask = make_rover(config).explorer(), list[str](), isinstance
    steps = explorer.explore(20)
    for _ in range(8):
        next(steps)

    def counted(value: Any, kind: Any) -> bool:
        frame = sys._getframe(1)
        if is_planning(frame):
            asked.append(frame.f_code.co_qualname)
        return ask(value, kind)

    monkeypatch.setattr(builtins, "isinstance", counted)
    next(steps)
    assert len(asked) <= 8
