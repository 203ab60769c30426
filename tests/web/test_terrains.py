from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from homeward.kinds.rover.form import pixels_of, shape_of
from homeward.web.uploads import path_of, shown_config

if TYPE_CHECKING:
    from pathlib import Path

NUMBER = "0123456789abcdef"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / ".uploads" / NUMBER
    folder.mkdir(parents=True)
    (folder / "terrain.tif").write_bytes(b"")
    about = {"shape": [90, 120], "size": [2.0, 3.0]}
    (folder / "about.json").write_text(json.dumps(about))
    return tmp_path


def test_an_upload_has_a_path_and_back(root: Path) -> None:
    path = path_of(f"upload:{NUMBER}", "terrain", ("mars",), root)
    assert path == str(root / ".uploads" / NUMBER / "terrain.tif")
    assert shown_config({"terrain": path}, root) == {"terrain": f"upload:{NUMBER}"}


@pytest.mark.parametrize("terrain", ["mars", "sample"])
def test_what_needs_no_file_stays_as_it_is(root: Path, terrain: str) -> None:
    assert shown_config({"terrain": terrain}, root) == {"terrain": terrain}


def test_the_cells_of_an_upload_are_told(root: Path) -> None:
    terrain = path_of(f"upload:{NUMBER}", "terrain", ("mars",), root)
    assert pixels_of({"terrain": terrain}) == ((90, 120), (2.0, 3.0))
    assert shape_of({"terrain": terrain, "cell": 12.0}) == (15, 30)


def test_the_cells_of_a_window_in_pixels_are_its_own(root: Path) -> None:
    terrain = path_of(f"upload:{NUMBER}", "terrain", ("mars",), root)
    assert shape_of({"terrain": terrain, "window": "5,3,60,24", "cell": 12.0}) == (4, 15)


def test_the_cells_of_a_window_on_the_map_or_of_another_file_are_not_known(root: Path) -> None:
    assert shape_of({"terrain": "mars", "window": "map:0,0,9,9", "cell": 20.0}) is None
    assert shape_of({"terrain": "/elsewhere/gale.tif", "cell": 20.0}) is None
