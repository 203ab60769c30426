from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from homeward.errors import InvalidFileError, InvalidInputError
from homeward.runs import Run
from homeward.runs.config import checked
from homeward.runs.grid import GridConfig, make, map_of

if TYPE_CHECKING:
    from pathlib import Path

RIDGE = "111\n1a5\n111"


def test_the_same_seed_makes_the_same_world() -> None:
    one, two = (map_of(GridConfig(seed=4, size=6)) for _ in range(2))
    assert str(one) == str(two)
    assert str(map_of(GridConfig(seed=5, size=6))) != str(one)
    assert map_of(GridConfig(size=6, start=7)).start == 7


def test_a_map_takes_the_place_of_a_drawn_one() -> None:
    setup = make(checked(GridConfig, {"map": RIDGE}, "a grid"))
    assert setup.world.state == 4
    assert setup.limit == 180


@pytest.mark.parametrize(
    ("explorer", "criteria"), [("safe", 1), ("uncover", 0), ("rmax", 0), ("near-bayesian", 0)]
)
def test_only_the_safe_one_has_a_criterion(explorer: Any, criteria: int) -> None:
    assert len(make(GridConfig(explorer=explorer)).planner.criteria) == criteria


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"size": 1}, "size is 1"),
        ({"walls": 1.5}, "walls is 1.5"),
        ({"explorer": "bold"}, 'explorer is "bold"'),
        ({"delta": 0.0}, "delta is 0"),
        ({"colour": "red"}, "colour is not known"),
        ({"map": RIDGE, "start": 1}, "a map says itself where the start is"),
        ({"budget": 1.5, "home": "start"}, "budget is 1.5"),
        ({"budget": 0.9}, "a budget is for a safe explorer whose home is the start"),
        ({"budget": 0.9, "home": "start", "explorer": "rmax"}, "a budget is for a safe explorer"),
        ({"budget": 0.9, "home": "start", "correction": "naive"}, "a budget is for a safe"),
    ],
)
def test_what_is_wrong_is_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        checked(GridConfig, values, "a grid")


def test_a_map_that_is_none_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="line 2, column 2"):
        Run.create(tmp_path / "run", "grid", {"map": "1a\n1x"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("more", [{}, {"home": "start", "budget": 0.6}])
def test_a_run_that_is_left_and_taken_up_goes_the_same_way(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    config = {"size": 7, "walls": 0.1, "seed": 3, "delta": 0.9, **more}
    whole, parts = (Run.create(tmp_path / name, "grid", config) for name in ("whole", "parts"))
    end = whole.resume()
    for _ in range(200):
        steps = parts.steps()
        if next(steps, None) is None:
            break
        steps.close()
    assert (tmp_path / "whole/steps.jsonl").read_bytes() == (
        tmp_path / "parts/steps.jsonl"
    ).read_bytes()
    assert parts.manifest.end == end
    kept = parts.fields()
    assert kept["seen"].shape == (7, 7)
    assert kept["seen"].sum() >= kept["visited"].sum() > 1
    for name, field in whole.fields().items():
        assert np.array_equal(field, kept[name])
