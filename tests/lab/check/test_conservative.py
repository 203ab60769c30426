from __future__ import annotations

import numpy as np
import pytest

from homeward.beliefs import FiniteBelief
from homeward.beliefs.corrections import Correction
from homeward.criteria import ReturnHome
from homeward.models import Moves
from homeward.planning.algorithm1 import Planner
from lab.check.conservative import (
    SETTINGS,
    Sample,
    averages,
    explored_at,
    gains,
    study,
    truth_of,
    worlds_outset,
)

GENERAL, MOVES = Correction.GENERAL, Correction.MOVES


def test_no_bound_is_above_the_exact_truth() -> None:
    samples = study(SETTINGS[0], 12, 0, (1.0, 0.8, 0.4), 5)
    assert samples
    assert max(sample.excess for sample in samples) <= 1e-9
    assert min(sample.excess for sample in samples) >= -1e-9  # exact
    assert any(sample.corrected < sample.truth - 0.05 for sample in samples)


def test_at_the_same_level_the_moves_correction_explores_no_less() -> None:
    samples = study(SETTINGS[0], 12, 0, (0.9, 0.5), 6)
    pairs: dict[Correction, list[float]] = {c: [] for c in (GENERAL, MOVES)}
    for sample in samples:
        pairs[sample.correction].append(sample.explored)
    both = np.array([pairs[MOVES], pairs[GENERAL]])
    assert (both[0] >= both[1] - 1e-9).all()
    assert (both[0] > both[1] + 1e-3).any()


@pytest.mark.parametrize("setting", SETTINGS[1:], ids=lambda s: s.title)
def test_where_worlds_are_drawn_both_corrections_meet_the_same(setting: object) -> None:
    one, two = (study(setting, 1, 30, (1.0, 0.5), 3) for _ in range(2))  # type: ignore[arg-type]
    assert one == two
    assert {s.correction for s in one} == {GENERAL, MOVES}
    assert all(s.truth == 1.0 for s in one if s.level == 1.0)
    assert all(0.0 < s.explored <= 1.0 + 1e-9 for s in one)


def test_a_few_worlds_can_always_be_waited_in() -> None:
    belief = worlds_outset(np.random.default_rng(0)).belief
    model = belief.mean()
    assert isinstance(model, Moves)
    assert (model.dest[:, 0] == np.arange(model.states)).all()
    assert np.isfinite(model.reward[:, 0]).all()


def test_the_truth_by_hand() -> None:
    # Up is sure, and the way down is there in half of the worlds: ½ + ½ · ½ at γ = ½.
    dest = np.array([[0, 1], [1, 0]])
    down = np.array([[1.0, 1.0], [1.0, 0.0]])
    belief = FiniteBelief([Moves(dest, np.ones((2, 2))), Moves(dest, down)])
    bonus = np.array([[0.0, 0.0], [1.0, 0.0]])
    plan = Planner(lambda _: bonus, [ReturnHome(0.1)], 0.5).plan(belief, 0)
    found = truth_of(plan, belief, 0, np.random.default_rng(0))
    assert found == pytest.approx(0.75)


def test_plans_of_a_kind_are_averaged() -> None:
    one = Sample("here", MOVES, 0.9, 0.9, 1.0, 0.2)
    two = Sample("here", MOVES, 0.9, 0.8, 0.9, 0.4)
    other = Sample("here", GENERAL, 0.9, 0.7, 0.8, 0.3)
    first, second = averages([one, two, other])
    assert (first.plans, second.plans) == (2, 1)
    assert (first.bound, first.truth, first.explored) == pytest.approx((0.85, 0.95, 0.3))


CURVE = [
    Sample("here", MOVES, level, 0.0, truth, explored)
    for level, truth, explored in ((0.9, 1.0, 0.2), (0.5, 0.8, 0.6))
]


@pytest.mark.parametrize(
    ("truth", "expected"), [(1.0, 0.2), (0.9, 0.4), (0.8, 0.6), (0.7, None), (1.1, None)]
)
def test_between_two_levels_a_line_is_drawn(truth: float, expected: float | None) -> None:
    assert explored_at(CURVE, truth) == (None if expected is None else pytest.approx(expected))


def test_the_gain_is_at_the_same_true_safety() -> None:
    general = [
        Sample("here", GENERAL, 0.9, 0.0, 0.9, 0.2),
        Sample("here", GENERAL, 0.5, 0.0, 0.6, 0.4),  # where the other has nothing to compare
    ]
    assert gains([*general, *CURVE]) == {"here": {0.9: pytest.approx(2.0)}}
