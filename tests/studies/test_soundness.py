"""A bound is never above the exact value, and the check that says so can fail."""

import numpy as np
import pytest

from homeward.safety import Correction
from homeward.studies.soundness import (
    DISCOUNTS,
    KINDS,
    Kind,
    examine,
    half_exploring,
    random_belief,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("correction", [Correction.GENERAL, Correction.MOVES])
def test_no_bound_is_above_the_exact_value(kind: Kind, correction: Correction) -> None:
    if kind == "general" and correction is Correction.MOVES:
        return
    rng = np.random.default_rng(11)
    for _ in range(60):
        found = examine(random_belief(kind, rng), kind, correction, float(rng.choice(DISCOUNTS)))
        assert max(found.returning, found.exploring, found.planned) <= 1e-9


def test_the_tempting_wrong_correction_is_caught() -> None:
    rng = np.random.default_rng(0)
    excess = [
        examine(random_belief("moves", rng), "moves", Correction.MOVES, 0.3, tamper=half_exploring)
        for _ in range(150)
    ]
    assert max(e.exploring for e in excess) > 1e-3


def test_no_correction_at_all_is_caught() -> None:
    rng = np.random.default_rng(0)
    excess = [
        examine(random_belief("general", rng), "general", Correction.NAIVE, 0.9) for _ in range(20)
    ]
    assert max(e.returning for e in excess) > 1e-3


def test_the_moves_correction_is_the_tighter_one() -> None:
    rng = np.random.default_rng(5)
    beliefs = [random_belief("moves", rng) for _ in range(40)]
    loose, tight = (
        np.mean([examine(b, "moves", c, 0.9).looseness for b in beliefs])
        for c in (Correction.GENERAL, Correction.MOVES)
    )
    assert tight < loose
