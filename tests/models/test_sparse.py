from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array

from homeward.errors import InvalidModelError
from homeward.models import SparseMDP

CAMP: dict[str, dict[str, dict[str, float] | str]] = {
    "camp": {"walk": {"hut": 0.9, "camp": 0.1}, "wait": "camp"},
    "hut": {"walk": "camp", "jump": {"camp": 0.5}},
    "pit": {},
}


def refused(match: str, *args: Any, **options: Any) -> None:
    with pytest.raises(InvalidModelError, match=match):
        SparseMDP(*args, **options)


def test_it_tells_how_many_states_and_actions_it_has() -> None:
    model = SparseMDP(csr_array(np.ones((6, 2)) / 2))
    assert (model.states, model.actions) == (2, 3)


def test_a_row_that_sums_to_a_little_more_than_one_is_normalised() -> None:
    rng = np.random.default_rng(0)
    given = csr_array(rng.dirichlet(np.ones(300), 300) * (1.0 + 9e-10))
    before = given.data.copy()
    model = SparseMDP(given)
    sums = [math.fsum(model.row(s, 0)) for s in range(300)]
    assert max(sums) <= 1.0 + 2.0**-52
    assert min(sums) >= 1.0 - 2.0**-52
    assert (given.data == before).all()
    again = SparseMDP(model.transitions)
    assert (again.transitions.data == model.transitions.data).all()


def test_its_sparse_view_is_itself() -> None:
    model = SparseMDP(csr_array(np.eye(2)))
    assert model.sparse() is model


def test_dense_and_sparse_transitions_make_the_same_model() -> None:
    cube = np.random.default_rng(0).dirichlet(np.ones(3), (3, 2))
    model = SparseMDP.from_dense(cube, np.arange(6.0).reshape(3, 2))
    assert [[model.row(s, a).tolist() for a in range(2)] for s in range(3)] == cube.tolist()
    assert model.reward.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


@pytest.mark.parametrize("form", [csr_array, csc_array, coo_array, np.asarray])
def test_any_form_of_matrix_will_do(form: Any) -> None:
    assert SparseMDP(form(np.eye(2))).row(1, 0).tolist() == [0.0, 1.0]


def test_entries_that_are_given_twice_add_up() -> None:
    twice = csr_array(
        (np.array([0.5, 0.25, 1.0]), np.array([1, 1, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    assert SparseMDP(twice).row(0, 0).tolist() == [0.0, 0.75]


def test_entries_that_add_up_above_one_are_refused() -> None:
    twice = csr_array(
        (np.array([0.5, 0.75, 1.0]), np.array([1, 1, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    refused(r"row \(s=0, a=0\) of the transitions sums to 1\.25", twice)


def test_leaving_counts_ending_as_leaving() -> None:
    assert SparseMDP.from_dense([[[0.25, 0.5]], [[0.0, 1.0]]]).leaving(0).tolist() == [0.75]


def test_a_row_above_one_is_refused_by_name() -> None:
    cube = np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.6, 0.6]]])
    with pytest.raises(InvalidModelError, match=r"row \(s=1, a=1\) of the transitions sums to 1.2"):
        SparseMDP.from_dense(cube)


def test_a_row_above_one_by_rounding_is_let_pass() -> None:
    assert SparseMDP.from_dense([[[1.0 + 1e-12]]]).states == 1


def test_a_dense_model_takes_names_like_a_sparse_one() -> None:
    cube = [[[0.0, 1.0]], [[1.0, 0.0]]]
    model = SparseMDP.from_dense(cube, state_names=["hut", "camp"], action_names=("walk",))
    assert (model.state_name(1), model.action_name(0)) == ("camp", "walk")
    with pytest.raises(InvalidModelError, match="1 state names for 2 states"):
        SparseMDP.from_dense(cube, state_names=["hut"])


def test_a_row_below_one_is_let_pass() -> None:
    assert SparseMDP.from_dense([[[0.4]]]).row(0, 0).tolist() == [0.4]


@pytest.mark.parametrize(("wrong", "said"), [(-0.25, "-0.25"), (1.5, "1.5"), (np.nan, "nan")])
def test_a_transition_that_is_no_probability_is_refused_with_its_place(
    wrong: float, said: str
) -> None:
    cube = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, wrong], [1.0, 0.0]]])
    with pytest.raises(InvalidModelError, match=rf"\(s=1, a=0, t=1\) is {said}, not a probability"):
        SparseMDP.from_dense(cube)


@pytest.mark.parametrize("shape", [(3, 2), (0, 2), (1, 2)])
def test_rows_that_do_not_divide_among_the_states_are_refused(shape: tuple[int, int]) -> None:
    refused(r"the transitions have shape \(\d, 2\); expected \[S·A, S\]", csr_array(shape))


@pytest.mark.parametrize("shape", [(2, 2), (2, 1, 3), (2,)])
def test_a_dense_array_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidModelError, match=r"have shape .*, expected \[S, A, S\]"):
        SparseMDP.from_dense(np.zeros(shape))


def test_a_reward_of_plus_infinity_is_refused_with_its_place() -> None:
    refused(r"the reward \(s=1, a=0\) is \+inf", csr_array(np.eye(2)), [[0.0], [np.inf]])


def test_a_reward_that_is_nan_is_refused_with_its_place() -> None:
    refused(r"the reward is NaN at \(1, 0\)", csr_array(np.eye(2)), [[0.0], [np.nan]])


def test_a_reward_of_another_shape_is_refused() -> None:
    refused(r"the reward has shape \(2,\), expected \(2, 1\)", csr_array(np.eye(2)), [0.0, 0.0])


def test_a_state_without_any_action_is_refused_by_number() -> None:
    refused("state s=1 has no action", csr_array(np.eye(2)), [[0.0], [-np.inf]])


def test_a_wrong_number_of_names_is_refused() -> None:
    refused("1 state names for 2 states", csr_array(np.eye(2)), state_names=("camp",))
    refused("2 action names for 1 actions", csr_array(np.eye(2)), action_names=("a", "b"))


def test_names_are_numbered_in_the_order_in_which_they_are_first_met() -> None:
    model = SparseMDP.from_names(CAMP)
    assert model.state_names == ("camp", "hut", "pit")
    assert model.action_names == ("walk", "wait", "jump")


def test_a_bare_name_is_a_sure_transition() -> None:
    assert SparseMDP.from_names(CAMP).row(1, 0).tolist() == [1.0, 0.0, 0.0]


def test_an_action_that_a_state_does_not_list_can_not_be_chosen_there() -> None:
    closed = -np.inf
    assert SparseMDP.from_names(CAMP).reward.tolist() == [
        [0.0, 0.0, closed],
        [0.0, closed, 0.0],
        [0.0, closed, closed],
    ]


def test_a_state_that_lists_no_action_is_a_sink() -> None:
    assert SparseMDP.from_names(CAMP).row(2, 0).tolist() == [0.0, 0.0, 1.0]


def test_rewards_are_given_by_name() -> None:
    model = SparseMDP.from_names(CAMP, {("hut", "jump"): 2.5})
    assert model.reward[1, 2] == 2.5


def test_a_name_that_leads_nowhere_is_refused_by_name() -> None:
    with pytest.raises(InvalidModelError, match="'walk' in state 'camp' leads to 'lake', which is"):
        SparseMDP.from_names({"camp": {"walk": "lake"}})


@pytest.mark.parametrize("outcome", [None, 3, ["camp"], {"camp": None}])
def test_what_leads_nowhere_is_refused_by_name(outcome: Any) -> None:
    with pytest.raises(InvalidModelError, match=r"'camp'.* (None|3|\['camp'\]), expected"):
        SparseMDP.from_names({"camp": {"walk": outcome}})


@pytest.mark.parametrize("key", [("lake", "walk"), ("camp", "swim")])
def test_a_reward_for_what_is_not_there_is_refused_by_name(key: tuple[str, str]) -> None:
    with pytest.raises(InvalidModelError, match=f"{key[0]!r}, {key[1]!r}.*not in the rows"):
        SparseMDP.from_names(CAMP, {key: 1.0})


@pytest.mark.parametrize("rows", [{}, {"camp": {}}])
def test_a_model_without_states_or_actions_is_refused(rows: Any) -> None:
    with pytest.raises(InvalidModelError, match="at least one state and one action"):
        SparseMDP.from_names(rows)


def test_named_probabilities_above_one_are_refused() -> None:
    with pytest.raises(InvalidModelError, match=r"row \(s=0, a=0\) .* sums to 1.4"):
        SparseMDP.from_names({"camp": {"go": {"camp": 0.7, "hut": 0.7}}, "hut": {"go": "hut"}})


def test_its_reward_is_read_only() -> None:
    assert not SparseMDP(csr_array(np.eye(2)), np.zeros((2, 1))).reward.flags.writeable


def test_a_matrix_out_of_order_is_not_sorted_in_the_callers_hands() -> None:
    given = csr_array(
        (np.array([0.25, 0.75, 1.0]), np.array([1, 0, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    model = SparseMDP(given)
    assert given.indices.tolist() == [1, 0, 1]
    assert given.data.tolist() == [0.25, 0.75, 1.0]
    assert model.row(0, 0).tolist() == [0.75, 0.25]


def test_a_matrix_with_repeats_is_not_summed_in_the_callers_hands() -> None:
    given = csr_array(
        (np.array([0.5, 0.25, 1.0]), np.array([1, 1, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    SparseMDP(given)
    assert given.nnz == 3


def test_a_negative_entry_is_refused_even_where_another_makes_up_for_it() -> None:
    pair = csr_array(
        (np.array([1.0, -0.5, 1.0]), np.array([1, 1, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    refused(r"transition \(s=0, a=0, t=1\) is -0\.5, not a probability", pair)


def test_what_is_changed_afterwards_in_what_was_handed_in_changes_nothing() -> None:
    given = csr_array(np.eye(2))
    model = SparseMDP(given)
    given.data[0] = 5.0
    assert model.transitions.toarray().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(ValueError, match="read-only"):
        model.transitions.data[0] = 0.5


def parts(matrix: csr_array) -> tuple[Any, Any, Any]:
    return matrix.data, matrix.indices, matrix.indptr


def test_what_the_caller_writes_later_does_not_change_the_model() -> None:
    given, reward = csr_array(np.array([[0.25, 0.75], [0.0, 1.0]])), np.zeros((2, 1))
    model = SparseMDP(given, reward)
    given.data[:] = 0.5
    given.indices[:] = 0
    given.indptr[:] = 0
    reward[:] = 7.0
    assert model.transitions.toarray().tolist() == [[0.25, 0.75], [0.0, 1.0]]
    assert not model.reward.any()


def test_the_parts_that_a_matrix_was_made_of_can_be_written_to() -> None:
    data, where, begin = np.array([1.0, 1.0]), np.array([1, 0]), np.array([0, 1, 2])
    model = SparseMDP(csr_array((data, where, begin), shape=(2, 2)))
    data[:], where[:], begin[1] = 0.0, 0, 2
    assert model.transitions.toarray().tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_a_dense_array_that_is_written_to_later_does_not_change_the_model() -> None:
    cube, flat = np.array([[[0.25, 0.75]], [[0.0, 1.0]]]), np.array([[0.25, 0.75], [0.0, 1.0]])
    made = SparseMDP.from_dense(cube), SparseMDP(flat)
    cube[:], flat[:] = 0.0, 0.0
    for model in made:
        assert model.transitions.toarray().tolist() == [[0.25, 0.75], [0.0, 1.0]]


def test_its_arrays_are_read_only() -> None:
    for model in (SparseMDP(csr_array(np.eye(2))), SparseMDP.from_names(CAMP)):
        for array in (*parts(model.transitions), model.reward):
            assert not array.flags.writeable


def test_the_callers_matrix_stays_writeable() -> None:
    given = csr_array(np.eye(2))
    SparseMDP(given)
    assert all(part.flags.writeable for part in parts(given))


def test_rewards_that_are_not_given_take_no_memory() -> None:
    assert SparseMDP(csr_array(np.eye(2))).reward.strides == (0, 0)


def test_a_row_keeps_all_of_its_digits() -> None:
    rare = 3e-17
    model = SparseMDP.from_dense([[[1.0, rare]], [[0.0, 1.0]]])
    assert model.row(0, 0).tolist() == [1.0, rare]
    assert model.leaving(0).tolist() == [0.0]


@pytest.mark.parametrize("rows", [3, ["camp"], {"camp": ["walk"]}, {"camp": "walk"}])
def test_names_that_are_no_mapping_are_refused(rows: Any) -> None:
    with pytest.raises(InvalidModelError, match="expected a mapping of states to mappings"):
        SparseMDP.from_names(rows)


@pytest.mark.parametrize("wrong", ["0.5", None, True, float("nan")])
def test_a_named_probability_that_is_no_number_is_refused_by_name(wrong: Any) -> None:
    with pytest.raises(InvalidModelError, match="the probability of 'camp' to 'camp' is"):
        SparseMDP.from_names({"camp": {"walk": {"camp": wrong}}})


@pytest.mark.parametrize("wrong", ["much", None, True, float("nan")])
def test_a_named_reward_that_is_no_number_is_refused_by_name(wrong: Any) -> None:
    with pytest.raises(InvalidModelError, match=r"the reward of \('camp', 'walk'\) is"):
        SparseMDP.from_names(CAMP, {("camp", "walk"): wrong})


@pytest.mark.parametrize("wrong", ["word", None, object()])
def test_what_is_no_matrix_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidModelError, match="the transitions"):
        SparseMDP(wrong)
