"""What a page may set for a new run of a kind, and how large such a run may be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

MAX_CELLS = 4_000_000
"""Cells of the largest map that is explored from a page."""


@dataclass(frozen=True, slots=True)
class Form:
    """What a page may set for a new run.

    Parameters
    ----------
    keys
        Keys of the configuration that a client may set; none names a file, but those of `files`.
    files
        Keys whose value is a file: a client names one that it sent, or one of these names.
    of_the_file
        Keys that a file which was sent says itself.
    check
        Raises `InvalidInputError` for a configuration that is too large for a page.
    safe, unsafe
        What turns a configuration into that of a safe explorer, and of one that keeps nothing safe.
    promises
        Keys that the unsafe explorer does not take.
    preview
        From a configuration to maps [R, C] by name and what is said of them, as JSON values.
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
