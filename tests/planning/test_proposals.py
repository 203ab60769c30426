from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.planning.test_paper import corridor

from homeward.beliefs import FiniteBelief
from homeward.bonuses import Looks, RMax
from homeward.kinds.grid.config import GridConfig
from homeward.kinds.grid.kind import make as make_grid
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import make
from homeward.models import Moves
from homeward.planning.gain_kernels import EVERYWHERE, Ground, Scratch
from homeward.planning.promise import MAX_FREE_SHARE, Proposal
from homeward.planning.proposals import (
    BEAM_PRICE,
    SWITCH_MARGIN,
    MoveSearch,
    Problem,
    hemmed_in,
)
from homeward.planning.returning import Goal
from homeward.planning.returning.moves import MoveReturning

HOME = np.zeros(1, np.int64)


def choose(belief: FiniteBelief, delta: float, state: int = 0, **given: Any) -> Any:
    """Return what a search finds in a state at a level."""
    returning = MoveReturning.of(Goal("home", HOME, delta), None, belief)
    options = returning.options(belief, returning.open(belief, state), state, None)
    search = MoveSearch(given.get("bonus", RMax()), given.get("floor", 1e-6), given.get("allowed"))
    return search.find(belief, [options], state, None, news=0.0, idle=0, learn=True)


def star(blocked: list[float]) -> FiniteBelief:
    """Return a camp with a hut for each chance that the way back from it is blocked."""
    huts = len(blocked)
    dest = np.zeros((huts + 1, huts), np.int64)
    dest[0] = np.arange(1, huts + 1)
    dest[1:, 1:] = np.arange(1, huts + 1)[:, None]
    worlds, weights = [Moves(dest, np.ones(dest.shape))], [1.0 - sum(blocked)]
    for hut, chance in enumerate(blocked, start=1):
        success = np.ones(dest.shape)
        success[hut, 0] = 0.0
        worlds.append(Moves(dest, success))
        weights.append(chance)
    return FiniteBelief(worlds, np.array(weights), visited=np.arange(huts + 1) == 0)


def test_the_nearest_of_equal_places_is_proposed() -> None:
    seen = np.array([True, False, False, False])
    chosen = choose(FiniteBelief([corridor(4)], visited=seen), 1.0)
    assert chosen.proposal.path == (0, 1)
    assert chosen.proposal.share <= MAX_FREE_SHARE
    assert chosen.action == 1


def test_what_is_free_comes_before_what_is_not() -> None:
    assert choose(star([0.1, 0.0]), 0.5).proposal.path == (0, 2)


def test_of_equal_places_the_one_of_least_risk_is_taken() -> None:
    chosen = choose(star([0.2, 0.1]), 0.5)
    assert chosen.proposal.path == (0, 2)
    assert chosen.proposal.share == pytest.approx(0.1 / 0.5)


def test_what_is_beyond_the_budget_is_named() -> None:
    found = choose(star([0.2, 0.1]), 0.95)
    assert found.action is None
    assert found.share == pytest.approx(0.1 / 0.05)
    assert found.left == 2.0


def test_an_action_that_tells_by_leaving_is_as_risky_as_where_it_leads() -> None:
    def leaving(_: Any) -> np.ndarray:
        return np.array([[3.0, 1.0], [0.0, 0.0], [0.0, 0.0]])

    for delta, learning in ((0.5, 1), (0.95, 1)):
        chosen = choose(star([0.2, 0.0]), delta, bonus=leaving)
        assert chosen.proposal.path == (0,)
        assert chosen.action == learning
    beyond = choose(star([0.2, 0.1]), 0.95, bonus=leaving)
    assert beyond.share == pytest.approx(0.2 / 0.05)


def test_an_edge_that_is_not_allowed_is_not_taken() -> None:
    allowed = np.array([[False, True], [True, True], [True, True]])
    assert choose(star([0.0, 0.0]), 1.0, allowed=allowed).proposal.path == (0, 2)


def test_nothing_below_the_floor_is_proposed() -> None:
    found = choose(star([0.0, 0.0]), 1.0, floor=2.0)
    assert (found.action, found.left, found.rate, found.share) == (None, 2.0, 0.5, np.inf)


def test_while_nothing_is_learned_a_path_is_worth_more_with_every_step() -> None:
    # The first room ahead was looked at; the three after it tell one after the other.
    model = corridor(5)
    amount = np.array([0.0, 0.0, 1.0, 1.0, 1.0])
    nowhere = np.zeros(1, np.int64)
    looks = Looks.of((1, 5), (nowhere, nowhere), np.ones(1), amount, logarithmic=True)
    search = MoveSearch(RMax(), 1e-6)
    search._scratch = Scratch.of(5)
    path = (0, 1, 2, 3, 4)
    ground = Ground(model.dest, model.success, EVERYWHERE, np.zeros((1, 5)), np.ones(1))
    problem = Problem(ground, 1, looks, 1.0, None)
    gain = 1.5 * np.log(2.0)
    last = Proposal(path, gain, 4.0, along=True)
    now = search.pursue(problem, last)
    assert now is not None
    assert (now.path, now.along) == (path[1:], True)
    assert now.gain == pytest.approx(gain)
    assert now.rate > last.rate * 1.3
    after = search.pursue(problem._replace(state=3), now)
    assert after is not None
    assert after.gain == pytest.approx(0.5 * np.log(2.0))


def test_no_safe_move_has_a_higher_rate_than_the_rule_allows() -> None:
    config = RoverConfig(rows=300, columns=300, sensor_range=29.0, sensor_noise=0.01, delta=0.98)
    explorer: Any = make(config).explorer()
    higher = 0
    for _ in range(60):
        evidence = explorer.explain().evidence
        step = explorer.step()
        proposal = step.decision.proposal
        if proposal.share > MAX_FREE_SHARE:
            continue
        free = [
            each.exploration
            for each in evidence
            if each.verdict == "not_chosen" and each.share <= MAX_FREE_SHARE
        ]
        rate = max(free, default=0.0)
        higher += rate > proposal.rate
        if not proposal.along:
            assert rate <= proposal.rate * (1 + SWITCH_MARGIN)
        elif rate > proposal.rate:  # a path with many looks wins against the best single one
            price = BEAM_PRICE * rate
            assert proposal.gain - price * proposal.steps >= rate - price
    assert higher > 5


def test_a_cell_among_seen_ones_is_worth_more_than_one_at_the_frontier() -> None:
    unseen = np.zeros((5, 5))
    unseen[2, 2] = 1.0  # alone
    unseen[0] = 1.0
    offsets = np.zeros(1, np.int64)
    looks = Looks.of((5, 5), (offsets, offsets), np.ones(1), unseen.ravel(), False)
    worth = hemmed_in(looks).amount.reshape(5, 5)
    assert worth[2, 2] == worth.max() > worth[0, 2] > 1.0
    assert (worth[unseen == 0.0] == 0.0).all()


def test_a_grid_is_seen_in_no_more_steps_than_with_tours() -> None:
    """A search over whole tours needed 189, 170, 182 and 200 steps."""
    steps = []
    for seed in range(4):
        setup = make_grid(GridConfig(size=20, walls=0.2, seed=seed))
        steps.append(sum(1 for _ in setup.explorer().explore(setup.limit)))
    assert sum(steps) <= 741
