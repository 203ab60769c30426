"""The paper's Algorithm 1: one constrained optimum a step, its safest share taken.

Every plan promises δ of itself, from where it is made; the run promises nothing, and may go to and
fro for ever (``docs/theory.md``, section 6). It is what reproductions use.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from homeward.errors import InfeasibleError
from homeward.models import Moves
from homeward.planning.explorer import End, Loop, Step
from homeward.safety import StayInside
from homeward.solvers import Status

if TYPE_CHECKING:
    from homeward.arrays import FloatArray
    from homeward.beliefs import Belief
    from homeward.planning.plan import Plan
    from homeward.planning.planner import Planner
    from homeward.worlds import World

FRUITLESS = 100
"""Infeasible plans in a row that an explorer follows although they lead nowhere new."""

SAME = 1e-12
"""Chances that differ by less than this are the same but for rounding."""


class PaperExplorer(Loop):
    """Follows the paper's Algorithm 1 through a world, learning as it goes.

    Where no policy keeps the level it follows the safest one and the plan's status says so, until
    that has led nowhere new for `FRUITLESS` steps. With `strict` it raises `InfeasibleError`
    instead, whenever something is left to explore and the action would not keep every level.
    """

    def __init__(
        self, planner: Planner, belief: Belief, world: World, *, strict: bool = False
    ) -> None:
        super().__init__(planner, belief, world, strict=strict)
        self._fruitless = 0  # infeasible plans in a row without progress
        self._met: frozenset[int] = frozenset()  # where they were made
        self._learned: FloatArray | None = None  # the chances of the mean model then
        self._sets = tuple(c for c in planner.criteria if isinstance(c, StayInside))

    def step(self) -> Step | None:
        """Take one turn, or set `end` and take none."""
        began = time.perf_counter()
        plan = self._wanted()
        seconds = time.perf_counter() - began
        if plan is None:
            return None
        observation = self.world.act(plan.action)
        self.belief = self.belief.update(observation)
        self.steps += 1
        return Step(self.steps, plan, observation, self.world.state, seconds=seconds)

    def _wanted(self) -> Plan | None:
        """Plan what is worth doing, or set `end`."""
        state = self.world.state
        if self._is_outside(state):
            self.end = End.OUTSIDE
            return None
        plan = self.planner.plan(self.belief, state, self.start, self.plan)
        self.plan = plan
        infeasible = plan.status is Status.INFEASIBLE
        self.count_fruitless(infeasible)
        if not plan.bonus_left:
            self.end = End.ALL_SEEN
        elif infeasible:
            over = plan.waits or self._fruitless > FRUITLESS
            self.end = End.INFEASIBLE if over else None
        elif plan.worthless:
            self.end = End.ALL_SAFE_SEEN if plan.criteria else End.OUT_OF_REACH
        elif plan.waits:
            gamble = any(e.weight > 0 for e in plan.evidence if e.action != plan.action)
            calm = End.ALL_SAFE_SEEN if plan.criteria else End.OUT_OF_REACH
            self.end = End.ONLY_BY_CHANCE if gamble else calm
        if self.strict and not plan.keeps_all and self.end in (None, End.INFEASIBLE):
            self.end = End.INFEASIBLE
            raise InfeasibleError(_refusal(plan))
        return plan if self.end is None else None

    def count_fruitless(self, infeasible: bool) -> None:
        """Count an infeasible plan where one was made before, with nothing learned since.

        Any other plan starts the count again.
        """
        state = self.world.state
        if not infeasible:
            self._fruitless, self._met, self._learned = 0, frozenset(), None
            return
        model = self.belief.mean()
        chances = model.success if isinstance(model, Moves) else model.transitions.data
        before = self._learned
        if before is None or before.shape != chances.shape or abs(before - chances).max() > SAME:
            self._met, self._learned = frozenset(), chances
        self._fruitless = self._fruitless + 1 if state in self._met else 0
        self._met |= {state}

    def _is_outside(self, state: int) -> bool:
        """Return whether a step has led where no action belongs to a set to stay inside.

        A run that starts there is a problem wrongly posed, which the planner refuses.
        """
        for criterion in self._sets if self.steps else ():
            allowed = criterion.allowed[state]
            if criterion.allowed.ndim == 2:
                allowed = allowed & np.isfinite(self.belief.mean().reward[state])
            if not allowed.any():
                return True
        return False


def _refusal(plan: Plan) -> str:
    """Return which levels an action does not keep, and which can't be kept together, as text."""
    kept = ", ".join(
        f"{c.name} at {c.level:g} (this one {c.kept_bound:.4f})" for c in plan.criteria
    )
    said = f"no one action in {plan.state_name(plan.state)} keeps {kept}"
    if len(plan.criteria) > 1 and plan.conflict:
        names = [f"{plan.criteria[k].name} at {plan.criteria[k].level:g}" for k in plan.conflict]
        said += f"; no policy keeps {' and '.join(names)}"
        said += " together" if len(names) > 1 else ", even alone"
    return said
