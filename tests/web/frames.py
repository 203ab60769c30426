"""Frames as a client reads them."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.web.frames import MAGIC

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAMES = {"float32": "<f4", "float64": "<f8", "int32": "<i4", "uint8": "u1"}


def unpack(frame: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return a frame's JSON and its arrays; raise `ValueError` if it is not a frame."""
    if frame[:4] != MAGIC or len(frame) < 8:
        raise ValueError("a frame does not begin with HWF1")
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
