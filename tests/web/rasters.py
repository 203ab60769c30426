"""Files that somebody might upload."""

from __future__ import annotations

import io
import struct
import zipfile
from typing import Any

import numpy as np
import rasterio
from rasterio.io import MemoryFile


def geotiff(
    rows: int = 40,
    columns: int = 60,
    pixel: float = 10.0,
    dtype: str = "float32",
    crs: str = "EPSG:32633",
    bands: int = 1,
    rocks: bool = False,
) -> bytes:
    """Give gentle hills with a hole in them, or a mask of rocks near the south-eastern corner.

    Other bands than the first are empty.
    """
    row, column = np.mgrid[:rows, :columns]
    if rocks:
        heights = 1.0 * ((row >= rows - 8) & (column >= columns - 8))
    else:
        heights = np.sin(row / 9.0) + np.cos(column / 11.0)
        heights[2, 3] = -9999.0
    profile: dict[str, Any] = {"driver": "GTiff", "height": rows, "width": columns, "count": bands}
    profile |= {"dtype": dtype, "nodata": -9999.0, "crs": crs}
    corner = (10.0, 50.0) if crs == "EPSG:4326" else (500_000.0, 5_000_000.0)
    profile["transform"] = rasterio.Affine(pixel, 0.0, corner[0], 0.0, -pixel, corner[1])
    with MemoryFile() as memory:
        with memory.open(**profile) as dataset:
            dataset.write(heights.astype(dtype), 1)
        return bytes(memory.read())


def boast(side: int = 1_000_000) -> bytes:
    """Give a TIFF of a few bytes that claims to have side × side pixels."""
    tags = [
        *((256, 4, side), (257, 4, side), (258, 3, 32), (259, 3, 1), (262, 3, 1), (273, 4, 8)),
        *((277, 3, 1), (278, 4, side), (279, 4, 16), (339, 3, 3)),
    ]
    entries = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in tags)
    table = struct.pack("<H", len(tags)) + entries + struct.pack("<I", 0)
    return b"II*\0" + struct.pack("<I", 24) + bytes(16) + table


def packed() -> bytes:
    """Give a zip, as a raster may come out of a mail."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("terrain.tif", geotiff())
    return file.getvalue()


def virtual(path: str) -> bytes:
    """Give a virtual raster, which reads another file."""
    return f"""<VRTDataset rasterXSize="60" rasterYSize="40"><VRTRasterBand dataType="Float32"
    band="1"><SimpleSource><SourceFilename>{path}</SourceFilename><SourceBand>1</SourceBand>
    </SimpleSource></VRTRasterBand></VRTDataset>""".encode()


def label(path: str) -> bytes:
    """Give a planetary label whose numbers are in another file."""
    lines = [
        *("PDS_VERSION_ID = PDS3", "RECORD_TYPE = FIXED_LENGTH", "RECORD_BYTES = 8"),
        *("FILE_RECORDS = 4", f'^IMAGE = ("{path}", 1)', "OBJECT = IMAGE", "LINES = 4"),
        *("LINE_SAMPLES = 8", "SAMPLE_TYPE = MSB_UNSIGNED_INTEGER", "SAMPLE_BITS = 8"),
        *("END_OBJECT = IMAGE", "END", ""),
    ]
    return "\r\n".join(lines).encode()
