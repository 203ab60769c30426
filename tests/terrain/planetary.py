"""Rasters that tests write themselves, so that nothing under test makes its own input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import rasterio

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

NULL = np.array([0xFF7FFFFB], "<u4").view("<f4")[0]
"""The constant that stands for no data in HiRISE terrain models."""

SATURATED = np.array([0xFF7FFFFD], "<u4").view("<f4")[0]
"""Another special constant, which no label declares."""

SCALE = 1.01  # m, the pixel
LINE_OFFSET, SAMPLE_OFFSET = -100.5, 200.5

MARS = (
    'PROJCS["Equirectangular Mars",GEOGCS["GCS_Mars",DATUM["D_Mars",SPHEROID["Mars",3396190,0]],'
    'PRIMEM["Reference_Meridian",0],UNIT["degree",0.0174532925199433]],'
    'PROJECTION["Equirectangular"],PARAMETER["standard_parallel_1",0],'
    'PARAMETER["central_meridian",180],PARAMETER["false_easting",0],'
    'PARAMETER["false_northing",0],UNIT["metre",1]]'
)
"""A coordinate system on Mars that no authority has numbered."""

MARS_DEGREES = (
    'GEOGCS["GCS_Mars",DATUM["D_Mars",SPHEROID["Mars",3396190,0]],'
    'PRIMEM["Reference_Meridian",0],UNIT["degree",0.0174532925199433]]'
)


def pds3_label(shape: tuple[int, int], image: str, records: int) -> bytes:
    """Give the label of a HiRISE terrain model; `image` says where the numbers begin."""
    rows, columns = shape
    lines = f"""PDS_VERSION_ID = PDS3
RECORD_TYPE = FIXED_LENGTH
RECORD_BYTES = {columns * 4}
FILE_RECORDS = {records}
^IMAGE = {image}
TARGET_NAME = "MARS"
OBJECT = IMAGE_MAP_PROJECTION
  MAP_PROJECTION_TYPE = "EQUIRECTANGULAR"
  PROJECTION_LATITUDE_TYPE = PLANETOCENTRIC
  A_AXIS_RADIUS = 3396.19 <KM>
  B_AXIS_RADIUS = 3396.19 <KM>
  C_AXIS_RADIUS = 3396.19 <KM>
  POSITIVE_LONGITUDE_DIRECTION = EAST
  CENTER_LATITUDE = -30.0 <DEG>
  CENTER_LONGITUDE = 180.0 <DEG>
  MAP_PROJECTION_ROTATION = 0.0 <DEG>
  MAP_SCALE = {SCALE} <METERS/PIXEL>
  LINE_PROJECTION_OFFSET = {LINE_OFFSET} <PIXEL>
  SAMPLE_PROJECTION_OFFSET = {SAMPLE_OFFSET} <PIXEL>
END_OBJECT = IMAGE_MAP_PROJECTION
OBJECT = IMAGE
  LINES = {rows}
  LINE_SAMPLES = {columns}
  BANDS = 1
  SAMPLE_TYPE = PC_REAL
  SAMPLE_BITS = 32
  MISSING_CONSTANT = 16#FF7FFFFB#
END_OBJECT = IMAGE
END
"""
    return lines.replace("\n", "\r\n").encode()


def pds3_heights() -> NDArray[np.float32]:
    """Give heights [40, 300] with a hole that the label declares and one that it does not."""
    heights = np.arange(12_000, dtype=np.float32).reshape(40, 300) / np.float32(8)
    heights[3, 5], heights[4, 6] = NULL, SATURATED
    return heights


def write_attached(path: Path) -> None:
    """Write a PDS3 image that begins with its label."""
    heights = pds3_heights()
    room = heights.shape[1] * 4 * 2
    label = pds3_label(heights.shape, "3", len(heights) + 2)
    assert len(label) <= room
    path.write_bytes(label.ljust(room) + heights.astype("<f4").tobytes())


def write_detached(image: Path, label: Path) -> None:
    """Write a PDS3 image of bare numbers, and its label beside it."""
    heights = pds3_heights()
    image.write_bytes(heights.astype("<f4").tobytes())
    label.write_bytes(pds3_label(heights.shape, f'("{image.name}", 1)', len(heights)))


def write_raster(
    path: Path, values: NDArray[Any], *, driver: str = "GTiff", **profile: Any
) -> None:
    """Write a raster, on Mars with 1 m pixels unless told otherwise."""
    stack = values if values.ndim == 3 else values[np.newaxis]
    extra = {name: profile.pop(name) for name in ("scales", "offsets", "units") if name in profile}
    settings: dict[str, Any] = {
        "driver": driver,
        "count": stack.shape[0],
        "height": stack.shape[1],
        "width": stack.shape[2],
        "dtype": stack.dtype.name,
        "crs": MARS,
        "transform": rasterio.Affine(1.0, 0.0, 500.0, 0.0, -1.0, 900.0),
    }
    with rasterio.open(path, "w", **(settings | profile)) as dataset:
        dataset.write(stack)
        for name, value in extra.items():
            setattr(dataset, name, value)
