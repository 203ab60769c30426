"""Small stories with answers that can be derived by hand, one for each criterion.

All use γ = ½, so that the recall comes with probability ½ before every step, or a recall at a fixed
step. A case has the exact values of a few policies, criterion against exploration value, and the
planner's answer. ``docs/criteria.md`` derives the numbers; the tests compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homeward.beliefs import FiniteBelief
from homeward.models import Moves
from homeward.paper.figures.criteria import Dot, Picture, Plane
from homeward.paper.figures.stories import Graph
from homeward.planning.planner import Planner
from homeward.safety import EarnAtLeast, ReturnHome, ReturnWithin, StayInside
from homeward.safety.problem import pose
from homeward.solvers import engine_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homeward.arrays import FloatArray, IntArray
    from homeward.paper.figures.criteria import Side
    from homeward.planning.plan import Plan
    from homeward.safety import Criterion

DISCOUNT = 0.5

GO = ("stay", "go")
WORK = ("work", "go")


def ridge() -> FiniteBelief:
    """Return a camp and a ridge: the way up is sure, the way down exists in half of the worlds."""
    dest = np.array([[0, 1], [1, 0]])
    downs = (np.ones((2, 2)), np.array([[1.0, 1.0], [1.0, 0.0]]))
    return FiniteBelief(
        [Moves(dest, down, state_names=("camp", "ridge"), action_names=GO) for down in downs]
    )


def hut() -> FiniteBelief:
    """Return a hut that is one uncertain move from home, or two sure moves over the pass."""
    dest = np.array([[0, 1, 0], [1, 0, 2], [2, 0, 2]])
    doubtful = np.ones((3, 3))
    doubtful[1, 1] = 0.0
    names, actions = ("home", "hut", "pass"), ("stay", "go", "up")
    reward = np.array([[0.0, 0.0, -np.inf], [0.0, 0.0, 0.0], [0.0, 0.0, -np.inf]])
    return FiniteBelief(
        [Moves(dest, works, reward, names, actions) for works in (np.ones((3, 3)), doubtful)]
    )


def crater(actions: tuple[str, str] = GO) -> FiniteBelief:
    """Return a camp and a crater without a way back."""
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
    policies: Mapping[str, tuple[IntArray, Side]]  # [S] or [n, S], and its label's side
    axes: tuple[str, str]  # axis labels
    recall: int | None = None  # step of the recall; None: at any step

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
        asked = [c.require(situation, totals[1 + k]) for k, c in enumerate(self.criteria)]
        engine = engine_for(pose(model, DISCOUNT, 0, totals, asked, steps=self.recall).problem)
        found = {}
        for name, (policy, _) in self.policies.items():
            value = engine.evaluate(np.asarray(policy, np.int32))[:, 0].copy()
            for k, requirement in enumerate(asked, start=1):
                value[k] = requirement.least + requirement.unit * value[k]
            found[name] = value
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Story:
    """Example of a criterion, in a world of two or three states."""

    name: str  # name of its picture
    title: str
    words: str
    worlds: tuple[str, ...]  # title of each world
    cases: tuple[Case, ...]
    outside: frozenset[int] = frozenset()  # states that are shaded


STAY, LEAVE = np.array([0, 0]), np.array([1, 0])
HOME, WORTH = "chance of a way home when called off", "worth of exploring"
IN_SET, EARNED = "chance of having stayed inside", "expected total earned"
HALVES = ("half of the worlds", "the other half")


def over(steps: int, policy: IntArray) -> IntArray:
    """Return a policy [S] repeated for a number of steps, [n, S]."""
    return np.tile(policy, (steps, 1))


def stories() -> tuple[Story, ...]:
    """Return all stories."""
    visit: dict[str, tuple[IntArray, Side]]
    visit = {"never go": (STAY, "right"), "go and stay": (LEAVE, "left")}
    work: dict[str, tuple[IntArray, Side]]
    work = {"always work": (STAY, "right"), "go at once": (LEAVE, "above")}
    half = (EarnAtLeast(1.9, AT_WORK), EarnAtLeast(0.5, 1.0 - AT_WORK))
    return (
        Story(
            "return",
            "Return home",
            "Staying on the ridge is worth 1 a step. Up is sure; down is not.",
            HALVES,
            (Case("asked for 0.9", ridge(), ON_RIDGE, (ReturnHome(0.9),), visit, (HOME, WORTH)),),
        ),
        Story(
            "within",
            "Return within H steps",
            "Staying in the hut is worth 1 a step. The short way home is doubtful.",
            HALVES,
            tuple(
                Case(
                    f"H = {steps}, asked for 0.9",
                    hut(),
                    IN_HUT,
                    (ReturnWithin(steps, 0.9),),
                    {
                        "never go": (np.array([0, 0, 0]), "right"),
                        "go and stay": (np.array([1, 0, 0]), "left" if steps == 1 else "right"),
                    },
                    ("chance to be home in time", WORTH),
                )
                for steps in (1, 2)
            ),
        ),
        Story(
            "inside",
            "Stay inside a set",
            "A step in the crater is worth 1. Acting there leaves the set; being there does not.",
            ("the world; grey is outside",),
            tuple(
                Case(
                    title, crater(), IN_CRATER, (StayInside(allowed, 0.9),), visit, (IN_SET, WORTH)
                )
                for title, allowed in (
                    ("the crater is outside", INSIDE),
                    ("and so is the step down", BEFORE_THE_EDGE),
                )
            ),
            frozenset({1}),
        ),
        Story(
            "earn",
            "Earn at least",
            "Work in camp pays 1 a step; the crater is only worth seeing, 1 a step.",
            ("the world",),
            (
                Case(
                    "a total of 1",
                    crater(WORK),
                    IN_CRATER,
                    (EarnAtLeast(1.0, AT_WORK),),
                    work,
                    (EARNED, WORTH),
                ),
            ),
        ),
        Story(
            "conflict",
            "Several at once, and too much",
            "1.9 from work in camp and 0.5 from everything else can't both be had.",
            ("the world",),
            (
                Case(
                    "both asked for",
                    crater(WORK),
                    IN_CRATER,
                    half,
                    work,
                    ("earned from work", "earned from the rest"),
                ),
            ),
        ),
        Story(
            "recall",
            "When the call comes at a fixed step",
            "The crater again, without a way back; a step in it is worth 1.",
            ("the world",),
            (
                Case(
                    "3 steps, a way home at 0.5",
                    crater(),
                    IN_CRATER,
                    (ReturnHome(0.5),),
                    _visits(3),
                    ("chance of a way home", WORTH),
                    3,
                ),
                Case(
                    "2 steps, inside at 0.9",
                    crater(),
                    IN_CRATER,
                    (StayInside(INSIDE, 0.9),),
                    _visits(2),
                    (IN_SET, WORTH),
                    2,
                ),
                Case(
                    "4 steps, a total of 2 from work",
                    crater(WORK),
                    IN_CRATER,
                    (EarnAtLeast(2.0, AT_WORK),),
                    {
                        "always work": (over(4, STAY), "right"),
                        "go at once": (over(4, LEAVE), "above"),
                        "work twice, go": (np.array([STAY, STAY, LEAVE, LEAVE]), "left"),
                    },
                    (EARNED, WORTH),
                    4,
                ),
            ),
            frozenset({1}),
        ),
    )


def _visits(steps: int) -> dict[str, tuple[IntArray, Side]]:
    return {"never go": (over(steps, STAY), "right"), "go at once": (over(steps, LEAVE), "above")}


def picture_of(story: Story) -> Picture:
    """Return the picture of a story for `homeward.paper.figures.criteria`."""
    graphs = [
        Graph(name, world, 0, story.outside)
        for name, world in zip(story.worlds, story.cases[0].belief.worlds, strict=True)
    ]
    planes = tuple(_plane(case) for case in story.cases)
    return Picture(story.title, story.words, tuple(graphs), planes)


def _plane(case: Case) -> Plane:
    """Return the plane of a case: criterion against value, or against the second criterion."""
    plan = case.plan()
    two = len(case.criteria) > 1
    dots = tuple(
        Dot(name, float(v[1]), float(v[2] if two else v[0]), case.policies[name][1])
        for name, v in case.values().items()
    )
    levels = [c.level for c in plan.criteria]
    best = None if two else (plan.bounds[0], plan.exploration_value)
    return Plane(case.title, case.axes, dots, levels[0], levels[1] if two else None, best)


def rows() -> list[dict[str, object]]:
    """Return every number of the stories as a table."""
    found: list[dict[str, object]] = []
    for story in stories():
        for case in story.cases:
            plan = case.plan()
            answer = "conflict" if plan.conflict else f"{plan.exploration_value:.6g}"
            found += [
                {
                    "story": story.title,
                    "case": case.title,
                    "policy": name,
                    "worth": f"{value[0]:.6g}",
                    "keeps": ", ".join(f"{x:.6g}" for x in value[1:]),
                    "best": answer,
                }
                for name, value in case.values().items()
            ]
    return found
