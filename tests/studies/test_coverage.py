from __future__ import annotations

from typing import Any

import pytest

from homeward.beliefs.heights import WALL
from homeward.planning.explorer import Explorer
from homeward.runs.grid import GridConfig, make
from homeward.studies import coverage
from homeward.studies.coverage import (
    EXPLORERS,
    WALLS,
    WORLDS,
    beyond,
    cells_of,
    charts,
    claims,
    explore,
    papers,
    scaled,
    summarise,
)


def cell(explorer: str, **changes: Any) -> dict[str, Any]:
    safe = explorer == "safe"
    levels = {"delta": 1.0, "correction": "general"} if safe else {"delta": None}
    return {"size": 8, "walls": 0.2, "explorer": explorer, "correction": None, **levels, **changes}


def test_the_study_is_the_papers_and_more() -> None:
    cells, counts = cells_of(1.0)
    own = [(c, n) for c, n in zip(cells, counts, strict=True) if c["delta"] in (None, 1.0)]
    own = [(c, n) for c, n in own if c["correction"] in (None, "general")]
    for size, worlds in WORLDS.items():
        for walls in WALLS:
            found = [(c["explorer"], n) for c, n in own if (c["size"], c["walls"]) == (size, walls)]
            assert found == [(name, worlds) for name in EXPLORERS]
    runs = sum(n for c, n in own if c["explorer"] != "near-bayesian")
    assert runs == 14_580
    assert len({tuple(c.items()) for c in cells}) == len(cells)


def test_a_scale_leaves_at_least_one_world() -> None:
    assert [scaled(n, 0.05) for n in (1000, 20, 5)] == [50, 1, 1]
    assert all(n >= 1 for n in cells_of(0.001)[1])


def test_a_run_is_the_same_whenever_it_is_made() -> None:
    assert explore(cell("safe"), 3) == explore(cell("safe"), 3)


@pytest.mark.parametrize("seed", range(6))
def test_who_is_safe_at_one_is_never_stranded(seed: int) -> None:
    for correction in ("general", "moves"):
        row = explore(cell("safe", correction=correction), seed)
        assert not row["stranded"]
        assert 0.0 < row["seen"] <= 1.0
        assert 0.0 < row["reached"] <= 1.0


def test_what_was_reached_is_counted_among_free_squares_that_can_be_seen_safely() -> None:
    for seed in range(4):
        setup = make(GridConfig(size=8, walls=0.2, seed=seed, start=36, explorer="rmax"))
        world: Any = setup.world
        for _ in Explorer(setup.planner, setup.belief, world).explore(setup.limit):
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
    found = {"seen": seen, "reached": seen, "stranded": False, "steps": 4, "end": "x"}
    return {**cell("safe"), **found, **changes}


def test_a_summary_has_quartiles_and_counts() -> None:
    rows = [row(s / 4, stranded=s == 4, steps=s) for s in range(5)]
    rows.append(row(0.5, **cell("rmax"), end="the step limit was reached"))
    safe, rmax = summarise(rows)
    assert (safe.runs, safe.q1, safe.median, safe.q3, safe.stranded, safe.steps) == (
        5,
        0.25,
        0.5,
        0.75,
        1,
        2.0,
    )
    assert (rmax.explorer, rmax.runs, rmax.cut_short, safe.cut_short) == ("rmax", 1, 1, 0)


def whole(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Run the study with one tiny world per cell."""
    monkeypatch.setattr(coverage, "WORLDS", {4: 1, 5: 1})
    monkeypatch.setattr(coverage, "OTHER_SIZE", 4)
    cells, counts = cells_of(1.0)
    return [
        {**c, **explore(c, seed)} for c, n in zip(cells, counts, strict=True) for seed in range(n)
    ]


def test_the_figure_has_every_cell_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "OTHER_WORLDS", 1)
    found = summarise(whole(monkeypatch))
    all_, reached, levels = charts(found)
    assert list(all_.places) == [f"{z}² | .{n}" for z in (4, 5) for n in (2, 4, 6)]
    for chart in (all_, reached):
        assert [s.name for s in chart.series] == ["safe, adapted R-max", "adapted R-max", "R-max"]
        assert all(len(s.middle) == 6 for s in chart.series)
    assert len(levels.series) == 8
    assert all(len(s.middle) == 3 for s in levels.series)
    assert len(papers(found)) == 24
    assert len(beyond(found)) == 24
    said = claims(found)
    assert [(c["size"], c["walls"]) for c in said] == [(z, w) for z in (4, 5) for w in WALLS]
    assert all(c["rmax = near-bayesian"] for c in said)
    first = said[0]
    assert first["safe >= uncover"] == (first["safe"] >= first["uncover"])
