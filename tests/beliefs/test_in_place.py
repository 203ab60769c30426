"""What holds for every belief: absorbing is updating, and leaves all other beliefs alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pytest

import homeward as hw
from homeward.beliefs import (
    CorrelatedTerrainBelief,
    Heights,
    InPlaceBelief,
    Matern,
    MoveSets,
    Reveal,
    Transition,
    Visit,
)
from homeward.errors import InvalidProblemError

if TYPE_CHECKING:
    from homeward.arrays import FloatArray
    from homeward.models import Model

EAST = 3


class Counted(InPlaceBelief):
    """A belief of a user: a lever works as often as it did, and it is tried in place."""

    def __init__(self, tries: FloatArray) -> None:
        self.tries = tries  # [S, A, 2] how often it failed and worked, plus one

    def mean(self) -> hw.Moves:
        dest = np.array([[1, 0], [0, 1]])
        return hw.Moves(dest, self.tries[..., 1] / self.tries.sum(axis=2))

    def copy(self) -> Self:
        return type(self)(self.tries.copy())

    def _absorb(self, observation: Transition) -> Any:
        state, action, after = (int(part) for part in vars_of(observation))
        self.tries[state, action, int(after != state)] += 1.0
        return np.array([state])

    def sample(self, rng: np.random.Generator) -> hw.Moves:
        return self.mean().with_success(rng.beta(self.tries[..., 1], self.tries[..., 0]))


def vars_of(moved: Transition) -> tuple[Any, Any, Any]:
    return moved.state, moved.action, moved.next_state


def seen(cell: int, height: float, moved: Transition | None = None) -> Heights:
    return Heights(np.array([cell]), np.array([height]), np.array([0.2]), moved=moved)


def heights_of(kind: str) -> tuple[hw.Belief, list[Any]]:
    shape, looks = (3, 5), [seen(2, 0.5), seen(7, 1.0, Transition(2, EAST, 3)), seen(12, 0.4)]
    if kind == "correlated":
        return CorrelatedTerrainBelief(shape, Matern(2.0, 40.0)), looks
    return hw.TerrainBelief(shape, np.zeros(15), np.ones(15)), looks


def cases() -> list[tuple[hw.Belief, list[Any]]]:
    worlds = [hw.Moves(np.array([[1, 0], [0, 1]]), np.full((2, 2), p)) for p in (0.2, 0.9)]
    moves: list[Any] = [Transition(0, 0, 1), Visit(1), Transition(1, 0, 1)]
    outcomes = np.array([[[0, 1], [0, 1]], [[0, 1], [1, 1]]])
    looks = [Reveal(np.array([0, 1]), np.array([1, 3]), 0), Reveal(np.array([4]), np.array([2]))]
    return [
        (hw.FiniteBelief(worlds), moves),
        (hw.DirichletBelief(outcomes, np.ones((4, 2))), moves),
        (hw.HeightBelief((2, 3), walls=0.2), looks),
        heights_of("independent"),
        heights_of("correlated"),
        (Counted(np.ones((2, 2, 2))), [moves[0], moves[2]]),
    ]


def shown(belief: hw.Belief) -> list[FloatArray]:
    """Return what a planner reads, each with one row per state."""
    model: Model = belief.mean()
    rows = model.sparse().transitions.toarray().reshape(model.states, -1)
    arrays = [rows, belief.correction()]
    if isinstance(model, hw.Moves):
        arrays += [belief.blocked_probability(), *belief.success_bounds()]
    return [np.array(array) for array in arrays]


def same(one: list[FloatArray], two: list[FloatArray]) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(one, two, strict=True))


@pytest.mark.parametrize(("belief", "observations"), cases(), ids=lambda case: type(case).__name__)
def test_absorbing_is_updating_and_says_where_something_changed(
    belief: hw.Belief, observations: list[Any]
) -> None:
    first, own = shown(belief), belief.copy()
    for observation in observations:
        before, updated, kept = shown(own), own.update(observation), own.copy()
        assert same(shown(own), before)
        own, changed = own.absorb(observation)
        assert same(shown(own), shown(updated))
        assert same(shown(kept), before)
        if changed is not None:
            others = np.setdiff1d(np.arange(own.mean().states), changed)
            assert same([x[others] for x in shown(own)], [x[others] for x in before])
    assert same(shown(belief), first)
    assert same(shown(belief.update(observations)), shown(own))
    assert same(shown(belief.copy().absorb(observations)[0]), shown(own))


@pytest.mark.parametrize(("belief", "observations"), cases(), ids=lambda case: type(case).__name__)
def test_observations_in_another_order_tell_the_same(
    belief: hw.Belief, observations: list[Any]
) -> None:
    one, two = (shown(belief.update(order)) for order in (observations, observations[::-1]))
    for x, y in zip(one, two, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("belief", "observations"), cases(), ids=lambda case: type(case).__name__)
def test_bounds_on_moves_are_in_order(belief: hw.Belief, observations: list[Any]) -> None:
    belief = belief.update(observations)
    model = belief.mean()
    if not isinstance(model, hw.Moves):
        return
    low, high = belief.success_bounds()
    assert (low <= high).all()
    moves, least = belief.least_blocked()
    assert (least <= belief.blocked_probability().ravel()[moves]).all()
    state, action = np.divmod(np.arange(model.dest.size), model.actions)
    for n in (1, 2, 4):
        at = np.arange(0, len(state), len(state) // n)[:n]
        sets = MoveSets(np.array([0, n]), state[at], action[at])
        together = belief.work_together(sets)
        union = 1.0 - belief.blocked_probability()[state[at], action[at]].sum()
        assert together.low[0] >= max(0.0, union) - 1e-9
        assert together.low[0] <= together.high[0]


@pytest.mark.parametrize("belief", [case[0] for case in cases()[:-1]], ids=lambda b: str(type(b)))
def test_a_draw_needs_a_source_of_random_numbers(belief: hw.Belief) -> None:
    with pytest.raises(InvalidProblemError, match="default_rng"):
        belief.sample(None)  # type: ignore[arg-type]
