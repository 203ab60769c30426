from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from homeward.beliefs.corrections import Correction
from homeward.beliefs.covariance import Matern
from homeward.beliefs.heights import TerrainBelief
from homeward.criteria import ReturnHome
from homeward.errors import InvalidFileError, InvalidInputError, InvalidProblemError
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import (
    ROVER,
    SPACING,
    cells_of,
    digest_of,
    inside_of,
    landing_site,
    make,
    prior_of,
    settle,
    start_of,
)
from homeward.kinds.rover.terrain import (
    cell_side,
    crossings_of,
    sensor_range,
    slope_deviation,
)
from homeward.kinds.rover.world import Rover, true_heights
from homeward.planning.ends import End
from homeward.runs import Digest, Run, find_kind, kind
from homeward.runs.config import checked
from homeward.terrain.synthetic import draw_relief

if TYPE_CHECKING:
    from pathlib import Path

SMALL = {"rows": 120, "columns": 160, "limit": 12}


def write_relief(path: Path, seed: int = 0) -> np.ndarray[Any, Any]:
    """Write a relief of 9 x 12 pixels as .npy; one of them is a hole."""
    heights = draw_relief((9, 12), np.random.default_rng(seed)) * 0.3
    heights[2, 3] = np.nan
    np.save(path, heights)
    return heights


def config_of(**values: Any) -> RoverConfig:
    return checked(RoverConfig, values, "the rover")


@pytest.fixture
def relief(tmp_path: Path) -> RoverConfig:
    write_relief(tmp_path / "relief.npy")
    file, whole = str(tmp_path / "relief.npy"), {"ground": "paper", "known": 0.0}
    return config_of(terrain=file, pixel=20.0, blur=0.0, **whole)


def test_it_is_found_by_its_name() -> None:
    assert find_kind("rover") is ROVER


def test_the_vehicle_and_its_sensor_are_the_papers_and_home_is_the_start() -> None:
    config = RoverConfig()
    assert (cell_side(config), config.blur, config.error) == (20.0, 5.0, 2.0**-4)
    assert (config.climb, config.descend) == (5.0, 45.0)
    assert (sensor_range(config), config.sensor_noise, config.sensor_offset) == (None, 1e-6, 1.0)
    assert (config.delta, config.discount, config.home) == (0.98, 0.999, "start")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"delta": 0.0}, "delta is 0.0"),
        ({"delta": 1.01}, "delta is 1.01"),
        ({"climb": 90.0}, "climb is 90.0"),
        ({"cell": 0.0}, "cell is 0.0"),
        ({"sensor_noise": 0.0}, "sensor_noise is 0.0"),
        ({"sensor_range": -1.0}, "sensor_range is -1.0"),
        ({"start": [1, -1]}, "start.1 is -1"),
        ({"home": "away"}, 'home is "away"'),
        ({"explorer": "bold"}, 'explorer is "bold"'),
        ({"truth": "guess"}, 'truth is "guess"'),
        ({"film": "avi"}, 'film is "avi"'),
        ({"limit": -1}, "limit is -1"),
        ({"terrain": ""}, "the terrain has an empty name"),
        ({"terrain": "x.tif", "rows": 3}, "is for synthetic Mars only"),
        ({"terrain": "x.tif", "terrain_seed": 3}, "is for synthetic Mars only"),
        ({"terrain": "sample", "pixel": 3.0}, "the sample terrain has its own pixel size"),
        ({"wheels": 6}, "wheels is not known"),
    ],
)
def test_what_is_wrong_is_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        config_of(**values)


def test_synthetic_mars_has_a_seed_a_size_and_a_window() -> None:
    whole = cells_of(config_of(**SMALL))
    assert whole.shape == (6, 8)
    assert not np.array_equal(cells_of(config_of(**SMALL, terrain_seed=1)).mean, whole.mean)
    part = cells_of(config_of(**SMALL, window="40,20,100,80"))
    assert part.shape == (4, 5)
    assert np.array_equal(part.centre, whole.centre[1:5, 2:7])
    assert part.centre_of(0, 0) == whole.centre_of(1, 2)
    coarse = cells_of(config_of(rows=30, columns=40, pixel=5.0))
    assert (coarse.shape, coarse.size) == ((7, 10), (20.0, 20.0))
    with pytest.raises(InvalidInputError, match="synthetic Mars, seed 0: the window 0,0,161,1"):
        cells_of(config_of(**SMALL, window="0,0,161,1"))


def test_the_sample_terrain_is_on_every_machine() -> None:
    cells = cells_of(config_of(terrain="sample", window="10,10,30,20"))
    assert cells.shape == (20, 30)
    assert "Jacksboro" in cells.name


def test_a_raster_is_read_again_when_it_was_written_to(relief: RoverConfig) -> None:
    before = cells_of(relief)
    assert cells_of(relief.model_copy(update={"seed": 5, "delta": 0.5})) is before
    heights = write_relief(_path(relief), seed=1)
    after = cells_of(relief)
    assert after.centre[0, 0] == heights[0, 0] != before.centre[0, 0]


def _path(config: RoverConfig) -> Path:
    from pathlib import Path

    return Path(config.terrain)


def test_what_is_settled_names_the_whole_path_the_cells_and_the_start(
    relief: RoverConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _path(relief)
    monkeypatch.chdir(path.parent)
    settled = settle(relief.model_copy(update={"terrain": path.name}))
    assert settled.terrain == str(path)
    assert settled.terrain_sha256 == digest_of(cells_of(relief))
    belief = prior_of(relief)
    assert settled.start == divmod(landing_site(belief), 12)
    assert settle(settled) == settled


@pytest.mark.parametrize("change", [{"cell": 40.0}, {"blur": 30.0}, {"error": 0.5}])
def test_other_cells_have_another_digest(relief: RoverConfig, change: dict[str, Any]) -> None:
    other = relief.model_copy(update=change)
    assert digest_of(cells_of(other)) != digest_of(cells_of(relief))


def test_a_raster_that_has_changed_is_refused_on_resuming(
    tmp_path: Path, relief: RoverConfig
) -> None:
    run = Run.create(tmp_path / "run", "rover", relief.model_copy(update={"limit": 3}))
    steps = run.steps()
    next(steps)
    steps.close()
    write_relief(tmp_path / "relief.npy", seed=1)
    log = (tmp_path / "run/steps.jsonl").read_bytes()
    with pytest.raises(InvalidFileError, match=r"relief\.npy: the terrain has changed"):
        run.resume()
    assert (tmp_path / "run/steps.jsonl").read_bytes() == log
    write_relief(tmp_path / "relief.npy")
    assert run.resume() is End.STEPS


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ((9, 0), "row 9 and column 0, is off the map of 9 rows and 12 columns"),
        ((0, 12), "row 0 and column 12, is off the map of 9 rows and 12 columns"),
        ((2, 3), "row 2 and column 3, is blocked: the terrain has no data there"),
    ],
)
def test_a_start_that_is_none_is_refused_before_anything_is_written(
    tmp_path: Path, relief: RoverConfig, start: tuple[int, int], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Run.create(tmp_path / "run", "rover", relief.model_copy(update={"start": start}))
    assert [p.name for p in tmp_path.iterdir()] == ["relief.npy"]


def test_a_start_is_counted_in_rows_and_columns(relief: RoverConfig) -> None:
    there = relief.model_copy(update={"start": (4, 7)})
    assert start_of(there, prior_of(there)) == 4 * 12 + 7
    assert make(there).world.state == 4 * 12 + 7


def test_a_landing_site_is_in_the_largest_part_that_can_be_roamed() -> None:
    # A step of 10 m can't be gone either way between columns 2 and 3 of 7; nearest to the middle
    # of the map in the larger part is column 3.
    height = np.where(np.arange(7) < 3, 0.0, 50.0) * np.ones((3, 1))
    belief = TerrainBelief((3, 7), height.ravel(), np.full(21, 1e-6))
    assert landing_site(belief) == 1 * 7 + 3
    pit = height.copy()
    pit[1, 3] = 30.0  # down there it is too steep to come back
    assert landing_site(TerrainBelief((3, 7), pit.ravel(), np.full(21, 1e-6))) == 0 * 7 + 3
    blocked = np.zeros(21, dtype=bool)
    blocked[10] = True
    belief = TerrainBelief((3, 7), height.ravel(), np.full(21, 1e-6), blocked=blocked)
    assert landing_site(belief) == 0 * 7 + 3


def test_of_parts_of_the_same_size_the_landing_site_is_in_the_one_nearest_to_the_middle() -> None:
    # Columns 0 and 1, 3 and 4, 6 and 7 of 8 can be roamed; 2 and 5 are pits, each cell for itself.
    ground = np.array([0.0, 0.0, -90.0, 50.0, 50.0, -90.0, 0.0, 0.0])
    belief = TerrainBelief((1, 8), ground, np.full(8, 1e-6))
    assert landing_site(belief) == 3


def test_each_explorer_has_its_criteria_and_its_correction(relief: RoverConfig) -> None:
    def planner(**change: Any) -> Any:
        return make(relief.model_copy(update=change)).planner

    safe = planner(delta=0.9, home="start")
    assert list(safe.criteria) == [ReturnHome(0.9, "start")]
    assert (safe.correction, safe.discount) == (Correction.MOVES, 0.999)
    assert planner(correction="general").correction is Correction.GENERAL
    naive = planner(explorer="naive")
    assert (list(naive.criteria), naive.correction) == ([ReturnHome(0.98)], Correction.NAIVE)
    assert list(planner(explorer="unsafe").criteria) == []


def test_the_rover_has_the_vehicle_the_sensor_and_the_truth_that_are_asked_for(
    relief: RoverConfig,
) -> None:
    change = {"climb": 12.0, "descend": 30.0, "sensor_range": 50.0, "sensor_noise": 1e-4}
    setup = make(relief.model_copy(update=change | {"sensor_offset": 2.0, "limit": 7, "seed": 3}))
    world, belief = setup.world, setup.belief
    assert isinstance(world, Rover)
    assert isinstance(belief, TerrainBelief)
    assert (belief.climb, belief.descend, belief.size) == (12.0, 30.0, (20.0, 20.0))
    sensor = world.sensor
    assert (sensor.range, sensor.noise, sensor.offset) == (50.0, 1e-4, 2.0)
    assert setup.planner.bonus == type(setup.planner.bonus)(sensor)  # type: ignore[call-arg]
    assert setup.limit == 7
    cells = cells_of(relief)
    assert world.blocked.tolist() == cells.blocked.ravel().tolist()
    expected = true_heights(cells.centre, float(relief.error), 3)
    assert np.array_equal(world.truth, expected)
    drawn: Any = make(relief.model_copy(update={"truth": "prior"})).world
    assert not np.array_equal(drawn.truth, make(relief).world.truth)  # type: ignore[attr-defined]


@pytest.mark.parametrize("algorithm", ["rate", "paper"])
def test_a_run_that_is_left_and_taken_up_goes_the_same_way(tmp_path: Path, algorithm: str) -> None:
    asked: dict[str, Any] = {
        "limit": 2 * SPACING + 7,
        "sensor_range": 60.0,
        "delta": 0.8,
        "floor": 1e-9,
    }
    if algorithm == "paper":
        asked = {**asked, "floor": None, "home": "current"}
    config = config_of(**SMALL | asked | {"algorithm": algorithm})
    whole, parts = (Run.create(tmp_path / name, "rover", config) for name in ("whole", "parts"))
    whole.resume()
    for stop in (3, SPACING - 1, SPACING, SPACING + 20):
        steps = parts.steps()
        for step in steps:
            if step.number == stop:
                break
        steps.close()
    parts.resume()
    log = (tmp_path / "whole/steps.jsonl").read_bytes()
    assert (tmp_path / "parts/steps.jsonl").read_bytes() == log
    seeded = [r.step for r in whole.records() if r.seeds is not None]
    assert seeded == ([SPACING, 2 * SPACING] if algorithm == "paper" else [])
    assert all(isinstance(record.observation, Digest) for record in whole.trajectory())
    for name, field in whole.fields().items():
        assert np.array_equal(field, parts.fields()[name])
    assert whole.fields()["deviation"].shape == cells_of(config).shape


def test_a_log_stays_small_however_much_is_measured(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", "rover", config_of(**SMALL | {"rows": 600, "columns": 800}))
    run.resume()
    steps = len(run.trajectory())
    assert steps > 0
    assert len((tmp_path / "run/steps.jsonl").read_bytes()) < 600 * steps


AREA = [[[[40.0, 20.0], [200.0, 20.0], [200.0, 160.0], [40.0, 160.0], [40.0, 20.0]]]]
"""Of a relief of 9 x 12 cells of 20 m: rows 1 to 7, columns 2 to 9."""


def write_area(path: Path, area: Any = AREA) -> Path:
    path.write_text(json.dumps({"type": "MultiPolygon", "coordinates": area}))
    return path


def test_the_area_is_pinned_and_its_file_may_change(tmp_path: Path, relief: RoverConfig) -> None:
    path = write_area(tmp_path / "area.geojson")
    config = settle(relief.model_copy(update={"keep_in": str(path)}))
    assert json.loads(config.model_dump_json())["keep_in"] == AREA
    inside = inside_of(config)
    assert inside is not None
    expected = np.zeros((9, 12), dtype=bool)
    expected[1:8, 2:10] = True
    assert np.array_equal(inside.reshape(9, 12), expected)
    path.unlink()
    assert settle(config) == config
    assert make(config).planner.criteria[1].allowed.sum() == 56  # type: ignore[attr-defined]


def test_a_run_takes_its_area_from_its_own_configuration(
    tmp_path: Path, relief: RoverConfig
) -> None:
    path = write_area(tmp_path / "area.geojson")
    asked = {"keep_in": str(path), "limit": 2}
    run = Run.create(tmp_path / "run", "rover", relief.model_copy(update=asked))
    assert run.config["keep_in"] == AREA
    path.write_text("nothing")
    assert run.resume()


def test_a_site_is_looked_for_in_the_area(relief: RoverConfig) -> None:
    belief = prior_of(relief)
    corner = np.zeros(108, dtype=bool)
    corner[[0, 1, 12]] = True
    assert landing_site(belief, corner) in (0, 1, 12)
    hole = np.zeros(108, dtype=bool)
    hole[2 * 12 + 3] = True
    with pytest.raises(InvalidInputError, match="the area to keep in has no cell with data"):
        landing_site(belief, hole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"keep_in": AREA, "start": (0, 0)},
            "the start, row 0 and column 0, is outside the area to keep in",
        ),
        ({"bases": ((2, 3),)}, "a base, row 2 and column 3, is blocked: the terrain has no data"),
        ({"bases": ((9, 3),)}, "a base, row 9 and column 3, is off the map of 9 rows"),
        (
            {"keep_in": ((((1000.0, 0.0), (1100.0, 0.0), (1000.0, 9.0), (1000.0, 0.0)),),)},
            "off the map",
        ),
        ({"keep_in": ((((1.0, 1.0), (3.0, 1.0), (1.0, 3.0), (1.0, 1.0)),),)}, "is empty: no cell"),
        ({"keep_in": ((((1.0, 1.0), (3.0, 1.0), (1.0, 3.0)),),)}, "the area to keep in: ring 1 of"),
        ({"keep_in": ()}, "the area to keep in: it contains no polygon"),
    ],
)
def test_a_place_that_can_not_be_is_named(
    relief: RoverConfig, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        settle(relief.model_copy(update=change))


def test_an_area_off_the_map_names_its_file(tmp_path: Path, relief: RoverConfig) -> None:
    away = [[[[x + 1e4, y] for x, y in AREA[0][0]]]]
    path = write_area(tmp_path / "away.geojson", away)
    with pytest.raises(InvalidFileError, match=r"away.geojson: the area to keep in is off the map"):
        settle(relief.model_copy(update={"keep_in": str(path)}))


def test_what_can_not_be_kept_from_the_start_is_refused(relief: RoverConfig) -> None:
    start = settle(relief).start
    assert start is not None
    far = {"bases": ((start[0], (start[1] + 6) % 12),), "back_within": 1, "start": start}
    with pytest.raises(InvalidProblemError, match="from the start no policy meets “return to base"):
        settle(relief.model_copy(update={**far, "algorithm": "paper"}))
    with pytest.raises(
        InvalidProblemError, match="from the start no return policy meets “return to base"
    ):
        settle(relief.model_copy(update=far))


@pytest.mark.parametrize("more", [{}, {"algorithm": "paper"}, {"algorithm": "paper", "recall": 6}])
def test_a_run_with_all_that_can_be_asked_resumes_to_the_same_way(
    tmp_path: Path, relief: RoverConfig, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
) -> None:
    monkeypatch.setitem(kind._KINDS, "rover", replace(ROVER, spacing=2))
    plain = {**relief.model_dump(mode="json"), "keep_in": AREA, "sensor_range": 45.0}
    start = settle(config_of(**plain)).start
    asked = {"back_within": 6, "bases": [start], "delta": 0.9, "limit": 7}
    config = config_of(**{**plain, **asked, **more})
    whole, parts = (Run.create(tmp_path / name, "rover", config) for name in ("whole", "parts"))
    whole.resume()
    while True:
        steps = parts.steps()
        if next(steps, None) is None:
            break
        steps.close()
    one, other = ((run.directory / "steps.jsonl").read_bytes() for run in (whole, parts))
    assert one == other
    assert len(list(whole.records())) > 3
    seeds = [r.seeds for r in whole.records() if r.seeds is not None]
    fixed = "recall" in more
    assert bool(seeds) == bool(more)
    assert all(("afterwards" in s) == (not fixed) for s in seeds)
    assert all(len(s["shape"]) == (3 if fixed else 2) for s in seeds)
    names = ("path.geojson", "keep_in.geojson", "terrain.tif")
    for name in names:
        assert (whole.directory / name).read_bytes() == (parts.directory / name).read_bytes()


def test_a_cell_below_the_pixel_size_is_refused_with_both_sizes(tmp_path: Path) -> None:
    np.save(tmp_path / "flat.npy", np.zeros((30, 40)))
    config = {"terrain": str(tmp_path / "flat.npy"), "pixel": 10.0, "limit": 0}
    with pytest.raises(InvalidInputError, match=r"a cell of 4 m is smaller .* 10 x 10 m"):
        Run.create(tmp_path / "small", "rover", {**config, "cell": 4.0})
    Run.create(tmp_path / "whole", "rover", {**config, "cell": 9.9})
    coarse = {**config, "pixel": 30.0}
    with pytest.raises(InvalidInputError, match=r"a cell of 20 m is smaller .* 30 x 30 m"):
        Run.create(tmp_path / "default", "rover", {**coarse, "cell": 20.0})
    assert Run.create(tmp_path / "pixels", "rover", coarse).config["cell"] == 30.0


def test_a_slope_on_driven_ground_errs_as_its_heights_do() -> None:
    config = RoverConfig(terrain="sample", cell=100.0, error=0.25, error_length=500.0)
    crossings = crossings_of(config)
    assert crossings is not None
    base = crossings.vehicle.wheelbase
    variance = 0.25 * np.exp(-0.5 * np.subtract.outer([0.0, base], [0.0, base]) ** 2 / 500.0**2)
    draws = np.random.default_rng(0).multivariate_normal([0.0, 0.0], variance, 100_000)
    slopes = np.degrees(np.arctan((draws[:, 1] - draws[:, 0]) / base))
    assert slope_deviation(config) == pytest.approx(slopes.std(), rel=0.02)
    kernel = Matern(0.25, 200.0)
    rise = math.sqrt(2.0 * (kernel.variance - float(kernel.covariance(base))))
    expected = math.degrees(math.atan(rise / base))
    assert slope_deviation(config, kernel) == pytest.approx(expected)
    assert expected != pytest.approx(slopes.std(), rel=0.1)
