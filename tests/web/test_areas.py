"""Runs beside uploaded areas and masks, from the upload to the last step, on a real server."""

from __future__ import annotations

import json
import math
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.web.frames import unpack
from tests.web.rasters import geotiff
from tests.web.site import CHANGE, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx
    from tests.web.site import Site

LEFT, TOP = 500_000.0, 5_000_000.0
CONFIG: dict[str, Any] = {
    "cell": 20,
    "limit": 4,
    "sensor_range": 60,
    "delta": 0.9,
    "start": [9, 10],
}
numbers = count(1)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    root: Path = tmp_path_factory.mktemp("areas") / "runs"
    root.mkdir()
    with serving(root) as found:
        yield found


def square(column: float, row: float) -> list[list[list[float]]]:
    """Give the rings of a polygon that covers a square of 80 m, from a cell's corner."""
    left, top = LEFT + 20 * column, TOP - 20 * row
    right, bottom = left + 80, top - 80
    return [[[left, top], [right, top], [right, bottom], [left, bottom], [left, top]]]


def area(*squares: list[list[list[float]]]) -> bytes:
    """Give a file of several polygons."""
    crs = {"type": "name", "properties": {"name": "EPSG:32633"}}
    value = {"type": "MultiPolygon", "coordinates": list(squares), "crs": crs}
    return json.dumps(value).encode()


def upload(place: Site, kind: str, name: str, content: bytes) -> str:
    answer = place.client.put(f"/api/v1/{kind}/{name}", content=content, headers=CHANGE)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["upload"])


@pytest.fixture(scope="module")
def files(place: Site) -> dict[str, str]:
    """Upload a terrain, and what may be given beside it."""
    return {
        "terrain": upload(place, "uploads", "gale.tif", geotiff()),
        "far": upload(place, "areas", "far.geojson", area(square(24, 2))),
        "two": upload(place, "areas", "two.geojson", area(square(24, 2), square(2, 14))),
        "rocks": upload(place, "areas", "rocks.json", area(square(24, 14))),
        "mask": upload(place, "uploads", "mask.tif", geotiff(rocks=True)),
    }


def ask(
    place: Site,
    files: dict[str, str],
    given: dict[str, Any],
    what: str = "runs",
    config: dict[str, Any] = CONFIG,
) -> httpx.Response:
    """Ask for a run on the terrain; values of `given` that name an upload become its number."""
    named = {key: files.get(str(value), value) for key, value in given.items()}
    config = {**config, "terrain": files["terrain"], **named}
    body = {"kind": "rover", "name": f"r{next(numbers)}", "config": config}
    return place.post(f"/api/v1/{what}", body)


def blocked(place: Site, run: str) -> set[tuple[int, int]]:
    """Return row and column of the cells without a height after the last step."""
    answer = place.get(f"/api/v1/runs/{run}/steps/0/fields?layers=height")
    assert answer.status_code == 200, answer.text
    height = unpack(answer.content)[1]["height"]
    return {
        (int(row), int(column)) for row, column in zip(*np.isnan(height).nonzero(), strict=True)
    }


def cells(column: int, row: int) -> set[tuple[int, int]]:
    """Return row and column of the cells below `square`."""
    return {(row + down, column + right) for down in range(4) for right in range(4)}


GIVEN = [
    pytest.param({"keep_out": "far"}, cells(24, 2), id="area"),
    pytest.param({"keep_out": "two"}, cells(24, 2) | cells(2, 14), id="areas"),
    pytest.param({"obstacles": "rocks"}, cells(24, 14), id="polygons"),
    pytest.param({"obstacles": "mask"}, cells(26, 16), id="mask"),
    pytest.param(
        {"keep_out": "far", "obstacles": "rocks"}, cells(24, 2) | cells(24, 14), id="both"
    ),
    pytest.param(
        {"keep_out": "two", "obstacles": "mask", "targets": [[LEFT + 250, TOP - 190, 1]]},
        cells(24, 2) | cells(2, 14) | cells(26, 16),
        id="targets",
    ),
]


@pytest.mark.parametrize(("given", "closed"), GIVEN)
def test_a_run_beside_uploads_starts_goes_on_and_is_made_again(
    place: Site, files: dict[str, str], given: dict[str, Any], closed: set[tuple[int, int]]
) -> None:
    made = ask(place, files, given)
    assert made.status_code == 201, made.text
    run = made.json()["id"]
    assert place.wait(run, "finished", "failed")["status"] == "finished"
    assert closed <= blocked(place, run)
    more = place.post(f"/api/v1/runs/{run}/resume", {"steps": 6})
    assert more.status_code == 200, more.text
    assert place.wait(run, "finished", "failed")["steps"] == 6
    again = place.post(f"/api/v1/runs/{run}/again", {"deltas": [0.7]})
    assert again.status_code == 201, again.text
    [other] = again.json()["runs"]
    assert place.wait(other["id"], "finished", "failed")["status"] == "finished"
    assert blocked(place, other["id"]) == blocked(place, run)
    assert place.get(f"/api/v1/runs/{run}/certificate").json()["refuted"] is False


@pytest.mark.parametrize("given", [{"keep_out": "two"}, {"keep_out": "far", "obstacles": "mask"}])
def test_a_pair_and_a_mission_keep_out_of_uploads(
    place: Site, files: dict[str, str], given: dict[str, Any]
) -> None:
    pair = ask(place, files, given, "pairs")
    assert pair.status_code == 201, pair.text
    for run in pair.json().values():
        assert place.wait(run["id"], "finished", "failed")["status"] == "finished"
    body = {key: value for key, value in CONFIG.items() if key != "limit"}
    mission = ask(place, files, given, "missions", body)
    assert mission.status_code == 201, mission.text
    name = mission.json()["id"]
    measured = [{"row": 9, "column": 10, "height": float(np.sin(2.2) + np.cos(2.0)), "error": 0.3}]
    look = {"position": [9, 10], "heights": measured}
    answer = place.post(f"/api/v1/missions/{name}/observations", look)
    assert answer.status_code == 201, answer.text
    assert place.get(f"/api/v1/missions/{name}/next").json()["action"] is not None
    assert cells(24, 2) <= blocked(place, name)


def test_a_run_beside_an_area_does_not_need_its_upload(place: Site, files: dict[str, str]) -> None:
    """The corners are in the record, since a run must not change with a file."""
    run = ask(place, files, {"keep_out": "two"}).json()["id"]
    place.wait(run, "finished")
    details = place.get(f"/api/v1/runs/{run}").json()
    assert details["files"].keys() == {"terrain"}
    assert len(details["config"]["keep_out"]) == 2


def test_an_area_of_many_corners_is_made_again(place: Site, files: dict[str, str]) -> None:
    ring = [
        [LEFT + 550 + 20 * math.sin(n), TOP - 50 + 20 * math.cos(n)]
        for n in np.linspace(0.0, 2 * math.pi, 1500, endpoint=False)
    ]
    content = area([[*ring, ring[0]]])
    given = {"keep_out": upload(place, "areas", "round.geojson", content)}
    run = ask(place, files, given).json()["id"]
    assert place.wait(run, "finished", "failed")["status"] == "finished"
    again = place.post(f"/api/v1/runs/{run}/again", {"deltas": [0.7]})
    assert again.status_code == 201, again.text
