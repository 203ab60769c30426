"""Sampling against exact values; walks in one world; intervals against what they promise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from tests.referee.cases import every_belief, every_plan, far, made, ridge, ridge_plan

from homeward.beliefs import DirichletBelief, FiniteBelief
from homeward.criteria import EarnAtLeast, ReturnHome
from homeward.models import Moves, SparseMDP
from homeward.referee import sampling
from homeward.referee.exact import enumerated_values
from homeward.referee.sampling import (
    CHUNK,
    bernstein,
    clopper_pearson,
    range_of,
    sample,
)
from lab.check.soundness import TOGETHER, far_bonus, random_case

if TYPE_CHECKING:
    from homeward.referee.claims import PlanCase


def intervals(case: PlanCase, **options: Any) -> dict[str, list[tuple[float, float, float]]]:
    found = sample(case, options.pop("episodes", 600), 0.01, **options)
    return {name: [(s.estimate, s.low, s.high) for s in each] for name, each in found.items()}


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("asked", TOGETHER[:8])
def test_intervals_hold_the_exact_value(asked: tuple[str, ...], fixed: bool) -> None:
    rng = np.random.default_rng(5)
    for number in range(6):
        drawn = random_case(asked, number, rng, fixed=fixed)
        case = made(drawn.belief, drawn.criteria, far_bonus, drawn.discount, recall=drawn.recall)
        exactly = enumerated_values(case)
        for name, each in sample(case, 600, 1e-6).items():
            for found, true, criterion in zip(each, exactly[name], case.plan.criteria, strict=True):
                slack = 1e-9 * criterion.unit
                assert found.low - slack <= true <= found.high + slack
                assert found.low <= found.estimate <= found.high
                assert found.cut == 0


def test_a_count_is_near_the_truth() -> None:
    found = intervals(ridge_plan(0.9), episodes=20_000)
    assert found["plan"][0][0] == pytest.approx(0.9, abs=0.01)
    assert found["action"][0][0] == found["action"][0][2] == 1.0
    assert 0.999 < found["action"][0][1] < 1.0


def test_what_is_earned_until_a_recall_is_near_the_discounted_total() -> None:
    rewards = np.array([[1.0, 0.0], [0.0, 0.0]])
    case = made(ridge(), [EarnAtLeast(-1.0, rewards)], far, 0.5)
    plan = replace(case.plan, weights=np.ones(1), outbound=np.array([[0, 0]], np.int32))
    ((mean, low, high),) = intervals(replace(case, plan=plan))["plan"]
    assert (mean, high) == (2.0, 2.0)
    assert low < 2.0
    plan = replace(plan, outbound=np.array([[1, 1]], np.int32))  # up and down, as far as it goes
    ((mean, low, high),) = intervals(replace(case, plan=plan))["plan"]
    assert (mean, low) == (0.0, 0.0)
    plan = replace(plan, weights=np.array([0.25, 0.75]), outbound=np.array([[0, 0], [1, 0]]))
    ((mean, _, _),) = intervals(replace(case, plan=plan), episodes=20_000)["plan"]
    assert mean == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("recall", [None, 3])
@pytest.mark.parametrize("name", every_belief())
def test_every_belief_can_be_played_in(name: str, recall: int | None) -> None:
    case = every_plan(name, recall=recall)
    for part in case.parts:
        each = sample(case, 200, 1e-6)[part.name]
        for found, claimed in zip(each, part.claims, strict=True):
            assert found.high >= claimed - 1e-9


def test_the_answer_does_not_depend_on_the_number_of_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sampling, "PATIENCE", -1.0)
    case, episodes = every_plan("heights"), 3 * CHUNK + 7
    told: list[int] = []
    one = intervals(case, episodes=episodes, seed=3)
    assert intervals(case, episodes=episodes, seed=3, jobs=2, progress=told.append) == one
    assert sum(told) == episodes
    assert intervals(case, episodes=episodes, seed=4) != one


def test_processes_are_not_started_for_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("started processes")

    monkeypatch.setattr(sampling, "ProcessPoolExecutor", refuse)
    sample(ridge_plan(), 4 * CHUNK, 0.01, jobs=2)


def test_cut_episodes_speak_for_the_claim_above_and_against_it_below() -> None:
    case = ridge_plan(0.9)
    long = replace(case, plan=replace(case.plan, discount=1.0 - 1e-9))
    found = sample(long, 100, 0.01)["plan"][0]
    assert (found.low, found.high, found.cut) == (0.0, 1.0, 100)
    rewards = np.array([[1.0, 0.0], [0.5, 0.0]])
    earn = made(ridge(), [EarnAtLeast(0.0, rewards)], far, 0.5)
    some = sample(earn, 400, 0.01, limit=1)["plan"][0]
    whole = sample(earn, 400, 0.01)["plan"][0]
    assert some.cut > 50
    assert whole.cut == 0
    assert some.low < whole.low
    assert some.high > whole.high


def test_a_way_home_that_may_take_ages_is_cut_and_counted_for_the_claim() -> None:
    dest = np.array([[0, 1], [1, 0]])
    slow = FiniteBelief([Moves(dest, np.array([[1.0, 1.0], [1.0, 1e-9]]))])
    found = sample(made(slow, [ReturnHome(0.5, 0)], far, 0.5), 200, 0.01, limit=100)["plan"][0]
    assert found.cut > 0
    assert found.high == 1.0
    assert found.low < 1.0


EVERYWHERE = np.ones(2, dtype=bool)


def test_the_range_of_what_is_earned_is_the_worlds_or_as_given() -> None:
    dest = np.array([[0, 1], [1, 0]])
    worlds = [Moves(dest, np.ones((2, 2)), np.full((2, 2), pay)) for pay in (-1.0, 3.0)]
    belief = FiniteBelief(worlds)
    for asked, recall, expected in (
        (EarnAtLeast(0.0), None, (-2.0, 6.0)),
        (EarnAtLeast(0.0), 3, (-3.0, 9.0)),
        (EarnAtLeast(0.0, np.eye(2)), None, (0.0, 2.0)),
        (EarnAtLeast(0.0, limits=(-4.0, 5.0)), None, (-2.0, 6.0)),
    ):
        case = made(belief, [asked], far, 0.5, recall=recall)
        assert range_of(case, 0, EVERYWHERE) == expected


def test_limits_count_where_a_belief_does_not_say_what_its_worlds_pay() -> None:
    case = made(ridge(), [EarnAtLeast(-1.0, limits=(-4.0, 5.0))], far, 0.5)
    secretive: Any = type("Secretive", (), {"mean": ridge().mean, "reward_limits": lambda _: None})
    object.__setattr__(case, "belief", secretive())
    assert range_of(case, 0, EVERYWHERE) == (-8.0, 10.0)


def test_where_the_process_may_end_nothing_is_earned_after() -> None:
    rows = np.array([[[0.5, 0.0], [0.0, 0.5]], [[0.5, 0.0], [0.0, 0.5]]])
    belief = FiniteBelief([SparseMDP.from_dense(rows, np.full((2, 2), -1.0))])
    case = made(belief, [EarnAtLeast(-5.0)], far, 0.5)
    assert range_of(case, 0, EVERYWHERE) == (-2.0, 0.0)
    ((mean, low, high),) = intervals(case, episodes=5000)["plan"]
    assert mean == pytest.approx(-4.0 / 3.0, abs=0.05)  # Σ (γ/2)ᵗ
    assert low < mean < high
    dirichlet = DirichletBelief.independent(np.ones((2, 2, 2)), np.eye(2))
    assert range_of(made(dirichlet, [EarnAtLeast(0.0)], far, 0.5), 0, EVERYWHERE) == (0.0, 2.0)


def test_a_way_home_in_a_circle_is_lost_at_once_and_one_that_gives_up_too() -> None:
    """From 1 and 2 the return policy goes back and forth; there is no limit that would cut it."""
    dest = np.array([[0, 1], [2, 0], [1, 0]])
    belief = FiniteBelief([Moves(dest, np.ones((3, 2)))])
    case = made(belief, [ReturnHome(0.5, 0)], far, 0.5)
    for policy in ([-1, 0, 0], [-1, -1, -1]):
        (criterion,) = case.plan.criteria
        changed = replace(criterion, return_policy=np.array(policy, np.int32))
        forged = replace(case, plan=replace(case.plan, criteria=(changed,)))
        true = enumerated_values(forged)["plan"][0]
        found = sample(forged, 2000, 1e-6)["plan"][0]
        assert found.low <= true <= found.high < 0.9
        assert found.cut == 0


@given(st.integers(1, 200), st.floats(0.0, 1.0), st.sampled_from([0.5, 0.05, 1e-4]))
def test_the_limits_are_where_so_many_hits_are_just_that_rare(
    trials: int, share: float, doubt: float
) -> None:
    hits = round(share * trials)
    low, high = clopper_pearson(hits, trials, doubt)
    assert 0.0 <= low <= hits / trials <= high <= 1.0
    if hits:
        assert binom.sf(hits - 1, trials, low) == pytest.approx(doubt / 2, rel=1e-6)
    if hits < trials:
        assert binom.cdf(hits, trials, high) == pytest.approx(doubt / 2, rel=1e-6)


def test_nothing_and_everything_reach_the_ends() -> None:
    assert clopper_pearson(0, 10, 0.05)[0] == 0.0
    assert clopper_pearson(10, 10, 0.05)[1] == 1.0
    assert clopper_pearson(0, 10, 0.05)[1] == pytest.approx(1.0 - 0.025**0.1)


@pytest.mark.parametrize("chance", [0.02, 0.3, 0.5])
def test_a_counted_probability_is_missed_as_rarely_as_said(chance: float) -> None:
    hits = np.arange(51)
    limits = np.array([clopper_pearson(int(h), 50, 0.1) for h in hits])
    missed = (limits[:, 0] > chance) | (limits[:, 1] < chance)
    assert binom.pmf(hits, 50, chance)[missed].sum() <= 0.1


def test_a_bounded_mean_is_missed_as_rarely_as_said() -> None:
    rng = np.random.default_rng(0)
    draws = 3.0 * (rng.random((4000, 200)) < 0.2)
    off = [bernstein(float(row.var(ddof=1)), 200, 3.0, 0.05) for row in draws]
    assert (np.abs(draws.mean(axis=1) - 0.6) > off).mean() <= 0.05
    assert np.median(off) < 0.5


def test_bernstein_is_the_formula() -> None:
    expected = math.sqrt(2 * 0.25 * math.log(40) / 100) + 7 * 2 * math.log(40) / (3 * 99)
    assert bernstein(0.25, 100, 2.0, 0.1) == pytest.approx(expected)
    assert bernstein(0.0, 1, 1.0, 0.1) == math.inf
