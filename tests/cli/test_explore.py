"""``homeward explore`` as a user meets it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import rasterio
from tests.terrain.planetary import MARS_DEGREES, write_attached, write_raster

from homeward.cli import main
from homeward.files import read_json
from homeward.kinds.rover.config import RoverConfig
from homeward.planning.ends import End
from homeward.planning.explorer import Explorer
from homeward.runs import Run, RunStatus
from homeward.terrain.synthetic import draw_relief
from homeward.words import ENDS, sentence, why_ended

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
OUTPUTS = (
    *(
        "map.png",
        "path.geojson",
        "path.gpx",
        "path.kml",
        "path_points.geojson",
        "summary.json",
        "summary.md",
    ),
    *("terrain.qml", "terrain.tif", "way_home.geojson", "way_home.gpx", "way_home.kml"),
    "way_home_probability.tif",
)
KEYS = (
    "status",
    "steps",
    "stranded",
    "entropy_reduction",
    "cells_visited",
    "seconds",
    "plan_ms_median",
    "min_bound",
    "outputs",
)


class Said:
    """What a command said."""

    def __init__(self, out: str, err: str) -> None:
        self.out, self.err = out, err

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


@pytest.fixture
def homeward(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Said]:
    """Give the command; it must exit with the code that is expected."""

    def call(*words: object, code: int = 0) -> Said:
        monkeypatch.setattr(sys, "argv", ["homeward", *(str(word) for word in words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exited:
            main()
        said = capsys.readouterr()
        assert (exited.value.code or 0) == code, said.err
        return Said(said.out, said.err)

    return call


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def relief() -> np.ndarray[Any, Any]:
    heights = 0.3 * draw_relief((9, 12), np.random.default_rng(0))
    heights[2, 3] = np.nan
    return heights.astype(np.float32)


@pytest.fixture
def raster(tmp_path: Path) -> Path:
    """Write a relief of 9 x 12 pixels of 20 m on Mars with a hole in row 2, column 3."""
    path = tmp_path / "crater.tif"
    transform = rasterio.Affine(20.0, 0.0, 500.0, 0.0, -20.0, 900.0)
    write_raster(path, relief(), nodata=np.nan, transform=transform)
    return path


def test_a_terrain_model_and_a_rover_give_a_path_a_map_and_a_summary(
    homeward: Callable[..., Said], raster: Path, tmp_path: Path
) -> None:
    said = homeward("explore", raster, "--steps", 12, "--out", "one", "--json").json
    assert set(KEYS) <= said.keys()
    assert (said["status"], said["steps"]) == ("finished", 12)
    assert said["outputs"] == [f"one/{name}" for name in OUTPUTS]
    assert all((tmp_path / path).stat().st_size for path in said["outputs"])
    assert said["min_bound"] >= 0.98 - 1e-8
    assert Run.open("one").config["terrain"] == str(raster)


def test_what_is_said_to_people_names_the_files_and_the_fate(
    homeward: Callable[..., Said], raster: Path
) -> None:
    said = homeward("explore", raster, "--steps", 3).out
    chosen, promise, steps, why, fate, kept, *_ = said.splitlines()
    assert chosen == "Cells of 20 m, sensor range 100 m, δ = 0.98."
    assert promise == (
        "runs/crater-1: whenever it is recalled, it can return to the start "
        "with probability at least 0.98"
    )
    assert steps == "3 steps taken"
    assert why == why_ended(End.STEPS, 3)
    assert fate.startswith("it can return to the start; ")
    bound = read_json(Path("runs/crater-1/summary.json"))["min_bound"]
    assert kept == (
        f"return to the start: lower bound over the whole run {bound:.6f}, required 0.98"
    )
    assert all(f"  runs/crater-1/{name}\n" in said for name in OUTPUTS)


def test_each_run_has_a_new_folder(homeward: Callable[..., Said], raster: Path) -> None:
    for _ in range(3):
        homeward("explore", raster, "--steps", 1)
    assert sorted(os.listdir("runs")) == ["crater-1", "crater-2", "crater-3"]


def test_without_a_raster_it_is_synthetic_mars(homeward: Callable[..., Said]) -> None:
    small = ("--rows", 120, "--columns", 160, "--terrain-seed", 4)
    said = homeward("explore", *small, "--steps", 2, "--unsafe", "--json").json
    assert said["directory"] == "runs/mars-1"
    assert said["min_bound"] is None
    config = Run.open("runs/mars-1").config
    assert (config["terrain"], config["terrain_seed"]) == ("mars", 4)
    assert config["explorer"] == "unsafe"


def test_options_win_over_the_config_file(
    homeward: Callable[..., Said], raster: Path, tmp_path: Path
) -> None:
    (tmp_path / "c.toml").write_text(
        f'terrain = "{raster.name}"\nlimit = 3\ndelta = 0.8\nclimb = 10.0\nstart = [4, 4]\n'
    )
    homeward("explore", "--config", "c.toml", "--delta", 0.7, "--naive", "--out", "one")
    config = Run.open("one").config
    assert (config["delta"], config["climb"], config["limit"]) == (0.7, 10.0, 3)
    assert (config["explorer"], config["start"]) == ("naive", [4, 4])
    assert config["terrain"] == str(raster)


def test_every_setting_has_its_option(homeward: Callable[..., Said], tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", relief())
    options: dict[str, Any] = {
        "steps": 2,
        "cell": 25.0,
        "climb": 8.0,
        "descend": 40.0,
        "sensor-range": 90.0,
        "sensor-noise": 1e-5,
        "sensor-offset": 2.0,
        "known": 0.05,
        "home": "start",
        "delta": 0.8,
        "algorithm": "rate",
        "floor": 0.1,
        "correction": "general",
        "seed": 5,
        "window": "1,1,10,8",
        "pixel": 25.0,
        "blur": 1.0,
        "ground": "paper",
        "error": 0.1,
        "truth": "prior",
        "start": "5,6",
    }
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    homeward("explore", "a.npy", *words, "--out", "one")
    config = Run.open("one").config
    del config["terrain_sha256"]
    named = {name.replace("-", "_"): value for name, value in options.items()}
    named |= {"limit": named.pop("steps"), "start": [5, 6], "terrain": str(tmp_path / "a.npy")}
    assert {name: config[name] for name in named} == named
    usual = RoverConfig().model_dump(mode="json")
    rest = config.keys() - named.keys() - {"mast"}  # nothing hides a cell on the paper's ground
    assert {name: config[name] for name in rest} == {name: usual[name] for name in rest}


def test_a_run_that_takes_no_step_says_so(homeward: Callable[..., Said], raster: Path) -> None:
    said = homeward("explore", raster, "--floor", 1e9).out.splitlines()
    assert said[2] == "no step was taken"
    assert said[3].startswith(sentence(ENDS[End.TOO_LITTLE]))
    assert "lower bound over the whole run" not in "".join(said)


def test_a_start_is_in_map_coordinates_or_a_cell(
    homeward: Callable[..., Said], raster: Path
) -> None:
    for start in ("map:570,810", "4,3", " map:579.9 , 800.1 "):
        said = homeward("explore", raster, "--steps", 0, "--start", start, "--json").json
        assert (said["start"], said["position"], said["steps"]) == ([4, 3], [4, 3], 0)


def test_ctrl_c_stops_cleanly_and_it_goes_on_to_the_same_end(
    homeward: Callable[..., Said],
    raster: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = Explorer.step

    def stopped(self: Explorer) -> Any:
        if self.steps == 7:
            raise KeyboardInterrupt
        return real(self)

    asked = ("explore", raster, "--steps", 15, "--sensor-range", 50)
    homeward(*asked, "--out", "whole")
    for name, words in (("one", (*asked, "--out", "one")), ("two", ("runs", "resume", "two"))):
        monkeypatch.setattr(Explorer, "step", stopped)
        said = homeward(*asked, "--out", name, "--json", code=130)
        assert said.err.endswith(f"7 steps; to resume: homeward runs resume {name}\n")
        assert (said.json["status"], said.json["steps"]) == ("interrupted", 7)
        assert said.json["outputs"] == []
        assert Run.open(name).status is RunStatus.INTERRUPTED
        assert not set(OUTPUTS) & set(os.listdir(name))
        monkeypatch.setattr(Explorer, "step", real)
        homeward(*words)
        for file in ("steps.jsonl", "path.geojson", "terrain.tif", "map.png"):
            assert (tmp_path / name / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def test_a_run_that_fails_exits_with_one_and_one_line_and_can_be_tried_again(
    homeward: Callable[..., Said], raster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def thunder(self: Explorer) -> Any:
        raise RuntimeError("thunder")

    with monkeypatch.context() as patch:
        patch.setattr(Explorer, "step", thunder)
        said = homeward("explore", raster, "--steps", 2, "--out", "one", code=1)
    expected = "failed: RuntimeError: thunder; to try again: homeward runs resume one\n"
    assert said.err == expected
    assert Run.open("one").status is RunStatus.FAILED
    assert homeward("explore", "--out", "one", "--json").json["steps"] == 2


def test_ctrl_c_before_the_run_is_made_leaves_nothing(
    homeward: Callable[..., Said], raster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("homeward.kinds.rover.kind.prior_of", stop)
    said = homeward("explore", raster, "--out", "one", code=130)
    assert said.err == "stopped before anything was written\n"
    assert os.listdir() == [raster.name]


def test_the_folder_alone_goes_on_with_what_is_there(
    homeward: Callable[..., Said], raster: Path
) -> None:
    homeward("explore", raster, "--steps", 3, "--delta", 0.9, "--out", "one")
    assert homeward("explore", "--out", "one", "--json").json["steps"] == 3
    picture = Path("one/map.png").read_bytes()
    assert homeward("explore", "--out", "one", "--steps", 5, "--json").json["steps"] == 5
    assert Path("one/map.png").read_bytes() != picture  # it says how many steps were taken
    asked = ("explore", raster, "--delta", 0.9, "--out", "one", "--json")
    assert homeward(*asked, "--steps", 6).json["steps"] == 6
    assert homeward(*asked).json["steps"] == 6


def test_a_run_of_another_configuration_is_refused_and_left_as_it_is(
    homeward: Callable[..., Said], raster: Path
) -> None:
    homeward("explore", raster, "--steps", 2, "--out", "one")
    before = {path.name: path.stat().st_mtime_ns for path in Path("one").iterdir()}
    said = homeward("explore", raster, "--out", "one", "--seed", 4, "--climb", 9, code=2)
    assert "(--seed: recorded 0, given 4; --climb: recorded 20, given 9)" in said.err
    assert {path.name: path.stat().st_mtime_ns for path in Path("one").iterdir()} == before


def test_only_what_was_given_and_differs_is_told(
    homeward: Callable[..., Said], raster: Path
) -> None:
    homeward("explore", raster, "--steps", 1, "--climb", 8, "--start", HERE, "--out", "one")
    told = "homeward: one: is a run with another configuration ({}); name another "
    for words, difference in (
        (("--delta", 0.5), "--delta: recorded 0.98, given 0.5"),
        (("--climb", 8.0, "--back-within", 9), "--back-within: recorded none, given 9"),
        (
            (raster, "--climb", 8, "--start", "5,5"),
            "--start: recorded 4,4, given 5,5",
        ),
        ((raster, "--start", HERE), "--climb: recorded 8, by default 20"),
        ((raster, "--unsafe"), "--explorer: recorded safe, given unsafe"),
    ):
        said = homeward("explore", *words, "--out", "one", code=2)
        assert said.err.startswith(told.format(difference))


def test_a_finished_run_that_lost_a_part_is_told_by_its_name(
    homeward: Callable[..., Said], raster: Path
) -> None:
    homeward("explore", raster, "--steps", 1, "--out", "one")
    Path("one/map.png").unlink()
    Path("one/fields.npz").unlink()
    homeward("explore", "--out", "one")  # the record alone is enough to draw it again
    assert Path("one/map.png").stat().st_size > 10_000
    Path("one/summary.json").write_text("{}")
    said = homeward("explore", "--out", "one", code=2)
    assert said.err == "homeward: one/summary.json: is damaged: the key steps is missing\n"


def test_a_film_is_drawn_on_request_also_afterwards(
    homeward: Callable[..., Said], raster: Path
) -> None:
    asked = ("explore", raster, "--steps", 4, "--out", "one", "--json")
    assert homeward(*asked).json["outputs"] == [f"one/{name}" for name in OUTPUTS]
    picture = Path("one/map.png").stat().st_mtime_ns
    outputs = homeward(*asked, "--film", "gif").json["outputs"]
    assert outputs[0] == "one/film.gif"
    assert Path("one/map.png").stat().st_mtime_ns == picture
    from PIL import Image

    with Image.open("one/film.gif") as film:
        assert film.n_frames == 5  # type: ignore[attr-defined]


def test_the_film_of_a_stopped_run_is_not_forgotten(
    homeward: Callable[..., Said], raster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Explorer, "step", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        homeward("explore", raster, "--steps", 2, "--out", "one", "--film", "gif", code=130)
    homeward("runs", "resume", "one")
    assert {*OUTPUTS, "film.gif"} <= set(os.listdir("one"))


def test_without_rasterio_synthetic_mars_is_explored_and_one_line_says_what_is_missing(
    homeward: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rasterio", None)
    said = homeward("explore", "--rows", 100, "--columns", 100, "--steps", 1, "--out", "one")
    assert said.out.count("pip install 'homeward[terrain]'") == 1
    assert not Path("one/terrain.tif").exists()
    assert Path("one/map.png").exists()


def _degrees(path: Path) -> None:
    write_raster(path, relief(), crs=MARS_DEGREES, transform=rasterio.Affine(0.1, 0, 0, 0, -0.1, 0))


def _truncated(path: Path) -> None:
    write_attached(path)
    path.write_bytes(path.read_bytes()[:-20_000])


MALFORMED: dict[str, tuple[str, str]] = {
    # what is asked for: what is said
    "nodata.tif": ("nodata.tif: has no data in the window", ""),
    "degrees.tif": ("degrees.tif: ", "degrees"),
    "cut.IMG": ("cut.IMG: ", ""),
    "text.tif": ("text.tif: ", ""),
    "missing.tif": ("missing.tif: can't be read: No such file", ""),
    "folder": ("folder: is a directory, expected a raster file", ""),
    "huge.tif": ("huge.tif: 5e+08 m at row 1, column 1 is not a height", ""),
    "a.npy": ("a.npy: has no pixel size", "with --pixel"),
    "cube.npy --pixel 1": ("cube.npy: has shape (2, 2, 2)", ""),
    "words.npy --pixel 1": ("words.npy: ", ""),
    "empty.npy --pixel 1": ("empty.npy: is not a NumPy array", ""),
    "a.npy --pixel 0": ("--pixel is 0.0: ", ""),
    "ok.tif --pixel 3": ("ok.tif: has its own pixel size", ""),
    "ok.tif --window 0,0,99,9": ("ok.tif: the window 0,0,99,9 covers columns 0 to 98", ""),
    "ok.tif --window map:0,0,9,9": ("the window map:0.0,0.0,9.0,9.0 contains no pixel centre", ""),
    "ok.tif --window map:0,0,99,99": ("window map:0.0,0.0,99.0,99.0 leaves the raster", ""),
    "ok.tif --window 1,2,3": ("the window '1,2,3' is not COLUMN,ROW", ""),
    "ok.tif --cell 1000": ("a cell of 1000 m is larger than ok.tif, 180 x 240 m", ""),
    "ok.tif --cell -5": ("--cell is -5.0: ", ""),
    "ok.tif --cell inf": ("--cell is inf, expected a finite number\n", ""),
    "ok.tif --start map:0,0": ("the start: (0, 0) is off the map", "from (500, 720)"),
    "ok.tif --start 2,3": ("the start, row 2 and column 3, is blocked", "no data"),
    "ok.tif --start 9,0": ("row 9 and column 0, is off the map of 9 rows", ""),
    "ok.tif --start=-1,0": ("--start: '-1,0' is off the map", ""),
    "ok.tif --start here": ("--start: 'here' is not ROW,COL", "map:X,Y"),
    "ok.tif --start 1": ("--start: '1' is not ROW,COL", ""),
    "ok.tif --start map:nan,1": ("the start: x is nan, expected a number", ""),
    "ok.tif --delta 1.5": ("--delta is 1.5: ", ""),
    "ok.tif --delta 0": ("--delta is 0.0: ", ""),
    "ok.tif --delta nan": ("--delta is nan, expected a finite number\n", ""),
    "ok.tif --climb 95": ("--climb is 95.0: ", ""),
    "ok.tif --descend -1": ("--descend is -1.0: ", ""),
    "ok.tif --steps -1": ("--steps is -1: ", ""),
    "ok.tif --seed -1": ("--seed is -1: ", ""),
    "ok.tif --sensor-noise 0": ("--sensor-noise is 0.0: ", ""),
    "ok.tif --sensor-range -2": ("--sensor-range is -2.0: ", ""),
    "ok.tif --sensor-noise 1e-320": ("--sensor-noise is 1e-320: ", ""),
    "ok.tif --error 1e300": ("--error: the variance is 1e+300 m²", ""),
    "ok.tif --error gone.tif": ("gone.tif: can't be read: ", ""),
    "ok.tif --obstacles gone.geojson": ("gone.geojson: can't be read: ", ""),
    "ok.tif --keep-out ok.tif": ("ok.tif: is not GeoJSON: ", ""),
    "ok.tif --height-unit yd": ("--height-unit: 'yd' is not m, ft, or", ""),
    "--height-unit ft": ("--height-unit is for rasters only", ""),
    "--pixel 1e-300": ("--pixel is 1e-300: ", ""),
    "ok.tif --sensor-offset 0": ("--sensor-offset is 0.0: ", ""),
    "ok.tif --home nowhere": ('--home is "nowhere": ', "'current' or 'start'"),
    "ok.tif --truth guess": ('--truth is "guess": ', ""),
    "ok.tif --correction none": ('--correction is "none": ', ""),
    "ok.tif --film avi": ('--film is "avi": ', ""),
    "ok.tif --unsafe --naive": ("--unsafe and --naive exclude each other: choose one", ""),
    "ok.tif --sample": ("ok.tif and --sample exclude each other: choose one terrain", ""),
    "ok.tif --rows 9": ("--rows is for synthetic Mars only, not for ", "ok.tif\n"),
    "--sample --pixel 2": ("homeward: --pixel: the sample terrain has its own pixel size\n", ""),
    "--rows 200000 --columns 200000": ("200000 rows and 200000 columns are too many", ""),
    "--config rows.toml": ("rows.toml: rows is for synthetic Mars only, not for ok.tif\n", ""),
    "--config missing.toml": ("missing.toml: can't be read: No such file", ""),
    "--config broken.toml": ("broken.toml: can't be read: ", "line 1"),
    "--config unknown.toml": ("unknown.toml: wheels is not known", ""),
    "--config wrong.toml": ('wrong.toml: delta is "high"', ""),
    "ok.tif --out folder": ("folder: is not a run: there is no config.json", ""),
    "ok.tif --out ok.tif/run": ("ok.tif/run: can't be written: ok.tif is not a folder", ""),
    "ok.tif --out text.tif": ("text.tif: is a file, expected a new folder", ""),
}


@pytest.fixture
def workshop(tmp_path: Path, raster: Path) -> Path:
    """Write what is wrong in so many ways."""
    raster.rename(tmp_path / "ok.tif")
    heights = relief()
    write_raster(tmp_path / "nodata.tif", np.full_like(heights, -9999.0), nodata=-9999.0)
    _degrees(tmp_path / "degrees.tif")
    _truncated(tmp_path / "cut.IMG")
    (tmp_path / "text.tif").write_text("These are no heights.\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "note").touch()
    huge = heights.copy()
    huge[1, 1] = 5e8
    write_raster(tmp_path / "huge.tif", huge)
    np.save(tmp_path / "a.npy", heights)
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2)))
    np.save(tmp_path / "words.npy", np.array([["high", "low"]]))
    (tmp_path / "empty.npy").touch()
    (tmp_path / "broken.toml").write_text("delta = \n")
    (tmp_path / "unknown.toml").write_text("wheels = 6\n")
    (tmp_path / "rows.toml").write_text('terrain = "ok.tif"\nrows = 9\n')
    (tmp_path / "wrong.toml").write_text('delta = "high"\n')
    return tmp_path


@pytest.mark.parametrize("asked", MALFORMED)
def test_what_is_wrong_is_told_in_one_line_and_nothing_is_written(
    homeward: Callable[..., Said], workshop: Path, asked: str
) -> None:
    before = sorted(workshop.rglob("*"))
    words = asked.split()
    said = homeward("explore", *words, *(() if "--out" in words else ("--out", "run")), code=2)
    lead, more = MALFORMED[asked]
    assert said.out == ""
    assert said.err.startswith("homeward: ")
    assert said.err.count("\n") == 1
    assert lead in said.err
    assert more in said.err
    assert sorted(workshop.rglob("*")) == before


def test_a_raster_without_a_name_is_refused(homeward: Callable[..., Said], tmp_path: Path) -> None:
    said = homeward("explore", "", "--out", "run", code=2)
    assert said.err == "homeward: the name of the raster is empty\n"
    assert list(tmp_path.iterdir()) == []


def test_a_sensor_of_endless_range_sees_the_whole_map(
    homeward: Callable[..., Said], raster: Path, tmp_path: Path
) -> None:
    (tmp_path / "near.toml").write_text("sensor_range = 30.0\n")
    asked = ("explore", raster, "--config", "near.toml", "--steps", 1, "--out", "one")
    homeward(*asked, "--sensor-range", "inf")
    assert Run.open("one").config["sensor_range"] is None


def test_a_raster_that_has_changed_is_told_as_such(
    homeward: Callable[..., Said], raster: Path
) -> None:
    asked = ("explore", raster, "--steps", 1, "--out", "one")
    homeward(*asked)
    transform = rasterio.Affine(20.0, 0.0, 500.0, 0.0, -20.0, 900.0)
    write_raster(raster, relief()[::-1], nodata=np.nan, transform=transform)
    said = homeward(*asked, code=2)
    assert "crater.tif: the terrain has changed since the run was created" in said.err
    said = homeward(*asked, "--cell", 40, code=2)
    assert "(--cell: recorded 20, given 40)" in said.err


def test_fewer_steps_than_there_are_change_nothing(
    homeward: Callable[..., Said], raster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("explore", raster, "--out", "one", "--json", "--steps")
    homeward(*asked, 5)
    homeward(*asked, 9)
    before = {path.name: path.read_bytes() for path in Path("one").iterdir() if path.is_file()}
    said = homeward(*asked, 5)
    assert said.err == "one: has already taken 9 steps, more than --steps 5; nothing was changed\n"
    assert said.json["steps"] == 9
    after = {path.name: path.read_bytes() for path in Path("one").iterdir() if path.is_file()}
    assert after == before
    real = Explorer.step

    def stopped(self: Explorer) -> Any:
        if self.steps == 11:
            raise KeyboardInterrupt
        return real(self)

    monkeypatch.setattr(Explorer, "step", stopped)
    homeward(*asked, 20, code=130)
    said = homeward(*asked, 5, code=2)
    assert "one: has already taken 11 steps, more than --steps 5; to resume: " in said.err


def test_ctrl_c_while_steps_are_taken_again_tells_how_many_are_recorded(
    homeward: Callable[..., Said], raster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("explore", raster, "--out", "one", "--json", "--steps")
    homeward(*asked, 4)
    manifest = Path("one/manifest.json")
    told = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**told, "status": "running", "end": None, "steps": 1}))

    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("homeward.runs.run.replay", stop)
    said = homeward(*asked, 6, code=130)
    assert said.err == "stopped, 4 steps; to resume: homeward runs resume one\n"
    assert (said.json["status"], said.json["steps"]) == ("interrupted", 4)
    assert said.json["outputs"] == []
    monkeypatch.setattr("homeward.kinds.rover.kind.prior_of", stop)
    said = homeward("explore", raster, "--out", "two", "--json", code=130)
    assert said.json == {"status": None, "steps": 0, "directory": None, "outputs": []}


@pytest.mark.parametrize("asked", ["--delta high", "--steps 1.5", "--wheels 6", "a.tif b.tif"])
def test_what_is_no_command_is_told_with_the_usage(
    homeward: Callable[..., Said], tmp_path: Path, asked: str
) -> None:
    said = homeward("explore", *asked.split(), code=2)
    assert "Usage" in said.err
    assert asked.split()[-1] in said.err or asked.split()[0] in said.err
    assert list(tmp_path.iterdir()) == []


def test_a_hole_in_the_middle_is_driven_around(homeward: Callable[..., Said], raster: Path) -> None:
    homeward("explore", raster, "--steps", 30, "--sensor-range", 40, "--out", "one")
    states = [record.next_state for record in Run.open("one").records()]
    assert 2 * 12 + 3 not in states
    with rasterio.open("one/terrain.tif") as made:
        assert np.isnan(made.read(1)[2, 3])
        assert np.isfinite(np.delete(made.read(1).ravel(), 2 * 12 + 3)).all()


def test_a_place_without_write_access_is_told_and_left_alone(
    homeward: Callable[..., Said], raster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: Any, *_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "mkdir", denied)
    for out in (("--out", "deep/run"), ("--out", "run"), ()):
        said = homeward("explore", raster, *out, code=2)
        assert "can't be written: Permission denied" in said.err
        assert said.err.count("\n") == 1
    assert os.listdir() == [raster.name]


def no_space(*_: Any, **__: Any) -> Any:
    raise OSError(28, "No space left on device")


def test_a_disk_that_is_full_from_the_start_holds_nothing_afterwards(
    homeward: Callable[..., Said], raster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", no_space)
    said = homeward("explore", raster, "--out", "one", code=2)
    assert said.err.endswith("can't be written: No space left on device\n")
    assert os.listdir() == [raster.name]


def _full_for(name: str) -> Callable[[int], None]:
    """Give an fsync that finds no room for files whose names hold something."""

    def sync(handle: int) -> None:
        if name in os.readlink(f"/proc/self/fd/{handle}").rpartition("/")[2]:
            no_space()

    return sync


@pytest.mark.parametrize("file", ["steps.jsonl", "path.geojson", "terrain.tif", "summary.md"])
def test_a_disk_that_fills_up_is_told_with_the_way_to_go_on(
    homeward: Callable[..., Said], raster: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", _full_for(file))
        if file == "steps.jsonl":
            patch.setattr(os, "write", no_space)
        said = homeward("explore", raster, "--steps", 3, "--out", "one", code=2)
    assert f"one/{file}: can't be written: No space left on device" in said.err
    assert "the steps so far are saved; to resume: homeward runs resume one\n" in said.err
    assert not Path("one", file).exists() or file == "steps.jsonl"
    assert not [name for name in os.listdir("one") if name.startswith(".")]
    homeward("runs", "resume", "one")
    assert set(OUTPUTS) <= set(os.listdir("one"))


def test_a_picture_that_finds_no_room_is_drawn_the_next_time(
    homeward: Callable[..., Said], raster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.figure import Figure

    with monkeypatch.context() as patch:
        patch.setattr(Figure, "savefig", no_space)
        said = homeward("explore", raster, "--steps", 2, "--out", "one", code=2)
    assert "one/map.png: can't be written: No space left on device" in said.err
    assert not Path("one/map.png").exists()
    homeward("explore", "--out", "one")
    assert Path("one/map.png").exists()


def test_killed_at_random_moments_it_resumes_to_the_same_path_and_the_same_bytes(
    tmp_path: Path,
) -> None:
    np.save(tmp_path / "a.npy", np.nan_to_num(relief()))
    options = [str(tmp_path / "a.npy"), "--pixel", "20", "--steps", "130", "--sensor-range", "50"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.exploring", str(tmp_path), json.dumps(options), "3"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["killed"] >= 3
    assert found["same"]
    assert all(found["same"])
    assert min(n for n in found["stages"] if n) < max(found["stages"])  # some were half done


def test_another_folder_that_is_a_run_of_another_kind_is_refused(
    homeward: Callable[..., Said],
) -> None:
    Run.create("grid", "grid", {"size": 4})
    said = homeward("explore", "--out", "grid", code=2)
    assert said.err == "homeward: grid: is a grid run, not a rover run\n"


def test_the_progress_bar_says_bound_seen_and_entropy(
    homeward: Callable[..., Said], raster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "160")
    said = homeward("explore", raster, "--steps", 3, "--out", "one")
    assert "step 1 of 3" in said.err
    assert re.search(r"bound ≥ [01]\.\d{4} · ", said.err)
    assert "known to 10 cm" in said.err
    assert "nats" in said.err


AREA: dict[str, Any] = {
    "type": "Polygon",
    "coordinates": [[[500, 720], [700, 720], [700, 900], [500, 900], [500, 720]]],
}
"""Of the raster's 9 x 12 cells: all rows, columns 0 to 9."""

HERE = "4,4"
PAPER = ("--algorithm", "paper")


def write_area(path: Path, value: Any = None) -> Path:
    path.write_text(json.dumps(AREA if value is None else value))
    return path


def test_all_that_can_be_asked_is_in_the_run_and_what_is_said(
    homeward: Callable[..., Said], raster: Path, tmp_path: Path
) -> None:
    area = write_area(tmp_path / "area.geojson")
    asked = ("--start", HERE, "--base", HERE, "--back-within", 9, "--keep-in", area)
    levels = ("--delta", 0.9, "--back-within-delta", 0.7, "--film", "gif")
    said = homeward("explore", raster, *asked, *levels, "--steps", 4, "--out", "one", "--json").json
    names = ["return to base 4,4", "return to base 4,4 within 9 steps", "stay inside"]
    assert [found["name"] for found in said["criteria"]] == names
    assert [found["level"] for found in said["criteria"]] == [0.9, 0.7, 0.9]
    assert all(found["lowest"] >= found["level"] - 1e-8 for found in said["criteria"])
    assert said["conflict"] is None
    assert "one/keep_in.geojson" in said["outputs"]
    config = Run.open("one").config
    assert config["keep_in"] == [AREA["coordinates"]]
    assert (config["bases"], config["back_within"], config["delta"]) == ([[4, 4]], 9, 0.9)
    text = homeward("explore", "--out", "one").out
    for found in said["criteria"]:
        kept = f"lower bound over the whole run {found['lowest']:.6f}, required {found['level']:g}"
        assert f"{found['name']}: {kept}\n" in text
    shown = homeward("runs", "show", "one").out
    assert "criteria: “return to base 4,4” at 0.9; " in shown
    assert "stay inside" in shown.split("Last steps")[1]


def test_the_same_command_goes_on_and_another_area_is_another_run(
    homeward: Callable[..., Said], raster: Path, tmp_path: Path
) -> None:
    area = write_area(tmp_path / "area.geojson")
    command = ("explore", raster, "--start", HERE, "--keep-in", area, "--out", "one")
    homeward(*command, "--steps", 1)
    assert homeward(*command, "--steps", 3, "--json").json["steps"] == 3
    assert "--keep-in" in homeward("explore", raster, "--start", HERE, "--out", "one", code=2).err
    corners = [[x + 20, y] for x, y in AREA["coordinates"][0]]
    write_area(area, {"type": "Polygon", "coordinates": [corners]})
    assert "(--keep-in: recorded other values)" in homeward(*command, code=2).err
    assert homeward("explore", "--out", "one", "--steps", 4, "--json").json["steps"] == 4


def test_a_config_file_may_ask_for_all_of_it(
    homeward: Callable[..., Said], raster: Path, tmp_path: Path
) -> None:
    write_area(tmp_path / "area.geojson")
    (tmp_path / "c.toml").write_text(
        f'terrain = "{raster.name}"\nlimit = 1\nstart = [4, 4]\nkeep_in = "area.geojson"\n'
        "bases = [[4, 4], [4, 5]]\nback_within = 20\nrecall = 6\ndelta = 0.6\n"
        'algorithm = "paper"\n'
    )
    homeward("explore", "--config", "c.toml", "--out", "one")
    config = Run.open("one").config
    assert (config["recall"], config["bases"]) == (6, [[4, 4], [4, 5]])
    homeward("explore", "--config", "c.toml", "--base", HERE, "--out", "two")
    assert Run.open("two").config["bases"] == [[4, 4]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--back-within", 0), "--back-within is 0: "),
        (("--recall", 0), "--recall is 0: "),
        (("--back-within", 3, "--back-within-delta", 0), "--back-within-delta is 0.0: "),
        (("--back-within-delta", 0.5), "--back-within-delta has no effect without --back-within"),
        (("--keep-in-delta", 0.5), "--keep-in-delta has no effect without --keep-in"),
        (("--recall", 9), "--recall needs --algorithm paper"),
        (("--home", "current"), "--home current needs --algorithm paper"),
        (
            ("--recall", 10**8, *PAPER),
            "100,000,000 steps with 108 states are ",
        ),
        (("--each-base",), "--each-base has no effect without --base"),
        (
            ("--base", HERE, "--home", "current"),
            "--home current and --base exclude each other: choose one",
        ),
        (("--base", HERE, "--base", HERE), "--base: 4,4 is named twice"),
        (("--base", HERE, "--unsafe"), "--base needs an explorer with a safety level"),
        (("--delta", 0.98, "--unsafe"), "--delta needs an explorer with a safety level"),
        (("--home", "start", "--unsafe"), "--home needs an explorer with a safety level"),
        (("--correction", "moves", "--unsafe"), "--correction needs an explorer with a safety "),
        (("--correction", "moves", "--naive"), "--correction: the naive explorer plans without "),
        (("--base", HERE, "--home", "start"), "--home and --base exclude each other: choose one"),
        (("--discount", 0.999), "--discount needs --algorithm paper: the default algorithm "),
        (("--terrain-seed", 0), "--terrain-seed is for synthetic Mars only, not for "),
        (
            ("--keep-in", "area.geojson", "--keep-in-delta", 0.5),
            "--keep-in-delta needs --algorithm paper: the default algorithm takes no action that "
            "might leave the area of --keep-in\n",
        ),
        (("--base", "4"), "--base: '4' is not ROW,COL or map:X,Y"),
        (("--base", "9,4"), "a base, row 9 and column 4, is off the map of 9 rows"),
        (("--base", "map:0,0"), "a base: (0, 0) is off the map, which reaches from (500, 720)"),
        (("--base", "2,3"), "a base, row 2 and column 3, is blocked: the terrain has no data"),
        (("--keep-in", "no.geojson"), "no.geojson: can't be read: No such file or directory"),
        (("--keep-in", "crater.tif"), "crater.tif: is not GeoJSON: "),
        (("--keep-in", "point.geojson"), "point.geojson: it is a Point, expected a Polygon"),
        (("--keep-in", "bow.geojson"), "bow.geojson: polygon 1 crosses itself: "),
        (("--keep-in", "open.geojson"), "open.geojson: ring 1 of polygon 1 is open: "),
        (("--keep-in", "away.geojson"), "away.geojson: the area to keep in is off the map, which "),
        (("--keep-in", "tiny.geojson"), "tiny.geojson: the area to keep in is empty: no cell has "),
        (
            ("--keep-in", "area.geojson", "--start", "0,11"),
            "the start, row 0 and column 11, is outside the area to keep in",
        ),
        (
            ("--keep-in", "area.geojson", "--recall", 1, *PAPER),
            "--recall 1 and --keep-in: the only step ",
        ),
        (
            ("--start", HERE, "--base", "4,11", "--back-within", 1, *PAPER),
            "from the start no policy meets “return to base 4,11”",
        ),
        (
            ("--start", HERE, "--base", "4,11"),
            "from the start no return policy meets “return to base 4,11” at 0.98: ",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_makes_no_run(
    homeward: Callable[..., Said],
    raster: Path,
    tmp_path: Path,
    words: tuple[object, ...],
    message: str,
) -> None:
    ring = AREA["coordinates"][0]
    write_area(tmp_path / "area.geojson")
    for name, corners in (
        ("bow", [[500, 720], [700, 900], [700, 720], [500, 900], [500, 720]]),
        ("open", ring[:-1]),
        ("away", [[0, 0], [9, 0], [9, 9], [0, 0]]),
        ("tiny", [[501, 721], [503, 721], [503, 723], [501, 721]]),
    ):
        write_area(tmp_path / f"{name}.geojson", {"type": "Polygon", "coordinates": [corners]})
    write_area(tmp_path / "point.geojson", {"type": "Point", "coordinates": [1, 2]})
    said = homeward("explore", raster, "--steps", 1, "--out", "one", *words, code=2)
    assert said.err.startswith(f"homeward: {message}")
    assert said.err.count("\n") == 1
    assert not Path("one").exists()


def test_a_key_of_a_config_file_that_changes_nothing_is_named(
    homeward: Callable[..., Said], tmp_path: Path
) -> None:
    (tmp_path / "c.toml").write_text('explorer = "unsafe"\ndelta = 0.5\n')
    said = homeward("explore", "--config", "c.toml", code=2)
    assert said.err == "homeward: c.toml: delta needs an explorer with a safety level\n"


def test_a_misfit_in_a_config_file_names_the_file(
    homeward: Callable[..., Said], tmp_path: Path
) -> None:
    (tmp_path / "c.toml").write_text("each_base = true\n")
    said = homeward("explore", "--config", "c.toml", code=2)
    assert said.err == "homeward: c.toml: each_base has no effect without bases\n"


def test_the_recorded_settings_of_a_run_make_another_with_larger_cells(
    homeward: Callable[..., Said], raster: Path
) -> None:
    homeward("explore", raster, "--ground", "paper", "--steps", 1, "--out", "one")
    cell = 2.0 * Run.open("one").config["cell"]
    options = ("--cell", cell, "--start", "1,1", "--out", "two")
    homeward("explore", "--config", "one/config.json", *options)
    assert Run.open("two").config["cell"] == cell
    assert Run.open("two").config["terrain"] == str(raster)


def test_a_config_file_may_use_the_names_of_options_and_names_the_runs_folder(
    homeward: Callable[..., Said], raster: Path
) -> None:
    Path("a.json").write_text(json.dumps({"terrain": str(raster), "steps": 2}))
    homeward("explore", "--config", "a.json")
    assert Run.open(f"runs/{raster.stem}-1").manifest.steps == 2


def test_a_config_file_that_is_nested_too_deep_is_refused_by_its_name(
    homeward: Callable[..., Said],
) -> None:
    Path("deep.json").write_text("[" * 100_000)
    said = homeward("explore", "--config", "deep.json", code=2)
    assert said.err.startswith("homeward: deep.json: can't be read: ")
