from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.conftest import EXTREME, dense, models, move_graphs, tables

from homeward.errors import InvalidProblemError
from homeward.models import Moves, SparseMDP
from homeward.solvers import GIVE_UP, Status, return_value, solve_return

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Model

COSTS = st.one_of(st.just(0.0), st.floats(0.0, 0.3))


def corrections(data: st.DataObject, model: Model) -> FloatArray:
    """Draw σ ≤ 0 [S, A]."""
    return -np.asarray(data.draw(tables(COSTS, model.states, model.actions)))


def homes(data: st.DataObject, model: Model) -> IntArray:
    """Draw one or more states that count as home."""
    drawn = data.draw(st.sets(st.integers(0, model.states - 1), min_size=1))
    return np.array(sorted(drawn), np.int32)


def three_forms(model: Moves) -> list[Model]:
    """Write one model as moves, as their sparse view and as a dense array."""
    return [model, model.sparse(), SparseMDP.from_dense(dense(model), model.reward)]


@given(move_graphs(EXTREME), st.data())
def test_moves_and_their_sparse_view_have_the_same_way_home(
    model: Moves, data: st.DataObject
) -> None:
    correction, home = corrections(data, model), homes(data, model)
    by_graph = solve_return(model, correction, home)
    by_rows = solve_return(model.sparse(), correction, home)
    assert by_graph.value == pytest.approx(by_rows.value, abs=1e-10)


@given(models(), st.data())
def test_the_value_is_a_probability_and_one_at_home(model: Model, data: st.DataObject) -> None:
    home = homes(data, model)
    found = solve_return(model, corrections(data, model), home)
    assert ((found.value >= 0.0) & (found.value <= 1.0)).all()
    assert (found.value[home] == 1.0).all()
    assert (found.policy[home] == GIVE_UP).all()
    assert found.status is Status.OPTIMAL


@given(models(), st.data())
def test_no_action_beats_the_value(model: Model, data: st.DataObject) -> None:
    correction, home = corrections(data, model), homes(data, model)
    value = solve_return(model, correction, home).value
    q = np.where(np.isfinite(model.reward), correction + dense(model) @ value, -np.inf)
    away = np.setdiff1d(np.arange(model.states), home)
    assert (q.max(axis=1)[away] <= value[away] + 1e-11).all()


@given(models(), st.data())
def test_the_value_is_that_of_the_policy(model: Model, data: st.DataObject) -> None:
    correction, home = corrections(data, model), homes(data, model)
    found = solve_return(model, correction, home)
    active = np.flatnonzero(found.policy != GIVE_UP)
    value = np.zeros(model.states)
    value[home] = 1.0
    rows = dense(model)[active, found.policy[active]]
    gain = correction[active, found.policy[active]] + rows @ value
    value[active] = np.linalg.solve(np.eye(len(active)) - rows[:, active], gain)
    assert found.value == pytest.approx(np.maximum(value, 0.0), abs=1e-9)


@given(models(), st.data())
def test_a_search_from_a_similar_solution_finds_the_same_value(
    model: Model, data: st.DataObject
) -> None:
    model, home = model.sparse(), homes(data, model)
    start = solve_return(model, corrections(data, model), home).policy
    correction = corrections(data, model)
    cold, warm = (solve_return(model, correction, home, first) for first in (None, start))
    assert warm.value == pytest.approx(cold.value, abs=1e-8)
    assert (return_value(model, correction, home, warm.policy) == warm.value).all()


@given(models(), st.data())
def test_a_return_policy_takes_only_actions_that_can_be_chosen(
    model: Model, data: st.DataObject
) -> None:
    found = solve_return(model, corrections(data, model), homes(data, model))
    for s in np.flatnonzero(found.policy != GIVE_UP):
        assert np.isfinite(model.reward[s, found.policy[s]])


@given(models(), st.data())
def test_a_larger_correction_never_helps(model: Model, data: st.DataObject) -> None:
    correction, home = corrections(data, model), homes(data, model)
    light, heavy = (solve_return(model, f * correction, home).value for f in (1.0, 2.0))
    assert (heavy <= light + 1e-11).all()


@given(models(), st.data())
def test_another_home_never_hurts(model: Model, data: st.DataObject) -> None:
    correction, home = corrections(data, model), homes(data, model)
    more = np.union1d(home, [data.draw(st.integers(0, model.states - 1))]).astype(np.int32)
    fewer_value, more_value = (solve_return(model, correction, h).value for h in (home, more))
    assert (fewer_value <= more_value + 1e-11).all()


@given(move_graphs())
def test_without_corrections_home_is_reached_or_it_is_not(model: Moves) -> None:
    nothing = np.zeros((model.states, model.actions))
    value = solve_return(model, nothing, np.zeros(1, np.int32)).value
    assert set(value) <= {0.0, 1.0}


# A line home ← ridge ← peak. The move from the ridge works half the time and costs ⅛ a try, so
# that trying until it works costs ¼; the one from the peak is sure and costs ½ once. There is a
# second way from the peak straight home: it works once in four and costs 1/16 a try, again ¼.
LINE = Moves(np.array([[0, 0], [0, 1], [1, 0]]), np.array([[1.0, 1.0], [0.5, 1.0], [1.0, 0.25]]))
LINE_CORRECTION = np.array([[0.0, 0.0], [-0.125, 0.0], [-0.5, -0.0625]])


@pytest.mark.parametrize("form", range(3))
def test_the_line_is_solved_by_hand_in_every_form(form: int) -> None:
    found = solve_return(three_forms(LINE)[form], LINE_CORRECTION, np.zeros(1, np.int32))
    assert found.value == pytest.approx([1.0, 0.75, 0.75], abs=1e-14)
    assert found.policy.tolist() == [GIVE_UP, 0, 1]
    assert found.status is Status.OPTIMAL


@pytest.mark.parametrize("form", range(3))
def test_the_line_is_solved_by_hand_from_two_homes(form: int) -> None:
    found = solve_return(three_forms(LINE)[form], LINE_CORRECTION, np.array([0, 1], np.int32))
    assert found.value == pytest.approx([1.0, 1.0, 0.75], abs=1e-14)


@pytest.mark.parametrize("form", range(3))
def test_a_way_that_costs_more_than_it_is_worth_is_given_up(form: int) -> None:
    found = solve_return(three_forms(LINE)[form], 8.0 * LINE_CORRECTION, np.zeros(1, np.int32))
    assert found.value.tolist() == [1.0, 0.0, 0.0]
    assert found.policy.tolist() == [GIVE_UP, GIVE_UP, GIVE_UP]


@pytest.mark.parametrize("form", range(3))
def test_an_action_that_can_not_be_chosen_is_no_way_home(form: int) -> None:
    closed = Moves(LINE.dest, LINE.success, np.array([[0.0, 0.0], [0.0, 0.0], [0.0, -np.inf]]))
    found = solve_return(three_forms(closed)[form], LINE_CORRECTION, np.zeros(1, np.int32))
    assert found.value == pytest.approx([1.0, 0.75, 0.25], abs=1e-13)


@pytest.mark.parametrize("form", range(3))
@pytest.mark.parametrize("success", [1e-12, 1.0 - 1e-12])
def test_an_extreme_success_costs_its_correction_over_itself(success: float, form: int) -> None:
    model = Moves(np.array([[0], [0]]), np.array([[1.0], [success]]))
    correction = np.array([[0.0], [-success / 4]])
    found = solve_return(three_forms(model)[form], correction, np.zeros(1, np.int32))
    # A dense row can't hold 1e-12 beside 1 − 1e-12 to more than four digits.
    assert found.value[1] == pytest.approx(0.75, abs=1e-14 if form < 2 else 1e-4)


def test_a_row_that_may_end_does_not_come_home_for_sure() -> None:
    # ½ home, ¼ stays, ¼ ends: ⅔ of what leaves comes home.
    model = SparseMDP.from_dense([[[1.0, 0.0]], [[0.5, 0.25]]])
    found = solve_return(model, np.zeros((2, 1)), np.zeros(1, np.int32))
    assert found.value[1] == pytest.approx(2 / 3, abs=1e-14)
    assert found.value[1] <= 2 / 3


def exactly_home(rows: list[list[float]]) -> Fraction:
    """Give the exact probability to reach state 0 from state 1, where others only stay."""
    back, stay, *others = (Fraction(x) for x in rows[1])
    leaves = max(1 - stay, back + sum(others))
    return back / leaves


@pytest.mark.parametrize(
    "rare",
    [
        5e-15,
        1e-13,
        1e-10,
    ],
)
def test_an_end_as_rare_as_the_way_home_is_not_rounded_away(rare: float) -> None:
    # Home or the end, each once in a long while: about one in two comes home.
    rows = [[1.0, 0.0], [rare, 1.0 - 2.0 * rare]]
    found = solve_return(
        SparseMDP.from_dense([[row] for row in rows]), np.zeros((2, 1)), np.zeros(1, np.int32)
    )
    exact = exactly_home(rows)
    assert Fraction(found.value[1]) <= exact
    assert found.value[1] == pytest.approx(float(exact), rel=1e-6)


@settings(phases=[Phase.generate])
@given(st.integers(1, 4), st.floats(-15.0, -1.0), st.data())
def test_what_never_comes_home_is_never_taken_for_coming_home(
    others: int, size: float, data: st.DataObject
) -> None:
    parts = data.draw(tables(st.floats(0.1, 1.0), 1 + others)) * 10.0**size
    end = data.draw(st.floats(0.0, 1.0)) * 10.0**size
    row = [parts[0], 1.0 - parts.sum() - end, *parts[1:]]
    dense_rows = np.eye(2 + others)[:, None]
    dense_rows[1, 0] = row
    model = SparseMDP.from_dense(dense_rows)
    found = solve_return(model, np.zeros((2 + others, 1)), np.zeros(1, np.int32))
    exact = exactly_home([[], row])
    assert Fraction(found.value[1]) <= exact
    assert found.value[1] == pytest.approx(float(exact), rel=1e-6)


def test_a_loop_that_never_comes_home_is_worth_nothing() -> None:
    model = SparseMDP.from_dense([[[1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]], [[0.0, 1.0, 0.0]]])
    found = solve_return(model, np.zeros((3, 1)), np.zeros(1, np.int32))
    assert found.value.tolist() == [1.0, 0.0, 0.0]
    assert found.status is Status.OPTIMAL


def test_what_is_handed_in_is_not_written_to() -> None:
    correction, home = LINE_CORRECTION.copy(), np.array([0], np.int32)
    for form in three_forms(LINE):
        solve_return(form, correction, home)
    assert (correction == LINE_CORRECTION).all()
    assert home.tolist() == [0]


def test_a_graph_that_is_asked_again_remembers_its_edges() -> None:
    model = Moves(LINE.dest.copy(), LINE.success)
    home = np.zeros(1, np.int32)
    first = solve_return(model, LINE_CORRECTION, home)
    edges = model.memo["ways"]
    again = solve_return(model.with_success(LINE.success / 2), LINE_CORRECTION, home)
    assert model.memo["ways"] is edges
    assert first.value == pytest.approx([1.0, 0.75, 0.75], abs=1e-14)
    assert again.value == pytest.approx([1.0, 0.5, 0.5], abs=1e-14)  # half as sure costs twice


@given(move_graphs(), st.data())
def test_other_successes_on_a_known_graph_are_as_good_as_a_new_one(
    model: Moves, data: st.DataObject
) -> None:
    home, correction = homes(data, model), corrections(data, model)
    solve_return(model, correction, home)
    success = data.draw(tables(EXTREME, model.states, model.actions))
    known, new = model.with_success(success), Moves(model.dest.copy(), success, model.reward)
    one, two = (solve_return(m, correction, home) for m in (known, new))
    assert one.value.tobytes() == two.value.tobytes()
    assert one.policy.tobytes() == two.policy.tobytes()


def refused(match: str, correction: Any, home: Any) -> None:
    for form in three_forms(LINE):
        with pytest.raises(InvalidProblemError, match=match):
            solve_return(form, correction, home)


@pytest.mark.parametrize("wrong", [1e-300, 1.0, 1e308, np.inf, -np.inf])
def test_a_correction_that_is_no_cost_is_refused_with_its_place(wrong: float) -> None:
    correction = LINE_CORRECTION.copy()
    correction[2, 1] = wrong
    refused(
        rf"the correction \(s=2, a=1\) is {wrong:g}, expected at most 0".replace("+", r"\+"),
        correction,
        np.zeros(1, np.int32),
    )


def test_a_correction_that_is_nan_is_refused_with_its_place() -> None:
    correction = LINE_CORRECTION.copy()
    correction[1, 0] = np.nan
    refused(r"the correction \(s=1, a=0\) is nan", correction, np.zeros(1, np.int32))


def test_a_correction_of_another_shape_is_refused() -> None:
    refused(r"the correction has shape \(3,\), expected \(3, 2\)", np.zeros(3), np.zeros(1, int))


@pytest.mark.parametrize("home", [[3], [-1], [0, 3]])
def test_a_home_that_does_not_exist_is_refused(home: list[int]) -> None:
    refused(r"home \(n=\d\) is (3|-1), outside 0\.\.2", LINE_CORRECTION, home)


@pytest.mark.parametrize("home", [np.zeros(0, int), np.zeros((1, 1), int)])
def test_a_home_that_is_no_list_of_states_is_refused(home: Any) -> None:
    refused(r"home has shape .*, expected at least one state \[n\]", LINE_CORRECTION, home)


@pytest.mark.parametrize("form", range(2))
def test_the_largest_correction_is_no_way_home_and_no_trouble(form: int) -> None:
    found = solve_return(three_forms(LINE)[form], 1e300 * LINE_CORRECTION, np.zeros(1, np.int32))
    assert found.value.tolist() == [1.0, 0.0, 0.0]
    assert found.status is Status.OPTIMAL


def test_a_large_model_claims_no_more_than_its_policy_has() -> None:
    # Referee: the policy's own equations, refined until nothing is left of the residual.
    states, rng = 1600, np.random.default_rng(0)
    rows, columns = np.repeat(np.arange(states), 4), rng.integers(0, states, 4 * states)
    shares = 0.999 * rng.dirichlet(np.ones(4), states).ravel()
    model = SparseMDP(csr_array((shares, (rows, columns)), shape=(states, states)))
    found = solve_return(model, np.zeros((states, 1)), np.zeros(1, np.int32))
    walk = model.transitions.toarray().astype(np.longdouble)
    walk[found.policy == GIVE_UP] = 0.0
    side = (np.arange(states) == 0).astype(np.longdouble)
    among = np.eye(states) - walk.astype(float)
    value = np.linalg.solve(among, side.astype(float)).astype(np.longdouble)
    for _ in range(3):
        value += np.linalg.solve(among, (side - value + walk @ value).astype(float))
    assert (found.value <= value).all()
    assert found.value == pytest.approx(value.astype(float), abs=1e-10)


def test_a_long_way_home_takes_few_rounds_on_a_general_model() -> None:
    # A corridor of 400 states: back with 0.9, on with 0.1, so that no state is evaluated alone.
    states = np.arange(400)
    dense_rows = np.zeros((400, 2, 400))
    dense_rows[states, 0, np.maximum(0, states - 1)] += 0.9
    dense_rows[states, 0, np.minimum(399, states + 1)] += 0.1
    dense_rows[states, 1, states] = 1.0
    found = solve_return(SparseMDP.from_dense(dense_rows), np.zeros((400, 2)), np.zeros(1, int))
    assert found.status is Status.OPTIMAL
    assert found.value == pytest.approx(np.ones(400), abs=1e-9)
    assert found.rounds <= 10


def test_a_small_gain_adds_up_where_it_is_repeated() -> None:
    # Between 1 and 2 one goes to and fro; from 2 one in 10¹³ tries leads home. Nothing is lost.
    rare = 1e-13
    rows = [[[1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]], [[rare, 1.0 - rare, 0.0]]]
    found = solve_return(SparseMDP.from_dense(rows), np.zeros((3, 1)), np.zeros(1, int))
    assert found.policy.tolist() == [GIVE_UP, 0, 0]
    assert (found.value <= 1.0).all()
    assert found.value[1:].min() > 0.9 or found.status is not Status.OPTIMAL
