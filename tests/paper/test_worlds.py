from __future__ import annotations

import numpy as np
import pytest

from homeward.errors import InvalidInputError
from homeward.models import Moves
from homeward.paper.worlds import all_stories, average_loop, known_odds, which_way_back


def test_known_odds_has_the_paper_s_transitions() -> None:
    story = known_odds()
    (world,) = story.belief.worlds
    chances = {
        (world.state_names[s], world.action_names[a], world.state_names[t]): float(p)
        for s in range(world.states)
        for a in np.flatnonzero(np.isfinite(world.reward[s]))
        for t, p in enumerate(world.row(s, int(a)))
        if world.state_names and world.action_names and p > 0
    }
    assert chances == {
        ("S", "a", "B"): 0.8,
        ("S", "a", "E"): 0.2,
        ("B", "a", "F"): 1.0,
        ("B", "b", "S"): 1.0,
        ("B", "c", "B"): 0.9,
        ("B", "c", "E"): 0.1,
        ("F", "b", "B"): 1.0,
        ("E", "a", "E"): 1.0,
    }


@pytest.mark.parametrize("story", [which_way_back(), average_loop()], ids=lambda s: s.title)
def test_the_ambiguous_stories_are_two_equally_likely_move_or_stay_worlds(story) -> None:  # type: ignore[no-untyped-def]
    assert story.belief.weights.tolist() == [0.5, 0.5]
    assert all(isinstance(world, Moves) for world in story.belief.worlds)


def test_home_is_open_from_u_in_one_world_and_from_l_in_the_other() -> None:
    story = which_way_back()
    u, low, a, home = story.state("U"), story.state("L"), story.action("a"), story.home
    first, second = story.belief.worlds
    assert [first.row(u, a)[home], first.row(low, a)[home]] == [1.0, 0.0]
    assert [second.row(u, a)[home], second.row(low, a)[home]] == [0.0, 1.0]
    assert first.row(low, a)[low] == second.row(u, a)[u] == 1.0


def test_both_worlds_share_the_road_out_to_u_and_l() -> None:
    story = which_way_back()
    for world in story.belief.worlds:
        assert world.row(story.home, story.action("a"))[story.state("B")] == 1.0
        assert world.row(story.home, story.action("b"))[story.home] == 1.0
        assert world.row(story.state("B"), story.action("a"))[story.state("U")] == 1.0
        assert world.row(story.state("B"), story.action("b"))[story.state("L")] == 1.0


def test_an_action_that_a_state_lacks_cannot_be_chosen() -> None:
    story = which_way_back()
    reward = story.belief.worlds[0].reward
    assert reward[story.state("U"), story.action("b")] == -np.inf
    assert np.isfinite(reward).sum() == 6


def test_the_mean_of_the_average_loop_moves_on_half_of_the_time() -> None:
    mean = average_loop().belief.mean()
    assert [mean.row(s, 0).tolist() for s in range(3)] == [
        [0.0, 1.0, 0.0],
        [0.0, 0.5, 0.5],
        [0.5, 0.0, 0.5],
    ]


def test_each_world_of_the_average_loop_stops_it_at_another_place() -> None:
    held = [
        [s for s in range(3) if world.row(s, 0)[s] == 1.0] for world in average_loop().belief.worlds
    ]
    assert held == [[2], [1]]


def test_every_story_names_its_worlds() -> None:
    for story in all_stories():
        assert len(story.world_names) == len(story.belief.worlds)


def test_a_letter_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(InvalidInputError, match=r"'Z' is not one of S, B, F, E"):
        known_odds().state("Z")
    with pytest.raises(InvalidInputError, match=r"'z' is not one of a, b, c"):
        known_odds().action("z")
