"""Names of uploaded files: the page refers to an upload by its number.

No path comes from a client or is sent to one.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homeward.web.refusals import Refusal, RefusalError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FOLDER, TERRAIN, ABOUT = ".uploads", "terrain.tif", "about.json"
PREFIX = "upload:"
NUMBER = re.compile(r"[0-9a-f]{16}")


def path_of(upload: Any, what: str, others: Iterable[str], root: Path) -> str:
    """Return the path of an upload; `others` are names of terrains without a file."""
    number = upload.removeprefix(PREFIX) if isinstance(upload, str) else ""
    if not str(upload).startswith(PREFIX) or not NUMBER.fullmatch(number):
        known = ", ".join(others)
        raise RefusalError(Refusal.INVALID, f"the {what} is not one of {known} and {PREFIX}…")
    path = root / FOLDER / number / TERRAIN
    if path.is_symlink() or not path.is_file():
        raise RefusalError(Refusal.NOT_FOUND, f"there is no {upload}")
    return str(path)


def name_of(config: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """Return a configuration as it is shown: an upload by its number, another file by its name."""
    shown = dict(config)
    for key, value in config.items():
        if isinstance(value, str) and os.sep in value:
            path = Path(value)
            ours = path.name == TERRAIN and path.parent.parent == root / FOLDER
            shown[key] = f"{PREFIX}{path.parent.name}" if ours else path.name
    return shown
