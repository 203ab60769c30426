from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import rasterio
from tests.terrain.planetary import pds3_label, write_detached, write_raster

from homeward.errors import InvalidFileError
from homeward.terrain import PixelWindow, read_elevation
from homeward.terrain.raw import check_whole

if TYPE_CHECKING:
    from pathlib import Path


def write_pds3(path: Path, shape: tuple[int, int], share: float, image: str = "{}") -> None:
    """Write a PDS3 image of ones with its label inside and this share of its numbers."""
    rows, columns = shape
    record = 4 * columns
    records = -(-len(pds3_label(shape, "99 <BYTES>", rows)) // record)
    place = image.format(records + 1, bytes=records * record + 1)
    label = pds3_label(shape, place, rows + records).ljust(records * record)
    numbers = np.ones(shape, "<f4").tobytes()
    path.write_bytes(label + numbers[: int(share * len(numbers))])


@pytest.mark.parametrize(
    ("shape", "share"),
    [((300, 20_000), 0.5), ((30, 50), 0.5), ((30, 50), 0.0), ((30, 50), 0.999)],
)
def test_a_pds3_image_that_is_cut_short_is_refused_with_both_sizes(
    tmp_path: Path, shape: tuple[int, int], share: float
) -> None:
    path = tmp_path / "a.IMG"
    write_pds3(path, shape, 1.0)
    whole = path.stat().st_size
    window = PixelWindow(0, 0, 50, 30)
    assert (read_elevation(path, window=window).heights == 1.0).all()
    write_pds3(path, shape, share)
    size = path.stat().st_size
    words = rf"a\.IMG: is incomplete: a\.IMG has {size:,} bytes, but .* need {whole:,}$"
    with pytest.raises(InvalidFileError, match=words):
        read_elevation(path, window=window)


@pytest.mark.parametrize("image", ["{}", "{bytes} <BYTES>"])
def test_numbers_may_begin_at_a_record_or_at_a_byte(tmp_path: Path, image: str) -> None:
    path = tmp_path / "a.IMG"
    write_pds3(path, (30, 50), 1.0, image)
    assert (read_elevation(path).heights == 1.0).all()
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InvalidFileError, match="is incomplete"):
        read_elevation(path)


def test_the_numbers_beside_a_label_are_held_against_it(tmp_path: Path) -> None:
    image, label = tmp_path / "a.IMG", tmp_path / "a.LBL"
    write_detached(image, label)
    image.write_bytes(image.read_bytes()[:-1])
    for path in (image, label):
        with pytest.raises(InvalidFileError, match=r"a\.IMG has 47,999 bytes, .* need 48,000"):
            read_elevation(path)
    image.write_bytes(b"")
    with pytest.raises(InvalidFileError, match=r"a\.IMG has 0 bytes"):
        read_elevation(label)


@pytest.mark.parametrize(
    ("driver", "name", "options", "need"),
    [
        ("ENVI", "a.img", {}, 800_000),
        ("ENVI", "a.img", {"interleave": "bil"}, 800_000),
        ("EHdr", "a.bil", {}, 800_000),
        ("ISIS3", "a.cub", {}, 65_536 + 800_000),
        # Sixteen tiles of 128 x 128; a history follows the numbers.
        ("ISIS3", "a.cub", {"tiled": "yes", "blockxsize": 128, "blockysize": 128}, 65_536 + 2**20),
        ("VICAR", "a.vic", {}, 2_000 + 800_000),
        ("PDS4", "a.xml", {}, 800_000),
        ("ERS", "a.ers", {}, 800_000),
        ("RRASTER", "a.grd", {}, 800_000),
        ("GTX", "a.gtx", {}, 40 + 800_000),
    ],
)
def test_other_bare_numbers_are_read_whole_and_refused_short_of_a_byte(
    tmp_path: Path, driver: str, name: str, options: dict[str, Any], need: int
) -> None:
    heights = np.arange(200_000, dtype=np.float32).reshape(400, 500)
    place: dict[str, Any] = {"crs": None} if driver == "GTX" else {}
    write_raster(tmp_path / name, heights, driver=driver, **place, **options)
    if driver != "GTX":
        np.testing.assert_array_equal(read_elevation(tmp_path / name).heights, heights)
    data = max(tmp_path.iterdir(), key=lambda path: path.stat().st_size)
    data.write_bytes(data.read_bytes()[: need - 1])
    words = f"{data.name} has {need - 1:,} bytes, but 400 x 500 pixels need {need:,}$"
    with pytest.raises(InvalidFileError, match=words):
        read_elevation(tmp_path / name)
    data.write_bytes(data.read_bytes()[: need // 2])
    with pytest.raises(InvalidFileError, match="is incomplete"):
        read_elevation(tmp_path / name, window=PixelWindow(0, 0, 5, 5))


def test_a_cube_whose_numbers_are_packed_is_as_short_as_it_likes(tmp_path: Path) -> None:
    heights = np.ones((400, 500), np.float32)
    options = {"data_location": "GEOTIFF", "geotiff_options": "COMPRESS=DEFLATE"}
    write_raster(tmp_path / "a.lbl", heights, driver="ISIS3", **options)
    assert (tmp_path / "a.tif").stat().st_size < heights.nbytes
    with rasterio.open(tmp_path / "a.lbl") as dataset:
        check_whole(tmp_path / "a.lbl", dataset)


def test_an_envi_image_that_is_packed_is_read(tmp_path: Path) -> None:
    heights = np.ones((40, 50), np.float32)
    write_raster(tmp_path / "a.img", heights, driver="ENVI")
    data, header = tmp_path / "a.img", tmp_path / "a.hdr"
    data.write_bytes(gzip.compress(data.read_bytes()))
    header.write_text(header.read_text() + "file compression = 1\n")
    np.testing.assert_array_equal(read_elevation(data).heights, heights)
