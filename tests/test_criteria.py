from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from homeward import Planner, RMax
from homeward.beliefs.corrections import Correction, Corrections
from homeward.criteria import (
    EarnAtLeast,
    Limit,
    ReturnHome,
    Situation,
    StayInside,
)
from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.solvers import GIVE_UP

if TYPE_CHECKING:
    from collections.abc import Sequence

# home ← 1 ← 2, each move half sure and ⅛ a try, so ¼ each; state 3 is cut off.
MODEL = Moves(np.array([[0], [0], [1], [3]]), np.array([[1.0], [0.5], [0.5], [1.0]]))
RETURNING = np.array([[0.0], [-0.125], [-0.125], [0.0]])
EXPLORING = np.array([[0.0], [-0.25], [-0.25], [0.0]])


def situation(state: int = 0, start: int = 0, names: tuple[str, ...] | None = None) -> Situation:
    model = Moves(MODEL.dest, MODEL.success, state_names=names)
    return Situation(
        model, Corrections(Correction.GENERAL, RETURNING, EXPLORING), 0.75, state, start
    )


@pytest.mark.parametrize("delta", [0.0, -0.1, 1.5, 1.0000001, float("inf"), 2])
def test_a_level_outside_zero_and_one_is_refused(delta: float) -> None:
    with pytest.raises(InvalidProblemError, match=rf"δ is {delta:g}, expected 0 < δ <= 1"):
        ReturnHome(delta)


@pytest.mark.parametrize("delta", [float("nan"), None, "0.9", True, [0.9]])
def test_a_level_that_is_no_number_is_refused(delta: Any) -> None:
    with pytest.raises(InvalidProblemError, match=r"δ is .*, expected a number"):
        ReturnHome(delta)


@pytest.mark.parametrize("delta", [1e-300, 0.5, 1.0])
def test_a_level_up_to_one_is_let_pass(delta: float) -> None:
    assert ReturnHome(delta).delta == delta


def test_a_home_without_names_of_states_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="home is 'base', but the model has no names"):
        ReturnHome(0.9, "base").require(situation(0))


@pytest.mark.parametrize("home", [4, -1, [0, 4]])
def test_a_home_that_does_not_exist_is_refused_by_number(home: int | list[int]) -> None:
    wrong = 4 if home != -1 else -1
    with pytest.raises(InvalidProblemError, match=rf"home is {wrong}, outside 0\.\.3"):
        ReturnHome(0.9, home).require(situation())


@pytest.mark.parametrize("home", [1.0, [0.0, 1.0], True, None, {0}])
def test_a_home_that_is_no_state_number_is_refused(home: Any) -> None:
    with pytest.raises(InvalidProblemError, match="is not a state number"):
        ReturnHome(0.9, home).require(situation())


def test_no_home_at_all_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="home is an empty set of states"):
        ReturnHome(0.9, []).require(situation())


@pytest.mark.parametrize(
    ("home", "states"),
    [
        ("current", [2]),
        ("start", [1]),
        (3, [3]),
        ([0, 3], [0, 3]),
        ((1,), [1]),
        (range(2), [0, 1]),
        (np.int64(2), [2]),
    ],
)
def test_home_is_where_one_says(home: Any, states: Sequence[int]) -> None:
    requirement = ReturnHome(0.9, home).require(situation(state=2, start=1))
    assert requirement.home.tolist() == states
    assert (requirement.returns.value[states] == 1.0).all()


def test_the_requirement_is_derived_by_hand() -> None:
    # v = 1, ¾, ½, 0, and (1 − γ)v + γσ with γ = ¾ and σ = −¼ where a move leaves.
    requirement = ReturnHome(0.9).require(situation())
    assert requirement.returns.value == pytest.approx([1.0, 0.75, 0.5, 0.0], abs=1e-15)
    assert requirement.returns.policy.tolist() == [GIVE_UP, 0, 0, GIVE_UP]
    expected = [0.25, 0.25 * 0.75 - 0.1875, 0.25 * 0.5 - 0.1875, 0.0]
    assert requirement.reward[:, 0] == pytest.approx(expected, abs=1e-15)
    assert requirement.level == 0.9


def test_the_requirement_names_its_home_by_number() -> None:
    assert ReturnHome(0.9, [0, 3]).require(situation()).name == "return to state 0, state 3"


def test_the_requirement_names_its_home_by_name() -> None:
    named = situation(names=("camp", "ridge", "peak", "pit"))
    assert ReturnHome(0.9, [0, 1]).require(named).name == "return to camp, ridge"


def test_the_corrections_are_not_written_to() -> None:
    before = RETURNING.copy(), EXPLORING.copy()
    ReturnHome(0.9).require(situation())
    assert (before[0] == RETURNING).all()
    assert (before[1] == EXPLORING).all()


LEVELLED = [
    lambda delta: ReturnHome(delta, within=3),
    lambda delta: StayInside(np.ones(4, bool), delta),
]


@pytest.mark.parametrize("make", LEVELLED)
@pytest.mark.parametrize("delta", [0.0, 1.5, float("nan"), "0.9"])
def test_every_probability_is_checked(make: Any, delta: Any) -> None:
    with pytest.raises(InvalidProblemError, match="δ is"):
        make(delta)


@pytest.mark.parametrize(
    "make", [lambda n: ReturnHome(0.9, within=n), lambda n: Planner(RMax(), recall=n)]
)
def test_a_horizon_of_no_steps_is_refused(make: Any) -> None:
    for steps in (0, -2):
        with pytest.raises(InvalidProblemError, match=f"a horizon of {steps} steps"):
            make(steps)
    for odd in (1.5, True):
        with pytest.raises(InvalidProblemError, match="expected a whole number"):
            make(odd)


def test_within_a_limit_the_way_home_is_shorter() -> None:
    # General, σ = −⅛ a try of p = ½: v₁ = ⅜ and 0; v₂ = 9⁄16 and −⅛ + ½·⅜ = 1⁄16.
    for steps, value in ((1, [1.0, 0.375, 0.0, 0.0]), (2, [1.0, 0.5625, 0.0625, 0.0])):
        found = ReturnHome(0.9, within=steps).require(situation())
        assert found.returns.value == pytest.approx(value, abs=1e-12)
        expected = 0.25 * np.array(value) + 0.75 * EXPLORING[:, 0]
        assert found.reward[:, 0] == pytest.approx(expected, abs=1e-12)
    assert found.name == "return to state 0 within 2 steps"
    assert ReturnHome(0.9, within=1).require(situation()).name == "return to state 0 within 1 step"
    assert found.within == 2


def moves_situation(
    success: np.ndarray,
    returning: np.ndarray,
    general: np.ndarray | None = None,
    work_or_never: bool = False,
) -> Situation:
    """Make a situation with the moves correction, of moves 1 → 0 and a stay in 0."""
    model = Moves(np.array([[0], [0]]), success)
    exploring = np.array([[0.0], [-0.3]])
    return Situation(
        model,
        Corrections(Correction.MOVES, returning, exploring, work_or_never),
        0.75,
        0,
        0,
        None if general is None else lambda: general,
    )


def test_within_a_limit_a_move_that_works_or_not_counts_once() -> None:
    general = np.array([[0.0], [-0.125]])
    declared = moves_situation(
        np.array([[1.0], [0.5]]), np.array([[0.0], [-0.25]]), general, work_or_never=True
    )
    for steps in (1, 5):
        value = ReturnHome(0.9, within=steps).require(declared).returns.value
        assert value == pytest.approx([1.0, 0.5], abs=1e-14)


def test_within_a_limit_that_a_move_works_or_not_is_not_read_off_its_correction() -> None:
    # σ_r = −p(1−p), as if P were 0 or 1, may be a conservative bound: two tries then give more.
    general = np.array([[0.0], [-0.125]])
    silent = moves_situation(np.array([[1.0], [0.5]]), np.array([[0.0], [-0.25]]), general)
    value = ReturnHome(0.9, within=2).require(silent).returns.value
    assert value[1] == pytest.approx(0.5 * 1.0 + 0.5 * 0.5 - 0.125, abs=1e-12)


def test_within_a_limit_a_move_that_works_by_chance_may_be_repeated() -> None:
    # P = ½ in every world, so Pr(P = 0) = 0: without a limit it is sure, within h it is 1 − 2⁻ʰ.
    nothing = np.zeros((2, 1))
    chancy = moves_situation(np.array([[1.0], [0.5]]), nothing, nothing)
    assert ReturnHome(0.9).require(chancy).returns.value[1] == pytest.approx(1.0, abs=1e-14)
    assert ReturnHome(0.9, within=2).require(chancy).returns.value[1] == pytest.approx(
        0.75, abs=1e-12
    )
    # Without the general correction at hand, only a first attempt is counted on.
    alone = moves_situation(np.array([[1.0], [0.5]]), nothing)
    assert ReturnHome(0.9, within=2).require(alone).returns.value[1] == pytest.approx(
        0.5, abs=1e-12
    )


def test_staying_inside_is_derived_by_hand() -> None:
    inside = np.array([[True], [True], [False], [True]])
    found = StayInside(inside, 0.9).require(situation())
    assert found.reward[:, 0] == pytest.approx(0.25 + 0.75 * EXPLORING[:, 0], abs=1e-15)
    assert found.allowed is not None
    assert found.allowed.tolist() == inside.tolist()
    assert found.name == "stay inside the set of 3 state-actions"
    assert StayInside(inside[:, 0], 0.9).require(situation()).name == (
        "stay inside the set of 3 states"
    )
    assert found.home.size == 0
    assert not found.returns.value.any()


def test_staying_inside_is_corrected_by_less_on_moves() -> None:
    # Where a move works or not, −(1 − γ)p(1−p): in the worlds where it fails, one is inside.
    success, returning = np.array([[1.0], [0.5]]), np.array([[0.0], [-0.25]])
    plain = moves_situation(success, returning, work_or_never=True)
    found = StayInside(np.ones(2, bool), 0.9).require(plain)
    assert found.reward[:, 0] == pytest.approx([0.25, 0.25 - 0.75 * 0.25 * 0.25], abs=1e-15)
    # Where that is not declared, half of the exploring correction, whatever the returning one.
    silent = moves_situation(success, returning)
    found = StayInside(np.ones(2, bool), 0.9).require(silent)
    assert found.reward[:, 0] == pytest.approx([0.25, 0.25 - 0.75 * 0.15], abs=1e-15)


@pytest.mark.parametrize(
    ("allowed", "said"),
    [
        (np.zeros(4, bool), "the set to stay inside is empty"),
        (np.ones(4), "is float64 of shape"),
        (np.ones((4, 1, 1), bool), "expected booleans"),
        ([[True], [True, False]], "the set to stay inside is not an array"),
    ],
)
def test_a_set_that_is_none_is_refused(allowed: Any, said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        StayInside(allowed, 0.9)


def test_a_set_of_another_size_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match=r"shape \(3,\), expected \(4,\) or \(4, 1\)"):
        StayInside(np.ones(3, bool), 0.9).require(situation())


def test_a_start_outside_the_set_is_refused_by_name() -> None:
    names = ("camp", "ridge", "peak", "pit")
    outside = StayInside(np.array([True, False, True, True]), 0.9)
    with pytest.raises(InvalidProblemError, match="ridge is outside the set to stay inside"):
        outside.require(situation(state=1, names=names))
    assert outside.require(situation(state=2)).level == 0.9


def test_a_set_that_is_changed_later_does_not_change_the_criterion() -> None:
    mine = np.ones(4, bool)
    criterion = StayInside(mine, 0.9)
    mine[:] = False
    assert np.all(criterion.allowed)


REWARDS = np.array([[1.0], [3.0], [-1.0], [1.0]])


def test_earning_is_derived_by_hand() -> None:
    # From −1 to 3: c = ½, 1, 0, ½; the total of r is −1·4 + 4·4·g with γ = ¾.
    found = EarnAtLeast(2.0, REWARDS).require(situation())
    expected = 0.25 * np.array([0.5, 1.0, 0.0, 0.5]) + 0.75 * EXPLORING[:, 0]
    assert found.reward[:, 0] == pytest.approx(expected, abs=1e-15)
    assert (found.least, found.unit, found.level) == (-4.0, 16.0, 2.0)
    assert found.name == "earn a total of 2"


def test_where_the_process_may_end_nothing_is_earned_afterwards() -> None:
    ends = situation()
    ends = Situation(ends.model.sparse(), ends.corrections, 0.75, 0, 0)
    found = EarnAtLeast(2.0, REWARDS + 2.0).require(ends)
    assert (found.least, found.unit) == (0.0, 20.0)  # from 0 to 5, not from 1


def test_a_constant_reward_needs_no_correction() -> None:
    found = EarnAtLeast(2.0, np.full((4, 1), 3.0)).require(situation())
    assert not found.reward.any()
    assert found.least == 12.0


def paying(known: Any, **own: Any) -> Any:
    model = Moves(MODEL.dest, MODEL.success, REWARDS)
    where = Situation(
        model,
        Corrections(Correction.GENERAL, RETURNING, EXPLORING),
        0.75,
        0,
        0,
        limits=None if known is None else lambda: known,
    )
    return EarnAtLeast(2.0, **own).require(where)


def test_uncertain_rewards_are_measured_by_what_any_world_may_pay() -> None:
    found = paying((-5.0, 5.0))
    assert (found.least, found.unit) == (-20.0, 40.0)
    assert paying((-5.0, 5.0), limits=(-6.0, 5.0)).least == -24.0
    assert paying(None, limits=(-2.0, 3.0)).least == -8.0


def test_limits_that_a_world_is_known_to_pass_are_refused() -> None:
    said = r"the belief's worlds pay from -5 to 5, outside the limits \(-2, 3\)"
    with pytest.raises(InvalidProblemError, match=said):
        paying((-5.0, 5.0), limits=(-2.0, 3.0))


def test_rewards_of_which_nothing_is_known_are_refused() -> None:
    with pytest.raises(InvalidProblemError, match="does not know the limits of its rewards"):
        paying(None)


def test_limits_that_the_mean_passes_are_refused() -> None:
    with pytest.raises(InvalidProblemError, match=r"between -1 and 3, outside the limits \(0, 3\)"):
        paying(None, limits=(0.0, 3.0))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"total": float("nan")}, "the total to earn is nan"),
        ({"total": float("inf")}, "expected a finite number"),
        ({"total": 1.0, "rewards": np.ones(3)}, r"expected \[S, A\]"),
        ({"total": 1.0, "rewards": [[1.0], [np.inf]]}, r"the reward to earn \(s=1, a=0\) is inf"),
        (
            {"total": 1.0, "rewards": REWARDS, "limits": (0, 1)},
            "rewards and limits can.t both be given",
        ),
        ({"total": 1.0, "limits": (2.0, 1.0)}, "expected least <= greatest"),
        ({"total": 1.0, "limits": 3.0}, r"expected \(least, greatest\)"),
    ],
)
def test_what_is_wrong_with_earning_is_named(asked: Any, said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        EarnAtLeast(**asked)


def test_rewards_of_another_size_are_refused() -> None:
    with pytest.raises(InvalidProblemError, match="the rewards to earn have shape"):
        EarnAtLeast(1.0, np.ones((3, 1))).require(situation())


USE = np.ones((3, 2))


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (Limit(0.0, "Wh", USE, USE), "the limit is 0 Wh, expected above 0"),
        (Limit(5.0, "Wh", USE[0], USE), r"use in Wh has shape \(2,\), expected \[S, A\]"),
        (Limit(5.0, "Wh", USE, USE - 2.0), "lost in Wh is -1, expected >= 0"),
    ],
)
def test_a_wrong_limit_is_refused_by_its_part(limit: Limit, said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        ReturnHome(0.9, limits=(limit,))
