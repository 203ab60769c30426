"""Checks of runs whose belief is contradicted by what happens.

In a world drawn from its belief, a run never refutes it. Then the same run is repeated in a world
that lies: from a random step on, the first move that the belief holds certain fails. From then on
the run must claim nothing: it ends with the code ``refuted``, it keeps a probability of 0, and all
of its budget is spent. Its way home must be the best supported one: a search of this module, which
shares no code with the explorer, compares the numbers of moves that never worked and of moves
without support. General models are not lied to.
"""

from __future__ import annotations

import heapq
from typing import Any, cast

import numpy as np

from homeward.models import Moves
from homeward.planning.ends import End
from homeward.planning.explorer import Explorer
from lab.check.progress import cells_of, setup_of

CERTAIN = 1.0 - 1e-9  # smallest probability of a move that is held certain

Moved = tuple[int, int, int]  # state, action and next state of a move that was tried


def cases_of(runs: int, limit: int) -> list[tuple[dict[str, Any], int]]:
    """Return the cells and seeds of random runs of at most `limit` steps."""
    cells, counts = cells_of(limit=limit, runs=runs)
    pairs = zip(cells, counts, strict=True)
    return [(cell, seed) for cell, count in pairs for seed in range(count)]


def examine(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return a row on one run and its twin in a world that lies, with what is wrong, or None."""
    setup = setup_of(cell, seed)
    true = cast("Explorer", setup.explorer())
    steps = sum(1 for _ in true.explore(setup.limit))
    wrong = "a belief that is right was refuted" if true.end is End.REFUTED else None
    after = int(np.random.default_rng(seed).integers(max(1, steps)))
    lied, fault = lie(cell, seed, after)
    return {"ground": cell["ground"], "steps": steps, "lied": lied, "wrong": wrong or fault}


def lie(cell: dict[str, Any], seed: int, after: int) -> tuple[bool, str | None]:
    """Return whether a world lied after so many steps, and what is wrong with the run, or None."""
    setup = setup_of(cell, seed)
    world, explorer = cast("Any", setup.world), cast("Explorer", setup.explorer())
    tried: list[Moved] = []
    while explorer.steps < setup.limit:
        belief, state = explorer.belief, explorer.here
        action, model = explorer.decide().action, cast("Any", belief.mean())
        if action is None:
            break
        lies = explorer.steps >= after and isinstance(model, Moves)
        lies = (
            lies and model.dest[state, action] != state and model.success[state, action] >= CERTAIN
        )
        if lies:
            success = world.moves.success.copy()
            success[state, action] = 0.0
            world.moves = world.moves.with_success(success)
        explorer.step()
        tried.append((state, action, explorer.here))
        if lies:
            return True, _fault(explorer, tried)
    return False, None


def _fault(explorer: Explorer, tried: list[Moved]) -> str | None:
    """Return what a run still claims after a lie, or what is wrong with its way home."""
    run = explorer.run_state
    if list(explorer.explore(explorer.steps + 9)) or explorer.end is not End.REFUTED:
        return f"the run ended with {explorer.end}"
    if run.kept > 0.0 or any(promise.spent < 1.0 for promise in run.promises):
        return f"the run still claims {run.kept:g}"
    model, goals = cast("Any", explorer.belief.mean()), explorer.rules.goals
    for goal, promise in zip(goals, run.promises, strict=True):
        costs, homes = costs_of(model, tried), set(goal.homes.tolist())
        here, found = explorer.here, (0, 0)
        least = cheapest(model.dest, costs, homes, here)
        while here not in homes and promise.action(here) >= 0:
            edge = here, promise.action(here)
            never, unsupported = costs.get(edge, (9, 9))
            found, here = (found[0] + never, found[1] + unsupported), int(model.dest[edge])
        if (found if here in homes else None) != least:
            return f"the way home has {found} moves that never worked or lack support, not {least}"
    return None


def costs_of(model: Any, tried: list[Moved]) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the costs of the moves that may be taken: whether each never worked, or lacks support.

    Moves that were not tried and that the belief rules out may not be taken.
    """
    last = {(state, action): there for state, action, there in tried}
    ever = {(state, action) for state, action, there in tried if there != state}
    costs: dict[tuple[int, int], tuple[int, int]] = {}
    for state, action in np.argwhere(model.success > 1.0 - CERTAIN).tolist():
        costs[state, action] = (0, 1)
    for (state, action), there in last.items():
        worked = there != state
        costs[state, action] = (0, int(not worked)) if (state, action) in ever else (1, 0)
        for back in np.flatnonzero(model.dest[there] == state).tolist() if worked else ():
            if (there, back) not in last and model.success[there, back] >= CERTAIN:
                costs[there, back] = (0, 0)
    return costs


def cheapest(
    dest: Any, costs: dict[tuple[int, int], tuple[int, int]], homes: set[int], state: int
) -> tuple[int, int] | None:
    """Return the least cost of a path from a state to a home; None without a path."""
    heap, done = [((0, 0), state)], set[int]()
    while heap:
        cost, here = heapq.heappop(heap)
        if here in homes:
            return cost
        if here in done:
            continue
        done.add(here)
        for action in range(dest.shape[1]):
            more = costs.get((here, action))
            if more is not None and dest[here, action] != here:
                total = cost[0] + more[0], cost[1] + more[1]
                heapq.heappush(heap, (total, int(dest[here, action])))
    return None
