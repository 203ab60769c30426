r"""Recomputation of all numbers of a plan by methods independent of the planner.

The mean model and the corrections are computed from the belief's definition (`mean_model`). Every
policy of the plan is evaluated by one sparse linear solve, or step by step if the recall is fixed.
The Lagrangian at the plan's own multipliers, maximised by plain policy iteration, is an upper bound
on the value of every safe plan.

Only states that the plan can reach are used. Numbers in other states, however large, change neither
the results nor the tolerances.

These claims are checked with the formulas of ``docs/theory.md``:

- The return probability is the value v [S] of the claimed return policy. A state from which this
  policy never ends, or whose value would be negative, counts as giving up: v = 0.
- A criterion's bound is the total of its corrected rewards under the claimed mixture, with this v.
- The upper bound is U(λ) = max_π f(π) + Σ λ_k (g_k(π) − level_k), where f is the exploration value
  and g_k the total of criterion k, both of a policy π. It uses the best return policy instead of
  the claimed one. For every λ ≥ 0, U(λ) is at least the value of every mixture that meets the
  levels. The error bound of policy iteration is added.
- The claim that no plan is safe holds if U(λ) with f = 0 is below 0 for some λ ≥ 0. The check adds
  all rounding errors to U(λ).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.certificates.actions import objections
from homeward.certificates.claims import CLAIM_TOLERANCE, CriterionClaims
from homeward.certificates.mean_model import MeanModel, mean_model
from homeward.certificates.policy_evaluation import (
    OPERATIONS,
    UNIT_ROUNDOFF,
    PolicyEvaluator,
    Total,
    reachable,
)
from homeward.certificates.return_bounds import return_bounds

if TYPE_CHECKING:
    from homeward.certificates.plan_case import PlanCase

ROUNDING = 1e-14  # rounding error of a value, relative to the largest possible value
ANYWHERE_ROUNDING = 1e-25  # the same, relative to that value if all states were reachable


class Recomputed:
    """The numbers of a plan, recomputed from its belief and its policies.

    `near` [n] are the states that the plan can reach. These attributes have only these states:
    `plan` has the policies, `chain` evaluates policies on the mean model, `worths` are the
    exploration reward and its absolute value, `totals` the corrected reward of each criterion.
    """

    def __init__(self, case: PlanCase) -> None:
        plan, world = case.plan, mean_model(case.belief)
        self.near = near = reachable(world.rows, np.isfinite(world.reward), plan.state)
        closed, totals, highest, faults = _closed(case, world), [], [], []
        for k, criterion in enumerate(plan.criteria):
            faults.append(list(closed))
            proven, most = _totals(case, world, k, criterion, faults[k])
            totals.append(proven.restricted(near))
            highest.append(most.restricted(near))
        after = plan.afterwards
        self.plan = plan = replace(
            plan,
            state=int(np.searchsorted(near, plan.state)),
            outbound=plan.outbound[..., near],
            kept_outbound=plan.kept_outbound[..., near],
            afterwards=None if after is None else after[..., near],
        )
        explore = np.where(np.isfinite(world.reward), world.reward + case.bonus, -np.inf)[near]
        exits = None if case.exits is None else case.exits[near]
        self.chain = chain = PolicyEvaluator(
            world.restricted(near), plan.discount, plan.steps, exits
        )
        gains = np.where(explore > -np.inf, np.abs(explore), explore)
        self.worths = [
            Total(reward, chain.left_for(reward, chain.outside(reward, plan.afterwards)))
            for reward in (explore, gains)
        ]
        self.totals = totals
        self.faults = faults  # for each criterion, reasons against claims other than its bound

        def mixed(weights: FloatArray, policies: IntArray, since: int = 0) -> list[FloatArray]:
            return [chain.mixed(t, weights, policies, since) for t in (*self.worths, *totals)]

        whole = mixed(plan.weights, plan.outbound)
        kept = mixed(plan.kept_weights, plan.kept_outbound)
        ahead = whole if plan.steps is None else mixed(plan.weights, plan.outbound, 1)
        # The exploration value, and the same value with absolute rewards.
        self.value, self.size, *planned = (float(values[plan.state]) for values in whole)
        self.kept_value, self.kept_size, *taken = (float(values[plan.state]) for values in kept)
        self.bounds = {
            name: tuple(t.bound(value) for t, value in zip(totals, values, strict=True))
            for name, values in (("plan", planned), ("action", taken))
        }
        largest = [np.abs(x[np.isfinite(x)]).max() for x in (case.bonus, world.reward)]
        # Upper bounds on the value of a plan: over all states, and over reachable states.
        self.anywhere = float(sum(largest)) * chain.span
        self.scale = float(np.abs(gains[np.isfinite(gains)]).max()) * chain.span
        self.rounding = ROUNDING * self.scale + ANYWHERE_ROUNDING * self.anywhere
        self.objections = tuple(objections(self, ahead, case.bonus[case.plan.state]))
        prices = [c.multiplier * t.unit for c, t in zip(plan.criteria, totals, strict=True)]
        self.prices = float(sum(prices))
        self.upper: float | None = None  # upper bound on the value of safe plans, if claimed
        self.short: float | None = None  # if infeasible: lower bound on the weighted shortfall
        if np.isfinite(plan.upper_bound):
            self.upper = _upper(self, explore, highest, prices)
        elif plan.upper_bound == -np.inf:
            self.short = _short(self, highest, prices)


def _closed(case: PlanCase, world: MeanModel) -> list[str]:
    """Return a sentence for each policy that takes an action which can't be chosen."""
    plan, each = case.plan, np.arange(world.shape[0])
    shut = ~np.isfinite(world.reward)
    policies = [
        ("the plan", plan.outbound),
        ("the mixture that starts with the action", plan.kept_outbound),
    ]
    if plan.afterwards is not None:
        policies.append(("the policy outside the set", plan.afterwards))
    for k, criterion in enumerate(plan.criteria):
        policies.append((f"the return policy of criterion {k}", criterion.return_policies))
    return [
        f"{name} takes an action that can't be chosen in {plan.state_name(int(at[-1]))}"
        for name, policy in policies
        for at in np.argwhere(shut[each, np.maximum(policy, 0)] & (policy >= 0))[:1]
    ]


def _totals(
    case: PlanCase, world: MeanModel, k: int, criterion: CriterionClaims, faults: list[str]
) -> tuple[Total, Total]:
    """Return the corrected reward of criterion `k` for its claimed and for its best return policy.

    A sentence for each wrong claim is added to `faults`.
    """
    plan, discount = case.plan, case.plan.discount
    moves, fixed = plan.correction == "moves", plan.steps is not None
    if moves and world.graph is None:
        faults.append("the moves correction needs move-or-stay worlds")
        moves = False
    sigma = world.general
    if plan.correction == "naive":
        sigma = np.zeros(world.shape)
    elif moves and not fixed:
        assert world.graph is not None
        exploring = criterion.kind != "stay"
        sigma = world.graph.exploring(discount) if exploring else world.graph.staying(discount)
    least, unit = 0.0, 1.0
    each = best = np.ones(world.shape)
    if criterion.kind == "earn":
        low, high = _range(case, world, k, faults)
        span, given = high - low, case.rewards[k]
        paid = world.reward if given is None else given
        paid = np.where(np.isfinite(world.reward), paid, low)
        each = np.clip((paid - low) / span, 0.0, 1.0) if span > 0.0 else np.zeros(world.shape)
        if span == 0.0:
            sigma, span = np.zeros(world.shape), 1.0
        least, unit, best = low * plan.expected_steps, span * plan.expected_steps, each
        if abs(unit - criterion.unit) > CLAIM_TOLERANCE * max(unit, criterion.unit):
            faults.append(
                f"the range of earnings is {unit:g}, but is claimed to be {criterion.unit:g}"
            )
    elif criterion.kind == "return":
        way, highest = return_bounds(world, plan.correction, criterion)
        over = criterion.way_home - way
        worst = int(np.argmax(over))
        if over[worst] > CLAIM_TOLERANCE:
            faults.append(
                f"the return from {plan.state_name(worst)} is claimed to have probability "
                f"{criterion.way_home[worst]:.6f}, but the bound is {way[worst]:.6f}"
            )
        each, best = (np.repeat(v[:, None], world.shape[1], axis=1) for v in (way, highest))
    level = (criterion.level - least) / unit

    def total(each: FloatArray) -> Total:
        if plan.steps is None:
            paid = (1.0 - discount) * each
            return Total(paid + discount * sigma, paid, 0.0, least, unit, level)
        if criterion.kind == "earn":
            share = each / plan.steps
            return Total(share + sigma, share, 0.0, least, unit, level)
        return Total(sigma, np.zeros(world.shape), each[:, 0], least, unit, level)

    return total(each), total(best)


def _range(case: PlanCase, world: MeanModel, k: int, faults: list[str]) -> tuple[float, float]:
    """Return the least and the greatest reward of one step that counts for criterion `k`.

    A sentence is added to `faults` if the rewards of the worlds are outside the claimed limits.
    """
    given, limits = case.rewards[k], case.limits[k]
    if given is not None:
        paid = given[np.isfinite(world.reward)]
        low, high = float(paid.min()), float(paid.max())
    elif limits is not None:
        (low, high), (least, most) = limits, world.paid
        slack = 1e-12 * max(abs(least), abs(most))
        if least < low - slack or most > high + slack:
            faults.append(
                f"rewards of the worlds range from {least:g} to {most:g}, outside the limits "
                f"({low:g}, {high:g})"
            )
    else:
        low, high = world.paid
    return (low if world.graph is not None else min(low, 0.0)), high


def _upper(
    again: Recomputed, explore: FloatArray, totals: list[Total], prices: list[float]
) -> float:
    """Return an upper bound on the total of `explore` [S, A] of every plan that meets the levels.

    `prices` are the multipliers λ in units of each total.
    """
    chain, plan = again.chain, again.plan
    after, error_after = None, 0.0
    if chain.exits.any() and plan.afterwards is not None:
        after, error_after = chain.best(Total(explore), [plan.afterwards])
    reward, leaving = explore, chain.left_for(explore, after)
    final = np.zeros(len(explore))
    for price, total in zip(prices, totals, strict=True):
        reward = reward + price * total.reward
        final = final + price * total.final
        leaving = leaving + price * np.asarray(total.leaving)
    starts = list(plan.outbound) if plan.steps is None else []
    values, error = chain.best(Total(reward, leaving, final), starts)
    best = float(values[plan.state] if plan.steps is None else values[0, plan.state])
    for price, total in zip(prices, totals, strict=True):
        size = abs(total.level) + abs(total.least) / total.unit
        best -= price * (total.level - OPERATIONS * UNIT_ROUNDOFF * size)
    return best + error + error_after


def _short(again: Recomputed, totals: list[Total], prices: list[float]) -> float:
    """Return a lower bound on Σ λ_k·(shortfall from level k) of every plan.

    If it is above 0, no plan is safe. The weights λ are normalised to sum 1. If any λ is infinite,
    the finite ones count as 0.
    """
    infinite = [price == np.inf for price in prices]
    weights = [float(e) for e in infinite] if any(infinite) else prices
    if not sum(weights) > 0.0:
        return -np.inf
    nothing = np.where(np.isfinite(again.worths[0].reward), 0.0, -np.inf)
    return -_upper(again, nothing, totals, [w / sum(weights) for w in weights])
