"""A moment of a run: the belief after a number of steps, and the return policy for this belief."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs import Belief, corrections_of
from homeward.beliefs.corrections import Correction
from homeward.models import Model, Moves
from homeward.planning.explorer import returning_of
from homeward.planning.returning import Goal
from homeward.solvers import GIVE_UP, ReturnSolution, solve_return

if TYPE_CHECKING:
    from homeward.planning.algorithm1 import Planner
    from homeward.replay.history import Decisions


@dataclass(frozen=True, eq=False)
class Moment:
    """The belief of an explorer after `step` steps, before it plans the next step."""

    step: int
    state: int
    belief: Belief
    path: IntArray  # [step + 1] states from the start to `state`
    planner: Planner
    decisions: Decisions | None = None  # None unless the safety level holds for the whole run
    refuted: bool = False  # whether what happened contradicts the belief

    @property
    def start(self) -> int:
        """The run's first state."""
        return int(self.path[0])

    @cached_property
    def model(self) -> Model:
        """The mean model."""
        return self.belief.mean()

    @cached_property
    def returns(self) -> tuple[IntArray, ReturnSolution]:
        """Home states and return policy of the first criterion with a home; else of the start.

        If the belief is refuted, nothing is proven: the value is 0 away from home.
        """
        home, solution = self._returns()
        if not self.refuted:
            return home, solution
        value = np.zeros(len(solution.value))
        value[home] = 1.0
        return home, replace(solution, value=value)

    def _returns(self) -> tuple[IntArray, ReturnSolution]:
        held = None if self.decisions is None else self.decisions.returns(self)
        if held is not None:
            return held
        for criterion in self.planner.criteria if self.decisions is None else ():
            if hasattr(criterion, "home"):
                planner = replace(self.planner, correction=proving(self.planner))
                situation = planner.situation(self.belief, self.model, self.state, self.start)
                requirement = criterion.require(situation)
                return requirement.home, requirement.returns
        corrections = corrections_of(self.belief, self.model, self.planner.discount)
        home = np.array([self.start], np.int32)
        return home, solve_return(self.model, corrections.returning, home)

    @cached_property
    def after(self) -> FloatArray:
        """Lower bound [A] on coming home after each action, for the homes of `returns`."""
        goal = Goal("", self.returns[0].astype(np.int64), 0.0)
        returning = returning_of(goal, self.belief, on_graph=isinstance(self.model, Moves))
        promise = returning.open(self.belief, self.state)
        return returning.options(self.belief, promise, self.state, None).after()

    def way(self, cell: int) -> dict[str, Any]:
        """Return the path home from a cell as JSON values, with the risk of each edge.

        The risk of an edge is the difference between the bounds at its two ends; ``left`` is the
        bound at its second end. If actions have several outcomes, there is no single path, and
        ``edges`` is empty. If the belief is refuted, all bounds away from home are 0, and only the
        way from the present state has edges.
        """
        home, solution = self.returns
        value, policy, model = solution.value, solution.policy, self.model
        edges: list[dict[str, Any]] = []
        here, homes = cell, set(home.tolist())
        if (value[cell] > 0.0 or self.refuted) and isinstance(model, Moves):
            while here not in homes and len(edges) < len(value):
                action = int(policy[here])
                if action == GIVE_UP:
                    break
                there = int(model.dest[here, action])
                edges.append(
                    {
                        "from": here,
                        "to": there,
                        "action": action,
                        "success": float(model.success[here, action]),
                        "risk": 1.0 if self.refuted else float(value[there] - value[here]),
                        "left": float(value[there]),
                    }
                )
                here = there
        return {"cell": cell, "bound": float(value[cell]), "home": home.tolist(), "edges": edges}


def proving(planner: Planner) -> Correction | None:
    """Return the planner's correction; None, the tightest that applies, if it proves nothing."""
    return None if planner.correction is Correction.NAIVE else planner.correction


def looks_of(moment: Moment) -> list[float]:
    """Return the bonus [A] of the state that each action leads to.

    The bonus is 0 if actions have several outcomes.
    """
    model = moment.model
    if not isinstance(model, Moves):
        return [0.0] * model.actions
    bonus = np.asarray(moment.planner.bonus(moment.belief)).max(axis=1)
    return [float(value) for value in bonus[model.dest[moment.state]]]
