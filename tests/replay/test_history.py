from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from homeward.beliefs.heights import entropy_reduction
from homeward.errors import InvalidFileError
from homeward.planning.explorer import Explorer
from homeward.replay.history import BELIEF_SPACING, History
from homeward.replay.log_reader import LogReader
from homeward.runs import Run, find_kind
from homeward.runs.config import checked

if TYPE_CHECKING:
    from pathlib import Path

    from homeward.replay import Scene


def setup_of(folder: Path) -> Any:
    run = Run(folder)
    kind = find_kind(run.kind)
    return kind.make(checked(kind.config, run.config, "config"))


def history_of(folder: Path, room: int = 1 << 30) -> History:
    log = LogReader(folder / "steps.jsonl")
    log.read_on()
    setup = setup_of(folder)
    return History(
        setup, scene_of(folder, setup), log, find_kind(Run(folder).kind).observations, room
    )


def scene_of(folder: Path, setup: Any) -> Scene:
    make = find_kind(Run(folder).kind).scene
    assert make is not None
    scene: Scene = make(Run(folder).load()[1], setup)
    return scene


def beliefs_of(folder: Path) -> list[Any]:
    """Explore again as recorded, and give the belief after each step."""
    setup = setup_of(folder)
    explorer = Explorer(setup.planner, setup.belief, setup.world)
    found = [explorer.belief]
    for record in Run(folder).records():
        explorer.belief = explorer.belief.update(explorer.world.act(record.action))
        found.append(explorer.belief)
    return found


def arrays_of(belief: Any) -> dict[str, Any]:
    names = ("height", "variance", "known", "visited", "success")
    return {name: getattr(belief, name) for name in names if hasattr(belief, name)}


@pytest.mark.parametrize("name", ["grid-safe", "rover"])
def test_the_belief_after_any_step_is_the_explorers_own_to_the_bit(runs: Path, name: str) -> None:
    history, known = history_of(runs / name), beliefs_of(runs / name)
    order = np.random.default_rng(0).permutation(len(known))
    for step in [*order.tolist(), len(known) - 1, 0, 17, 16, 15]:
        if step < len(known):
            found = arrays_of(history.at(step))
            for key, array in arrays_of(known[step]).items():
                np.testing.assert_array_equal(found[key], array)


def test_with_little_room_fewer_are_kept_and_all_are_found(runs: Path) -> None:
    known, whole = beliefs_of(runs / "rover"), history_of(runs / "rover")
    whole.at(len(known) - 1)
    room = whole.beliefs.bytes // 2
    small = history_of(runs / "rover", room=room)
    for step in reversed(range(len(known))):
        np.testing.assert_array_equal(small.at(step).height, known[step].height)  # type: ignore[attr-defined]
    assert small.beliefs.spacing > BELIEF_SPACING
    assert 2 <= len(small.beliefs.kept) < len(whole.beliefs.kept)
    assert small.beliefs.bytes <= room


def test_what_is_made_of_a_belief_is_not_kept_with_it(runs: Path) -> None:
    history = history_of(runs / "rover")
    for step in (60, 20, 16, 0):
        history.at(step).mean()
    assert all("_success" not in vars(belief) for belief in history.beliefs.kept.values())
    assert "_success" not in vars(history._last)


def test_it_learns_on_for_as_long_as_it_may(runs: Path) -> None:
    history = history_of(runs / "rover")
    assert not history.advance(60, -1.0)
    assert history.reached == 0
    assert history.advance(60, float("inf"))
    assert history.reached == 60


def test_known_on_terrain_is_the_entropy_taken_off(runs: Path) -> None:
    history, known = history_of(runs / "rover"), beliefs_of(runs / "rover")
    history.advance(60, float("inf"))
    prior = setup_of(runs / "rover").belief
    assert history.known == pytest.approx([entropy_reduction(prior, b) for b in known])


def test_known_on_a_grid_is_the_fraction_that_was_seen(runs: Path) -> None:
    history = history_of(runs / "grid-safe")
    setup = setup_of(runs / "grid-safe")
    seen = [setup.world.seen.mean()]
    for record in Run(runs / "grid-safe").records():
        setup.world.act(record.action)
        seen.append(setup.world.seen.mean())
    history.advance(len(seen) - 1, float("inf"))
    assert history.known == pytest.approx(seen)


def test_a_record_that_the_world_does_not_follow_is_refused(own: Path) -> None:
    history = history_of(own / "grid-safe")
    history.log.nexts[2] = (history.log.nexts[2] + 7) % 36
    with pytest.raises(InvalidFileError, match="step 3 ends in state"):
        history.at(5)
