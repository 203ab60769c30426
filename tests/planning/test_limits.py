"""Limits of the whole run: home before they are used up, exactly and in every run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.planning.test_paper import Walk, corridor

from homeward.beliefs import FiniteBelief
from homeward.bonuses import Looks, RMax
from homeward.criteria import Limit, ReturnHome
from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.planning.algorithm1 import Planner
from homeward.planning.ends import End
from homeward.planning.explorer import Explorer


class Arrive:
    """A bonus of 1 for each state that was not visited yet, by arriving."""

    def __call__(self, belief: Any, /) -> Any:
        return RMax()(belief)

    def looks(self, belief: Any, /) -> Looks:
        here, left = np.zeros(1, np.int64), np.where(belief.visited, 0.0, 1.0)
        return Looks.of((1, len(left)), (here, here), np.ones(1), left, False)


def metres(model: Any, amount: float, unit: float = 1.0) -> Limit:
    """Return an limit of which a move uses `unit`, and a failed one twice that."""
    leaves = model.dest != np.arange(model.states)[:, None]
    return Limit(amount, "m", unit * leaves, 2.0 * unit * leaves)


def scout_of(world: Walk, limits: Any, belief: Any = None, **more: Any) -> Explorer:
    known = FiniteBelief([world.model]) if belief is None else belief
    criterion = ReturnHome(more.pop("delta", 1.0), **more, limits=tuple(limits))
    return Explorer(Planner(Arrive(), [criterion]), known, world)


@pytest.mark.parametrize("amount", [1.0, 2.0, 5.0, 6.0, 7.9, 8.0, 100.0])
def test_a_corridor_is_seen_half_as_far_as_the_allowance_goes_and_the_run_ends_at_home(
    amount: float,
) -> None:
    world = Walk(corridor(6))
    scout = scout_of(world, [metres(world.model, amount)])
    states = [step.state for step in scout.explore(100)]
    far = min(5, int(amount / 2))
    assert states == [*range(1, far + 1), *range(far - 1, -1, -1)]
    assert scout.end is End.HOME
    assert scout.run_state.promises[0].used == (2.0 * far,)
    assert scout.why().startswith("No further look is worth its steps within the limits")


def test_the_scarcest_of_several_limits_counts_and_so_do_the_steps_of_the_return() -> None:
    world = Walk(corridor(9))
    rich, poor = metres(world.model, 100.0), metres(world.model, 30.0, 5.0)
    assert max(step.state for step in scout_of(world, [rich, poor]).explore(99)) == 3
    world = Walk(corridor(9))
    found = [step.state for step in scout_of(world, [rich], within=2).explore(99)]
    assert max(found) == 2


def ring(length: int) -> Moves:
    """Return a ring of rooms; action 0 goes round one way and action 1 the other."""
    rooms = np.arange(length)
    return Moves(
        np.stack([(rooms - 1) % length, (rooms + 1) % length], axis=1), np.ones((length, 2))
    )


def test_a_ring_is_closed_where_the_allowance_reaches_round() -> None:
    for amount, most in ((7.0, 7.0), (6.0, 6.0)):
        world = Walk(ring(7))
        scout = scout_of(world, [metres(world.model, amount)])
        seen = {0, *(step.state for step in scout.explore(99))}
        assert len(seen) == (7 if amount == 7.0 else 4)
        assert scout.run_state.promises[0].used[0] <= most
        assert (scout.end, world.state) == (End.HOME, 0)


def test_no_attempt_is_made_after_whose_failure_home_would_be_out_of_reach() -> None:
    line, rooms = corridor(3), np.ones((3, 2))
    rooms[1, 1] = 0.0
    shut = Moves(line.dest, rooms)
    for amount, used in ((4.5, 2.0), (5.0, 5.0)):  # out, a failed attempt of 3 m, and back
        world, limit = Walk(shut), metres(line, amount)
        scout = scout_of(world, [limit._replace(lost=3.0 * limit.use)], FiniteBelief([line, shut]))
        list(scout.explore(20))
        assert (scout.end, world.state) == (End.HOME, 0)
        assert scout.run_state.promises[0].used == (used,)


def doubtful(rng: np.random.Generator) -> tuple[list[Moves], Moves]:
    """Return worlds on a grid of 4 x 4 in which moves work or never do, and the true one."""
    rows, columns = np.divmod(np.arange(16), 4)
    steps = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
    dest = np.stack(
        [
            np.where(
                (rows + r >= 0) & (rows + r < 4) & (columns + c >= 0) & (columns + c < 4),
                (rows + r) * 4 + columns + c,
                np.arange(16),
            )
            for r, c in steps
        ],
        axis=1,
    )
    worlds = [Moves(dest, (rng.random(dest.shape) < 0.8).astype(float)) for _ in range(3)]
    return worlds, worlds[int(rng.integers(3))]


@pytest.mark.parametrize("seed", range(40))
def test_no_run_exceeds_its_limits_and_each_is_home_within_them_where_it_must_be(seed: int) -> None:
    rng = np.random.default_rng(seed)
    worlds, truth = doubtful(rng)
    use = rng.uniform(0.5, 3.0, (2, *truth.dest.shape)) * (truth.dest != np.arange(16)[:, None])
    amounts = rng.uniform(4.0, 25.0, 2)
    limits = [Limit(a, "m", u, 5.0 * u) for a, u in zip(amounts, use, strict=True)]
    world = Walk(truth)
    scout = scout_of(world, limits, FiniteBelief(worlds))
    total = np.zeros(2)
    for step in scout.explore(500):
        at = step.decision.state, step.action
        total += use[:, *at] * (1.0 if step.state != step.decision.state else 5.0)
        account = scout.run_state.promises[0]
        np.testing.assert_allclose(account.used, total)
        state, home = step.state, np.zeros(2)
        while state != 0:
            home += use[:, state, account.way[state]]
            state = int(truth.dest[state, account.way[state]])
        assert (total + home <= amounts * (1.0 + 1e-9)).all()
    assert scout.end is End.HOME
    assert world.state == 0
    assert (total <= amounts * (1.0 + 1e-9)).all()


def test_a_way_home_that_is_blocked_leaves_what_is_left_out_of_range() -> None:
    dest = np.array([[0, 1], [1, 0]])
    shut = Moves(dest, np.array([[1.0, 1.0], [1.0, 0.0]]))
    belief = FiniteBelief([Moves(dest, np.ones((2, 2))), shut], np.array([0.9, 0.1]))
    world = Walk(shut)
    scout = scout_of(world, [metres(shut, 10.0)], belief, delta=0.8)
    list(scout.explore(10))
    assert (scout.end, world.state) == (End.OUT_OF_RANGE, 1)
    assert scout.run_state.promises[0].used == (3.0,)  # out, and an attempt to come back


def test_what_limits_nothing_or_two_runs_at_once_is_refused() -> None:
    model = corridor(3)
    limit = metres(model, 5.0)
    for limits in (
        (limit._replace(amount=0.0),),
        (limit._replace(use=-np.ones((3, 2))),),
    ):
        with pytest.raises(InvalidProblemError):
            ReturnHome(0.9, limits=limits)
    both = [ReturnHome(0.9, limits=(limit,)), ReturnHome(0.8, limits=(limit,))]
    with pytest.raises(InvalidProblemError, match="several criteria limit the whole run"):
        Explorer(Planner(RMax(), both), FiniteBelief([model]), Walk(model))
    other = ReturnHome(0.9, limits=(metres(corridor(4), 5.0),))
    with pytest.raises(InvalidProblemError, match=r"shape \(4, 2\), the model has \(3, 2\)"):
        Explorer(Planner(RMax(), [other]), FiniteBelief([model]), Walk(model))
    with pytest.raises(InvalidProblemError, match="kept over a whole run"):
        Planner(RMax(), [ReturnHome(0.9, limits=(limit,)), ReturnHome(0.9)]).plan(
            FiniteBelief([model]), 0
        )
