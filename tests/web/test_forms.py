from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.web.frames import unpack

from homeward.errors import HomewardError, InvalidInputError
from homeward.kinds.rover.kind import settle
from homeward.web.forms import all_forms, check_kind, completed, pair_of, preview, schemas
from homeward.web.refusals import RefusalError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("kind", ["toytext", "tests.runs.kinds:MEADOW", "os:system", None, 3, []])
def test_only_two_kinds_are_made_from_the_page(kind: Any, tmp_path: Path) -> None:
    with pytest.raises(RefusalError, match="grid, rover") as refusal:
        check_kind(kind)
    assert refusal.value.status == 400


@pytest.mark.parametrize(
    ("kind", "config", "said"),
    [
        ("grid", {"delta": 1.5}, "delta is 1.5"),
        ("grid", {"delta": -1}, "delta is -1"),
        ("grid", {"size": 1}, "size is 1"),
        ("grid", {"size": 10**9}, "size is 1000000000"),
        ("grid", {"seed": -1}, "seed is -1"),
        ("grid", {"size": "10"}, "size is"),
        ("rover", {"climb": 90}, "climb is 90"),
        ("rover", {"cell": 0}, "cell is 0"),
        ("rover", {"cell": 1e308}, "cell is 1e.308"),
        ("rover", {"limit": -1}, "limit is -1"),
    ],
)
def test_a_value_out_of_range_is_named(
    kind: str, config: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match=said):
        completed(kind, config, tmp_path)


@pytest.mark.parametrize(
    ("kind", "config", "said"),
    [
        ("rover", {"terrain": "/etc/passwd"}, "the terrain must be one of"),
        ("rover", {"terrain": "../../etc/passwd"}, "the terrain must be one of"),
        ("rover", {"terrain": "upload:../../../etc"}, "the terrain must be one of"),
        ("rover", {"terrain": "upload:0123456789abcdef"}, "upload:0123456789abcdef does not exist"),
        ("rover", {"terrain": 3}, "the terrain must be one of"),
        ("rover", {"terrain_sha256": "0"}, "'terrain_sha256' can't be set"),
        ("rover", {"film": "mp4"}, "'film' can't be set"),
        ("grid", {"<b>": 1}, "can't be set"),
        ("rover", {"rows": 100_000, "columns": 100_000}, "pixels, expected"),
        ("rover", {"rows": 4000, "columns": 4000, "cell": 1.0}, "cells, expected"),
        (
            "rover",
            {"rows": 4000, "columns": 4000, "cell": 1.0, "window": "9,9,3990,3990"},
            "3990 x 3990 cells, expected",
        ),
        (
            "rover",
            {"rows": 4000, "columns": 4000, "cell": 1.0, "window": "map:0,0,9,9"},
            "4000 x 4000 cells, expected",
        ),
        ("rover", {"pixel": 1e-4}, "expected 0.001 to 1e"),
        ("rover", {"pixel": 1e7}, "expected 0.001 to 1e"),
        ("grid", {"map": "c" + "3" * 4_000_000}, "a map of 4,000,001 letters"),
    ],
)
def test_what_the_page_may_not_set_is_refused(
    kind: str, config: Any, said: str, tmp_path: Path
) -> None:
    with pytest.raises(HomewardError, match=said):
        completed(kind, config, tmp_path)


SQUARE = [[[[0.0, -100.0], [90.0, -100.0], [90.0, 0.0], [0.0, 0.0], [0.0, -100.0]]]]


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("grid", {"back_within": 9, "back_within_delta": 0.7}),
        ("grid", {"keep_in": ((0, 4), (1, 5)), "keep_in_delta": 0.8}),
        ("grid", {"bases": ((0, 0), (3, 3)), "each_base": True}),
        ("grid", {"algorithm": "paper", "home": "current", "recall": 12}),
        ("rover", {"delta": 0.9, "algorithm": "rate", "floor": 0.2}),
        ("rover", {"keep_in": SQUARE, "keep_in_delta": 0.9}),
    ],
)
def test_what_must_stay_true_can_be_set(kind: str, asked: dict[str, Any], tmp_path: Path) -> None:
    found, _ = completed(kind, asked, tmp_path)
    assert json.loads(json.dumps(asked)).items() <= found.model_dump(mode="json").items()


@pytest.mark.parametrize(
    "area",
    [
        "",
        "/etc/passwd",
        "area.geojson",
        ["/etc/passwd"],
        [["/etc/passwd"]],
        [[["ab"]]],
        [[[["1", "2"]]]],
        [[[[True, False]]]],
        [[[[0, 0, 0]]]],
        {"type": "Polygon"},
        7,
    ],
)
def test_an_area_is_given_by_numbers_and_never_by_a_file(area: Any, tmp_path: Path) -> None:
    with pytest.raises(HomewardError, match="keep_in"):
        completed("rover", {"keep_in": area}, tmp_path)


@pytest.mark.parametrize("key", ["obstacles", "keep_out"])
@pytest.mark.parametrize("given", ["/etc/passwd", "rocks.geojson", "upload:../../../etc"])
def test_what_is_closed_is_given_by_an_upload_and_never_by_a_path(
    tmp_path: Path, key: str, given: str
) -> None:
    with pytest.raises(RefusalError, match=f"the {key} must be upload: and a number"):
        completed("rover", {key: given}, tmp_path)


def upload(root: Path, corner: float) -> str:
    """Lay down an upload of a square whose sides are 100 m; give its name."""
    far = corner + 100.0
    ring = [[corner, corner], [far, corner], [far, far], [corner, far], [corner, corner]]
    folder = root / ".uploads" / "0123456789abcdef"
    folder.mkdir(parents=True)
    area = {"type": "MultiPolygon", "coordinates": [[ring]]}
    (folder / "area.geojson").write_text(json.dumps(area))
    return "upload:0123456789abcdef"


@pytest.mark.parametrize("key", ["obstacles", "keep_out"])
def test_uploaded_polygons_close_cells(tmp_path: Path, key: str) -> None:
    """The size of a pixel is not that of the upload: it stays."""
    land = {"terrain": "mars", "rows": 400, "columns": 400, "pixel": 1.0}
    config, uploaded = completed("rover", {**land, key: upload(tmp_path, 150.0)}, tmp_path)
    assert uploaded == [key]
    assert config.model_dump()["pixel"] == 1.0
    height = unpack(preview({**land, key: "upload:0123456789abcdef"}, tmp_path))[1]["height"]
    assert 25 <= np.isnan(height).sum() <= 36


@pytest.mark.parametrize("key", ["obstacles", "keep_out"])
def test_polygons_off_the_terrain_are_refused(tmp_path: Path, key: str) -> None:
    land = {"terrain": "mars", "rows": 400, "columns": 400}
    with pytest.raises(RefusalError, match="off the map, which reaches") as refusal:
        preview({**land, key: upload(tmp_path, 5000.0)}, tmp_path)
    assert refusal.value.code == "unusable"


def test_an_error_is_given_by_a_number_and_never_by_a_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="error must be a number here"):
        completed("rover", {"error": "/etc/passwd"}, tmp_path)


def test_the_unsafe_explorer_of_a_pair_promises_nothing(tmp_path: Path) -> None:
    shared = {"size": 6, "algorithm": "paper", "recall": 9}
    promised = {"delta": 0.9, "home": "start", "correction": "general"}
    asked = {**shared, **promised, "back_within": 30, "keep_in": ((0, 5), (0, 5))}
    pair = pair_of("grid", asked)
    assert pair["safe"] == {**asked, "explorer": "safe"}
    assert pair["unsafe"] == {**shared, "explorer": "uncover"}
    completed("grid", pair["unsafe"], tmp_path)


def test_an_upload_that_is_a_link_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / ".uploads" / "0123456789abcdef"
    folder.mkdir(parents=True)
    (folder / "terrain.tif").symlink_to("/etc/passwd")
    with pytest.raises(RefusalError, match="upload:0123456789abcdef does not exist"):
        completed("rover", {"terrain": "upload:0123456789abcdef"}, tmp_path)


def test_a_configuration_is_completed(tmp_path: Path) -> None:
    found: Any = completed("grid", {"size": 7}, tmp_path)[0]
    assert (found.size, found.explorer, found.delta) == (7, "safe", 1.0)


def test_a_pair_differs_in_its_explorer_alone() -> None:
    pair = pair_of("grid", {"seed": 4, "explorer": "rmax"})
    assert pair["safe"] == {"seed": 4, "explorer": "safe"}
    assert pair["unsafe"] == {"seed": 4, "explorer": "uncover"}
    assert pair_of("rover", {})["unsafe"] == {"explorer": "unsafe"}


def test_schemas_tell_what_can_be_set() -> None:
    found = schemas()
    json.dumps(found)
    for kind, form in all_forms().items():
        assert set(found[kind]["properties"]) == set(form.keys)
    assert found["grid"]["properties"]["delta"]["default"] == 1.0
    rover = found["rover"]["properties"]
    assert (rover["climb"]["title"], rover["climb"]["unit"]) == ("Maximum climb", "°")
    assert (rover["sensor_range"]["title"], rover["sensor_range"]["unit"]) == ("Sensor range", "m")
    assert rover["error"]["anyOf"] == [{"type": "number"}]  # no file can be named here


def test_a_preview_is_the_mean_of_the_cells(tmp_path: Path) -> None:
    from homeward.kinds.rover.config import RoverConfig
    from homeward.kinds.rover.kind import cells_of

    about, arrays = unpack(preview({"rows": 100, "columns": 160, "cell": 9.6}, tmp_path))
    cells = cells_of(RoverConfig(rows=100, columns=160, cell=9.6))
    np.testing.assert_array_equal(arrays["height"], cells.mean.astype(np.float32))
    assert about["cell"] == [10.0, 10.0]
    assert tuple(about["transform"]) == cells.transform == (10.0, 0.0, 0.0, 0.0, -10.0, 100.0)


def test_a_preview_is_of_the_terrain_alone(tmp_path: Path) -> None:
    with pytest.raises(RefusalError, match="'delta' is not a key"):
        preview({"delta": 1}, tmp_path)
    with pytest.raises(RefusalError, match="larger than") as refusal:
        preview({"rows": 10, "columns": 10, "cell": 50}, tmp_path)
    assert refusal.value.status == 422


def test_a_preview_tells_where_a_run_will_start(tmp_path: Path) -> None:
    land = {"terrain": "sample", "window": "0,0,40,30", "cell": 100}
    about, _ = unpack(preview(land, tmp_path))
    settled = settle(completed("rover", land, tmp_path)[0])  # type: ignore[arg-type]
    assert tuple(about["start"]) == settled.start
    assert unpack(preview({"rows": 100, "columns": 160}, tmp_path))[0]["start"] is None
