from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from homeward.replay import InterruptedReplayError, NotRecordedError, Replay
from homeward.replay.ghosts import GHOSTS, MIN_GHOSTS, ghosts_of

if TYPE_CHECKING:
    from pathlib import Path


def doubtful(replay: Replay, step: int) -> int:
    """Give a cell whose way home is likely and not sure."""
    value = replay.at(step).returns[1].value
    found = np.flatnonzero((value > 0.3) & (value < 0.95))
    return int(found[0])


@pytest.mark.parametrize("name", ["grid-safe", "grid-unsafe", "grid-paper", "rover", "rover-paper"])
def test_as_many_come_home_as_is_proven(runs: Path, name: str) -> None:
    replay = Replay(runs / name)
    step = min(3, len(replay.log))
    cell = doubtful(replay, step)
    told = [replay.ghosts(step, cell, seed) for seed in range(5)]
    home = [place is None for each in told for place in each["lost"]]
    bound = told[0]["bound"]
    assert len(home) == 5 * GHOSTS
    assert not all(home)
    assert np.mean(home) > bound - 4.0 * np.sqrt(bound * (1.0 - bound) / len(home))


@pytest.mark.parametrize("name", ["grid-safe", "rover"])
def test_a_ghost_is_lost_at_the_first_move_that_fails_in_its_world(runs: Path, name: str) -> None:
    replay = Replay(runs / name)
    moment = replay.at(3)
    cell = doubtful(replay, 3)
    told = replay.ghosts(3, cell, 7)
    edges = moment.way(cell)["edges"]
    assert told["path"] == [cell, *(edge["to"] for edge in edges)]
    rng = np.random.default_rng(7)
    for place in told["lost"]:
        world: Any = moment.belief.sample(rng)
        here = cell
        for number, edge in enumerate(edges):
            if world.success[here, edge["action"]] == 0.0:
                assert place == number
                break
            here = int(world.dest[here, edge["action"]])
        else:
            assert place is None
            assert here == told["path"][-1]


def test_the_held_way_home_is_what_the_explorer_walks(runs: Path) -> None:
    replay = Replay(runs / "rover")
    for step in (10, len(replay.log)):
        moment = replay.at(step)
        told = replay.ghosts(step, moment.state, 1)
        assert told["bound"] == replay.why(step)["way_home"]
        assert told["path"][-1] == moment.start


def test_without_a_proven_way_home_there_is_nothing_to_walk(runs: Path) -> None:
    replay = Replay(runs / "grid-unsafe")
    value = replay.at(3).returns[1].value
    told = replay.ghosts(3, int(np.flatnonzero(value == 0.0)[0]), 1)
    assert (told["bound"], told["path"], told["lost"]) == (0.0, [], [])


def test_fewer_worlds_are_drawn_on_large_maps(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replay = Replay(runs / "grid-safe")
    for most, count in ((20 * 36, 20), (1, MIN_GHOSTS)):
        monkeypatch.setattr("homeward.replay.ghosts.MAX_DRAWN_CELLS", most)
        moment = replay.at(3)
        told = ghosts_of(moment, moment.state, 1, lambda: None)
        assert len(told["lost"]) == count


def test_another_request_interrupts_the_drawing(runs: Path) -> None:
    replay = Replay(runs / "rover")
    replay.interrupted = lambda: True
    with pytest.raises(InterruptedReplayError):
        replay.ghosts(10, replay.at(10).state, 1)


def test_a_cell_off_the_map_is_refused(runs: Path) -> None:
    with pytest.raises(NotRecordedError, match="no cell 36"):
        Replay(runs / "grid-safe").ghosts(3, 36, 1)
