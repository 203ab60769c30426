"""What the solvers need to know of a move-or-stay graph apart from its chances, found once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homeward.solvers import kernels

if TYPE_CHECKING:
    from homeward.arrays import IntArray
    from homeward.models import Moves


def unsigned(indices: IntArray) -> IntArray:
    """See int32 indices as uint32: compiled code then need not ask whether they are negative."""
    return indices.view(np.uint32)


def ways_to(model: Moves) -> tuple[IntArray, IntArray, IntArray]:
    """List the edges between states by where they lead: (first, source, action).

    Those to t are ``first[t] <= e < first[t + 1]``, from ``source[e]`` by ``action[e]``.
    """
    if "ways" not in model.memo:
        small: IntArray = np.empty(0, np.uint32)
        if model.actions <= 256:
            small = small.astype(np.uint8)
        model.memo["ways"] = kernels.reverse_edges(unsigned(model.dest), small)
    ways: tuple[IntArray, IntArray, IntArray] = model.memo["ways"]
    return ways
