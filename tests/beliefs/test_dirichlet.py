from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import beta as beta_distribution
from tests.conftest import dense, tables

from homeward.beliefs import DirichletBelief, Rows, Transition, Visit
from homeward.beliefs.dirichlet import END
from homeward.errors import ImpossibleObservationError, InvalidBeliefError

ALPHAS = st.one_of(st.just(0.0), st.floats(0.1, 20.0))

# One action, whose three outcomes are: go to the other state, stay, end.
OUTCOMES = np.array([[[1, 0, END]], [[0, 1, END]]])


def apart(alpha: Any = ((1.0, 2.0, 1.0), (4.0, 1.0, 0.0))) -> DirichletBelief:
    """Believe in two independent rows."""
    return DirichletBelief(OUTCOMES, np.array(alpha))


def impossible() -> DirichletBelief:
    """Believe that the second state's actions can't end it, nor its second one lead away."""
    outcomes = np.array([[[1, 0, END], [1, 0, END]], [[0, 1, END], [0, 1, END]]])
    alpha = [[1.0, 2.0, 1.0], [1.0, 2.0, 1.0], [4.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    return DirichletBelief(outcomes, np.array(alpha))


def tied() -> DirichletBelief:
    """Believe that both states' actions do the same: go to the other, stay, or end."""
    return DirichletBelief(OUTCOMES, np.array([[1.0, 2.0, 1.0]]), np.zeros((2, 1), int))


def refused(match: str, *args: Any, **options: Any) -> None:
    with pytest.raises(InvalidBeliefError, match=match):
        DirichletBelief(*args, **options)


@st.composite
def independent(draw: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Draw concentrations [S, A, S] with something possible in every row."""
    states, actions = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    alpha: np.ndarray[Any, np.dtype[np.float64]] = draw(tables(ALPHAS, states, actions, states))
    alpha[:, :, 0] += alpha.sum(axis=2) == 0.0
    return alpha


@given(independent())
def test_the_mean_of_independent_rows_is_alpha_over_its_sum(alpha: Any) -> None:
    mean = DirichletBelief.independent(alpha).mean()
    assert dense(mean) == pytest.approx(alpha / alpha.sum(axis=2, keepdims=True), abs=1e-15)


def test_the_mean_leaves_out_what_ends() -> None:
    assert dense(apart().mean())[:, 0] == pytest.approx(np.array([[0.5, 0.25], [0.8, 0.2]]))


def test_rewards_and_names_pass_through() -> None:
    belief = DirichletBelief(
        OUTCOMES,
        np.ones((2, 3)),
        reward=np.array([[1.0], [2.0]]),
        state_names=("a", "b"),
        action_names=("go",),
    )
    mean = belief.mean()
    assert mean.reward.tolist() == [[1.0], [2.0]]
    assert (mean.state_names, mean.action_names) == (("a", "b"), ("go",))


@given(tables(st.floats(0.1, 20.0), 3))
def test_outcomes_that_lead_to_one_state_are_merged(alpha: Any) -> None:
    # Outcomes 0 and 2 both lead to state 0: their sum is Dirichlet again.
    outcomes = np.array([[[0, 1, 0]], [[0, 1, 0]]])
    belief = DirichletBelief(outcomes, np.array([alpha, alpha]))
    merged = DirichletBelief.independent([[[alpha[0] + alpha[2], alpha[1]]]] * 2)
    assert dense(belief.mean()) == pytest.approx(dense(merged.mean()), abs=1e-15)
    assert belief.correction() == pytest.approx(merged.correction(), rel=1e-12, abs=0)
    seen = Transition(0, 0, 0)
    after, expected = belief.update(seen).mean(), merged.update(seen).mean()
    assert dense(after) == pytest.approx(dense(expected), abs=1e-15)


def test_ends_are_merged_too() -> None:
    belief = DirichletBelief(np.array([[[0, END, END]]]), np.array([[2.0, 1.0, 1.0]]))
    assert belief.alpha.tolist() == [[2.0, 2.0, 0.0]]


def test_an_observation_counts_once_for_its_row() -> None:
    after = apart().update(Transition(0, 0, 1))
    assert after.alpha.tolist() == [[2.0, 2.0, 1.0], [4.0, 1.0, 0.0]]
    assert after.counts.tolist() == [[1], [0]]
    assert after.visited.tolist() == [True, True]


def test_an_end_is_counted_and_visits_only_where_it_happened() -> None:
    after = apart().update(Transition(0, 0, None))
    assert after.alpha[0].tolist() == [1.0, 2.0, 2.0]
    assert after.visited.tolist() == [True, False]


def test_what_is_learned_at_one_place_is_known_at_the_tied_one() -> None:
    # Going across worked in state 0, so it is likelier in state 1: (1+1)/(4+1) instead of ¼.
    before, after = tied(), tied().update(Transition(0, 0, 1))
    assert before.mean().row(1, 0).tolist() == [0.25, 0.5]
    assert after.mean().row(1, 0) == pytest.approx([0.4, 0.4], abs=1e-15)
    assert after.counts.tolist() == [[1], [1]]


def test_what_is_learned_at_one_place_is_not_known_at_an_untied_one() -> None:
    before, after = apart(), apart().update(Transition(0, 0, 1))
    assert after.mean().row(1, 0).tolist() == before.mean().row(1, 0).tolist()


def test_places_are_visited_one_by_one_even_where_they_are_tied() -> None:
    assert tied().update(Visit(0)).visited.tolist() == [True, False]


@given(independent(), st.data())
def test_the_mean_after_an_observation_is_one_count_further(alpha: Any, data: Any) -> None:
    s = data.draw(st.integers(0, alpha.shape[0] - 1))
    a = data.draw(st.integers(0, alpha.shape[1] - 1))
    t = data.draw(st.sampled_from(np.flatnonzero(alpha[s, a]).tolist()))
    after = DirichletBelief.independent(alpha).update(Transition(s, a, t)).mean()
    further = alpha.copy()
    further[s, a, t] += 1.0
    assert dense(after) == pytest.approx(further / further.sum(axis=2, keepdims=True), abs=1e-14)


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (2.0, 5.0), (0.5, 0.5), (30.0, 3.0)])
def test_the_correction_of_two_outcomes_is_their_mean_absolute_deviation(
    a: float, b: float
) -> None:
    mean, density = a / (a + b), beta_distribution(a, b).pdf
    parts = [
        quad(lambda x: abs(x - mean) * density(x), low, high, limit=200)[0]
        for low, high in ((0.0, mean), (mean, 1.0))
    ]
    belief = DirichletBelief.independent([[[a, b]], [[1.0, 0.0]]])
    assert belief.correction()[0, 0] == pytest.approx(-sum(parts), rel=1e-6, abs=0)


def test_an_end_has_no_part_in_the_correction() -> None:
    # Stay or end, evenly: only staying is a state, and loses ⅛.
    belief = DirichletBelief(np.array([[[0, END]]]), np.array([[1.0, 1.0]]))
    assert belief.correction()[0, 0] == pytest.approx(-1 / 8, rel=1e-12, abs=0)


def test_a_sure_outcome_needs_no_correction() -> None:
    belief = DirichletBelief.independent([[[3.7, 0.0]], [[0.0, 1e-3]]])
    assert belief.correction().tolist() == [[0.0], [0.0]]


def test_the_correction_is_the_average_shortfall_of_samples() -> None:
    belief = apart(((1.0, 2.0, 1.0), (4.0, 1.0, 0.5)))
    rng, mean = np.random.default_rng(0), dense(belief.mean())
    short = [np.minimum(0.0, dense(belief.sample(rng)) - mean).sum(axis=2) for _ in range(3000)]
    assert np.mean(short, axis=0) == pytest.approx(belief.correction(), abs=0.01)


def test_samples_average_to_the_mean() -> None:
    rng, belief = np.random.default_rng(0), apart()
    average = np.mean([dense(belief.sample(rng)) for _ in range(3000)], axis=0)
    assert average == pytest.approx(dense(belief.mean()), abs=0.02)


def test_tied_places_are_drawn_alike() -> None:
    world = dense(tied().sample(np.random.default_rng(0)))
    assert world[0, 0, 1] == world[1, 0, 0]
    assert world[0, 0, 0] == world[1, 0, 1]


def test_untied_places_are_drawn_apart() -> None:
    world = dense(apart(((1.0, 2.0, 1.0), (1.0, 2.0, 1.0))).sample(np.random.default_rng(0)))
    assert world[0, 0, 1] != world[1, 0, 0]


def test_what_is_impossible_is_never_drawn() -> None:
    rng, belief = np.random.default_rng(0), DirichletBelief.independent([[[1.0, 0.0]]] * 2)
    assert all(belief.sample(rng).row(0, 0)[1] == 0.0 for _ in range(20))


def test_the_same_seed_draws_the_same_world() -> None:
    one, two = (dense(apart().sample(np.random.default_rng(7))) for _ in range(2))
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("seen", [Transition(1, 0, None), Transition(1, 1, 0)])
def test_what_the_belief_rules_out_is_refused_and_said(seen: Transition) -> None:
    with pytest.raises(ImpossibleObservationError, match=r"rules out Transition\(state="):
        impossible().update(seen)


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (Visit(-1), r"the state of Visit\(state=-1\) is -1, outside 0\.\.1"),
        (Visit(2), r"the state of Visit\(state=2\) is 2, outside 0\.\.1"),
        (Visit(True), "the state of .* is True, expected a whole number from 0 to 1"),
        (Visit(0.0), "the state of .* is 0.0, expected a whole number"),  # type: ignore[arg-type]
        (Transition(-1, 0, 0), r"the state of Transition.* is -1, outside 0\.\.1"),
        (Transition(0, 1, 0), r"the action of Transition.* is 1, outside 0\.\.0"),
        (Transition(0, -1, 0), r"the action of Transition.* is -1, outside 0\.\.0"),
        (Transition(0, 0, 7), r"the next state of Transition.* is 7, outside 0\.\.1"),
        (Transition(0, 0, -1), r"the next state of Transition.* is -1, outside 0\.\.1"),
    ],
)
def test_an_observation_of_what_is_not_there_is_refused(seen: Any, said: str) -> None:
    belief = apart()
    with pytest.raises(InvalidBeliefError, match=said):
        belief.update(seen)
    assert not belief.visited.any()


@pytest.mark.parametrize("seen", [None, "moved", (0, 0, 1), Rows((), np.zeros((0, 2)))])
def test_an_observation_of_another_kind_is_refused(seen: Any) -> None:
    with pytest.raises(InvalidBeliefError, match="a Dirichlet belief can't learn from"):
        apart().update(seen)


def test_a_negative_concentration_is_refused_with_its_place() -> None:
    refused(r"alpha \(k=1, o=2\) is -3, expected >= 0", OUTCOMES, [[1, 1, 1], [1, 1, -3]])


def test_an_infinite_concentration_is_refused_with_its_place() -> None:
    refused(r"alpha \(k=0, o=1\) is inf", OUTCOMES, [[1, np.inf, 1], [1, 1, 1]])


def test_a_concentration_that_is_nan_is_refused_with_its_place() -> None:
    refused(r"alpha is NaN at \(1, 0\)", OUTCOMES, [[1, 1, 1], [np.nan, 1, 1]])


def test_a_kind_without_any_outcome_is_refused_by_number() -> None:
    refused("kind 1 has no possible outcome", OUTCOMES, [[1, 1, 1], [0, 0, 0]])


def test_concentrations_of_another_width_are_refused() -> None:
    refused(r"alpha has shape \(2, 2\), expected \[C, 3\]", OUTCOMES, np.ones((2, 2)))


def test_a_wrong_number_of_untied_kinds_is_refused() -> None:
    refused("alpha has 3 rows for 2 untied state-actions", OUTCOMES, np.ones((3, 3)))


@pytest.mark.parametrize("wrong", [2, -1])
def test_a_kind_that_does_not_exist_is_refused_with_its_place(wrong: int) -> None:
    refused(
        rf"kind \(s=1, a=0\) is {wrong}, outside 0\.\.1", OUTCOMES, np.ones((2, 3)), [[0], [wrong]]
    )


def test_kinds_that_are_no_whole_numbers_are_refused() -> None:
    refused("kind must hold whole numbers", OUTCOMES, np.ones((2, 3)), [[0.0], [1.0]])


def test_kinds_of_another_shape_are_refused() -> None:
    refused(r"kind has shape \(2,\), expected \(2, 1\)", OUTCOMES, np.ones((2, 3)), [0, 1])


@pytest.mark.parametrize("wrong", [2, -2])
def test_an_outcome_that_leads_nowhere_is_refused_with_its_place(wrong: int) -> None:
    outcomes = OUTCOMES.copy()
    outcomes[1, 0, 2] = wrong
    refused(rf"outcome \(s=1, a=0, o=2\) is {wrong}, outside -1\.\.1", outcomes, np.ones((2, 3)))


@pytest.mark.parametrize("shape", [(2, 1), (0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_outcomes_that_are_no_table_are_refused(shape: tuple[int, ...]) -> None:
    refused(r"the outcomes have shape .*, expected \[S, A, O\]", np.zeros(shape, int), [[1.0]])


def by_a_wall() -> DirichletBelief:
    """Outcomes 1 and 2 fall together in state 0, and differ in state 1; both share one kind."""
    outcomes = np.array([[[1, 0, 0]], [[2, 0, 1]], [[2, 2, 2]]])
    alpha = np.array([[2.0, 1.0, 0.5], [1.0, 0.0, 0.0]])
    return DirichletBelief(outcomes, alpha, np.array([[0], [0], [1]]))


def test_a_wall_adds_outcomes_and_does_not_break_the_tie() -> None:
    belief = by_a_wall()
    assert belief.mean().row(0, 0) == pytest.approx([1.5 / 3.5, 2.0 / 3.5, 0.0], abs=1e-15)
    assert belief.mean().row(1, 0) == pytest.approx([1 / 3.5, 0.5 / 3.5, 2.0 / 3.5], abs=1e-15)
    after = belief.update(Transition(1, 0, 2))
    assert after.mean().row(0, 0) == pytest.approx([1.5 / 4.5, 3.0 / 4.5, 0.0], abs=1e-15)


def test_the_correction_of_outcomes_that_fall_together_is_that_of_their_sum() -> None:
    apart = DirichletBelief.independent([[[1.5, 2.0]], [[0.0, 1.0]]])
    assert by_a_wall().correction()[0, 0] == pytest.approx(apart.correction()[0, 0], rel=1e-12)
    drawn = np.random.default_rng(0).dirichlet([2.0, 1.0, 0.5], 200_000)
    stays = drawn[:, 1] + drawn[:, 2]
    shortfalls = (np.minimum(0.0, x - x.mean()).mean() for x in (stays, drawn[:, 0]))
    assert by_a_wall().correction()[0, 0] == pytest.approx(sum(shortfalls), abs=2e-3)


@pytest.mark.parametrize("target", [0, 1])
def test_what_happens_where_outcomes_fall_together_is_not_counted(target: int) -> None:
    # Counting only the clear results would bias the belief, so none is counted.
    after = by_a_wall().update(Transition(0, 0, target))
    assert (after.alpha == by_a_wall().alpha).all()
    assert after.visited[[0, target]].all()
    with pytest.raises(ImpossibleObservationError):
        by_a_wall().update(Transition(0, 0, 2))


def test_tied_places_may_differ_in_what_can_not_happen() -> None:
    belief = DirichletBelief(
        np.array([[[0, 1, 0]], [[1, 0, 0]]]), np.array([[1.0, 1.0, 0.0]]), np.zeros((2, 1), int)
    )
    assert belief.mean().row(0, 0).tolist() == belief.mean().row(1, 0).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("alpha", [np.ones((2, 2)), np.ones((2, 1, 3))])
def test_independent_concentrations_of_another_shape_are_refused(alpha: Any) -> None:
    with pytest.raises(InvalidBeliefError, match=r"alpha has shape .*, expected \[S, A, S\]"):
        DirichletBelief.independent(alpha)


def test_independent_concentrations_that_are_negative_are_refused() -> None:
    with pytest.raises(InvalidBeliefError, match="is -1, expected >= 0"):
        DirichletBelief.independent([[[-1.0, 1.0]], [[1.0, 1.0]]])


def test_a_reward_of_plus_infinity_is_refused() -> None:
    refused(r"the reward \(s=0, a=0\) is \+inf", OUTCOMES, np.ones((2, 3)), reward=[[np.inf], [0]])


def test_a_state_without_any_action_is_refused() -> None:
    refused("state s=1 has no action", OUTCOMES, np.ones((2, 3)), reward=[[0.0], [-np.inf]])


@pytest.mark.parametrize("seen", [Visit(1), Transition(0, 0, 1), Transition(0, 0, None)])
def test_learning_gives_a_new_belief_and_leaves_the_old_one(seen: Visit | Transition) -> None:
    belief = apart()
    before = belief.alpha.copy()
    after = belief.update(seen)
    assert after is not belief
    assert (belief.alpha == before).all()
    assert not belief.visited.any()
    assert not belief.tallies.any()


def test_its_arrays_are_read_only_before_and_after_learning() -> None:
    fields = ("outcomes", "alpha", "kinds", "reward", "visited", "tallies")
    for belief in (apart(), apart().update(Transition(0, 0, 1)), tied().update(Visit(0))):
        assert not any(getattr(belief, name).flags.writeable for name in fields)


def test_arrays_that_are_handed_in_stay_the_callers() -> None:
    alpha, outcomes = np.array([[1.0, 2.0, 1.0], [1.0, 1.0, 1.0]]), OUTCOMES.copy()
    belief = DirichletBelief(outcomes, alpha).update(Transition(0, 0, 1))
    belief.mean()
    assert alpha.tolist() == [[1.0, 2.0, 1.0], [1.0, 1.0, 1.0]]
    assert (outcomes == OUTCOMES).all()
    assert alpha.flags.writeable
    assert outcomes.flags.writeable


def test_what_the_caller_writes_later_does_not_change_the_belief() -> None:
    mine: dict[str, Any] = {
        "outcomes": OUTCOMES.astype(np.int32),
        "alpha": np.array([[1.0, 2.0, 1.0], [4.0, 1.0, 0.0]]),
        "kinds": np.array([[0], [1]], np.int32),
        "reward": np.zeros((2, 1)),
        "visited": np.array([True, False]),
        "tallies": np.array([3, 0], np.int32),
    }
    for names in (tuple(mine), ("outcomes", "alpha", "kinds", "reward", "visited")):
        given = {name: mine[name].copy() for name in names}
        belief = DirichletBelief(**given)
        for array in given.values():
            array[:] = 0
        for name in names:
            assert getattr(belief, name).tolist() == mine[name].tolist(), name


def test_independent_concentrations_that_are_written_to_later_change_nothing() -> None:
    alpha, reward = np.full((2, 1, 2), 2.0), np.ones((2, 1))
    belief = DirichletBelief.independent(alpha, reward)
    alpha[:], reward[:] = 9.0, 9.0
    assert belief.alpha.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert belief.reward.tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("large", [1e15, 1e20])
def test_a_rare_outcome_beside_a_sure_one_keeps_its_digits(large: float) -> None:
    # Next to n, a concentration of 1 falls short by 1/(e·n), and n by the same.
    belief = DirichletBelief.independent([[[large, 1.0]], [[1.0, 0.0]]])
    assert belief.correction()[0, 0] == pytest.approx(-2.0 * np.exp(-1.0) / large, rel=1e-12)
    assert belief.mean().row(0, 0)[1] == pytest.approx(1.0 / large, rel=1e-12, abs=0)


def test_concentrations_beyond_counting_are_refused() -> None:
    refused("the concentrations of kind 1 sum to 1e", OUTCOMES, [[1, 1, 1], [1e150, 1, 1]])


def test_a_kind_that_no_state_action_has_keeps_its_concentrations() -> None:
    belief = DirichletBelief(
        OUTCOMES, np.array([[1.0, 2.0, 1.0], [5.0, 6.0, 7.0]]), np.zeros((2, 1), int)
    )
    assert belief.alpha[1].tolist() == [5.0, 6.0, 7.0]
    assert belief.update(Transition(0, 0, 1)).alpha[1].tolist() == [5.0, 6.0, 7.0]


def test_a_sure_outcome_is_drawn_as_sure() -> None:
    belief = DirichletBelief.independent([[[1e-3, 0.0]], [[0.0, 1e-300]]])
    world = dense(belief.sample(np.random.default_rng(0)))
    assert world[:, 0].tolist() == [[1.0, 0.0], [0.0, 1.0]]
