"""``homeward paper mars`` and ``homeward paper timing``, small."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from homeward.cli.app import app
from homeward.errors import InvalidFileError
from homeward.terrain import synthetic_mars, to_cells, write_heights

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

runner = CliRunner()
SMALL = ["paper", "mars", "--terrains", "2", "--steps", "20", "--scale", "0.2", "--workers", "0"]


def test_the_study_is_run_kept_tabled_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = [*SMALL, "--json", "--table", "runs.csv"]
    first = runner.invoke(app, command, catch_exceptions=False)
    assert first.exit_code == 0
    result = json.loads(first.stdout)
    assert [(row["setting"], row["paper"], row["runs"]) for row in result["rows"]] == [
        ("safe at .98", 7680.0, 2),
        ("safe at .90", 12660.0, 2),
        ("safe at .70", 35975.0, 2),
        ("unsafe", 3214.0, 2),
        ("naive at .98", None, 2),
        ("safe at .98, moves", None, 2),
        ("ours at .98", None, 2),
        ("ours at .90", None, 2),
        ("ours at .70", None, 2),
        ("ours, unsafe", None, 2),
        ("nearest at .98", None, 2),
        ("best rate at .98", None, 2),
    ]
    assert result["sensor_range"] == 29.0
    assert result["terrain"] == "synthetic Mars, seeds 0 to 1."
    assert (result["steps"], result["correction"]) == (20, "general")
    assert result["study"] == "mars-2x20-scale0.2.sqlite"
    assert (tmp_path / "mars.png").stat().st_size > 1000
    table = (tmp_path / "runs.csv").read_bytes()
    assert (tmp_path / "mars-maps.png").stat().st_size > 1000
    assert len(table.splitlines()) == 1 + 24
    again = runner.invoke(app, command, catch_exceptions=False)
    assert json.loads(again.stdout) == result
    assert (tmp_path / "runs.csv").read_bytes() == table


def test_people_are_told_which_terrain_and_which_correction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = [*SMALL, "--terrains", "1", "--correction", "moves", "--sensor-range", "60"]
    command += ["--explorers", "paper"]
    said = runner.invoke(app, command, catch_exceptions=False).stdout
    told = " ".join(said.split())
    assert "Terrain: synthetic Mars, seeds 0 to 0." in told
    assert "is not included" in told
    assert "the moves correction" in told
    assert (tmp_path / "mars-1x20-scale0.2-moves-paper-60m.sqlite").exists()


def test_only_ours_runs_with_a_sensor_over_the_whole_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = [*SMALL, "--terrains", "1", "--steps", "3", "--explorers", "ours", "--whole-map"]
    found = runner.invoke(app, [*command, "--json"], catch_exceptions=False)
    result = json.loads(found.stdout)
    assert (len(result["rows"]), result["sensor_range"]) == (7, None)
    assert result["study"] == "mars-1x3-scale0.2-ours-whole.sqlite"


def write_ground(path: Path, seed: int) -> None:
    cells = to_cells(synthetic_mars(seed, 300, 400), 2.0)
    write_heights(path, cells.mean, cells)


def test_a_raster_of_the_users_own_is_explored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_ground(tmp_path / "own.tif", 1)
    command = ["paper", "mars", "--raster", "own.tif", "--window", "0,0,150,120", "--workers", "0"]
    command += ["--explorers", "ours"]
    found = runner.invoke(
        app, [*command, "--terrains", "1", "--steps", "5", "--json"], catch_exceptions=False
    )
    assert found.exit_code == 0
    assert json.loads(found.stdout)["terrain"] == "own.tif, 1 draws of its error."


def test_a_raster_that_has_changed_is_refused_and_the_study_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["paper", "mars", "--raster", "own.tif", "--workers", "0", "--terrains", "1"]
    command += ["--steps", "2", "--json", "--study", "one.sqlite", "--explorers", "paper"]
    for seed in (1, 2):
        write_ground(tmp_path / "own.tif", seed)
        found = runner.invoke(app, command)
        assert (found.exit_code == 0) == (seed == 1)
    assert isinstance(found.exception, InvalidFileError)
    assert "own.tif has changed since the study started" in str(found.exception)
    write_ground(tmp_path / "own.tif", 1)
    assert runner.invoke(app, command).exit_code == 0


def test_a_window_without_a_raster_and_a_raster_with_a_scale_are_refused(tmp_path: Path) -> None:
    assert runner.invoke(app, ["paper", "mars", "--window", "0,0,9,9"]).exit_code == 2
    scaled = ["paper", "mars", "--raster", str(tmp_path / "x.tif"), "--scale", "0.5"]
    assert runner.invoke(app, scaled).exit_code == 2


def test_times_stand_beside_the_papers() -> None:
    small = ["paper", "timing", "--steps", "3", "--scale", "0.2"]
    result = json.loads(runner.invoke(app, [*small, "--json"], catch_exceptions=False).stdout)
    assert [row["setting"] for row in result["rows"]] == [
        "safe at .98",
        "safe at .90",
        "safe at .70",
        "naive at .98",
        "unsafe",
    ]
    assert result["map"] == [10, 20]
    assert {row["times faster"] for row in result["rows"]} == {None}
    said = runner.invoke(app, small, catch_exceptions=False).stdout
    assert "10.94 ± 7.14" in said
    assert "10 x 20 cells" in said
    assert "faster" not in said
