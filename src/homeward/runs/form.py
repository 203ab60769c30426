"""The form of a kind: the keys that the page may set for a new run, and their limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

MAX_CELLS = 4_000_000
"""Maximum number of cells of a map that is explored from a page."""


@dataclass(frozen=True, slots=True)
class Form:
    """What a page may set for a new run.

    Parameters
    ----------
    keys
        Keys of the configuration that a client may set; only those of `files` may name a file.
    files
        Keys whose value is a file: the client gives an upload of its own, or one of these names.
    of_the_file
        Keys that are read from an uploaded file.
    check
        Raises `InvalidInputError` for a configuration that is too large for a page.
    safe, unsafe
        Values that turn a configuration into that of a safe or an unsafe explorer.
    promises
        Keys that the unsafe explorer does not take.
    preview
        From a configuration to maps [R, C] by name, and their description as JSON values.
    preview_keys
        The keys that a preview depends on.
    """

    keys: tuple[str, ...]
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    of_the_file: tuple[str, ...] = ()
    check: Callable[[Any], None] | None = None
    safe: Mapping[str, Any] = field(default_factory=dict)
    unsafe: Mapping[str, Any] = field(default_factory=dict)
    promises: tuple[str, ...] = ()
    preview: Callable[[Any], tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]] | None = None
    preview_keys: tuple[str, ...] = ()
