from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rasterio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.terrain.planetary import write_raster

from homeward.errors import InvalidFileError, InvalidInputError, MissingPixelSizeError
from homeward.terrain import MapWindow, PixelWindow, read_elevation, reading, sample_terrain


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a raster of 60 x 90 pixels with holes, in blocks that windows cut."""
    heights = np.random.default_rng(0).normal(-4000, 50, (60, 90)).astype(np.float32)
    heights[heights > -3950] = -1.0
    path = tmp_path_factory.mktemp("ground") / "ground.tif"
    write_raster(path, heights, nodata=-1.0, tiled=True, blockxsize=16, blockysize=16)
    return path


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_window_is_a_slice_of_the_whole(ground: Path, data: st.DataObject) -> None:
    column, row = data.draw(st.integers(0, 80)), data.draw(st.integers(0, 50))
    width, height = data.draw(st.integers(4, 90 - column)), data.draw(st.integers(4, 60 - row))
    whole = read_elevation(ground)
    part = read_elevation(ground, window=PixelWindow(column, row, width, height))
    expected = whole.heights[row : row + height, column : column + width]
    np.testing.assert_array_equal(part.heights, expected)
    a, b, c, d, e, f = whole.transform
    assert part.transform == (a, b, c + column, d, e, f - row)


def test_reading_in_strips_is_reading_at_once(
    ground: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read_elevation(ground, window=PixelWindow(1, 7, 80, 50)).heights
    monkeypatch.setattr("homeward.terrain.gdal.STRIP_PIXELS", 100)
    strips = read_elevation(ground, window=PixelWindow(1, 7, 80, 50)).heights
    np.testing.assert_array_equal(strips, whole)


def test_a_window_in_map_coordinates_reads_what_lies_there(ground: Path) -> None:
    part = read_elevation(ground, window=MapWindow(510, 860, 530, 890))
    whole = read_elevation(ground)
    np.testing.assert_array_equal(part.heights, whole.heights[10:40, 10:30])
    assert part.transform[2::3] == (510.0, 890.0)


def test_a_window_off_the_raster_names_the_file(ground: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"ground.tif: the window 80,0,20,5 covers columns"):
        read_elevation(ground, window=PixelWindow(80, 0, 20, 5))


def test_a_raster_too_large_to_read_at_once_asks_for_a_window(
    ground: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_PIXELS", 5399)
    with pytest.raises(
        InvalidFileError, match=r"90 x 60 pixels are too many.*give a smaller window"
    ):
        read_elevation(ground)
    assert read_elevation(ground, window=PixelWindow(0, 0, 90, 59)).shape == (59, 90)


def test_a_window_of_a_huge_raster_takes_little_memory(tmp_path: Path) -> None:
    side, row, column = 23_000, 20_000, 11_000
    image = tmp_path / "huge.img"
    with open(image, "wb") as file:  # sparse: no disk behind the zeros
        file.truncate(side * side * 4)
        file.seek((row * side + column) * 4)
        file.write(np.float32(-4321.5).tobytes())
    (tmp_path / "huge.hdr").write_text(
        f"ENVI\nsamples = {side}\nlines = {side}\nbands = 1\nheader offset = 0\ndata type = 4\n"
        "interleave = bsq\nbyte order = 0\n"
        "map info = {Arbitrary, 1, 1, 0, 0, 1, 1, 0, units=Meters}"
    )
    assert image.stat().st_size > 2_000_000_000
    script = (
        "import sys\n"
        "from homeward.terrain import PixelWindow, read_elevation\n"
        f"part = read_elevation(sys.argv[1], window=PixelWindow({column}, {row}, 1000, 2000))\n"
        "print(part.heights[0, 0], part.heights.sum())\n"
        # Of this program alone; ru_maxrss begins with what the process that starts it has.
        "status = open('/proc/self/status').read()\n"
        "print(status.partition('VmHWM:')[2].split()[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, image], capture_output=True, text=True, check=True
    )
    first, total, peak = (float(word) for word in done.stdout.split())
    assert (first, total) == (-4321.5, -4321.5)
    assert peak * 1024 < 500_000_000


def test_an_array_needs_a_pixel_size_and_lies_in_a_plane_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "heights.npy"
    np.save(path, np.arange(12, dtype=np.int16).reshape(3, 4))
    terrain = read_elevation(path, pixel=2.5)
    np.testing.assert_array_equal(terrain.heights, np.arange(12.0).reshape(3, 4))
    assert terrain.transform == (2.5, 0.0, 0.0, 0.0, -2.5, 7.5)
    assert (terrain.crs, terrain.name, terrain.pixel) == (None, "heights.npy", (2.5, 2.5))
    part = read_elevation(path, pixel=2.5, window=PixelWindow(1, 2, 3, 1))
    np.testing.assert_array_equal(part.heights, [[9.0, 10.0, 11.0]])
    assert part.transform == (2.5, 0.0, 2.5, 0.0, -2.5, 2.5)


def test_an_array_may_have_holes(tmp_path: Path) -> None:
    path = tmp_path / "heights.npy"
    np.save(path, np.array([[1.0, np.nan, np.inf], [-9999.0, -3.4e38, 2.0]], np.float32))
    heights = read_elevation(path, pixel=1).heights
    np.testing.assert_array_equal(heights, [[1, np.nan, np.nan], [np.nan, np.nan, 2]])


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(4), r"has shape \(4,\)"),
        (np.zeros((2, 2, 2)), r"has shape \(2, 2, 2\)"),
        (np.zeros((0, 3)), r"has shape \(0, 3\)"),
        (np.zeros((2, 2), complex), "holds complex128"),
        (np.zeros((2, 2), bool), "holds bool"),
        (np.array([["a", "b"]]), "holds <U1"),
        (np.array([[{}]], object), "Python objects"),
        (np.full((2, 2), np.nan), "has no data in the window 0,0,2,2"),
        (np.array([[0.0, 5e9]]), r"5e\+09 m at row 0, column 1 is not a height"),
    ],
)
def test_an_array_that_is_no_terrain_is_refused(
    tmp_path: Path, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]], words: str
) -> None:
    path = tmp_path / "bad.npy"
    np.save(path, array)
    with pytest.raises(InvalidFileError, match=rf"bad\.npy: .*{words}"):
        read_elevation(path, pixel=1.0)


@pytest.mark.parametrize("data", [b"", b"no array at all", b"\x93NUMPY\x01\x00"])
def test_a_file_that_only_calls_itself_an_array_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bad.npy"
    path.write_bytes(data)
    with pytest.raises(InvalidFileError, match=r"bad\.npy: is not a NumPy array"):
        read_elevation(path, pixel=1.0)


def test_an_array_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.npy"
    np.save(path, np.zeros((50, 50)))
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(InvalidFileError, match=r"bad\.npy: is not a NumPy array"):
        read_elevation(path, pixel=1.0)


def test_an_array_has_one_band(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 2)))
    with pytest.raises(InvalidFileError, match=r"a\.npy: has no band 2"):
        read_elevation(tmp_path / "a.npy", pixel=1.0, band=2)


@pytest.mark.parametrize("pixel", [0.0, -1.0, np.inf, np.nan, "wide"])
def test_a_pixel_size_that_is_none_is_refused(tmp_path: Path, pixel: float) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 2)))
    with pytest.raises(InvalidInputError, match="the pixel size is"):
        read_elevation(tmp_path / "a.npy", pixel=pixel)


def test_an_array_without_a_pixel_size_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 2)))
    with pytest.raises(MissingPixelSizeError, match=r"a\.npy"):
        read_elevation(tmp_path / "a.npy")


def test_a_pixel_size_beside_the_raster_s_own_is_refused(ground: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"ground\.tif: has its own pixel size"):
        read_elevation(ground, pixel=1.0)


def test_a_raster_without_a_place_takes_a_pixel_size(tmp_path: Path) -> None:
    path = tmp_path / "bare.asc.tif"
    with pytest.warns(rasterio.errors.NotGeoreferencedWarning):
        write_raster(path, np.ones((2, 3), np.float32), crs=None, transform=None)
    assert read_elevation(path, pixel=4.0).transform == (4.0, 0.0, 0.0, 0.0, -4.0, 8.0)
    with pytest.raises(MissingPixelSizeError):
        read_elevation(path)


@pytest.mark.parametrize(("across", "down"), [(2.0, -2.0), (2.0, 2.0), (-2.0, -2.0), (-2.0, 2.0)])
def test_a_raster_comes_back_with_north_up(tmp_path: Path, across: float, down: float) -> None:
    path = tmp_path / "a.tif"
    heights = np.arange(12, dtype=np.float32).reshape(3, 4)
    write_raster(path, heights, transform=rasterio.Affine(across, 0.0, 40.0, 0.0, down, 60.0))
    terrain = read_elevation(path)
    a, _, c, _, e, f = terrain.transform
    assert a > 0 > e
    for row, column in np.ndindex(3, 4):
        x, y = c + a * (column + 0.5), f + e * (row + 0.5)
        assert terrain.heights[row, column] == heights[int((y - 60) / down), int((x - 40) / across)]


def test_a_turned_raster_keeps_its_place_and_the_size_of_its_pixels(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    turned = (1.6, 2.4, 5.0, 1.2, -3.2, 6.0)
    heights = np.arange(12, dtype=np.float32).reshape(3, 4)
    write_raster(path, heights, transform=rasterio.Affine(*turned))
    terrain = read_elevation(path)
    np.testing.assert_array_equal(terrain.heights, heights)
    assert terrain.transform == pytest.approx(turned)
    assert terrain.pixel == pytest.approx((4.0, 2.0))


def test_a_sheared_raster_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    placed = rasterio.Affine(1.0, 0.4, 0.0, 0.0, -1.0, 0.0)
    write_raster(path, np.ones((3, 4), np.float32), transform=placed)
    with pytest.raises(InvalidFileError, match=r"a\.tif: the transform .* is sheared"):
        read_elevation(path)


def test_a_raster_of_nodata_alone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    write_raster(path, np.full((3, 4), 7.0, np.float32), nodata=7.0)
    with pytest.raises(InvalidFileError, match=r"a\.tif: has no data"):
        read_elevation(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match=r"gone\.tif: can't be read: No such file"):
        read_elevation(tmp_path / "gone.tif")


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="is a directory, expected a raster file"):
        read_elevation(tmp_path)


def test_what_is_no_plain_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.tif")
    with pytest.raises(InvalidFileError, match=r"pipe\.tif: is not a plain file"):
        read_elevation(tmp_path / "pipe.tif")


def test_a_file_that_may_not_be_read_is_named(ground: Path, tmp_path: Path) -> None:
    path = tmp_path / "locked.npy"
    np.save(path, np.zeros((2, 2)))
    path.chmod(0)
    script = (
        "import os, sys\n"
        "import homeward.terrain.reading as reading\n"
        "if os.geteuid() == 0:\n"
        "    os.chdir(os.path.dirname(sys.argv[1])); os.setegid(65534); os.seteuid(65534)\n"
        "try:\n"
        "    reading.read_elevation(os.path.basename(sys.argv[1]), pixel=1.0)\n"
        "except reading.InvalidFileError as refusal:\n"
        "    print(refusal)\n"
    )
    tmp_path.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", script, path], capture_output=True, text=True, check=True
    )
    assert "locked.npy" in done.stdout
    assert "Permission denied" in done.stdout


REAL = Path(__file__).parents[2].parent / "shared" / "terrain"


@pytest.mark.skipif(not REAL.is_dir(), reason="no real terrain beside the project")
def test_gale_is_read_as_it_is() -> None:
    terrain = read_elevation(REAL / "gale_337x348_1m.tif")
    assert terrain.shape == (337, 348)
    assert terrain.pixel == (1.0, 1.0)
    assert terrain.crs is not None
    assert "Mars" in terrain.crs
    assert -4474 < np.nanmin(terrain.heights) < np.nanmax(terrain.heights) < -4437


@pytest.mark.skipif(not REAL.is_dir(), reason="no real terrain beside the project")
def test_the_crop_of_the_paper_s_site_is_read_as_it_is() -> None:
    terrain = read_elevation(REAL / "mars_dtm_120x70.npy", pixel=1.01)
    assert terrain.shape == (120, 70)
    assert 752 < np.nanmin(terrain.heights) < np.nanmax(terrain.heights) < 793


def test_the_sample_is_the_hills_around_jacksboro() -> None:
    terrain = sample_terrain()
    assert terrain.shape == (344, 403)
    assert (terrain.heights.min(), terrain.heights.max()) == (236.0, 1076.0)
    assert not np.isnan(terrain.heights).any()


def test_its_pixels_are_three_arc_seconds_in_metres() -> None:
    height, width = sample_terrain().pixel
    assert height == pytest.approx(6_371_000 * 2 * np.pi / 360 / 1200, rel=1e-6)
    assert width / height == pytest.approx(np.cos(np.radians(36.5896)), rel=1e-4)


def test_it_lies_with_its_south_west_corner_at_the_origin() -> None:
    terrain = sample_terrain()
    a, b, c, d, e, f = terrain.transform
    assert (b, c, d) == (0.0, 0.0, 0.0)
    assert f + e * 344 == pytest.approx(0.0, abs=1e-6)
    assert a > 0 > e
