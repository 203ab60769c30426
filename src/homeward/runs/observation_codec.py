"""Conversion of observations to JSON and back, without loss.

An observation consists of numbers, texts, None, sequences, mappings with texts as keys, arrays, and
dataclasses that its kind of run lists. Floats keep every bit. A sequence is decoded as a tuple, and
an array as a read-only array of the same type. A run may record only the `Digest` of an observation
that is large.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from homeward.arrays import frozen
from homeward.errors import InvalidFileError, InvalidInputError

MARKS = ("float", "array", "map", "digest")  # first keys of objects for types that JSON lacks


@dataclass(frozen=True, slots=True)
class Digest:
    """A hash that is recorded instead of an observation; equal observations have equal digests."""

    digest: str

    @classmethod
    def of(cls, value: Any) -> Digest:
        """Return the digest of an observation; a change of any bit changes the digest."""
        hasher = hashlib.blake2b(digest_size=16)
        _feed(value, hasher)
        return cls(hasher.hexdigest())


def encode(value: Any, types: Sequence[type]) -> Any:
    """Return the JSON value of an observation; `types` are its allowed dataclasses."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Digest):
        return {"digest": value.digest}
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": repr(float(value))}
    if isinstance(value, tuple | list):
        return [encode(item, types) for item in value]
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biuf":
            raise InvalidInputError(f"an observed array of {value.dtype} can't be recorded")
        flat = [encode(item, types) for item in value.ravel().tolist()]
        return {"array": value.dtype.name, "shape": list(value.shape), "values": flat}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"map": {key: encode(item, types) for key, item in value.items()}}
    if type(value) in types:
        parts = {f.name: encode(getattr(value, f.name), types) for f in fields(value)}
        return {type(value).__name__: parts}
    raise InvalidInputError(
        f"an observation of type {type(value).__name__} can't be recorded: this kind of run "
        f"lists {', '.join(t.__name__ for t in types) or 'no types'}"
    )


def decode(value: Any, types: Sequence[type]) -> Any:
    """Return the observation that `encode` turned into a JSON value."""
    match value:
        case list():
            return tuple(decode(item, types) for item in value)
        case {"float": str(text)}:
            return float(text)
        case {"digest": str(text)}:
            return Digest(text)
        case {"array": str(name), "shape": list(shape), "values": list(values)}:
            flat = [decode(item, types) for item in values]
            return frozen(np.array(flat, dtype=np.dtype(name)).reshape(shape))
        case {"map": dict(items)}:
            return {key: decode(item, types) for key, item in items.items()}
        case dict():
            ((name, parts),) = value.items()
        case _:
            return value
    for kind in types:
        if kind.__name__ == name:
            return kind(**{key: decode(item, types) for key, item in parts.items()})
    raise InvalidFileError(f"an observation is a {name}, which this kind of run does not list")


def _feed(value: Any, hasher: hashlib.blake2b) -> None:
    """Add a value, with its type and shape, to a hash."""
    if isinstance(value, np.ndarray):
        hasher.update(f"array {value.dtype.str} {value.shape};".encode())
        hasher.update(np.ascontiguousarray(value).data)
    elif isinstance(value, tuple | list):
        hasher.update(f"{len(value)} items;".encode())
        for item in value:
            _feed(item, hasher)
    elif isinstance(value, dict):
        hasher.update(b"map ")
        _feed([part for item in value.items() for part in item], hasher)
    elif is_dataclass(value) and not isinstance(value, type):
        hasher.update(f"{type(value).__name__};".encode())
        _feed([getattr(value, f.name) for f in fields(value)], hasher)
    else:
        plain = value.item() if isinstance(value, np.generic) else value
        hasher.update(f"{type(plain).__name__} {plain!r};".encode())
