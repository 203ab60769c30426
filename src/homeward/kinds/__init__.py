"""Kinds of worlds, one folder each, and the modules that they share."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def deferred(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports `module` when called, and calls its function `name`."""
    return lambda *arguments: getattr(import_module(module), name)(*arguments)
