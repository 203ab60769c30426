from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from homeward.beliefs import Belief
from homeward.criteria import ReturnHome
from homeward.models import Moves
from homeward.planning.promise import BUDGET_TOLERANCE
from homeward.planning.returning import Goal
from homeward.planning.returning.moves import Limits, MoveReturning

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray

HOME = np.zeros(1, np.int64)
STAY, OUT, BACK, SHORTCUT = range(4)


@dataclass(frozen=True, eq=False)
class Rooms(Belief):
    """Rooms whose ways back are blocked with given probabilities, or at most with these."""

    moves: Moves
    blocked: FloatArray
    least: FloatArray

    def mean(self) -> Moves:
        return self.moves

    def update(self, observation: Any) -> Rooms:
        return self

    def sample(self, rng: np.random.Generator) -> Moves:
        return self.moves

    def blocked_probability(self) -> FloatArray:
        return self.blocked

    def least_blocked(self) -> tuple[IntArray, FloatArray]:
        bounded = np.flatnonzero(self.least != self.blocked)
        return bounded, self.least.ravel()[bounded]


def line(
    blocked_back: list[float], shortcut: float = 1.0, *, exact: bool = True, works: float = 0.0
) -> Rooms:
    """Return rooms in a line from home on: out is sure, each way back is blocked with a chance.

    The last room has a shortcut home that is blocked with the chance `shortcut`. A move that is
    surely blocked may still succeed with the probability `works` in the mean.
    """
    rooms = np.arange(len(blocked_back) + 1)
    last = len(blocked_back)
    dest = np.stack([rooms, np.minimum(rooms + 1, last), np.maximum(rooms - 1, 0), rooms], axis=1)
    dest[last, SHORTCUT] = 0
    blocked = np.zeros(dest.shape)
    blocked[1:, BACK] = blocked_back
    blocked[last, SHORTCUT] = shortcut
    success = np.where(blocked < 1.0, 1.0 - blocked, works)
    return Rooms(Moves(dest, success), blocked, blocked if exact else np.zeros(dest.shape))


def home(delta: float, within: int | None = None, rooms: int = 4) -> MoveReturning:
    """Return what keeps a way to room 0."""
    shape = rooms, 4
    limits = Limits.of(ReturnHome(delta, within=within), shape) if within else None
    return MoveReturning(Goal("home", HOME, delta, within, limits))


def test_a_run_that_starts_at_home_has_spent_nothing() -> None:
    returning = home(0.9)
    promise = returning.open(line([0.1, 0.2]), 0)
    assert promise.spent == 0.0
    assert returning.goal.budget - promise.spent == pytest.approx(0.1)


def test_one_that_starts_elsewhere_pays_for_its_first_way_home() -> None:
    returning = home(0.5)
    promise = returning.open(line([0.1, 0.2]), 2)
    assert promise.spent == pytest.approx(0.3)
    assert promise.way.tolist() == [-1, BACK, BACK]


def test_without_a_way_home_everything_is_spent() -> None:
    assert home(0.5).open(line([1.0, 1.0]), 2).spent == 1.0


@pytest.mark.parametrize(("risk", "again"), [(0.01, 0.0), (0.2, 0.2)])
def test_an_edge_is_paid_for_once_unless_its_risk_is_a_large_part_of_what_is_left(
    risk: float, again: float
) -> None:
    graph, returning = line([0.1, risk]), home(0.2)
    promise = returning.open(graph, 0)
    for state, action, cost in ((0, OUT, 0.1), (1, OUT, risk), (2, BACK, 0.0), (1, OUT, again)):
        options = returning.options(graph, promise, state, None)
        paid = returning.take(options, state, action)
        assert paid.spent == pytest.approx(options.promise.spent + cost)
        promise = paid


def test_to_stay_costs_nothing() -> None:
    graph, returning = line([0.1]), home(0.5)
    promise = returning.open(graph, 0)
    options = returning.options(graph, promise, 0, None)
    assert returning.take(options, 0, STAY) is options.promise


def out_there(returning: MoveReturning, graph: Rooms) -> Any:
    promise = returning.open(graph, 0)
    for state in range(len(graph.moves.dest) - 1):
        promise = returning.take(returning.options(graph, promise, state, None), state, OUT)
    return promise


def test_after_bad_news_a_better_way_takes_the_place_of_the_held_one_for_nothing() -> None:
    returning = home(0.9)
    promise = out_there(returning, line([0.0, 0.0]))
    options = returning.options(line([1.0, 0.0], shortcut=0.5), promise, 2, None)
    assert options.promise.way[2] == SHORTCUT
    assert options.promise.spent == promise.spent  # what surely fails has nothing to lose
    assert not options.lost


def test_a_better_way_that_is_not_surely_better_is_charged_for_the_difference() -> None:
    returning = home(0.5)
    promise = out_there(returning, line([0.0, 0.0]))
    options = returning.options(line([0.4, 0.4], shortcut=0.5), promise, 2, None)
    assert options.promise.way[2] == SHORTCUT
    assert options.promise.spent == pytest.approx(promise.spent + 0.1)


def test_where_the_way_home_surely_is_blocked_and_no_other_is_left_all_is_lost() -> None:
    returning = home(0.9)
    promise = out_there(returning, line([0.0, 0.0]))
    options = returning.options(line([1.0, 0.0]), promise, 2, None)
    assert options.lost
    assert returning.take(options, 2, OUT) is options.promise


def test_a_union_bound_of_one_is_no_certainty() -> None:
    # Both ways back are blocked in the same half of the worlds, so home is near with one half.
    returning = home(0.9)
    promise = out_there(returning, line([0.0, 0.0]))
    assert not returning.options(line([0.5, 0.5]), promise, 2, None).lost


def test_nor_is_an_upper_bound_of_one() -> None:
    returning = home(0.9)
    promise = out_there(returning, line([0.0, 0.0]))
    news = line([1.0, 0.0], shortcut=0.5, exact=False, works=0.5)
    options = returning.options(news, promise, 2, None)
    assert not options.lost
    assert options.promise.way[2] == BACK  # another way would cost .5, which is not left
    assert options.promise.spent == promise.spent


def test_a_deadline_is_about_the_number_of_steps() -> None:
    graph = line([0.0, 0.0, 0.0])
    for within, spent in ((3, 0.0), (2, 1.0)):
        assert home(0.9, within).open(graph, 3).spent == spent


def test_with_a_deadline_an_attempt_that_fails_is_a_risk() -> None:
    graph = line([0.0])
    works = np.where(graph.moves.success > 0.0, 0.75, 0.0)
    slips = replace(graph, moves=graph.moves.with_success(works))
    assert home(0.5).open(slips, 1).spent == 0.0
    assert home(0.5, within=9, rooms=2).open(slips, 1).spent == pytest.approx(0.25)


def test_what_is_left_allows_for_rounding_alone() -> None:
    returning = home(1.0)
    assert returning.goal.budget == BUDGET_TOLERANCE
    assert returning.open(line([0.1]), 0).spent == 0.0
