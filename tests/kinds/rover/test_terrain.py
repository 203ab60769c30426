"""Files that close or qualify the ground: obstacles, areas to keep out of, errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import rasterio
from tests.terrain.planetary import write_raster

from homeward.errors import InvalidFileError, InvalidInputError
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import cells_of, settle
from homeward.kinds.rover.terrain import crossings_of, pinned
from homeward.runs import Run

if TYPE_CHECKING:
    from pathlib import Path

SHAPE = (40, 60)
"""Pixels of 1 m; the first corner is at (500, 900)."""


@pytest.fixture
def ground(tmp_path: Path) -> RoverConfig:
    """Return a configuration on gentle ground of 8 x 12 cells."""
    rows, columns = np.indices(SHAPE)
    write_raster(tmp_path / "ground.tif", np.sin(rows / 9) + 0.05 * columns)
    terrain = str(tmp_path / "ground.tif")
    return RoverConfig(terrain=terrain, ground="driven", cell=5.0, error=1e-4, limit=4)


def with_(config: RoverConfig, **changes: Any) -> RoverConfig:
    return RoverConfig.model_validate({**config.model_dump(exclude_unset=True), **changes})


def polygon(path: Path, left: float, top: float, right: float, bottom: float) -> str:
    """Write a rectangle, given in pixels from the first corner, and return the file's name."""
    x, y = (500.0 + left, 500.0 + right), (900.0 - top, 900.0 - bottom)
    ring = [[x[0], y[0]], [x[1], y[0]], [x[1], y[1]], [x[0], y[1]], [x[0], y[0]]]
    path.write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    return str(path)


def raster(path: Path, values: Any, **more: Any) -> str:
    write_raster(path, np.asarray(values), **more)
    return str(path)


def test_no_way_touches_a_pixel_that_an_obstacle_touches(
    tmp_path: Path, ground: RoverConfig
) -> None:
    wall = polygon(tmp_path / "wall.geojson", 22.4, 0.0, 22.6, 30.0)  # between pixel centres
    crossings = crossings_of(with_(ground, obstacles=wall))
    assert crossings is not None
    assert np.isnan(crossings.heights[:30, 22]).all()
    assert np.isfinite(crossings.heights[31:]).all()
    free = crossings_of(ground)
    assert free is not None
    assert np.isfinite(free.up[4, 3])
    assert np.isfinite(crossings.up[7 * 12 + 3, 3])
    assert not np.isfinite(crossings.up[[3, 4], 3]).all()  # from left of the wall to its right


def test_a_raster_and_polygons_close_the_same_pixels(tmp_path: Path, ground: RoverConfig) -> None:
    mask = np.zeros(SHAPE, np.uint8)
    mask[5:10, 20:30] = 7
    files = (
        raster(tmp_path / "mask.tif", mask, nodata=0),
        polygon(tmp_path / "mask.geojson", 20.1, 5.1, 29.9, 9.9),
    )
    for file in files:
        found = pinned(with_(ground, obstacles=file)).obstacles
        np.testing.assert_array_equal(found, mask != 0)


def test_on_paper_ground_a_cell_with_an_obstacle_is_blocked(
    tmp_path: Path, ground: RoverConfig
) -> None:
    stone = polygon(tmp_path / "stone.geojson", 21.0, 6.0, 21.2, 6.2)
    paper = RoverConfig(terrain=ground.terrain, ground="paper", cell=5.0, obstacles=stone)
    assert np.argwhere(cells_of(paper).blocked).tolist() == [[1, 4]]


def test_obstacles_that_changed_are_refused(tmp_path: Path, ground: RoverConfig) -> None:
    mask = np.zeros(SHAPE, np.uint8)
    mask[7, 22] = 1
    file = raster(tmp_path / "mask.tif", mask)
    run = Run.create(tmp_path / "run", "rover", with_(ground, obstacles=file))
    assert run.config["obstacles"] == str((tmp_path / "mask.tif").absolute())
    mask[7, 23] = 1
    raster(tmp_path / "mask.tif", mask)
    with pytest.raises(InvalidFileError, match=r"ground.tif or .*mask.tif: the terrain has cha"):
        run.resume()


@pytest.mark.parametrize(
    ("name", "shape", "more", "message"),
    [
        ("a.tif", (30, 60), {}, r"has 30 x 60 pixels from .* has 40 x 60 .*: gdalwarp .*-ts 60 40"),
        ("a.tif", SHAPE, {"crs": "EPSG:32633"}, r"in WGS 84 / UTM zone 33N, but .* gdalwarp"),
    ],
)
def test_obstacles_on_another_grid_are_refused_with_the_command(
    tmp_path: Path,
    ground: RoverConfig,
    name: str,
    shape: tuple[int, int],
    more: dict[str, Any],
    message: str,
) -> None:
    file = raster(tmp_path / name, np.zeros(shape, np.uint8), **more)
    with pytest.raises(InvalidFileError, match=message):
        settle(with_(ground, obstacles=file))


def test_an_array_of_obstacles_has_as_many_pixels(tmp_path: Path, ground: RoverConfig) -> None:
    np.save(tmp_path / "mask.npy", np.zeros((4, 6)))
    with pytest.raises(InvalidFileError, match="has 4 x 6 pixels and no place on the map"):
        settle(with_(ground, obstacles=str(tmp_path / "mask.npy")))


def test_obstacles_off_the_map_are_refused(tmp_path: Path, ground: RoverConfig) -> None:
    file = polygon(tmp_path / "far.geojson", 500.0, 0.0, 510.0, 10.0)
    with pytest.raises(InvalidInputError, match=r"far.geojson: the obstacles are off the map"):
        settle(with_(ground, obstacles=file))


def test_the_area_to_keep_out_of_is_pinned_written_and_never_touched(
    tmp_path: Path, ground: RoverConfig
) -> None:
    file = polygon(tmp_path / "out.geojson", 20.0, 0.0, 30.0, 32.0)
    run = Run.create(tmp_path / "run", "rover", with_(ground, keep_out=file, start=(0, 0)))
    (tmp_path / "out.geojson").unlink()
    run.resume()
    crossings = crossings_of(RoverConfig.model_validate_json(json.dumps(run.config)))
    assert crossings is not None
    assert np.isnan(crossings.heights[:32, 20:30]).all()
    written = json.loads((run.directory / "keep_out.geojson").read_text())
    assert written["properties"] == {"part": "keep out"}
    assert json.loads(json.dumps(run.config["keep_out"])) == written["geometry"]["coordinates"]
    text = (run.directory / "summary.md").read_text()
    assert "- Kept out of: 320 of 2,400 pixels, which no wheel touches." in text
    assert f"--keep-out {run.directory / 'keep_out.geojson'}" in text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"start": (1, 5)}, "the start, row 1 and column 5, is blocked by the area to keep out of"),
        ({"bases": ((1, 5),)}, "a base, row 1 and column 5, is blocked by the area to keep out of"),
        ({"keep_out": ()}, "the area to keep out of: it contains no polygon"),
        ({"keep_out": "gone.geojson"}, "gone.geojson: can't be read"),
    ],
)
def test_what_the_area_to_keep_out_of_forbids_is_named(
    tmp_path: Path, ground: RoverConfig, more: dict[str, Any], message: str
) -> None:
    file = polygon(tmp_path / "out.geojson", 20.0, 0.0, 30.0, 32.0)
    with pytest.raises(InvalidInputError, match=message):
        settle(with_(ground, **{"keep_out": file, **more}))


@pytest.mark.parametrize("rule", ["driven", "paper"])
def test_a_raster_of_errors_gives_each_cell_its_variance(
    tmp_path: Path, ground: RoverConfig, rule: str
) -> None:
    deviation = np.where(np.arange(60) < 30, 0.01, 0.02) * np.ones(SHAPE)
    file = raster(tmp_path / "error.tif", deviation)
    config = RoverConfig.model_validate(
        {"terrain": ground.terrain, "ground": rule, "cell": 5.0, "error": file}
    )
    even = cells_of(config.model_copy(update={"error": 1e-4})).variance
    added = cells_of(config).variance - even + 1e-4
    np.testing.assert_allclose(added, np.where(np.arange(12) < 6, 1e-4, 4e-4) * np.ones((8, 12)))
    np.testing.assert_allclose(pinned(config).error, added.ravel())
    settled = settle(config)
    raster(tmp_path / "error.tif", 2.0 * deviation)
    with pytest.raises(InvalidFileError, match=r"error.tif: the terrain has changed"):
        cells_of(settled)


@pytest.mark.parametrize(
    ("value", "said"),
    [(-0.5, "has -0.5 m"), (np.nan, "has no standard deviation"), (0.0, "has 0 m")],
)
def test_an_error_that_is_no_deviation_is_named_with_its_place(
    tmp_path: Path, ground: RoverConfig, value: float, said: str
) -> None:
    deviation = np.full(SHAPE, 0.1)
    deviation[3, 7] = value
    file = raster(tmp_path / "error.tif", deviation)
    place = "at row 3, column 7 of the ground to explore, at x = 507.5, y = 896.5"
    with pytest.raises(InvalidFileError, match=rf"error.tif: {said} {place}"):
        settle(with_(ground, error=file))


def test_an_error_that_does_not_cover_the_map_is_refused(
    tmp_path: Path, ground: RoverConfig
) -> None:
    file = raster(tmp_path / "error.tif", np.full((30, 60), 0.1))
    with pytest.raises(InvalidFileError, match=r"error.tif: has 30 x 60 .* -r bilinear"):
        settle(with_(ground, error=file))


def test_an_error_may_be_a_number_as_text() -> None:
    assert RoverConfig.model_validate({"error": "0.25"}).error == 0.25
    with pytest.raises(ValueError, match="the variance is -1 m², expected 1e-12 to 1e"):
        RoverConfig.model_validate({"error": -1.0})


def test_heights_in_feet_become_metres_and_the_summary_says_so(
    tmp_path: Path, ground: RoverConfig
) -> None:
    metres = cells_of(ground).mean
    for unit, text in (("ft", "ft"), (0.3048, "units of 0.3048 m")):
        feet = with_(ground, height_unit=unit)
        np.testing.assert_allclose(cells_of(feet).mean, 0.3048 * metres)
        run = Run.create(tmp_path / f"run {unit}", "rover", feet)
        run.resume()
        summary = (run.directory / "summary.md").read_text()
        assert f"- Heights: taken for {text}, as given; the raster names no unit." in summary
        assert f"--height-unit {unit}" in summary


def test_a_unit_that_the_raster_contradicts_or_that_is_none_is_refused(
    ground: RoverConfig,
) -> None:
    with rasterio.open(ground.terrain, "r+") as file:
        file.units = ("m",)
    assert settle(with_(ground, height_unit="m")).height_unit == "m"
    with pytest.raises(InvalidInputError, match=r"ground.tif: names 'm' as the unit of its height"):
        settle(with_(ground, height_unit="ft"))
    for unit, message in (("yd", "'yd' is not m, ft, or"), (0.0, "the unit of heights is 0 m")):
        with pytest.raises(ValueError, match=message):
            with_(ground, height_unit=unit)
    with pytest.raises(ValueError, match="height_unit is for rasters only"):
        RoverConfig.model_validate({"height_unit": "ft"})


@pytest.mark.parametrize(
    ("crs", "corner", "factor"),
    [
        ("EPSG:3857", (1_000_000.0, 6_000_000.0), "1.47 to 1.48"),  # Web Mercator near 47° north
        ("ESRI:54001", (1_000_000.0, 6_700_000.0), "0.999 to 2.01"),  # plate carrée near 60° north
    ],
)
def test_a_map_that_stretches_is_refused_with_the_way_to_reproject(
    tmp_path: Path, crs: str, corner: tuple[float, float], factor: str
) -> None:
    x, y = corner
    there = rasterio.Affine(1.0, 0.0, x, 0.0, -1.0, y)
    write_raster(tmp_path / "far.tif", np.zeros((20, 20)), crs=crs, transform=there)
    config = RoverConfig(terrain=str(tmp_path / "far.tif"), cell=5.0)
    with pytest.raises(InvalidFileError, match=rf"{factor} times those .*gdalwarp .*\+proj=stere"):
        settle(config)


def test_a_map_that_is_true_where_it_is_used_is_taken(tmp_path: Path) -> None:
    there = rasterio.Affine(1.0, 0.0, 500_000.0, 0.0, -1.0, 6_700_000.0)
    write_raster(tmp_path / "utm.tif", np.zeros((20, 20)), crs="EPSG:32633", transform=there)
    assert settle(RoverConfig(terrain=str(tmp_path / "utm.tif"), cell=5.0)).start is not None


def test_too_many_cells_are_refused_before_they_are_in_memory(tmp_path: Path) -> None:
    with rasterio.open(
        tmp_path / "large.tif",
        "w",
        driver="GTiff",
        height=20_000,
        width=20_000,
        count=1,
        dtype="uint8",
        sparse_ok=True,
        transform=rasterio.Affine(1.0, 0.0, 0.0, 0.0, -1.0, 20_000.0),
    ):
        pass
    config = RoverConfig(terrain=str(tmp_path / "large.tif"), cell=1.0)
    message = r"large.tif: cells of 1 m would be 20,000 x 20,000, more than the 10,000,000"
    with pytest.raises(InvalidInputError, match=message):
        settle(config)
    mars = RoverConfig(rows=20_000, columns=20_000, cell=1.0)
    with pytest.raises(InvalidInputError, match=r"mars: cells of 1 m would be 20,000 x 20,000"):
        settle(mars)


def test_a_window_takes_its_part_of_the_obstacles(tmp_path: Path, ground: RoverConfig) -> None:
    mask = np.zeros(SHAPE, np.uint8)
    mask[12, 34] = 1
    file = raster(tmp_path / "mask.tif", mask)
    found = pinned(with_(ground, obstacles=file, window="30,10,20,20")).obstacles
    assert np.argwhere(np.asarray(found)).tolist() == [[2, 4]]
