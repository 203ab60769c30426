"""Frames: named arrays in one binary message.

4 bytes ``HWF1``, a uint32 n, n bytes of JSON ``{arrays: [{name, dtype, shape, offset, min, max}],
step, total}``, zeros up to a multiple of 8, then each array's bytes, little-endian, each from a
multiple of 8; ``offset`` counts from the end of the zeros. Floats are sent as float32, integers
as int32, booleans as uint8. ``min`` and ``max`` are those of the finite values.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.errors import InvalidFileError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

MAGIC = b"HWF1"
TYPES = {"b": "u1", "u": "<i4", "i": "<i4", "f": "<f4"}
NAMES = {"float32": "<f4", "int32": "<i4", "uint8": "u1"}


def pack(arrays: Mapping[str, NDArray[Any]], *, step: int, total: int, **more: Any) -> bytes:
    """Return the frame of arrays by name; `more` goes into its JSON beside `step` and `total`."""
    about, parts, offset = [], [], 0
    for name, array in arrays.items():
        dtype = np.dtype("u1" if array.dtype == np.uint8 else TYPES[array.dtype.kind])
        sent = np.ascontiguousarray(array, dtype)
        low, high = _extremes(sent)
        entry = {"name": name, "dtype": dtype.name, "shape": list(sent.shape), "offset": offset}
        about.append({**entry, "min": low, "max": high})
        data = sent.tobytes()
        parts += [data, bytes(-len(data) % 8)]
        offset += len(data) + -len(data) % 8
    header = {"arrays": about, "step": step, "total": total, **more}
    text = json.dumps(header, allow_nan=False).encode()
    head = MAGIC + struct.pack("<I", len(text)) + text
    return b"".join([head, bytes(-len(head) % 8), *parts])


def unpack(frame: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return a frame's JSON and its arrays; raise `InvalidFileError` if it is not a frame."""
    if frame[:4] != MAGIC or len(frame) < 8:
        raise InvalidFileError("a frame does not begin with HWF1")
    (length,) = struct.unpack_from("<I", frame, 4)
    about: dict[str, Any] = json.loads(frame[8 : 8 + length])
    first = 8 + length + -(8 + length) % 8
    arrays = {}
    for entry in about["arrays"]:
        count = int(np.prod(entry["shape"], dtype=np.int64))
        dtype = np.dtype(NAMES[entry["dtype"]])
        flat = np.frombuffer(frame, dtype, count, first + entry["offset"])
        arrays[entry["name"]] = flat.reshape(entry["shape"])
    return about, arrays


def tag_of(body: bytes) -> str:
    """Return the strong ETag of a response body."""
    return f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"'


def _extremes(array: NDArray[Any]) -> tuple[float | None, float | None]:
    """Return the least and the greatest finite value, None for an array without any."""
    if array.dtype.kind == "f":
        array = array[np.isfinite(array)]
    if not array.size:
        return None, None
    return array.min().item(), array.max().item()
