from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.invoking import invoke
from tests.web.rasters import geotiff
from tests.web.site import CHANGE, Site, serving

from homeward.runs import Run

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYS = ("cell", "sensor_range", "delta")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "served").mkdir()
    with serving(tmp_path / "served") as found:
        yield found


def explored(folder: Path, *arguments: object) -> tuple[dict[str, Any], str]:
    """Explore for no step at the terminal; return the recorded values of `KEYS`, and the output."""
    result = invoke("explore", *arguments, "--steps", 0, "--out", folder)
    assert result.exit_code == 0, result.output
    config = Run.open(folder).config
    return {key: config[key] for key in KEYS}, result.output


@pytest.mark.parametrize(
    ("rows", "columns", "pixel", "cell"),
    [(40, 60, 10.0, 10.0), (180, 320, 2.5, 7.5), (460, 30, 1.0097, 5 * 1.0097)],
)
def test_the_page_and_the_terminal_use_the_same_cells_and_sensor_on_a_file(
    tmp_path: Path, site: Site, rows: int, columns: int, pixel: float, cell: float
) -> None:
    data = geotiff(rows, columns, pixel)
    (tmp_path / "hills.tif").write_bytes(data)
    sent = site.client.put("/api/v1/uploads/hills.tif", content=data, headers=CHANGE).json()
    config, said = explored(tmp_path / "own", tmp_path / "hills.tif")
    assert sent["defaults"] == config
    assert config["cell"] == pytest.approx(cell, rel=1e-5)
    assert config["sensor_range"] == pytest.approx(5 * config["cell"], rel=1e-5)
    line = f"Cells of {config['cell']:g} m, sensor range {config['sensor_range']:g} m, δ = 0.98."
    assert said.splitlines()[0] == line

    asked = {"terrain": sent["upload"], "limit": 0}  # and a page that sets none of them
    assert site.post("/api/v1/runs", {"kind": "rover", "name": "a", "config": asked}).is_success
    site.wait("a", "finished")
    made = site.get("/api/v1/runs/a").json()["config"]
    assert {key: made[key] for key in KEYS} == config


def test_a_part_of_a_file_has_its_own_cells_at_both(tmp_path: Path, site: Site) -> None:
    data, window = geotiff(180, 320, 2.5), "10,0,90,60"
    (tmp_path / "hills.tif").write_bytes(data)
    sent = site.client.put("/api/v1/uploads/hills.tif", content=data, headers=CHANGE).json()
    config, _ = explored(tmp_path / "own", tmp_path / "hills.tif", "--window", window)
    assert (config["cell"], config["sensor_range"]) == (2.5, 12.5)
    asked = {"terrain": sent["upload"], "window": window, "limit": 0}
    assert site.post("/api/v1/runs", {"kind": "rover", "name": "a", "config": asked}).is_success
    site.wait("a", "finished")
    made = site.get("/api/v1/runs/a").json()["config"]
    assert {key: made[key] for key in KEYS} == config


def test_terrains_without_a_file_have_the_same_defaults_at_both(tmp_path: Path, site: Site) -> None:
    defaults = site.get("/api/v1/kinds").json()["rover"]["defaults"]
    mars, said = explored(tmp_path / "mars", "--rows", 300, "--columns", 400)
    assert mars == defaults["mars"] == {"cell": 20.0, "sensor_range": None, "delta": 0.98}
    assert said.splitlines()[0] == "Cells of 20 m, sensor range the whole map, δ = 0.98."
    assert explored(tmp_path / "sample", "--sample")[0] == defaults["sample"]


def test_the_sensor_reaches_five_of_the_cells_that_are_given(tmp_path: Path) -> None:
    (tmp_path / "hills.tif").write_bytes(geotiff())
    config, _ = explored(tmp_path / "own", tmp_path / "hills.tif", "--cell", 30)
    assert (config["cell"], config["sensor_range"]) == (30.0, 150.0)
