"""Kinds of worlds, one folder each, and the modules that they share."""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def deferred(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports its module when it is first called."""
    return lambda *arguments: getattr(import_module(module), name)(*arguments)
