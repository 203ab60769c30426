"""The explorer: plan, act, observe, update. The paper's Algorithm 1 as a loop over any world."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from homeward.errors import InfeasibleError
from homeward.models import Moves
from homeward.planning.budget import Holding, Treasurer
from homeward.safety import StayInside
from homeward.solvers import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homeward.arrays import FloatArray
    from homeward.beliefs import Belief
    from homeward.planning.budget import Budget
    from homeward.planning.plan import Plan
    from homeward.planning.planner import Planner


FRUITLESS = 100
"""Infeasible plans in a row that an explorer follows although they lead nowhere new."""

SAME = 1e-12
"""Chances that differ by less than this are the same but for rounding."""


class World(Protocol):
    """The real thing: answers an action with an observation."""

    @property
    def state(self) -> int:
        """Where the explorer is."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the explorer is lost: nothing it does matters any more."""
        ...

    def look(self) -> Any:
        """Give what can be seen before the first action, as an observation for the belief."""
        ...

    def act(self, action: int) -> Any:
        """Take an action and give what was observed."""
        ...


class End(StrEnum):
    """Why an exploration ended."""

    ALL_SEEN = "nothing is left to explore"
    ALL_SAFE_SEEN = "all that is safe is seen"
    OUT_OF_REACH = "what is left is out of reach"
    ONLY_BY_CHANCE = "the rest would take a gamble"
    LOST = "the world ended it"
    INFEASIBLE = "no policy keeps the safety level"
    OUTSIDE = "the set to stay inside was left"
    BUDGET = "what is left to explore is beyond the budget, and home is reached"
    STRANDED = "what is left to explore is beyond the budget, and the way home is blocked"
    STEPS = "the step limit was reached"


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One turn of the loop."""

    number: int
    plan: Plan
    observation: Any
    state: int  # after the action
    holding: Holding | None = None  # after the action, if there is a budget


class Explorer:
    """Follows a planner through a world, learning as it goes.

    Where no policy keeps the level it follows the safest one and the plan's status says so, until
    that has led nowhere new for `FRUITLESS` steps. With `strict` it raises `InfeasibleError`
    instead, whenever something is left to explore and the action would not keep every level.

    With a `budget` the whole run keeps a way to its start: `holding` says which and how surely.
    Once an action costs more than is left, it walks that way home, which costs nothing, and ends.
    """

    def __init__(
        self,
        planner: Planner,
        belief: Belief,
        world: World,
        *,
        strict: bool = False,
        budget: Budget | None = None,
    ) -> None:
        self.planner = planner
        self.world = world
        self.start = world.state
        self.belief: Belief = belief.update(world.look())
        self.strict = strict
        self.plan: Plan | None = None  # the last one
        self.end: End | None = None
        self.steps = 0
        self.holding: Holding | None = None  # with a budget
        self._treasurer: Treasurer | None = None
        if budget is not None:
            self._treasurer = Treasurer(budget, planner, self.start)
            self.planner = self._treasurer.planner
            self.holding = Holding.at_home(self.belief.mean().states)
        self._fruitless = 0  # infeasible plans in a row without progress
        self._met: frozenset[int] = frozenset()  # where they were made
        self._learned: FloatArray | None = None  # the chances of the mean model then
        self._sets = tuple(c for c in planner.criteria if isinstance(c, StayInside))

    def explore(self, limit: int) -> Iterator[Step]:
        """Yield the steps as they are taken, until there is a reason to end or `limit` is met.

        A limit can be raised: call again with a higher one to go on.
        """
        if self.end is End.STEPS:
            self.end = None
        while self.end is None:
            if self.world.ended:
                self.end = End.LOST
            elif self.steps >= limit:
                self.end = End.STEPS
            else:
                step = self.step()
                if step is not None:
                    yield step

    def step(self) -> Step | None:
        """Take one turn, or set `end` and take none."""
        treasurer, holding = self._treasurer, self.holding
        plan: Plan | None = None
        if treasurer is None or holding is None:
            plan = self._wanted()
        elif holding.homing:
            plan = self._homeward(treasurer, holding)
        else:
            treasurer.divide(holding)
            plan = self._wanted()
            if plan is not None:
                after = treasurer.afford(holding, self.belief, plan)
                self.holding = holding if after is None else after
                plan = plan if after is not None else self._homeward(treasurer, holding)
        if plan is None:
            return None
        self.plan = plan
        observation = self.world.act(plan.action)
        self.belief = self.belief.update(observation)
        self.steps += 1
        state = self.world.state
        if treasurer is not None and self.holding is not None:
            self.holding = treasurer.after(self.holding, self.belief, state)
        return Step(self.steps, plan, observation, state, self.holding)

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

    def _homeward(self, treasurer: Treasurer, holding: Holding) -> Plan | None:
        """Plan the next step of the way home that is held, or set `end`."""
        state = self.world.state
        found = treasurer.lead(holding, self.belief, state, self.plan)
        if found is None:
            self.end = End.BUDGET if state == self.start else End.STRANDED
            return None
        plan, self.holding = found
        return plan

    def _is_outside(self, state: int) -> bool:
        """Tell whether a step has led where no action belongs to a set to stay inside.

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
    """Say which levels an action does not keep, and which can't be kept together."""
    kept = ", ".join(
        f"{c.name} at {c.level:g} (this one {c.kept_bound:.4f})" for c in plan.criteria
    )
    said = f"no one action in {plan.state_name(plan.state)} keeps {kept}"
    if len(plan.criteria) > 1 and plan.conflict:
        names = [f"{plan.criteria[k].name} at {plan.criteria[k].level:g}" for k in plan.conflict]
        said += f"; no policy keeps {' and '.join(names)}"
        said += " together" if len(names) > 1 else ", even alone"
    return said
