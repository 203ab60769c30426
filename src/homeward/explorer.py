"""The explorer: plan, act, observe, update. The paper's Algorithm 1 as a loop over any world."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from homeward.errors import InfeasibleError
from homeward.solvers import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homeward.beliefs import Belief
    from homeward.plan import Plan
    from homeward.planner import Planner


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
    STEPS = "the step limit was reached"


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One turn of the loop."""

    number: int
    plan: Plan
    observation: Any
    state: int  # after the action


class Explorer:
    """Follows a planner through a world, learning as it goes.

    Where no policy keeps the level it follows the safest one and the plan's status says so; with
    `strict` it raises `InfeasibleError` instead, whenever the action would not keep every level.
    """

    def __init__(
        self, planner: Planner, belief: Belief, world: World, *, strict: bool = False
    ) -> None:
        self.planner = planner
        self.world = world
        self.start = world.state
        self.belief: Belief = belief.update(world.look())
        self.strict = strict
        self.plan: Plan | None = None  # the last one
        self.end: End | None = None
        self.steps = 0

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
        state = self.world.state
        plan = self.planner.plan(self.belief, state, self.start, self.plan)
        self.plan = plan
        if self.strict and not plan.keeps_all:
            self.end = End.INFEASIBLE
            raise InfeasibleError(
                f"no one action in {plan.state_name(state)} keeps "
                + ", ".join(
                    f"{c.name} at {c.level:g} (this one {c.kept_bound:.4f})" for c in plan.criteria
                )
            )
        if not plan.bonus_left:
            self.end = End.ALL_SEEN
        elif plan.status is Status.INFEASIBLE:
            self.end = End.INFEASIBLE if plan.waits else None
        elif plan.worthless:
            self.end = End.ALL_SAFE_SEEN if plan.criteria else End.OUT_OF_REACH
        elif plan.waits:
            gamble = any(e.weight > 0 for e in plan.evidence if e.action != plan.action)
            calm = End.ALL_SAFE_SEEN if plan.criteria else End.OUT_OF_REACH
            self.end = End.ONLY_BY_CHANCE if gamble else calm
        if self.end is not None:
            return None
        observation = self.world.act(plan.action)
        self.belief = self.belief.update(observation)
        self.steps += 1
        return Step(self.steps, plan, observation, self.world.state)
