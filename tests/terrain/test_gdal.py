from __future__ import annotations

import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import rasterio
from rasterio.warp import transform as to_other_crs
from tests.terrain.planetary import (
    MARS,
    MARS_DEGREES,
    SCALE,
    pds3_heights,
    pds3_label,
    write_attached,
    write_detached,
    write_raster,
)

from homeward.errors import InvalidFileError, MissingExtraError
from homeward.terrain import read_elevation
from homeward.terrain.gdal import FILLS, gdal_message, missing_mask

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from homeward.terrain import Elevation

FLAT = np.zeros((4, 5), np.float32)


def assert_is_the_hirise_model(terrain: Elevation) -> None:
    expected = pds3_heights().astype(np.float64)
    expected[3, 5] = expected[4, 6] = np.nan
    np.testing.assert_array_equal(terrain.heights, expected)
    assert terrain.pixel == (SCALE, SCALE)
    assert terrain.transform == pytest.approx((SCALE, 0, -203.01, 0, -SCALE, -101.0))
    assert terrain.crs is not None
    assert 'PROJECTION["Equirectangular"]' in terrain.crs
    assert "3396190" in terrain.crs
    assert 'PARAMETER["standard_parallel_1",-30]' in terrain.crs


def test_a_hirise_model_with_its_label_inside(tmp_path: Path) -> None:
    write_attached(tmp_path / "DTEEC.IMG")
    terrain = read_elevation(tmp_path / "DTEEC.IMG")
    assert_is_the_hirise_model(terrain)
    assert terrain.name == "DTEEC.IMG"


@pytest.mark.parametrize("suffix", [".LBL", ".lbl"])
def test_a_hirise_model_with_its_label_beside_it(tmp_path: Path, suffix: str) -> None:
    image, label = tmp_path / "DTEEC.IMG", tmp_path / f"DTEEC{suffix}"
    write_detached(image, label)
    assert_is_the_hirise_model(read_elevation(label))
    assert_is_the_hirise_model(read_elevation(image))


def test_a_pds4_image_is_found_by_its_label_and_beside_it(tmp_path: Path) -> None:
    heights = np.arange(20, dtype=np.float32).reshape(4, 5)
    write_raster(tmp_path / "a.xml", heights, driver="PDS4")
    image = next(path for path in tmp_path.iterdir() if path.suffix != ".xml")
    for path in (tmp_path / "a.xml", image):
        np.testing.assert_array_equal(read_elevation(path).heights, heights)


@pytest.mark.parametrize(
    ("driver", "name"),
    [("ISIS3", "a.cub"), ("ENVI", "a.img"), ("AAIGrid", "a.asc"), ("COG", "a.tif")],
)
def test_formats(tmp_path: Path, driver: str, name: str) -> None:
    heights = np.arange(20, dtype=np.float32).reshape(4, 5) - 7.5
    write_raster(tmp_path / name, heights, driver=driver)
    terrain = read_elevation(tmp_path / name)
    np.testing.assert_array_equal(terrain.heights, heights)
    assert terrain.transform == (1.0, 0.0, 500.0, 0.0, -1.0, 900.0)


def test_jpeg_2000(tmp_path: Path) -> None:
    heights = np.arange(900, dtype=np.int16).reshape(30, 30)
    write_raster(tmp_path / "a.jp2", heights, driver="JP2OpenJPEG", quality="100", reversible="YES")
    np.testing.assert_array_equal(read_elevation(tmp_path / "a.jp2").heights, heights)


def test_a_model_that_is_cut_short_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "DTEEC.IMG"
    write_attached(path)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(InvalidFileError, match=r"DTEEC\.IMG: is incomplete"):
        read_elevation(path)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"nothing but words" * 50, "is not an elevation raster that Homeward can read"),
    ],
)
def test_a_file_that_only_calls_itself_a_raster_is_refused(
    tmp_path: Path, data: bytes, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.tif"
    path.write_bytes(data)
    with pytest.raises(InvalidFileError, match=rf"a\.tif: {words}"):
        read_elevation(path)
    assert capfd.readouterr().err == ""


def test_nothing_is_said_on_the_error_stream(tmp_path: Path) -> None:
    bad, bare = tmp_path / "bad.tif", tmp_path / "bare.tif"
    write_raster(bad, np.ones((50, 60), np.float32))
    bad.write_bytes(bad.read_bytes()[:3000])
    with pytest.warns(rasterio.errors.NotGeoreferencedWarning):
        write_raster(bare, FLAT, crs=None, transform=None)
    script = (
        "import sys\nfrom homeward.terrain import read_elevation\n"
        "read_elevation(sys.argv[2], pixel=1.0)\n"
        "try: read_elevation(sys.argv[1])\n"
        "except ValueError as refusal: print(refusal)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, bad, bare], capture_output=True, text=True, check=True
    )
    assert "bad.tif" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("values", "profile", "expected"),
    [
        ([5.0, -1.0, np.nan, np.inf], {"nodata": -1.0}, [5, np.nan, np.nan, np.nan]),
        ([5.0, -9999.0, -32768.0, -3.4e38], {}, [5, np.nan, np.nan, np.nan]),
        ([5.0, -9999.0, -32768.0, -3.4e38], {"nodata": 0.0}, [5, -9999, -32768, np.nan]),
    ],
)
def test_what_is_no_height_becomes_nan(
    tmp_path: Path, values: list[float], profile: dict[str, Any], expected: list[float]
) -> None:
    write_raster(tmp_path / "a.tif", np.array([values], np.float32), **profile)
    np.testing.assert_array_equal(read_elevation(tmp_path / "a.tif").heights, [expected])


def test_special_pixels_of_a_planetary_raster_become_nan(tmp_path: Path) -> None:
    values = np.array([[-32768, -32767, -32766, -32765, -32764, -32763, 7]], np.int16)
    write_raster(tmp_path / "a.cub", values, driver="ISIS3")
    label = pds3_label(values.shape, '("a.IMG", 1)', 1)
    label = label.replace(b"PC_REAL", b"LSB_INTEGER").replace(b"BITS = 32", b"BITS = 16")
    label = label.replace(b"RECORD_BYTES = 28", b"RECORD_BYTES = 14")
    (tmp_path / "a.LBL").write_bytes(label)
    (tmp_path / "a.IMG").write_bytes(values.astype("<i2").tobytes())
    for name in ("a.cub", "a.LBL"):
        heights = read_elevation(tmp_path / name).heights
        np.testing.assert_array_equal(heights, [[np.nan] * 5 + [-32763, 7]])


def test_a_mask_band_is_honoured(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    write_raster(path, np.array([[1.0, 2.0, -9999.0]], np.float32))
    with rasterio.open(path, "r+") as dataset:
        dataset.write_mask(np.array([[True, False, True]]))
    np.testing.assert_array_equal(read_elevation(path).heights, [[1.0, np.nan, -9999.0]])


def test_scale_offset_and_unit_of_the_band_are_applied(tmp_path: Path) -> None:
    values = np.array([[10, 20, -1]], np.int16)
    profile: dict[str, Any] = {"nodata": -1, "scales": (0.5,), "offsets": (100.0,)}
    write_raster(tmp_path / "m.tif", values, **profile)
    np.testing.assert_array_equal(read_elevation(tmp_path / "m.tif").heights, [[105, 110, np.nan]])
    write_raster(tmp_path / "ft.tif", values, units=("ft",), **profile)
    heights = read_elevation(tmp_path / "ft.tif").heights
    np.testing.assert_allclose(heights, [[105 * 0.3048, 110 * 0.3048, np.nan]])


def test_a_band_that_is_not_in_a_unit_of_height_is_refused(tmp_path: Path) -> None:
    write_raster(tmp_path / "a.tif", FLAT, units=("degrees",))
    with pytest.raises(InvalidFileError, match=r"a\.tif: the unit of band 1 is 'degrees'"):
        read_elevation(tmp_path / "a.tif")


def test_another_band_is_read_by_its_number(tmp_path: Path) -> None:
    write_raster(tmp_path / "a.tif", np.stack([FLAT, FLAT + 3]), photometric="minisblack")
    assert read_elevation(tmp_path / "a.tif", band=2).heights.max() == 3.0
    for band in (0, 3, -1, True):
        with pytest.raises(InvalidFileError, match=rf"a\.tif: has no band {band}, only 1 to 2"):
            read_elevation(tmp_path / "a.tif", band=band)


def test_pixels_in_feet_are_given_in_metres(tmp_path: Path) -> None:
    write_raster(tmp_path / "a.tif", FLAT, crs="EPSG:2263")
    terrain = read_elevation(tmp_path / "a.tif")
    assert terrain.pixel == pytest.approx((1200 / 3937, 1200 / 3937))
    assert terrain.transform[0] == 1.0


@pytest.mark.parametrize(
    ("crs", "unit"),
    [(None, 1.0), (MARS, 1.0), ('LOCAL_CS["here",UNIT["foot",0.3048]]', 0.3048)],
)
def test_the_unit_of_the_map(tmp_path: Path, crs: str | None, unit: float) -> None:
    write_raster(tmp_path / "a.tif", FLAT, crs=crs)
    assert read_elevation(tmp_path / "a.tif").unit == unit


def test_an_unknown_unit_is_refused(tmp_path: Path) -> None:
    write_raster(tmp_path / "a.asc", FLAT, driver="AAIGrid", crs=None)
    (tmp_path / "a.prj").write_text('LOCAL_CS["here",UNIT["unknown",1]]')
    with pytest.raises(InvalidFileError, match=r"a\.asc: .*unknown unit of length"):
        read_elevation(tmp_path / "a.asc")


def test_a_raster_that_lies_on_no_map_is_refused(tmp_path: Path) -> None:
    write_raster(tmp_path / "a.tif", FLAT, crs="EPSG:4978")
    with pytest.raises(InvalidFileError, match=r"a\.tif: .*unknown unit of length"):
        read_elevation(tmp_path / "a.tif")


def test_degrees_are_refused_with_the_command_that_makes_metres_of_them(tmp_path: Path) -> None:
    folder = tmp_path / "my rasters"
    folder.mkdir()
    path = folder / "mola.tif"
    placed = rasterio.Affine(0.01, 0, 137.0, 0, -0.01, -4.0)
    write_raster(path, np.zeros((100, 200), np.float32), crs=MARS_DEGREES, transform=placed)
    with pytest.raises(InvalidFileError, match=r"mola\.tif: its pixels are in degrees") as caught:
        read_elevation(path)
    command = str(caught.value).partition("for example with ")[2]
    assert command.startswith("gdalwarp -r bilinear -t_srs ")
    assert shlex.split(command)[-2:] == [str(path), str(folder / "mola_metres.tif")]
    target = re.search('"(.*)"', command)
    assert target is not None
    # One step of the raster must be as long on the new map as it is on the ground.
    xs, ys = to_other_crs(MARS_DEGREES, target[1], [138.0, 138.01, 138.0], [-4.5, -4.5, -4.51])
    step = np.radians(0.01) * 3396190
    assert xs[1] - xs[0] == pytest.approx(step * np.cos(np.radians(4.5)), rel=1e-6)
    assert ys[0] - ys[2] == pytest.approx(step, rel=1e-6)


@pytest.mark.parametrize(
    ("values", "profile", "words"),
    [
        (
            np.zeros((3, 4, 5), np.uint8),
            {"photometric": "RGB"},
            "band 1 is the red band of a picture",
        ),
        (np.zeros((4, 5), np.complex64), {}, "band 1 holds complex64"),
    ],
)
def test_what_holds_no_heights_is_refused(
    tmp_path: Path, values: NDArray[Any], profile: dict[str, Any], words: str
) -> None:
    write_raster(tmp_path / "a.tif", values, **profile)
    with pytest.raises(InvalidFileError, match=rf"a\.tif: {words}"):
        read_elevation(tmp_path / "a.tif")


def test_a_palette_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tif"
    write_raster(path, np.zeros((4, 5), np.uint8), photometric="palette")
    with rasterio.open(path, "r+") as dataset:
        dataset.write_colormap(1, {0: (255, 0, 0, 255)})
    with pytest.raises(InvalidFileError, match=r"a\.tif: band 1 is the palette band of a picture"):
        read_elevation(path)


def netcdf3() -> bytes:
    """Give a classic NetCDF file with one variable z(y=2, x=2) of float32, byte by byte."""

    def name(text: str) -> bytes:
        padded = text.encode()
        return len(padded).to_bytes(4, "big") + padded.ljust(-(-len(padded) // 4) * 4, b"\0")

    def word(value: int) -> bytes:
        return value.to_bytes(4, "big")

    dimensions = word(10) + word(2) + name("y") + word(2) + name("x") + word(2)
    head = b"CDF\x01" + word(0) + dimensions + word(0) * 2 + word(11) + word(1)
    variable = name("z") + word(2) + word(0) + word(1) + word(0) * 2 + word(5) + word(16)
    begin = len(head) + len(variable) + 4
    values = np.array([[1, 2], [3, 4]], ">f4").tobytes()
    return head + variable + word(begin) + values


def test_netcdf_is_refused_with_the_way_to_convert_it(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    path.write_bytes(netcdf3())
    with pytest.raises(
        InvalidFileError, match=r"a\.nc: a netCDF .*gdal_translate .*a\.tif"
    ) as caught:
        read_elevation(path)
    assert "north is up" in str(caught.value)


def test_without_rasterio_one_is_told_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.tif").write_bytes(b"II*\0")
    monkeypatch.setitem(sys.modules, "rasterio", None)
    with pytest.raises(MissingExtraError, match=r"a\.tif needs.*pip install 'homeward\[terrain\]'"):
        read_elevation(tmp_path / "a.tif")
    np.save(tmp_path / "a.npy", FLAT)
    assert read_elevation(tmp_path / "a.npy", pixel=1.0).shape == (4, 5)


def test_the_deepest_cause_is_told() -> None:
    error = ValueError("see the previous exception")
    error.__cause__ = OSError("the disk is gone")
    assert gdal_message(error) == "the disk is gone"
    assert gdal_message(error.__cause__) == "the disk is gone"


@pytest.mark.parametrize(
    "value", [np.nan, np.inf, -np.inf, -3.4028226550889045e38, 1.0001e30, 9.96921e36]
)
def test_special_numbers_are_no_heights(value: float) -> None:
    assert missing_mask(np.array([[1.0, value, -8200.0]]), ()).tolist() == [[False, True, False]]


def test_fills_are_no_heights_where_they_are_asked_for() -> None:
    raw = np.array([-9999.0, -99999.0, -32767.0, -32768.0, -9998.0, 0.0])
    assert missing_mask(raw, FILLS).tolist() == [True, True, True, True, False, False]
    assert not missing_mask(raw, ()).any()
