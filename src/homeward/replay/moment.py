"""A moment of a run: what is known after some steps, and the way home by that knowledge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.beliefs import corrections_of
from homeward.beliefs.corrections import Correction
from homeward.models import Moves
from homeward.solvers import GIVE_UP, ReturnSolution, solve_return

if TYPE_CHECKING:
    from homeward.arrays import IntArray
    from homeward.beliefs import Belief
    from homeward.models import Model
    from homeward.planning.planner import Planner
    from homeward.replay.history import Decisions


@dataclass(frozen=True, eq=False)
class Moment:
    """What an explorer knew after `step` steps, before it planned the next."""

    step: int
    state: int
    belief: Belief
    path: IntArray  # [step + 1] from the start to here
    planner: Planner
    decisions: Decisions | None = None  # None unless the safety level is the whole run's

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
        """The home of the first criterion that has one, and the way there.

        Without such a criterion, the way to the start.
        """
        held = None if self.decisions is None else self.decisions.returns(self)
        if held is not None:
            return held
        for criterion in self.planner.criteria if self.decisions is None else ():
            if hasattr(criterion, "home"):
                situation = self.planner.situation(self.belief, self.model, self.state, self.start)
                requirement = criterion.require(situation)
                return requirement.home, requirement.returns
        kind = Correction.MOVES if isinstance(self.model, Moves) else Correction.GENERAL
        corrections = corrections_of(self.belief, self.model, self.planner.discount, kind)
        home = np.array([self.start], np.int32)
        return home, solve_return(self.model, corrections.returning, home)

    def way(self, cell: int) -> dict[str, Any]:
        """Return the way home from a cell, edge by edge, as JSON values.

        What an edge takes off the bound is the difference of the values at its ends. On a model
        whose actions have several outcomes there is a bound and no single path.
        """
        home, found = self.returns
        value, policy, model = found.value, found.policy, self.model
        edges: list[dict[str, Any]] = []
        here, ends = cell, set(home.tolist())
        if value[cell] > 0.0 and isinstance(model, Moves):
            while here not in ends and len(edges) < len(value):
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
                        "risk": float(value[there] - value[here]),
                        "left": float(value[there]),
                    }
                )
                here = there
        return {"cell": cell, "bound": float(value[cell]), "home": home.tolist(), "edges": edges}
