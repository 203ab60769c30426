"""Budgets of runs on beliefs of a user's own, whose claims may be bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import homeward as hw
from homeward.beliefs import Correction
from homeward.errors import InvalidProblemError
from homeward.planning.returning.sampled import Sampled
from homeward.worlds.outside import Outside


@dataclass(frozen=True, eq=False)
class Own(hw.Belief):
    """A belief with the four methods; planners can't look into its worlds."""

    inner: hw.FiniteBelief

    def mean(self) -> Any:
        return self.inner.mean()

    def correction(self) -> Any:
        return self.inner.correction()

    def update(self, observation: Any) -> Self:
        return replace(self, inner=self.inner.update(observation))

    def sample(self, rng: np.random.Generator) -> Any:
        return self.inner.sample(rng)


@dataclass(frozen=True, eq=False)
class Doubting(Own):
    """Knows only that the sure way back is blocked with at most `doubt`, once it is out there."""

    doubt: float = 0.0

    def blocked_probability(self) -> Any:
        blocked = self.inner.blocked_probability().copy()
        blocked[1, 0] = self.doubt * self.inner.visited[1]
        return blocked


def look_twice(belief: Any) -> np.ndarray:
    bonus = np.zeros((2, 3))
    bonus[0, 0], bonus[1, 2] = not belief.inner.visited[1], belief.inner.counts[1, 2] < 2
    return bonus


@pytest.mark.parametrize("doubt", [0.41, 0.5, 1.0])
def test_a_way_home_is_not_given_up_at_the_price_of_an_upper_bound_on_its_risk(
    doubt: float,
) -> None:
    # In the site 1: action 0 always leads home, action 1 in .6 of the worlds, action 2 stays.
    works = np.ones((2, 3))
    shut = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    worlds = [hw.Moves(np.array([[1, 1, 0], [0, 0, 1]]), success) for success in (works, shut)]
    belief = Doubting(hw.FiniteBelief(worlds, [0.6, 0.4]), doubt)
    planner = hw.Planner(look_twice, [hw.ReturnHome(0.9)])
    explorer = hw.Explorer(planner, belief, hw.ModelWorld(worlds[1], 0))
    for step in explorer.explore(5):
        (account,) = step.run_state.promises  # type: ignore[union-attr]
        right = (0.6, 1.0)[int(account.way[1] == 0)]
        assert right >= 0.9, f"step {step.number} relies on a way home that works with {right}"
    assert explorer.steps == 3


class Chatty(hw.ModelWorld):
    """Answers with more than the transition of the action, or with less."""

    def __init__(self, model: Any, answer: Any) -> None:
        super().__init__(model, 0)
        self.answer = answer

    def act(self, action: int | str) -> Any:
        return self.answer(super().act(action))


def learning(answer: Any, **options: Any) -> hw.Explorer:
    """Return an explorer of two rooms whose doors work as often as they were seen to."""
    alpha = np.zeros((2, 2, 2))
    alpha[0], alpha[1] = [[1.0, 0.0], [1.0, 9.0]], [[9.0, 1.0], [0.0, 1.0]]
    belief = hw.DirichletBelief.independent(alpha)
    rows = np.array([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
    criteria = options.pop("criteria", [hw.ReturnHome(0.5)])
    planner = hw.Planner(hw.RMax(), criteria, **options)
    return hw.Explorer(planner, belief, Chatty(hw.SparseMDP.from_dense(rows), answer))


ANSWERS: list[tuple[Any, str]] = [
    (lambda seen: [seen, hw.Transition(1, 0, 0)], "Transition and Transition"),
    (lambda seen: (seen, seen), "Transition and Transition"),
    (lambda seen: hw.Visit(seen.next_state), "Visit"),
    (lambda seen: hw.Transition(1, 0, 0), "Transition"),
]


@pytest.mark.parametrize(("answer", "said"), ANSWERS)
def test_an_answer_that_the_charge_did_not_foresee_is_refused(answer: Any, said: str) -> None:
    # The charge is the expected fall of the bound by the action's own transition, and no other.
    with pytest.raises(InvalidProblemError, match=f"the world answered with {said}; "):
        list(learning(answer).explore(3))


@pytest.mark.parametrize("answer", [lambda seen: seen, lambda seen: [hw.Visit(1), seen]])
def test_an_answer_with_the_transition_and_visits_is_learned(answer: Any) -> None:
    assert list(learning(answer).explore(3))


@pytest.mark.parametrize(("answer", "_"), ANSWERS)
@pytest.mark.parametrize(
    "options",
    [{"criteria": []}, {"correction": Correction.NAIVE}, {"sampled": Sampled(worlds=50)}],
)
def test_any_answer_is_learned_where_no_charge_foresees_one(
    answer: Any, _: str, options: Any
) -> None:
    assert list(learning(answer, **options).explore(1))


def test_a_look_may_not_teach_what_no_charge_foresaw() -> None:
    remote = learning(lambda seen: seen)
    outside = Outside(0)
    outside.first = hw.Visit(0)
    remote = hw.Explorer(remote.planner, remote.belief, outside)
    before = remote.belief
    for tell in (remote.look, lambda seen: remote.relocate(1, seen)):
        with pytest.raises(InvalidProblemError, match="only visits without an action"):
            tell(hw.Transition(1, 0, 0))
        assert remote.belief is before
    remote.look(hw.Visit(0))
    assert remote.allows(1, 1)
    outside.report(1, hw.Transition(0, 1, 1))
    remote.take(1)
    assert remote.world.state == 1


DEATH = 0.0308


def path(survival: float) -> hw.SparseMDP:
    """Return two rooms: out is fatal but for `survival`, back is sure; action 1 stays."""
    rows = np.zeros((2, 2, 2))
    rows[:, 1] = np.eye(2)
    rows[0, 0, 1], rows[1, 0, 0] = survival, 1.0
    return hw.SparseMDP.from_dense(rows)


RISKS = {
    "a fatal row or a sure one": ([path(1.0), path(0.0)], [1.0 - DEATH, DEATH]),
    "a known row": ([path(1.0 - DEATH)], [1.0]),
    "rows between": ([path(1.0), path(0.8)], [1.0 - 5.0 * DEATH, 5.0 * DEATH]),
}


def staying(belief: Any) -> np.ndarray:
    """Return a bonus for going out once, and for staying there twice."""
    out, stays = belief.inner.counts[0, 0], belief.inner.counts[1, 1]
    return np.array([[float(out == 0), 0.0], [0.0, float(stays < 2)]])


@pytest.mark.parametrize("what", RISKS)
def test_death_is_charged_once(what: str) -> None:
    worlds, weights = RISKS[what]
    planner = hw.Planner(staying, [hw.ReturnHome(0.9)])
    explorer = hw.Explorer(planner, Own(hw.FiniteBelief(worlds, weights)), hw.ModelWorld(worlds[0]))
    spent = [step.run_state.promises[0].spent for step in explorer.explore(5)]  # type: ignore[union-attr]
    assert spent == pytest.approx([DEATH] * 3, abs=1e-12)
    assert min(spent) >= DEATH
    home = hw.Planner(staying, [hw.ReturnHome(0.9, home=1)])
    away = hw.Explorer(home, Own(hw.FiniteBelief(worlds, weights)), hw.ModelWorld(worlds[0]))
    assert away.run_state.promises[0].spent == pytest.approx(DEATH, abs=1e-12)
    assert away.run_state.promises[0].spent >= DEATH


def test_a_known_way_home_past_death_is_paid_for_once() -> None:
    # From room 1 on, each room is one fatal step further away; waiting and going back cost nothing.
    rows = np.zeros((4, 3, 4))
    rows[:, 2] = np.eye(4)
    for s in range(4):
        rows[s, 0, min(s + 1, 3)], rows[s, 1, max(s - 1, 0)] = 1.0, 1.0 if s < 2 else 0.95
    world = hw.SparseMDP.from_dense(rows)
    bonus = lambda belief: np.where(belief.inner.counts < 1, [[1.0, 0.0, 1.0]], 0.0)  # noqa: E731
    planner = hw.Planner(bonus, [hw.ReturnHome(0.9)])
    explorer = hw.Explorer(planner, Own(hw.FiniteBelief([world])), hw.ModelWorld(world))
    right = [0.0, 0.0, 0.05, 1.0 - 0.95**2]
    most = 0.0
    for step in explorer.explore(30):
        most = max(most, right[step.state])
        assert step.run_state.promises[0].spent == pytest.approx(most, abs=1e-11)  # type: ignore[union-attr]
    assert most == right[3]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_on_a_known_model_charges_are_how_far_the_best_way_home_falls(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(4, 0.2), (4, 3)) * rng.choice([1.0, 1.0, 0.95], (4, 3, 1))
    rows[rows < 0.02] = 0.0
    world = hw.SparseMDP.from_dense(rows)
    value, due = np.eye(4)[0], 0.0
    for _ in range(5000):
        value = np.append(1.0, (rows[1:] @ value).max(axis=1))
    planner = hw.Planner(
        lambda belief: np.where(belief.inner.counts == 0, 1.0, 0.0), [hw.ReturnHome(0.5)]
    )
    belief = Own(hw.FiniteBelief([world]))
    explorer = hw.Explorer(planner, belief, hw.ModelWorld(world, 0, seed=seed % 1000))
    for step in explorer.explore(8):
        state, action = step.decision.state, step.action
        due += max(0.0, float(value[state] - rows[state, action] @ value))
        assert step.run_state.promises[0].spent == pytest.approx(due, abs=1e-9)  # type: ignore[union-attr]


@dataclass(frozen=True, eq=False)
class Claiming(Own):
    """Claims something of moves."""

    def blocked_probability(self) -> Any:
        return np.zeros((2, 2))


def test_a_blocked_probability_on_a_general_model_is_refused() -> None:
    belief = Claiming(hw.FiniteBelief([path(1.0)]))
    planner = hw.Planner(hw.RMax(), [hw.ReturnHome(0.9)])
    said = r"Claiming has blocked_probability\(\), .* its mean\(\) is a SparseMDP, .* return Moves"
    with pytest.raises(hw.InvalidBeliefError, match=said):
        hw.Explorer(planner, belief, hw.ModelWorld(path(1.0)))
    with pytest.raises(hw.InvalidBeliefError, match=said):
        planner.plan(belief, 0)
    with pytest.raises(hw.InvalidBeliefError, match=r"\[moves\] blocked_probability\(\)"):
        hw.check_belief(belief, samples=100)


@dataclass(frozen=True, eq=False)
class Sharp(Own):
    """Knows the risks of moves."""

    def blocked_probability(self) -> Any:
        return self.inner.blocked_probability()


@pytest.mark.parametrize(("make", "spent"), [(Own, 0.2), (Sharp, 0.1)])
def test_blocked_probabilities_count_on_moves_with_rewards(make: Any, spent: float) -> None:
    # The way home never works in a tenth of the worlds, and at half of its attempts in the others.
    dest, reward = np.array([[0, 0], [0, 1]]), np.array([[0.0, 0.0], [0.0, 1.0]])
    worlds = [hw.Moves(dest, np.array([[1.0, 1.0], [p, 1.0]]), reward) for p in (0.5, 0.0)]
    belief = make(hw.FiniteBelief(worlds, [0.9, 0.1]))
    planner = hw.Planner(lambda _: np.zeros((2, 2)), [hw.ReturnHome(0.3, home=0)])
    explorer = hw.Explorer(planner, belief, hw.ModelWorld(worlds[0], 1))
    assert explorer.run_state.promises[0].spent == pytest.approx(spent, abs=1e-12)
