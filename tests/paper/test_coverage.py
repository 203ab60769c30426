from __future__ import annotations

from typing import Any

import pytest

from homeward.beliefs.levels import WALL
from homeward.kinds.grid.config import GridConfig
from homeward.kinds.grid.kind import make
from homeward.paper import coverage
from homeward.paper.coverage import (
    CORRECTION,
    EXPLORERS,
    VARIANTS,
    WALLS,
    WORLDS,
    cells_of,
    claims,
    explore,
    papers,
    steps_by_walls,
    summarise,
)
from homeward.planning.paper import PaperExplorer


def cell(explorer: str, **changes: Any) -> dict[str, Any]:
    correction = CORRECTION.get(explorer)
    level = None if correction is None else 1.0
    kept = {"delta": level, "correction": correction}
    return {"size": 8, "walls": 0.2, "explorer": explorer, **kept, **changes}


def test_the_study_is_the_papers_and_more() -> None:
    cells, counts = cells_of(1.0)
    own = [(c, n) for c, n in zip(cells, counts, strict=True) if c["delta"] in (None, 1.0)]
    own = [(c, n) for c, n in own if c["correction"] in (None, "general")]
    rate = [(c, n) for c, n in zip(cells, counts, strict=True) if c["explorer"] == "rate"]
    assert sum(n for c, n in rate if c["delta"] == 1.0) == 4860
    for size, worlds in WORLDS.items():
        for walls in WALLS:
            found = [(c["explorer"], n) for c, n in own if (c["size"], c["walls"]) == (size, walls)]
            assert found == [(name, worlds) for name in EXPLORERS]
    runs = sum(n for c, n in own if c["explorer"] != "near-bayesian")
    assert runs == 14_580
    assert len({tuple(c.items()) for c in cells}) == len(cells)


def test_a_scale_leaves_at_least_one_world() -> None:
    assert set(cells_of(0.05)[1]) == {50, 25, 5, 1, 10}
    assert all(n >= 1 for n in cells_of(0.001)[1])


def test_a_run_is_the_same_whenever_it_is_made() -> None:
    assert explore(cell("safe"), 3) == explore(cell("safe"), 3)


@pytest.mark.parametrize("seed", range(6))
def test_who_is_safe_at_one_is_never_stranded(seed: int) -> None:
    for explorer, correction in VARIANTS:
        row = explore(cell(explorer, correction=correction), seed)
        assert not row["stranded"]
        assert 0.0 < row["seen"] <= 1.0
        assert 0.0 < row["reached"] <= 1.0


def test_what_was_reached_is_counted_among_free_squares_that_can_be_seen_safely() -> None:
    for seed in range(4):
        setup = make(GridConfig(size=8, walls=0.2, seed=seed, start=36, explorer="rmax"))
        world: Any = setup.world
        for _ in PaperExplorer(setup.planner, setup.belief, world).explore(setup.limit):
            pass
        grid = world.grid
        free = [s for s in range(64) if grid.safely_seen[s] and grid.heights.flat[s] != WALL]
        expected = sum(bool(world.seen[s]) for s in free) / len(free)
        assert explore(cell("rmax"), seed)["reached"] == pytest.approx(expected, abs=1e-15)


def test_an_explorer_without_care_is_stranded_in_some_of_the_same_worlds() -> None:
    assert sum(explore(cell("rmax"), seed)["stranded"] for seed in range(6)) > 0


def test_near_bayesian_and_r_max_are_the_same_here() -> None:
    for seed in range(4):
        assert explore(cell("rmax"), seed) == explore(cell("near-bayesian"), seed)


def row(seen: float, **changes: Any) -> dict[str, Any]:
    found = {"seen": seen, "reached": seen, "stranded": False, "steps": 4, "end": "all_safe_seen"}
    return {**cell("safe"), **found, **changes}


def test_a_summary_has_quartiles_and_counts() -> None:
    rows = [row(s / 4, stranded=s == 4, steps=s) for s in range(5)]
    rows.append(row(0.5, **cell("rmax"), end="steps"))
    safe, rmax = summarise(rows)
    keys = ("runs", "q1", "median", "q3", "stranded", "steps", "cut_short")
    assert [safe[key] for key in keys] == [5, 0.25, 0.5, 0.75, 1, 2.0, 0]
    assert [rmax[key] for key in ("explorer", "runs", "cut_short")] == ["rmax", 1, 1]


def whole(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Run the study with one tiny world per cell."""
    monkeypatch.setattr(coverage, "WORLDS", {4: 1, 5: 1})
    monkeypatch.setattr(coverage, "OTHER_SIZE", 4)
    cells, counts = cells_of(1.0)
    return [
        {**c, **explore(c, seed)} for c, n in zip(cells, counts, strict=True) for seed in range(n)
    ]


def test_every_claim_of_the_paper_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "OTHER_WORLDS", 1)
    found = summarise(whole(monkeypatch))
    assert len(papers(found)) == 24
    said = claims(found)
    assert [(c["size"], c["walls"]) for c in said] == [(z, w) for z in (4, 5) for w in WALLS]
    assert all(c["rmax = near-bayesian"] for c in said)
    first = said[0]
    assert first["safe >= uncover"] == (first["safe"] >= first["uncover"])


def test_ours_takes_fewer_steps_to_see_as_much_at_level_one() -> None:
    cells = [cell(explorer, walls=0.2) for explorer in ("safe", "rate")]
    rows = [{**c, "seed": seed, **explore(c, seed)} for c in cells for seed in range(8)]
    small, every = steps_by_walls(rows)
    assert (small["size"], every["size"], every["worlds"]) == (8, "all", 8)
    assert {**small, "size": "all"} == every
    assert every["steps, ours"] < every["steps, Algorithm 1"]
    assert every["fewer"] == 1.0 - every["steps, ours"] / every["steps, Algorithm 1"]
    assert every["reached, ours"] == every["reached, Algorithm 1"] == 1.0
    assert every["stranded, ours"] == every["stranded, Algorithm 1"] == 0
