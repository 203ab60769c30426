"""Search for the best information per step on general models.

Proposals are policies that end by collecting a bonus (`ratio`). The risk of an action is the
expected decrease of the bound on coming home (`returns`). Each step costs 1. If no proposal without
risk reaches the floor, each step costs its risk instead. Once nothing is worth learning, the policy
that earns most without additional risk is followed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.bonuses import checked_bonus
from homeward.planning.held import Proposal
from homeward.planning.ledger import BUDGET_TOLERANCE
from homeward.planning.pursuit import Limit, plan_of
from homeward.planning.rate import MIN_LEFT
from homeward.planning.ratio import Ratio, best_earning, best_ratio
from homeward.planning.returns import returns_of

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray
    from homeward.models import Model, SparseMDP
    from homeward.planning.guide import Task
    from homeward.planning.held import Account, Held
    from homeward.planning.plan import Plan

STEP_RISK = 1e-6
"""Share of the remaining budget that a step without risk costs, if risk is the cost."""

MIN_RATE_SHARE = 1e-6
"""Rates below this share of the floor are ignored: they depend on very unlikely moves."""


@dataclass(frozen=True, slots=True, eq=False)
class GeneralSearch:
    """Finds proposals on a general model."""

    task: Task

    def choose(
        self, belief: Any, mean: Model, state: int, held: Held, *, learn: bool = True
    ) -> tuple[Plan | None, tuple[Account, ...], Limit]:
        """Return the plan of what to pursue, or None, with the accounts after it and the limit.

        Without `learn`, only earn.
        """
        planner, ledgers, model = self.task.planner, self.task.ledgers, mean.sparse()
        found = [
            returns_of(belief, model, ledger, account, state, planner.correction)
            for ledger, account in zip(ledgers, held.accounts, strict=True)
        ]
        share = np.zeros((model.states, model.actions))
        for ledger, returns in zip(ledgers, found, strict=True):
            if not returns.lost:
                left = max(ledger.budget - returns.account.spent, MIN_LEFT)
                np.maximum(share, returns.charge / left, out=share)  # a negative charge is free
        bonus = checked_bonus(planner.bonus, belief, model.reward)
        inside = np.ones(share.shape, bool) if self.task.allowed is None else self.task.allowed
        ratio, limit = self._worth_learning(model, bonus, share, inside, state)
        if ratio.action >= 0 and learn:
            action, earned, method = ratio.action, None, "rate"
            proposal = Proposal((state,), ratio.gain, ratio.steps, float(share[state, action]))
        else:
            earning = best_earning(model, inside & (share <= 0.0), planner.discount, state)
            if earning is None:
                return None, held.accounts, limit
            (action, earned), method = earning, "earn"
            proposal = Proposal((state,), float(earned[action]), 1.0)

        def facts() -> tuple[FloatArray, FloatArray, FloatArray]:
            if earned is None:
                rates, steps = np.zeros(model.actions), np.ones(share.shape)
                for a in range(model.actions):
                    only = inside.copy()
                    only[state] = np.arange(model.actions) == a
                    rates[a] = best_ratio(model, bonus, steps, only & inside, state).rate
            else:
                rates = np.where(np.isfinite(earned), earned, 0.0)
            return rates, np.array([returns.value for returns in found]), share[state]

        policy = np.zeros(model.states, np.int32)
        policy[state] = action
        paid = tuple(returns.pay(state, action) for returns in found)
        homes = [(returns.value, returns.account.way) for returns in found]
        plan = plan_of(self.task, mean, state, proposal, policy, paid, homes, facts, method)
        return plan, paid, limit

    def _worth_learning(
        self,
        model: SparseMDP,
        bonus: FloatArray,
        share: FloatArray,
        inside: BoolArray,
        state: int,
    ) -> tuple[Ratio, Limit]:
        """Return the best ratio of gain to steps, else to risk; or why nothing is worth it."""
        floor, affordable = self.task.floor, inside & (share <= 1.0)
        remaining = float(bonus.max(axis=1).sum())
        steps, limit = np.ones(share.shape), Limit(remaining)
        free = inside & (share <= 0.0)
        ratio = best_ratio(model, bonus, steps, affordable, state, remaining * share, free)
        if ratio.action >= 0 and ratio.gain >= floor * ratio.steps:
            return ratio, limit
        if ratio.rate > MIN_RATE_SHARE * floor:
            limit = limit._replace(rate=ratio.rate)
        priced = np.maximum(share, 0.0) + STEP_RISK
        # Only gain above the floor counts: the floor is subtracted first and added back later.
        ratio = best_ratio(model, bonus, priced, affordable, state, floor, free)
        if ratio.action >= 0:
            return ratio._replace(gain=ratio.gain + floor * ratio.steps), limit
        unpaid = replace(model, reward=np.where(np.isfinite(model.reward), 0.0, -np.inf))
        beyond = best_ratio(unpaid, bonus, priced, inside, state, floor)
        if beyond.action >= 0:
            gain = beyond.gain + floor * beyond.steps
            limit = limit._replace(gain=gain, share=max(beyond.cost, 1.0 + BUDGET_TOLERANCE))
        return ratio, limit
