"""Check of a plan's table of actions and of its flags, by recomputation.

For each action in the current state the table has its value and the bounds that it keeps if it is
taken now and the plan is followed afterwards. This is not a stationary policy, so on a move-or-stay
graph its first step is charged with the general correction (``docs/theory.md``, section 5). The
chosen action stands for the part of the plan that starts with it.

A safety bound is refuted if it is too high. A bound that is too low is valid, but does not justify
the verdict "unsafe": verdicts are judged by the recomputed bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homeward.certificates.claims import CLAIM_TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from homeward.arrays import BoolArray, FloatArray
    from homeward.certificates.claims import PlanClaims
    from homeward.certificates.policy_evaluation import Evaluator, Total

ROUNDING = 1e-14
"""Additional difference, as a fraction of the most that a plan could collect or keep."""

LEVEL_TOLERANCE = 2e-9
"""Largest shortfall of a total that still keeps its level."""

ANYWHERE_ROUNDING = 1e-25
"""Additional difference, as a fraction of what a plan could collect in all states."""

WORTHLESS = 1e-12
"""Fraction of the largest possible value below which a plan counts as worthless."""

UNSURE_FACTOR = 10.0
"""Within this factor of a threshold either answer is accepted."""


class Here:
    """The actions [A] in the current state, and their values with the plan followed afterwards.

    The states of `plan` and `chain` are those that the plan can reach. `worths` are the exploration
    reward and its absolute value, `totals` the criteria's. `ahead` are the mixture's values [S] of
    all these, one step on. `bonus` is [A]; `anywhere` is the most that a plan could collect in all
    states, the scale of rounding.
    """

    def __init__(
        self,
        plan: PlanClaims,
        chain: Evaluator,
        worths: Sequence[Total],
        totals: Sequence[Total],
        ahead: Sequence[FloatArray],
        bonus: FloatArray,
        anywhere: float,
    ) -> None:
        self.plan, self.totals = plan, totals
        ranges = [float(np.ptp(np.asarray(total.leaving))) * chain.span for total in totals]
        self.slack = [
            CLAIM_TOLERANCE * (earned if c.kind == "earn" else 1.0)
            for c, earned in zip(plan.criteria, ranges, strict=True)
        ]  # of each total; earnings relative to their range in reachable states
        state, actions = plan.state, chain.world.shape[1]
        rows = chain.world.rows[state * actions : (state + 1) * actions]
        found = []
        for total, values in zip((*worths, *totals), ahead, strict=True):
            now, leaving = total.reward[state], np.asarray(total.leaving)
            if plan.correction == "moves" and plan.steps is None and total not in worths:
                now = leaving[state] + chain.discount * chain.world.general[state]
            leaving = leaving[0] if leaving.ndim == 3 else leaving
            onward = now + chain.discount * (rows @ values)
            found.append(np.where(chain.exits[state], leaving[state], onward))
        self.worth, self.size, *self.safety = found
        self.closed: BoolArray = ~np.isfinite(worths[0].reward[state])
        others = rows.toarray()
        others[:, state] = 0.0
        ending = chain.world.ending[state * actions : (state + 1) * actions]
        self.leaves: FloatArray = others.sum(axis=1) + ending
        self.bonus = bonus
        self.reward: FloatArray = chain.world.reward[state]
        first = plan.outbound[:, state] if plan.steps is None else plan.outbound[:, 0, state]
        self.weight = np.bincount(first, plan.weights, minlength=actions)
        most = float(np.abs(worths[1].reward[np.isfinite(worths[1].reward)]).max())
        self.scale = most * chain.span
        self.rounding = ROUNDING * self.scale + ANYWHERE_ROUNDING * anywhere
        # The value of an action that leaves the set includes all that follows: more rounding.
        self.unsure = UNSURE_FACTOR * (chain.span if chain.exits.any() else 1.0)

    def stays(self, action: int) -> tuple[bool, bool]:
        """Return two booleans: the action surely, and possibly, neither moves nor earns."""
        if self.bonus[action] != 0.0 or self.reward[action] > 0.0:
            return False, False
        leaves = float(self.leaves[action])
        return leaves <= WORTHLESS / UNSURE_FACTOR, leaves <= WORTHLESS * UNSURE_FACTOR

    def is_zero(self, value: float) -> tuple[bool, bool]:
        """Return two booleans: the value surely, and possibly, is only rounding."""
        least = WORTHLESS * self.scale
        return abs(value) <= least / self.unsure, abs(value) <= least * self.unsure


def check_flags(here: Here, value: float, kept_value: float) -> Iterator[str]:
    """Yield a reason for each wrong flag of a plan: worthless, waits."""
    plan = here.plan
    surely, possibly = here.is_zero(value)
    if plan.worthless and not possibly:
        yield f"the plan is claimed to have no value, but is worth {value:.6g}"
    if surely and not plan.worthless:
        yield "the plan has no value, but does not say so"
    zero, stays = here.is_zero(kept_value), here.stays(plan.action)
    if plan.waits and not (zero[1] or stays[1]):
        yield f"{plan.action_name(plan.action)} is claimed to wait without gain, but does not"
    if not plan.waits and (zero[0] or stays[0]):
        yield f"{plan.action_name(plan.action)} waits without gain, but the plan does not say so"


def check_actions(here: Here, kept: tuple[float, float], bounds: Sequence[float]) -> Iterator[str]:
    """Yield a reason for each wrong number or verdict in the table of actions.

    The part of the plan that starts with its action has the value kept[0], with absolute rewards
    kept[1], and keeps `bounds` [K].
    """
    plan = here.plan
    for said in plan.evidence:
        a, name, chosen = said.action, plan.action_name(said.action), said.action == plan.action
        verdicts, weight, leaves = _verdicts(here, a), here.weight[a], here.leaves[a]
        if said.verdict not in verdicts:
            yield f"{name} is claimed to be “{said.verdict}”, but is “{verdicts[0]}”"
        if not abs(said.weight - weight) <= CLAIM_TOLERANCE:
            yield f"{name} is claimed to have a weight of {said.weight:.6g}, but has {weight:.6g}"
        if here.closed[a]:
            continue
        if not abs(said.leaves - leaves) <= CLAIM_TOLERANCE:
            yield f"{name} is claimed to leave with {said.leaves:.6g}, but does with {leaves:.6g}"
        worth, size = kept if chosen else (float(here.worth[a]), float(here.size[a]))
        if not abs(said.exploration - worth) <= CLAIM_TOLERANCE * size + here.rounding:
            yield f"{name} is claimed to be worth {said.exploration:.6g}, but is worth {worth:.6g}"
        for k, (total, claimed) in enumerate(zip(here.totals, said.safety, strict=True)):
            found = bounds[k] if chosen else total.bound(float(here.safety[k][a]))
            rounding = ROUNDING * (abs(total.least) + total.unit)
            if not claimed <= found + here.slack[k] * total.unit + rounding:
                yield (
                    f"{name} is claimed to keep {claimed:.6g} of {plan.criteria[k].name!r}, "
                    f"but keeps {found:.6g}"
                )


def _verdicts(here: Here, action: int) -> list[str]:
    """Return the verdicts that an action may have; two if rounding decides between them."""
    if action == here.plan.action:
        return ["chosen"]
    if here.closed[action]:
        return ["unavailable"]
    if here.weight[action] > 0.0:
        surely, possibly = here.stays(action)
        return ["less_safe"] * (not surely) + ["waits"] * possibly
    if here.plan.status == "infeasible":
        return ["no_safer"]
    unsafe, safe = False, True
    for total, found, slack in zip(here.totals, here.safety, here.slack, strict=True):
        spare = float(found[action]) - total.level
        unsafe |= spare < slack
        safe &= spare > -slack - LEVEL_TOLERANCE
    return ["unsafe"] * unsafe + ["worth_less"] * safe
