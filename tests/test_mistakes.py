"""What a user gives by mistake is refused by a `HomewardError` that names it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import pytest

import homeward as hw

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL = hw.Moves(np.array([[1, 0], [2, 0], [2, 1]]), np.full((3, 2), 0.9))
BELIEF = hw.FiniteBelief([MODEL])
LEVEL = [hw.ReturnHome(0.5)]


class Own(hw.Belief):
    """A belief of a user's own, some of whose methods answer what they should not."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    def mean(self) -> Any:
        return self.answers.get("mean", MODEL)

    def correction(self) -> Any:
        return self.answers.get("correction", np.zeros((3, 2)))

    def blocked_probability(self) -> Any:
        return self.answers.get("blocked", np.zeros((3, 2)))

    def update(self, observation: Any) -> Any:
        return self.answers.get("update", self)

    def sample(self, rng: np.random.Generator) -> Any:
        return MODEL


class Counting(Own):
    """An own belief that says how often it observed what."""

    def __init__(self, **counted: Any) -> None:
        super().__init__()
        self.visited = counted.get("visited", np.zeros(3, np.bool_))
        self.counts = counted.get("counts", np.zeros((3, 2)))


def ones(belief: Any) -> np.ndarray:
    return np.ones((3, 2))


def planner(bonus: Any = ones, **options: Any) -> hw.Planner:
    return hw.Planner(bonus, LEVEL, **options)


def explored(belief: Any = BELIEF, bonus: Any = ones, **options: Any) -> Any:
    return hw.explore(MODEL, belief, LEVEL, bonus, **options).run()


def table(**options: Any) -> Any:
    return hw.from_gymnasium(gymnasium.make("FrozenLake-v1"), **options)


NO_UPDATE = r"Own\.update\(\) returned a NoneType, expected the belief after the observation"
NOT_A_BELIEF = "the belief is Moves, expected an object of a subclass of homeward.Belief"
MISTAKES: list[tuple[Callable[[], Any], str]] = [
    (lambda: planner().plan(MODEL, 0), NOT_A_BELIEF),  # type: ignore[arg-type]
    (lambda: planner().plan(hw.FiniteBelief, 0), "the belief is the class FiniteBelief, expected"),  # type: ignore[arg-type]
    (lambda: explored(MODEL), NOT_A_BELIEF),
    (lambda: explored(Own(update=None)), NO_UPDATE),
    (
        lambda: [*hw.PaperExplorer(planner(), Own(update=None), hw.ModelWorld(MODEL)).explore(1)],
        NO_UPDATE,
    ),
    (lambda: hw.check_world(lambda: hw.ModelWorld(MODEL), Own(update=None)), NO_UPDATE),
    (lambda: hw.check_world(lambda: hw.ModelWorld(MODEL), None), "the belief is NoneType"),
    (
        lambda: hw.check_world(lambda: hw.ModelWorld(MODEL), BELIEF, seed="a"),  # type: ignore[arg-type]
        "the seed is 'a'",
    ),
    (lambda: planner().plan(Own(mean=5), 0), r"Own\.mean\(\) returned a int, expected Moves or"),
    (lambda: explored(Own(mean=5)), r"Own\.mean\(\) returned a int, expected Moves or"),
    (
        lambda: planner(correction="general").plan(Own(correction=None), 0),
        r"Own\.correction\(\) is not an array of numbers",
    ),
    (
        lambda: planner(correction="general").plan(Own(correction=np.zeros(4)), 0),
        r"Own\.correction\(\) has shape \(4,\), expected \(3, 2\)",
    ),
    (
        lambda: planner().plan(Own(correction=np.full((3, 2), np.nan)), 0),
        r"Own\.move_corrections\(\) \(s=0, a=0\) is NaN",
    ),
    (lambda: explored(Own(blocked=None)), r"Own\.blocked_probability\(\) is not an array"),
    (lambda: explored(Own(blocked=np.zeros(4))), r"Own\.blocked_probability\(\) has shape \(4,\)"),
    (
        lambda: explored(Own(blocked=np.full((3, 2), np.nan))),
        r"Own\.blocked_probability\(\) \(s=0, a=0\) is NaN",
    ),
    (
        lambda: hw.check_belief(Own(blocked=None)),
        r"\[shape\] blocked_probability\(\): None; expected a value: has it a return\?",
    ),
    (lambda: explored(bonus=hw.RMax), r"the bonus is the class RMax, expected an object, such as"),
    (lambda: explored(bonus=lambda belief: None), "the bonus is not an array of numbers"),
    (lambda: explored(bonus=hw.Uncover()), "bonus Uncover needs a belief with uncovers, and Finit"),
    (lambda: planner(hw.InformationGain()).plan(BELIEF, 0), "needs a belief with variance, and F"),
    (lambda: planner(hw.RMax()).plan(Own(), 0), r"Own does not count observations: a count-based"),
    (
        lambda: planner(hw.RMax()).plan(Counting(visited=None), 0),
        r"Counting\.visited is no array \[S\]",
    ),
    (lambda: explored(Counting(visited="a"), hw.RMax()), r"Counting\.visited is no array \[S\]"),
    (
        lambda: explored(Counting(counts=None), hw.MbieEb()),
        r"Counting\.counts is no array \[S, A",
    ),
    (lambda: explored(Counting(counts=1), hw.NearBayesian()), r"Counting\.counts is no array"),
    (lambda: hw.certify(None, BELIEF, planner()), "the plan is None, expected a Plan"),  # type: ignore[arg-type]
    (lambda: hw.certify(planner(), BELIEF, planner()), "the plan is Planner"),  # type: ignore[arg-type]
    (
        lambda: hw.certify(planner().plan(BELIEF, 0), BELIEF, hw.Planner),
        "the planner is <class .*>, expected a Planner",
    ),
    (
        lambda: hw.certify(planner().plan(BELIEF, 0), MODEL, planner()),  # type: ignore[arg-type]
        NOT_A_BELIEF,
    ),
    (lambda: explored(seed="a"), "the seed is 'a', expected a whole number from 0"),
    (lambda: hw.explore(None, BELIEF, seed=-1), r"the seed is -1, outside 0\.\."),
    (lambda: explored(limit=-1), "the limit is -1, expected a whole number of steps"),
    (lambda: explored(limit=1.5), "the limit is 1.5, expected a whole number of steps"),
    (lambda: explored().explorer.take("a"), "the action is 'a', expected a whole number from 0 to"),
    (lambda: explored().explorer.take(9), r"the action is 9, outside 0\.\.1"),
    (lambda: hw.ModelWorld(MODEL, 0, seed="a"), "the seed is 'a', expected a whole number from 0"),  # type: ignore[arg-type]
    (lambda: hw.ModelWorld(BELIEF), "the model is FiniteBelief, expected an object: Moves or Sp"),  # type: ignore[arg-type]
    (
        lambda: hw.SparseMDP.from_names({"a": {"go": "a"}}, [1]),  # type: ignore[arg-type]
        r"the reward is \[1\], expected a mapping of",
    ),
    (lambda: hw.from_gymnasium(None), "the environment is None, expected a gymnasium.Env"),
    (lambda: table(state=3), "state is 3, expected a function of the unwrapped environment"),
    (lambda: table(action_names=3), "action_names is 3, expected a list of names"),
    (lambda: table(max_states="a"), "max_states is 'a', expected a whole number"),
    (lambda: hw.Run.create("x", None, {}), "the kind of run is None, expected a name"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("mistake", "said"), MISTAKES)
def test_a_mistake_is_named(mistake: Callable[[], Any], said: str) -> None:
    with pytest.raises(hw.HomewardError, match=said):
        mistake()


def test_a_report_on_a_world_says_nothing_of_estimates() -> None:
    told = str(hw.check_world(lambda: hw.ModelWorld(MODEL), BELIEF, steps=50))
    assert told.startswith("ModelWorld: nothing wrong in 50 steps. Checked: state, ended, look")
    assert told.endswith("observations, the same world again.")
