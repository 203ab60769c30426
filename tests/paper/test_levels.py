from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from homeward.kinds.rover.kind import make
from homeward.paper.levels import (
    Count,
    cells_of,
    config_of,
    explore,
    has_way,
    held_works,
    is_held,
    summarise,
)

if TYPE_CHECKING:
    from homeward.kinds.rover.world import Rover


def test_every_noise_comes_with_every_level() -> None:
    cells = cells_of()
    assert len(cells) == 10
    config = config_of(cells[-1], 4)
    assert (config.truth, config.algorithm, config.home) == ("prior", "rate", "start")
    assert (config.sensor_range, config.sensor_noise, config.delta) == (29.0, 1e-2, 0.5)


def test_a_run_at_level_one_never_loses_its_way_home() -> None:
    found = explore({"noise": 1e-2, "delta": 1.0, "limit": 40}, 3)
    assert (found["turns"], found["stranded_at"]) == ("", None)
    assert found["spent"] <= 1e-9
    assert 0 <= found["recall"] <= 40


def test_a_run_is_the_same_whenever_it_is_made() -> None:
    cell = {"noise": 1e-2, "delta": 0.5, "limit": 30}
    assert explore(cell, 1) == explore(cell, 1)


def test_a_held_way_works_where_the_true_ground_lets_it() -> None:
    setup = make(config_of({"noise": 1e-2, "delta": 0.7, "limit": 20}, 0))
    explorer, rover = setup.explorer(), cast("Rover", setup.world)
    assert held_works(explorer.run_state, rover)
    steps = list(explorer.explore(15))
    held = steps[-1].run_state
    assert held is not None
    assert rover.state != rover.start
    assert held_works(held, rover)
    rover.moves = type(rover.moves)(rover.moves.dest, np.zeros_like(rover.moves.success))
    assert not held_works(held, rover)
    assert not held_works(None, rover)


def row(seed: int, **changes: Any) -> dict[str, Any]:
    base = {"noise": 1e-2, "delta": 0.9, "seed": seed, "nats": 10.0, "steps": 9, "recall": 5}
    return {**base, "turns": "", "stranded_at": None, "spent": 0.0, **changes}


def test_a_way_home_is_lost_and_found_again_at_its_turns() -> None:
    lost = row(0, turns="3 6", stranded_at=8)
    assert [is_held(lost, step) for step in (2, 3, 5, 6, 9)] == [True, False, False, True, True]
    assert [has_way(lost, step) for step in (7, 8, 9)] == [True, False, False]


def test_the_worst_step_is_that_with_the_fewest_ways_home() -> None:
    rows = [row(0, turns="3 6"), row(1, turns="4"), row(2, stranded_at=7), row(3)]
    rows += [row(seed, delta=0.5, nats=12.0) for seed in range(4)]
    strict, loose = summarise(rows)
    assert (strict.held_worst.home, strict.held_worst.step) == (2, 4)
    assert (strict.worst.home, strict.worst.step) == (3, 7)
    assert (strict.held_random.home, strict.random.home) == (2, 4)
    assert strict.lead is None
    assert loose.lead == pytest.approx(0.2)
    assert loose.holds


def test_a_level_is_refuted_only_where_chance_does_not_explain_it() -> None:
    assert Count(85, 100, 0.9).holds
    assert not Count(75, 100, 0.9).holds
    assert Count(75, 100, 0.9).lower < 0.75
