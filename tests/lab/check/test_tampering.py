"""Sound plans are confirmed and forged ones refuted."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tests.referee.cases import every_plan, ridge_plan

from homeward.errors import InvalidProblemError
from homeward.referee.exact import enumerated_values
from lab.check.tampering import (
    TAMPERS,
    Trial,
    examine,
    is_untrue,
    random_plan,
    tampered,
    try_plans,
)


@pytest.fixture(scope="module")
def trials() -> list[Trial]:
    """Try plans as they were made, and as many with a lie in them."""
    return list(try_plans(24, 24, episodes=600, confidence=0.999, seed=0))


def test_sound_plans_are_confirmed(trials: list[Trial]) -> None:
    sound = [trial for trial in trials if trial.tamper is None]
    beliefs = Counter(t.belief for t in sound)
    assert beliefs == {"FiniteBelief": 16, "DirichletBelief": 4, "HeightBelief": 4}
    assert not any(trial.refuted for trial in sound)


def test_forged_plans_are_refuted(trials: list[Trial]) -> None:
    forged = [trial for trial in trials if trial.tamper is not None]
    assert Counter(t.tamper for t in forged) == dict.fromkeys(TAMPERS, 4)
    assert all(trial.refuted for trial in forged)
    assert all(trial.refused == (trial.tamper == "action") for trial in forged)
    assert all(trial.reckoned for trial in forged if trial.tamper != "action")
    assert all(trial.exactly for trial in forged if trial.tamper in ("outbound", "return"))


def test_sampling_misses_none_that_is_off_by_more_than_its_interval(trials: list[Trial]) -> None:
    off = [trial for trial in trials if trial.contradicted]
    tampers = {trial.tamper for trial in off}
    assert {"outbound", "return"} <= tampers <= {"outbound", "return", "bound"}
    assert not any(trial.missed for trial in off)
    assert all(trial.sampled for trial in off)


def test_random_plans_have_every_kind_of_criterion_and_either_recall() -> None:
    rng = np.random.default_rng(0)
    plans = [random_plan(number, rng) for number in range(50)]
    kinds = {
        (type(s.belief).__name__, c.kind, c.within is None) for s in plans for c in s.plan.criteria
    }
    for kind in ("return", "stay", "earn"):
        assert ("FiniteBelief", kind, True) in kinds
    assert {("FiniteBelief", "return", False), ("HeightBelief", "stay", True)} <= kinds
    assert {s.plan.steps is None for s in plans} == {True, False}
    assert max(s.bonus.shape[0] for s in plans if type(s.belief).__name__ == "FiniteBelief") > 6


@pytest.mark.parametrize("tamper", ["outbound", "return"])
def test_a_forged_policy_makes_a_claim_untrue_by_one_entry(tamper: str) -> None:
    case = ridge_plan(0.9)
    forged = tampered(case, tamper, np.random.default_rng(0))  # type: ignore[arg-type]
    assert forged is not None
    assert not is_untrue(case)
    assert is_untrue(forged)
    assert enumerated_values(forged)["plan"][0] < 0.89
    changes = (case.plan.outbound != forged.plan.outbound).sum() + (
        case.plan.criteria[0].return_policy != forged.plan.criteria[0].return_policy
    ).sum()
    assert changes == 1
    assert [c.bound for c in case.plan.criteria] == [c.bound for c in forged.plan.criteria]


def test_a_bound_is_raised_by_a_twentieth_of_one_part() -> None:
    forged = tampered(ridge_plan(0.9), "bound", np.random.default_rng(0))
    assert forged is not None
    (before,), (after,) = ridge_plan(0.9).plan.criteria, forged.plan.criteria
    more = sorted([after.bound - before.bound, after.kept_bound - before.kept_bound])
    assert more == pytest.approx([0.0, 0.05])


def test_another_action_than_the_parts_own_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="the plan's action is 1, but kept_outbound"):
        tampered(ridge_plan(0.9), "action", np.random.default_rng(0))


def test_what_can_not_be_forged_is_left_out() -> None:
    rng = np.random.default_rng(0)
    assert tampered(every_plan("heights"), "outbound", rng) is None
    case = ridge_plan(0.9)
    sure = (replace(case.plan.criteria[0], bound=0.99),)
    assert tampered(replace(case, plan=replace(case.plan, criteria=sure)), "bound", rng) is None


def test_a_trial_says_by_which_ways_it_was_refuted() -> None:
    forged = tampered(ridge_plan(0.9), "return", np.random.default_rng(0))
    assert forged is not None
    trial = examine(forged, "return", 2000, 0.99, 0)
    assert (trial.exactly, trial.sampled, trial.reckoned) == (True, True, True)
    assert (trial.contradicted, trial.missed) == (True, False)
    sound = examine(ridge_plan(0.9), None, 200, 0.99, 0)
    assert sound == Trial("FiniteBelief", None, False, False, False, False, False, False)


def test_a_raised_bound_in_the_table_is_refuted_by_arithmetic_alone() -> None:
    forged = tampered(ridge_plan(0.5), "table", np.random.default_rng(0))
    assert forged is not None
    trial = examine(forged, "table", 200, 0.99, 0)
    assert (trial.exactly, trial.sampled, trial.reckoned) == (False, False, True)


def test_levels_that_are_kept_can_not_be_called_infeasible() -> None:
    forged = tampered(ridge_plan(1.0), "status", np.random.default_rng(0))
    assert forged is not None
    assert examine(forged, "status", 200, 0.99, 0).reckoned
    assert tampered(forged, "status", np.random.default_rng(0)) is None
