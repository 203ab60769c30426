"""Differences of maps, so that a live run sends only what changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

SPARSE_SHARE = 0.25  # share of changed cells up to which a difference is smaller than the layer
CELLS = ".cells"
"""Suffix of the array with the indices of the changed cells of a layer."""


def differences(
    before: Mapping[str, NDArray[Any]], after: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Return what changed in each layer [R, C], or the layer itself if much changed.

    A changed layer has the indices of its changed cells, ``name.cells`` [n], and their values [n].
    """
    found: dict[str, NDArray[Any]] = {}
    for name, layer in after.items():
        old, new = before[name].ravel(), layer.ravel()
        changed = old != new
        if new.dtype.kind == "f":
            changed &= ~(np.isnan(old) & np.isnan(new))
        cells = np.flatnonzero(changed)
        if cells.size > SPARSE_SHARE * new.size:
            found[name] = layer
        else:
            found[name + CELLS], found[name] = cells.astype(np.int32), new[cells]
    return found
