from __future__ import annotations

import copy
import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import homeward as hw
from homeward.errors import InvalidProblemError
from homeward.worlds import GymnasiumTable, Source, from_gymnasium
from homeward.worlds import gymnasium_table as worlds_table

PLANNER = hw.Planner(hw.RMax(), [hw.ReturnHome(0.95)])


class Room(gymnasium.Env[Any, Any]):
    """Four cells in a row; a pit is in cell 2 or 3, and the view shows whether it is next."""

    observation_space = spaces.Box(0, 1, (1,), np.int64)
    action_space = spaces.Discrete(2)
    slips = 0.0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.pit = 2 + int(self.np_random.integers(2))
        self.cell = 0
        return self.seen(), {}

    def seen(self) -> Any:
        return np.array([self.cell + 1 == self.pit])

    def step(self, action: Any) -> Any:
        if not self.slips or self.np_random.random() >= self.slips:
            self.cell = min(3, max(0, self.cell + 2 * int(action) - 1))
        return self.seen(), 1.0, self.cell == self.pit, False, {}


class Slippery(Room):
    slips = 0.3


def cell_of(env: Any) -> int:
    return int(env.cell)


def explored(table: GymnasiumTable, seed: int = 0) -> Any:
    explorer = hw.Explorer(PLANNER, table.belief(), table.world(seed))
    for _ in explorer.explore(2000):
        pass
    return explorer


def test_taxi_is_read_from_its_table_and_explored_safely() -> None:
    taxi = from_gymnasium(gymnasium.make("Taxi-v4"))
    assert taxi.source is Source.TABLE
    assert str(taxi).startswith("Taxi-v4: 500 states, 6 actions. The model was read from")
    explorer = explored(taxi)
    assert not explorer.world.ended  # a passenger who arrives ends the episode
    assert explorer.belief.visited.sum() == 100  # 25 squares with the passenger in 4 places
    assert explorer.run_state.kept == 1.0


def test_the_model_of_a_table_is_exact() -> None:
    env = gymnasium.make("FrozenLake-v1", is_slippery=True)
    (model,), table = from_gymnasium(env, rewards=True).models, env.unwrapped.P  # type: ignore
    holes = {5, 7, 11, 12, 15}
    for s, a in np.ndindex(16, 4):
        expected = np.zeros(16)
        for chance, there, _, _ in table[s][a]:
            expected[there] += chance
        expected = np.eye(16)[s] if s in holes else expected
        assert model.row(s, a) == pytest.approx(expected, abs=1e-15)
    assert model.reward[14, 2] == pytest.approx(1 / 3)


def test_an_environment_without_a_table_is_probed() -> None:
    table = from_gymnasium(Room(), state=cell_of, action_names=("left", "right"))
    assert table.source is Source.PROBED
    explorer = explored(table)
    pit = explorer.world.env.pit
    assert sorted(np.flatnonzero(explorer.belief.visited)) == list(range(pit))


def test_seeds_give_worlds_and_the_view_tells_them_apart() -> None:
    table = from_gymnasium(Room(), state=cell_of, seeds=range(20))
    assert len(table.models) == 2
    for seed in range(8):
        explorer = explored(table, seed)
        pit = explorer.world.env.pit
        assert not explorer.world.ended
        assert sorted(np.flatnonzero(explorer.belief.visited)) == list(range(pit))
        assert len(explorer.belief.worlds) == 1


def test_a_world_that_no_seed_of_the_conversion_gives_is_named() -> None:
    room = Room()
    table = from_gymnasium(room, state=cell_of, seeds=range(20))
    room.seen = lambda: np.array([True])  # type: ignore[method-assign]  # no world shows it here
    with pytest.raises(hw.ImpossibleObservationError, match=r"state 0 .* the seed of this world"):
        table.world(seed=0).look()


def test_random_effects_are_counted_and_said_to_be() -> None:
    table = from_gymnasium(Slippery(), state=cell_of, tries=400)
    assert table.source is Source.COUNTED
    assert "counted" in str(table)
    belief = table.belief()
    assert isinstance(belief, hw.DirichletBelief)
    there = table.numbers[1]
    assert belief.mean().row(table.numbers[0], 1)[there] == pytest.approx(0.7, abs=0.1)


def test_an_environment_that_can_not_be_copied_is_counted() -> None:
    table = from_gymnasium(Bound(), state=cell_of)
    assert table.source is Source.COUNTED
    assert len(table.keys) == table.env.pit + 1


class Bound(Room):
    """A room that can't be copied."""

    def __deepcopy__(self, memo: Any) -> Any:
        raise TypeError("bound to a device")


def test_each_world_of_a_table_is_in_an_episode_of_its_own() -> None:
    table = from_gymnasium(gymnasium.make("FrozenLake-v1", is_slippery=False))
    world = table.world(0)
    assert world.act(2).next_state == 1
    table.world(0)
    from_gymnasium(table.env, state=lambda env: int(env.s))  # converts by resets and steps
    assert world.act(1).next_state == 5  # a hole
    assert world.ended


@pytest.mark.parametrize("taken", ["world", "same", "converted"])
def test_a_world_whose_environment_was_taken_refuses_to_go_on(taken: str) -> None:
    table = from_gymnasium(Bound(), state=cell_of)
    world = table.world(0)
    world.act(1)
    if taken == "world":
        table.world(0)
    elif taken == "same":
        hw.GymWorld(table.env, state=cell_of, table=table)
    else:
        from_gymnasium(table.env, state=cell_of)
    for turn in (world.look, lambda: world.act(1)):
        with pytest.raises(InvalidProblemError, match="Bound was reset for another world"):
            turn()


def test_a_copy_of_a_world_goes_on_where_the_world_was() -> None:
    world = from_gymnasium(gymnasium.make("FrozenLake-v1", is_slippery=False)).world()
    other = copy.deepcopy(world)
    assert world.act(2).next_state == other.act(2).next_state == 1


class Trap(gymnasium.Env[Any, Any]):
    """Six cells in a row; a step to the right falls into a pit with probability .1."""

    observation_space = spaces.Discrete(7)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.cell = 0
        return 0, {}

    def step(self, action: Any) -> Any:
        falls = self.np_random.random() < 0.1 and action == 1
        self.cell = 6 if falls else min(5, max(0, self.cell + 2 * int(action) - 1))
        return self.cell, 0.0, falls, False, {}


def test_an_effect_that_few_tries_did_not_show_is_not_impossible() -> None:
    table = from_gymnasium(Trap(), tries=4, seeds=(13,))
    assert max(map(len, table.counts)) == 1  # no try fell, so every row has one effect
    assert table.source is Source.COUNTED
    model = table.belief().mean()
    assert isinstance(model, hw.SparseMDP)
    assert np.allclose(model.transitions[[0, 1]].sum(axis=1), 5.0 / 6.0)
    assert explored(table).belief.visited.sum() == 1  # it does not dare to move


def test_an_action_that_was_never_tried_counts_as_lost() -> None:
    found = worlds_table._count(Trap(), None, 0, 100)
    del found.counts[0, 1]
    keys = tuple(found.keys)
    rows = found.rows(keys, 2)
    assert rows[2 * keys.index(0) + 1] == {-1: 1}
    assert rows[2 * keys.index(6) + 1] == {keys.index(6): 1}


def test_a_discrete_world_needs_no_conversion() -> None:
    world = hw.GymWorld(gymnasium.make("CliffWalking-v1"), 0)
    assert (world.state, world.look()) == (36, hw.Visit(36))
    assert world.act(0) == hw.Transition(36, 0, 24)
    assert world.reward == -1.0


def test_a_time_limit_ends_nothing() -> None:
    world = hw.GymWorld(gymnasium.make("CliffWalking-v1", max_episode_steps=2), 0)
    for _ in range(4):
        world.act(3)
    assert not world.ended


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("CartPole-v1", "CartPole-v1 has observations of Box.*give state="),
        ("Pendulum-v1", "Pendulum-v1 has actions of Box.*finitely many actions"),
    ],
)
def test_an_environment_without_finitely_many_states_is_refused(name: str, said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        from_gymnasium(gymnasium.make(name))


def test_too_many_states_are_refused() -> None:
    with pytest.raises(InvalidProblemError, match="more than 3 states"):
        from_gymnasium(Room(), state=cell_of, max_states=3, seeds=range(9))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"seeds": ()}, "seeds is empty"),
        ({"tries": 0}, "tries is 0"),
        ({"state": lambda env: [env.cell]}, "can't be hashed"),
    ],
)
def test_options_that_do_nothing_are_refused(options: Any, said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        from_gymnasium(Room(), **({"state": cell_of} | options))


def test_random_effects_in_several_worlds_are_refused() -> None:
    with pytest.raises(InvalidProblemError, match=r"random outcomes.*expected 1"):
        from_gymnasium(Slippery(), state=cell_of, seeds=range(4), tries=40)


@pytest.mark.parametrize(
    "script",
    [
        "import gymnasium, homeward",
        "import homeward\nimport gymnasium",
        "import gymnasium\nprefix = 'homeward:'",
    ],
)
def test_our_environments_are_made_in_a_fresh_process_without_a_warning(script: str) -> None:
    script += """
from gymnasium.utils.env_checker import check_env
for name in ("homeward/Rover-v0", "homeward/HeightGrid-v0"):
    check_env(gymnasium.make(globals().get("prefix", "") + name).unwrapped, skip_render_check=True)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True)


@pytest.mark.parametrize("seeds", [3, None])
def test_seeds_that_are_not_a_list_are_refused(seeds: Any) -> None:
    with pytest.raises(InvalidProblemError, match=rf"seeds is {seeds}, expected a list"):
        from_gymnasium(Room(), state=cell_of, seeds=seeds)
