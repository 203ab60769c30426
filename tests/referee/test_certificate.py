"""Verdicts: what is confirmed, what is refuted, and why."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.referee.cases import (
    RIDGE,
    every_belief,
    every_plan,
    far,
    made,
    on_the_ridge,
    ridge,
    ridge_plan,
)

from homeward.beliefs import Belief, FiniteBelief
from homeward.beliefs.corrections import Correction
from homeward.criteria import EarnAtLeast, ReturnHome
from homeward.errors import InvalidInputError
from homeward.models import Moves
from homeward.referee.bounds import Recomputed
from homeward.referee.certificate import judge
from homeward.referee.sampling import sample
from homeward.solvers import Status

if TYPE_CHECKING:
    from homeward.referee.claims import PlanCase


def with_bound(case: PlanCase, **claims: Any) -> PlanCase:
    """Change what a plan claims of its first criterion."""
    first, *others = case.plan.criteria
    criteria = (replace(first, **claims), *others)
    return replace(case, plan=replace(case.plan, criteria=criteria))


@pytest.mark.parametrize("recall", [None, 3])
@pytest.mark.parametrize("name", every_belief())
def test_a_sound_plan_is_not_refuted(name: str, recall: int | None) -> None:
    case = every_plan(name, recall=recall)
    found = judge(case, episodes=300)
    assert not found.refuted
    assert len(found.verdicts) == len(case.parts) * 4
    assert all(v.recomputed is not None and v.sampled is not None for v in found.verdicts)
    assert all((v.exact is None) == (name not in ("moves", "general")) for v in found.verdicts)
    unsure = ("not checked: which criteria conflict",) if name == "general" else ()
    assert (found.notes == unsure) == (name in ("moves", "general"))


def test_every_way_refutes_a_bound_that_is_too_high_and_says_how() -> None:
    forged = with_bound(ridge_plan(0.9), bound=0.95)
    verdict, other = judge(forged, episodes=4000).verdicts
    assert verdict.refuted
    exactly, sampled, reckoned = verdict.reasons
    assert exactly == "the exact value is 0.9"
    assert sampled.startswith("by sampling, the value is at most 0.91")
    assert reckoned == "the recomputed bound is 0.9"
    assert verdict.words.startswith("refuted: the exact value is 0.9; by sampling")
    assert not other.refuted
    assert other.part == "action"


@pytest.mark.parametrize(
    ("method", "reason"),
    [("exact", "exact value"), ("sampling", "by sampling"), ("arithmetic", "recomputed")],
)
def test_each_way_works_alone(method: Any, reason: str) -> None:
    found = judge(with_bound(ridge_plan(0.9), bound=0.95), method=method, episodes=4000)
    verdict = found.verdicts[0]
    assert len(verdict.reasons) == 1
    assert reason in verdict.reasons[0]
    assert verdict.method == method
    assert found.episodes == (4000 if method == "sampling" else 0)
    if method == "arithmetic":
        assert (verdict.estimate, verdict.low, verdict.high) == (None, None, None)
        assert judge(ridge_plan(), method=method).verdicts[0].words == (
            "confirmed: the recomputed bound agrees"
        )


def test_what_starts_with_the_action_is_a_claim_of_its_own() -> None:
    forged = with_bound(ridge_plan(0.5), kept_bound=0.99)
    whole, part = judge(forged, episodes=200).verdicts
    assert (whole.part, part.part) == ("plan", "action")
    assert not whole.refuted
    assert part.refuted


def test_a_bound_that_is_off_by_rounding_alone_stands() -> None:
    case = ridge_plan(0.9)
    assert not judge(with_bound(case, bound=0.9 + 5e-10), episodes=200).refuted
    assert judge(with_bound(case, bound=0.9 + 1e-8), episodes=200, method="exact").refuted
    assert judge(with_bound(case, bound=0.9 + 2e-7), method="arithmetic").refuted
    assert not judge(with_bound(case, bound=0.9 + 5e-8), method="arithmetic").refuted


def test_a_plan_without_a_correction_is_refuted_by_the_worlds_and_not_by_its_arithmetic() -> None:
    """Taken at its word, a doubtful move is only repeated until it works."""
    case = made(ridge(0.5), [ReturnHome(0.9, 0)], far, 0.5, correction=Correction.NAIVE)
    verdict = judge(case, episodes=2000).verdicts[0]
    assert verdict.reasons[0].startswith("the exact value is")
    assert verdict.reasons[1].startswith("by sampling")
    assert len(verdict.reasons) == 2


def test_a_way_home_that_is_not_taken_any_more_is_refuted() -> None:
    case = ridge_plan(0.9)
    policy = case.plan.criteria[0].return_policy.copy()
    policy[RIDGE] = -1
    (criterion,) = (replace(case.plan.criteria[0], return_policy=policy),)
    forged = replace(case, plan=replace(case.plan, criteria=(criterion,)))
    verdict = judge(forged, episodes=2000).verdicts[0]
    assert verdict.exact == pytest.approx(0.8)
    assert any("the return from state 1" in reason for reason in verdict.reasons)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"exploration_value": 0.5}, "the plan is claimed to have value 0.5, but its value is 0.4"),
        (
            {"kept_value": 0.5},
            "the mixture that starts with the action is claimed to have value 0.5",
        ),
        (
            {"upper_bound": 0.3},
            "the claimed upper bound on safe plans is 0.3, but the proven one is 0.4",
        ),
    ],
)
def test_a_worth_that_does_not_come_out_is_refuted(change: Any, reason: str) -> None:
    case = ridge_plan(0.9)
    found = judge(replace(case, plan=replace(case.plan, **change)), method="arithmetic")
    assert found.refuted
    assert not any(v.refuted for v in found.verdicts)
    assert found.worth.reasons[0].startswith(reason)


def with_pit(reward: float) -> FiniteBelief:
    """Return the ridge, and a pit that nothing leads to, where being costs something."""
    dest = np.array([[0, 1], [1, 0], [2, 2]])
    paid = np.array([[0.0, 0.0], [0.0, 0.0], [reward, reward]])
    worlds = [
        Moves(dest, np.array([[1.0, 1.0], [1.0, down], [1.0, 1.0]]), paid) for down in (0.0, 1.0)
    ]
    return FiniteBelief(worlds)


def up_there(belief: Any) -> Any:
    """Staying on the ridge pays 1 a step."""
    return np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]])


@pytest.mark.parametrize("pit", [-1e6, 1e9])
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"exploration_value": 0.41, "gap": 0.0},
            "the plan is claimed to have value 0.41, but its value is 0.4",
        ),
        (
            {"kept_value": 1e-3},
            "the mixture that starts with the action is claimed to have value 0.001, but its",
        ),
        ({"upper_bound": 0.39, "gap": 0.0}, "the claimed upper bound on safe plans is 0.39"),
    ],
)
def test_a_penalty_that_can_not_be_met_makes_no_room_for_a_false_worth(
    pit: float, change: Any, reason: str
) -> None:
    case = made(with_pit(pit), [ReturnHome(0.9, 0)], up_there, 0.5)
    assert not judge(case, method="arithmetic").refuted
    forged = replace(case, plan=replace(case.plan, **change))
    found = judge(forged, method="arithmetic")
    assert found.worth.reasons[0].startswith(reason)


@pytest.mark.parametrize("multiplier", [None, 1e9])
@pytest.mark.parametrize(
    "change", [{"upper_bound": 0.39, "gap": 0.0}, {"exploration_value": 0.41, "gap": 0.0}]
)
def test_a_cliff_that_is_avoided_makes_no_room_for_a_false_worth(
    change: Any, multiplier: float | None
) -> None:
    """On the ridge one may also lie down in the snow, which costs 1e6."""
    dest = np.array([[0, 1, 0], [1, 0, 1]])
    paid = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -1e6]])
    works = [np.array([[1.0, 1.0, 1.0], [1.0, down, 1.0]]) for down in (0.0, 1.0)]
    belief = FiniteBelief([Moves(dest, world, paid) for world in works])
    case = made(belief, [ReturnHome(0.9, 0)], lambda _: np.array([[0, 0, 0], [1.0, 0, 0]]), 0.5)
    assert not judge(case, method="arithmetic").refuted
    forged = replace(case, plan=replace(case.plan, **change))
    if multiplier is not None:
        forged = with_bound(forged, multiplier=multiplier)
    assert judge(forged, method="arithmetic").worth.refuted


@pytest.mark.parametrize("pit", [-1e6, 1e9])
def test_a_penalty_that_can_not_be_met_makes_no_room_for_a_false_optimum(pit: float) -> None:
    """Staying in camp is worth nothing, and going up 0.4 of the time is safe."""
    case = made(with_pit(pit), [ReturnHome(0.9, 0)], up_there, 0.5)
    camp = np.zeros((1, 3), np.int32)
    lazy = replace(
        case.plan,
        weights=np.ones(1),
        outbound=camp,
        exploration_value=0.0,
        gap=case.plan.upper_bound,
        kept_value=0.0,
    )
    forged = replace(case, plan=replace(lazy, kept_weights=np.ones(1), kept_outbound=camp))
    found = judge(forged, method="arithmetic")
    assert found.worth.reasons == ("the plan is claimed to be optimal, but the proven gap is 0.4",)


@pytest.mark.parametrize("method", ["exact", "arithmetic"])
@pytest.mark.parametrize("rewards", [True, False])
def test_a_reward_that_can_not_be_met_makes_no_room_for_a_false_total(
    method: Any, rewards: bool
) -> None:
    given = np.array([[1.0, 0.0], [0.0, 0.0], [-1e9, -1e9]]) if rewards else None
    case = made(with_pit(-1e9), [EarnAtLeast(-5.0, given)], up_there, 0.5)
    assert not judge(case, method=method).refuted
    more = case.plan.criteria[0].bound + 0.1
    found = judge(with_bound(case, bound=more, kept_bound=more), method=method)
    assert found.verdicts[0].refuted


def test_confidence_is_shared_by_all_claims() -> None:
    case = ridge_plan(0.9)  # two claims
    (first, _) = judge(case, method="sampling", episodes=500, confidence=0.9).verdicts
    single = made(ridge(), [ReturnHome(0.5, 0)], far, 0.5)
    assert len(single.parts) == 1
    plan = replace(single.plan, weights=case.plan.weights, outbound=case.plan.outbound)
    single = replace(single, plan=plan)
    both = judge(single, method="sampling", episodes=500, confidence=0.9).verdicts
    assert (both[0].low, both[0].high) == (first.low, first.high)
    doubt = 0.05  # of each of the two
    alone = sample(single, 500, doubt)["plan"][0]
    assert (alone.low, alone.high) == (first.low, first.high)


def test_words_say_whether_the_interval_is_above() -> None:
    high = judge(with_bound(ridge_plan(0.9), bound=0.5), method="sampling", episodes=500)
    assert high.verdicts[0].words == "confirmed: the whole interval is above the claim"
    near = judge(ridge_plan(0.9), method="sampling", episodes=500)
    assert near.verdicts[0].words == "not refuted: the interval reaches above the claim"
    exact = judge(ridge_plan(0.9), method="exact")
    assert exact.verdicts[0].words == "confirmed: true of the belief's worlds, exactly"


def test_the_same_seed_gives_the_same_answer_and_another_another() -> None:
    case = ridge_plan(0.9)
    one, same, other = (
        judge(case, method="sampling", episodes=5000, seed=s).verdicts for s in (1, 1, 2)
    )
    assert one == same
    assert one != other


def test_an_unsafe_plan_has_nothing_to_certify() -> None:
    found = judge(made(ridge(), [], far))
    assert found.verdicts == ()
    assert not found.refuted
    assert found.notes == ("the plan has no criteria: there is nothing to certify",)


def test_an_infeasible_plan_keeps_what_it_claims() -> None:
    case = made(ridge(0.5), [ReturnHome(1.0, 0)], far, 0.5, state=RIDGE)
    found = judge(case, episodes=500)
    assert not found.refuted
    assert found.worth.recomputed_upper is None
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["worth"]["upper"] is None


def test_a_certificate_is_json() -> None:
    value = json.loads(json.dumps(judge(ridge_plan(), episodes=100).as_dict(), allow_nan=False))
    first = value["verdicts"][0]
    assert {"criterion", "claimed", "estimate", "low", "high", "refuted"} <= set(first)
    assert first["sampled"]["episodes"] == 100
    assert value["refuted"] is False


class Odd(Belief):
    """A belief that shares nothing with those that are known."""

    def __init__(self) -> None:
        self.inner = ridge()

    def mean(self) -> Moves:
        mean = self.inner.mean()
        assert isinstance(mean, Moves)
        return mean

    def correction(self) -> Any:
        return self.inner.correction()

    def update(self, observation: Any) -> Odd:
        return self

    def sample(self, rng: np.random.Generator) -> Any:
        return self.inner.sample(rng)


def test_a_plan_on_a_belief_of_ones_own_is_checked_by_the_beliefs_own_correction() -> None:
    case = made(Odd(), [ReturnHome(0.5, 0)], far, 0.5)
    found = judge(case, episodes=300)
    assert not found.refuted
    assert found.notes == (
        "not enumerated: only a FiniteBelief can be enumerated, but this is a Odd",
    )
    with pytest.raises(InvalidInputError, match="only a FiniteBelief"):
        judge(case, method="exact")
    lie = with_bound(case, bound=case.plan.criteria[0].bound + 1e-3)
    assert judge(lie, method="arithmetic").verdicts[0].refuted_by == ("arithmetic",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "guess"}, "method is 'guess', expected one of all, exact"),
        ({"episodes": 0}, "the number of episodes is 0"),
        ({"episodes": 1.5}, "the number of episodes is 1.5"),
        ({"confidence": 1.0}, "the confidence is 1, expected 0 < confidence < 1"),
        ({"confidence": "much"}, "the confidence is 'much'"),
        ({"seed": -1}, "the seed is -1"),
        ({"jobs": 0}, "the number of processes is 0"),
    ],
)
def test_bad_input_is_refused_by_name(options: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        judge(ridge_plan(), **options)


@pytest.mark.parametrize("method", ["exact", "sampling", "arithmetic"])
def test_the_range_of_earnings_is_not_taken_from_the_plan(method: Any) -> None:
    """Whatever unit and limits a file says, a false claim is judged by what the worlds pay."""
    rewards = np.array([[1.0, 0.0], [0.0, 0.0]])
    for asked in (EarnAtLeast(0.1, rewards), EarnAtLeast(-0.1, limits=(-1e12, 1e12))):
        case = made(ridge(), [asked], on_the_ridge, 0.5)
        assert judge(case, method=method, episodes=2000).verdicts[0].unit == 2.0
        above = case.plan.criteria[0].bound + 3.0
        lie = with_bound(case, bound=above, kept_bound=above, unit=1e12)
        verdict = judge(lie, method=method, episodes=2000).verdicts[0]
        assert verdict.unit == 2.0
        assert verdict.refuted


@pytest.mark.parametrize("method", ["exact", "sampling", "arithmetic"])
def test_an_optimal_plan_keeps_its_levels_by_its_own_claims(method: Any) -> None:
    lie = with_bound(ridge_plan(0.9), bound=0.8, corrected=0.8)
    found = judge(lie, method=method, episodes=200)
    assert found.worth.reasons == (
        "the plan claims to be optimal, but its corrected bound 0.8 for 'return to state 0' is "
        "below 0.9",
    )
    met = replace(lie, plan=replace(lie.plan, status=Status.NOT_CONVERGED))
    assert not judge(met, method=method, episodes=200).refuted


def test_an_optimal_plan_has_a_gap_of_next_to_nothing() -> None:
    case = ridge_plan(0.9)
    wide = replace(case.plan, upper_bound=0.5, gap=0.5 - case.plan.exploration_value)
    found = judge(replace(case, plan=wide), method="arithmetic")
    assert found.worth.reasons == ("the plan is claimed to be optimal, but its gap is 0.1",)
    met = replace(case, plan=replace(wide, status=Status.NOT_CONVERGED))
    assert not judge(met, method="arithmetic").refuted


def test_a_large_multiplier_makes_no_room_for_another_worth() -> None:
    case = with_bound(ridge_plan(0.9), multiplier=1e9)
    lie = replace(case, plan=replace(case.plan, exploration_value=0.5, upper_bound=1e9, gap=1e9))
    reasons = judge(lie, method="arithmetic").worth.reasons
    assert reasons[0] == "the plan is claimed to have value 0.5, but its value is 0.4"


@pytest.mark.parametrize("multiplier", [0.0, 1.0, math.inf])
def test_that_nothing_is_safe_must_be_shown(multiplier: float) -> None:
    case = ridge_plan(0.9)
    plan = replace(case.plan, status=Status.INFEASIBLE, upper_bound=-math.inf, gap=0.0)
    lie = with_bound(replace(case, plan=plan), multiplier=multiplier)
    found = judge(lie, method="arithmetic")
    assert found.worth.reasons == (
        "the plan's multipliers do not prove that no plan meets the levels",
    )


@pytest.mark.parametrize("multiplier", [1e9, 1e12, 1e15])
def test_a_large_multiplier_makes_no_room_for_a_false_optimum(multiplier: float) -> None:
    """All of the plan may go up and be worth 1; it stays in camp and says that is the best."""
    belief, level = ridge(1.0 - 4e-8), 1.0 - 2.5e-8
    best = made(belief, [ReturnHome(level, 0)], on_the_ridge, 0.5)
    assert best.plan.exploration_value == pytest.approx(1.0)
    assert not judge(best, method="arithmetic").refuted
    lazy = made(belief, [ReturnHome(1.0, 0)], on_the_ridge, 0.5)
    assert lazy.plan.upper_bound == pytest.approx(0.0, abs=1e-9)
    found = judge(with_bound(lazy, level=level, multiplier=multiplier), method="arithmetic")
    assert found.worth.reasons[0].startswith("the claimed upper bound on safe plans is 0, but")


def infeasible(case: PlanCase, **claims: Any) -> PlanCase:
    """Return a plan that claims that nothing keeps the level of its first criterion."""
    plan = replace(case.plan, status=Status.INFEASIBLE, upper_bound=-math.inf, gap=0.0)
    return with_bound(replace(case, plan=plan), **({"multiplier": math.inf} | claims))


@pytest.mark.parametrize("recall", [None, 3])
@pytest.mark.parametrize("below", [0.0, 1e-12, 1e-9, 5e-8])
def test_a_level_that_can_just_be_kept_is_not_infeasible(below: float, recall: int | None) -> None:
    """Staying in camp keeps 1 for sure."""
    case = ridge_plan(1.0 - below, recall=recall)
    assert not judge(case, method="arithmetic").refuted
    found = judge(infeasible(case), method="arithmetic")
    assert found.worth.reasons[0].startswith("the plan's multipliers do not prove")


def test_a_level_that_can_just_not_be_kept_is_infeasible() -> None:
    case = made(ridge(0.5), [ReturnHome(0.5 + 3e-9, 0)], far, 0.5, state=RIDGE)
    assert case.plan.status is Status.INFEASIBLE
    assert not judge(case, method="arithmetic").refuted


@pytest.mark.parametrize("asked", [ReturnHome(0.4, 0), ReturnHome(0.4, 0, within=2)])
def test_a_way_home_that_gives_up_does_not_make_a_level_infeasible(asked: Any) -> None:
    """From the ridge, half of the worlds have a way down; a plan that ignores it shows nothing."""
    case = made(ridge(0.5), [asked], far, 0.5, state=RIDGE)
    (criterion,) = case.plan.criteria
    lost = np.where(criterion.return_policy >= 0, -1, criterion.return_policy)
    layers = criterion.return_layers
    lie = infeasible(
        case,
        way_home=np.array([1.0, 0.0]),
        return_policy=lost,
        return_layers=None if layers is None else np.full_like(layers, -1),
        **dict.fromkeys(("bound", "kept_bound", "corrected", "kept_corrected"), 0.0),
    )
    found = judge(lie, method="arithmetic")
    assert not any(v.refuted for v in found.verdicts)
    assert found.worth.reasons == (
        "the plan's multipliers do not prove that no plan meets the levels",
    )


@pytest.mark.parametrize("options", [{}, {"recall": 3}, {"method": "lp"}])
def test_that_nothing_is_safe_is_shown_where_it_is_so(options: Any) -> None:
    case = every_plan("general", **options)
    assert case.plan.status is Status.INFEASIBLE
    assert not judge(case, method="arithmetic").refuted
    shown = Recomputed(case).short
    assert shown is not None
    assert shown > 0.5


def test_arithmetic_does_not_confirm_what_has_no_correction() -> None:
    case = made(ridge(), [ReturnHome(0.9, 0)], far, 0.5, correction=Correction.NAIVE)
    found = judge(case, method="arithmetic")
    assert not found.refuted
    assert not any("confirmed" in v.words for v in found.verdicts)
    assert found.as_dict()["notes"] == [
        "the plan was made without a correction (naive): its bounds are believed, not proven"
    ]
