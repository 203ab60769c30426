from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import homeward as hw
from homeward.errors import InvalidProblemError

HUT = hw.SparseMDP.from_names(
    {
        "hut": {"walk": {"camp": 0.7, "hut": 0.2}, "wait": "hut"},
        "camp": {"walk": "hut"},
    }
)


def test_transitions_have_the_frequencies_of_the_model() -> None:
    rng, found = np.random.default_rng(0), {"hut": 0, "camp": 0, None: 0}
    for seed in rng.integers(2**31, size=4000).tolist():
        world = hw.ModelWorld(HUT, "hut", seed)
        seen = world.act("walk")
        assert (seen.next_state is None) == world.ended
        found[None if seen.next_state is None else HUT.state_name(world.state)] += 1
    shares = np.array(list(found.values())) / 4000
    assert shares == pytest.approx([0.2, 0.7, 0.1], abs=0.03)


def test_the_same_seed_gives_the_same_transitions() -> None:
    model = hw.Moves(np.array([[0, 1], [1, 0]]), np.array([[1.0, 0.5], [1.0, 0.5]]))
    first, again, other = (
        [world.act(1) for _ in range(50)]
        for world in (hw.ModelWorld(model, 0, k) for k in (7, 7, 8))
    )
    assert first == again
    assert first != other


def test_a_row_that_sums_to_one_up_to_rounding_never_ends() -> None:
    row = np.full((1, 1, 1), 1.0 - 2**-53)
    world = hw.ModelWorld(hw.SparseMDP.from_dense(row), 0, 0)
    assert [world.act(0).next_state for _ in range(100)] == [0] * 100


@pytest.mark.parametrize(
    ("start", "action", "said"),
    [
        ("hutt", "walk", "the start is 'hutt', .* did you mean 'hut'"),
        (2, "walk", "the start is 2, outside 0..1"),
        ("hut", "wlk", "the action is 'wlk', .* did you mean 'walk'"),
        ("camp", "wait", "wait can't be chosen in camp"),
    ],
)
def test_what_does_not_exist_is_refused_by_name(start: Any, action: Any, said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        hw.ModelWorld(HUT, start).act(action)


def test_no_action_follows_the_end() -> None:
    world = hw.ModelWorld(hw.SparseMDP.from_dense(np.zeros((1, 1, 1))))
    assert world.act(0) == hw.Transition(0, 0, None)
    with pytest.raises(InvalidProblemError, match="has ended"):
        world.act(0)


def test_names_that_occur_twice_name_nothing() -> None:
    model = hw.Moves(np.array([[0], [1]]), np.ones((2, 1)), state_names=("room", "room"))
    with pytest.raises(InvalidProblemError, match="more than once"):
        hw.ModelWorld(model, "room")
