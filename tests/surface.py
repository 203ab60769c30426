"""The public names of homeward and the modules that they live in, read from the stub."""

from __future__ import annotations

import ast
from pathlib import Path

import homeward

STUB = Path(str(homeward.__file__)).with_suffix(".pyi")


def names_in(stub: Path) -> dict[str, str]:
    """Return the module of each name that a stub imports, relative to the stub's package."""
    return {
        alias.name: str(node.module)
        for node in ast.parse(stub.read_text()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


MODULE_OF = names_in(STUB)
