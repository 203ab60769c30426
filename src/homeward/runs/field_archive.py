"""Arrays of a finished run in one NumPy archive (``.npz``), written completely or not at all."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from homeward.arrays import frozen
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.files import refusing, replace_file

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
DAMAGE_ERRORS = (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile, zlib.error)
"""Exceptions of NumPy and the standard library for a file that is not an archive."""


def write_fields(path: Path, arrays: Mapping[str, ArrayLike]) -> None:
    """Write arrays to an archive; replace an existing archive."""
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


def read_fields(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays that `write_fields` wrote, by name; they are read-only."""
    if not path.exists():
        return {}
    try:
        with refusing(path, "can't be read"), np.load(path, allow_pickle=False) as archive:
            return {name: frozen(archive[name]) for name in sorted(archive)}
    except DAMAGE_ERRORS as cause:
        raise InvalidFileError(f"{path}: is not an archive of a run's arrays: {cause}") from cause


def field_shape(path: Path, name: str) -> tuple[int, ...] | None:
    """Return the shape of a stored array without reading its values; None if it is missing."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as file:
            np.lib.format.read_magic(file)
            return np.lib.format.read_array_header_1_0(file)[0]
    except (*DAMAGE_ERRORS, OSError):
        return None
