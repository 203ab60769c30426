r"""The plan's own arithmetic, done again by other means.

Nothing here is shared with the planner or its solvers. From what the belief says (`believed`) come
the criteria's rewards; every policy of the plan is evaluated by one sparse linear solve, or step by
step where the recall is fixed; and the best that any safe plan could be worth is bounded from above
by the Lagrangian at the plan's own multipliers, maximised by plain policy iteration.

What is proven, with the formulas of ``docs/theory.md``:

- the way home: the stored return policy's own value v [S]. A state from which it can't end, or
  whose value would be negative, counts as giving up there: 0 is below any probability;
- a criterion's bound: the total of its corrected rewards under the stored mixture, with that v;
- that nothing is safe: if U(λ) without f is below 0 for some λ ≥ 0, no mixture keeps the levels;
- the upper bound: U(λ) = max_π f(π) + Σ λ_k (g_k(π) − level_k) is above what any mixture that keeps
  the levels is worth, for every λ ≥ 0. Policy iteration ends where no action gains more than
  rounding, and what it might still gain, over 1/(1 − γ) steps, is added.

A system ``(I − γP)v = c`` is set up by what leaves a state, (1 − γ) + γ·leaving, and never by 1
less what stays, so rare moves keep their digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import splu

from homeward.certificates.believed import Believed, believe

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.certificates.stored import StoredPlan
    from homeward.planning.plan import CriterionEvidence

TOLERANCE = 1e-7
"""By how much, in units of what is claimed, a number may differ from the one found here."""

ROUNDING = 1e-14
"""A gain of this fraction of the largest value is none."""

ROUNDS = 10_000
"""Rounds of policy iteration after which it is given up."""


@dataclass(frozen=True, slots=True, eq=False)
class Recomputed:
    """What the arithmetic comes to."""

    bounds: dict[str, tuple[float, ...]]  # by part of the plan, one per criterion
    faults: tuple[tuple[str, ...], ...]  # per criterion, what else does not come out as claimed
    value: float  # of the mixture, to explore
    kept_value: float  # of the part that starts with the action
    upper: float | None  # no safe plan is worth more; None if the plan does not say so
    scale: float  # of a value, against which a difference is small
    prices: float  # λ of all criteria, by which the upper bound may be off as well
    short: float | None  # if nothing is safe: every plan lacks this much, of all λ in sum 1


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """A reward of the mean model, whose total bounds something from below."""

    reward: FloatArray  # [S, A] each step
    final: FloatArray  # [S] where a fixed recall finds us
    leaving: FloatArray  # [S, A] paid once by an action that leaves a set
    least: float
    unit: float
    level: float


def recompute(stored: StoredPlan) -> Recomputed:
    """Do the arithmetic of a plan again."""
    plan, world = stored.plan, believe(stored.belief)
    exits = stored.exits
    totals, faults = [], []
    closed = _closed(stored, world)
    for k, criterion in enumerate(plan.criteria):
        found = list(closed)
        totals.append(_total(stored, world, k, criterion, found))
        faults.append(tuple(found))
    explore = np.where(np.isfinite(world.reward), world.reward + stored.bonus, -np.inf)
    chain = Chain(world, plan.discount, plan.steps, exits)
    after = chain.outside(explore, plan.afterwards)
    objective = Total(explore, np.zeros(world.shape[0]), chain.leave(explore, after), 0.0, 1.0, 0.0)

    def worth(total: Total, weights: FloatArray, policies: IntArray) -> float:
        each = [chain.follow(total, policy)[plan.state] for policy in policies]
        return float(np.dot(weights, each))

    bounds = {
        part.name: tuple(
            t.least + t.unit * min(1.0, max(0.0, worth(t, part.weights, part.outbound)))
            for t in totals
        )
        for part in stored.parts
    }
    upper = short = None
    prices = [c.multiplier * t.unit for c, t in zip(plan.criteria, totals, strict=True)]
    if np.isfinite(plan.upper_bound):
        upper = _upper(chain, explore, totals, prices, stored)
    elif plan.upper_bound == -np.inf:
        short = _short(chain, explore, totals, prices, stored)
    return Recomputed(
        bounds,
        tuple(faults),
        worth(objective, plan.weights, plan.outbound),
        worth(objective, plan.kept_weights, plan.kept_outbound),
        upper,
        float(np.abs(stored.bonus).max() + _largest(world.reward)) * chain.span,
        float(sum(prices)),
        short,
    )


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


def _total(
    stored: StoredPlan, world: Believed, k: int, criterion: CriterionEvidence, faults: list[str]
) -> Total:
    """Give the corrected reward of a criterion, and say what its evidence gets wrong."""
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
    final = np.zeros(states)
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
        way = np.ones(states)
        if criterion.kind == "return":
            way = _way_home(world, plan.correction, criterion)
            over = criterion.way_home - way
            worst = int(np.argmax(over))
            if over[worst] > TOLERANCE:
                faults.append(
                    f"the way home from {plan.state_name(worst)} is claimed to work with "
                    f"{criterion.way_home[worst]:.6f}, and comes out as {way[worst]:.6f}"
                )
        each = np.repeat(way[:, None], actions, axis=1)
        final = way
    level = (criterion.level - least) / unit
    if plan.steps is None:
        reward = (1.0 - discount) * each + discount * sigma
        return Total(reward, np.zeros(states), (1.0 - discount) * each, least, unit, level)
    if criterion.kind == "earn":
        share = each / plan.steps
        return Total(share + sigma, final, share, least, unit, level)
    return Total(np.array(sigma), final, np.zeros(world.shape), least, unit, level)


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


def _way_home(world: Believed, correction: str, criterion: CriterionEvidence) -> FloatArray:
    """Give what is proven of the stored way home [S]."""
    at_home = np.zeros(world.shape[0], dtype=bool)
    at_home[criterion.home] = True
    sigma = world.general if correction != "naive" else np.zeros(world.shape)
    at_once = correction == "moves" and world.graph is not None
    if criterion.within is not None:
        return _within(world, sigma, criterion, criterion.within, at_home, at_once)
    if at_once:
        assert world.graph is not None
        sigma = world.graph.returning()
    policy = criterion.return_policy
    active = (policy >= 0) & ~at_home
    value = at_home.astype(np.float64)
    while active.any():
        active &= _can_end(world, policy, active)
        each = np.flatnonzero(active)
        if not len(each):
            break
        rows = world.rows[each * world.shape[1] + policy[each]]
        ending = world.ending[each * world.shape[1] + policy[each]]
        value = at_home.astype(np.float64)
        gain = sigma[each, policy[each]] + rows @ value
        value[each] = _solve(rows[:, each], ending + rows[:, ~active].sum(axis=1), gain, 1.0)
        if not (value[each] < 0.0).any():
            break
        active &= value >= 0.0
    return np.clip(np.where(active | at_home, value, 0.0), 0.0, 1.0)


def _within(
    world: Believed,
    sigma: FloatArray,
    criterion: CriterionEvidence,
    steps: int,
    at_home: BoolArray,
    at_once: bool,
) -> FloatArray:
    """Give what is proven of the way home with a limit [S], layer by layer."""
    states, actions = world.shape
    each = np.arange(states)
    assert criterion.return_since is not None
    last = int(criterion.return_since[-1])
    value = at_home.astype(np.float64)
    for left in range(1, steps + 1):
        policy = criterion.return_with(left)
        act = np.maximum(policy, 0).astype(np.int64)
        ahead = sigma[each, act] + world.rows[each * actions + act] @ value
        if at_once:
            assert world.graph is not None
            first = value[world.graph.dest[each, act]] - (1.0 - world.graph.success[each, act])
            ahead = np.maximum(ahead, first)
        after = np.where(policy >= 0, np.clip(ahead, 0.0, 1.0), 0.0)
        after[at_home] = 1.0
        still = left > last and np.abs(after - value).max() <= 1e-16
        value = after
        if still:
            break
    return value


def _can_end(world: Believed, policy: IntArray, active: BoolArray) -> BoolArray:
    """Tell from which active states [S] a policy leaves the active ones, or ends, some time."""
    states, actions = world.shape
    each = np.flatnonzero(active)
    rows = world.rows[each * actions + policy[each]].tocoo()
    real = rows.data > 0.0
    start, there = each[rows.row[real]], rows.col[real]
    ends = each[world.ending[each * actions + policy[each]] > 0.0]
    sink = states
    there = np.where(active[there], there, sink)
    back = (np.concatenate([there, np.full(len(ends), sink)]), np.concatenate([start, ends]))
    graph = csr_array((np.ones(len(back[0])), back), shape=(states + 1, states + 1))
    found = np.zeros(states + 1, dtype=bool)
    found[breadth_first_order(graph, sink, return_predecessors=False)] = True
    return found[:states]


def _solve(among: csr_array, leaving: FloatArray, gain: FloatArray, discount: float) -> FloatArray:
    """Solve ``v = gain + discount·among·v``; rows of ``among`` and ``leaving`` add up to 1."""
    own = among.diagonal()
    others = among - diags_array(own)
    away = np.asarray(others.sum(axis=1)) + leaving
    system = diags_array((1.0 - discount) + discount * away) - discount * others
    return np.asarray(splu(system.tocsc()).solve(gain), np.float64)


class Chain:
    """The mean model under a policy, until recall, with actions that leave a set."""

    def __init__(
        self, world: Believed, discount: float, steps: int | None, exits: BoolArray | None
    ) -> None:
        self.world, self.steps = world, steps
        self.discount = discount if steps is None else 1.0
        self.exits = np.zeros(world.shape, dtype=bool) if exits is None else exits
        self.span = 1.0 / (1.0 - discount) if steps is None else float(steps)

    def follow(self, total: Total, policy: IntArray) -> FloatArray:
        """Give a total [S] under a policy [S], or [n, S]; −inf if it takes what can't be chosen."""
        return self._run(total.reward, total.final, policy, total.leaving)

    def outside(self, reward: FloatArray, policy: IntArray | None) -> FloatArray | None:
        """Give what is earned outside a set, [S] or [n + 1, S] by step, if it can be left."""
        if policy is None:
            return None
        nothing = np.zeros(self.world.shape[0])
        if self.steps is None:
            return self._run(reward, nothing, policy, None)
        found = [nothing]
        for t in range(self.steps - 1, -1, -1):
            found.append(self._back(reward, policy[t], found[-1], None))
        return np.array(found[::-1])

    def leave(self, reward: FloatArray, after: FloatArray | None) -> FloatArray:
        """Give what leaving pays once: the reward, and what comes after; [S, A] or [n, S, A]."""
        if after is None:
            return reward
        if self.steps is None:
            ahead = self.discount * (self.world.rows @ after).reshape(reward.shape)
            return np.asarray(reward + ahead, np.float64)
        return np.array([reward + (self.world.rows @ v).reshape(reward.shape) for v in after[1:]])

    def best(
        self, total: Total, starts: list[IntArray], *, leaving: bool = True
    ) -> tuple[FloatArray, float]:
        """Maximise a total: its values [S], or [n + 1, S] by step, and what they may lack."""
        pays = total.leaving if leaving else None
        if self.steps is not None:
            found = [total.final]
            for t in range(self.steps - 1, -1, -1):
                there = None if pays is None else (pays[t] if pays.ndim == 3 else pays)
                found.append(self._ahead(total.reward, found[-1], there).max(axis=1))
            return np.array(found[::-1]), 0.0
        policy = total.reward.argmax(axis=1)
        values = self._run(total.reward, total.final, policy, pays)
        for start in starts:
            also = self._run(total.reward, total.final, start, pays)
            if also.sum() > values.sum():
                policy, values = start, also
        for _ in range(ROUNDS):
            q = self._ahead(total.reward, values, pays)
            rise, size = q.max(axis=1) - values, float(np.abs(values).max())
            if rise.max() <= ROUNDING * size:
                break
            better = np.where(rise > ROUNDING * size, q.argmax(axis=1), policy)
            risen = self._run(total.reward, total.final, better, pays)
            if risen.sum() <= values.sum():  # rounding goes round in circles
                break
            policy, values = better, risen
        left = self._ahead(total.reward, values, pays).max(axis=1) - values
        return values, max(0.0, float(left.max())) * self.span

    def _ahead(
        self, reward: FloatArray, values: FloatArray, leaving: FloatArray | None
    ) -> FloatArray:
        """Give what each action [S, A] is worth with values [S] after it."""
        onward = reward + self.discount * (self.world.rows @ values).reshape(reward.shape)
        return onward if leaving is None else np.where(self.exits, leaving, onward)

    def _back(
        self, reward: FloatArray, policy: IntArray, values: FloatArray, leaving: FloatArray | None
    ) -> FloatArray:
        """Give what a policy [S] is worth with values [S] after its one step."""
        each = np.arange(len(values))
        gain: FloatArray = reward[each, policy] + self.discount * (
            self.world.rows[each * self.world.shape[1] + policy] @ values
        )
        if leaving is None:
            return gain
        return np.where(self.exits[each, policy], leaving[each, policy], gain)

    def _run(
        self, reward: FloatArray, final: FloatArray, policy: IntArray, leaving: FloatArray | None
    ) -> FloatArray:
        """Give a total [S] under a policy, without exits if leaving pays nothing said."""
        states, actions = self.world.shape
        each = np.arange(states)
        if not np.isfinite(reward[each, policy]).all():
            return np.full(states, -np.inf)
        if self.steps is not None:
            values = final
            for t in range(self.steps - 1, -1, -1):
                pays = leaving if leaving is None or leaving.ndim == 2 else leaving[t]
                values = self._back(reward, policy[t], values, pays)
            return values
        gain = reward[each, policy].astype(np.float64)
        at = each * actions + policy
        rows, ending = self.world.rows[at], self.world.ending[at]
        if leaving is not None:
            out = self.exits[each, policy]
            if out.any():
                gain[out] = leaving[each, policy][out]
                rows = diags_array((~out).astype(np.float64)) @ rows
                ending = np.where(out, 1.0, ending)
        return _solve(csr_array(rows), ending, gain, self.discount)


def _upper(
    chain: Chain,
    explore: FloatArray,
    totals: list[Total],
    prices: list[float],
    stored: StoredPlan,
) -> float:
    """Bound from above what any plan that keeps the levels is worth."""
    plan, shape = stored.plan, explore.shape
    nothing = np.zeros(shape[0])
    short = 0.0
    after = None
    if stored.exits is not None and plan.afterwards is not None:
        alone = Total(explore, nothing, explore, 0.0, 1.0, 0.0)
        after, short = chain.best(alone, [plan.afterwards], leaving=False)
    leaving = chain.leave(explore, after)
    reward, final = explore.copy(), nothing.copy()
    for price, total in zip(prices, totals, strict=True):
        reward += price * total.reward
        final += price * total.final
        leaving = leaving + price * total.leaving
    mixed = Total(reward, final, leaving, 0.0, 1.0, 0.0)
    starts = list(plan.outbound) if plan.steps is None else []
    values, more = chain.best(mixed, starts)
    best = values[plan.state] if plan.steps is None else values[0, plan.state]
    floor = sum(price * total.level for price, total in zip(prices, totals, strict=True))
    return float(best) + more + short - floor


def _short(
    chain: Chain,
    explore: FloatArray,
    totals: list[Total],
    prices: list[float],
    stored: StoredPlan,
) -> float:
    """Bound from below what any plan lacks of the levels, weighed by λ: above 0, none keeps them.

    An infinite λ counts as 1, and those beside it as nothing.
    """
    endless = [price == np.inf for price in prices]
    weights = [float(e) for e in endless] if any(endless) else prices
    if not sum(weights) > 0.0:
        return -np.inf
    nothing = np.where(np.isfinite(explore), 0.0, -np.inf)
    return -_upper(chain, nothing, totals, [w / sum(weights) for w in weights], stored)


def _largest(reward: FloatArray) -> float:
    usable = reward[np.isfinite(reward)]
    return float(np.abs(usable).max())
