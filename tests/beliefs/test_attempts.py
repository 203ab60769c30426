"""Outcomes of attempted moves, and heights that agree with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, truncnorm

from homeward.beliefs import TerrainBelief, Transition
from homeward.beliefs import attempts as module
from homeward.beliefs.attempts import Attempts, Components, Edges, draw, keep, mass, witness
from homeward.errors import ImpossibleObservationError, InvalidBeliefError

EAST, SOUTH, WEST = 3, 5, 7


def outcomes(*rows: tuple[int, int, float, float, bool]) -> Edges:
    start, end, down, up, worked = zip(*rows, strict=True)
    return Edges(*(np.array(part) for part in (start, end, down, up, worked)))


def strip(count: int, deviation: float = 1.0) -> TerrainBelief:
    """Believe in a row of flat cells."""
    return TerrainBelief((1, count), np.zeros(count), np.full(count, deviation**2))


def test_an_outcome_is_kept_once_and_in_order() -> None:
    held = Attempts.none().with_outcome(7, True).with_outcome(3, False).with_outcome(7, True)
    assert held.pairs.tolist() == [3, 7]
    assert held.worked.tolist() == [False, True]
    assert held.with_outcome(3, False) is held


def test_an_outcome_that_contradicts_another_is_impossible() -> None:
    held = Attempts.none().with_outcome(7, True)
    with pytest.raises(ImpossibleObservationError, match="worked before, but failed now"):
        held.with_outcome(7, False)


@pytest.mark.parametrize(
    ("pairs", "worked"),
    [
        ([[1]], [[True]]),
        ([1.5], [True]),
        ([-1], [True]),
        ([1], [1]),
        ([1, 2], [True]),
        ([2, 1], [True] * 2),
    ],
)
def test_what_is_no_record_of_attempts_is_refused(pairs: list[float], worked: list[bool]) -> None:
    with pytest.raises(InvalidBeliefError):
        Attempts(np.array(pairs), np.array(worked))


def test_intervals_are_kept() -> None:
    assert keep([(-np.inf, np.inf)], 0.0, 2.0) == [(0.0, 2.0)]
    assert keep([(-np.inf, 0.0), (2.0, np.inf)], 1.0, 3.0) == [(2.0, 3.0)]
    assert keep([(0.0, 1.0)], 1.0, 2.0) == []


def test_a_mass_keeps_its_digits_in_either_tail() -> None:
    low, high = np.array([9.0, -10.0, 3.0]), np.array([10.0, -9.0, 2.0])
    assert mass(low, high) == pytest.approx([1.1285884e-19, 1.1285884e-19, 0.0], rel=1e-6)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.integers(0, 3),
            st.floats(0.1, 3),
            st.floats(0.1, 3),
            st.booleans(),
        ).filter(lambda edge: edge[0] != edge[1]),
        min_size=1,
        max_size=6,
    ),
    st.lists(st.floats(-2.0, 2.0), min_size=4, max_size=4),
    st.lists(st.sampled_from([1e-3, 0.1, 1.0]), min_size=4, max_size=4),
    st.integers(0, 99),
)
def test_all_heights_in_the_intervals_of_a_witness_agree(
    rows: list[tuple[int, int, float, float, bool]],
    mean: list[float],
    deviation: list[float],
    seed: int,
) -> None:
    edges = outcomes(*rows)
    whole = Components(np.arange(4), edges, np.zeros(4, int), 1)
    low, high = witness(whole, np.array(mean), np.array(deviation))
    if (low < high).all():
        inside = low + (high - low) * np.random.default_rng(seed).uniform(1e-6, 1 - 1e-6, (20, 4))
        assert edges.agree(inside).all()


def test_drawn_heights_have_the_restricted_law() -> None:
    belief = strip(2).update(Transition(0, EAST, 0))  # 1.75 m up or 20 m down
    drawn = np.array([belief.draw(np.random.default_rng(seed)) for seed in range(2000)])
    rise = (drawn[:, 1] - drawn[:, 0]) / np.sqrt(2.0)
    limit = belief._limits[1][0, EAST] / np.sqrt(2.0)
    assert kstest(rise, truncnorm(limit, np.inf).cdf).pvalue > 1e-3


def test_gibbs_draws_have_nearly_the_restricted_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BATCH", 0)
    belief = strip(3).update(Transition(0, EAST, 0)).update(Transition(2, WEST, 2))
    rng = np.random.default_rng(0)
    drawn = np.array([belief.draw(rng) for _ in range(300)])
    assert belief._edges.agree(drawn).all()
    exact = np.random.default_rng(1).normal(size=(400_000, 3))
    exact = exact[belief._edges.agree(exact).all(axis=1)]
    error = exact.std(axis=0) / np.sqrt(300)
    assert (np.abs(drawn.mean(axis=0) - exact.mean(axis=0)) < 5.0 * error).all()


def test_unlikely_outcomes_are_met_within_the_bound_on_tries() -> None:
    belief = strip(2, 0.2).update(Transition(0, EAST, 0))  # six standard deviations
    drawn = belief.sample(np.random.default_rng(0))
    assert drawn.success[0, EAST] == 0.0


def test_what_no_draw_agrees_with_is_refused() -> None:
    both = outcomes((0, 1, 1.0, 1.0, True), (0, 1, 1.0, 1.0, False))
    for doubt in (np.ones(2), np.zeros(2)):
        with pytest.raises(ImpossibleObservationError, match="the outcomes of 2 moves"):
            draw(np.zeros(2), np.ones(2), both, doubt, np.random.default_rng(0))


def test_an_outcome_that_was_all_but_certain_is_drawn_for_once_the_rest_speaks_against_it() -> None:
    edges = outcomes((0, 1, 20.0, 1.0, True), (1, 2, 20.0, 1.0, True))
    mean, variance = np.array([0.0, 2.0, 2.0]), np.full(3, 0.01)
    drawn = draw(mean, variance, edges, np.array([1.0, 0.0]), np.random.default_rng(0))
    assert edges.agree(drawn).all()
