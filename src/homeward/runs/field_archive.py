"""Arrays of a finished run in one NumPy archive (``.npz``), written completely or not at all.

Earlier versions wrote a folder instead: a Zarr group with one compressed chunk per array. Such a
folder is read if there is no archive. Writing an archive deletes the folder.
"""

from __future__ import annotations

import gzip
import io
import re
import shutil
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from homeward.arrays import frozen
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.files import read_json, refusing, replace_file

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
DAMAGE_ERRORS = (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile, zlib.error)
"""Exceptions of NumPy and the standard library for a file that is not an archive."""


def write_fields(path: Path, arrays: Mapping[str, ArrayLike]) -> None:
    """Write arrays to an archive; replace an existing archive or an older Zarr folder."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, values in arrays.items():
            array = np.asarray(values)
            if not NAME.fullmatch(name):
                raise InvalidInputError(f"a field can't be named {name!r}")
            if array.dtype.kind not in "biuf":
                raise InvalidInputError(f"field {name} holds {array.dtype}, expected numbers")
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
    replace_file(path, data.getvalue())
    shutil.rmtree(path.with_suffix(""), ignore_errors=True)


def read_fields(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays that `write_fields` wrote, by name; they are read-only."""
    if not path.exists():
        parts = sorted(path.with_suffix("").glob("*/zarr.json"))
        return {part.parent.name: _read_zarr(part.parent) for part in parts}
    try:
        with refusing(path, "can't be read"), np.load(path, allow_pickle=False) as archive:
            return {name: frozen(archive[name]) for name in sorted(archive)}
    except DAMAGE_ERRORS as cause:
        raise InvalidFileError(f"{path}: is not an archive of a run's arrays: {cause}") from cause


def field_shape(path: Path, name: str) -> tuple[int, ...] | None:
    """Return the shape of a stored array without reading its values; None if it is missing."""
    try:
        if not path.exists():
            return tuple(read_json(path.with_suffix("") / name / "zarr.json")["shape"])
        with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as file:
            np.lib.format.read_magic(file)
            return np.lib.format.read_array_header_1_0(file)[0]
    except (*DAMAGE_ERRORS, OSError):
        return None


def _read_zarr(path: Path) -> NDArray[Any]:
    """Read an array from the Zarr folder of an earlier version."""
    about = read_json(path / "zarr.json")
    try:
        shape, dtype = tuple(about["shape"]), np.dtype(about["data_type"])
        if 0 in shape:
            return frozen(np.zeros(shape, dtype))
        chunk = path / ".".join(["c", *("0" for _ in shape)])
        with refusing(chunk, "can't be read"):
            data = gzip.decompress(chunk.read_bytes())
        flat = np.frombuffer(data, dtype.newbyteorder("<"))
        return frozen(flat.reshape(shape).astype(dtype, copy=False))
    except DAMAGE_ERRORS as cause:
        raise InvalidFileError(f"{path}: is not an array of a run: {cause}") from cause
