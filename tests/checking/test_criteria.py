from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import homeward as hw
from homeward.certificates import Codec, register_codec

if TYPE_CHECKING:
    from pathlib import Path

DEST = np.array([[0, 1], [1, 0]])
MOVES = hw.FiniteBelief([hw.Moves(DEST, np.array([[1.0, p], [1.0, 0.8]])) for p in (0.2, 0.9)])
ROWS = hw.DirichletBelief.independent(np.ones((2, 2, 2)) + np.eye(2))


@dataclass(frozen=True)
class RecalledAt:
    """The explorer is in a place when it is recalled, with probability at least `delta`."""

    place: int
    delta: float
    share: float = 1.0  # of the correction; below 1 the bound is wrong

    def require(self, situation: Any, out: Any = None) -> hw.Requirement:
        gamma, sigma = situation.discount, situation.corrections.exploring
        here = np.arange(situation.model.states)[:, None] == self.place
        reward = (1.0 - gamma) * here + gamma * self.share * sigma
        return hw.Requirement(f"be in {self.place} at the recall", self.delta, reward)

    def value(self, world: Any, policy: Any, state: int, discount: float) -> float:
        rows = np.array([world.row(s, int(a)) for s, a in enumerate(policy)])
        here = (1.0 - discount) * (np.arange(world.states) == self.place)
        return float(np.linalg.solve(np.eye(world.states) - discount * rows, here)[state])


register_codec(
    Codec(
        "recalled at",
        RecalledAt,
        lambda c: ({"place": c.place, "delta": c.delta, "share": c.share}, {}),
        lambda values, _: RecalledAt(**values),
    )
)


@pytest.mark.parametrize("belief", [MOVES, ROWS], ids=["moves", "rows"])
def test_a_criterion_of_three_fields_is_planned_checked_stored_and_certified(
    belief: Any, tmp_path: Path
) -> None:
    criterion = RecalledAt(1, 0.2)
    assert "value" in hw.check_criterion(criterion, belief).checked
    planner = hw.Planner(hw.NearBayesian(), [criterion], 0.9)
    plan = planner.plan(belief, 0)
    assert plan.criteria[0].kind == "own"
    assert "be in 1 at the recall, at least" in str(plan)
    hw.save_plan(plan, belief, tmp_path / "plan.zip", planner)
    stored = hw.load_plan(tmp_path / "plan.zip")
    assert stored.own == (criterion,)
    certificate = hw.certify(stored, episodes=400)
    assert not certificate.refuted
    verdict = certificate.verdicts[0]
    found = verdict.exact if verdict.sampled is None else verdict.sampled.high
    assert found is not None
    assert found >= plan.criteria[0].bound


def test_a_bound_that_is_too_high_is_refuted() -> None:
    planner = hw.Planner(hw.NearBayesian(), [RecalledAt(1, 0.2, share=-3.0)], 0.9)
    plan = planner.plan(MOVES, 0)
    assert hw.certify(hw.StoredPlan.of(plan, MOVES, planner)).refuted


def test_it_is_certified_beside_criteria_of_ours() -> None:
    planner = hw.Planner(hw.NearBayesian(), [hw.ReturnHome(0.5), RecalledAt(1, 0.2)], 0.9)
    plan = planner.plan(MOVES, 0)
    found = hw.certify(hw.StoredPlan.of(plan, MOVES, planner), episodes=200)
    assert not found.refuted
    assert {v.kind for v in found.verdicts} == {"return", "own"}


def test_a_correction_that_is_left_out_is_an_offence() -> None:
    said = r"\[value\] state .* is .*; expected .* the mean of value"
    with pytest.raises(hw.InvalidProblemError, match=said):
        hw.check_criterion(RecalledAt(1, 0.2, share=-1.0), MOVES)


@pytest.mark.parametrize(
    "criterion", [hw.ReturnHome(0.9), hw.StayInside(np.ones(2, bool), 0.9), hw.EarnAtLeast(0.0)]
)
def test_our_criteria_pass(criterion: Any) -> None:
    assert hw.check_criterion(criterion, MOVES).checked == ("requirement",)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (hw.Requirement("x", 0.5, np.zeros((2, 3))), "reward"),
        (hw.Requirement("x", 0.5, np.full((2, 2), np.nan)), "reward"),
        (hw.Requirement("", 0.5, np.zeros((2, 2))), "name"),
        (hw.Requirement("x", np.inf, np.zeros((2, 2))), "level"),
    ],
)
def test_a_requirement_that_is_none_is_an_offence(asked: hw.Requirement, code: str) -> None:
    class Asked:
        def require(self, situation: Any, out: Any = None) -> hw.Requirement:
            return asked

    with pytest.raises(hw.InvalidProblemError, match=rf"\[requirement\] {code}"):
        hw.check_criterion(Asked(), MOVES)


def test_a_criterion_that_measures_nothing_can_not_be_stored() -> None:
    class Blind:
        def require(self, situation: Any, out: Any = None) -> hw.Requirement:
            return hw.Requirement("x", -9.0, np.zeros((2, 2)))

    planner = hw.Planner(hw.NearBayesian(), [Blind()], 0.9)
    plan = planner.plan(MOVES, 0)
    with pytest.raises(hw.InvalidProblemError, match=r"without a method value\(world, policy"):
        hw.StoredPlan.of(plan, MOVES, planner)
