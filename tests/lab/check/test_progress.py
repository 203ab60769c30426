from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from homeward.planning.ends import End
from homeward.planning.explorer import Explorer
from lab.check.progress import (
    DELTAS,
    SHORT,
    WINDOW,
    cells_of,
    explore,
    faults_of,
    follow,
    gain_between,
    raster_of,
    setup_of,
    summarise,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from homeward.kinds.rover.world import Rover
    from homeward.planning.explorer import Decision

TERRAIN = {"ground": "mars", "sensor": 0.0, "noise": 1e-4, "delta": 0.9, "side": 6, "limit": 150}
SQUARES = {"ground": "grid, walls .2", "delta": 0.9, "side": 5, "limit": 300}
TILES = {"ground": "FrozenLake 4x4", "delta": 0.7, "side": 5, "limit": 100}


def test_at_least_two_hundred_runs_have_sensors_with_which_moves_fail() -> None:
    cells, counts = cells_of()
    short = [c for cell, c in zip(cells, counts, strict=True) if cell.get("sensor", 9.0) <= SHORT]
    assert sum(short) >= 200
    assert sum(counts) - sum(short) >= 100
    assert {cell["delta"] for cell in cells} == set(DELTAS)


def test_a_part_of_the_runs_is_drawn_from_all_of_them() -> None:
    whole, _ = cells_of(["ground.tif"])
    cells, counts = cells_of(["ground.tif"], runs=60)
    assert sum(counts) == 60
    assert all(cell in whole for cell in cells)
    assert {"mars", "ground.tif"} < {cell["ground"] for cell in cells}
    assert cells_of(["ground.tif"], runs=60) == (cells, counts)


@pytest.mark.parametrize(
    "cell", [TERRAIN, {**TERRAIN, "sensor": 1.5, "noise": 1e-2, "limit": 120}, SQUARES, TILES]
)
def test_a_run_keeps_the_law_and_is_the_same_whenever_it_is_made(cell: dict[str, Any]) -> None:
    found = explore(cell, 1)
    assert faults_of(found) == []
    assert found["learned"] > 0.0
    assert found["home"]
    assert explore(cell, 1) == found


def test_news_is_what_an_observation_brought() -> None:
    for cell, least in ((TERRAIN, 0.05), (SQUARES, 1.0), (TILES, 1.0)):
        explorer = setup_of(cell, 0).explorer()
        before, gains = explorer.belief, []
        for _ in explorer.explore(20):
            gains.append(gain_between(before, explorer.belief))
            before = explorer.belief
        assert max(gains) >= least
        assert min(gains) >= 0.0
        assert gain_between(before, before) == 0.0


def led(
    monkeypatch: pytest.MonkeyPatch, cell: dict[str, Any], lead: Callable[[Rover], int]
) -> Explorer:
    """Return an explorer that does what `lead` says, whatever is decided."""
    setup = setup_of(cell, 0)
    explorer, world = cast("Explorer", setup.explorer()), cast("Rover", setup.world)
    decided = explorer.decide()

    def decide() -> Decision:
        return replace(decided, action=lead(world))

    monkeypatch.setattr(explorer, "decide", decide)
    return explorer


def to_and_fro(rover: Rover) -> int:
    """Return the move to a neighbour of the start, or back from it."""
    dest, success = rover.moves.dest, rover.moves.success > 0.0
    there = next(
        int(t)
        for t in dest[rover.start][success[rover.start]]
        if t != rover.start and (success[t] & (dest[t] == rover.start)).any()
    )
    target = there if rover.state == rover.start else rover.start
    return int(np.argmax(success[rover.state] & (dest[rover.state] == target)))


def test_an_explorer_that_goes_to_and_fro_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    found = follow(led(monkeypatch, TERRAIN, to_and_fro), 260)
    assert found["end"] == "STEPS"
    assert found["learned"] > 0.0
    assert WINDOW <= found["last"] == found["longest"] < 260
    assert found["repeated"] == 0
    assert faults_of(found) == [
        f"{found['longest']} steps without news",
        "no news at the step limit",
    ]


def into_the_wall(rover: Rover) -> int:
    """Return a move from the start to a neighbour that never works."""
    dest, success = rover.moves.dest[rover.state], rover.moves.success[rover.state]
    return int(np.argmax((success == 0.0) & (dest != rover.state)))


def steep(monkeypatch: pytest.MonkeyPatch) -> Explorer:
    """Return an explorer that tries a move again and again that never works."""
    explorer = led(monkeypatch, TERRAIN, into_the_wall)
    rover = cast("Rover", explorer.world)
    success = rover.moves.success.copy()
    success[rover.start, 1:] = 0.0
    rover.moves = rover.moves.with_success(success)
    return explorer


def test_a_failed_move_that_is_repeated_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    found = follow(steep(monkeypatch), 5)
    # After the first attempt the belief has 0 for it.
    assert (found["steps"], found["failed"], found["repeated"]) == (5, 1, 4)


def test_so_it_is_by_an_explorer_that_learns_nothing_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    explorer = steep(monkeypatch)
    monkeypatch.setattr(type(explorer.belief), "absorb", lambda self, _: (self, None))
    found = follow(explorer, 5)
    assert (found["failed"], found["repeated"], found["learned"]) == (5, 4, 0.0)


def test_a_push_that_slipped_may_be_tried_again_with_what_was_learned() -> None:
    cell = {"ground": "FrozenLake 4x4, known to slip", "delta": 0.5, "side": 5, "limit": 40}
    runs = [explore(cell, seed) for seed in range(2)]
    assert sum(run["failed"] for run in runs) > 0
    assert sum(run["repeated"] for run in runs) == 0


def test_a_raster_is_taken_to_the_scale_of_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "slope.npy"
    np.save(path, np.add.outer(np.arange(30.0), np.zeros(20)))
    given = raster_of(str(path), 8)
    assert (given["window"], given["cell"]) == ("2,7,16,16", 2.0)
    assert (given["blur"], given["sensor_offset"]) == (0.5, 0.1)
    assert given["climb"] >= 5.0
    cell = {**TERRAIN, "ground": str(path), "sensor": 1.0, "side": 8}
    setup = setup_of(cell, 0)
    assert cast("Rover", setup.world).shape == (8, 8)
    assert faults_of(explore({**cell, "limit": 40}, 0)) == []


def run(**changes: Any) -> dict[str, Any]:
    base = {"ground": "mars", "sensor": 1.0, "steps": 900, "end": End.TOO_LITTLE.name}
    return {**base, "longest": 9, "last": 0, "failed": 3, "repeated": 0, "home": True, **changes}


def test_runs_are_put_together_by_ground_and_sensor() -> None:
    end = End.STEPS.name
    runs = [run(), run(longest=200, home=False), run(sensor=0.0, end=end, repeated=2)]
    runs += [run(ground="far/away.tif", end=end, last=200, longest=250)]
    one, zero, away, everything = summarise(runs)
    keys = ("ground", "runs", "worst", "repeated", "limited", "gaining", "stranded", "broken")
    assert [[total[key] for key in keys] for total in (one, zero, away, everything)] == [
        ["mars", 2, 200, 0, 0, 0, 1, 1],
        ["mars", 1, 9, 2, 1, 1, 0, 1],
        ["away", 1, 250, 0, 1, 0, 0, 1],
        ["all", 4, 250, 2, 2, 1, 1, 3],
    ]
    assert (one["longest"], everything["failed"]) == (104.5, 12)
