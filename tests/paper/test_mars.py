from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from tests.terrain.planetary import write_raster

from homeward.agents.searches import Nearest
from homeward.beliefs import Sensor
from homeward.beliefs.heights import TerrainBelief, entropy_reduction
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.kinds.rover.kind import make
from homeward.kinds.rover.world import Rover
from homeward.paper.mars import (
    CHOICES,
    POINTS,
    RING,
    after_looks,
    beside,
    clairvoyant,
    config_of,
    digits_of,
    explore,
    is_stuck,
    longest_without_news,
    name_of,
    pair_of,
    panel_of,
    path_of,
    pinned,
    settings_of,
    story_of,
    summarise,
)
from homeward.planning.ends import End

if TYPE_CHECKING:
    from pathlib import Path

    from homeward.planning.explorer import Explorer

SMALL = settings_of(30, 0.2, sensor_range=60.0)


def row_of(setting: int, seed: int, cells: list[dict[str, Any]] = SMALL) -> dict[str, Any]:
    return {**cells[setting], "seed": seed, **explore(cells[setting], seed)}


def test_the_settings_are_the_papers_and_the_naive_one() -> None:
    assert [name_of(cell) for cell in settings_of(15_000)] == [
        "safe at .98",
        "safe at .90",
        "safe at .70",
        "unsafe",
        "naive at .98",
    ]
    config = config_of(SMALL[0], 3)
    assert (config.explorer, config.delta, config.correction) == ("safe", 0.98, "general")
    assert (config.discount, config.climb, config.descend) == (0.999, 5.0, 45.0)
    assert config.cell is None  # 20 m on synthetic Mars
    assert (config.home, config.terrain_seed, config.seed, config.limit) == ("current", 3, 3, 30)
    assert (config.rows, config.columns, config.sensor_range) == (200, 400, 60.0)
    assert (config.algorithm, config_of(settings_of(30)[0], 3).sensor_range) == ("paper", RING)
    assert config_of(settings_of(30, sensor_range=None)[0], 3).sensor_range is None


def test_ours_the_other_correction_and_two_baselines_stand_beside() -> None:
    cells = beside(SMALL)
    assert [name_of(cell) for cell in cells] == [
        "safe at .98, moves",
        "ours at .98",
        "ours at .90",
        "ours at .70",
        "ours, unsafe",
        "nearest at .98",
        "best rate at .98",
    ]
    configs = [config_of(cell, 3) for cell in cells]
    assert [c.algorithm for c in configs] == ["paper"] + 6 * ["rate"]
    assert [c.home for c in configs] == ["current"] + 6 * ["start"]
    assert {c.correction for c in configs} == {"moves"}


@pytest.mark.parametrize("choice", [None, *CHOICES])
def test_ours_and_its_baselines_keep_a_way_back(choice: str | None) -> None:
    cell = {**beside(SMALL)[1], "choice": choice}
    found = explore(cell, 2)
    assert found["lowest_bound"] >= 0.98 - 1e-9
    assert not found["stranded"]
    assert found["entropy"] > 2.0 * found["still"]


def test_a_baseline_takes_the_place_of_the_search_and_goes_to_the_nearest_place() -> None:
    setup = make(config_of(beside(SMALL)[5], 2))
    explorer = cast("Explorer", setup.explorer())
    assert isinstance(explorer.rules.search, Nearest)
    met = {explorer.start}
    for step in explorer.explore(12):
        proposal = step.run_state.proposal if step.run_state is not None else None
        assert proposal is not None
        assert proposal.path[-1] not in met
        assert all(s in met for s in proposal.path[:-1])
        met.add(step.state)
    assert len(met) > 8


def test_a_clairvoyant_sees_what_can_be_visited_and_left_and_the_ring_around_it() -> None:
    truth = np.zeros((5, 7))
    truth[:, 3], truth[2, 6] = 40.0, -15.0  # a ridge, and a pit behind it
    belief = flat(height=truth.ravel())
    rover = Rover(belief, truth.ravel(), 0, Sensor(RING))
    found, nats = clairvoyant(belief, rover)
    inside = np.zeros((5, 7), dtype=bool)
    inside[:, :3] = True
    assert np.array_equal(found.reshape(5, 7), inside)
    expected = 15 * 0.5 * np.log1p(0.04 / 1e-6) + 5 * 0.5 * np.log1p(0.04 / (1e-6 * 21**2))
    assert nats == pytest.approx(expected, rel=1e-12)


def test_the_clairvoyant_of_the_first_ground_is_the_one_that_shares_are_held_against() -> None:
    setup = make(config_of(settings_of(1)[0], 0))
    inside, nats = clairvoyant(cast("TerrainBelief", setup.belief), cast("Rover", setup.world))
    assert (round(nats), int(inside.sum())) == (25_865, 3747)


def test_steps_without_news_are_counted_in_a_row() -> None:
    assert longest_without_news([0.0]) == 0
    assert longest_without_news([0.0, 1.0, 2.0]) == 0
    assert longest_without_news([0.0, 1.0, 1.01, 1.02, 2.0, 2.01]) == 2
    assert longest_without_news([0.0, 0.01, 0.02, 0.03]) == 3


def test_a_curve_goes_from_the_first_look_to_the_end() -> None:
    for cell in (SMALL[0], beside(SMALL)[4]):
        found = explore(cell, 0)
        curve = [float(point) for point in found["curve"].split()]
        assert len(curve) == POINTS + 1
        assert curve == sorted(curve)
        assert curve[-1] == pytest.approx(found["entropy"], abs=0.05)
        assert (found["nats_1000"], found["nats_6000"]) == (None, None)


def test_another_raster_is_taken_with_its_window(tmp_path: Any) -> None:
    np.save(tmp_path / "ground.npy", np.zeros((60, 80)))
    cell = settings_of(5, raster=str(tmp_path / "ground.npy"), window="0,0,40,60")[3]
    with pytest.raises(InvalidInputError, match="pixel"):
        make(config_of(cell, 0))
    config = config_of({**cell, "raster": "sample", "window": None}, 0)
    assert (config.terrain, config.rows) == ("sample", None)


def test_a_task_refuses_a_raster_that_has_changed(tmp_path: Path) -> None:
    write_raster(tmp_path / "a.tif", np.zeros((60, 80), np.float32))
    plain = settings_of(5, raster=str(tmp_path / "a.tif"))
    cells = pinned(plain)
    assert [{**cell, "terrain_sha256": None} for cell in cells] == [
        {**cell, "terrain_sha256": None} for cell in plain
    ]
    assert explore(cells[3], 0)["steps"] == 5
    write_raster(tmp_path / "a.tif", np.ones((60, 80), np.float32))
    with pytest.raises(InvalidFileError, match="the terrain has changed"):
        explore(cells[3], 0)
    assert pinned(SMALL) == SMALL


@pytest.mark.parametrize(
    ("delta", "said"), [(0.996, ".996"), (0.98, ".98"), (0.9, ".90"), (1.0, "1.00")]
)
def test_a_level_is_never_rounded(delta: float, said: str) -> None:
    assert name_of({"explorer": "safe", "delta": delta}) == f"safe at {said}"


def test_a_worker_of_the_study_imports_no_plots() -> None:
    script = "import sys, homeward.paper.mars\nprint('matplotlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def flat(rows: int = 5, columns: int = 7, **changes: Any) -> TerrainBelief:
    states = rows * columns
    given = {"height": np.zeros(states), "variance": np.full(states, 0.04), "cell": 20.0, **changes}
    return TerrainBelief((rows, columns), **given)


@pytest.mark.parametrize("reach", [None, 45.0])
def test_looks_from_one_place_have_a_closed_form(reach: float | None) -> None:
    belief = flat(blocked=np.arange(35) == 3)
    rover = Rover(belief, np.linspace(0.0, 1.0, 35), 17, Sensor(reach), seed=5)
    after = belief
    for _ in range(40):
        after = after.update(rover.act(0))
    assert after_looks(belief, rover, 40) == pytest.approx(after.variance, rel=1e-12)
    assert np.array_equal(after_looks(belief, rover, 0), belief.variance)


def test_who_sits_in_a_pit_is_stuck_and_who_can_leave_is_not() -> None:
    truth = np.zeros(35)
    truth[17] = -15.0
    belief = flat(height=truth)
    assert is_stuck(Rover(belief, truth, 17))
    assert not is_stuck(Rover(belief, truth, 16))


def stuck_seed() -> tuple[dict[str, Any], int]:
    """Find an unsafe run whose rover ends where no move works, on small ground."""
    cell = settings_of(60, 0.3, sensor_range=60.0)[3]
    for seed in range(40):
        if explore(cell, seed)["end"] == End.STUCK:
            return cell, seed
    raise AssertionError("no rover got stuck")


def test_the_formula_for_a_stuck_rover_is_what_stepping_on_gives() -> None:
    cell, seed = stuck_seed()
    found = explore(cell, seed)
    setup = make(config_of(cell, seed))
    explorer = setup.explorer()
    path = [explorer.start, *(step.state for step in explorer.explore(setup.limit))]
    belief = cast("TerrainBelief", explorer.belief)
    prior = cast("TerrainBelief", setup.belief)
    assert found["steps"] == explorer.steps == 60
    assert found["entropy"] == pytest.approx(entropy_reduction(prior, belief), rel=1e-10)
    assert path_of(found["moves"], path[0], prior.shape[1]) == path
    assert found["stranded"]
    assert 0 < found["stranded_at"] < 60


def test_a_run_is_the_same_whenever_it_is_made() -> None:
    assert explore(SMALL[0], 1) == explore(SMALL[0], 1)


def test_a_row_counts_what_its_path_saw() -> None:
    found = row_of(0, 2)
    setup = make(config_of(SMALL[0], 2))
    rover = cast("Rover", setup.world)
    path = path_of(found["moves"], rover.start, rover.shape[1])
    assert len(path) == 31
    assert found["visited"] == len(set(path))
    assert found["lowest_bound"] >= 0.98 - 1e-9
    assert not found["stranded"]
    assert found["stranded_at"] is None
    assert rover.way_back[path].all()


def test_a_rover_that_never_moves_is_what_others_are_held_against() -> None:
    setup = make(config_of(SMALL[3], 0))
    rover, prior = cast("Rover", setup.world), cast("TerrainBelief", setup.belief)
    still = prior.update(rover.look())
    for _ in range(30):
        still = still.update(rover.act(0))
    expected = entropy_reduction(prior, still)
    assert explore(SMALL[3], 0)["still"] == pytest.approx(expected, rel=1e-10)


def test_a_path_is_told_by_digits_even_on_a_narrow_map() -> None:
    for columns in (1, 2, 3, 10):
        path = [0, columns, columns, 0]
        assert path_of(digits_of(path, columns), 0, columns) == path
    assert digits_of([0, 1, 1, 11, 0], 10) == "3058"


def test_a_panel_shows_what_was_believed_in_the_end() -> None:
    found = row_of(0, 2)
    shown = panel_of(found)
    setup = make(config_of(SMALL[0], 2))
    explorer = setup.explorer()
    path = [explorer.start, *(step.state for step in explorer.explore(setup.limit))]
    belief = cast("TerrainBelief", explorer.belief)
    assert list(shown.path) == path
    assert np.array_equal(shown.height.ravel(), belief.height)
    assert np.array_equal(shown.deviation.ravel(), np.sqrt(belief.variance))
    assert (shown.title, shown.note) == ("Safe at .98", story_of(found))


def result(entropy: float, **changes: Any) -> dict[str, Any]:
    base = {
        "algorithm": "paper",
        "explorer": "safe",
        "delta": 0.9,
        "correction": "general",
        "choice": None,
        "entropy": entropy,
        **{f"nats_{mark}": entropy / 2.0 for mark in (1000, 3000)},
        "nats_6000": None,
        "clairvoyant": 10.0,
        "safe_cells": 8,
        "safe_visited": 4,
        "still": 1.0,
        "stranded": False,
        "stranded_at": None,
        "visited": 4,
        "sharp": 0.5,
        "steps": 9,
        "without_news": 2,
        "curve": f"0.0 {entropy}",
        "end": "budget",
    }
    return {**base, **changes}


def test_a_summary_has_the_papers_number_and_the_median_of_ours() -> None:
    rows = [result(3.0), result(9.0, stranded=True, stranded_at=7, without_news=5)]
    rows.append(result(4.0))
    rows.append(result(5.0, explorer="naive", delta=0.98, correction=None))
    rows.append(result(6.0, algorithm="rate", correction="moves"))
    safe, naive, ours = summarise(rows)
    assert (safe["setting"], safe["paper"]) == ("safe at .90", 12660.0)
    counts = ("runs", "stranded", "median", "least", "most", "stranded_at")
    assert [safe[name] for name in counts] == [3, 1, 4.0, 3.0, 9.0, 7.0]
    assert (safe["marks"], safe["visited"], safe["without_news"]) == ([2.0, 2.0, None], 0.5, 5)
    assert safe["shares"] == pytest.approx([0.2, 0.2, None, 0.4])
    assert (safe["curve"], safe["ends"]) == ([0.0, 4.0], {End.BUDGET: 3})
    assert (naive["setting"], naive["paper"], naive["stranded_at"]) == ("naive at .98", None, None)
    assert (ours["setting"], ours["paper"]) == ("ours at .90", None)


def test_a_story_says_whether_there_is_a_way_back() -> None:
    assert story_of(result(1234.5)) == "9 steps, 4 cells visited, 1,234 nats learned; can go back"
    lost = story_of(result(1.0, stranded=True, stranded_at=7))
    assert lost.endswith("no way back since step 7")


def test_the_demos_two_differ_in_safety_alone() -> None:
    safe, unsafe = pair_of(0.95, 12)
    assert {name for name in safe if safe[name] != unsafe[name]} == {
        "explorer",
        "delta",
        "correction",
    }
    assert (safe["delta"], safe["correction"], safe["sensor_range"]) == (0.95, "moves", RING)
