"""Files that are whole or not there, and refusals that name them."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from homeward.errors import InvalidFileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def refusing(path: Path, what: str) -> Iterator[None]:
    """Turn what the system refuses into an `InvalidFileError` that names the file."""
    try:
        yield
    except OSError as cause:
        raise InvalidFileError(f"{path}: {what}: {cause.strerror or cause}") from cause


def put(path: Path, data: bytes) -> None:
    """Put `data` in the place of a file, or of none, by writing another one and renaming it."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
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
