"""References ``module:name`` that another process can import."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from homeward.errors import InvalidInputError


def load(reference: str, what: str) -> Any:
    """Import what ``module:name`` refers to; `what` says what it should be."""
    module, colon, name = reference.partition(":")
    if not (module and colon and name):
        raise InvalidInputError(f"{what} is {reference!r}, expected module:name")
    try:
        found = import_module(module)
    except Exception as cause:
        raise InvalidInputError(
            f"{what} {reference!r}: {module} can't be imported: {type(cause).__name__}: {cause}"
        ) from cause
    try:
        return getattr(found, name)
    except AttributeError:
        raise InvalidInputError(f"{what} {reference!r}: {module} has no {name}") from None
