"""Test of a way home in worlds drawn from the belief of a moment.

In each drawn world an explorer (a "ghost") starts from the same cell and follows the same return
policy. On a model of moves, each ghost follows the same path up to the first move that never works
in its world. A move that works with positive probability is tried until it works.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from homeward.replay.moment import Moment

GHOSTS, MIN_GHOSTS = 100, 10  # number of worlds, on small and on large maps
MAX_DRAWN_CELLS = 20_000_000  # cells of all drawn worlds; large maps get fewer worlds


def ghosts_of(moment: Moment, cell: int, seed: int, check: Callable[[], None]) -> dict[str, Any]:
    """Return as JSON values how the way home from a cell ends in each world that is drawn.

    ``bound`` is the proven probability of coming home. ``path`` [n] has the cells of the way; it is
    empty if no way home is proven. ``lost`` has one entry per drawn world: the index in ``path`` of
    the cell whose move fails, or None. `check` is called before each draw and may raise.
    """
    way = moment.way(cell)
    edges = way["edges"]
    path = [cell, *(edge["to"] for edge in edges)] if way["bound"] > 0.0 else []
    rng, lost = np.random.default_rng(seed), []
    if path and path[-1] in way["home"]:
        for _ in range(min(GHOSTS, max(MIN_GHOSTS, MAX_DRAWN_CELLS // moment.model.states))):
            check()
            world: Any = moment.belief.sample(rng)
            works = (world.success[edge["from"], edge["action"]] > 0.0 for edge in edges)
            lost.append(next((k for k, it_works in enumerate(works) if not it_works), None))
    return {"step": moment.step, "cell": cell, "bound": way["bound"], "path": path, "lost": lost}
