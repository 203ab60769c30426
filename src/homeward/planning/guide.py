"""The decision of one step of an `Explorer`: from a belief and a state to a plan.

The flow of a step: belief → mean model and risks (`graph`, `returns`) → ways home within each
budget (`ledger`) → proposals (`rate`, `general`) → choice → plan (`pursuit`). `Held` is the state
that a run carries from step to step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from homeward.arrays import number
from homeward.beliefs import DirichletBelief
from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.planning.explorer import End
from homeward.planning.general import GeneralSearch
from homeward.planning.graph import graph_of
from homeward.planning.held import Account, Held
from homeward.planning.ledger import BUDGET_TOLERANCE
from homeward.planning.pursuit import plan_of
from homeward.planning.rate import RateSearch
from homeward.planning.returns import returns_of, way_home_of
from homeward.planning.task import task_of
from homeward.words import Remainder

if TYPE_CHECKING:
    from homeward.beliefs import Belief
    from homeward.models import Model
    from homeward.planning.choice import Limit
    from homeward.planning.ledger import Ledger
    from homeward.planning.plan import Plan
    from homeward.planning.planner import Planner
    from homeward.planning.task import Task

MAX_IDLE_STEPS = 20
"""Most steps per state that a run may take without learning anything."""


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """The outcome of a step's planning.

    Attributes
    ----------
    plan
        What to do and why; None if the run ends.
    held
        State of the run after the action.
    end
        Why the run ends.
    limit
        What is left when the run ends.
    budgets
        The name, the level and the remaining probability of each budget.
    """

    plan: Plan | None
    held: Held
    end: End | None = None
    limit: Limit | None = None
    budgets: tuple[tuple[str, float, float], ...] = ()

    def remainder(self, unit: str | None) -> Remainder | None:
        """Return what is left when the run ends, in `unit`, and the risk of going on."""
        if self.limit is None:
            return None
        return Remainder(self.limit.left, self.limit.rate, unit, self.limit.share, self.budgets)


class Guide:
    """Decides, one step at a time, for an explorer that starts in `start`."""

    def __init__(self, planner: Planner, start: int, floor: float | None = None) -> None:
        if planner.recall is not None:
            raise InvalidProblemError(
                "a recall at a fixed step is the promise of a single plan: use PaperExplorer"
            )
        if (
            floor is not None
            and not 0.0 <= number(floor, "the floor", InvalidProblemError) < np.inf
        ):
            raise InvalidProblemError(f"the floor is {floor:g}, expected 0 or more")
        self.planner = planner
        self.start = start
        self.floor = floor
        self.search: RateSearch | GeneralSearch | None = None  # made from the first belief

    def open(self, belief: Belief) -> Held:
        """Return the state of a run before its first step: a way home from the start is paid."""
        model, correction = belief.mean(), self.planner.correction
        task = self.task(belief, model)
        if task.on_graph and isinstance(model, Moves):
            graph = graph_of(belief, model, correction)
            return Held(tuple(ledger.open(graph, self.start) for ledger in task.ledgers))
        sparse = model.sparse()
        returns = [
            returns_of(belief, sparse, ledger, None, self.start, correction)
            for ledger in task.ledgers
        ]
        return Held(tuple(found.account for found in returns))

    def decide(self, belief: Belief, state: int, held: Held) -> Decision:
        """Return the decision in `state`."""
        model = belief.mean()
        task = self.task(belief, model) if self.search is None else self.search.task
        if task.allowed is not None:
            here = task.allowed[state] & np.isfinite(model.reward[state])
            if not here.any():
                return Decision(None, held, End.OUTSIDE)
        kept = list(zip(task.ledgers, held.accounts, strict=True))
        if any(
            ledger.left(account) == 0.0 < account.spent - 1.0 + ledger.delta - BUDGET_TOLERANCE
            for ledger, account in kept
        ):
            return Decision(None, held, End.INFEASIBLE)
        stalled = held.idle > MAX_IDLE_STEPS * (model.states + 1)
        if isinstance(self.search, RateSearch) and isinstance(model, Moves):
            if stalled:
                return Decision(None, held, End.NOT_LEARNING)
            choice = self.search.choose(belief, model, state, held)
        else:
            general = GeneralSearch(task)
            choice = general.choose(belief, model.sparse(), state, held, learn=not stalled)
        budgets = tuple(
            (ledger.name, ledger.delta, ledger.left(account))
            for ledger, account in zip(task.ledgers, choice.held.accounts, strict=True)
        )
        if choice.proposal is None:
            end = End.NOT_LEARNING if stalled else _end(choice.limit, task)
            return Decision(None, choice.held, end, choice.limit, budgets)
        after = replace(choice.held, accounts=choice.paid, proposal=choice.proposal)
        plan = plan_of(task, model, state, choice, choice.proposal)
        return Decision(plan, after, None, choice.limit, budgets)

    @property
    def relearns(self) -> bool:
        """Whether each observation changes the ways home: only on general models."""
        return not isinstance(self.search, RateSearch)

    def after(self, belief: Belief, held: Held) -> Held:
        """Return the state of the run after the belief was updated by an observation.

        With unknown dynamics, charges assume that ways home are planned on the updated belief.
        """
        if not isinstance(belief, DirichletBelief):
            return held
        correction = self.planner.correction
        ways = [way_home_of(belief, ledger, correction) for ledger in self.ledgers(belief)]
        kept = zip(held.accounts, ways, strict=True)
        return replace(held, accounts=tuple(Account(way, a.spent) for a, way in kept))

    def ledgers(self, belief: Belief) -> tuple[Ledger, ...]:
        """Return the homes that are kept, each with its budget."""
        return self.task(belief, belief.mean()).ledgers

    def task(self, belief: Belief, model: Model) -> Task:
        """Return the run's task, made from its first belief and that belief's mean model."""
        if self.search is None:
            task = task_of(self.planner, belief, model, self.start, self.floor)
            self.search = RateSearch(task) if task.on_graph else GeneralSearch(task)
        return self.search.task


def _end(limit: Limit, task: Task) -> End:
    """Return why there is no proposal."""
    if limit.left <= 0.0:
        return End.ALL_SEEN
    if np.isfinite(limit.share) and limit.share > 1.0:
        return End.BUDGET
    if limit.rate > 0.0:
        return End.TOO_LITTLE
    if task.ledgers or task.allowed is not None:
        return End.ALL_SAFE_SEEN
    return End.OUT_OF_REACH
