from __future__ import annotations

import numpy as np
import pytest
from tests.planning.test_explorer import forked
from tests.planning.test_paper import PIT, corridor

from homeward.beliefs import FiniteBelief, Visit
from homeward.bonuses import RMax
from homeward.models import Moves, SparseMDP
from homeward.planning.explorer import End
from homeward.planning.guide import Guide, graph_of
from homeward.planning.plan import Verdict
from homeward.planning.planner import Planner
from homeward.safety import Correction, ReturnHome


def test_a_decision_says_what_to_do_and_what_is_kept() -> None:
    real, belief = forked(0.8)
    guide = Guide(Planner(RMax(), [ReturnHome(0.7)]), 0)
    seen = belief.update(Visit(0))
    decision = guide.decide(seen, 0, guide.open(seen))
    plan = decision.plan
    assert plan is not None
    assert plan.action == 1
    assert plan.method == "rate"
    assert plan.criteria[0].kept_bound == pytest.approx(0.8)
    assert plan.criteria[0].level == 0.7
    assert real.dest[0, plan.action] == 1


def test_the_same_question_has_the_same_answer() -> None:
    belief = FiniteBelief([corridor(4)]).update(Visit(1))
    guide = Guide(Planner(RMax(), [ReturnHome(0.9)]), 1)
    held = guide.open(belief)
    one, two = (guide.decide(belief, 1, held) for _ in range(2))
    assert one.held.encode(held) == two.held.encode(held)


def test_actions_are_judged_by_what_the_budget_allows() -> None:
    # East is a room to see, west a pit.
    dest = np.array([[1, 2, 0], [0, 0, 1], [2, 2, 2]])
    belief = FiniteBelief([Moves(dest, np.ones((3, 3)))]).update(Visit(0))
    guide = Guide(Planner(RMax(), [ReturnHome(1.0)]), 0)
    plan = guide.decide(belief, 0, guide.open(belief)).plan
    assert plan is not None
    verdicts = [e.verdict for e in plan.evidence]
    assert verdicts[:2] == [Verdict.CHOSEN, Verdict.UNSAFE]


def test_on_a_general_model_a_pit_is_left_alone_and_the_end_is_named() -> None:
    guide = Guide(Planner(RMax(), [ReturnHome(1.0)]), 0)
    belief = FiniteBelief([PIT.sparse()]).update(Visit(0))
    decision = guide.decide(belief, 0, guide.open(belief))
    assert decision.plan is None
    assert decision.end in (End.BUDGET, End.ALL_SAFE_SEEN)


def test_on_a_general_model_it_takes_the_risk_that_delta_allows() -> None:
    rows = [[[1.0, 0.0, 0.0], [0.0, 0.8, 0.2]], [[1.0, 0.0, 0.0]] * 2, [[0.0, 0.0, 1.0]] * 2]
    belief = FiniteBelief([SparseMDP.from_dense(rows)]).update(Visit(0))
    for delta, goes in ((0.9, False), (0.7, True)):
        guide = Guide(Planner(RMax(), [ReturnHome(delta)]), 0)
        decision = guide.decide(belief, 0, guide.open(belief))
        assert (decision.plan is not None) == goes
        if goes:
            assert decision.held.kept == pytest.approx(0.8)


def test_the_risk_of_an_edge_depends_on_what_the_belief_declares() -> None:
    dest = np.array([[0, 1], [1, 0]])
    slips = Moves(dest, np.array([[1.0, 1.0], [1.0, 0.5]]))
    never = Moves(dest, np.array([[1.0, 1.0], [1.0, 0.0]]))
    belief = FiniteBelief([slips, never], np.array([0.75, 0.25]))
    mean = belief.mean()
    assert isinstance(mean, Moves)
    declared = graph_of(belief, mean, None)
    assert (declared.least == declared.blocked).all()
    assert declared.blocked[1, 1] == 0.25
    general = graph_of(belief, mean, Correction.GENERAL)
    assert general.least[1, 1] == 0.25 <= general.blocked[1, 1]
    assert graph_of(belief, mean, Correction.NAIVE).blocked[1, 1] == 0.0
