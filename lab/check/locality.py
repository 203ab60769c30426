"""Checks that runs do not depend on data that a step caches for the next step.

A run caches arrays of beliefs, ways home and bounds, and repairs them at each step. The same run is
repeated with everything computed from scratch at each step: every belief is rebuilt from its
heights and attempts, and every decision is made by new rules. Both runs must be equal, bit by
bit: the states, actions, proposals, promises, texts and arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from homeward.beliefs import TerrainBelief
from homeward.kinds.rover.config import MARS
from homeward.planning.explorer import Explorer, Rules
from lab.check.progress import cells_of, setup_of

OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"mast": 2.0},
    {"distance": 1000.0},
    {"back_within": 30},
    {"belief": "correlated"},
)
"""Options of runs on terrain, which take turns."""

SHOWN_STEPS = 16  # steps between two decisions whose evidence is compared


def cases_of(runs: int, limit: int) -> list[tuple[dict[str, Any], int]]:
    """Return the cells and seeds of random runs of at most `limit` steps."""
    cells, counts = cells_of(limit=limit, runs=runs)
    found, turn = [], 0
    for cell, count in zip(cells, counts, strict=True):
        for seed in range(count):
            options = {}
            if cell["ground"] == MARS:
                options, turn = OPTIONS[turn % len(OPTIONS)], turn + 1
            found.append(({**cell, "options": options}, seed))
    return found


def compare(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return a row: the steps of a run, and the first step that differs from scratch, or None."""
    kept, anew = (trace(cell, seed, from_nothing=choice) for choice in (False, True))
    steps, differs = 0, None
    for steps, (mine, other) in enumerate(zip(kept, anew, strict=True), start=1):
        if mine != other:
            differs = steps
            break
    ground = ", ".join([cell["ground"], *cell.get("options", ())])
    return {"ground": ground, "steps": steps, "differs": differs}


def trace(cell: dict[str, Any], seed: int, *, from_nothing: bool) -> Iterator[tuple[Any, ...]]:
    """Yield the values of each step that are compared; the last values are the end of the run."""
    setup = setup_of(cell, seed)
    explorer = cast("Explorer", setup.explorer())
    while explorer.end is None and explorer.steps < setup.limit:
        if from_nothing:
            if isinstance(explorer.belief, TerrainBelief):
                explorer.belief = replace(explorer.belief)
            rules, given = explorer.rules, (explorer.belief, explorer.planner, explorer.start)
            explorer.rules = Rules.of(*given, rules.floor)
        shown: tuple[Any, ...] = ()
        if explorer.steps % SHOWN_STEPS == 0:
            now = explorer.belief, explorer.run_state, explorer.here
            options = explorer.rules.options(*now)
            fields = [(each.value().tobytes(), each.policy().tobytes()) for each in options]
            shown = str(explorer.explain()), fields
        step = explorer.step()
        if step is None:
            break
        assert step.run_state is not None
        promises = [(p.spent, p.way.tobytes()) for p in step.run_state.promises]
        pursued = step.run_state.proposal, step.run_state.remaining, step.run_state.idle
        yield step.state, step.action, promises, pursued, shown
    yield explorer.end, explorer.why()
