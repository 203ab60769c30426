from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.planning.test_explorer import forked
from tests.planning.test_paper import PIT, corridor

from homeward.beliefs import FiniteBelief, Visit
from homeward.beliefs.corrections import Correction
from homeward.bonuses import RMax, Uncover
from homeward.criteria import ReturnHome, StayInside
from homeward.errors import InvalidProblemError
from homeward.kinds.grid.maps import HeightMap
from homeward.kinds.grid.world import HeightGridWorld
from homeward.models import Moves, SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.planning.ends import End
from homeward.planning.explorer import Explorer, Rules, decide
from homeward.planning.plan import Verdict
from homeward.planning.returning.moves import graph_of
from homeward.worlds import ModelWorld
from lab.check import run_promise

if TYPE_CHECKING:
    from homeward.planning.explorer import Decision


def first_decision(planner: Planner, belief: Any, state: int = 0) -> Decision:
    """Return the decision of the first step of a run."""
    rules = Rules.of(belief, planner, state)
    return decide(rules, belief, rules.open(belief, state), state)


def test_a_decision_says_what_to_do_and_what_is_kept() -> None:
    _, belief = forked(0.8)
    decision = first_decision(Planner(RMax(), [ReturnHome(0.7)]), belief.update(Visit(0)))
    assert decision.action == 1
    (bound,) = decision.bounds
    assert bound.bound == pytest.approx(0.8)
    assert (bound.kind, bound.level, bound.homes) == ("return", 0.7, (0,))


def test_the_same_question_has_the_same_answer() -> None:
    belief = FiniteBelief([corridor(4)]).update(Visit(1))
    rules = Rules.of(belief, Planner(RMax(), [ReturnHome(0.9)]), 1)
    run = rules.open(belief, 1)
    one, two = (decide(rules, belief, run, 1) for _ in range(2))
    assert one.after.encode(run) == two.after.encode(run)


def test_actions_are_judged_by_what_the_budget_allows() -> None:
    # East is a room to see, west a pit.
    dest = np.array([[1, 2, 0], [0, 0, 1], [2, 2, 2]])
    model = Moves(dest, np.ones((3, 3)))
    planner = Planner(RMax(), [ReturnHome(1.0)])
    explained = Explorer(planner, FiniteBelief([model]), ModelWorld(model)).explain()
    verdicts = [e.verdict for e in explained.evidence]
    assert verdicts[:2] == [Verdict.CHOSEN, Verdict.UNSAFE]


def test_what_is_explained_is_what_is_done_and_explaining_changes_nothing() -> None:
    grid = HeightMap.random((8, 8), 0, walls=0.2)
    planner = Planner(Uncover(), [ReturnHome(0.9)])
    asked, silent = (
        Explorer(planner, grid.belief("known"), HeightGridWorld(grid)) for _ in range(2)
    )
    for _ in range(12):
        explained = asked.explain()
        one, two = asked.step(), silent.step()
        assert one is not None
        assert two is not None
        assert explained.action == one.action == two.action
        assert one.decision.after.encode(two.decision.after)["ways"] == [[[], []]]
        lines = str(explained).splitlines()[-len(explained.evidence) :]
        for line, action in zip(lines, explained.evidence, strict=True):
            stays = action.leaves == 0.0 and action.verdict is Verdict.NOT_CHOSEN
            assert line.endswith("surely stays here") == stays


def test_on_a_general_model_a_pit_is_left_alone_and_the_end_is_named() -> None:
    belief = FiniteBelief([PIT.sparse()]).update(Visit(0))
    decision = first_decision(Planner(RMax(), [ReturnHome(1.0)]), belief)
    assert decision.action is None
    assert decision.end in (End.BUDGET, End.ALL_SAFE_SEEN)


def test_on_a_general_model_it_takes_the_risk_that_delta_allows() -> None:
    rows = [[[1.0, 0.0, 0.0], [0.0, 0.8, 0.2]], [[1.0, 0.0, 0.0]] * 2, [[0.0, 0.0, 1.0]] * 2]
    belief = FiniteBelief([SparseMDP.from_dense(rows)]).update(Visit(0))
    for delta, goes in ((0.9, False), (0.7, True)):
        decision = first_decision(Planner(RMax(), [ReturnHome(delta)]), belief)
        assert (decision.action is not None) == goes
        if goes:
            assert decision.after.kept == pytest.approx(0.8)


def test_the_risk_of_an_edge_depends_on_what_the_belief_declares() -> None:
    dest = np.array([[0, 1], [1, 0]])
    slips = Moves(dest, np.array([[1.0, 1.0], [1.0, 0.5]]))
    never = Moves(dest, np.array([[1.0, 1.0], [1.0, 0.0]]))
    belief = FiniteBelief([slips, never], np.array([0.75, 0.25]))
    mean = belief.mean()
    assert isinstance(mean, Moves)
    declared = graph_of(belief, mean, None)
    assert declared.bounded.size == 0  # all are exact
    assert declared.risk[1, 1] == 0.25
    general = graph_of(belief, mean, Correction.GENERAL)
    (at,) = np.flatnonzero(general.bounded == 1 * 2 + 1)
    assert general.least[at] == 0.25 <= general.risk[1, 1]
    assert graph_of(belief, mean, Correction.NAIVE).risk[1, 1] == 0.0


def test_a_run_keeps_to_what_it_relies_on_when_rewards_are_ruled_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Home and leaves; each way back but the first is blocked in a world of its own. Only the world
    # in which the first move is blocked pays anything: the first move rules it out.
    monkeypatch.setattr(run_promise, "RAREST", 1e-6)
    monkeypatch.setattr(run_promise, "DEPTH", 60)
    leaves = 16
    dest = np.tile(np.arange(leaves + 1)[:, None], (1, leaves + 1))
    dest[0, 1:] = np.arange(1, leaves + 1)
    dest[1:, 1] = 0
    sure = np.ones(dest.shape)
    first = sure.copy()
    first[0, 1] = 0.0
    costs = np.zeros(dest.shape)
    costs[1, 0] = -1e-3
    worlds, weights = [Moves(dest, first, costs)], [0.001]
    for leaf in range(2, leaves + 1):
        success = sure.copy()
        success[leaf, 1] = 0.0
        worlds.append(Moves(dest, success))
        weights.append(0.0095)
    belief = FiniteBelief([*worlds, Moves(dest, sure)], np.array([*weights, 1.0 - sum(weights)]))
    worth = np.zeros(dest.shape)
    worth[0, 1], worth[2:, 0] = 100.0, 1.0
    planner = Planner(lambda b: np.where(b.counts == 0, worth, 0.0), [ReturnHome(0.9, 0)])
    found = run_promise.examine(run_promise.RunCase("paid moves", belief, planner, 0))
    assert found.excess <= 1e-9
    assert found.unbalanced <= 1e-9


def test_a_deadline_on_a_general_model_is_refused_by_name() -> None:
    rows = [[[1.0, 0.0], [0.0, 1.0]], [[0.4, 0.6], [1.0, 0.0]]]
    belief = FiniteBelief([SparseMDP.from_dense(rows)]).update(Visit(0))
    with pytest.raises(InvalidProblemError, match="ReturnHome with within"):
        Rules.of(belief, Planner(RMax(), [ReturnHome(0.8, within=3)]), 0)


def test_of_two_actions_to_one_place_the_forbidden_one_is_not_taken() -> None:
    dest = np.array([[0, 1, 1], [1, 0, 0]])
    belief = FiniteBelief([Moves(dest, np.array([[1.0, 0.9, 1.0], [1.0, 1.0, 1.0]]))])
    allowed = np.array([[True, True, False], [True, True, True]])
    planner = Planner(RMax(), [ReturnHome(0.9), StayInside(allowed, 0.9)])
    seen = belief.update(Visit(0))
    assert first_decision(planner, seen).action == 1


def test_a_start_whose_only_action_inside_a_set_is_unavailable_is_outside() -> None:
    dest, reward = np.array([[0, 1], [1, 0]]), np.zeros((2, 2))
    reward[0, 1] = -np.inf
    belief = FiniteBelief([Moves(dest, np.ones((2, 2)), reward)])
    inside = np.array([[False, True], [True, True]])
    planner = Planner(RMax(), [ReturnHome(0.9), StayInside(inside, 0.9)])
    with pytest.raises(InvalidProblemError, match="state 0"):
        Rules.of(belief, planner, 0)
    Rules.of(belief, planner, 1)


def test_rewards_whose_sums_overflow_are_refused_by_place() -> None:
    reward = np.array([[0.0, 1e300], [0.0, 0.0]])
    belief = FiniteBelief([Moves(np.array([[0, 1], [1, 0]]), np.ones((2, 2)), reward)])
    planner = Planner(RMax(), [ReturnHome(0.9)])
    with pytest.raises(InvalidProblemError, match=r"\(s=0, a=1\)"):
        Rules.of(belief, planner, 0)
    with pytest.raises(InvalidProblemError, match=r"\(s=0, a=1\)"):
        planner.plan(belief, 0)
