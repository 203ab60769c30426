"""Budgets of runs on beliefs of a user's own, whose claims may be bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pytest

import homeward as hw
from homeward.planning.remote import Outside, RemoteExplorer


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
        (account,) = step.held.accounts  # type: ignore[union-attr]
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
    with pytest.raises(hw.InvalidProblemError, match=f"the world answered with {said}; "):
        list(learning(answer).explore(3))


@pytest.mark.parametrize("answer", [lambda seen: seen, lambda seen: [hw.Visit(1), seen]])
def test_an_answer_with_the_transition_and_visits_is_learned(answer: Any) -> None:
    assert list(learning(answer).explore(3))


@pytest.mark.parametrize(("answer", "_"), ANSWERS)
@pytest.mark.parametrize(
    "options",
    [{"criteria": []}, {"correction": hw.Correction.NAIVE}, {"sampled": hw.Sampled(worlds=50)}],
)
def test_any_answer_is_learned_where_no_charge_foresees_one(
    answer: Any, _: str, options: Any
) -> None:
    assert list(learning(answer, **options).explore(1))


def test_a_look_may_not_teach_what_no_charge_foresaw() -> None:
    remote = learning(lambda seen: seen)
    outside = Outside(0)
    outside.first = hw.Visit(0)
    remote = RemoteExplorer(remote.planner, remote.belief, outside)
    before = remote.belief
    for tell in (remote.look, lambda seen: remote.relocate(1, seen)):
        with pytest.raises(hw.InvalidProblemError, match="only visits without an action"):
            tell(hw.Transition(1, 0, 0))
        assert remote.belief is before
    remote.look(hw.Visit(0))
    assert remote.choose(1, 1, hw.Transition(0, 1, 1))
    assert remote.world.state == 1
