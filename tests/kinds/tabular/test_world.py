"""The toy-text worlds and the tied belief over what their actions do."""

import numpy as np
import pytest

from homeward.beliefs import Transition
from homeward.errors import InvalidProblemError
from homeward.kinds.tabular.world import (
    DIRECTIONS,
    NAMES,
    WAIT,
    Name,
    TileMap,
    ToyTextWorld,
    tile_belief,
    tile_map,
)

LEFT, DOWN, RIGHT, UP = range(4)


@pytest.mark.parametrize("name", NAMES)
def test_where_an_action_goes_ahead_is_where_gymnasium_goes(name: Name) -> None:
    if "slippery" in name:
        return
    world = ToyTextWorld(name, seed=0)
    ahead = world.tiles.outcomes()[:, :, 0]
    rows = world.env.unwrapped.P
    for s in np.flatnonzero(~world.tiles.final):
        for a, direction in enumerate(DIRECTIONS):
            ((_, target, reward, _),) = rows[int(s)][world._order[direction]]
            if reward <= -100:
                assert world.tiles.deadly[ahead[s, a]]
            else:
                assert ahead[s, a] == target


@pytest.mark.parametrize(("name", "side"), [("slippery lake", 4), ("large slippery lake", 8)])
def test_slippery_outcomes_are_ahead_left_and_right_alike(name: Name, side: int) -> None:
    world = ToyTextWorld(name, seed=0)
    assert world.tiles.shape == (side, side)
    outcomes = world.tiles.outcomes()
    rows = world.env.unwrapped.P
    for s in np.flatnonzero(~world.tiles.final):
        for a, direction in enumerate(DIRECTIONS):
            found = sorted(int(t) for _, t, _, _ in rows[int(s)][world._order[direction]])
            assert found == sorted(outcomes[s, a, :3].tolist())


def test_what_is_learned_on_one_tile_is_known_on_another() -> None:
    belief = tile_belief(tile_map("cliff"), (1.0, 1.0, 1.0, 1.0))
    here, there = 15, 18  # two tiles in the open
    before = belief.mean().row(there, UP)[there - 12]
    after = belief.update(Transition(here, UP, here - 12)).mean().row(there, UP)[there - 12]
    assert (before, after) == (pytest.approx(0.25), pytest.approx(0.4))


def test_waiting_is_sure_and_moves_nothing() -> None:
    world = ToyTextWorld("slippery lake", seed=0)
    assert world.act(WAIT) == Transition(0, WAIT, 0)
    belief = tile_belief(world.tiles, (1.0, 1.0, 1.0, 1.0))
    assert belief.mean().row(0, WAIT)[0] == 1.0
    assert belief.correction()[0, WAIT] == 0.0


def test_falling_off_the_cliff_ends_it() -> None:
    world = ToyTextWorld("cliff", seed=0)
    start = world.state
    assert world.act(RIGHT) == Transition(start, RIGHT, start + 1)
    assert world.ended
    assert world.died


def test_the_goal_ends_it_without_a_death() -> None:
    world = ToyTextWorld("lake", seed=0)
    for action in (DOWN, DOWN, RIGHT, RIGHT, DOWN, RIGHT):
        world.act(action)
    assert "".join(world.tiles.tiles)[world.state] == "G"
    assert world.ended
    assert not world.died


@pytest.mark.parametrize("tiles", [(), ("SF", "F"), ("FF", "FF"), ("SS", "FF")])
def test_a_map_that_is_none_is_refused(tiles: tuple[str, ...]) -> None:
    with pytest.raises(InvalidProblemError):
        TileMap(tiles)
