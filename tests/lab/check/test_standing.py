from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import homeward as hw
from lab.check import standing
from lab.check.standing import LEAST_LEAVING, Ground, grounds, stroll, strolls


def test_the_environments_slip_in_every_way_and_some_have_a_table() -> None:
    every = list(grounds())
    assert {ground.name for ground in every} == {"", *standing.KNOWN}
    assert {ground.to for ground in every} == {"", "any", "side", "stay"}
    assert len({str(ground) for ground in every}) == len(every) == 26


@pytest.mark.parametrize("ground", [*islice(grounds(), 3)], ids=str)
def test_no_run_spends_its_budget_where_it_stands(ground: Ground) -> None:
    for run in strolls(ground, 2, 60):
        assert run.faults == ()
        assert run.spent <= 1.0


def test_a_run_that_waits_for_a_slip_breaks_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    ground = next(grounds())
    everything = lambda model, share, where: np.ones(share.shape, bool)  # noqa: E731
    monkeypatch.setattr("homeward.planning.ratios._goes", everything)
    (run,) = strolls(ground, 1, 60)
    assert run.visited == 1
    assert run.faults[0].startswith("step 1: ")


def test_a_move_that_may_fail_once_is_no_fault() -> None:
    rows = np.zeros((3, 1, 3))
    rows[0, 0], rows[1, 0, 0], rows[2, 0, 2] = (0.5, 0.46, 0.04), 1.0, 1.0
    model = hw.SparseMDP.from_dense(rows)
    planner = hw.Planner(hw.RMax(), [hw.ReturnHome(0.95)])
    explorer = hw.Explorer(planner, hw.FiniteBelief([model]), hw.ModelWorld(model))
    run = stroll(explorer, 0.95, 20)
    assert run.steps >= 1
    assert run.spent > LEAST_LEAVING
    assert run.faults == ()
