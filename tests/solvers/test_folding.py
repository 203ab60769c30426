from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.conftest import EXTREME, dense, general_models, tables

from homeward.models import Moves, SparseMDP
from homeward.solvers import folding
from homeward.solvers.folding import fold, missing_mass, solve_folded

if TYPE_CHECKING:
    from collections.abc import Callable

    from homeward.arrays import FloatArray


def test_a_self_loop_is_folded_into_the_chance_to_leave() -> None:
    folded = fold(SparseMDP.from_dense([[[0.25, 0.5]], [[0.0, 1.0]]]), 1.0)
    assert folded.leave.tolist() == [[0.75], [0.0]]
    assert folded.onward.toarray().tolist() == [[0.0, 0.5], [0.0, 0.0]]


def test_discounting_is_one_more_way_to_leave() -> None:
    folded = fold(SparseMDP.from_dense([[[0.5, 0.5]], [[0.0, 1.0]]]), 0.5)
    assert folded.leave.tolist() == [[0.75], [0.5]]
    assert folded.onward.toarray()[0].tolist() == [0.0, 0.25]


@pytest.mark.parametrize("success", [1e-12, 3e-13, 1e-9])
def test_a_rare_success_keeps_all_its_digits(success: float) -> None:
    model = Moves(np.array([[1], [1]]), np.array([[success], [0.0]])).sparse()
    assert fold(model, 1.0).leave[0, 0] == pytest.approx(success, rel=1e-14, abs=0)


def lacking(row: list[float]) -> Fraction:
    """Give what a row lacks to one, exactly."""
    return max(Fraction(0), 1 - sum(map(Fraction, row), Fraction(0)))


@pytest.mark.parametrize(
    "row",
    [
        [0.5],
        [1.0, 2.0**-60],
        [1.0 - 2.0**-53, 2.0**-54],
        [1.0 - 3e-12 - 3e-12, 3e-12, 3e-12],
        [1 / 3, 1 / 3, 1 / 3],
        [0.1] * 10,
        [0.0, 0.0],
    ],
)
def test_missing_mass_is_never_rounded_away(row: list[float]) -> None:
    exact = lacking(row)
    found = missing_mass(csr_array(np.array([row])))[0]
    assert found == pytest.approx(float(exact), rel=1e-3, abs=1e-19)
    assert (found > 0.0) == (exact > 0)


@given(st.lists(EXTREME, min_size=1, max_size=6))
def test_missing_mass_is_what_a_row_lacks_to_one(parts: list[float]) -> None:
    row = [x / max(1.0, sum(parts)) for x in parts]
    found = missing_mass(csr_array(np.array([row])))[0]
    assert found == pytest.approx(float(lacking(row)), rel=1e-12, abs=1e-18)


def test_a_row_without_entries_lacks_all_of_it() -> None:
    assert missing_mass(csr_array((3, 2))).tolist() == [1.0, 1.0, 1.0]
    rows = csr_array(np.array([[0.0, 0.0], [0.25, 0.5], [0.0, 0.0]]))
    assert missing_mass(rows).tolist() == [1.0, 0.25, 1.0]


def test_a_row_that_passes_one_by_rounding_lacks_nothing() -> None:
    assert missing_mass(csr_array(np.array([[1.0, 1e-12]]))).tolist() == [0.0]


@pytest.mark.parametrize("rare", [1e-12, 1e-14, 2.0**-52])
def test_a_rare_end_beside_staying_is_all_that_leaves(rare: float) -> None:
    leave = fold(SparseMDP.from_dense([[[1.0 - rare]]]), 1.0).leave[0, 0]
    assert leave == float(1 - Fraction(1.0 - rare))


def test_mass_that_is_missing_on_purpose_leaves() -> None:
    assert fold(SparseMDP.from_dense([[[0.5]]]), 1.0).leave[0, 0] == 0.5


def test_an_action_that_only_loops_is_worth_no_more_than_giving_up() -> None:
    folded = fold(SparseMDP.from_dense([[[1.0, 0.0]], [[0.0, 1.0]]]), 1.0)
    assert folded.q(np.zeros((2, 1)), np.ones(2)).tolist() == [[-np.inf], [-np.inf]]


def test_the_rows_of_some_states_are_those_of_their_policy() -> None:
    cube = np.zeros((2, 2, 2))
    cube[0, 0, 1], cube[0, 1, 1], cube[1, 0, 0], cube[1, 1, 0] = 0.1, 0.2, 0.3, 0.4
    folded = fold(SparseMDP.from_dense(cube), 0.5)
    onward, leave = folded.rows(np.array([1], np.int32), np.array([0, 1], np.int32))
    assert onward.toarray().tolist() == [[0.2, 0.0]]
    assert leave.tolist() == [1.0]


@given(general_models(), st.sampled_from([0.1, 0.9, 0.99]), st.data())
def test_the_folded_value_is_the_fixed_point_of_repeating_an_action(
    model: SparseMDP, discount: float, data: st.DataObject
) -> None:
    reward = data.draw(tables(st.floats(-2.0, 2.0), model.states, model.actions))
    value = data.draw(tables(st.floats(-2.0, 2.0), model.states))
    q = fold(model, discount).q(reward, value)
    rows = dense(model)
    for s in range(model.states):
        for a in range(model.actions):
            here = value.copy()
            here[s] = q[s, a]  # as long as it stays, it is worth what repeating is worth
            assert q[s, a] == pytest.approx(reward[s, a] + discount * rows[s, a] @ here, abs=1e-9)


def test_folding_leaves_the_model_as_it_was() -> None:
    model = SparseMDP.from_dense([[[0.5, 0.5]], [[0.0, 1.0]]])
    before = model.transitions.toarray()
    fold(model, 0.5)
    assert (model.transitions.toarray() == before).all()


@st.composite
def systems(draw: Callable[..., Any]) -> tuple[csr_array, FloatArray, FloatArray]:
    """Draw a strictly dominant system (onward, leave) and right-hand sides."""
    states, columns = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    onward = draw(tables(st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.0]), states, states))
    np.fill_diagonal(onward, 0.0)
    leave = onward.sum(axis=1) + draw(tables(st.floats(0.05, 2.0), states))
    return csr_array(onward), leave, draw(tables(st.floats(-5.0, 5.0), states, columns))


WAYS = {"dense": (150, 1500, 10.0), "lu": (0, 1500, 10.0), "iterated": (0, 0, -1.0)}


def by_way(way: str) -> Any:
    """Let systems of any size be solved in one way."""
    dense, iterate, narrow = WAYS[way]
    return patch.multiple(
        folding, MAX_DENSE_STATES=dense, MIN_GMRES_STATES=iterate, MAX_LU_BANDWIDTH=narrow
    )


@pytest.mark.parametrize("way", WAYS)
@given(system=systems())
def test_every_way_to_solve_gives_the_same_answer(way: str, system: Any) -> None:
    onward, leave, gain = system
    expected = np.linalg.solve(np.diag(leave) - onward.toarray(), gain)
    with by_way(way):
        found = solve_folded(onward, leave, gain)
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-10 * np.abs(expected).max())


def line(states: int) -> tuple[csr_array, FloatArray]:
    """Make a way of many steps, which no few products with its matrix can see to its end."""
    onward = csr_array(np.eye(states, k=1))
    return onward, np.ones(states)


def test_a_long_way_is_left_to_lu() -> None:
    onward, leave = line(600)
    gain = np.zeros((600, 1))
    gain[-1] = 1.0
    with by_way("iterated"):
        found = solve_folded(onward, leave, gain)
    assert found is not None
    assert found[:, 0].tolist() == [1.0] * 600


@pytest.mark.parametrize(("side", "along"), [(30, 30), (4, 500)])
def test_a_map_is_narrow_in_whatever_order_its_cells_come(side: int, along: int) -> None:
    cell = np.arange(side * along).reshape(side, along)
    pairs = [(cell[:-1], cell[1:]), (cell[:, :-1], cell[:, 1:])]
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()]) for a, b in pairs], axis=1)
    shuffled = np.random.default_rng(0).permutation(side * along)[edges]
    graph = csr_array((np.ones(edges.shape[1]), shuffled), shape=(cell.size, cell.size))
    assert folding._bandwidth(graph) <= 2 * side


def test_a_random_graph_is_wide_and_is_not_left_to_lu() -> None:
    rng = np.random.default_rng(0)
    onward = csr_array((np.ones(20_000), rng.integers(0, 5000, (2, 20_000))), shape=(5000, 5000))
    onward.sum_duplicates()
    assert folding._bandwidth(onward) > folding.MAX_LU_BANDWIDTH * np.sqrt(5000)
    with patch.object(folding, "splu", side_effect=AssertionError):
        assert solve_folded(onward, onward.sum(axis=1) + 1.0, np.ones((5000, 1))) is not None


@pytest.mark.parametrize("way", ["dense", "lu"])
def test_a_singular_system_has_no_answer(way: str) -> None:
    loop = csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    with by_way(way):
        assert solve_folded(loop, np.ones(2), np.array([[1.0], [0.0]])) is None


@pytest.mark.parametrize("states", [149, 151, 1499, 1700])
def test_a_large_well_mixed_model_is_solved_to_rounding(states: int) -> None:
    rng = np.random.default_rng(states)
    entries = (rng.random(4 * states), rng.integers(0, states, (2, 4 * states)))
    onward = csr_array(entries, shape=(states, states))
    onward.sum_duplicates()
    leave = onward.sum(axis=1) + 0.1
    gain = rng.random((states, 2))
    found = solve_folded(onward, leave, gain)
    assert found is not None
    rest = gain - leave[:, None] * found + onward @ found
    assert np.abs(rest / leave[:, None]).max() <= 1e-14 * np.abs(found).max()
