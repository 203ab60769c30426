"""One run of a study: the explorer's loop, with a function that measures each step.

A study's task makes a setup from its cell and seed, plays it, and returns a row of measurements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from homeward.planning.explorer import Loop, Step
    from homeward.runs.kind import Setup

Measure: TypeAlias = "Callable[[Loop, Step], bool | None]"


def play(setup: Setup, measure: Measure | None = None, explorer: Loop | None = None) -> Loop:
    """Return an explorer after it has taken every step of a setup.

    Parameters
    ----------
    measure
        Called with the explorer and each step that it took; True ends the run.
    explorer
        Plays in the place of the setup's own explorer.
    """
    explorer = setup.explorer() if explorer is None else explorer
    for step in explorer.explore(setup.limit):
        if measure is not None and measure(explorer, step):
            break
    return explorer
