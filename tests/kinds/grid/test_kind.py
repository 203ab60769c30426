from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from homeward.errors import InvalidInputError
from homeward.kinds.grid.config import GridConfig
from homeward.kinds.grid.kind import make, map_of, products, window_of
from homeward.kinds.grid.maps import HeightMap
from homeward.kinds.grid.world import HeightGridWorld
from homeward.kinds.outcome import is_stranded
from homeward.planning.ends import End
from homeward.runs import Ended, Run
from homeward.runs.config import checked

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
        ({"map": RIDGE, "start": 1}, "a map defines its own start"),
        ({"budget": 0.9}, "budget is not known"),
        ({"algorithm": "luck"}, 'algorithm is "luck"'),
        ({"floor": -0.1}, "floor is -0.1"),
        ({"home": "current"}, "home current needs algorithm paper"),
    ],
)
def test_what_is_wrong_is_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        checked(GridConfig, values, "a grid")


SHUT = "1#1\n1a1\n111"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"keep_in": [[2, 1], [0, 2]]}, "the window to keep in, rows 2:1 .* is empty"),
        ({"keep_in": [[0, 1], [2, 1]]}, "the window to keep in, .* columns 2:1, is empty"),
        ({"keep_in": [[0, 3], [0, 2]]}, "rows 0:3 and columns 0:2, is off the map of 3 rows"),
        ({"keep_in": [[0, 2], [0, 3]]}, "rows 0:2 and columns 0:3, is off the map of 3 rows"),
        (
            {"keep_in": [[0, 0], [0, 2]]},
            "the start, row 1 and column 1, is outside the window to keep in, rows 0:0 and ",
        ),
        ({"bases": [[0, 1]]}, "a base, row 0 and column 1, is a wall"),
        ({"bases": [[0, 3]]}, "a base, row 0 and column 3, is off the map"),
    ],
)
def test_a_place_that_can_not_be_is_named(
    tmp_path: Path, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Run.create(tmp_path / "run", "grid", {"map": SHUT, **values})
    assert list(tmp_path.iterdir()) == []


def test_the_window_has_its_first_and_last_rows_and_columns() -> None:
    config = checked(GridConfig, {"size": 4, "start": 5, "keep_in": [[1, 2], [0, 1]]}, "a grid")
    grid = map_of(config)
    inside = window_of(config, grid.shape, grid.start)
    assert inside is not None
    assert np.flatnonzero(inside).tolist() == [4, 5, 8, 9]


def test_criteria_that_conflict_make_no_run(tmp_path: Path) -> None:
    far = {"bases": [[0, 0], [0, 4]], "each_base": True, "back_within": 1, "delta": 0.6}
    for algorithm, message in (
        ("paper", r"within 1 step” at 0.6 together"),
        (
            "rate",
            r"from the start no return policy meets “return to base 0,0 within 1 step” at 0.6",
        ),
    ):
        asked = {"map": "55e55", "algorithm": algorithm, **far}
        with pytest.raises(InvalidInputError, match=message):
            Run.create(tmp_path / "run", "grid", asked)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_done_outside_of_the_window(tmp_path: Path) -> None:
    config = {"map": "11111\n11a11\n11111", "keep_in": [[0, 2], [1, 3]], "delta": 0.9}
    run = Run.create(tmp_path / "run", "grid", config)
    run.resume()
    columns = {record.state % 5 for record in run.records()}
    assert columns <= {1, 2, 3}
    summary = json.loads((run.directory / "summary.json").read_text())
    assert [c["name"] for c in summary["criteria"]] == ["return to the start", "stay inside"]
    assert all(c["lowest"] >= 0.9 - 1e-8 for c in summary["criteria"])
    assert summary["conflict"] is None
    assert summary["end"] == run.manifest.end


def test_a_recall_at_a_fixed_step_makes_plans_by_step() -> None:
    asked = {"recall": 4, "algorithm": "paper"}
    planner = make(checked(GridConfig, asked, "a grid")).planner
    assert planner.recall == 4


def test_a_run_that_ends_for_a_conflict_says_which(tmp_path: Path) -> None:
    # A step away is a rise of four, which nobody climbs, and on it the base.
    run = Run.create(tmp_path / "run", "grid", {"map": "1a5", "limit": 2})
    config = checked(GridConfig, {"map": "1a5", "bases": [[0, 2]]}, "a grid")
    setup = make(config)
    belief = setup.belief.update(setup.world.look())
    manifest = run.manifest.model_copy(update={"end": End.INFEASIBLE})
    products(Ended(run.directory, config, manifest, setup, belief, run.records))
    summary = json.loads((run.directory / "summary.json").read_text())
    assert summary["conflict"] == ["“return to base 0,2” at 1"]


def test_a_map_that_is_none_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="line 2, column 2"):
        Run.create(tmp_path / "run", "grid", {"map": "1a\n1x"})
    assert list(tmp_path.iterdir()) == []


def test_who_asks_for_a_base_is_stranded_where_there_is_no_way_to_it(tmp_path: Path) -> None:
    # The base is one step down, and there is no way up again: the start itself is lost.
    config = {"map": "1e5", "bases": [[0, 0]], "limit": 0, "delta": 1.0}
    run = Run.create(tmp_path / "down", "grid", config)
    run.resume()
    assert json.loads((run.directory / "summary.json").read_text())["stranded"] is False
    world = HeightGridWorld(HeightMap.from_text("1e5"))
    world.act(int(np.flatnonzero(world.moves.dest[1] == 0)[0]))
    assert world.stranded
    for asked, stranded in (
        ({}, True),
        ({"bases": [[0, 0]]}, False),
        ({"bases": [[0, 2]]}, True),
        ({"bases": [[0, 0], [0, 2]]}, False),
        ({"bases": [[0, 0], [0, 2]], "each_base": True}, True),
    ):
        criteria = checked(GridConfig, asked, "a grid")
        assert is_stranded(criteria, world.moves, [1, world.state], 3) is stranded


WINDOW = {"keep_in": [[0, 5], [0, 4]], "back_within": 4, "start": 24}


@pytest.mark.parametrize(
    "asked",
    [
        {},
        WINDOW,
        {**WINDOW, "bases": [[3, 3], [4, 4]]},
        {"bases": [[3, 3], [4, 4]], "each_base": True, "start": 24, "delta": 0.7},
        {**WINDOW, "keep_in_delta": 0.8, "recall": 5, "algorithm": "paper"},
        {"delta": 0.3},
    ],
)
def test_a_run_that_is_left_and_taken_up_goes_the_same_way(
    tmp_path: Path, asked: dict[str, Any]
) -> None:
    config = {"size": 7, "walls": 0.1, "seed": 3, "limit": 40, "delta": 0.9, **asked}
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


def test_levels_and_climb_make_the_world_and_the_belief() -> None:
    setup = make(GridConfig(size=5, levels=8, climb=3, seed=1))
    belief: Any = setup.belief
    assert (belief.climb, belief.prior.shape, setup.world.moves.success.mean()) == (  # type: ignore[attr-defined]
        3,
        (8,),
        pytest.approx(belief.success.mean(), abs=0.2),
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"levels": 3, "climb": 3}, "every move works"),
        ({"map": "1a6", "levels": 5}, "'6' is neither a height 1 to 5"),
        ({"levels": 10}, "less than or equal to 9"),
    ],
)
def test_levels_that_do_not_fit_are_refused(options: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        GridConfig(**options)
