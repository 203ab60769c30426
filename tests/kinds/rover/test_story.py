"""A planner's day: a terrain model, rocks, targets, so many metres; every output read by others."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import rasterio
from tests.terrain.planetary import write_raster
from typer.testing import CliRunner

from homeward.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

UTM = rasterio.crs.CRS.from_epsg(32633).to_wkt()
LEFT, TOP = 500_000.0, 5_000_000.0


def run(*given: str) -> str:
    """Return what a command says; raise if it fails."""
    found = CliRunner().invoke(app, list(given))
    if found.exception is not None:
        raise found.exception
    return found.output


def write_points(path: Path, points: list[tuple[float, float, float]]) -> None:
    features = [
        {
            "type": "Feature",
            "properties": {"weight": weight},
            "geometry": {"type": "Point", "coordinates": [LEFT + x, TOP - y]},
        }
        for x, y, weight in points
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))


def test_a_rover_visits_its_targets_and_is_home_within_its_metres(tmp_path: Path) -> None:
    geopandas: Any = pytest.importorskip("geopandas")
    rows, columns = np.indices((80, 120))
    heights = np.sin(rows / 15) * np.cos(columns / 19)
    heights[20:24, 50:54] += 4.0  # a rock
    transform = rasterio.Affine(1.0, 0.0, LEFT, 0.0, -1.0, TOP)
    write_raster(tmp_path / "ground.tif", heights, crs=UTM, transform=transform)
    write_points(tmp_path / "targets.geojson", [(97.5, 22.5, 1.0), (52.0, 22.0, 2.0)])
    folder = str(tmp_path / "run")
    given = ["--cell", "5", "--start", "8,8", "--sensor-range", "20", "--steps", "300"]
    limits = ["--targets", str(tmp_path / "targets.geojson"), "--distance", "260"]
    said = run("explore", str(tmp_path / "ground.tif"), *given, *limits, "--out", folder)
    assert "1 of 2 targets reached" in said
    assert "of 260 m" in said
    facts = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert facts["end"] == "home"
    assert facts["position"] == facts["start"] == [8, 8]
    assert facts["distance_m"] <= facts["used"][0]["used"] <= 260.0
    assert [target["why"] for target in facts["targets"]] == [None, "unreachable"]
    assert facts["targets"][0]["step"] <= 15  # 12 cells away
    run("runs", "export", folder, "--way-home", "10", "--out", str(tmp_path / "back.kml"))
    bounds = (LEFT, TOP - 80.0, LEFT + 120.0, TOP)
    for file in [*(tmp_path / "run").glob("*.geojson"), *(tmp_path / "run").glob("*.kml")]:
        shown = geopandas.read_file(file)
        on_map = shown.to_crs(32633).total_bounds if shown.crs is not None else shown.total_bounds
        assert len(shown)
        assert (on_map[:2] >= np.array(bounds[:2]) - 1e-3).all(), file
        assert (on_map[2:] <= np.array(bounds[2:]) + 1e-3).all(), file
    way = geopandas.read_file(tmp_path / "back.kml").to_crs(32633).geometry[0]
    end = np.array(way.coords)[-1, :2]
    np.testing.assert_allclose(end, (LEFT + 42.5, TOP - 42.5), atol=0.01)
    assert "hint" not in ET.parse(tmp_path / "back.kml").getroot().attrib  # it is Earth
    with rasterio.open(tmp_path / "run" / "terrain.tif") as written:
        low, high = np.nanmin(written.read(1)), np.nanmax(written.read(1))
        assert written.crs.to_epsg() == 32633
    shader = ET.parse(tmp_path / "run" / "terrain.qml").getroot().find(".//colorrampshader")
    assert shader is not None
    found = [float(shader.get(name, "nan")) for name in ("minimumValue", "maximumValue")]
    np.testing.assert_allclose(found, (low, high), rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cell", "0.5"], "a cell of 0.5 m is smaller than a pixel"),
        (["--mast", "-1"], "--mast is -1"),
        (["--distance", "-3"], "--distance is -3"),
        (["--energy", "nan"], "--energy"),
        (["--energy-per-climb", "1"], "--energy-per-climb changes nothing without --energy"),
        (["--targets", "{}/none.geojson"], "none.geojson: can't be read"),
        (["--targets", "{}/far.geojson"], "far.geojson: point 1, at x = 1"),
        (["--targets", "{}/line.geojson"], "line.geojson: it is a LineString, expected a Point"),
        (["--unsafe", "--distance", "50"], "--distance needs an explorer with a safety level"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(
    tmp_path: Path, options: list[str], said: str
) -> None:
    write_raster(tmp_path / "ground.tif", np.zeros((20, 20)), crs=UTM)
    (tmp_path / "far.geojson").write_text('{"type": "Point", "coordinates": [1e7, 1]}')
    line = {"type": "LineString", "coordinates": [[0, 0], [1, 1]]}
    (tmp_path / "line.geojson").write_text(json.dumps(line))
    given = [option.replace("{}", str(tmp_path)) for option in options]
    cell = [] if "--cell" in given else ["--cell", "5"]
    asked = [str(tmp_path / "ground.tif"), *cell, *given, "--out", str(tmp_path / "run")]
    found = CliRunner().invoke(app, ["explore", *asked])
    assert found.exception is not None
    assert said in f"{found.exception} {found.output}"
    assert "Traceback" not in found.output
    assert not (tmp_path / "run").exists()
