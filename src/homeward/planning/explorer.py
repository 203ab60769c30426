"""The explorer: plan, act, observe, update, over any world.

Its plans last until the next news and go where there is most to learn per step; its promise is the
whole run's: whenever it is called off, it can come home with the probability δ of its criterion
(`guide`, `rate`, `ledger`). Where a model earns and nothing is worth learning any more, it earns
what it can at no further risk. The paper's Algorithm 1, whose promise is a single plan's, is
`paper.PaperExplorer`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from homeward.errors import InfeasibleError
from homeward.words import why_ended

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homeward.beliefs import Belief
    from homeward.planning.guide import Decision
    from homeward.planning.held import Held
    from homeward.planning.plan import Plan
    from homeward.planning.planner import Planner
    from homeward.words import Remainder
    from homeward.worlds import World


class End(StrEnum):
    """Why an exploration ended; `words.ENDS` says it in English.

    Records that were written before ends had codes hold a sentence: ``End(sentence)`` is its end.
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
    STEPS = "steps"
    STUCK = "stuck"  # in studies that leave a rover alone once it can't leave its cell

    @classmethod
    def _missing_(cls, value: object) -> End | None:
        return OLD_ENDS.get(value) if isinstance(value, str) else None


OLD_ENDS = {
    "nothing is left to explore": End.ALL_SEEN,
    "all that is safe is seen": End.ALL_SAFE_SEEN,
    "what is left is out of reach": End.OUT_OF_REACH,
    "what is left is not worth the way": End.TOO_LITTLE,
    "the rest would take a gamble": End.ONLY_BY_CHANCE,
    "no single plan was found that goes on and keeps the safety level": End.ONLY_BY_CHANCE,
    "what is left would risk more than the budget has left": End.BUDGET,
    "what is left to explore is beyond the budget, and home is reached": End.BUDGET,
    "what is left to explore is beyond the budget, and the way home is blocked": End.BUDGET,
    "looking does not make the bonus smaller": End.NOT_LEARNING,
    "the world ended it": End.LOST,
    "no policy keeps the safety level": End.INFEASIBLE,
    "the set to stay inside was left": End.OUTSIDE,
    "the step limit was reached": End.STEPS,
    "no move works any more": End.STUCK,
}
"""What records said of an end before it had a code."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One turn of the loop.

    Attributes
    ----------
    number
        Counted from 1.
    plan
        What was decided.
    observation
        What the world answered.
    state
        Where the explorer is after the action.
    held
        What the run holds after it; None for the paper's explorer.
    seconds
        How long it took to decide.
    """

    number: int
    plan: Plan
    observation: Any
    state: int
    held: Held | None = None
    seconds: float = 0.0


class Loop(ABC):
    """Plans, acts, observes and updates until there is a reason to end."""

    def __init__(self, planner: Planner, belief: Belief, world: World, *, strict: bool) -> None:
        self.planner = planner
        self.world = world
        self.start = world.state
        self.belief: Belief = belief.update(world.look())
        self.strict = strict
        self.plan: Any = None  # the last plan, or the warm start that stands for it
        self.end: End | None = None
        self.steps = 0
        self.held: Held | None = None

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

    @abstractmethod
    def step(self) -> Step | None:
        """Take one turn, or set `end` and take none."""

    def why(self) -> str:
        """Return why the run ended, what is left, and what would allow more, in sentences."""
        if self.end is None:
            return "It has not ended."
        return why_ended(self.end, self.steps, self._remainder())

    def _remainder(self) -> Remainder | None:
        """Return what is left where the run ended; None if that is not known."""
        return None


class Explorer(Loop):
    """Follows the best information per step through a world, and keeps a way home all along.

    Parameters
    ----------
    planner
        What is worth seeing and what must stay true. The level of `ReturnHome` is that of the
        whole run, and its home is the start or given states.
    belief
        What is known before the first look.
    world
        What is explored.
    strict
        Raise `InfeasibleError` where a level can't be kept from the start, instead of ending.
    floor
        Gain per step below which nothing is worth doing, in the unit of the bonus. By default
        0.05 nats, a thousandth of a square, or of the largest bonus a thousandth, and in less than
        500 states 1/(2S).
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

        super().__init__(planner, belief, world, strict=strict)
        self.guide = Guide(planner, self.start, floor)
        self.held: Held = self.guide.open(self.belief)
        self.decision: Decision | None = None

    def step(self) -> Step | None:
        """Take one turn, or set `end` and take none."""
        began = time.perf_counter()
        decision = self.guide.decide(self.belief, self.world.state, self.held)
        seconds = time.perf_counter() - began
        self.decision = decision
        if decision.plan is None:
            self.end = decision.end
            if self.strict and self.end is End.INFEASIBLE:
                raise InfeasibleError(self.why())
            return None
        self.plan = decision.plan
        observation = self.world.act(decision.plan.action)
        self.belief = self.belief.update(observation)
        self.steps += 1
        self.held = decision.held
        if self.guide.relearns:
            self.held = self.guide.after(self.belief, self.held)
        state = self.world.state
        return Step(self.steps, decision.plan, observation, state, self.held, seconds)

    def _remainder(self) -> Remainder | None:
        if self.decision is None or self.decision.plan is not None:
            return None
        from homeward.bonuses import unit_of

        return self.decision.remainder(unit_of(self.planner.bonus))
