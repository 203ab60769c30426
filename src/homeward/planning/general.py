"""The search of a run on a general model, in the form that `guide` uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs import Belief, FiniteBelief
from homeward.beliefs.corrections import Correction
from homeward.models import Model
from homeward.planning.plan import Evaluator, Plan
from homeward.planning.promise import Held, Promise
from homeward.planning.pursuit import Limit, plan_of
from homeward.planning.ratios import RatioSearch
from homeward.planning.returning import Goal, Returning
from homeward.planning.returning.corrected import CorrectedReturning
from homeward.planning.returning.sampled import Sampled, SampledReturning
from homeward.planning.returning.worlds import WorldReturning

if TYPE_CHECKING:
    from homeward.planning.guide import Task


def returning_of(
    goal: Goal, belief: Belief, correction: Correction | None, sampled: Sampled | None, number: int
) -> Returning:
    """Return what keeps the promise of goal `number` on a general model."""
    if isinstance(belief, FiniteBelief) and correction is not Correction.NAIVE:
        return WorldReturning(goal)
    if sampled is not None:
        return SampledReturning(goal, sampled, number)
    return CorrectedReturning(goal, correction)


@dataclass(frozen=True, slots=True, eq=False)
class GeneralSearch:
    """Finds proposals on a general model."""

    task: Task

    def returning(self, belief: Belief) -> list[Returning]:
        """Return what keeps the promise of each goal."""
        planner = self.task.planner
        goals = [Goal(x.name, x.homes, x.delta) for x in self.task.ledgers]
        sampled = planner.sampled if self.task.evaluator is Evaluator.SAMPLED else None
        each = planner.correction, sampled
        return [returning_of(goal, belief, *each, k) for k, goal in enumerate(goals)]

    def options(self, belief: Belief, held: Held, state: int) -> list[Any]:
        """Return what each promise allows."""
        pairs = zip(self.returning(belief), held.promises, strict=True)
        return [each.options(belief, promise, state, None) for each, promise in pairs]

    def choose(
        self, belief: Any, mean: Model, state: int, held: Held, *, learn: bool = True
    ) -> tuple[Plan | None, tuple[Promise, ...], Limit]:
        """Return the plan, or None to end the run; the accounts after it; and the `Limit`.

        Without `learn`, the plan only earns rewards.
        """
        task, options = self.task, self.options(belief, held, state)
        planner = task.planner
        search = RatioSearch(
            planner.bonus, task.floor, planner.discount, task.allowed, planner.sampled
        )
        given, news = (belief, options, state), held.remaining - task.floor
        found = search.find(*given, held.proposal, news=news, idle=held.idle, learn=learn)
        if found.action is not None:
            each = zip(self.returning(belief), options, strict=True)
            paid = tuple(x.take(now, state, found.action, found.chance) for x, now in each)
            pairs = zip(options, paid, strict=True)
            if any(new.spent > each.goal.budget and not each.lost for each, new in pairs):
                found = search.retreat(belief, options, state, found)
        limit = Limit(found.left, found.gain, found.share, found.rate)
        if found.action is None:
            return None, held.promises, limit
        action, proposal = found.action, found.proposal
        assert proposal is not None

        def facts() -> tuple[Model, FloatArray, FloatArray, FloatArray]:
            rates = search.rates(belief, options, state, found)
            shares = [np.zeros(mean.actions), *(each.shares() for each in options)]
            after = np.array([each.after() for each in options])
            return mean, rates, after, np.max(shares, axis=0)

        def policy() -> IntArray:
            chosen = np.zeros(mean.states, np.int32)
            chosen[state] = action
            return chosen

        ways = [(each.value(), each.policy()) for each in options]
        method = "earn" if found.earns else "rate"
        plan = plan_of(task, mean, state, proposal, action, policy, paid, ways, facts, method)
        return plan, paid, limit
