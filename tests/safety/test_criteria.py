from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.safety import Correction, Corrections, ReturnHome, Situation
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


def test_an_unknown_word_for_home_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="home is 'base', expected 'current', 'start'"):
        ReturnHome(0.9, "base")  # type: ignore[arg-type]


@pytest.mark.parametrize("home", [4, -1, [0, 4]])
def test_a_home_that_does_not_exist_is_refused_by_number(home: int | list[int]) -> None:
    wrong = 4 if home != -1 else -1
    with pytest.raises(InvalidProblemError, match=rf"home \(n=\d\) is {wrong}, outside 0\.\.3"):
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
