"""Sets to stay inside, written as exits, and which criteria conflict."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from homeward.beliefs.corrections import Correction, Corrections
from homeward.criteria import (
    EarnAtLeast,
    ReturnHome,
    Situation,
    StayInside,
)
from homeward.models import Moves
from homeward.planning.algorithm1 import conflict_of, exits_of, pose
from homeward.planning.proof import lower
from homeward.solvers import Status, solve_constrained

# Camp, meadow and a cave, each one sure move from the last; staying in the cave pays 4.
MODEL = Moves(np.array([[0, 1], [1, 2], [2, 2]]), np.ones((3, 2)))
NOTHING = np.zeros((3, 2))
WHERE = Situation(MODEL, Corrections(Correction.GENERAL, NOTHING, NOTHING), 0.5, 0, 0)
BONUS = np.array([[0.0, 0.0], [0.0, 0.0], [4.0, 4.0]])
MEADOW = np.array([[True, True], [True, False], [True, True]])  # don't leave it for the cave


@pytest.mark.parametrize("sparse", [False, True])
def test_an_exit_pays_what_is_best_afterwards(sparse: bool) -> None:
    model = MODEL.sparse() if sparse else MODEL
    asked = [StayInside(MEADOW, 0.9).require(WHERE), ReturnHome(0.1).require(WHERE)]
    totals = np.stack([BONUS, *(r.reward for r in asked)])
    posed = pose(model, 0.5, 0, totals, asked)
    # Afterwards: 4 a step in the cave is worth 8, so leaving the meadow is worth ½·8.
    assert posed.afterwards is not None
    assert posed.afterwards[:2].tolist() == [1, 1]
    pay = 1.0 if sparse else 0.5  # once, or a half each time
    assert posed.problem.totals[0, 1, 1] == pytest.approx(4.0 * pay, abs=1e-12)
    # The call may come in the meadow, before the step: ½ of being inside, and of the way home, 0.
    assert posed.problem.totals[1:, 1, 1] == pytest.approx([0.5 * pay, 0.0], abs=1e-12)
    assert posed.exits is not None
    assert np.argwhere(posed.exits).tolist() == [[1, 1]]


def test_a_set_of_everything_has_no_exits() -> None:
    asked = [StayInside(np.ones((3, 2), bool), 0.9).require(WHERE)]
    assert exits_of(asked) is None
    assert exits_of([]) is None
    posed = pose(MODEL, 0.5, 0, np.stack([BONUS, asked[0].reward]), asked)
    assert posed.problem.model is MODEL
    assert posed.afterwards is None


def test_leaving_one_set_leaves_them_all() -> None:
    other = np.array([[True, False], [True, True], [True, True]])
    asked = [StayInside(MEADOW, 0.9).require(WHERE), StayInside(other, 0.9).require(WHERE)]
    exits = exits_of(asked)
    assert exits is not None
    assert exits.tolist() == (~(MEADOW & other)).tolist()


def test_a_policy_known_from_before_makes_no_difference() -> None:
    asked = [StayInside(MEADOW, 0.9).require(WHERE)]
    cold, warm = (
        pose(MODEL, 0.5, 0, np.stack([BONUS, asked[0].reward]), asked, known)
        for known in (None, np.array([1, 1, 0], np.int32))
    )
    assert cold.problem.totals == pytest.approx(warm.problem.totals, abs=1e-12)


# From the fork one falls into one of three pits, for good; each of them is a home.
FORK = Moves(np.array([[1, 2, 3], [1, 1, 1], [2, 2, 2], [3, 3, 3]]), np.ones((4, 3)))
AT_FORK = Situation(
    FORK, Corrections(Correction.GENERAL, np.zeros((4, 3)), np.zeros((4, 3))), 0.5, 0, 0
)


@pytest.mark.parametrize(
    ("levels", "conflict"),
    [
        # A hut is kept with ½ + ½·w, of the call before the fork, which could still reach it.
        ((0.9, 0.9, 0.1), (0, 1)),
        ((0.1, 0.9, 0.9), (1, 2)),
        ((0.7, 0.7, 0.7), (0, 1, 2)),  # any two of them have room for 0.75
        ((0.9, 0.1, 0.9), (0, 2)),
    ],
)
def test_the_fewest_that_conflict_are_found(
    levels: tuple[float, ...], conflict: tuple[int, ...]
) -> None:
    asked = [ReturnHome(d, 1 + k).require(AT_FORK) for k, d in enumerate(levels)]
    totals = np.stack([np.ones((4, 3)), *(r.reward for r in asked)])
    posed = pose(FORK, 0.5, 0, totals, asked)
    assert solve_constrained(posed.problem).status is Status.INFEASIBLE
    asked = [ReturnHome(d, 1 + k).require(AT_FORK) for k, d in enumerate(levels)]
    assert conflict_of(FORK, 0.5, 0, asked) == conflict


def test_what_can_not_be_kept_even_alone_is_the_conflict() -> None:
    asked = [ReturnHome(0.2, 1).require(AT_FORK), ReturnHome(1.0, 2).require(AT_FORK)]
    away = Situation(FORK, AT_FORK.corrections, 0.5, 1, 1)
    asked.append(ReturnHome(0.5, 3).require(away))
    assert conflict_of(FORK, 0.5, 1, asked) == (1,)  # in the first pit the others are out of reach


def test_without_a_set_its_exits_are_open_again() -> None:
    # Only the cave pays, and the set is left on the way there. To earn something alone is possible,
    # though after leaving nothing counts.
    asked = [StayInside(MEADOW, 1.0).require(WHERE), EarnAtLeast(1.0, BONUS).require(WHERE)]
    posed = pose(MODEL, 0.5, 0, np.stack([BONUS, *(r.reward for r in asked)]), asked)
    assert solve_constrained(posed.problem).status is Status.INFEASIBLE
    assert conflict_of(MODEL, 0.5, 0, asked) == (0, 1)


def test_a_conflict_over_a_fixed_number_of_steps_is_found() -> None:
    # In three steps the cave can be reached, in one it can't.
    reward = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    for steps, conflict in ((1, (1,)), (3, (0, 1))):
        where = replace(WHERE, steps=steps)
        asked = [
            StayInside(MEADOW, 0.9).require(where),
            EarnAtLeast(0.5, reward).require(where),
        ]
        assert conflict_of(MODEL, 0.5, 0, asked, steps) == conflict


def test_of_many_criteria_one_set_is_found_that_no_longer_conflicts_without_any_of_them() -> None:
    # One state, nine actions that pay one criterion each; three ask for more than a third each.
    model = Moves(np.zeros((1, 9), int), np.ones((1, 9)))
    still = Corrections(Correction.GENERAL, np.zeros((1, 9)), np.zeros((1, 9)))
    where = Situation(model, still, 0.5, 0, 0)
    asked = [
        EarnAtLeast(0.7 if k in (2, 5, 7) else 0.01, np.eye(9)[[k]]).require(where)
        for k in range(9)
    ]
    assert conflict_of(model, 0.5, 0, asked) == (2, 5, 7)


def test_what_is_earned_is_rounded_down() -> None:
    for least, unit, total in ((1e12, 0.1, 0.3), (-7.0, 9.0, 0.123), (0.0, 3.0, 1.0)):
        exact = Fraction(least) + Fraction(unit) * Fraction(total)
        assert Fraction(lower(least, unit, total)) < exact
        assert lower(least, unit, total) == pytest.approx(float(exact), rel=1e-14)
    assert lower(0.0, 1.0, 0.25) == 0.25
    assert lower(0.0, 1.0, 1.5) == 1.0
