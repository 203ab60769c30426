"""Size check of raw rasters, which store numbers without compression or index.

If bytes are missing at the end of such a file, GDAL mostly reads them as zeros without an error,
and zeros look like heights. So `check_whole` compares the size of the file with the size of its
numbers, headers and padding. For formats without a function in `LAYOUTS`, the header counts as 0
bytes. Then a file that lacks fewer bytes than its header has is not noticed, but a complete file is
never refused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from homeward.errors import InvalidFileError
from homeward.files import refusing

RAW_DRIVERS = (
    *("PDS", "PDS4", "ISIS2", "ISIS3", "VICAR", "ENVI", "EHdr", "GenBin", "ERS", "PAux", "RST"),
    *("RRASTER", "GTX", "MFF", "ISCE", "ROI_PAC", "SAGA", "PNM", "NDF", "EIR", "KRO", "SNODAS"),
)
"""GDAL drivers of raw rasters."""

SIDECARS = (
    *(".aux.xml", ".ovr", ".msk", ".hdr", ".prj", ".lbl", ".xml", ".aux", ".rdc", ".ref", ".ers"),
    *(".rsc", ".sgrd", ".grd", ".clr", ".stx", ".blw", ".vrt", ".sta", ".txt"),
)
"""Suffixes of accompanying files, which do not hold the numbers."""

PACKED = (".gz", ".zip", ".tif", ".tiff", ".jp2", ".ecw", ".jpg", ".jpeg", ".png")
"""Suffixes of data files that may be compressed; their size is not checked."""

MAX_LABEL_BYTES = 1 << 20  # a label longer than this is read in part

POINTER = re.compile(
    r'^\s*\^(?:IMAGE|QUBE|SPECTRAL_QUBE)\s*=\s*\(?\s*(?:"[^"]*"\s*,?)?\s*(\d+)?\s*(<BYTES>)?',
    re.MULTILINE | re.IGNORECASE,
)
ARRAY = re.compile(r"<Array_[23]D\w*>.*?<offset[^>]*>\s*(\d+)", re.DOTALL)


def check_whole(path: Path, dataset: Any) -> None:
    """Raise if the file of a raw raster has fewer bytes than its pixels need."""
    if dataset.driver not in RAW_DRIVERS or dataset.tags(ns="IMAGE_STRUCTURE").get("COMPRESSION"):
        return
    files = [Path(name) for name in dataset.files]
    bare = [f for f in files if not f.name.lower().endswith(SIDECARS) and f.is_file()]
    data = max(bare, key=lambda f: f.stat().st_size, default=path)  # the file with the numbers
    extra = LAYOUTS.get(dataset.driver, lambda _: 0)(dataset)
    if extra is None or data.suffix.lower() in PACKED:
        return
    named_bits = dataset.tags(1, ns="IMAGE_STRUCTURE").get("NBITS")
    bits = int(named_bits) if named_bits else 8 * np.dtype(dataset.dtypes[0]).itemsize
    bands = 1 if dataset.driver == "MFF" else dataset.count  # MFF has one file per band
    need = int(dataset.height * dataset.width * bands * bits // 8) + extra
    with refusing(data, "can't be read"):
        size = data.stat().st_size
    if size < need:
        raise InvalidFileError(
            f"{path}: is incomplete: {data.name} has {size:,} bytes, but {dataset.height} x "
            f"{dataset.width} pixels need {need:,}"
        )


def _extra_pds(dataset: Any) -> int | None:
    """Return the number of bytes before the numbers and around each line; None if compressed."""
    with open(dataset.name, "rb") as file:
        text = file.read(MAX_LABEL_BYTES).decode("latin-1")
    ended = re.search(r"^\s*END\s*$", text, re.MULTILINE)
    text = text[: ended.end()] if ended else text
    encoding = re.search(r"^\s*ENCODING_TYPE\s*=\s*\"?([^\s\"]*)", text, re.MULTILINE)
    packed = encoding is not None and encoding[1].upper() not in ("N/A", "NONE", "NULL", "")
    if packed or "COMPRESSED_FILE" in text:
        return None
    pointer = POINTER.search(text)
    first = int(pointer[1]) if pointer and pointer[1] else 1
    unit = 1 if pointer and pointer[2] else _value(text, "RECORD_BYTES")
    count = int(dataset.height)
    lines = count * _value(text, "LINE_PREFIX_BYTES")
    lines += (count - 1) * _value(text, "LINE_SUFFIX_BYTES")
    return max(0, first - 1) * unit + lines


def _value(text: str, name: str) -> int:
    """Return the integer `name` of a label; 0 if it is missing."""
    match = re.search(rf"^\s*{name}\s*=\s*(\d+)", text, re.MULTILINE)
    return int(match[1]) if match else 0


def _extra_isis3(dataset: Any) -> int:
    """Return the number of bytes before the numbers, plus the padding of incomplete tiles."""
    core = _json(dataset, "json:ISIS3").get("IsisCube", {}).get("Core", {})
    before = max(0, int(core.get("StartByte", 1)) - 1)
    if core.get("Format") != "Tile":
        return before
    high, wide = int(core["TileLines"]), int(core["TileSamples"])
    tiles = math.ceil(dataset.height / high) * math.ceil(dataset.width / wide)
    spare = tiles * high * wide - dataset.height * dataset.width
    return before + int(spare * dataset.count * np.dtype(dataset.dtypes[0]).itemsize)


def _extra_vicar(dataset: Any) -> int | None:
    """Return the number of bytes of the label and before each line; None if compressed."""
    label = _json(dataset, "json:VICAR")
    if str(label.get("COMPRESS", "NONE")).upper() not in ("NONE", ""):
        return None
    lines = int(dataset.height * dataset.count)
    own, binary, prefix = (int(label.get(name, 0)) for name in ("LBLSIZE", "NLB", "NBB"))
    return own + binary * int(label.get("RECSIZE", 0)) + prefix * lines


def _extra_envi(dataset: Any) -> int | None:
    """Return the number of bytes before the numbers; None if compressed."""
    header = dataset.tags(ns="ENVI")
    if header.get("file_compression", "0").strip() != "0":
        return None
    return int(header.get("header_offset", "0"))


def _extra_pds4(dataset: Any) -> int:
    """Return the number of bytes before the first array."""
    label = " ".join(dataset.tags(ns="xml:PDS4").values())
    return min((int(offset) for offset in ARRAY.findall(label)), default=0)


def _json(dataset: Any, domain: str) -> dict[str, Any]:
    """Return the first JSON object in a metadata domain of GDAL; {} without one.

    rasterio takes its text for ``name=value`` and splits it at the first colon.
    """
    for name, rest in dataset.tags(ns=domain).items():
        with suppress(ValueError):
            label: dict[str, Any] = json.loads(f"{name}:{rest}")
            return label
    return {}


LAYOUTS: dict[str, Callable[[Any], int | None]] = {
    "PDS": _extra_pds,
    "ISIS2": _extra_pds,
    "ISIS3": _extra_isis3,
    "VICAR": _extra_vicar,
    "ENVI": _extra_envi,
    "PDS4": _extra_pds4,
    "GTX": lambda _: 40,
}
"""By driver, a function that returns how many bytes of a dataset are not numbers, or None if the
numbers are compressed."""
