from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import dense, general_models, move_beliefs, tables

from homeward.beliefs import FiniteBelief, Rows, Transition, Visit
from homeward.errors import ImpossibleObservationError, InvalidBeliefError
from homeward.models import Model, Moves, SparseMDP

DEST = np.array([[1, 0], [0, 1]])


def moves(*success: float, reward: Any = None) -> Moves:
    """Make a world of two states whose four moves work with these probabilities."""
    return Moves(DEST, np.array(success).reshape(2, 2), reward)


def two_worlds(weights: Any = None) -> FiniteBelief:
    """Believe that the way out of state 0 always works, or works one time in four."""
    return FiniteBelief([moves(1.0, 1.0, 1.0, 1.0), moves(0.25, 1.0, 1.0, 1.0)], weights)


@st.composite
def general_beliefs(draw: Any) -> FiniteBelief:
    """Draw up to three general worlds that allow the same actions."""
    first = draw(general_models(3, 2))
    others = []
    for _ in range(draw(st.integers(0, 2))):
        parts = draw(tables(st.floats(0.0, 1.0), first.states, first.actions, first.states))
        rows = parts / np.maximum(1.0, parts.sum(axis=2, keepdims=True) * (1 + 1e-12))
        others.append(SparseMDP.from_dense(rows, first.reward))
    worlds = [first, *others]
    return FiniteBelief(worlds, draw(tables(st.floats(0.1, 1.0), len(worlds))))


def refused(match: str, *args: Any, **options: Any) -> None:
    with pytest.raises(InvalidBeliefError, match=match):
        FiniteBelief(*args, **options)


def test_worlds_are_equally_likely_unless_weighed() -> None:
    assert two_worlds().weights.tolist() == [0.5, 0.5]


def test_weights_are_scaled_to_sum_to_one() -> None:
    assert two_worlds([1.0, 3.0]).weights.tolist() == [0.25, 0.75]


def test_a_belief_without_worlds_is_refused() -> None:
    refused("needs at least one world", [])


def test_a_negative_weight_is_refused_by_number() -> None:
    refused("weight 1 is -0.5, expected >= 0", two_worlds().worlds, [1.0, -0.5])


def test_an_infinite_weight_is_refused_by_number() -> None:
    refused("weight 1 is inf", two_worlds().worlds, [1.0, np.inf])


def test_weights_that_are_all_zero_are_refused() -> None:
    refused("the weights sum to 0", two_worlds().worlds, [0.0, 0.0])


def test_a_weight_that_is_nan_is_refused_with_its_place() -> None:
    refused(r"the weights is NaN at \(1,\)", two_worlds().worlds, [1.0, np.nan])


def test_weights_of_another_number_are_refused() -> None:
    refused(r"the weights has shape \(3,\), expected \(2,\)", two_worlds().worlds, [1.0, 1.0, 1.0])


def test_worlds_of_different_kinds_are_refused_by_number() -> None:
    first = moves(1.0, 1.0, 1.0, 1.0)
    refused("world 1 is a SparseMDP, but world 0 is a Moves", [first, first.sparse()])


def test_worlds_of_different_sizes_are_refused_by_number() -> None:
    first = moves(1.0, 1.0, 1.0, 1.0)
    other = Moves(np.zeros((3, 2), int), np.ones((3, 2)))
    refused(
        "world 2 has 3 states and 2 actions, but world 0 has 2 states and 2 actions",
        [first, first, other],
    )


def test_worlds_whose_moves_lead_elsewhere_are_refused_by_number() -> None:
    refused(
        "world 1 and world 0 have different destinations",
        [moves(1.0, 1.0, 1.0, 1.0), Moves(np.array([[1, 1], [0, 1]]), np.ones((2, 2)))],
    )


def test_worlds_that_allow_different_actions_are_refused_by_number() -> None:
    closed = np.array([[0.0, -np.inf], [0.0, 0.0]])
    refused(
        "world 1 and world 0 differ in the actions",
        [moves(1.0, 1.0, 1.0, 1.0), moves(1.0, 1.0, 1.0, 1.0, reward=closed)],
    )


@given(st.one_of(move_beliefs(), general_beliefs()))
def test_the_mean_is_the_weighted_average_of_the_worlds(belief: FiniteBelief) -> None:
    mean = belief.mean()
    expected = np.tensordot(belief.weights, np.stack([dense(w) for w in belief.worlds]), axes=1)
    assert type(mean) is type(belief.worlds[0])
    assert dense(mean) == pytest.approx(expected, abs=1e-14)


def test_the_mean_reward_is_the_weighted_average_and_keeps_what_is_closed() -> None:
    one = moves(1.0, 1.0, 1.0, 1.0, reward=np.array([[1.0, -np.inf], [0.0, 4.0]]))
    two = moves(1.0, 1.0, 1.0, 1.0, reward=np.array([[3.0, -np.inf], [0.0, 0.0]]))
    mean = FiniteBelief([one, two], np.array([0.25, 0.75])).mean()
    assert mean.reward.tolist() == [[2.5, -np.inf], [0.0, 1.0]]


@given(st.one_of(move_beliefs(), general_beliefs()))
def test_the_correction_is_theorem_two_written_out(belief: FiniteBelief) -> None:
    worlds = np.stack([dense(w) for w in belief.worlds])  # [M, S, A, S]
    mean = np.tensordot(belief.weights, worlds, axes=1)
    below = np.minimum(0.0, worlds - mean).sum(axis=3)
    expected = np.tensordot(belief.weights, below, axes=1)
    assert belief.correction() == pytest.approx(expected, abs=1e-13)


@given(move_beliefs(st.sampled_from([0.0, 1.0])), st.sampled_from([0.1, 0.9, 0.999]))
def test_worlds_that_are_sure_of_themselves_get_the_closed_forms(
    belief: FiniteBelief, discount: float
) -> None:
    mean = belief.mean()
    assert isinstance(mean, Moves)
    p = mean.success
    spread = np.where(mean.dest == np.arange(mean.states)[:, None], 0.0, p * (1.0 - p))
    returning, exploring = belief.move_corrections(discount)
    assert returning == pytest.approx(-spread, abs=1e-14)
    assert exploring == pytest.approx(-(2.0 - discount) * spread, abs=1e-14)
    assert belief.correction() == pytest.approx(-2.0 * spread, abs=1e-14)


@given(move_beliefs(), st.sampled_from([0.1, 0.9]))
def test_our_corrections_are_never_larger_than_the_papers(
    belief: FiniteBelief, discount: float
) -> None:
    returning, exploring = belief.move_corrections(discount)
    assert (returning <= 0.0).all()
    assert (exploring <= 0.0).all()
    assert (returning >= belief.correction() - 1e-15).all()
    assert (exploring >= belief.correction() - 1e-15).all()


def test_it_declares_how_likely_a_move_never_works() -> None:
    weights = np.array([0.75, 0.25])
    belief = FiniteBelief([moves(0.0, 0.0, 1.0, 0.5), moves(0.25, 0.0, 0.0, 0.5)], weights)
    # Of state 0 the second move, of state 1 the second one too, lead where one is.
    assert belief.blocked_probability().tolist() == [[0.75, 0.0], [0.25, 0.0]]
    assert not belief.moves_work_or_never


def test_it_declares_that_moves_work_or_never_for_worlds_that_are_possible() -> None:
    sure, chancy = moves(0.0, 0.5, 1.0, 0.5), moves(0.5, 0.5, 1.0, 0.5)  # 0.5: leads nowhere else
    assert FiniteBelief([sure, sure]).moves_work_or_never
    assert FiniteBelief([sure, chancy], np.array([1.0, 0.0])).moves_work_or_never
    assert not FiniteBelief([sure, chancy]).moves_work_or_never


def test_general_worlds_declare_nothing_of_moves() -> None:
    belief = FiniteBelief([moves(1.0, 1.0, 1.0, 1.0).sparse()])
    assert not belief.moves_work_or_never
    with pytest.raises(InvalidBeliefError, match="needs Moves worlds"):
        belief.blocked_probability()


def test_general_worlds_have_no_moves_correction() -> None:
    belief = FiniteBelief([moves(1.0, 1.0, 1.0, 1.0).sparse()])
    with pytest.raises(InvalidBeliefError, match="needs Moves worlds, not SparseMDP"):
        belief.move_corrections(0.9)


def test_rounding_does_not_let_a_world_end_whose_rows_sum_to_one() -> None:
    def world(*row: float) -> SparseMDP:
        return SparseMDP.from_dense(np.array([[row], [(0.0, 1.0, 0.0)], [(0.0, 0.0, 1.0)]]))

    rounded = world(0.7, 0.2, 0.1)
    assert 0.7 + 0.2 + 0.1 < 1.0
    with pytest.raises(ImpossibleObservationError):
        FiniteBelief([rounded]).update(Transition(0, 0, None))
    rarely = world(0.5, 0.5 - 1e-14, 0.0)
    left = FiniteBelief([rounded, rarely]).update(Transition(0, 0, None))
    assert left.worlds == (rarely,)


def test_a_transition_weighs_the_worlds_by_bayes_rule() -> None:
    # Prior ½ and ½; success 1 and ¼. After one success 4 : 1, after two 16 : 1.
    once = two_worlds().update(Transition(0, 0, 1))
    assert once.weights == pytest.approx([4 / 5, 1 / 5], abs=1e-15)
    twice = once.update(Transition(0, 0, 1))
    assert twice.weights == pytest.approx([16 / 17, 1 / 17], abs=1e-15)


def test_a_failure_rules_out_the_world_in_which_it_can_not_happen() -> None:
    after = two_worlds().update(Transition(0, 0, 0))
    assert after.weights.tolist() == [1.0]
    assert len(after.worlds) == 1
    assert after.mean().row(0, 0).tolist() == [0.75, 0.25]


def test_an_end_weighs_the_worlds_by_their_missing_mass() -> None:
    worlds = [SparseMDP.from_dense([[[1.0 - end]]]) for end in (0.0, 0.25, 0.75)]
    after = FiniteBelief(worlds).update(Transition(0, 0, None))
    assert after.weights == pytest.approx([0.25, 0.75], abs=1e-15)


@given(st.one_of(move_beliefs(), general_beliefs()), st.data())
def test_what_is_expected_of_the_posterior_is_the_prior(
    belief: FiniteBelief, data: st.DataObject
) -> None:
    # The average posterior mean, over all that can be observed at one state-action, is the mean.
    s = data.draw(st.integers(0, belief.worlds[0].states - 1))
    a = data.draw(st.integers(0, belief.worlds[0].actions - 1))
    mean = belief.mean()
    chances = np.append(mean.row(s, a), max(0.0, 1.0 - mean.row(s, a).sum()))
    total = np.zeros_like(dense(mean))
    for t, chance in enumerate(chances):
        if chance > 1e-12:
            seen = Transition(s, a, t if t < mean.states else None)
            total += chance * dense(belief.update(seen).mean())
    assert total == pytest.approx(dense(mean), abs=1e-9)


def test_a_transition_is_counted_and_both_its_ends_are_visited() -> None:
    after = two_worlds().update(Transition(0, 0, 1))
    assert after.counts.tolist() == [[1, 0], [0, 0]]
    assert after.visited.tolist() == [True, True]
    assert after.update(Transition(0, 0, 1)).counts.tolist() == [[2, 0], [0, 0]]


def test_an_end_visits_only_where_it_happened() -> None:
    belief = FiniteBelief([SparseMDP.from_dense([[[0.5, 0.0]], [[0.0, 1.0]]])])
    assert belief.update(Transition(0, 0, None)).visited.tolist() == [True, False]


def test_a_visit_is_remembered_and_weighs_nothing() -> None:
    after = two_worlds([0.3, 0.7]).update(Visit(1))
    assert after.visited.tolist() == [False, True]
    assert after.weights == pytest.approx([0.3, 0.7], abs=1e-15)
    assert not after.counts.any()


def test_rows_that_are_seen_rule_out_the_worlds_that_differ() -> None:
    after = two_worlds().update(Rows(((0, 0), (1, 1)), np.array([[0.75, 0.25], [0.0, 1.0]])))
    assert len(after.worlds) == 1
    assert after.mean().row(0, 0).tolist() == [0.75, 0.25]


def test_rows_that_agree_with_all_worlds_teach_nothing() -> None:
    after = two_worlds([0.3, 0.7]).update(Rows(((1, 0),), np.array([[1.0, 0.0]])))
    assert after.weights == pytest.approx([0.3, 0.7], abs=1e-15)


def test_rows_are_compared_up_to_rounding() -> None:
    after = two_worlds().update(Rows(((0, 0),), np.array([[0.75 + 1e-12, 0.25 - 1e-12]])))
    assert len(after.worlds) == 1


def test_rows_divide_close_worlds_alike_in_any_order() -> None:
    close = [np.array([0.5 + k * 0.8e-9, 0.5 - k * 0.8e-9]) for k in range(3)]
    models = [SparseMDP.from_dense([[row.tolist()], [[0.0, 1.0]]]) for row in close]
    seen = [Rows(((0, 0),), row[None]) for row in close]
    for order in permutations(range(3)):
        belief = FiniteBelief([models[k] for k in order])
        left = [{order[int(m)] for m in belief.update(rows).labels} for rows in seen]
        for k in range(3):
            assert k in left[k]
            assert all(left[j] == left[k] for j in left[k])  # as Bayes' rule needs


def test_rows_of_a_general_world_are_those_of_its_move_form() -> None:
    chances = np.random.default_rng(0).random(200) ** 3
    worlds = [SparseMDP.from_dense([[[1.0 - chance, chance]], [[0.0, 1.0]]]) for chance in chances]
    belief = FiniteBelief(worlds).as_moves()
    assert belief is not None
    for k, world in enumerate(worlds):
        after = belief.update(Rows(((0, 0),), world.row(0, 0)[None]))
        assert after.labels.tolist() == [k]


@pytest.mark.parametrize(
    "seen",
    [
        Transition(1, 0, 1),
        Transition(0, 1, 1),
        Transition(0, 0, None),
        Rows(((0, 0),), np.array([[0.5, 0.5]])),
    ],
)
def test_what_no_world_allows_is_refused_and_said(seen: Transition | Rows) -> None:
    with pytest.raises(ImpossibleObservationError, match=type(seen).__name__):
        two_worlds().update(seen)


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (Visit(-1), r"the state of Visit\(state=-1\) is -1, outside 0\.\.1"),
        (Visit(2), r"the state of Visit\(state=2\) is 2, outside 0\.\.1"),
        (Visit(None), "the state of .* is None, expected a whole number"),  # type: ignore[arg-type]
        (Transition(2, 0, 0), r"the state of Transition.* is 2, outside 0\.\.1"),
        (Transition(0, 2, 0), r"the action of Transition.* is 2, outside 0\.\.1"),
        (Transition(0, 0, -1), r"the next state of Transition.* is -1, outside 0\.\.1"),
        (Transition(0, 0, 2), r"the next state of Transition.* is 2, outside 0\.\.1"),
        (Rows(((0, 2),), np.zeros((1, 2))), r"the action of observed row \(0, 2\) is 2"),
        (Rows(((-1, 0),), np.zeros((1, 2))), r"the state of observed row \(-1, 0\) is -1"),
        (Rows(((0,),), np.zeros((1, 2))), r"\(0,\) is not a pair \(state, action\)"),  # type: ignore[arg-type]
        (
            Rows(((0, 0),), np.zeros((2, 2))),
            r"the observed rows has shape \(2, 2\), expected \(1, 2\)",
        ),
        (
            Rows(((0, 0),), np.zeros((1, 3))),
            r"the observed rows has shape \(1, 3\), expected \(1, 2\)",
        ),
        (Rows(((0, 0),), np.full((1, 2), np.nan)), r"the observed rows is NaN at \(0, 0\)"),
    ],
)
def test_an_observation_of_what_is_not_there_is_refused(seen: Any, said: str) -> None:
    belief = two_worlds()
    with pytest.raises(InvalidBeliefError, match=said):
        belief.update(seen)
    assert not belief.visited.any()


@pytest.mark.parametrize("seen", [None, (0, 0, 1), "moved", 3])
def test_an_observation_of_another_kind_is_refused(seen: Any) -> None:
    with pytest.raises(InvalidBeliefError, match="a finite belief can't learn from"):
        two_worlds().update(seen)


@pytest.mark.parametrize(
    "seen", [Visit(1), Transition(0, 0, 1), Rows(((0, 0),), np.array([[0.0, 1.0]]))]
)
def test_learning_gives_a_new_belief_and_leaves_the_old_one(seen: Any) -> None:
    belief = two_worlds([0.3, 0.7])
    after = belief.update(seen)
    assert after is not belief
    assert belief.weights == pytest.approx([0.3, 0.7], abs=1e-15)
    assert not belief.visited.any()
    assert not belief.counts.any()
    assert len(belief.worlds) == 2


def test_its_arrays_are_read_only_before_and_after_learning() -> None:
    for belief in (two_worlds(), two_worlds().update(Transition(0, 0, 1))):
        for array in (belief.weights, belief.visited, belief.counts):
            assert not array.flags.writeable


def test_weights_that_are_handed_in_stay_the_callers() -> None:
    weights = np.array([1.0, 3.0])
    belief = two_worlds(weights)
    belief.update(Transition(0, 0, 1))
    weights[0] = 100.0
    assert belief.weights.tolist() == [0.25, 0.75]


def test_samples_are_worlds_as_often_as_they_are_believed() -> None:
    belief = two_worlds([0.25, 0.75])
    rng = np.random.default_rng(0)
    drawn: list[Model] = [belief.sample(rng) for _ in range(2000)]
    assert all(any(d is w for w in belief.worlds) for d in drawn)
    share = sum(d is belief.worlds[0] for d in drawn) / len(drawn)
    assert share == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / 2000))


def test_a_world_without_weight_is_never_drawn() -> None:
    belief = two_worlds([0.0, 1.0])
    rng = np.random.default_rng(0)
    assert all(belief.sample(rng) is belief.worlds[1] for _ in range(50))


def test_what_the_caller_writes_later_does_not_change_the_belief() -> None:
    success, visited, counts = np.ones((2, 2)), np.array([True, False]), np.ones((2, 2), np.int32)
    weights = np.array([0.25, 0.75])
    worlds = [Moves(DEST, success), moves(0.25, 1.0, 1.0, 1.0)]
    belief = FiniteBelief(worlds, weights, visited, counts)
    success[:], visited[:], counts[:], weights[:] = 0.0, True, 9, 1.0
    worlds.clear()
    assert len(belief.worlds) == 2
    assert belief.worlds[0].row(0, 0).tolist() == [0.0, 1.0]
    assert belief.weights.tolist() == [0.25, 0.75]
    assert belief.visited.tolist() == [True, False]
    assert belief.counts.tolist() == [[1, 1], [1, 1]]


def test_weights_that_overflow_are_refused() -> None:
    refused("the weights sum to inf", two_worlds().worlds, [1e308, 1e308])


@pytest.mark.parametrize("worlds", [3, None, moves(1.0, 1.0, 1.0, 1.0)])
def test_what_is_no_sequence_of_worlds_is_refused(worlds: Any) -> None:
    refused("are not a sequence of models", worlds)


def test_a_world_that_is_no_model_is_refused_by_number() -> None:
    refused("world 1 is a str, not a model", [moves(1.0, 1.0, 1.0, 1.0), "world"])


@pytest.mark.parametrize("order", [("valley", "camp"), ("camp", "vale")])
def test_worlds_that_name_their_states_differently_are_refused(order: tuple[str, str]) -> None:
    worlds = [
        SparseMDP.from_names({a: {"go": b, "stay": a}, b: {"go": a, "stay": b}})
        for a, b in (("camp", "valley"), order)
    ]
    with pytest.raises(InvalidBeliefError, match=r"state [01] is"):
        FiniteBelief(worlds)


def test_worlds_that_name_their_actions_differently_are_refused() -> None:
    worlds = [
        SparseMDP.from_names({"camp": dict.fromkeys(names, "camp")})
        for names in (("go", "stay"), ("stay", "go"))
    ]
    with pytest.raises(InvalidBeliefError, match="action 0 is 'stay' in world 1 but 'go'"):
        FiniteBelief(worlds)


def test_weights_may_be_a_list() -> None:
    model = SparseMDP.from_dense([[[1.0]]])
    assert FiniteBelief([model, model], weights=[0.5, 1.5]).weights.tolist() == [0.25, 0.75]
