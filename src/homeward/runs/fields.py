"""Arrays beside a run, as a Zarr group that other programs read.

The layout is Zarr version 3 with one compressed chunk per array, which takes nothing but the
standard library to write. A group is made beside the old one and takes its place by renaming;
between the two renames there is none, so a run says that it has finished only afterwards.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.arrays import frozen
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.files import PART, read_json, refusing, sync_directory, sync_tree

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def write_fields(group: Path, arrays: Mapping[str, ArrayLike]) -> None:
    """Put arrays in the place of a group, or of none."""
    part = group.with_name(f".{group.name}{PART}")
    old = group.with_name(f".{group.name}-old{PART}")
    with refusing(group, "can't be written"):
        for left in (part, old):
            shutil.rmtree(left, ignore_errors=True)
        part.mkdir()
        _write_json(part, {"zarr_format": 3, "node_type": "group", "attributes": {}})
        for name, values in arrays.items():
            if not NAME.fullmatch(name):
                raise InvalidInputError(f"a field can't be named {name!r}")
            array = np.asarray(values)
            if array.dtype.kind not in "biuf":
                raise InvalidInputError(f"field {name} holds {array.dtype}, expected numbers")
            _write_array(part / name, array)
        sync_tree(part)
        if group.exists():
            group.rename(old)
        part.rename(group)
        sync_directory(group.parent)
        shutil.rmtree(old, ignore_errors=True)


def read_fields(group: Path) -> dict[str, NDArray[Any]]:
    """Read what `write_fields` wrote, each array read-only."""
    if not group.is_dir():
        return {}
    return {
        path.name: _read_array(path)
        for path in sorted(group.iterdir())
        if path.is_dir() and not path.name.startswith(".")
    }


def _write_array(path: Path, array: NDArray[Any]) -> None:
    path.mkdir()
    plain: Any = False if array.dtype.kind == "b" else 0 if array.dtype.kind in "iu" else 0.0
    _write_json(
        path,
        {
            "zarr_format": 3,
            "node_type": "array",
            "shape": list(array.shape),
            "data_type": array.dtype.name,
            "chunk_grid": {
                "name": "regular",
                "configuration": {"chunk_shape": [max(1, n) for n in array.shape]},
            },
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
            "fill_value": plain,
            "codecs": [
                {"name": "bytes", "configuration": {"endian": "little"}},
                {"name": "gzip", "configuration": {"level": 1}},
            ],
            "attributes": {},
        },
    )
    if array.size:
        little = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
        _chunk(path, array.shape).write_bytes(gzip.compress(little.tobytes(), 1, mtime=0))


def _read_array(path: Path) -> NDArray[Any]:
    about = read_json(path / "zarr.json")
    try:
        shape = tuple(about["shape"])
        dtype = np.dtype(about["data_type"])
        if 0 in shape:
            return frozen(np.zeros(shape, dtype))
        chunk = _chunk(path, shape)
        with refusing(chunk, "can't be read"):
            data = gzip.decompress(chunk.read_bytes())
        flat = np.frombuffer(data, dtype.newbyteorder("<"))
        return frozen(flat.reshape(shape).astype(dtype, copy=False))
    except (KeyError, TypeError, ValueError, EOFError) as cause:
        raise InvalidFileError(f"{path}: is not one of our arrays: {cause}") from cause


def _chunk(path: Path, shape: tuple[int, ...]) -> Path:
    """Name the file of an array's only chunk."""
    return path / ".".join(["c", *("0" for _ in shape)])


def _write_json(path: Path, value: dict[str, Any]) -> None:
    (path / "zarr.json").write_text(json.dumps(value, indent=2) + "\n")
