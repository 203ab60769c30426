"""Optional dependencies: imported where they are needed; the error names the extra to install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from homeward.errors import MissingExtraError


def need(module: str, extra: str, why: str) -> Any:
    """Return a module that ``homeward[extra]`` installs.

    `why` begins the message if it is missing, as in "reading a.tif needs rasterio".
    """
    try:
        return import_module(module)
    except ImportError as cause:
        raise MissingExtraError(f"{why}: pip install 'homeward[{extra}]'") from cause
