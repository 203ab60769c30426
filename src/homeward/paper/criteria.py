"""Small examples of each criterion, whose solutions can be derived by hand.

The recall comes with probability ½ before every step (γ = ½), or at a fixed step. Each case has the
exact values of a few policies, and the planner's solution. ``docs/criteria.md`` derives these
numbers, and tests compare them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs import FiniteBelief
from homeward.criteria import Criterion, EarnAtLeast, ReturnHome, StayInside
from homeward.models import Moves
from homeward.planning.algorithm1 import Planner, pose
from homeward.planning.plan import Plan
from homeward.solvers import engine_for
from homeward.solvers.steps_left import policies_by_state
from homeward.words import at_least

Side: TypeAlias = Literal["left", "right", "above"]
Policies: TypeAlias = "Mapping[str, tuple[IntArray, Side]]"

DISCOUNT = 0.5

GO = ("stay", "go")
WORK = ("work", "go")


def ridge() -> FiniteBelief:
    """Return a belief with a ridge: the way up always works, the way down in one of two worlds."""
    dest = np.array([[0, 1], [1, 0]])
    downs = (np.ones((2, 2)), np.array([[1.0, 1.0], [1.0, 0.0]]))
    return FiniteBelief(
        [Moves(dest, down, state_names=("camp", "ridge"), action_names=GO) for down in downs]
    )


def hut() -> FiniteBelief:
    """Return a belief with a hut: home is one uncertain move away, or two certain moves."""
    dest = np.array([[0, 1, 0], [1, 0, 2], [2, 0, 2]])
    doubtful = np.ones((3, 3))
    doubtful[1, 1] = 0.0
    names, actions = ("home", "hut", "pass"), ("stay", "go", "up")
    reward = np.array([[0.0, 0.0, -np.inf], [0.0, 0.0, 0.0], [0.0, 0.0, -np.inf]])
    return FiniteBelief(
        [Moves(dest, works, reward, names, actions) for works in (np.ones((3, 3)), doubtful)]
    )


def crater(actions: tuple[str, str] = GO) -> FiniteBelief:
    """Return a belief with a camp and a crater; the crater has no way back."""
    dest, names = np.array([[0, 1], [1, 1]]), ("camp", "crater")
    return FiniteBelief([Moves(dest, np.ones((2, 2)), state_names=names, action_names=actions)])


ON_RIDGE = np.array([[0.0, 0.0], [1.0, 0.0]])
IN_HUT = np.array([[0.0] * 3, [1.0, 0.0, 0.0], [0.0] * 3])
IN_CRATER = np.array([[0.0, 0.0], [1.0, 1.0]])
AT_WORK = np.array([[1.0, 0.0], [0.0, 0.0]])
INSIDE = np.array([True, False])
BEFORE_THE_EDGE = np.array([[True, False], [True, True]])


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One planning problem and some policies to compare."""

    title: str
    belief: FiniteBelief
    bonus: FloatArray  # [S, A]
    criteria: tuple[Criterion, ...]
    policies: Policies  # each policy [S] or [n, S], and the side of its label
    keeps: str  # label of the first criterion's axis
    recall: int | None = None  # step of a fixed recall; None for a random recall
    other: str = "exploration value"  # label of the other axis

    def planner(self) -> Planner:
        """Return the planner of this problem."""
        return Planner(lambda _: self.bonus, self.criteria, DISCOUNT, recall=self.recall)

    def plan(self) -> Plan:
        """Return the plan from the first state."""
        return self.planner().plan(self.belief, 0)

    def values(self) -> dict[str, FloatArray]:
        """Return each policy's values [1 + K] from the first state: exploration, then criteria."""
        planner, model = self.planner(), self.belief.mean()
        situation = planner.situation(self.belief, model, 0, 0)
        totals = np.empty((1 + len(self.criteria), model.states, model.actions))
        totals[0] = model.reward + self.bonus
        requirements = [c.require(situation, totals[1 + k]) for k, c in enumerate(self.criteria)]
        problem = pose(model, DISCOUNT, 0, totals, requirements, steps=self.recall).problem
        engine, found = engine_for(problem), {}
        for name, (given, _) in self.policies.items():
            policy: IntArray = np.asarray(given, np.int32)
            policy = policy if self.recall is None else policies_by_state(policy)
            value = engine.evaluate(policy)[:, problem.start].copy()
            for k, requirement in enumerate(requirements, start=1):
                value[k] = requirement.least + requirement.unit * value[k]
            found[name] = value
        return found


@dataclass(frozen=True, slots=True, eq=False)
class CriterionExample:
    """An example of a criterion, in a world of two or three states."""

    name: str  # file name of its picture
    title: str
    words: str
    worlds: tuple[str, ...]  # title of each world
    cases: tuple[Case, ...]
    outside: frozenset[int] = frozenset()  # states that are shaded


STAY, LEAVE = np.array([0, 0]), np.array([1, 0])
IN_SET, EARNED = "probability of staying inside", "expected total of rewards"
HALVES = ("half of the worlds", "the other half")
VISIT: Policies = {"never go": (STAY, "right"), "go and stay": (LEAVE, "left")}
EARN: Policies = {"always work": (STAY, "right"), "go at once": (LEAVE, "above")}


def repeat_policy(steps: int, policy: IntArray) -> IntArray:
    """Return a policy [S] repeated for a number of steps, [n, S]."""
    return np.tile(policy, (steps, 1))


def stories() -> tuple[CriterionExample, ...]:
    """Return the example of each criterion."""
    home, work = "probability of returning after the recall", crater(WORK)
    return (
        CriterionExample(
            "return",
            "Return home",
            "Each step on the ridge earns 1. Going up always works; going down may not.",
            HALVES,
            (Case("required: 0.9", ridge(), ON_RIDGE, (ReturnHome(0.9),), VISIT, home),),
        ),
        CriterionExample(
            "within",
            "Return within H steps",
            "Each step in the hut earns 1. The short way home may not work.",
            HALVES,
            (_in_time(1, "left"), _in_time(2, "right")),
        ),
        CriterionExample(
            "inside",
            "Stay inside a set",
            "Each step in the crater earns 1. Acting there leaves the set; being there does not.",
            ("the world; grey is outside",),
            tuple(
                Case(title, crater(), IN_CRATER, (StayInside(allowed, 0.9),), VISIT, IN_SET)
                for title, allowed in (
                    ("the crater is outside", INSIDE),
                    ("and so is the step down", BEFORE_THE_EDGE),
                )
            ),
            frozenset({1}),
        ),
        CriterionExample(
            "earn",
            "Earn at least",
            "Each step of work in camp pays 1; each step in the crater has exploration value 1.",
            ("the world",),
            (Case("a total of 1", work, IN_CRATER, (EarnAtLeast(1.0, AT_WORK),), EARN, EARNED),),
        ),
        CriterionExample(
            "conflict",
            "Several criteria that conflict",
            "No policy earns both 1.9 from work in camp and 0.5 from everything else.",
            ("the world",),
            (
                Case(
                    *("both required", work, IN_CRATER),
                    (EarnAtLeast(1.9, AT_WORK), EarnAtLeast(0.5, 1.0 - AT_WORK)),
                    *(EARN, "earned from work"),
                    other="earned from the rest",
                ),
            ),
        ),
        CriterionExample(
            "recall",
            "Recall at a fixed step",
            "The crater again, without a way back; each step in it earns 1.",
            ("the world",),
            (
                _recalled(3, "return at 0.5", ReturnHome(0.5), "probability of returning"),
                _recalled(2, "inside at 0.9", StayInside(INSIDE, 0.9), IN_SET),
                Case(
                    *("4 steps, a total of 2 from work", work, IN_CRATER),
                    (EarnAtLeast(2.0, AT_WORK),),
                    {
                        "always work": (repeat_policy(4, STAY), "right"),
                        "go at once": (repeat_policy(4, LEAVE), "above"),
                        "work twice, go": (np.array([STAY, STAY, LEAVE, LEAVE]), "left"),
                    },
                    *(EARNED, 4),
                ),
            ),
            frozenset({1}),
        ),
    )


def _in_time(steps: int, side: Side) -> Case:
    """Return the case of a return within a number of steps."""
    policies: Policies = {
        "never go": (np.array([0, 0, 0]), "right"),
        "go and stay": (np.array([1, 0, 0]), side),
    }
    title, criteria = f"H = {steps}, required: 0.9", (ReturnHome(0.9, within=steps),)
    return Case(title, hut(), IN_HUT, criteria, policies, "probability of returning in time")


def _recalled(steps: int, title: str, criterion: Criterion, keeps: str) -> Case:
    """Return the case of a recall after a fixed number of steps, with one criterion."""
    policies: Policies = {
        "never go": (repeat_policy(steps, STAY), "right"),
        "go at once": (repeat_policy(steps, LEAVE), "above"),
    }
    title = f"{steps} steps, {title}"
    return Case(title, crater(), IN_CRATER, (criterion,), policies, keeps, steps)


def rows() -> list[dict[str, object]]:
    """Return the rows of a table with all numbers of the examples."""
    table: list[dict[str, object]] = []
    for story, case in ((each, case) for each in stories() for case in each.cases):
        plan = case.plan()
        best = "conflict" if plan.conflict else f"{plan.exploration_value:.6g}"
        for name, (worth, *kept) in case.values().items():
            row = {"story": story.title, "case": case.title, "policy": name}
            keeps = ", ".join(at_least(x) for x in kept)
            table.append({**row, "worth": f"{worth:.6g}", "keeps": keeps, "best": best})
    return table
