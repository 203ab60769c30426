"""Rasters whose numbers lie bare in a file: refused unless all of them are there.

GDAL reads what is missing at the end of such a file as zeros, mostly without a word, and zeros are
heights. So the size of the file is held against what the layout needs::

    where the numbers begin + lines × (samples × bytes, and what is around a line) × bands

Where a format says in too many ways where its numbers begin, that is left out: then a file may lack
as much as its own header has, but no whole file is ever refused.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.errors import InvalidFileError
from homeward.files import refusing

if TYPE_CHECKING:
    from collections.abc import Callable

BARE = (
    *("PDS", "PDS4", "ISIS2", "ISIS3", "VICAR", "ENVI", "EHdr", "GenBin", "ERS", "PAux", "RST"),
    *("RRASTER", "GTX", "MFF", "ISCE", "ROI_PAC", "SAGA", "PNM", "NDF", "EIR", "KRO", "SNODAS"),
)
"""Drivers of files of bare numbers."""

BESIDE = (
    *(".aux.xml", ".ovr", ".msk", ".hdr", ".prj", ".lbl", ".xml", ".aux", ".rdc", ".ref", ".ers"),
    *(".rsc", ".sgrd", ".grd", ".clr", ".stx", ".blw", ".vrt", ".sta", ".txt"),
)
"""How files end that lie beside the numbers."""

PACKED = (".gz", ".zip", ".tif", ".tiff", ".jp2", ".ecw", ".jpg", ".jpeg", ".png")
"""How files end whose numbers are not bare, whatever the label is of."""

LABEL = 1 << 20
"""Bytes in which the label of a planetary raster ends."""

POINTER = re.compile(
    r'^\s*\^(?:IMAGE|QUBE|SPECTRAL_QUBE)\s*=\s*\(?\s*(?:"[^"]*"\s*,?)?\s*(\d+)?\s*(<BYTES>)?',
    re.MULTILINE | re.IGNORECASE,
)
ARRAY = re.compile(r"<Array_[23]D\w*>.*?<offset[^>]*>\s*(\d+)", re.DOTALL)


def check_whole(path: Path, dataset: Any) -> None:
    """Refuse a raster of bare numbers whose file is shorter than they are."""
    if dataset.driver not in BARE or dataset.tags(ns="IMAGE_STRUCTURE").get("COMPRESSION"):
        return
    data = _data_file(path, dataset)
    around = LAYOUTS.get(dataset.driver, _nothing)(dataset)
    if around is None or data.suffix.lower() in PACKED:
        return
    need = _numbers(dataset) + around
    with refusing(data, "can't be read"):
        size = data.stat().st_size
    if size < need:
        raise InvalidFileError(
            f"{path}: is cut short: {data.name} holds {size:,} bytes, but {dataset.height} x "
            f"{dataset.width} pixels need {need:,}"
        )


def _data_file(path: Path, dataset: Any) -> Path:
    """Give the file with the numbers: the largest of those that are not known to be others."""
    files = [Path(name) for name in dataset.files]
    bare = [f for f in files if not f.name.lower().endswith(BESIDE) and f.is_file()]
    return max(bare, key=lambda f: f.stat().st_size, default=path)


def _numbers(dataset: Any) -> int:
    """Give the bytes that the numbers themselves fill."""
    bits = dataset.tags(1, ns="IMAGE_STRUCTURE").get("NBITS")
    each = int(bits) if bits else 8 * np.dtype(dataset.dtypes[0]).itemsize
    bands = 1 if dataset.driver == "MFF" else dataset.count  # of which each is a file
    return int(dataset.height * dataset.width * bands * each // 8)


def _nothing(dataset: Any) -> int | None:
    return 0


def _around_pds(dataset: Any) -> int | None:
    """Give the bytes before the numbers and around the lines; None where they are packed."""
    with open(dataset.name, "rb") as file:
        text = file.read(LABEL).decode("latin-1")
    ended = re.search(r"^\s*END\s*$", text, re.MULTILINE)
    text = text[: ended.end()] if ended else text
    encoding = re.search(r"^\s*ENCODING_TYPE\s*=\s*\"?([^\s\"]*)", text, re.MULTILINE)
    packed = encoding is not None and encoding[1].upper() not in ("N/A", "NONE", "NULL", "")
    if packed or "COMPRESSED_FILE" in text:
        return None
    found = POINTER.search(text)
    first = int(found[1]) if found and found[1] else 1
    unit = 1 if found and found[2] else _value(text, "RECORD_BYTES")
    count = int(dataset.height)
    lines = count * _value(text, "LINE_PREFIX_BYTES")
    lines += (count - 1) * _value(text, "LINE_SUFFIX_BYTES")
    return max(0, first - 1) * unit + lines


def _value(text: str, name: str) -> int:
    """Give a whole number of a label; 0 where it has none."""
    found = re.search(rf"^\s*{name}\s*=\s*(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 0


def _around_isis3(dataset: Any) -> int:
    """Give the bytes before the core, and what fills the last tiles up."""
    core = _json(dataset, "json:ISIS3").get("IsisCube", {}).get("Core", {})
    before = max(0, int(core.get("StartByte", 1)) - 1)
    if core.get("Format") != "Tile":
        return before
    high, wide = int(core["TileLines"]), int(core["TileSamples"])
    tiles = math.ceil(dataset.height / high) * math.ceil(dataset.width / wide)
    spare = tiles * high * wide - dataset.height * dataset.width
    return before + int(spare * dataset.count * np.dtype(dataset.dtypes[0]).itemsize)


def _around_vicar(dataset: Any) -> int | None:
    """Give the bytes of the label and of what is before the lines; None where they are packed."""
    label = _json(dataset, "json:VICAR")
    if str(label.get("COMPRESS", "NONE")).upper() not in ("NONE", ""):
        return None
    lines = int(dataset.height * dataset.count)
    own, binary, prefix = (int(label.get(name, 0)) for name in ("LBLSIZE", "NLB", "NBB"))
    return own + binary * int(label.get("RECSIZE", 0)) + prefix * lines


def _around_envi(dataset: Any) -> int | None:
    """Give the bytes before the numbers; None where they are packed."""
    header = dataset.tags(ns="ENVI")
    if header.get("file_compression", "0").strip() != "0":
        return None
    return int(header.get("header_offset", "0"))


def _around_pds4(dataset: Any) -> int:
    """Give the bytes before the first array."""
    label = " ".join(dataset.tags(ns="xml:PDS4").values())
    return min((int(offset) for offset in ARRAY.findall(label)), default=0)


def _around_gtx(dataset: Any) -> int:
    return 40


def _json(dataset: Any, domain: str) -> dict[str, Any]:
    """Give a label that GDAL keeps as JSON; rasterio takes its first colon for its own."""
    for name, rest in dataset.tags(ns=domain).items():
        try:
            label: dict[str, Any] = json.loads(f"{name}:{rest}")
        except ValueError:
            continue
        return label
    return {}


LAYOUTS: dict[str, Callable[[Any], int | None]] = {
    "PDS": _around_pds,
    "ISIS2": _around_pds,
    "ISIS3": _around_isis3,
    "VICAR": _around_vicar,
    "ENVI": _around_envi,
    "PDS4": _around_pds4,
    "GTX": _around_gtx,
}
"""How many bytes a file has around its numbers; None where these are packed."""
