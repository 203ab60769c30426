r"""Recomputation of a plan's numbers on the mean model, with rounding in the plan's disfavour.

One evaluator, `Chain`, computes the totals of rewards under a policy on the mean model: by a sparse
linear solve, or step by step if the recall is fixed. After an action that leaves the set of a
`StayInside`, the process goes on in a second copy of the states, in which no criterion counts. The
formulas are those of ``docs/theory.md``:

- The return probability is the value v [S] of the claimed return policy. A state from which this
  policy never ends, or whose value would be negative, counts as giving up: v = 0.
- A criterion's bound is the total of its corrected rewards under the claimed mixture, with this v.
- If the belief knows how likely moves work together, the bound may be that of the path (`_path`).
- U(λ) = max_π f(π) + Σ λ_k (g_k(π) − level_k), with f the exploration value and g_k the total of
  criterion k, is at least the value of every mixture that meets the levels, for every λ ≥ 0. It
  uses the best return policy, found by policy iteration; the residual bounds its error. If U(λ)
  with f = 0 is below 0, no plan is safe.

Only states that the plan can reach decide tolerances. The mean and the corrections are the
belief's own: `check_belief` judges them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import block_array, csr_array, diags_array
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import splu

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs.base import MoveSets
from homeward.beliefs.corrections import stay_moves
from homeward.errors import InvalidInputError
from homeward.models import Model, Moves
from homeward.referee.claims import CLAIM_TOLERANCE

if TYPE_CHECKING:
    from homeward.beliefs import Belief
    from homeward.referee.claims import CriterionClaims, Part, PlanCase

ROUNDING = 1e-14  # rounding error of a value, relative to the largest possible value
ANYWHERE_ROUNDING = 1e-25  # the same, relative to that value if all states were reachable
GAIN_TOLERANCE = 1e-14  # largest gain that counts as rounding, as a fraction of the largest value
MAX_ROUNDS = 10_000  # largest number of rounds of policy iteration
UNIT_ROUNDOFF = 2.0**-53
OPERATIONS = 16  # floating-point operations per action value, besides one per next state
MOVE_ROUNDING = 2.0**-49  # rounding error of a return probability per expected move
STEADY_TOLERANCE = 1e-16  # a limited return is steady if a step changes no value by more
MAX_LAYERS = 100_000  # largest number of steps of a limited return that are computed
MIN_MOVE_PROBABILITY = 1e-250  # the best return policy uses no less likely move
ENDING_ROUNDING = 1e-15  # a row that lacks less than this does not end the process
LEVEL_TOLERANCE = 2e-9  # largest shortfall of a total that still meets its level
WORTHLESS = 1e-12  # smallest value of a plan that counts, relative to the largest possible value
UNSURE_FACTOR = 10.0  # if a number is within this factor of a threshold, both answers are accepted
MIN_WEIGHT = 1e-12  # a path ends when γᵏ times the product of its success probabilities is less

Edge = tuple[int, int]  # a state and an action


class MeanModel:
    """The mean model of a belief as sparse rows, and its corrections by kind."""

    def __init__(self, belief: Belief, kind: str, discount: float) -> None:
        model = belief.mean()
        rows = model.sparse().transitions
        scale = 1.0 / np.maximum(np.asarray(rows.sum(axis=1)), 1.0)
        self.rows = csr_array(diags_array(scale) @ rows)  # [S·A, S]
        lacks = 1.0 - np.asarray(self.rows.sum(axis=1))
        self.ending: FloatArray = np.where(lacks > ENDING_ROUNDING, lacks, 0.0)  # [S·A]
        self.reward, self.shape = model.reward, (model.states, model.actions)
        self.usable = np.isfinite(model.reward)
        self.graph = model if isinstance(model, Moves) else None
        self.is_moves = kind == "moves" and self.graph is not None
        nothing = np.zeros(self.shape)
        self.general: FloatArray = nothing if kind == "naive" else belief.correction()
        self.returning = self.exploring = self.staying = self.general
        if self.graph is not None and kind == "moves":
            self.returning, self.exploring = belief.move_corrections(discount)
            self.staying = 0.5 * self.exploring
            if belief.moves_work_or_never:
                likely = belief.success_bounds()
                self.staying = stay_moves(self.graph.dest, *likely, discount)
        moved = self.rows.tocoo()
        here = moved.row // model.actions
        away = np.where(moved.col == here, 0.0, moved.data)
        self.others = csr_array((away, (moved.row, moved.col)), shape=self.rows.shape)
        leaves = np.asarray(self.others.sum(axis=1)) + self.ending
        self.leaves: FloatArray = leaves.reshape(self.shape)  # probability of leaving the state


def reachable(model: Model, state: int) -> BoolArray:
    """Return the mask [S] of the states that can be reached from `state`."""
    steps, usable = model.sparse().transitions.tocoo(), np.isfinite(model.reward)
    real = usable.ravel()[steps.row] & (steps.data > 0.0)
    ends = steps.row[real] // model.actions, steps.col[real]
    graph = csr_array((np.ones(len(ends[0])), ends), shape=(model.states, model.states))
    found = np.zeros(model.states, dtype=bool)
    found[breadth_first_order(graph, state, return_predecessors=False)] = True
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """A corrected reward on the mean model; a total x of it stands for ``least + unit·x``."""

    reward: FloatArray  # [S, A]
    paid: FloatArray  # [S, A] reward of an action that leaves the set, without a correction
    final: FloatArray  # [S] reward for being in each state at a fixed recall
    least: float
    unit: float
    level: float  # the required total

    def bound(self, total: float) -> float:
        """Return the probability or earnings of a total, which is clipped to [0, 1]."""
        return self.least + self.unit * min(1.0, max(0.0, total))


class Chain:
    """Evaluates policies on the mean model over N states: S inside, and S outside the set if any.

    Gains are [N, A, K] for K totals; ``final`` [N, K] is paid at a fixed recall.
    """

    def __init__(
        self, world: MeanModel, discount: float, steps: int | None, exits: BoolArray | None
    ) -> None:
        self.copies = 1 if exits is None else 2
        self.rows, self.steps = world.rows, steps
        if exits is not None:
            out = diags_array(exits.ravel() * 1.0) @ world.rows
            inside = diags_array(~exits.ravel() * 1.0) @ world.rows
            self.rows = csr_array(block_array([[inside, out], [None, world.rows]]))
        self.ending = np.tile(world.ending, self.copies)
        self.discount = discount if steps is None else 1.0
        self.span = 1.0 / (1.0 - discount) if steps is None else float(steps)
        self.actions, self.each = world.shape[1], np.arange(self.copies * world.shape[0])

    def whole(self, policy: IntArray, afterwards: IntArray | None) -> IntArray:
        """Return a policy [N] or [n, N], which follows `afterwards` outside the set."""
        if self.copies == 1:
            return policy
        after = policy if afterwards is None else afterwards
        return np.concatenate([policy, after], axis=-1)

    def values(self, gain: FloatArray, final: FloatArray, policy: IntArray) -> FloatArray:
        """Return the totals [1, N, K] of a policy, or [n + 1, N, K] by step at a fixed recall."""
        if self.steps is None:
            pair = self.each * self.actions + policy
            rows, earned = csr_array(self.rows[pair]), gain[self.each, policy]
            return solve(rows, self.ending[pair], earned, self.discount)[None]
        found = [final]
        for t in range(self.steps - 1, -1, -1):
            rows = self.rows[self.each * self.actions + policy[t]]
            found.append(gain[self.each, policy[t]] + rows @ found[-1])
        return np.array(found[::-1])

    def best(
        self, gain: FloatArray, final: FloatArray, near: BoolArray, start: list[IntArray]
    ) -> tuple[FloatArray, float]:
        """Return the largest totals [N] that any policy has, and an upper bound on their error.

        `gain` [N, A] is −inf for actions that can't be chosen, and `near` [N] are the states that
        count. Policy iteration begins with the best policy in `start` [N].
        """
        entries = int(np.diff(self.rows.indptr).max(initial=0))
        rounding = (OPERATIONS + entries) * UNIT_ROUNDOFF * self.span
        usable = np.isfinite(gain) & near[:, None]
        largest = float(np.abs(gain[usable]).max())
        open_gain = np.where(np.isfinite(gain), gain, 0.0)

        def ahead(values: FloatArray) -> FloatArray:
            return np.asarray(gain + self.discount * (self.rows @ values).reshape(gain.shape))

        if self.steps is not None:
            values, most = final, float(np.abs(final).max())
            for _ in range(self.steps):
                values = ahead(values).max(axis=1)
                most = max(most, float(np.abs(values[near]).max()))
            return values, rounding * (largest + most)

        def valued(policy: IntArray) -> FloatArray:
            return np.where(near, self.values(open_gain[..., None], final, policy)[0, :, 0], 0.0)

        found = [(valued(each), each) for each in (gain.argmax(axis=1), *start)]
        values, policy = max(found, key=lambda pair: float(pair[0].sum()))
        for _ in range(MAX_ROUNDS):
            q = ahead(values)
            rise = np.where(near, q.max(axis=1) - values, 0.0)
            small = GAIN_TOLERANCE * float(np.abs(values).max())
            if rise.max() <= small:
                break
            better = np.where(rise > small, q.argmax(axis=1), policy)
            risen = valued(better)
            if risen.sum() <= values.sum():  # a cycle within rounding
                break
            policy, values = better, risen
        size = largest + float(np.abs(values).max())
        return values, max(0.0, float(rise.max())) * self.span + rounding * size


def solve(rows: csr_array, leaving: FloatArray, gain: FloatArray, discount: float) -> FloatArray:
    """Return the values v [n, K] with ``v = gain + discount·rows·v``.

    `rows` [n, n] are the transition probabilities between n states. `leaving` [n] is the rest of
    each row: the probability of leaving these states. The diagonal is (1 − γ) + γ·Pr(leaving the
    state), so small probabilities keep their digits.
    """
    others = rows - diags_array(rows.diagonal())
    away = np.asarray(others.sum(axis=1)) + leaving
    system = diags_array((1.0 - discount) + discount * away) - discount * others
    return np.asarray(splu(system.tocsc()).solve(gain), np.float64)


class Recomputed:
    """The numbers of a plan, recomputed from its belief and its policies.

    Attributes
    ----------
    faults : for each criterion, reasons against claims other than its bound
    bounds : for each mixture, by name, the corrected bound of each criterion
    value, kept_value : exploration value of the plan, and of the mixture that takes the action
    upper : upper bound on the value of safe plans; None unless the plan claims one
    short : if the plan is infeasible, a lower bound on the weighted shortfall of every plan
    objections : reasons against the plan's flags and its table of actions
    """

    def __init__(self, case: PlanCase) -> None:
        plan, belief = case.plan, case.belief
        self.case, self.plan = case, plan
        self.world = world = MeanModel(belief, plan.correction, plan.discount)
        near = reachable(belief.mean(), plan.state)
        self.chain = chain = Chain(world, plan.discount, plan.steps, case.exits)
        self.near: BoolArray = np.tile(near, chain.copies)
        closed, most = self._closed(), []
        self.faults: list[list[str]] = []
        self.totals: list[Total] = []
        for k, criterion in enumerate(plan.criteria):
            self.faults.append(list(closed))
            total, highest = self._totals(k, criterion)
            self.totals.append(total)
            most.append(highest)
        explore = np.where(world.usable, world.reward + case.bonus, 0.0)
        worth = [Total(x, x, np.zeros(len(x)), 0.0, 1.0, 0.0) for x in (explore, np.abs(explore))]
        self.gain, self.final = self._gains([*worth, *self.totals], 2)
        whole = self._mixed(plan.weights, plan.outbound)
        kept = self._mixed(plan.kept_weights, plan.kept_outbound)[0, plan.state]
        self.value, self.size, *planned = whole[0, plan.state].tolist()
        self.kept_value, self.kept_size, *taken = kept.tolist()
        self.bounds = {
            name: [t.bound(value) for t, value in zip(self.totals, values, strict=True)]
            for name, values in (("plan", planned), ("action", taken))
        }
        real = world.usable & near[:, None]
        everywhere = np.abs(case.bonus).max() + np.abs(world.reward[world.usable]).max()
        # Upper bounds on the value of a plan: over all states, and over reachable states.
        self.anywhere = float(everywhere) * chain.span
        self.scale = float(np.abs(explore[real]).max()) * chain.span
        self.rounding = ROUNDING * self.scale + ANYWHERE_ROUNDING * self.anywhere
        self.objections = (*self._objections(whole[-1 if plan.steps is None else 1]),)
        prices = [c.multiplier * t.unit for c, t in zip(plan.criteria, self.totals, strict=True)]
        self.prices = float(sum(prices))
        self.upper = self.short = None
        if np.isfinite(plan.upper_bound):
            self.upper = self._upper(worth[0], most, prices)
        elif plan.upper_bound == -np.inf:
            infinite = [float(price == np.inf) for price in prices]
            prices = infinite if any(infinite) else prices
            nothing, whole_price = np.zeros(world.shape), float(sum(prices))
            free = Total(nothing, nothing, nothing[:, 0], 0.0, 1.0, 0.0)
            shares = [price / whole_price for price in prices] if whole_price > 0.0 else []
            self.short = -self._upper(free, most, shares) if shares else -np.inf

    def by_evaluator(self, part: Part, k: int) -> float:
        """Return the bound of a mixture on criterion `k`, by the evaluator that the plan names.

        If the belief does not allow that evaluator, it is the corrected bound.
        """
        case, criterion, total = self.case, self.plan.criteria[k], self.totals[k]
        corrected = self.bounds[part.name][k]
        joint = criterion.evaluator == "path" and self.plan.steps is None
        if not (joint and criterion.evaluator == case.belief.evaluator and self.world.graph):
            return corrected
        if not case.belief.moves_work_or_never:
            return corrected
        worth = np.ones(case.bonus.shape)
        if criterion.kind == "earn":
            worth = total.paid / (1.0 - self.plan.discount)
        each = [self._path(criterion, policy, worth) for policy in part.outbound]
        return max(corrected, total.bound(float(part.weights @ np.array(each))))

    def _closed(self) -> list[str]:
        """Return a sentence for each policy that takes an action which can't be chosen."""
        plan, each = self.plan, np.arange(self.world.shape[0])
        policies = [
            ("the plan", plan.outbound),
            ("the mixture that starts with the action", plan.kept_outbound),
            *((f"the return policy of criterion {k}", c.return_policies)
              for k, c in enumerate(plan.criteria)),
        ]  # fmt: skip
        if plan.afterwards is not None:
            policies.append(("the policy outside the set", plan.afterwards))
        return [
            f"{name} takes an action that can't be chosen in {plan.state_name(int(at[-1]))}"
            for name, policy in policies
            for at in np.argwhere(
                ~self.world.usable[each, np.maximum(policy, 0)] & (policy >= 0)
            )[:1]
        ]  # fmt: skip

    def _totals(self, k: int, criterion: CriterionClaims) -> tuple[Total, Total]:
        """Return the corrected reward of criterion `k` for its claimed and its best return policy.

        A sentence for each wrong claim is added to `faults`.
        """
        plan, world, faults = self.plan, self.world, self.faults[k]
        if plan.correction == "moves" and world.graph is None:
            faults.append("the moves correction needs move-or-stay worlds")
        sigma = world.staying if criterion.kind == "stay" else world.exploring
        sigma = world.general if plan.steps is not None else sigma
        least, unit = 0.0, 1.0
        each = best = np.ones(world.shape)
        if criterion.kind == "earn":
            low, high = self._range(k)
            span, given = high - low, self.case.rewards[k]
            paid = world.reward if given is None else given
            paid = np.where(world.usable, paid, low)
            each = np.clip((paid - low) / span, 0.0, 1.0) if span > 0.0 else np.zeros(world.shape)
            if span == 0.0:
                sigma, span = np.zeros(world.shape), 1.0
            best, least, unit = each, low * plan.expected_steps, span * plan.expected_steps
            if abs(unit - criterion.unit) > CLAIM_TOLERANCE * max(unit, criterion.unit):
                faults.append(
                    f"the range of earnings is {unit:g}, but is claimed to be {criterion.unit:g}"
                )
        elif criterion.kind == "return":
            way, highest = return_bounds(world, criterion)
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
            nothing = np.zeros(world.shape)
            if plan.steps is None:
                paid, final = (1.0 - plan.discount) * each, nothing[:, 0]
                return Total(paid + plan.discount * sigma, paid, final, least, unit, level)
            if criterion.kind == "earn":
                share = each / plan.steps
                return Total(share + sigma, share, nothing[:, 0], least, unit, level)
            return Total(sigma, nothing, each[:, 0], least, unit, level)

        return total(each), total(best)

    def _range(self, k: int) -> tuple[float, float]:
        """Return the least and the greatest reward of one step that counts for criterion `k`.

        A sentence is added to `faults` if the worlds' rewards are outside the claimed limits.
        """
        given, limits, belief = self.case.rewards[k], self.case.limits[k], self.case.belief
        if given is not None:
            paid = given[self.world.usable]
            low, high = float(paid.min()), float(paid.max())
        else:
            real = self.world.reward[self.world.usable]
            known = belief.reward_limits() or (float(real.min()), float(real.max()))
            low, high = known if limits is None else limits
            slack = 1e-12 * max(abs(known[0]), abs(known[1]))
            if known[0] < low - slack or known[1] > high + slack:
                self.faults[k].append(
                    f"rewards of the worlds range from {known[0]:g} to {known[1]:g}, outside the "
                    f"limits ({low:g}, {high:g})"
                )
        return (low if self.world.graph is not None else min(low, 0.0)), high

    def _gains(self, totals: list[Total], everywhere: int) -> tuple[FloatArray, FloatArray]:
        """Return the gains [N, A, K] and the final rewards [N, K] of K totals.

        The first `everywhere` of them count outside the set too. States that can't be reached have
        no gains, as large ones would spoil the digits of others.
        """
        gains, finals = [], []
        for k, total in enumerate(totals):
            inside, final = total.reward, total.final
            if self.case.exits is not None:
                counts = float(k < everywhere)
                inside = np.where(self.case.exits, total.paid, total.reward)
                inside = np.concatenate([inside, counts * total.reward])
                final = np.concatenate([final, counts * final])
            gains.append(inside)
            finals.append(final)
        gain, near = np.stack(gains, axis=-1), self.near[:, None]
        return np.where(near[..., None], gain, 0.0), np.where(near, np.stack(finals, axis=-1), 0.0)

    def _mixed(self, weights: FloatArray, policies: IntArray) -> FloatArray:
        """Return the totals [1 or n + 1, N, K] of a mixture of policies [J, S] or [J, n, S]."""
        chain, after = self.chain, self.plan.afterwards
        each = [chain.values(self.gain, self.final, chain.whole(p, after)) for p in policies]
        return np.asarray(np.tensordot(weights, np.array(each), axes=1), np.float64)

    def _upper(self, worth: Total, totals: list[Total], prices: list[float]) -> float:
        """Return an upper bound on the total `worth` of every plan that meets the levels.

        `prices` are the multipliers λ in units of each total.
        """
        plan, chain = self.plan, self.chain
        gain, final = self._gains([worth, *totals], 1)
        prices = [1.0, *prices]
        usable = np.tile(self.world.usable, (chain.copies, 1))
        gain = np.where(usable, gain @ np.array(prices), -np.inf)
        starts = plan.outbound if plan.steps is None else plan.outbound[:0]
        start = [chain.whole(policy, plan.afterwards) for policy in starts]
        values, error = chain.best(gain, final @ np.array(prices), self.near, start)
        best = float(values[plan.state])
        for price, total in zip(prices[1:], totals, strict=True):
            size = abs(total.level) + abs(total.least) / total.unit
            best -= price * (total.level - OPERATIONS * UNIT_ROUNDOFF * size)
        return best + error

    def _path(self, criterion: CriterionClaims, policy: IntArray, worth: FloatArray) -> float:
        r"""Return a lower bound on the expected worth [S, A] of the recall under `policy` [S].

        If every move always or never works, a policy follows one path. Let A_k be the event that
        the first k moves and all moves of the way home from their end work, and B_k the event that
        the next move works too. A recall comes with probability 1 − γ before each step, so the
        total is Σ_k (1 − γ) γᵏ w_k Pr(A_k) + γᵏ⁺¹ w_k (Pr(A_k) − Pr(B_k)), with w_k the worth.
        """
        case, discount, s = self.case, self.plan.discount, self.plan.state
        model = self.world.graph
        assert model is not None
        path: list[Edge] = []
        terms: list[tuple[float, float]] = []  # factors of Pr(A_k), and of max(0, A_k − B_k)
        sets: list[list[Edge]] = []  # A_0, B_0, A_1, B_1, …
        power, likely = 1.0, 1.0

        def add(weight: float, onward: float, at: int, *more: Edge) -> None:
            back = _way_home(model.dest, criterion, at)
            if back is not None:
                sets.extend(([*path, *back], [*path, *back, *more]))
                terms.append((weight, onward))

        while power * likely >= MIN_WEIGHT:
            visited = [state for state, _ in path]
            if s in visited:
                cycle = path[visited.index(s) :]
                for i, (state, action) in enumerate(cycle):
                    share = (1.0 - discount) * discount**i / (1.0 - discount ** len(cycle))
                    add(power * share * float(worth[state, action]), 0.0, state)
                break
            edge = (s, int(policy[s]))
            paid = power * float(worth[edge])
            if case.exits is not None and case.exits[edge]:
                add((1.0 - discount) * paid, 0.0, s)
                break
            if model.dest[edge] == s or model.success[edge] <= 0.0:
                add(paid, 0.0, s)
                break
            add((1.0 - discount) * paid, discount * paid, s, edge)
            path.append(edge)
            power, likely = power * discount, likely * float(model.success[edge])
            s = int(model.dest[edge])
        low, high = works_together(case.belief, sets)
        both = np.array(terms).reshape(-1, 2)
        stays = np.maximum(0.0, low[::2] - high[1::2])
        return float(both[:, 0] @ low[::2] + both[:, 1] @ stays)

    def _objections(self, ahead: FloatArray) -> Iterator[str]:
        """Yield a sentence for each wrong flag of a plan, and for each wrong entry of its table.

        The table has the value and the bounds of taking an action now and following the plan
        afterwards. That is not a stationary policy, so its first step uses the general correction.
        `ahead` [N, K] has the totals of the mixture after the first step.
        """
        plan, case, world, chain = self.plan, self.case, self.world, self.chain
        state, actions = plan.state, world.shape[1]
        leaves, taken = world.leaves[state], plan.action_name(plan.action)
        idle = (case.bonus[state] == 0.0) & ~(world.reward[state] > 0.0)
        # Two masks [A]: actions that certainly, and actions that possibly, neither move nor earn.
        stays = [idle & (leaves <= WORTHLESS * f) for f in (1.0 / UNSURE_FACTOR, UNSURE_FACTOR)]
        # The value of an exit includes all later steps, so its rounding error is larger.
        unsure = UNSURE_FACTOR * (chain.span if case.exits is not None else 1.0)
        least = WORTHLESS * self.scale
        surely = [abs(x) <= least / unsure for x in (self.value, self.kept_value)]
        maybe = [abs(x) <= least * unsure for x in (self.value, self.kept_value)]
        waits = "waits without gain, but the plan's flag `waits` is false"
        for wrong, reason in (
            (plan.worthless and not maybe[0],
             f"the plan is claimed to have no value, but its value is {self.value:.6g}"),
            (surely[0] and not plan.worthless,
             "the plan has no value, but its flag `worthless` is false"),
            (plan.waits and not (maybe[1] or stays[1][plan.action]),
             f"{taken} is claimed to wait without gain, but it moves or gains"),
            (not plan.waits and (surely[1] or stays[0][plan.action]), f"{taken} {waits}"),
        ):  # fmt: skip
            if wrong:
                yield reason
        now = self.gain[state].copy()  # [A, K]
        if plan.correction == "moves" and plan.steps is None:
            inside = np.ones(actions) if case.exits is None else ~case.exits[state] * 1.0
            for k, total in enumerate(self.totals):
                general = plan.discount * world.general[state] * inside
                now[:, 2 + k] = total.paid[state] + general
        at = slice(state * actions, (state + 1) * actions)
        by_action = now + chain.discount * (chain.rows[at] @ ahead)
        first = plan.outbound.reshape(len(plan.weights), -1, world.shape[0])[:, 0, state]
        weights = np.bincount(first, plan.weights, minlength=actions)
        for row in plan.evidence:
            a, is_chosen = row.action, row.action == plan.action
            name = plan.action_name(a)
            bounds = [t.bound(float(x)) for t, x in zip(self.totals, by_action[a, 2:], strict=True)]
            worth, size = (float(x) for x in by_action[a, :2])
            if is_chosen:
                worth, size, bounds = self.kept_value, self.kept_size, self.bounds["action"]
            right = self._verdicts(a, by_action[a, 2:], weights[a], [bool(x[a]) for x in stays])
            if row.verdict not in right:
                yield f"{name} is claimed to be “{row.verdict}”, but is “{right[0]}”"
            if not abs(row.weight - weights[a]) <= CLAIM_TOLERANCE:
                found = f"{row.weight:.6g}, but has {weights[a]:.6g}"
                yield f"{name} is claimed to have a weight of {found}"
            if not world.usable[state, a]:
                continue
            if not abs(row.leaves - leaves[a]) <= CLAIM_TOLERANCE:
                found = f"{row.leaves:.6g}, but the probability is {leaves[a]:.6g}"
                yield f"{name} is claimed to leave the state with probability {found}"
            if not abs(row.exploration - worth) <= CLAIM_TOLERANCE * size + self.rounding:
                found = f"{row.exploration:.6g}, but its value is {worth:.6g}"
                yield f"{name} is claimed to have value {found}"
            for k, (claimed, bound) in enumerate(zip(row.safety, bounds, strict=True)):
                total = self.totals[k]
                slack = self._slack(k) * total.unit + ROUNDING * (abs(total.least) + total.unit)
                if not claimed <= bound + slack:
                    found = f"{plan.criteria[k].name!r}, but the bound is {bound:.6g}"
                    yield f"{name} is claimed to have the bound {claimed:.6g} for {found}"

    def _slack(self, k: int) -> float:
        """Return the tolerance of the total of criterion `k` in the table of actions."""
        if self.plan.criteria[k].kind != "earn":
            return CLAIM_TOLERANCE
        paid = self.totals[k].paid[self.near[: len(self.world.reward)]]
        return CLAIM_TOLERANCE * float(np.ptp(paid)) * self.chain.span

    def _verdicts(
        self, action: int, totals: FloatArray, weight: float, stays: list[bool]
    ) -> list[str]:
        """Return the correct verdict on an action, or two verdicts if rounding decides."""
        plan = self.plan
        if action == plan.action:
            return ["chosen"]
        if not self.world.usable[plan.state, action]:
            return ["unavailable"]
        if weight > 0.0:
            return ["less_safe"] * (not stays[0]) + ["waits"] * stays[1]
        if plan.status == "infeasible":
            return ["no_safer"]
        spare = [
            (float(x) - t.level, self._slack(k))
            for k, (x, t) in enumerate(zip(totals, self.totals, strict=True))
        ]
        unsafe = any(left < slack for left, slack in spare)
        safe = all(left > -slack - LEVEL_TOLERANCE for left, slack in spare)
        return ["unsafe"] * unsafe + ["worth_less"] * safe


def return_bounds(world: MeanModel, criterion: CriterionClaims) -> tuple[FloatArray, FloatArray]:
    """Return the bound [S] of the claimed return policy, and an upper bound on that of any policy.

    An error of ε per move changes a value by ε times the expected number of moves.
    """
    at_home = np.zeros(world.shape[0], dtype=bool)
    at_home[criterion.home] = True
    if criterion.within is not None:
        value, _ = _within(world, [*criterion.stages()], at_home)
        most, layers = _within(world, [(None, criterion.within)], at_home)
        return value, np.minimum(1.0, most + layers * MOVE_ROUNDING)
    policy = criterion.return_policy
    claimed, moves = _follow(world, policy, at_home)
    away, value = world.leaves, claimed
    usable = world.usable & (away > MIN_MOVE_PROBABILITY)
    for _ in range(MAX_ROUNDS):
        ahead = world.returning + (world.others @ value).reshape(world.shape)
        q = np.where(usable, ahead / np.where(usable, away, 1.0), -np.inf)
        rise = np.where(at_home, 0.0, np.maximum(q.max(axis=1), 0.0) - value)
        left = (max(0.0, float(rise.max())) + MOVE_ROUNDING) * (1.0 + float(moves.max()))
        most = np.minimum(1.0, value + left)
        if rise.max() <= GAIN_TOLERANCE:
            return claimed, most
        policy = np.where(rise > GAIN_TOLERANCE, q.argmax(axis=1), policy)
        risen, moves = _follow(world, policy, at_home)
        if risen.sum() <= value.sum():  # a cycle within rounding
            return claimed, most
        value = risen
    return claimed, np.ones(len(value))


def _follow(
    world: MeanModel, policy: IntArray, at_home: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Return the bound [S] of a return policy [S], and its expected number of moves [S].

    Attempts that leave the state unchanged do not count as moves.
    """
    active = (policy >= 0) & ~at_home
    pair = np.arange(len(policy)) * world.shape[1] + np.maximum(policy, 0)
    walk, home, moves = csr_array(world.rows[pair]), at_home.astype(np.float64), 0.0 * policy
    value = home
    while active.any():
        active = active & _can_end(walk, active, world.ending[pair] > 0.0)
        each = np.flatnonzero(active)
        if not len(each):
            break
        rows, leaves = walk[each], world.leaves.ravel()[pair[each]]
        leaving = world.ending[pair[each]] + rows[:, ~active].sum(axis=1)
        gain = world.returning[each, policy[each]] + rows @ home
        found = solve(rows[:, each], leaving, np.stack([gain, leaves], axis=1), 1.0)
        value, moves = home.copy(), 0.0 * policy
        value[each], moves[each] = found.T
        if not (value[each] < 0.0).any():
            break
        active = active & (value >= 0.0)
    active_or_home = active | at_home
    return np.clip(np.where(active_or_home, value, 0.0), 0.0, 1.0), np.where(active, moves, 0.0)


def _can_end(walk: csr_array, active: BoolArray, ends: BoolArray) -> BoolArray:
    """Return the mask [S] of states from which `walk` [S, S] can end or leave `active` states."""
    found = ~active | ends
    waiting = found
    while waiting.any():
        waiting = active & ~found & (walk @ waiting.astype(np.float64) > 0.0)
        found = found | waiting
    return found


def _within(
    world: MeanModel, stages: list[tuple[IntArray | None, int]], at_home: BoolArray
) -> tuple[FloatArray, int]:
    """Return the lower bound [S] of a return within a number of steps, and the steps computed.

    Each stage is a pair: a policy [S], or None for the best actions, and its number of steps.
    """
    each, value, layers = np.arange(world.shape[0]), at_home.astype(np.float64), 0
    for policy, steps in stages:
        for _ in range(steps):
            layers += 1
            if layers > MAX_LAYERS:
                limit = f"the return within {sum(steps for _, steps in stages)} steps"
                raise InvalidInputError(
                    f"{limit} can't be checked: its values still change after {MAX_LAYERS} steps"
                )
            q = world.general + (world.rows @ value).reshape(world.shape)
            if world.is_moves and world.graph is not None:
                q = np.maximum(q, value[world.graph.dest] - (1.0 - world.graph.success))
            if policy is None:
                ahead = np.where(world.usable, q, 0.0).max(axis=1)
            else:
                ahead = np.where(policy >= 0, q[each, np.maximum(policy, 0)], 0.0)
            before, value = value, np.where(at_home, 1.0, np.clip(ahead, 0.0, 1.0))
            if np.abs(value - before).max() <= STEADY_TOLERANCE:
                break
    return value, layers


def works_together(belief: Belief, sets: list[list[Edge]]) -> tuple[FloatArray, FloatArray]:
    """Return bounds [n] from below and above on Pr(no move of a set never works), for n sets."""
    unsure = belief.blocked_probability() > 0.0
    doubtful = [sorted({edge for edge in edges if unsure[edge]}) for edges in sets]
    first = np.cumsum([0, *map(len, doubtful)])
    flat = np.array([edge for edges in doubtful for edge in edges], np.int64).reshape(-1, 2)
    found = belief.work_together(MoveSets(first, flat[:, 0].copy(), flat[:, 1].copy()))
    return found.low, found.high


def _way_home(dest: IntArray, criterion: CriterionClaims, state: int) -> list[Edge] | None:
    """Return the edges of a criterion's way home from a state; None if no way leads home."""
    if criterion.kind != "return":
        return []
    homes: set[int] = set(criterion.home.tolist())
    way: list[Edge] = []
    steps = len(dest) if criterion.within is None else criterion.within
    for left in range(steps, -1, -1):
        if state in homes:
            return way
        layer = 0
        if criterion.within is not None and criterion.return_since is not None:
            layer = max(0, int(np.searchsorted(criterion.return_since, left, side="right")) - 1)
        action = int(criterion.return_policies[layer, state])
        if action < 0 or left == 0:
            return None
        way.append((state, action))
        state = int(dest[state, action])
    return None
