"""Column generation and the occupancy LP, two unrelated methods, agree on random problems."""

import numpy as np
import pytest

from homeward.beliefs import FiniteBelief
from homeward.beliefs.corrections import Correction
from homeward.criteria import StayInside
from homeward.models import Moves, SparseMDP
from homeward.solvers import Status, solve_constrained, solve_occupancy
from lab.check.agreement import Kind, compare, random_problem
from lab.check.direct_lp import Directly, Program, compare_together
from lab.check.soundness import TOGETHER, BoundCase, random_case


@pytest.mark.parametrize("kind", ["moves", "general"])
@pytest.mark.parametrize("constraints", [1, 2, 3])
def test_both_methods_say_the_same_of_random_problems(kind: Kind, constraints: int) -> None:
    rng = np.random.default_rng(constraints)
    found = [compare(random_problem(kind, constraints, rng)) for _ in range(35)]
    assert all(a.agrees for a in found)
    assert max(a.difference for a in found) < 1e-7
    sure = [a.status for a in found if a.status is not Status.NUMERICAL]
    assert len(sure) >= len(found) - 1
    assert set(sure) == {Status.OPTIMAL, Status.INFEASIBLE}
    assert any(a.sure for a in found)


@pytest.mark.parametrize("kind", ["moves", "general"])
def test_the_lp_taken_apart_into_policies_agrees_as_well(kind: Kind) -> None:
    rng = np.random.default_rng(7)
    for _ in range(40):
        problem = random_problem(kind, int(rng.integers(1, 4)), rng)
        ours, theirs = solve_constrained(problem), solve_occupancy(problem)
        assert ours.status is theirs.status
        if ours.status is Status.OPTIMAL:
            assert theirs.objective == pytest.approx(ours.objective, rel=1e-7)
            assert (theirs.achieved >= problem.levels - 1e-8).all()
        else:
            short = [np.maximum(0.0, problem.levels - s.achieved).sum() for s in (ours, theirs)]
            assert short[0] == pytest.approx(short[1], abs=1e-7)


@pytest.mark.parametrize("fixed", [False, True], ids=["at any step", "at a step"])
@pytest.mark.parametrize("asked", TOGETHER, ids=" and ".join)
def test_a_plan_of_any_criteria_is_what_a_direct_lp_says(
    asked: tuple[str, ...], fixed: bool
) -> None:
    rng = np.random.default_rng(5)
    for number in range(5):
        case = random_case(asked, number, rng, fixed=fixed)
        for correction in case.corrections:
            found = compare_together(case, correction)
            assert found.sure
            assert found.agrees
            assert found.difference < 1e-7
            assert found.shortfall < 1e-8


def test_a_move_that_leads_nowhere_may_fail_at_random() -> None:
    # Everything is inside. Action 0 stays, in one world not always; action 1 leads to and fro.
    dest, works = np.array([[0, 1], [1, 0]]), np.array([[0.5, 1.0], [1.0, 1.0]])
    worlds = [Moves(dest, works), Moves(dest, np.array([[1.0, 0.0], [1.0, 0.0]]))]
    belief = FiniteBelief(worlds, np.array([0.1, 0.9]))
    inside = StayInside(np.array([True, True]), 0.95)
    found = compare_together(BoundCase(belief, [inside], 0.99, (), None), Correction.MOVES)
    assert found.agrees
    assert found.difference < 1e-7


def test_general_rows_with_two_outcomes_are_judged_as_moves() -> None:
    # In this case every row stays or leads to one state, and no process ends.
    case = random_case(("earn",), 2, np.random.default_rng(54))
    assert isinstance(case.belief.mean(), SparseMDP)
    assert case.belief.as_moves() is not None
    found = compare_together(case, Correction.GENERAL)
    assert found.agrees
    assert found.difference < 1e-7


@pytest.mark.parametrize("margin", [-1e-10, 0.0, 1e-10])
def test_at_the_edge_either_answer_is_right(margin: float) -> None:
    assert Directly(Status.OPTIMAL, Status.INFEASIBLE, 0.0, 0.0, margin).agrees
    assert Directly(Status.INFEASIBLE, Status.OPTIMAL, 0.0, 0.0, margin).agrees


@pytest.mark.parametrize("margin", [1e-6, np.nan])
def test_away_from_the_edge_only_one_answer_is_right(margin: float) -> None:
    assert not Directly(Status.OPTIMAL, Status.INFEASIBLE, 0.0, 0.0, -margin).agrees
    assert not Directly(Status.INFEASIBLE, Status.OPTIMAL, 0.0, 0.0, margin).agrees


def test_the_margin_is_what_the_best_occupancy_has_beyond_its_worst_level() -> None:
    # One unit to divide among two actions that keep (1, 0) and (0, 1).
    program = Program(
        worth=np.array([1.0, 0.0]),
        flow=np.ones((1, 2)),
        source=np.ones(1),
        gains=np.eye(2),
        levels=np.array([0.2, 0.4]),
        usable=np.ones(2, dtype=bool),
    )
    status, best = program.solve()
    assert status is Status.OPTIMAL
    assert best == pytest.approx(0.6)
    assert program.margin() == pytest.approx(0.2)
