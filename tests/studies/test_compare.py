"""Comparisons of agents: what is measured, summarised and drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.toy_kind import CORRIDOR

from homeward.errors import InvalidInputError
from homeward.plots.charts import draw_comparison
from homeward.runs import kind
from homeward.studies.compare import (
    COLUMNS,
    POINTS,
    as_table,
    explore,
    setup_of,
    study_of,
    summarise,
)

CELL: dict[str, Any] = {"kind": "grid", "limit": 40, "settings": {"size": 8, "walls": 0.15}}


def row(agent: str, seed: int, **settings: Any) -> dict[str, Any]:
    cell = {**CELL, "agent": agent, "settings": {**CELL["settings"], **settings}}
    return {**cell, "seed": seed, **explore(cell, seed)}


def test_ours_keeps_its_way_home_and_others_are_stranded_for_good() -> None:
    rows = [row(agent, seed) for agent in ("ours", "rmax") for seed in range(4)]
    ours, rmax = summarise(rows)
    assert (ours["stranded"], ours["home"], ours["promise"]) == (0, 1.0, "run")
    assert (rmax["stranded"], rmax["home"], rmax["promise"]) == (2, 0.5, "none")
    assert ours["gain"] > rmax["gain"]
    for each in rows:
        homes = [float(part) for part in each["home_curve"].split()]
        gains = [float(part) for part in each["curve"].split()]
        assert len(homes) == len(gains) == POINTS + 1
        assert homes == sorted(homes, reverse=True)
        assert gains == sorted(gains)
        assert gains[-1] == pytest.approx(each["gain"], rel=1e-5)
        assert (each["stranded_at"] is None) == (homes[-1] == 1.0)


def test_a_run_that_ended_stays_where_it_is() -> None:
    short, long = row("ours", 1), explore({**CELL, "agent": "ours", "limit": 400}, 1)
    assert short["steps"] == long["steps"] < 40
    assert short["end"] == long["end"]
    assert short["gain"] == long["gain"]


def test_the_same_cell_and_seed_give_the_same_row_but_for_the_time() -> None:
    one, two = row("random", 2), row("random", 2)
    assert one.pop("cpu_ms") > 0.0
    two.pop("cpu_ms")
    assert one == two
    assert one["curve"] != row("random", 3)["curve"]


def test_levels_apply_only_to_agents_that_keep_one() -> None:
    cells = study_of("grid", ["ours", "random"], {"size": 6, "delta": 0.9}, 1, 5).cells
    ours, other = (setup_of(cell, 0)[2].planner.criteria for cell in cells)
    assert [criterion.delta for criterion in ours] == [0.9]  # type: ignore[attr-defined]
    assert other == ()


@pytest.mark.parametrize(
    ("agents", "settings", "message"),
    [
        (["ours", "bold"], {}, "there is no agent named 'bold'"),
        (["ours", "ours"], {}, "cell 1 is the same as cell 0"),
        (["paper"], {"floor": 0.1}, "agent paper: .*floor has no effect"),
        (["ours"], {"size": 1}, "agent ours: size is 1"),
    ],
)
def test_what_can_not_be_compared_is_refused_before_the_work(
    agents: list[str], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        study_of("grid", agents, settings, 2, 5)


def test_each_seed_of_a_rover_is_another_ground() -> None:
    cell = {**CELL, "kind": "rover", "agent": "ours", "settings": {"rows": 100, "columns": 100}}
    grounds = [setup_of(cell, seed)[1].terrain_seed for seed in (0, 7)]  # type: ignore[attr-defined]
    assert grounds == [0, 7]
    cell["settings"]["terrain_seed"] = 5
    assert setup_of(cell, 7)[1].terrain_seed == 5  # type: ignore[attr-defined]
    assert setup_of(cell, 7)[1].seed == 7


def test_on_ice_the_way_home_is_a_probability_of_the_true_dynamics() -> None:
    cell = {"kind": "toytext", "limit": 60, "agent": "rmax", "settings": {"world": "slippery lake"}}
    found = explore(cell, 0)
    homes = [float(part) for part in found["home_curve"].split()]
    assert homes[0] == 1.0
    assert found["home"] == 0.0  # in a hole
    assert any(0.0 < home < 1.0 for home in homes)


def test_a_kind_without_metrics_is_compared_by_visited_states(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(kind._KINDS, "corridor", CORRIDOR)
    cell = {"kind": "corridor", "limit": 9, "agent": "nearest", "settings": {"rooms": 5}}
    found = explore(cell, 0)
    assert (found["gain"], found["unit"], found["home"]) == (5.0, "states visited", 1.0)


def test_the_table_and_the_figure_have_every_agent() -> None:
    found = summarise([row(agent, seed) for agent in ("ours", "rmax") for seed in range(4)])
    table = as_table(found)
    assert table.columns == COLUMNS
    assert [line[0] for line in table.rows] == ["ours", "rmax"]
    figure = draw_comparison(found, 40, "a title")
    gain, home = figure.axes
    assert gain.get_ylabel() == "% of squares seen"
    assert np.allclose(home.lines[0].get_ydata(), found[0]["home_curve"])
    marks = [line for line in gain.lines if line.get_marker() == "x"]
    drawn = sum(len(np.atleast_1d(line.get_xdata())) for line in marks)
    assert drawn == sum(each["stranded"] for each in found) > 0
