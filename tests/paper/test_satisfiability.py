from __future__ import annotations

import sys
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from homeward.beliefs import FiniteBelief
from homeward.errors import InvalidBeliefError, MissingExtraError
from homeward.models import Moves
from homeward.paper.counterexamples import known_odds
from homeward.paper.formulas import (
    HOME,
    START,
    STAY,
    Formula,
    assignment,
    belief_from,
    parse_dimacs,
    random_formula,
)
from homeward.paper.satisfiability import SafetyDecision, ask_solver, decide, try_formulas
from homeward.referee.exact import dense_transitions, exact_recall, exact_return
from homeward.solvers import GIVE_UP

if TYPE_CHECKING:
    from homeward.arrays import IntArray

SATISFIABLE = parse_dimacs("p cnf 3 3\n1 2 3 0\n-1 2 -3 0\n-2 3 -1 0\n", "yes")
UNSATISFIABLE = Formula("no", 3, tuple((a, 2 * b, 3 * c) for a, b, c in product((1, -1), repeat=3)))


def satisfies(literals: tuple[int, ...], formula: Formula) -> bool:
    return all(any(k in literals for k in clause) for clause in formula.clauses)


def return_policy(decision: SafetyDecision, belief: FiniteBelief) -> IntArray:
    world = belief.worlds[0]
    assert isinstance(world, Moves)
    policy = np.full(world.states, GIVE_UP, np.int32)
    for state, target in pairwise(decision.path):
        policy[state] = world.dest[state].tolist().index(target)
    return policy


def small_formulas() -> list[Formula]:
    rng = np.random.default_rng(8)
    return [random_formula(4, m, rng) for m in (1, 2, 3, 4, 5, 6) for _ in range(4)]


def test_a_satisfiable_formula_has_a_way_back() -> None:
    assert decide(belief_from(SATISFIABLE)).safe


def test_all_eight_clauses_on_three_variables_leave_no_way_back() -> None:
    decision = decide(belief_from(UNSATISFIABLE))
    assert not decision.safe
    assert (decision.worlds, decision.open_worlds, decision.world) == (8, 0, None)
    assert decision.path == ()
    assert decision.probability == 0.0


def test_any_seven_of_them_leave_exactly_one_world_open() -> None:
    for left_out in range(8):
        clauses = UNSATISFIABLE.clauses[:left_out] + UNSATISFIABLE.clauses[left_out + 1 :]
        decision = decide(belief_from(Formula("seven", 3, clauses)))
        assert (decision.open_worlds, decision.probability) == (1, 1 / 8)


def test_the_open_worlds_are_the_satisfying_assignments() -> None:
    for formula in small_formulas():
        count = sum(satisfies(assignment(formula, i), formula) for i in range(16))
        assert decide(belief_from(formula)).open_worlds == count


def test_the_world_found_satisfies_the_formula() -> None:
    for formula in small_formulas():
        decision = decide(belief_from(formula))
        assert decision.world is not None
        assert satisfies(assignment(formula, decision.world), formula)


def test_no_path_is_likelier_than_the_one_found() -> None:
    for formula in small_formulas():
        chances = [
            0.0 if any(-k in pick for k in pick) else 0.5 ** len(set(pick))
            for pick in product(*formula.clauses)
        ]
        assert decide(belief_from(formula)).probability == max(chances)


def test_the_return_policy_gets_home_with_exactly_the_probability_given() -> None:
    for formula in small_formulas()[::3]:
        belief = belief_from(formula)
        decision = decide(belief)
        home = np.array([HOME])
        exact = np.mean(
            [
                exact_return(dense_transitions(w), return_policy(decision, belief), home)[START]
                for w in belief.worlds
            ]
        )
        assert decision.probability == pytest.approx(exact, abs=1e-12)


def test_going_to_s_and_waiting_there_is_as_safe_as_the_way_back() -> None:
    belief = belief_from(SATISFIABLE)
    decision = decide(belief)
    out = np.full(belief.worlds[0].states, STAY, np.int32)
    out[HOME] = 0
    safety = 0.0
    for world in belief.worlds:
        transitions = dense_transitions(world)
        way_home = exact_return(transitions, return_policy(decision, belief), np.array([HOME]))
        safety += exact_recall(transitions, out, way_home, 0.99)[HOME] / len(belief.worlds)
    assert safety == pytest.approx(0.01 + 0.99 * decision.probability, abs=1e-12)


def test_the_path_runs_from_s_through_every_clause_to_d() -> None:
    path = decide(belief_from(SATISFIABLE)).path
    assert (path[0], path[-1]) == (START, HOME)
    assert [(state - 2) // 3 for state in path[1:-1]] == [0, 1, 2]


def test_a_path_takes_one_road_where_each_is_open_in_another_world() -> None:
    dest = np.array([[1, 1], [1, 1]])
    worlds = [Moves(dest, np.array([first, [1.0, 1.0]])) for first in ([1.0, 0.0], [0.0, 1.0])]
    decision = decide(FiniteBelief(worlds))
    assert (decision.open_worlds, decision.probability) == (2, 0.5)


def test_worlds_that_are_not_move_or_stay_are_refused() -> None:
    with pytest.raises(InvalidBeliefError, match="move-or-stay"):
        decide(known_odds().belief)


def test_worlds_of_weight_zero_are_counted_but_lend_no_chance() -> None:
    belief = belief_from(SATISFIABLE)
    only = np.zeros(8)
    only[decide(belief).world] = 1.0
    assert decide(FiniteBelief(belief.worlds, only)).probability == 1.0


def test_the_belief_and_a_sat_solver_agree_on_random_formulas() -> None:
    pytest.importorskip("pysat")
    found = list(try_formulas(30, np.random.default_rng(1), 7))
    assert all(ours == solver for _, ours, solver in found)
    assert 5 <= sum(solver for *_, solver in found) <= 25


def test_sizes_are_drawn_from_six_to_eleven_unless_given() -> None:
    pytest.importorskip("pysat")
    trials = list(try_formulas(8, np.random.default_rng(2)))
    sizes = {formula.variables for formula, *_ in trials}
    assert sizes <= set(range(6, 12))
    assert len(sizes) > 1
    assert all(len(f.clauses) == round(4.26 * f.variables) for f, *_ in trials)


def test_the_solver_tells_yes_from_no() -> None:
    pytest.importorskip("pysat")
    assert ask_solver(SATISFIABLE)
    assert not ask_solver(UNSATISFIABLE)


def test_a_missing_solver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'homeward\[sat\]'"):
        ask_solver(SATISFIABLE)
