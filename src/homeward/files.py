"""Files that are replaced atomically: a reader sees the old file or the new one, never a part.

A file is written under another name in the same directory, synced to disk, and renamed; then the
directory is synced. The standard library has no such write.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from homeward.errors import InvalidFileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PART = ".part"
"""Suffix of files that are still being written."""


@contextmanager
def refusing(path: Path, what: str) -> Iterator[None]:
    """Turn an `OSError` into an `InvalidFileError` that names the file."""
    try:
        yield
    except OSError as cause:
        raise InvalidFileError(f"{path}: {what}: {cause.strerror or cause}") from cause


def replace_file(path: Path, data: bytes) -> None:
    """Write a file, or replace it, atomically."""
    part = path.with_name(f".{path.name}.{os.getpid()}{PART}")
    with refusing(path, "can't be written"):
        try:
            with open(part, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)


def replace_json(path: Path, value: Any) -> None:
    """Write a JSON value to a file atomically."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    replace_file(path, text.encode() + b"\n")


def spelled(value: Any) -> Any:
    """Return a value for JSON, which lacks infinities and NaN: these floats as their names."""
    if not isinstance(value, float):
        return value
    return float(value) if math.isfinite(value) else repr(float(value))


def read_json(path: Path) -> Any:
    """Return the JSON value of a file; raise if it is not JSON."""
    with refusing(path, "can't be read"):
        data = path.read_bytes()
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as cause:
        raise InvalidFileError(f"{path}: is not JSON: {cause}") from cause


def sync_directory(directory: Path) -> None:
    """Sync the names in a directory to disk."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep(directory: Path) -> None:
    """Remove unfinished files of killed writers; the caller must be the only writer."""
    for part in directory.glob(f".*{PART}"):
        if part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink()
