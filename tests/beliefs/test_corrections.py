from __future__ import annotations

from fractions import Fraction
from math import exp, factorial, pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import beta as beta_distribution

from homeward.beliefs.corrections import (
    Correction,
    beta_shortfall,
    moves_corrections,
    random_moves_corrections,
)

DEST = np.array([[0, 1], [1, 0]])  # in each state, one move that leaves and one that can't
P = np.array([[0.3, 0.3], [0.8, 0.8]])


def shortfall(a: float, b: float) -> float:
    return float(beta_shortfall(np.array(a), np.array(b)))


def test_the_kinds_are_known_by_their_words() -> None:
    assert [str(kind) for kind in Correction] == ["general", "moves", "naive"]


def test_the_general_correction_of_a_move_is_two_p_one_minus_p() -> None:
    assert moves_corrections(DEST, P, P, 0.0)[1] == pytest.approx(
        np.array([[0.0, -2 * 0.3 * 0.7], [0.0, -2 * 0.8 * 0.2]]), abs=1e-15
    )


def test_our_return_correction_of_a_move_is_half_of_it() -> None:
    assert moves_corrections(DEST, P, P, 0.5)[0] == pytest.approx(
        np.array([[0.0, -0.3 * 0.7], [0.0, -0.8 * 0.2]]), abs=1e-15
    )


@pytest.mark.parametrize("discount", [0.1, 0.5, 0.999])
def test_our_exploration_correction_of_a_move_is_nearly_half_of_it(discount: float) -> None:
    assert moves_corrections(DEST, P, P, discount)[1] == pytest.approx(
        -(2 - discount) * np.array([[0.0, 0.3 * 0.7], [0.0, 0.8 * 0.2]]), abs=1e-15
    )


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_a_sure_move_needs_no_correction(p: float) -> None:
    sure = np.full((2, 2), p)
    for correction in moves_corrections(DEST, sure, sure, 0.9):
        assert not correction.any()


@given(st.floats(0.0, 1.0), st.sampled_from([0.1, 0.9, 0.999]))
def test_worlds_that_are_sure_of_themselves_get_the_closed_forms(p: float, discount: float) -> None:
    # Two worlds of weights p and 1 − p, in which every move works or does not.
    success = np.array([np.ones((2, 2)), np.zeros((2, 2))])
    weights, mean = np.array([p, 1.0 - p]), np.full((2, 2), p)
    found = random_moves_corrections(DEST, success, weights, discount)
    for one, other in zip(found, moves_corrections(DEST, mean, mean, discount), strict=True):
        assert one == pytest.approx(other, abs=1e-15)


def test_a_move_that_works_sometimes_in_every_world_needs_no_return_correction() -> None:
    success = np.array([np.full((2, 2), 0.1), np.full((2, 2), 0.9)])
    assert not random_moves_corrections(DEST, success, np.array([0.5, 0.5]), 0.9)[0].any()


def test_only_the_worlds_where_a_move_never_works_cost_the_return() -> None:
    # Success 0 with chance ¼, ½ with chance ¾: mean 3/8, of which ¼ can't be relied on.
    success = np.array([np.zeros((2, 2)), np.full((2, 2), 0.5)])
    found = random_moves_corrections(DEST, success, np.array([0.25, 0.75]), 0.9)[0]
    assert found == pytest.approx(np.array([[0.0, -3 / 32], [0.0, -3 / 32]]), abs=1e-15)


def test_the_exploration_correction_of_random_moves_is_derived_by_hand() -> None:
    # Success 0 or ½, evenly, mean ¼, γ = ½: |P−p| = ¼ in both, stretch 1 and ½/(½ + ¼) = ⅔.
    success = np.array([np.zeros((2, 2)), np.full((2, 2), 0.5)])
    found = random_moves_corrections(DEST, success, np.array([0.5, 0.5]), 0.5)[1]
    assert found[0] == pytest.approx([0.0, -(0.125 + 0.25 / 3)], abs=1e-15)


@pytest.mark.parametrize(
    ("a", "b"), [(1.0, 1.0), (2.0, 5.0), (0.5, 0.5), (0.1, 3.0), (30.0, 70.0), (1e3, 1.0)]
)
def test_the_shortfall_of_a_beta_is_its_integral(a: float, b: float) -> None:
    mean = a / (a + b)
    density = beta_distribution(a, b).pdf
    expected, _ = quad(lambda x: (x - mean) * density(x), 0.0, mean, limit=200)
    assert shortfall(a, b) == pytest.approx(expected, rel=1e-6, abs=0)


def test_the_shortfall_of_the_uniform_distribution_is_an_eighth() -> None:
    assert shortfall(1.0, 1.0) == pytest.approx(-1 / 8, rel=1e-14, abs=0)


@given(st.floats(0.01, 1e4), st.floats(0.01, 1e4))
def test_the_shortfall_is_the_same_seen_from_the_other_side(a: float, b: float) -> None:
    assert shortfall(a, b) == pytest.approx(shortfall(b, a), rel=1e-9, abs=0)


@given(st.floats(0.01, 1e4), st.floats(0.01, 1e4))
def test_the_shortfall_lies_between_the_worst_and_nothing(a: float, b: float) -> None:
    # Never worse than a sure 0 or 1 with the same mean, nor better than half the deviation allows.
    mean = a / (a + b)
    spread = np.sqrt(mean * (1.0 - mean) / (a + b + 1.0))
    found = shortfall(a, b)
    assert -mean * (1.0 - mean) * (1 + 1e-9) <= found < 0.0
    assert found >= -spread / 2 * (1 + 1e-9)


@pytest.mark.parametrize(("a", "b"), [(0.0, 1.0), (1.0, 0.0), (0.0, 0.0)])
def test_what_is_sure_has_no_shortfall(a: float, b: float) -> None:
    assert shortfall(a, b) == 0.0


@pytest.mark.parametrize("a", [1e-12, 1e-300])
def test_a_coin_that_is_all_heads_or_all_tails_loses_a_quarter(a: float) -> None:
    assert shortfall(a, a) == pytest.approx(-0.25, rel=1e-9, abs=0)


@given(st.floats(0.1, 100.0), st.floats(0.1, 100.0), st.floats(1.01, 10.0))
def test_learning_more_of_the_same_shrinks_the_shortfall(a: float, b: float, more: float) -> None:
    assert shortfall(a * more, b * more) > shortfall(a, b)


def test_shortfalls_are_taken_entry_by_entry() -> None:
    found = beta_shortfall(np.array([[1.0, 0.0], [2.0, 5.0]]), np.array([1.0, 5.0]))
    assert found.shape == (2, 2)
    assert found[0].tolist() == [pytest.approx(-1 / 8), 0.0]


def exact_shortfall(a: int, b: int) -> float:
    """Give −aᵃ bᵇ / (B(a, b) (a+b)^(a+b+1)) by whole numbers alone."""
    beta = Fraction(factorial(a - 1) * factorial(b - 1), factorial(a + b - 1))
    return float(-(Fraction(a) ** a * Fraction(b) ** b) / (beta * Fraction(a + b) ** (a + b + 1)))


@pytest.mark.parametrize("b", [1, 2, 9, 10, 11, 19, 20, 21, 22, 40, 500, 2000])
@pytest.mark.parametrize("a", [1, 3, 10, 19, 20, 21, 39, 1000])
def test_the_shortfall_keeps_its_digits_on_either_side_of_twenty(a: int, b: int) -> None:
    assert shortfall(a, b) == pytest.approx(exact_shortfall(a, b), rel=2e-14, abs=0)


@pytest.mark.parametrize("large", [1e6, 1e15, 1e20, 1e100, 1e149])
@pytest.mark.parametrize("ratio", [1.0, 3.0, 1e-3])
def test_what_is_nearly_known_falls_short_like_a_normal(large: float, ratio: float) -> None:
    # Half the mean absolute deviation of a normal with variance ab/(a+b)³.
    a, b = large, large * ratio
    expected = -sqrt(a / (a + b) * (b / (a + b)) / (2.0 * pi)) / sqrt(a + b)
    assert shortfall(a, b) == pytest.approx(expected, rel=max(1e-12, 1.0 / b), abs=0)
    assert shortfall(b, a) == pytest.approx(expected, rel=max(1e-12, 1.0 / b), abs=0)


@pytest.mark.parametrize("large", [1e15, 1e20, 1e100])
def test_a_rare_outcome_beside_a_sure_one_falls_short_by_its_mean_over_e(large: float) -> None:
    # Beta(1, n) is nearly exponential with mean 1/n, half of whose deviation is 1/(e·n).
    assert shortfall(1.0, large) == pytest.approx(-exp(-1.0) / large, rel=1e-12, abs=0)


@pytest.mark.parametrize("b", [0.3, 5.0, 20.0, 1e6])
def test_the_shortfall_has_no_jump_at_twenty(b: float) -> None:
    step = 1e-9
    for around in (20.0, 20.0 - b):  # where a or a + b passes twenty
        if around > 0.0:
            low, high = shortfall(around - step, b), shortfall(around + step, b)
            assert low == pytest.approx(high, rel=1e-9, abs=0)
            # Without a jump a step of 2e-9 changes the logarithm by no more than 3e-9/a.
            assert abs(low / high - 1.0) <= 3.0 * step / around + 1e-13
