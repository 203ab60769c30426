"""The setup of an exploration: belief, world, planner, and the agent that explores.

A `PlanningAgent` plans with the planner of the problem: by `Explorer` or by Algorithm 1, with its
own bonus or the problem's, with or without the criteria. All explorers of a kind, safe and unsafe,
are such agents. An `ActingAgent` runs an `Agent`, which chooses its actions itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from homeward.errors import InvalidProblemError

if TYPE_CHECKING:
    from homeward.agents.agent import Agent
    from homeward.beliefs import Belief
    from homeward.bonuses import Bonus
    from homeward.planning.algorithm1 import Planner
    from homeward.planning.explorer import Loop
    from homeward.planning.proposals import MoveSearch
    from homeward.worlds import World


@dataclass(frozen=True, slots=True)
class PlanningAgent:
    """An agent that plans with the planner of the problem.

    Attributes
    ----------
    paper
        Whether it follows the paper's Algorithm 1 instead of `Explorer`.
    safe
        Whether it keeps the criteria of the problem.
    naive
        Whether it keeps the criteria on the mean model only, which proves nothing.
    bonus
        The bonus that it collects; None for the bonus of the problem.
    search
        The class of the search for the next proposal; None for the default search.
    """

    paper: bool = False
    safe: bool = True
    naive: bool = False
    bonus: Bonus | None = None
    search: type[MoveSearch] | None = None

    @property
    def promise(self) -> Literal["run", "plan"] | None:
        """Whether a safety level holds for the run or for each plan; None if nothing is proven."""
        if not self.safe or self.naive:
            return None
        return "plan" if self.paper else "run"

    def planner(self, planner: Planner, plan_bonus: Bonus | None) -> Planner:
        """Return the planner of this agent, given the planner of the problem."""
        changes: dict[str, Any] = {}
        if self.bonus is not None:
            changes["bonus"] = self.bonus
        elif self.paper and plan_bonus is not None:
            changes["bonus"] = plan_bonus
        if not self.safe:
            changes["criteria"] = ()
        if self.naive:
            from homeward.beliefs.corrections import Correction

            changes["correction"] = Correction.NAIVE
        if self.promise != "run" and planner.sampled is not None:
            changes["sampled"] = None
        return replace(planner, **changes) if changes else planner

    def loop(self, setup: Setup) -> Loop:
        """Return an explorer that has not yet taken a step."""
        given = setup.planner, setup.belief, setup.world
        if self.paper:
            from homeward.planning.paper import PaperExplorer

            return PaperExplorer(*given, strict=setup.strict)
        from homeward.planning.explorer import Explorer

        explorer = Explorer(*given, strict=setup.strict, floor=setup.floor)
        if self.search is not None:
            from homeward.planning.proposals import MoveSearch

            ours = explorer.rules.search
            if not isinstance(ours, MoveSearch):
                raise InvalidProblemError(
                    "an agent with its own search needs a move-or-stay model without rewards"
                )
            explorer.rules.search = self.search(ours.bonus, ours.floor, ours.allowed)
        return explorer


@dataclass(frozen=True, slots=True)
class ActingAgent:
    """An agent that chooses its actions itself, and promises nothing."""

    name: str
    make: Callable[[], Agent]
    paper: bool = False
    safe: bool = False
    promise: None = None

    def planner(self, planner: Planner, plan_bonus: Bonus | None) -> Planner:
        """Return the planner without criteria; the agent does not plan with it."""
        return replace(planner, criteria=(), sampled=None)

    def loop(self, setup: Setup) -> Loop:
        """Return a loop that has not yet taken a step."""
        from homeward.agents.agent import AgentLoop

        given = setup.planner, setup.belief, setup.world, self.name, self.make
        return AgentLoop(*given, setup.seed)


OURS = PlanningAgent()  # `Explorer`: the most gain per step, with a way home over the whole run
PAPER = PlanningAgent(paper=True)  # the paper's Algorithm 1


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """Everything that an exploration starts from."""

    planner: Planner  # the bonus and the criteria of the problem, changed by `agent`
    belief: Belief  # the belief before the first observation
    world: World  # the same actions must give the same observations: random numbers have a seed
    limit: int  # maximum number of steps
    strict: bool = False  # raise if no action meets every level
    agent: PlanningAgent | ActingAgent = OURS  # who explores
    floor: float | None = None  # gain per step below which `Explorer` ends; None for its default
    plan_bonus: Bonus | None = None  # bonus of Algorithm 1 if it differs from the planner's
    seed: int = 0  # seed of the agent's random numbers

    def __post_init__(self) -> None:
        object.__setattr__(self, "planner", self.agent.planner(self.planner, self.plan_bonus))
        if isinstance(self.agent, PlanningAgent) and not self.agent.paper:
            from homeward.planning.move_form import belief_of_run

            # So that a replay plans with the same form of the belief as the explorer.
            planned = belief_of_run(self.belief, self.planner.criteria)
            object.__setattr__(self, "belief", planned)

    def explorer(self) -> Loop:
        """Return an explorer that has not yet taken a step."""
        return self.agent.loop(self)
