"""Objects by name: from this process, from installed packages, or imported as ``module:name``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from homeward.errors import InvalidInputError


def installed(group: str) -> dict[str, str]:
    """Return the reference ``module:name`` of each entry point of a group, by the point's name."""
    return {point.name: point.value for point in entry_points(group=group)}


def find(name: str, known: Mapping[str, Any], references: Mapping[str, str], what: str) -> Any:
    """Return an object by its name.

    The name is a key of `known`, a key of `references` (whose values are ``module:name``), or
    itself ``module:name``. The object is not checked; `what` describes it in messages.
    """
    if not isinstance(name, str):
        raise InvalidInputError(f"the {what} is {name!r}, expected a name")
    if name in known:
        return known[name]
    reference = references.get(name, name)
    if ":" not in reference:
        names = ", ".join(sorted({*known, *references}))
        raise InvalidInputError(
            f"there is no {what} named {name!r}: expected one of {names}, or module:name"
        )
    return load(reference, f"the {what}")


def load(reference: str, what: str) -> Any:
    """Import and return the object ``module:name``; `what` describes it in messages."""
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
