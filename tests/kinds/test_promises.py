from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from homeward.criteria import ReturnHome, StayInside
from homeward.errors import InvalidInputError, InvalidProblemError
from homeward.kinds.grid.config import GridConfig
from homeward.kinds.grid.kind import make
from homeward.kinds.outcome import account, check_start, describe_bounds, describe_conflict
from homeward.kinds.promises import (
    CRITERION_KEYS,
    Promise,
    SafeConfig,
    criteria_of,
    misfit,
    promise_of,
    state_of,
    unused,
)
from homeward.kinds.rover.config import RoverConfig
from homeward.runs import Config, Run
from homeward.runs.config import checked
from homeward.solvers.paths import reached

if TYPE_CHECKING:
    from pathlib import Path

    from homeward.criteria import Criterion

INSIDE = np.array([True, True, False, True, True, True])
FLAT = "55e55"


def config_of(**values: Any) -> SafeConfig:
    return checked(SafeConfig, values, "the config")


def grid_of(**values: Any) -> GridConfig:
    return checked(GridConfig, values, "a grid")


@pytest.mark.parametrize("kind", [GridConfig, RoverConfig])
def test_what_is_not_asked_for_is_not_written_down(kind: type[Config]) -> None:
    written = kind().model_dump(mode="json")
    assert not set(CRITERION_KEYS) & written.keys()
    assert {"delta", "home", "seed"} <= written.keys()
    assert kind.model_validate_json(kind().model_dump_json()) == kind()


def test_what_is_asked_for_is_written_down_and_comes_back() -> None:
    asked = {"bases": [[1, 2]], "back_within": 3, "keep_in": [[0, 3], [0, 4]], "recall": 5}
    config = grid_of(**asked, algorithm="paper")
    written = config.model_dump(mode="json")
    assert {name: written[name] for name in CRITERION_KEYS if name in written} == asked
    assert checked(GridConfig, written, "a grid") == config


def test_a_run_that_asks_for_nothing_has_only_plain_keys(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", "grid", {"size": 4, "limit": 2})
    assert sorted(run.config) == [
        *("algorithm", "climb", "correction", "delta", "discount", "explorer", "floor", "home"),
        *("levels", "limit", "map", "seed", "size", "start", "stay", "walls"),
    ]
    assert run.resume()


def homes(criteria: list[Criterion]) -> list[Any]:
    return [getattr(c, "home", None) for c in criteria]


@pytest.mark.parametrize(
    ("values", "names", "where"),
    [
        ({}, ["return to the start"], ["start"]),
        ({"home": "current", "algorithm": "paper"}, ["return home"], ["current"]),
        ({"bases": [[1, 2]]}, ["return to base 1,2"], [[5]]),
        ({"bases": [[1, 2], [0, 0]]}, ["return to any of 2 bases"], [[5, 0]]),
        (
            {"bases": [[1, 2], [0, 0]], "each_base": True},
            ["return to base 1,2", "return to base 0,0"],
            [5, 0],
        ),
        (
            {"back_within": 1},
            ["return to the start", "return to the start within 1 step"],
            ["start"] * 2,
        ),
        (
            {"bases": [[1, 2], [0, 0]], "each_base": True, "back_within": 4},
            [
                *("return to base 1,2", "return to base 0,0"),
                *("return to base 1,2 within 4 steps", "return to base 0,0 within 4 steps"),
            ],
            [5, 0, 5, 0],
        ),
    ],
)
def test_each_promise_is_a_criterion(
    values: dict[str, Any], names: list[str], where: list[Any]
) -> None:
    config = config_of(**values)
    criteria = criteria_of(config, 3, None)
    assert [promise.name for promise in config.promises()] == names
    assert homes(criteria) == where


def test_each_criterion_has_its_own_level_or_the_main_one() -> None:
    window = {"keep_in": [[0, 1], [0, 2]], "back_within": 4, "delta": 0.9}
    for more, levels in (
        ({}, [0.9, 0.9, 0.9]),
        ({"back_within_delta": 0.7, "keep_in_delta": 0.8}, [0.9, 0.7, 0.8]),
    ):
        config = grid_of(**window, **more)
        found: list[Any] = criteria_of(config, 3, INSIDE)
        assert [type(c) for c in found] == [ReturnHome, ReturnHome, StayInside]
        assert [c.delta for c in found] == [p.level for p in config.promises()] == levels
        assert found[1].within == 4
        assert found[2].allowed.tolist() == INSIDE.tolist()


def test_who_keeps_nothing_promises_nothing() -> None:
    config = grid_of(explorer="rmax")
    assert (config.promises(), criteria_of(config, 3, None)) == ((), [])


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        ({"back_within_delta": 0.5}, "back_within_delta has no effect without back_within"),
        ({"keep_in_delta": 0.5}, "keep_in_delta has no effect without keep_in"),
        ({"each_base": True}, "each_base has no effect without bases"),
        (
            {"bases": [(1, 2)], "home": "current"},
            "home current and bases exclude each other: choose one",
        ),
        ({"home": "current"}, "home current needs algorithm paper"),
        ({"recall": 3}, "recall needs algorithm paper"),
        ({"floor": 0.1, "algorithm": "paper"}, "floor has no effect with algorithm paper"),
        ({"bases": [(1, 2), (0, 0), (1, 2)]}, "bases: 1,2 is named twice"),
        (
            {"keep_in": "a", "recall": 1, "algorithm": "paper"},
            "recall 1 and keep_in: the only step could leave the area",
        ),
        ({"keep_in": "a", "recall": 2, "algorithm": "paper"}, None),
        ({"bases": [(1, 2)], "each_base": True, "back_within": 3, "back_within_delta": 1.0}, None),
        ({}, None),
    ],
)
def test_what_does_not_go_together_is_named(values: dict[str, Any], fault: str | None) -> None:
    assert misfit(values, False, str) == fault


@pytest.mark.parametrize(
    ("given", "nothing", "fault"),
    [
        ({"delta": 1.0}, True, "delta needs an explorer with a safety level"),
        ({"correction": "moves"}, True, "correction needs an explorer with a safety level"),
        ({"home": "start"}, True, "home needs an explorer with a safety level"),
        (
            {"explorer": "naive", "correction": "moves"},
            False,
            "correction: the naive explorer plans without a correction",
        ),
        (
            {"home": "start", "bases": [(1, 2)]},
            False,
            "home and bases exclude each other: choose one",
        ),
        ({"home": "start", "bases": []}, False, None),
        ({"map": "1a", "size": 9}, False, "size and map: a map already defines the world"),
        (
            {"discount": 0.9},
            False,
            "discount needs algorithm paper: the default algorithm does not discount",
        ),
        ({"discount": 0.9, "algorithm": "paper"}, True, None),
        (
            {"keep_in": "a", "keep_in_delta": 0.5},
            False,
            "keep_in_delta needs algorithm paper: the default algorithm takes no action that might "
            "leave the area of keep_in",
        ),
        ({"keep_in": "a", "keep_in_delta": 0.5, "algorithm": "paper"}, False, None),
    ],
)
def test_what_would_change_nothing_is_named(
    given: dict[str, Any], nothing: bool, fault: str | None
) -> None:
    assert unused(given, nothing, str) == fault


def test_the_complete_configuration_of_a_run_makes_another(tmp_path: Path) -> None:
    one = Run.create(tmp_path / "one", "grid", {"explorer": "uncover", "size": 4})
    Run.create(tmp_path / "two", "grid", one.config)
    changed = {**one.config, "delta": 0.5}
    with pytest.raises(InvalidInputError, match=r"^delta needs an explorer with a safety"):
        Run.create(tmp_path / "three", "grid", changed)


@pytest.mark.parametrize("name", [n for n in CRITERION_KEYS if n != "recall"])
def test_an_explorer_that_keeps_nothing_is_asked_for_nothing(name: str) -> None:
    said = misfit({name: 1 if name != "bases" else [(1, 2)]}, True, lambda key: f"--{key}")
    assert said == f"--{name} needs an explorer with a safety level"
    assert misfit({"recall": 3, "algorithm": "paper"}, True, str) is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"back_within": 0}, "back_within is 0"),
        ({"recall": 0}, "recall is 0"),
        ({"keep_in_delta": 0.0}, "keep_in_delta is 0.0"),
        ({"back_within_delta": 1.5}, "back_within_delta is 1.5"),
        ({"bases": [[1, -2]]}, r"bases.0.1 is -2"),
        ({"bases": [[1]]}, "bases.0"),
        ({"each_base": True}, "each_base has no effect without bases"),
    ],
)
def test_what_is_wrong_is_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        config_of(**values)


def test_a_place_is_a_state_unless_it_is_off_the_map_or_closed() -> None:
    assert state_of((1, 0), "a base", (2, 3), ~INSIDE, "closed") == 3
    with pytest.raises(InvalidInputError, match="a base, row 2 and column 0, is off the map of 2"):
        state_of((2, 0), "a base", (2, 3), ~INSIDE, "closed")
    with pytest.raises(InvalidInputError, match="a base, row 0 and column 3, is off the map"):
        state_of((0, 3), "a base", (2, 3), ~INSIDE, "closed")
    with pytest.raises(InvalidInputError, match="a base, row 0 and column 2, is closed"):
        state_of((0, 2), "a base", (2, 3), ~INSIDE, "closed")


def test_what_conflicts_from_the_start_is_refused_by_the_fewest_names() -> None:
    # Between two bases, two squares from each: within a step of either, but never of both.
    bases = {"bases": [[0, 0], [0, 4]], "map": FLAT, "delta": 0.6, "algorithm": "paper"}
    each = grid_of(**bases, each_base=True, back_within=1)
    with pytest.raises(
        InvalidProblemError,
        match=r"from the start no policy meets “return to base 0,0 within 1 step” at 0.6 and "
        "“return to base 0,4 within 1 step” at 0.6 together",
    ):
        check_start(each, make(each))
    for fine in (grid_of(**bases, back_within=1), grid_of(**bases, each_base=True)):
        check_start(fine, make(fine))


def test_a_home_that_the_whole_run_can_not_keep_is_refused_by_name() -> None:
    far = grid_of(map=FLAT, delta=0.6, bases=[[0, 4]], back_within=1)
    with pytest.raises(
        InvalidProblemError,
        match=r"no return policy meets “return to base 0,4 within 1 step” at 0.6: ",
    ):
        check_start(far, make(far))


def test_without_anything_asked_for_nothing_is_planned() -> None:
    plain = grid_of(map=FLAT)
    check_start(plain, SimpleNamespace())  # type: ignore[arg-type]


def test_one_that_can_not_be_kept_alone_is_told_so() -> None:
    assert describe_conflict(["a"]) == "no policy meets a, even alone"
    assert describe_conflict(["a", "b", "c"]) == "no policy meets a, b and c together"


def test_the_account_is_the_lowest_bound_by_name() -> None:
    config = config_of(back_within=4, back_within_delta=0.5)
    steps: Any = [
        SimpleNamespace(kept_bounds=(0.99, 0.7), status="optimal", holding=None),
        SimpleNamespace(kept_bounds=(0.98, 0.4), status="infeasible", holding=None),
    ]
    found = account(config, steps)
    assert [(c["name"], c["lowest"]) for c in found["criteria"]] == [
        ("return to the start", 0.98),
        ("return to the start within 4 steps", 0.4),
    ]
    assert found["infeasible_steps"] == 1
    assert [c["lowest"] for c in account(config, [])["criteria"]] == [None, None]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "whenever it is recalled, it can return to the start with probability at least 0.98"),
        ({"bases": [[1, 2]]}, "can return to base 1,2 with probability at least 0.98"),
        ({"delta": 1.0}, "can return to the start with certainty"),
        ({"delta": 0.99999999}, "return to the start with probability at least 0.99999999"),
        (
            {"algorithm": "paper", "delta": 1.0},
            "in each plan by itself it can return to the start with certainty",
        ),
        ({"algorithm": "paper"}, "return to the start with probability at least 0.98; nothing"),
        (
            {"algorithm": "paper", "home": "current"},
            "return to where it plans with probability at least 0.98; nothing is "
            "promised for the whole run",
        ),
    ],
)
def test_what_a_run_promises_is_said_in_a_sentence(values: dict[str, Any], said: str) -> None:
    assert said in promise_of(config_of(**values))


def test_an_explorer_that_keeps_nothing_promises_nothing() -> None:
    assert promise_of(grid_of(explorer="rmax")) == "no promise: the run keeps no safety level"


def test_what_was_kept_is_said_of_each_criterion_once_a_step_was_taken() -> None:
    told = [{"name": "a", "level": 0.9, "lowest": 0.95}, {"name": "b", "level": 1, "lowest": None}]
    assert describe_bounds(config_of(), told) == [
        "a: lower bound over the whole run 0.950000, required 0.9",
    ]
    assert describe_bounds(config_of(algorithm="paper"), told) == [
        "a: lowest bound of a plan 0.950000, required 0.9",
    ]


def test_what_can_be_reached_is_found_over_all_moves_that_may_work() -> None:
    dest = np.array([[1, 0], [2, 0], [2, 3], [3, 0]], np.int32)
    success = np.array([[1.0, 1.0], [0.5, 0.0], [1.0, 0.0], [1.0, 1.0]])
    assert reached(dest, success, 0).tolist() == [True, True, True, False]
    assert reached(dest, success, 3).tolist() == [True, True, True, True]


def test_a_promise_reads_as_words() -> None:
    assert str(Promise("stay inside", 0.9)) == "“stay inside” at 0.9"
