"""Atomic writes of files: a reader sees the old file or the complete new one.

A file is written under another name in the same directory, synced to disk, and renamed; then the
directory is synced. The standard library has no such function.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from homeward.errors import InvalidFileError

PART = ".part"  # suffix of files that are still being written


@contextmanager
def refusing(path: Path, what: str) -> Iterator[None]:
    """Convert an `OSError` to an `InvalidFileError` that names the file and says `what` failed."""
    try:
        yield
    except OSError as cause:
        raise InvalidFileError(f"{path}: {what}: {cause.strerror or cause}") from cause


def replace_file(path: Path, data: bytes) -> None:
    """Write `data` to a file atomically; a file that exists is replaced."""
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


def json_safe(value: Any) -> Any:
    """Return a value that JSON can encode: an infinite or NaN float becomes text, such as "inf"."""
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
    """Sync a directory to disk, so that a renamed file keeps its new name after a crash."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep(directory: Path) -> None:
    """Remove the unfinished files that killed processes left; no process may be writing there."""
    for part in directory.glob(f".*{PART}"):
        if part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink()
