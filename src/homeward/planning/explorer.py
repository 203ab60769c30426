"""The explorer: a loop of plan, act, observe and update in any world.

It maximises information per step and pursues each proposal until it learns something. Its guarantee
is for the whole run: at every recall, it can come home with probability at least δ (`guide`,
`rate`, `ledger`). If the model has rewards and no information is worth its steps, it earns as much
as it can without additional risk. `paper.PaperExplorer` is the paper's Algorithm 1, whose guarantee
is for a single plan.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

from homeward.arrays import index, number
from homeward.beliefs.base import mean_of, need_belief, updated
from homeward.beliefs.observations import Transition
from homeward.beliefs.refutation import learned
from homeward.errors import InfeasibleError, InvalidProblemError
from homeward.html import card
from homeward.words import why_ended

if TYPE_CHECKING:
    from homeward.beliefs import Belief
    from homeward.planning.algorithm1 import Planner
    from homeward.planning.guide import Decision
    from homeward.planning.plan import Plan
    from homeward.planning.promise import Held
    from homeward.worlds import World


class End(StrEnum):
    """Why an exploration ended; `words.ENDS` has the sentence for each code.

    Old records have a sentence instead of a code; ``End(sentence)`` converts it.
    """

    ALL_SEEN = "all_seen"
    ALL_SAFE_SEEN = "all_safe_seen"
    OUT_OF_REACH = "out_of_reach"
    TOO_LITTLE = "too_little"
    ONLY_BY_CHANCE = "only_by_chance"
    BUDGET = "budget"
    NOT_LEARNING = "not_learning"
    LOST = "lost"
    INFEASIBLE = "infeasible"
    OUTSIDE = "outside"
    HOME = "home"  # a run with limits, such as energy: the explorer is back home
    OUT_OF_RANGE = "out_of_range"  # a run with limits: no way home is within what is left of them
    STEPS = "steps"
    REFUTED = "refuted"  # what happened contradicts the belief, so nothing is promised any more
    STUCK = "stuck"  # only in studies: the rover can't leave its cell


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step of the loop.

    Attributes
    ----------
    number : int
        Number of the step, from 1.
    plan : Plan
        The plan whose action was taken.
    observation : Any
        The observation that the world returned after the action.
    state : int
        The state after the action.
    held : Held, optional
        State of the run after the action; None for the paper's explorer.
    seconds : float
        Time to decide, in seconds.
    """

    number: int
    plan: Plan
    observation: Any
    state: int
    held: Held | None = None
    seconds: float = 0.0

    def __str__(self) -> str:
        plan = self.plan
        done = f"{plan.action_name(plan.action)} in {plan.state_name(plan.state)}"
        return f"Step {self.number}: {done}, then {plan.state_name(self.state)}."


PARTS = {
    "planner": ("a Planner", ("plan", "criteria")),
    "belief": ("a belief such as FiniteBelief", ("mean", "update")),
    "world": ("a world such as ModelWorld", ("state", "ended", "look", "act")),
}
"""The expected type of each argument of a loop, and the members that it must have."""


def check_parts(*parts: object) -> None:
    """Raise unless the arguments are a planner, a belief and a world, in this order."""
    for part, (name, (expected, members)) in zip(parts, PARTS.items(), strict=True):
        if isinstance(part, type) or not all(hasattr(part, member) for member in members):
            what = "None" if part is None else f"a {type(part).__name__}"
            if isinstance(part, type):
                what = f"the class {part.__name__}"
            raise InvalidProblemError(
                f"{name} is {what}, expected {expected}, with {', '.join(members)}"
            )


class Loop(ABC):
    """The loop of plan, act, observe and update, until there is a reason to end.

    Attributes
    ----------
    acts_again
        Whether a resumed run makes every decision again. It must if a record does not hold
        everything that the next decision depends on.
    """

    acts_again = False

    def __init__(self, planner: Planner, belief: Belief, world: World, *, strict: bool) -> None:
        check_parts(planner, belief, world)
        self.planner = planner
        self.world = world
        self.belief: Belief = updated(need_belief(belief), world.look())
        self._states = mean_of(self.belief).states
        self.start = self.here
        self.strict = strict
        self.plan: Any = None  # the last plan, or its warm start
        self.end: End | None = None
        self.refuted = False  # whether what happened contradicts the belief
        self.steps = 0
        self.held: Held | None = None
        self.decision: Decision | None = None

    @property
    def here(self) -> int:
        """The current state of the world; raises if the belief has no such state."""
        return index(self.world.state, self._states, "the state of the world", InvalidProblemError)

    def explore(self, limit: int) -> Iterator[Step]:
        """Yield each step after it was taken, until the run ends or has `limit` steps.

        A run that ended at its limit goes on if this is called again with a higher limit.
        """
        if number(limit, "the limit", InvalidProblemError) < 0.0 or limit % 1.0 > 0.0:
            raise InvalidProblemError(f"the limit is {limit:g}, expected a whole number of steps")
        if self.end is End.STEPS:
            self.end = None
        while self.end is None:
            if self.world.ended:
                self.end = End.LOST
            elif self.refuted:
                self.end = End.REFUTED
            elif self.steps >= limit:
                self.end = End.STEPS
            else:
                step = self.step()
                if step is not None:
                    yield step

    def learn(self, observation: Any, moved: Transition | None = None) -> None:
        """Update the belief by an observation, and by the move before it; note a refuted belief."""
        self.belief, refuted = learned(self.belief, observation, moved)
        self.refuted = self.refuted or refuted

    @abstractmethod
    def step(self) -> Step | None:
        """Take one step and return it; if the run ends, set `end` and return None."""

    def why(self) -> str:
        """Return text: why the run ended, how much gain is left, and what would let it go on."""
        if self.end is None:
            return "It has not ended."
        from homeward.bonuses import unit_of

        rest = (
            None if self.decision is None else self.decision.remainder(unit_of(self.planner.bonus))
        )
        return why_ended(self.end, self.steps, rest)

    def _repr_html_(self) -> str:
        """Return the number of steps and why the run ended, as HTML for notebooks."""
        steps = f"{self.steps:,} step{'' if self.steps == 1 else 's'}"
        return card(f"{type(self).__name__}: {steps}", [self.why()])


class Explorer(Loop):
    """Explores a world with the most information per step, and always keeps a way home.

    Parameters
    ----------
    planner
        The bonus and the criteria. The level of `ReturnHome` is for the whole run, and its home is
        the start or given states.
    belief
        The prior belief.
    world
        The world to explore.
    strict
        If a level can't be met, raise `InfeasibleError` instead of ending the run.
    floor
        Smallest gain per step that is worth pursuing, in the unit of the bonus. The default is
        0.05 nats, 0.001 squares, or max(0.001, 1/(2S)) of the largest bonus.
    """

    def __init__(
        self,
        planner: Planner,
        belief: Belief,
        world: World,
        *,
        strict: bool = False,
        floor: float | None = None,
    ) -> None:
        from homeward.planning.guide import Guide
        from homeward.planning.move_form import belief_of_run

        check_parts(planner, belief, world)
        belief = belief_of_run(belief, planner.criteria)
        super().__init__(planner, belief, world, strict=strict)
        self.guide = Guide(planner, self.start, floor)
        self.held: Held = self.guide.open(self.belief)
        self.advised: Decision | None = None  # decision that was made before its step; see `remote`
        self.driven: list[Transition] = []  # the moves that were tried

    def learn(self, observation: Any, moved: Transition | None = None) -> None:
        """Update the belief and the return policies; a refuted belief has no promise left."""
        belief, refuted = learned(self.belief, observation, moved)
        self.refuted = self.refuted or refuted or self.guide.broke(belief, self.here, self.held)
        if moved is not None:
            self.driven.append(moved)
        if self.refuted:
            self.held = self.guide.refuted(belief, self.here, self.held, self.driven)
        elif self.guide.relearns:
            move = None if moved is None else cast("tuple[int, int, int]", astuple(moved))
            self.held = self.guide.after(belief, self.held, observation, move)
        self.belief = belief

    def step(self) -> Step | None:
        """Take one step and return it; if the run ends, set `end` and return None."""
        began = time.perf_counter()
        decision, self.advised = self.advised, None
        if decision is None:
            decision = self.guide.decide(self.belief, self.here, self.held)
        seconds = time.perf_counter() - began
        self.decision = decision
        if decision.plan is None:
            self.end = decision.end
            if self.strict and self.end is End.INFEASIBLE:
                raise InfeasibleError(self.why())
            return None
        self.plan = decision.plan
        observation = self._act(decision.plan.action, decision.held)
        self.steps += 1
        return Step(self.steps, decision.plan, observation, self.here, self.held, seconds)

    def take(self, action: int) -> Any:
        """Take an action of the user's own choice; return the observation after it.

        It is charged like a decided action. If the levels or limits forbid it, the run has nothing
        left to spend afterwards.
        """
        count = self.belief.mean().actions
        action = index(action, count, "the action", InvalidProblemError)
        held = self.guide.chosen(self.belief, self.here, self.held, action)
        if held is None:
            spent = (replace(promise, spent=1.0) for promise in self.held.promises)
            held = replace(self.held, promises=tuple(spent), proposal=None)
        observation = self._act(action, held)
        if self.refuted and self.end is not None:
            self.end = End.REFUTED
        return observation

    def _act(self, action: int, held: Held) -> Any:
        """Take an action, after which the run's state is `held`; learn from the observation."""
        before = self.here
        observation = self.world.act(action)
        self.held, state = held, self.here
        if self.guide.is_limited:
            self.held = self.guide.attempted(self.held, before, action, state)
        self.learn(observation, Transition(before, action, state))
        return observation
