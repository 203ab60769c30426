from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.planning.test_paper import corridor

from homeward.beliefs import FiniteBelief
from homeward.bonuses import Looks, RMax
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import make
from homeward.models import Moves
from homeward.planning.algorithm1 import Planner
from homeward.planning.gain_search import Scratch, Shares
from homeward.planning.graph import graph_of
from homeward.planning.guide import Task
from homeward.planning.ledger import Ledger
from homeward.planning.promise import MAX_FREE_SHARE, Held, Proposal
from homeward.planning.pursuit import Limit
from homeward.planning.rate import BEAM_PRICE, SWITCH_MARGIN, RateSearch, View

HOME = np.zeros(1, np.int64)


def choose(belief: FiniteBelief, delta: float, state: int = 0, **options: Any) -> Any:
    model = belief.mean()
    assert isinstance(model, Moves)
    graph = graph_of(belief, model, None)
    ledger = Ledger("home", HOME, delta)
    planner = Planner(options.get("bonus", RMax()), [])
    task = Task(planner, (ledger,), options.get("allowed"), options.get("floor", 1e-6))
    held = Held((ledger.open(graph, state),))
    plan, _, limit = RateSearch(task).choose(belief, model, state, held)
    return limit if plan is None else plan


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
    limit = choose(star([0.2, 0.1]), 0.95)
    assert limit.share == pytest.approx(0.1 / 0.05)
    assert limit.left == 2.0


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
    assert choose(star([0.0, 0.0]), 1.0, floor=2.0) == Limit(2.0, rate=0.5)


def test_while_nothing_is_learned_a_held_path_is_worth_more_with_every_step() -> None:
    # The first room ahead was looked at; the three after it tell one after the other.
    model = corridor(5)
    graph = graph_of(FiniteBelief([model]), model, None)
    amount = np.array([0.0, 0.0, 1.0, 1.0, 1.0])
    nowhere = np.zeros(1, np.int64)
    looks = Looks.of((1, 5), (nowhere, nowhere), np.ones(1), amount, logarithmic=True)
    search = RateSearch(Task(Planner(RMax(), []), (), None, 1e-6))
    search.scratch = Scratch.of(5)
    path = (0, 1, 2, 3, 4)
    view = View(graph, 1, (), Shares.given(np.zeros(5)), looks, 1.0, 1.0, None)
    gain = 1.5 * np.log(2.0)
    held = Proposal(path, gain, 4.0, along=True)
    now = search.still(held, view)
    assert now is not None
    assert (now.path, now.along) == (path[1:], True)
    assert now.gain == pytest.approx(gain)
    assert now.rate > held.rate * 1.3
    after = search.still(now, view._replace(state=3))
    assert after is not None
    assert after.gain == pytest.approx(0.5 * np.log(2.0))


def test_no_safe_move_has_a_higher_rate_than_the_rule_allows() -> None:
    """The rates of other moves count the toll of risk, as the search does."""
    config = RoverConfig(rows=300, columns=300, sensor_range=29.0, sensor_noise=0.01, delta=0.98)
    explorer = make(config).explorer()
    tolls = higher = 0
    for step in explorer.explore(80):
        proposal, evidence = step.plan.proposal, step.plan.evidence
        assert proposal is not None
        others = [each for each in evidence if each.verdict == "not_chosen"]
        rate = max(each.exploration for each in others)
        tolls += any(each.share > MAX_FREE_SHARE for each in others)
        higher += rate > proposal.rate
        if not proposal.along:
            assert rate <= proposal.rate * (1 + SWITCH_MARGIN)
        elif rate > proposal.rate:  # a path with many looks wins against the best single one
            price = BEAM_PRICE * rate
            assert proposal.gain - price * proposal.steps >= rate - price
    assert tolls > 20
    assert higher > 5
