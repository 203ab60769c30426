from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from homeward.errors import InvalidFileError, InvalidInputError
from homeward.studies import combine, define, read_study

if TYPE_CHECKING:
    from pathlib import Path

TASK = "tests.studies.tasks:quick"


def test_a_grid_has_every_combination_and_the_last_axis_changes_fastest() -> None:
    assert combine({"a": [1, 2], "b": ["x", "y"]}) == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y"},
        {"a": 2, "b": "x"},
        {"a": 2, "b": "y"},
    ]


def test_tasks_are_numbered_by_cell_and_then_by_seed() -> None:
    study = define("s", TASK, [{"a": 1}, {"a": 2}], [7, 8, 9])
    assert study.tasks == 6
    assert [study.task_at(i) for i in (0, 2, 3)] == [({"a": 1}, 7), ({"a": 1}, 9), ({"a": 2}, 7)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, 'name is ""'),
        ({"cells": []}, r"cells is \[\]"),
        ({"seeds": []}, r"seeds is \[\]"),
        ({"seeds": [1, 2, 1]}, "a seed is given twice"),
        ({"seeds": [-1]}, r"seeds\.0 is -1"),
        ({"seeds": [True]}, r"seeds\.0 is true"),
        ({"cells": [{"a": 1}, {"b": 1}, {"a": 1}]}, "cell 2 is the same as cell 0"),
        ({"cells": [{"seed": 1}]}, "cell 0 has a key named seed"),
        ({"cells": [{"a": float("inf")}]}, "can't be written as JSON"),
        ({"cells": [{"a": object()}]}, "can't be written as JSON"),
        ({"version": 0}, "version is 0"),
    ],
)
def test_what_is_no_study_is_refused(change: dict[str, Any], message: str) -> None:
    values: dict[str, Any] = {"name": "s", "task": TASK, "cells": [{"a": 1}], "seeds": [0]}
    with pytest.raises(InvalidInputError, match=message):
        define(**(values | change))


def test_cells_that_differ_in_type_alone_are_two() -> None:
    assert define("s", TASK, [{"a": 1}, {"a": True}, {"a": 1.0}], [0]).tasks == 3


def test_a_study_is_read_from_toml(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        f'name = "levels"\ntask = "{TASK}"\nseeds = 3\nversion = 2\n'
        f'[vary]\ndelta = [0.9, 0.99]\nworld = ["lake"]\n'
    )
    cells = [{"delta": 0.9, "world": "lake"}, {"delta": 0.99, "world": "lake"}]
    assert read_study(path) == define("levels", TASK, cells, range(3), version=2)


def test_cells_can_be_listed_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        f'name = "s"\ntask = "{TASK}"\nseeds = [5, 9]\n[[cells]]\na = 1\n[[cells]]\nb = [1, 2]\n'
    )
    assert read_study(path) == define("s", TASK, [{"a": 1}, {"b": [1, 2]}], [5, 9])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "is not TOML"),
        ("", "name is missing"),
        ('name = "s"\ntask = "x:y"\nseeds = 0\n[vary]\na = [1]', r"seeds is \[\]"),
        ('name = "s"\ntask = "x:y"\nseeds = true\n[vary]\na = [1]', "seeds is true"),
        ('name = "s"\ntask = "x:y"\nseeds = 1\n[vary]\na = 1', "vary is not a table of lists"),
        ('name = "s"\ntask = "x:y"\nseeds = 1\nvary = 3', "vary is not a table of lists"),
        ('name = "s"\ntask = "x:y"\nseeds = 1\ncells = []\n[vary]\na = [1]', "both vary and cells"),
        ('name = "s"\ntask = "x:y"\nseeds = 1\nspeed = 1\n[vary]\na = [1]', "speed is not known"),
        ('name = "s"\ntask = "x:y"\nseeds = 1\n[vary]\na = [1979-05-27]', "written as JSON"),
        (None, "can't be read"),
    ],
)
def test_a_file_that_is_no_study_is_refused_by_name(
    tmp_path: Path, text: str | None, message: str
) -> None:
    path = tmp_path / "s.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InvalidFileError, match=rf"s\.toml: .*{message}"):
        read_study(path)
