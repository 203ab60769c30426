"""Frames: named arrays in one binary message, and the differences of two maps.

A frame has 4 bytes ``HWF1``; a uint32 n; n bytes of JSON ``{arrays: [{name, dtype, shape, offset,
min, max}], step, total}``; zeros up to a multiple of 8; then the bytes of each array, little-endian
and padded to a multiple of 8. ``offset`` counts from the end of the first zeros. Floats are sent as
they are, float32 or float64; bounds are float64, so that none is rounded up. Integers are sent as
int32, booleans as uint8. ``min`` and ``max`` are over the finite values.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"HWF1"
TYPES = {"b": "u1", "u": "<i4", "i": "<i4"}
SPARSE_SHARE = 0.25  # maximum share of changed cells for which only these cells are sent
CELLS = ".cells"  # suffix of the array with the indices of the changed cells of a layer


def pack(arrays: Mapping[str, NDArray[Any]], *, step: int, total: int, **more: Any) -> bytes:
    """Return a frame of named arrays; its JSON also has `step`, `total` and the values `more`."""
    about, parts, offset = [], [], 0
    for name, array in arrays.items():
        kind = array.dtype.kind
        code = f"<f{array.dtype.itemsize}" if kind == "f" else TYPES[kind]
        dtype = np.dtype("u1" if array.dtype == np.uint8 else code)
        sent = np.ascontiguousarray(array, dtype)
        finite = sent[np.isfinite(sent)]
        ends = (finite.min().item(), finite.max().item()) if finite.size else (None, None)
        entry = {"name": name, "dtype": dtype.name, "shape": list(sent.shape), "offset": offset}
        about.append({**entry, "min": ends[0], "max": ends[1]})
        data = sent.tobytes()
        parts += [data, bytes(-len(data) % 8)]
        offset += len(data) + -len(data) % 8
    header = {"arrays": about, "step": step, "total": total, **more}
    text = json.dumps(header, allow_nan=False).encode()
    head = MAGIC + struct.pack("<I", len(text)) + text
    return b"".join([head, bytes(-len(head) % 8), *parts])


def narrow(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array with its floats, if it has any, in single precision."""
    return array.astype(np.float32) if array.dtype.kind == "f" else array


def differences(
    before: Mapping[str, NDArray[Any]], after: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Return the changed cells of each layer [R, C], or the whole layer if many cells changed.

    The changed cells of a layer are two arrays: their indices, ``name.cells`` [n], and their new
    values, ``name`` [n].
    """
    sent: dict[str, NDArray[Any]] = {}
    for name, layer in after.items():
        old, new = before[name].ravel(), layer.ravel()
        changed = old != new
        if new.dtype.kind == "f":
            changed &= ~(np.isnan(old) & np.isnan(new))
        cells = np.flatnonzero(changed)
        if cells.size > SPARSE_SHARE * new.size:
            sent[name] = layer
        else:
            sent[name + CELLS], sent[name] = cells.astype(np.int32), new[cells]
    return sent
