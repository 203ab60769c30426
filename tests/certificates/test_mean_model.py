"""What a belief says, worked out twice: by the belief's own code and from its definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import gammainc
from tests.certificates.cases import every_belief, ridge
from tests.conftest import DISCOUNTS, move_beliefs

from homeward.beliefs import (
    DirichletBelief,
    FiniteBelief,
    HeightBelief,
    TerrainBelief,
    Transition,
)
from homeward.beliefs.corrections import beta_shortfall
from homeward.certificates import mean_model as module
from homeward.certificates.mean_model import mean_model
from homeward.errors import InvalidInputError
from lab.check.soundness import random_belief

if TYPE_CHECKING:
    from homeward.beliefs import Belief


def agree(belief: Belief, discount: float = 0.9) -> None:
    """Compare the mean and every correction with the belief's own."""
    found, mean = mean_model(belief), belief.mean()
    assert abs(found.rows - mean.sparse().transitions).max() <= 1e-14
    np.testing.assert_allclose(found.general, belief.correction(), atol=1e-11)
    np.testing.assert_array_equal(np.isfinite(found.reward), np.isfinite(mean.reward))
    usable = np.isfinite(mean.reward)
    np.testing.assert_allclose(found.reward[usable], mean.reward[usable], atol=1e-12)
    sums = np.asarray(found.rows.sum(axis=1)) + found.ending
    np.testing.assert_allclose(sums, 1.0, atol=1e-12)
    if found.graph is not None:
        returning, exploring = belief.move_corrections(discount)
        np.testing.assert_allclose(found.graph.returning(), returning, atol=1e-12)
        np.testing.assert_allclose(found.graph.exploring(discount), exploring, atol=1e-12)


@pytest.mark.parametrize("name", every_belief())
def test_the_definition_and_the_belief_agree(name: str) -> None:
    agree(every_belief()[name])


@given(move_beliefs(), DISCOUNTS)
def test_they_agree_on_any_moves(belief: FiniteBelief, discount: float) -> None:
    agree(belief, discount)


@given(st.integers(0, 2**32 - 1))
def test_they_agree_on_any_general_worlds(seed: int) -> None:
    agree(random_belief("general", np.random.default_rng(seed)))


@given(st.lists(st.sampled_from([0.0, 0.01, 0.5, 3.0, 1e3, 1e9, 1e14]), min_size=9, max_size=9))
def test_they_agree_on_any_dirichlet_rows(alpha: list[float]) -> None:
    rows = np.array(alpha).reshape(3, 1, 3) + 0.1 * np.eye(3)[:, None, :]
    agree(DirichletBelief.independent(rows))


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_they_agree_on_any_heights(seed: int, stay: bool) -> None:
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(4), 12)
    known = np.where(rng.random(12) < 0.4, rng.integers(-1, 5, 12), 0)
    agree(HeightBelief((3, 4), prior, rng.uniform(0.1, 0.9, 12), stay, known))


@given(st.integers(0, 2**32 - 1))
def test_they_agree_on_any_terrain(seed: int) -> None:
    rng = np.random.default_rng(seed)
    agree(
        TerrainBelief(
            (3, 4),
            rng.normal(0.0, 3.0, 12),
            rng.choice([1e-6, 0.1, 4.0], 12),
            (10.0, 15.0),
            climb=5.0,
            descend=30.0,
            blocked=rng.random(12) < 0.2,
        )
    )


@given(st.integers(0, 2**32 - 1))
def test_they_agree_on_terrain_where_moves_were_tried(seed: int) -> None:
    rng = np.random.default_rng(seed)
    height, variance = rng.normal(0.0, 1.0, 12), rng.choice([1e-6, 0.1, 1.0], 12)
    belief = TerrainBelief((3, 4), height, variance)
    world = belief.sample(rng)
    for _ in range(4):
        state, action = int(rng.integers(12)), int(rng.integers(1, 9))
        works = world.success[state, action] == 1.0
        after = int(world.dest[state, action]) if works else state
        belief = belief.update(Transition(state, action, after))
    agree(belief)


def test_staying_on_the_ridge_is_corrected_by_a_fraction() -> None:
    graph = mean_model(ridge(0.3)).graph
    assert graph is not None
    assert graph.staying(0.8)[1, 1] == pytest.approx(-0.2 * 0.3 * 0.7)
    assert graph.returning()[1, 1] == pytest.approx(-0.3 * 0.7)
    assert graph.exploring(0.8)[1, 1] == pytest.approx(-1.2 * 0.3 * 0.7)
    assert graph.staying(0.8)[0, 0] == 0.0


def test_what_a_beta_lacks_is_what_quadrature_says() -> None:
    grid = np.linspace(0.0, 1.0, 200_001)[1:-1]
    for a, b in ((0.7, 2.0), (5.0, 5.0), (40.0, 3.0)):
        density = grid ** (a - 1) * (1 - grid) ** (b - 1)
        mean = a / (a + b)
        expected = (density * np.minimum(0.0, grid - mean)).sum() / density.sum()
        assert module._shortfall(a, b) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("name", every_belief())
def test_nothing_is_asked_of_the_beliefs_own_code(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    belief = every_belief()[name]

    def refuse(*_: Any) -> Any:
        raise AssertionError("asked the belief")

    for method in ("mean", "correction", "move_corrections"):
        if hasattr(type(belief), method):
            monkeypatch.setattr(type(belief), method, refuse)
    assert mean_model(belief).general.shape


def test_another_kind_of_belief_is_refused_by_name() -> None:
    class Hunch:
        pass

    with pytest.raises(InvalidInputError, match="a Hunch can't be checked"):
        mean_model(Hunch())  # type: ignore[arg-type]


@pytest.mark.parametrize("a", [1e-3, 0.5, 1.0, 2.0, 40.0, 1e5])
@pytest.mark.parametrize("b", [1.1e12, 1e13, 1e16])
def test_what_a_beta_that_is_all_but_known_lacks_is_what_quadrature_says(
    a: float, b: float
) -> None:
    """X is as good as G/(a + b) with G ~ Gamma(a), and E[max(0, a − G)] = ∫₀^a Pr(G ≤ x) dx."""
    lacks, _ = quad(lambda x: gammainc(a, x), max(0.0, a - 40.0 * a**0.5), a, epsrel=1e-11)
    for one, other in ((a, b), (b, a)):
        assert module._shortfall(one, other) == pytest.approx(-lacks / (a + b), rel=1e-6, abs=0)


def test_a_single_count_against_many_lacks_an_eth_of_its_mean() -> None:
    """Beta(1, b): ∫₀^μ 1 − (1 − x)ᵇ dx = μ − (1 − (1 − μ)ᵇ⁺¹)/(b + 1), with μ(b + 1) = 1."""
    b = 1e13
    assert module._shortfall(1.0, b) * (b + 1.0) == pytest.approx(-np.exp(-1.0), rel=1e-9)


@given(st.floats(-3.0, 16.0), st.floats(-3.0, 16.0))
def test_what_a_beta_lacks_is_what_the_belief_says(a: float, b: float) -> None:
    one, other = 10.0**a, 10.0**b
    lacks = float(beta_shortfall(np.array(one), np.array(other)))
    assert module._shortfall(one, other) == pytest.approx(lacks, rel=1e-5, abs=1e-15)
