"""Optional dependencies: each is imported where it is needed, or named with what installs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from homeward.errors import MissingExtraError


def need(module: str, extra: str, why: str) -> Any:
    """Import a module that an extra of Homeward brings.

    Parameters
    ----------
    module
        Its dotted name.
    extra
        The extra that installs it, as in ``homeward[extra]``.
    why
        What the message says first where it is missing, as in "reading a.tif needs rasterio".
    """
    try:
        return import_module(module)
    except ImportError as cause:
        raise MissingExtraError(f"{why}: pip install 'homeward[{extra}]'") from cause
