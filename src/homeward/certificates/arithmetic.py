r"""The plan's own arithmetic, done again by other means.

Nothing here is shared with the planner or its solvers. From what the belief says (`believed`) come
the criteria's rewards; every policy of the plan is evaluated by one sparse linear solve, or step by
step where the recall is fixed; and the best that any safe plan could be worth is bounded from above
by the Lagrangian at the plan's own multipliers, maximised by plain policy iteration.

All of it is done on the states that the plan can come to: what stands elsewhere, however large,
has no part in it, nor in what counts as a small difference.

What is proven, with the formulas of ``docs/theory.md``:

- the way home: the stored return policy's own value v [S]. A state from which it can't end, or
  whose value would be negative, counts as giving up there: 0 is below any probability;
- a criterion's bound: the total of its corrected rewards under the stored mixture, with that v;
- that nothing is safe: if U(λ) without f is below 0 for some λ ≥ 0, no mixture keeps the levels.
  All rounding counts against it, and v is that of the best way home, not of the stored one;
- the upper bound: U(λ) = max_π f(π) + Σ λ_k (g_k(π) − level_k) is above what any mixture that keeps
  the levels is worth, for every λ ≥ 0, again with the best way home. What policy iteration might
  still gain, over 1/(1 − γ) steps, is added.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from homeward.certificates.actions import Here, check_table, check_words
from homeward.certificates.believed import Believed, believe
from homeward.certificates.chain import OPERATIONS, UNIT, Chain, Total, reachable
from homeward.certificates.ways import way_home

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray
    from homeward.certificates.stored import StoredPlan
    from homeward.planning.plan import CriterionEvidence, Plan

TOLERANCE = 1e-7
"""By how much, in units of what is claimed, a number may differ from the one found here."""


@dataclass(frozen=True, slots=True, eq=False)
class Recomputed:
    """What the arithmetic comes to."""

    bounds: dict[str, tuple[float, ...]]  # by part of the plan, one per criterion
    faults: tuple[tuple[str, ...], ...]  # per criterion, what else does not come out as claimed
    said: tuple[str, ...]  # what the plan says of itself and its actions that does not come out
    value: float  # of the mixture, to explore
    size: float  # the same with every gain and loss counted as a gain
    kept_value: float  # of the part that starts with the action
    kept_size: float
    upper: float | None  # no safe plan is worth more; None if the plan does not say so
    scale: float  # the most that a plan could collect where it can come to
    anywhere: float  # the same, wherever it is paid
    rounding: float  # what a value may be off by, however small it is
    prices: float  # λ of all criteria, by which the upper bound may be off as well
    short: float | None  # if nothing is safe: every plan lacks this much, of all λ in sum 1


def recompute(stored: StoredPlan) -> Recomputed:
    """Do the arithmetic of a plan again."""
    plan, world = stored.plan, believe(stored.belief)
    near = reachable(world.rows, np.isfinite(world.reward), plan.state)
    totals, highest, faults = [], [], []
    closed = _closed(stored, world)
    for k, criterion in enumerate(plan.criteria):
        found = list(closed)
        proven, most = _totals(stored, world, k, criterion, found)
        totals.append(proven.among(near))
        highest.append(most.among(near))
        faults.append(tuple(found))
    plan = _among(plan, near)
    explore = np.where(np.isfinite(world.reward), world.reward + stored.bonus, -np.inf)[near]
    exits = None if stored.exits is None else stored.exits[near]
    chain = Chain(world.among(near), plan.discount, plan.steps, exits)
    objective = _objective(chain, explore, plan.afterwards)
    gains = np.where(explore > -np.inf, np.abs(explore), explore)
    either = _objective(chain, gains, plan.afterwards)

    all_of = (objective, either, *totals)

    def mixed(weights: FloatArray, policies: IntArray, since: int = 0) -> list[FloatArray]:
        return [chain.mixed(total, weights, policies, since) for total in all_of]

    whole = mixed(plan.weights, plan.outbound)
    kept = mixed(plan.kept_weights, plan.kept_outbound)
    ahead = whole if plan.steps is None else mixed(plan.weights, plan.outbound, 1)
    value, size, *planned = (float(values[plan.state]) for values in whole)
    kept_value, kept_size, *taken = (float(values[plan.state]) for values in kept)
    bounds = {
        name: tuple(t.bound(found) for t, found in zip(totals, values, strict=True))
        for name, values in (("plan", planned), ("action", taken))
    }
    anywhere = (_largest(stored.bonus) + _largest(world.reward)) * chain.span
    bonus = stored.bonus[stored.plan.state]
    here = Here(plan, chain, (objective, either), totals, ahead, bonus, anywhere)
    said = [
        *check_words(here, value, kept_value),
        *check_table(here, (kept_value, kept_size), bounds["action"]),
    ]
    upper = short = None
    prices = [c.multiplier * t.unit for c, t in zip(plan.criteria, totals, strict=True)]
    if np.isfinite(plan.upper_bound):
        upper = _upper(chain, explore, highest, prices, plan)
    elif plan.upper_bound == -np.inf:
        short = _short(chain, explore, highest, prices, plan)
    return Recomputed(
        bounds,
        tuple(faults),
        tuple(said),
        value,
        size,
        kept_value,
        kept_size,
        upper,
        here.scale,
        anywhere,
        here.rounding,
        float(sum(prices)),
        short,
    )


def _among(plan: Plan, states: IntArray) -> Plan:
    """Return a plan's policies on some states [n] alone, its own among them."""
    after = plan.afterwards
    return replace(
        plan,
        state=int(np.searchsorted(states, plan.state)),
        outbound=plan.outbound[..., states],
        kept_outbound=plan.kept_outbound[..., states],
        afterwards=None if after is None else after[..., states],
    )


def _objective(chain: Chain, reward: FloatArray, afterwards: IntArray | None) -> Total:
    """Return a reward [S, A] as a total that goes on after a set is left."""
    leaving = chain.leave(reward, chain.outside(reward, afterwards))
    return Total(reward, np.zeros(len(reward)), leaving, 0.0, 1.0, 0.0)


def _closed(stored: StoredPlan, world: Believed) -> list[str]:
    """Say which policy takes an action that can't be chosen, if one does."""
    plan, each = stored.plan, np.arange(world.shape[0])
    shut = ~np.isfinite(world.reward)
    policies = [("the plan", plan.outbound), ("what starts with the action", plan.kept_outbound)]
    if plan.afterwards is not None:
        policies.append(("what comes after leaving", plan.afterwards))
    for k, criterion in enumerate(plan.criteria):
        layers = criterion.return_layers
        back = criterion.return_policy if layers is None else layers
        policies.append((f"the way home of criterion {k}", back))
    found = []
    for name, policy in policies:
        wrong = shut[each, np.maximum(policy, 0)] & (policy >= 0)
        if wrong.any():
            state = int(np.argwhere(wrong)[0, -1])
            found.append(f"{name} does in {plan.state_name(state)} what can't be chosen there")
    return found


def _totals(
    stored: StoredPlan, world: Believed, k: int, criterion: CriterionEvidence, faults: list[str]
) -> tuple[Total, Total]:
    """Return the corrected reward of a criterion, with the stored way home and with the best one.

    What its evidence gets wrong is added to `faults`.
    """
    plan, discount = stored.plan, stored.plan.discount
    moves = plan.correction == "moves"
    fixed = plan.steps is not None
    states, actions = world.shape
    if moves and world.graph is None:
        faults.append("the moves correction is for move-or-stay worlds, and these are none")
        moves = False
    sigma = world.general
    if plan.correction == "naive":
        sigma = np.zeros(world.shape)
    elif moves and not fixed:
        assert world.graph is not None
        exploring = criterion.kind != "stay"
        sigma = world.graph.exploring(discount) if exploring else world.graph.staying(discount)
    least, unit = 0.0, 1.0
    if criterion.kind == "earn":
        low, high = _range(stored, world, k, faults)
        long = 1.0 / (1.0 - discount) if plan.steps is None else float(plan.steps)
        span = high - low
        counted = stored.rewards[k]
        paid = world.reward if counted is None else counted
        paid = np.where(np.isfinite(world.reward), paid, low)
        each = np.clip((paid - low) / span, 0.0, 1.0) if span > 0.0 else np.zeros(world.shape)
        if span == 0.0:
            sigma, span = np.zeros(world.shape), 1.0
        least, unit = low * long, span * long
        if abs(unit - criterion.unit) > TOLERANCE * max(unit, criterion.unit):
            faults.append(f"its range is {unit:g}, claimed as {criterion.unit:g}")
    else:
        each = np.ones(world.shape)
        if criterion.kind == "return":
            way = way_home(world, plan.correction, criterion)
            over = criterion.way_home - way.value
            worst = int(np.argmax(over))
            if over[worst] > TOLERANCE:
                faults.append(
                    f"the way home from {plan.state_name(worst)} is claimed to work with "
                    f"{criterion.way_home[worst]:.6f}, and comes out as {way.value[worst]:.6f}"
                )
            each = np.repeat(way.value[:, None], actions, axis=1)
            best = np.repeat(way.most[:, None], actions, axis=1)
    level = (criterion.level - least) / unit

    def total(each: FloatArray) -> Total:
        nothing = np.zeros(states)
        if plan.steps is None:
            paid = (1.0 - discount) * each
            return Total(paid + discount * sigma, nothing, paid, least, unit, level)
        if criterion.kind == "earn":
            share = each / plan.steps
            return Total(share + sigma, nothing, share, least, unit, level)
        return Total(np.array(sigma), each[:, 0], np.zeros(world.shape), least, unit, level)

    proven = total(each)
    return proven, total(best) if criterion.kind == "return" else proven


def _range(stored: StoredPlan, world: Believed, k: int, faults: list[str]) -> tuple[float, float]:
    """Give the least and the greatest that a step may pay in any world."""
    given, limits = stored.rewards[k], stored.limits[k]
    if given is not None:
        paid = given[np.isfinite(world.reward)]
        low, high = float(paid.min()), float(paid.max())
    elif limits is not None:
        low, high = limits
        if world.paid is not None:
            least, most = world.paid
            slack = 1e-12 * max(abs(least), abs(most))
            if least < low - slack or most > high + slack:
                faults.append(
                    f"worlds pay between {least:g} and {most:g}, outside the limits "
                    f"({low:g}, {high:g})"
                )
    else:
        assert world.paid is not None
        low, high = world.paid
    return (low if world.graph is not None else min(low, 0.0)), high


def _upper(
    chain: Chain,
    explore: FloatArray,
    totals: list[Total],
    prices: list[float],
    plan: Plan,
) -> float:
    """Bound from above what any plan that keeps the levels is worth."""
    nothing = np.zeros(len(explore))
    after, more = None, 0.0
    if chain.exits.any() and plan.afterwards is not None:
        alone = Total(explore, nothing, explore, 0.0, 1.0, 0.0)
        after, more = chain.best(alone, [plan.afterwards], leaving=False)
    leaving = chain.leave(explore, after)
    reward, final = explore.copy(), nothing.copy()
    for price, total in zip(prices, totals, strict=True):
        reward += price * total.reward
        final += price * total.final
        leaving = leaving + price * total.leaving
    mixed = Total(reward, final, leaving, 0.0, 1.0, 0.0)
    starts = list(plan.outbound) if plan.steps is None else []
    values, left = chain.best(mixed, starts)
    best = float(values[plan.state] if plan.steps is None else values[0, plan.state])
    for price, total in zip(prices, totals, strict=True):
        rounding = OPERATIONS * UNIT * (abs(total.level) + abs(total.least) / total.unit)
        best -= price * (total.level - rounding)
    return best + left + more


def _short(
    chain: Chain,
    explore: FloatArray,
    totals: list[Total],
    prices: list[float],
    plan: Plan,
) -> float:
    """Bound from below what any plan lacks of the levels, weighed by λ: above 0, none keeps them.

    An infinite λ counts as 1, and those beside it as nothing.
    """
    endless = [price == np.inf for price in prices]
    weights = [float(e) for e in endless] if any(endless) else prices
    if not sum(weights) > 0.0:
        return -np.inf
    nothing = np.where(np.isfinite(explore), 0.0, -np.inf)
    return -_upper(chain, nothing, totals, [w / sum(weights) for w in weights], plan)


def _largest(reward: FloatArray) -> float:
    usable = reward[np.isfinite(reward)]
    return float(np.abs(usable).max())
