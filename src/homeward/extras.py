"""Optional dependencies: imported where they are needed; the error names the extra to install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from homeward.errors import MissingExtraError

EXTRAS = {
    **dict.fromkeys(
        ("filelock", "gymnasium", "matplotlib", "pydantic", "rich", "typer"), "commands"
    ),
    "distributed": "cluster",
    "imageio": "films",
    "pyarrow": "parquet",
    "pysat": "sat",
    "rasterio": "terrain",
    "shapely": "terrain",
    "starlette": "web",
    "uvicorn": "web",
}
"""The extra that installs each optional module."""


def need(module: str, extra: str, why: str) -> Any:
    """Return a module that ``homeward[extra]`` installs.

    `why` begins the message if it is missing, as in "reading a.tif needs rasterio".
    """
    try:
        return import_module(module)
    except ImportError as cause:
        raise MissingExtraError(f"{why}: pip install 'homeward[{extra}]'") from cause


def missing(cause: ModuleNotFoundError, what: str) -> Exception:
    """Return an error that names the extra to install; `cause` itself if no extra has the module.

    `what` begins the message, as in "the page needs starlette".
    """
    module = (cause.name or "").partition(".")[0]
    if module not in EXTRAS:
        return cause
    return MissingExtraError(f"{what} needs {module}: pip install 'homeward[{EXTRAS[module]}]'")
