"""What a move teaches: sound bounds on other moves, exactness of what was tried."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from homeward.beliefs import Heights, TerrainBelief, Transition
from homeward.beliefs.corrections import moves_corrections, stay_moves
from homeward.beliefs.grid_graph import STEPS, grid_graph
from homeward.errors import ImpossibleObservationError, InvalidBeliefError

if TYPE_CHECKING:
    from homeward.arrays import FloatArray

STAY, NORTH, NORTH_EAST, EAST, SOUTH_EAST, SOUTH, SOUTH_WEST, WEST, NORTH_WEST = range(9)
DRAWS = 100_000
DOUBT = 1e-9
"""Chance that a law is seen as broken though it holds, for one probability."""


def outcome(belief: TerrainBelief, truth: FloatArray, state: int, action: int) -> Transition:
    """Return what comes of a move in a world with these heights."""
    world = belief.model_of(truth)
    works = world.success[state, action] == 1.0
    return Transition(state, action, int(world.dest[state, action]) if works else state)


def conditional(belief: TerrainBelief, seed: int = 0) -> tuple[FloatArray, int]:
    """Estimate the chance [S, A] that each move works, from drawn heights that agree."""
    rng = np.random.default_rng(seed)
    heights = rng.normal(belief.height, np.sqrt(belief.variance), (DRAWS, len(belief.height)))
    heights = heights[belief._edges.agree(heights).all(axis=1)]
    dest = grid_graph(*belief.shape).dest
    rise = heights[:, dest] - heights[:, :, None]
    descend, climb = belief._limits
    works = ((-descend <= rise) & (rise <= climb)) | (dest == np.arange(len(dest))[:, None])
    return works.mean(axis=0) if len(works) else np.zeros(dest.shape), len(works)


def assert_sound(belief: TerrainBelief) -> None:
    truth, count = conditional(belief)
    if count < 500:
        return
    margin = np.sqrt(np.log(2.0 / DOUBT) / (2.0 * count))  # Hoeffding
    low, high = belief.success_bounds()
    assert (low <= truth + margin).all()
    assert (high >= truth - margin).all()
    assert (belief.blocked_probability() >= 1.0 - truth - margin).all()


@given(
    st.sampled_from([(1, 3), (2, 2), (2, 3), (3, 3)]),
    st.sampled_from([(1e-3,), (1e-3, 0.5), (0.3,), (1e-3, 0.1, 1.0)]),
    st.sampled_from([(5.0, 45.0), (3.0, 5.0), (5.0, 3.0), (4.0, 4.0)]),
    st.integers(1, 8),
    st.integers(0, 2**32),
)
def test_the_chance_to_be_blocked_is_never_below_the_posterior(
    shape: tuple[int, int],
    deviations: tuple[float, ...],
    slopes: tuple[float, float],
    tries: int,
    seed: int,
) -> None:
    """Sharp and coarse sensors, moves that work and fail, in worlds that the belief may be of."""
    rng = np.random.default_rng(seed)
    states = shape[0] * shape[1]
    deviation = rng.choice(deviations, states)
    height = rng.normal(0.0, 1.5, states)
    belief = TerrainBelief(shape, height, deviation**2, 20.0, *slopes)
    truth = rng.normal(height, deviation)
    for _ in range(tries):
        move = outcome(belief, truth, int(rng.integers(states)), int(rng.integers(1, 9)))
        belief = belief.update(move)
    assert_sound(belief)


def around_one_cell() -> TerrainBelief:
    """Fail to enter the middle of nine cells from four sides, all of which are known to 1 mm."""
    deviation = np.full(9, 1e-3)
    deviation[[4, 8]] = 0.6
    height = np.array([0.3, 0.0, 0.2, 0.1, 1.6, -0.2, 0.0, 0.1, 1.0])
    belief = TerrainBelief((3, 3), height, deviation**2)
    for state, action in ((1, SOUTH), (3, EAST), (5, WEST), (6, NORTH_EAST)):
        belief = belief.update(Transition(state, action, state))
    return belief


def test_several_failures_around_a_cell_are_one_truncated_normal_law() -> None:
    belief = around_one_cell()
    middle, corner = norm(1.6, 0.6), norm(1.0, 0.6)
    straight, across = (np.tan(np.radians(5.0)) * length for length in (20.0, np.hypot(20, 20)))
    least = max(0.1 + straight, -0.2 + straight, 0.0 + across, 0.0 + straight)  # 20 m down: never

    def given_too_high(event: object) -> float:
        total = quad(lambda h: middle.pdf(h) * event(h), least, 7.0, epsabs=1e-12)[0]  # type: ignore[operator]
        return float(total / middle.sf(least))

    climbs = {  # to the corner, and from cells that did not try
        (4, SOUTH_EAST): given_too_high(lambda h: corner.cdf(h + across)),
        (8, NORTH_WEST): given_too_high(lambda h: corner.sf(h - across)),
        (0, SOUTH_EAST): given_too_high(lambda h: float(h <= 0.3 + across)),
        (4, NORTH): 1.0,
    }
    low, high = belief.success_bounds()
    for move, chance in climbs.items():
        assert low[move] <= chance + 1e-9
        assert high[move] >= chance - 1e-9
    assert belief.blocked_probability()[4, NORTH] < 1e-6
    assert len(belief.least_blocked()[0])
    assert_sound(belief)


def test_the_way_back_of_a_failed_move_is_bounded_by_the_pair_alone() -> None:
    for deviation, height in ((1e-3, 0.5), (0.3, 0.5), (0.05, -2.0)):
        belief = TerrainBelief((1, 2), np.array([0.0, height]), np.array([deviation**2, 1.0]))
        belief = belief.update(Transition(0, EAST, 0))
        descend, climb = (limit[0, EAST] for limit in belief._limits)
        rise = norm(height, np.hypot(deviation, 1.0))
        failed = rise.sf(climb) + rise.cdf(-descend)
        works = (rise.cdf(descend) - rise.cdf(climb)) / failed
        assert belief.blocked_probability()[1, WEST] >= 1.0 - works - 1e-12
        assert belief.success_bounds()[1][1, WEST] >= works - 1e-12


def test_an_attempted_move_is_known_whatever_is_measured_later() -> None:
    belief = TerrainBelief((1, 3), np.zeros(3), np.ones(3))
    belief = belief.update(Transition(0, EAST, 1)).update(Transition(1, EAST, 1))
    for heights in ([0.0, 0.0, 0.0], [0.0, 1.7, 3.4], [0.0, 1.8, 3.5]):
        measured = Heights(np.arange(3), np.array(heights), np.full(3, 1e-2))
        later = belief.update(measured)
        assert later.mean().success[0, EAST] == 1.0
        assert later.mean().success[1, EAST] == 0.0
        assert later.blocked_probability()[[0, 1], EAST].tolist() == [0.0, 1.0]
        drawn = later.sample(np.random.default_rng(1))
        assert drawn.success[[0, 1], EAST].tolist() == [1.0, 0.0]


def test_measuring_later_and_failing_first_say_the_same_as_the_other_way_round() -> None:
    start = TerrainBelief((2, 3), np.arange(6.0) / 2.0, np.full(6, 0.3))
    move, seen = Transition(1, SOUTH, 1), Heights([0, 4], [0.1, 2.2], [1e-6, 0.2])  # type: ignore[arg-type]
    one, two = start.update(move).update(seen), start.update(seen).update(move)
    both = start.update(replace(seen, moved=move))
    fresh = TerrainBelief(
        start.shape, one.height, one.variance, blocked=one.blocked, attempts=one.attempts
    )
    for bounds in (two.success_bounds(), both.success_bounds(), fresh.success_bounds()):
        for here, there in zip(one.success_bounds(), bounds, strict=True):
            assert here.tobytes() == there.tobytes()


@given(st.integers(0, 2**32), st.booleans())
def test_without_informative_moves_all_is_as_it_was_to_the_bit(seed: int, ask: bool) -> None:
    """A rover that knows its ground to a millimetre learns nothing from moves far from limits."""
    rng = np.random.default_rng(seed)
    height = rng.uniform(0.0, 1.0, 12)
    taught = plain = TerrainBelief((3, 4), height, np.full(12, 1e-6), 20.0, 5.0, 45.0)
    for _ in range(6):
        state, action = int(rng.integers(12)), int(rng.integers(9))
        seen = Heights(np.array([state]), height[[state]], np.array([1e-6]))
        moved = Transition(state, action, int(plain.mean().dest[state, action]))
        taught, plain = taught.update(replace(seen, moved=moved)), plain.update(seen)
        if ask:
            taught.mean()
    assert not len(taught.least_blocked()[0])
    assert taught.mean().success.tobytes() == plain.mean().success.tobytes()
    assert taught.success_bounds()[0] is taught.success_bounds()[1]
    assert taught.correction().tobytes() == plain.correction().tobytes()
    for one, two in zip(taught.move_corrections(0.9), plain.move_corrections(0.9), strict=True):
        assert one.tobytes() == two.tobytes()
    assert taught.draw(np.random.default_rng(1)).tobytes() == (
        plain.draw(np.random.default_rng(1)).tobytes()
    )


def test_a_move_far_away_is_not_touched() -> None:
    start = TerrainBelief((1, 6), np.zeros(6), np.ones(6))
    belief = start.update(Transition(0, EAST, 0))
    low, high = belief.success_bounds()
    assert (low[2:] == start.mean().success[2:])[1:].all()
    assert low[2, EAST] == high[2, EAST] == start.mean().success[2, EAST]
    assert high[1, EAST] > low[1, EAST]


def test_where_limits_are_the_same_up_and_down_the_way_back_is_known_too() -> None:
    belief = TerrainBelief((1, 2), np.zeros(2), np.ones(2), climb=5.0, descend=5.0)
    belief = belief.update(Transition(0, EAST, 0))
    assert belief.mean().success[1, WEST] == 0.0
    with pytest.raises(ImpossibleObservationError, match="contradicts an earlier attempt"):
        belief.update(Transition(1, WEST, 0))


@pytest.mark.parametrize(
    ("move", "said"),
    [
        (Transition(0, EAST, 3), "nor in its destination s=1"),
        (Transition(0, EAST, None), "nor in its destination s=1"),
        (Transition(0, NORTH, 1), "nor in its destination s=0"),
        (Transition(1, EAST, 2), "into a blocked cell"),
        (Transition(2, WEST, 2), "starts in cell s=2, which is blocked"),
        (Transition(3, EAST, 3), "contradicts"),
    ],
)
def test_a_move_that_can_not_have_come_out_like_that_is_refused(
    move: Transition, said: str
) -> None:
    blocked = np.arange(6) == 2
    belief = TerrainBelief((2, 3), np.zeros(6), np.ones(6), blocked=blocked)
    belief = belief.update(Transition(3, EAST, 4))
    with pytest.raises(ImpossibleObservationError, match=said):
        belief.update(move)


def test_states_and_actions_that_do_not_exist_are_refused() -> None:
    belief = TerrainBelief((1, 2), np.zeros(2), np.ones(2))
    for move in (Transition(2, EAST, 2), Transition(0, 9, 0), Transition(0, EAST, 7)):
        with pytest.raises(InvalidBeliefError):
            belief.update(move)
    with pytest.raises(InvalidBeliefError, match="expected a Transition"):
        Heights([0], [0.0], [1.0], moved=3)  # type: ignore[arg-type]


def test_moves_that_lead_nowhere_teach_nothing() -> None:
    belief = TerrainBelief((1, 3), np.zeros(3), np.ones(3), blocked=np.array([False, False, True]))
    for move in (Transition(0, STAY, 0), Transition(0, NORTH, 0), Transition(1, EAST, 1)):
        assert len(belief.update(move).attempts) == 0


def test_attempts_that_can_not_have_been_made_are_refused() -> None:
    held = TerrainBelief((1, 3), np.zeros(3), np.ones(3)).update(Transition(1, EAST, 2)).attempts
    with pytest.raises(InvalidBeliefError, match=r"move \(s=1, a=3\) can't have been attempted"):
        TerrainBelief((1, 2), np.zeros(2), np.ones(2), attempts=held)
    with pytest.raises(InvalidBeliefError, match="an attempted move is 12"):
        TerrainBelief((1, 1), np.zeros(1), np.ones(1), attempts=held)


@given(st.integers(0, 2**32), st.floats(0.01, 0.99))
def test_bounded_corrections_are_below_those_of_every_chance_between(
    seed: int, discount: float
) -> None:
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.random((2, 5, 2)), axis=0)
    low, high = ends
    dest = np.array([[1, 2], [0, 3], [4, 1], [4, 0], [2, 3]])
    returning, exploring = moves_corrections(dest, low, high, discount)
    general = moves_corrections(dest, low, high, 0.0)[1]
    for share in np.linspace(0.0, 1.0, 5):
        p = low + share * (high - low)
        assert (returning <= -low * (1.0 - p) + 1e-15).all()
        spent = low * (1.0 - p) + (1.0 - discount) * (1.0 - low) * p
        assert (exploring <= -spent + 1e-15).all()
        assert (general <= -(low * (1.0 - p) + (1.0 - low) * p) + 1e-15).all()
    staying = stay_moves(dest, low, high, discount)
    assert (staying <= -(1.0 - discount) * (1.0 - low) * high + 2e-15).all()
    for one, two in zip(
        moves_corrections(dest, low, low, discount),
        moves_corrections(dest, low, low.copy(), discount),
        strict=True,
    ):
        assert one.tobytes() == two.tobytes()


def test_the_mean_has_lower_bounds_and_its_corrections_know() -> None:
    belief = around_one_cell()
    low, high = belief.success_bounds()
    assert belief.mean().success is low
    assert (low <= high).all()
    returning, exploring = belief.move_corrections(0.9)
    assert returning == pytest.approx((low - 1.0) * low)
    wide = high > low
    assert (exploring[wide] <= (1.1 * (low - 1.0) * low)[wide]).all()
    assert (belief.correction() <= 2.0 * returning + 1e-15).all()
    assert len(STEPS) == belief.mean().actions


def test_every_drawn_world_agrees_with_every_attempted_move() -> None:
    belief = around_one_cell()
    state, action = np.divmod(belief.attempts.pairs, len(STEPS))
    for seed in range(20):
        world = belief.sample(np.random.default_rng(seed))
        assert (world.success[state, action] == belief.attempts.worked).all()
