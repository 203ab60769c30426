"""A bound is never above the exact value, and the check that says so can fail."""

from typing import Any

import numpy as np
import pytest

from homeward import criteria
from homeward.beliefs.corrections import Correction, stay_moves
from homeward.criteria import StayInside
from lab.check.soundness import (
    DISCOUNTS,
    KINDS,
    TOGETHER,
    BoundCase,
    Kind,
    examine,
    examine_together,
    half_exploring,
    random_belief,
    random_case,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("correction", [Correction.GENERAL, Correction.MOVES])
def test_no_bound_is_above_the_exact_value(kind: Kind, correction: Correction) -> None:
    if kind == "general" and correction is Correction.MOVES:
        return
    rng = np.random.default_rng(11)
    for _ in range(30):
        found = examine(random_belief(kind, rng), correction, float(rng.choice(DISCOUNTS)))
        assert max(found.returning, found.exploring, found.planned) <= 1e-9


def test_the_tempting_wrong_correction_is_caught() -> None:
    rng = np.random.default_rng(0)
    excess = [
        examine(random_belief("moves", rng), Correction.MOVES, 0.3, tamper=half_exploring)
        for _ in range(150)
    ]
    assert max(e.exploring for e in excess) > 1e-3


def test_no_correction_at_all_is_caught() -> None:
    rng = np.random.default_rng(0)
    excess = [examine(random_belief("general", rng), Correction.NAIVE, 0.9) for _ in range(20)]
    assert max(e.returning for e in excess) > 1e-3


def test_the_moves_correction_is_the_tighter_one() -> None:
    rng = np.random.default_rng(5)
    beliefs = [random_belief("moves", rng) for _ in range(40)]
    loose, tight = (
        np.mean([examine(b, c, 0.9).looseness for b in beliefs])
        for c in (Correction.GENERAL, Correction.MOVES)
    )
    assert tight < loose


@pytest.mark.parametrize("fixed", [False, True], ids=["at any step", "at a step"])
@pytest.mark.parametrize("asked", TOGETHER, ids=" and ".join)
def test_no_bound_of_any_criteria_together_is_above_the_exact_value(
    asked: tuple[str, ...], fixed: bool
) -> None:
    rng = np.random.default_rng(3)
    for number in range(6):
        case = random_case(asked, number, rng, fixed=fixed)
        for correction in case.corrections:
            found = examine_together(case, correction, rng)
            assert max(found.any_way, found.planned) <= 1e-9


@pytest.mark.parametrize("asked", ["home", "within", "stay", "earn"])
def test_without_a_correction_every_criterion_is_caught(asked: str) -> None:
    rng = np.random.default_rng(0)
    worst = -1.0
    for number in range(45):
        case = random_case((asked,), number, rng)
        naive = examine_together(case, Correction.NAIVE, rng)
        worst = max(worst, naive.any_way)
    assert worst > 1e-3


@pytest.mark.parametrize(("factor", "caught"), [(0.0, True), (1.0, False)])
def test_staying_inside_on_moves_needs_its_small_correction(
    factor: float, caught: bool, monkeypatch: pytest.MonkeyPatch
) -> None:

    def scaled(*arrays: Any) -> Any:
        return factor * stay_moves(*arrays)

    monkeypatch.setattr(criteria, "stay_moves", scaled)
    rng = np.random.default_rng(0)
    worst = -1.0
    for _ in range(100):
        belief = random_belief("moves", rng)
        discount = float(rng.choice([0.1, 0.3, 0.6]))
        allowed = rng.random(belief.counts.shape) < 0.6
        allowed[0, 0] = True
        case = BoundCase(belief, [StayInside(allowed, 0.5)], discount, (Correction.MOVES,), None)
        found = examine_together(case, Correction.MOVES, rng)
        worst = max(worst, found.any_way, found.planned)
    assert (worst > 1e-4) == caught
    assert (worst <= 1e-9) != caught
