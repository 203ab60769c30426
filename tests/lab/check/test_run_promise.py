from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from homeward.beliefs import FiniteBelief
from homeward.bonuses import RMax
from homeward.criteria import ReturnHome, StayInside
from homeward.models import Moves, SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.planning.promise import BUDGET_TOLERANCE
from homeward.planning.returning import moves
from homeward.planning.returning.shortest_ways import with_way
from homeward.planning.returning.worlds import WorldReturning
from lab.check.run_promise import Kind, RunCase, examine, random_case

if TYPE_CHECKING:
    from typing import Any

    from homeward.planning.returning.policies import PolicyOptions

ROUNDING = BUDGET_TOLERANCE + 1e-12


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        ("moves", 15),
        ("chancy moves", 10),
        ("general", 3),
        ("paid moves", 3),
        ("own moves", 60),
        ("own paid moves", 20),
        ("own general", 10),
    ],
)
def test_a_run_that_is_called_off_at_the_worst_time_comes_home_with_delta(
    kind: Kind, count: int
) -> None:
    rng = np.random.default_rng(15)
    found = [examine(random_case(kind, rng)) for _ in range(count)]
    assert max(p.excess for p in found) <= ROUNDING
    assert max(p.unbalanced for p in found) <= ROUNDING
    assert sum(p.feasible for p in found) > count / 2
    assert any(p.spent > 0.0 for p in found)


def test_half_the_charge_of_a_move_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def half(*given: Any) -> tuple[Any, float]:
        way, risk = with_way(*given)
        return way, 0.5 * risk

    monkeypatch.setattr(moves, "with_way", half)
    rng = np.random.default_rng(15)
    found = [examine(random_case("moves", rng)) for _ in range(40)]
    assert sum(p.unbalanced > 1e-3 for p in found) >= 2


def test_half_the_charge_on_a_general_model_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:

    options = WorldReturning.options

    def half(*given: Any) -> PolicyOptions:
        found = options(*given)
        return replace(found, charge=0.5 * found.charge)

    monkeypatch.setattr(WorldReturning, "options", half)
    rows = [[[1.0, 0.0, 0.0], [0.0, 0.8, 0.2]], [[1.0, 0.0, 0.0]] * 2, [[0.0, 0.0, 1.0]] * 2]
    belief = FiniteBelief([SparseMDP.from_dense(rows)])
    found = examine(RunCase("general", belief, Planner(RMax(), [ReturnHome(0.85)]), start=0))
    assert found.unbalanced == pytest.approx(0.1)
    assert found.excess == pytest.approx(0.05)


def one_way_street(back: float) -> FiniteBelief:
    """Return two rooms with a way out that is sure and a way back that is there with `back`."""
    dest = np.array([[0, 1], [1, 0]])
    open_, shut = np.ones((2, 2)), np.array([[1.0, 1.0], [1.0, 0.0]])
    return FiniteBelief([Moves(dest, open_), Moves(dest, shut)], np.array([back, 1.0 - back]))


@pytest.mark.parametrize(("delta", "steps"), [(0.9, 0), (0.7, 1), (0.5, 1)])
def test_a_run_spends_what_delta_allows_and_no_more(delta: float, steps: int) -> None:
    found = examine(
        RunCase("moves", one_way_street(0.8), Planner(RMax(), [ReturnHome(delta)]), start=0)
    )
    assert found.steps == steps
    assert found.spent == pytest.approx(0.2 * steps)
    assert found.excess == pytest.approx(delta - 1.0 + 0.2 * steps)
    assert found.unbalanced == pytest.approx(0.0, abs=1e-12)


def test_the_action_that_collects_a_bonus_is_charged_for_where_it_leads() -> None:
    def leaving(belief: FiniteBelief) -> np.ndarray:
        return np.where(belief.counts == 0, np.array([[0.0, 1.0], [0.0, 0.0]]), 0.0)

    for delta, steps in ((0.9, 0), (0.7, 1)):
        planner = Planner(leaving, [ReturnHome(delta)])
        found = examine(RunCase("moves", one_way_street(0.8), planner, start=0))
        assert found.steps == steps
        assert found.excess <= ROUNDING


def test_nor_does_that_action_leave_the_set_to_stay_inside() -> None:
    def leaving(belief: FiniteBelief) -> np.ndarray:
        return np.where(belief.counts == 0, np.array([[0.0, 1.0], [0.0, 0.0]]), 0.0)

    inside = StayInside(np.array([True, False]), 1.0)
    planner = Planner(leaving, [ReturnHome(0.1), inside])
    assert examine(RunCase("moves", one_way_street(1.0), planner, start=0)).steps == 0


def test_a_deadline_counts_first_attempts_alone() -> None:
    # The way back works at half of its attempts: within one step with one half.
    dest = np.array([[0, 1], [1, 0]])
    belief = FiniteBelief([Moves(dest, np.array([[1.0, 1.0], [1.0, 0.5]]))])
    for delta, steps in ((0.6, 0), (0.5, 1)):
        planner = Planner(RMax(), [ReturnHome(delta, within=1)])
        found = examine(RunCase("chancy moves", belief, planner, start=0))
        assert found.steps == steps
        assert found.excess <= ROUNDING


def test_a_level_that_can_not_be_kept_from_the_start_leads_to_no_step() -> None:
    planner = Planner(RMax(), [ReturnHome(0.9, home=0)])
    found = examine(RunCase("moves", one_way_street(0.8), planner, start=1))
    assert not found.feasible
    assert found.steps == 0
