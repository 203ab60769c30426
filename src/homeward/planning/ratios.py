"""Most information per step on general models: Dinkelbach's ratio on a stochastic shortest path.

A proposal is a policy that ends by collecting a bonus. On the mean model p, let r be the reward, ξ
the bonus and k the cost of a step. With a price λ per unit of cost, the best proposal has the value

    V(s) = max_a max( r[s, a] + ξ[s, a] − λ k[s, a],  r[s, a] − λ k[s, a] + Σ_t p[s, a, t] V(t) ).

Policy iteration starts from the policy that collects immediately. The best ratio is the λ with
V = 0 in the current state. Dinkelbach's method sets λ to the ratio of the last policy and solves
again, until λ no longer rises. If the model has rewards, the largest average reward that is
possible without risk is subtracted from every reward, so no policy gains by only waiting. Read
`RatioSearch` first: which ratios are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import splu, spsolve

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs.base import corrections_of
from homeward.beliefs.corrections import Correction
from homeward.bonuses import checked_bonus
from homeward.models import SparseMDP
from homeward.planning.promise import BUDGET_TOLERANCE, Proposal
from homeward.planning.returning import Found
from homeward.planning.returning.policies import PolicyOptions
from homeward.planning.returning.sampled import LOT_SHARE, MIN_LOT, Sampled, tally_of
from homeward.solvers import PolicySolution, Status
from homeward.solvers.policies import engine
from homeward.threads import on_one_thread

if TYPE_CHECKING:
    from homeward.beliefs import Belief
    from homeward.bonuses import Bonus

STEP_RISK = 1e-6  # cost of a step without risk, as a fraction of the remaining budget
LEAST_GOING = 0.4  # least probability that a charged action leaves before the budget is spent,
# and, of what a proposal could collect with any budget, the least part that it collects before
BUDGET_LEVELS = 100  # levels of the remaining budget in `budgets_needed`
MAX_BUDGETS = 10  # most budgets that `budgets_needed` tries
MIN_RATE_SHARE = 1e-6  # least rate that is reported, as a fraction of the floor
MAX_PRICE_ROUNDS = 50  # largest number of rounds of Dinkelbach's method
EARNING_RECALL = 1e-6  # 1 − γ in the MDP whose optimum bounds the reward per step (`most_earned`)
STOP_PROBABILITY = 1e-12  # probability that a path ends at a step, so that all values are finite


class Ratio(NamedTuple):
    """The best ratio of gain to cost from a state."""

    action: int  # action in the current state
    gain: float  # expected bonus and reward, less toll and the reward that waiting would earn
    steps: float  # expected number of steps until the bonus is collected
    cost: float  # expected cost of these steps
    policy: IntArray  # [S] action in each state
    collects: BoolArray  # [S] mask of the states in which it collects a bonus
    quits: BoolArray  # [S] mask of the states in which it ends without one

    @property
    def rate(self) -> float:
        """Gain per step."""
        return self.gain / self.steps


class Sight(NamedTuple):
    """The search problem in the current state."""

    model: SparseMDP  # the mean model
    state: int
    share: FloatArray  # [S, A] largest share of any remaining budget that an action would spend
    bonus: FloatArray  # [S, A]
    inside: BoolArray  # [S, A] mask of the actions that may be taken


@dataclass(frozen=True, slots=True, eq=False)
class RatioSearch:
    """Finds proposals on a general model; see `returning.Search`.

    The cost of a step is 1. If no proposal reaches the floor with this cost, the cost of a step is
    its risk instead: the share of the remaining budget that it would spend. An action with a risk
    has to go somewhere: its bonus counts as far as it leaves the state, and it is left out if all
    tries that the budget allows probably stay (`LEAST_GOING`). To begin, they are counted in the
    remaining budget. An action that just stayed is tried again if they probably leave in the whole
    budget 1 − δ, so that bad luck is no reason to give up midway. Where charges do not change by
    what is learned, a bonus is left out if the budget is probably spent before it is collected
    (`budgets_needed`). If no proposal is left, the explorer follows the policy that earns most
    without additional risk.
    """

    bonus: Bonus
    floor: float  # smallest gain per step that is worth pursuing, above 0
    discount: float  # γ of the rewards that are earned when nothing is left to learn
    allowed: BoolArray | None = None  # mask [S, A] of the actions that may be taken; None: all
    sampled: Sampled | None = None

    @on_one_thread
    def find(
        self,
        belief: Belief,
        options: Sequence[PolicyOptions],
        state: int,
        pursued: Proposal | None,
        *,
        news: float,
        idle: int,
        learn: bool,
    ) -> Found:
        """Return an action and its proposal, or why there is none."""
        sight = self._sight(belief, options, state)
        model, share, whole = sight.model, sight.share, np.zeros_like(sight.share)
        for each in options:
            np.maximum(whole, each.share_of(each.goal.budget), out=whole)
        # In other states the charges may be bounds, which learning on the way there may lower.
        # Without news for long they are not lowered; nor are those of a known model.
        stale = idle > model.states
        everywhere = stale or all(each.exact for each in options)
        kind = Correction.GENERAL
        settled = stale or not corrections_of(belief, belief.mean(), 0.5, kind).returning.any()
        goes = _goes(model, share, slice(None) if everywhere else state)
        if pursued is not None and pursued.path == (state,) and pursued.action >= 0:  # it stayed
            goes[state, pursued.action] |= _goes(model, whole, state)[state, pursued.action]
        ratio, found = self._worth_learning(sight, goes, settled)
        if ratio is None or not learn:
            earning = best_earning(model, sight.inside & (share <= 0.0), self.discount, state)
            if earning is None:
                return found
            action, rates = earning
            proposal = Proposal((state,), float(rates[action]), 1.0)
            return found._replace(action=action, proposal=proposal, earns=True)
        action, risk = ratio.action, float(share[state, ratio.action])
        chance = 1.0
        if self.sampled is not None and options and risk > 1.0:
            chance = LOT_SHARE / risk
            if not self.sampled.wins(tally_of(options[0].promise), chance):
                return found
        proposal = Proposal((state,), ratio.gain, ratio.steps, risk, action=action)
        return found._replace(action=action, proposal=proposal, chance=chance)

    def retreat(
        self, belief: Belief, options: Sequence[PolicyOptions], state: int, refused: Found
    ) -> Found:
        """Return why the run ends instead of a `refused` action, which a budget can't pay.

        Only an estimate of the charge in new worlds can exceed what the action was chosen by.
        """
        assert refused.proposal is not None
        share = max(refused.proposal.share, 1.0 + BUDGET_TOLERANCE)
        return Found(None, None, refused.left, refused.rate, refused.proposal.gain, share)

    @on_one_thread
    def rates(
        self, belief: Belief, options: Sequence[PolicyOptions], state: int, found: Found
    ) -> FloatArray:
        """Return the best gain per step [A] of a proposal that begins with each action."""
        sight = self._sight(belief, options, state)
        model, inside = sight.model, sight.inside
        if found.earns:
            earning = best_earning(model, inside & (sight.share <= 0.0), self.discount, state)
            rates = np.zeros(model.actions) if earning is None else earning[1]
            return np.where(np.isfinite(rates), rates, 0.0)
        rates, steps = np.zeros(model.actions), np.ones(inside.shape)
        for a in range(model.actions):
            only = inside.copy()
            only[state] &= np.arange(model.actions) == a
            ratio = best_ratio(model, sight.bonus, steps, only, state)
            rates[a] = 0.0 if ratio is None else ratio.rate
        return rates

    def _sight(self, belief: Belief, options: Sequence[PolicyOptions], state: int) -> Sight:
        model = belief.mean().sparse()
        share = np.zeros((model.states, model.actions))
        for each in options:
            np.maximum(share, each.share_of(each.left), out=share)  # a negative charge is free
        inside = np.ones(share.shape, bool) if self.allowed is None else self.allowed
        bonus = checked_bonus(self.bonus, belief, model.reward)
        bonus = np.where(share > 0.0, bonus * (1.0 - staying(model)), bonus)
        return Sight(model, state, share, bonus, inside)

    def _worth_learning(
        self, sight: Sight, goes: BoolArray, settled: bool
    ) -> tuple[Ratio | None, Found]:
        """Return the best ratio of gain to steps, else of gain to risk; and what is left.

        If the charges are `settled`, a ratio of gain to risk is one that the budget probably pays.
        """
        model, state, share, bonus, inside = sight
        affordable, free = inside & goes & (share <= 1.0), inside & (share <= 0.0)
        floor = self.floor
        remaining = float(bonus.max(axis=1).sum())
        steps, found = np.ones(share.shape), Found(None, None, remaining)
        ratio = best_ratio(model, bonus, steps, affordable, state, remaining * share, free)
        if ratio is not None and ratio.rate >= floor:
            return ratio, found
        if ratio is not None and ratio.rate > MIN_RATE_SHARE * floor:
            found = found._replace(rate=ratio.rate)
        priced = np.maximum(share, 0.0) + STEP_RISK
        # Only gain above the floor counts: the floor is subtracted first and added back later.
        within = bonus
        while True:
            given = model, within, priced, affordable, state, floor, free
            ratio = best_ratio(*given)
            if ratio is None:  # no policy surely collects a bonus: accept one that may fail
                ratio = best_ratio(*given, may_fail=True)
            if ratio is None:
                break
            if not settled or budgets_needed(model, ratio, share, state) <= 1.0:
                return ratio._replace(gain=ratio.gain + floor * ratio.steps), found
            within = np.where(_reached(model, ratio, state)[:, None], 0.0, within)
        unpaid = replace(model, reward=np.where(np.isfinite(model.reward), 0.0, -np.inf))
        beyond = best_ratio(unpaid, bonus, priced, inside, state, floor)
        if beyond is not None:
            if settled:
                beyond = beyond._replace(cost=budgets_needed(model, beyond, share, state))
            gain = beyond.gain + floor * beyond.steps
            if self.sampled is not None and self.sampled.lots and MIN_LOT * beyond.cost < 1.0:
                ratio = beyond._replace(gain=gain)
            over = max(beyond.cost, 1.0 + BUDGET_TOLERANCE)
            found = found._replace(gain=gain, share=over)
        return ratio, found


def staying(model: SparseMDP) -> FloatArray:
    """Return the probability [S, A] that an action stays in its state."""
    here = np.repeat(np.arange(model.states), model.actions)
    found = np.asarray(model.transitions[np.arange(here.size), here])
    return found.reshape(model.states, model.actions)


def _goes(model: SparseMDP, share: FloatArray, where: int | slice) -> BoolArray:
    """Return the mask [S, A] of the actions whose risk is for going somewhere.

    Each try spends the `share` [S, A] of a budget. As many tries as this budget allows leave the
    state with probability `LEAST_GOING` or more. Only the states `where` are checked.
    """
    stays = staying(model)
    tries = np.floor(1.0 / np.maximum(share, STEP_RISK))
    goes: BoolArray = np.ones(share.shape, bool)
    goes[where] = ((stays**tries <= 1.0 - LEAST_GOING) | (share <= 0.0))[where]
    return goes


def _reached(model: SparseMDP, ratio: Ratio, state: int) -> BoolArray:
    """Return the mask [S] of the states in which a proposal may collect a bonus from `state`."""
    on = np.arange(model.actions) == ratio.policy[:, None]
    on &= ~(ratio.collects | ratio.quits)[:, None]
    return reached(model, on, state) & ratio.collects


def budgets_needed(model: SparseMDP, ratio: Ratio, share: FloatArray, state: int) -> float:
    """Return how many times the remaining budget a proposal needs to probably collect its bonus.

    It collects with `LEAST_GOING` of the probability with which it does with any budget. Each
    action spends its `share` [S, A] of the budget, in levels of 1/`BUDGET_LEVELS`. A part of a
    level is spent as a whole one with the probability of that part, so that small shares add up.
    The result is at most `MAX_BUDGETS`.
    """
    states, collects = np.arange(model.states), ratio.collects
    most = MAX_BUDGETS * BUDGET_LEVELS
    cost = np.clip(share[states, ratio.policy] * BUDGET_LEVELS, 0.0, most + 1.0)
    whole = np.floor(cost + 1e-3).astype(np.int64)
    part = np.maximum(0.0, cost - whole)
    moves = diags_array(np.where(collects | ratio.quits, 0.0, 1.0 - STOP_PROBABILITY))
    rows = (moves @ model.transitions[states * model.actions + ratio.policy]).tocsr()
    eye = eye_array(model.states)

    def spending(levels: int) -> FloatArray:
        """Return the probability [S] that the action of the policy spends a number of levels."""
        return np.where(whole == levels, 1.0 - part, np.where(whole + 1 == levels, part, 0.0))

    enough = LEAST_GOING * spsolve((eye - rows).tocsc(), collects.astype(np.float64))[state]
    solver = splu((eye - diags_array(spending(0)) @ rows).tocsc())
    spends = {n: diags_array(spending(n)) @ rows for n in np.union1d(whole, whole + 1).tolist()}
    chance = np.zeros((most + 1, model.states))
    for level in range(len(chance)):
        pays = np.where(whole < level, 1.0, np.where(whole == level, 1.0 - part, 0.0))
        right = np.where(collects, pays, 0.0)
        for n, ahead in spends.items():
            if 0 < n <= level:
                right += ahead @ chance[level - n]
        chance[level] = solver.solve(right)
        if chance[level, state] >= enough * (1.0 - 1e-9):
            return level / BUDGET_LEVELS
    return float(MAX_BUDGETS)


def best_earning(
    model: SparseMDP, allowed: BoolArray, discount: float, state: int
) -> tuple[int, FloatArray] | None:
    """Return the action in `state` that earns most, and the rate [A] of each action.

    Only `allowed` [S, A] actions count, without those that may lead to a state without an allowed
    action. The rate of an action is the discounted reward per step of taking it and following the
    best policy afterwards; −inf if it is excluded. Returns None if no reward above 0 can be earned.
    """
    usable = allowed & np.isfinite(model.reward)
    links = model.transitions > 0
    while True:  # exclude actions that may lead to a state without an allowed action
        stuck: BoolArray = ~np.any(usable, axis=1)
        kept = usable & ~(links @ stuck).reshape(usable.shape)
        if (kept == usable).all():
            break
        usable = kept
    if stuck[state]:
        return None
    reward = np.where(usable, model.reward, -np.inf)
    reward[stuck] = 0.0  # states without an allowed action are never entered
    solved = engine(model, discount, reward[None]).optimise(np.ones(1))
    value = solved.values[0]
    if value[state] <= 0.0:
        return None
    rows = model.transitions[state * model.actions : (state + 1) * model.actions]
    rates = (1.0 - discount) * (reward[state] + discount * (rows @ value))
    return int(solved.policy[state]), rates


def most_earned(model: SparseMDP, usable: BoolArray, state: int) -> float:
    """Return an upper bound on the average reward per step of policies of `usable` [S, A] actions.

    Only states that can be reached from `state` count. Let V be the optimal value for a discount γ
    near 1. The average reward of a policy is the mean of its own (1 − γ)·value under its stationary
    distribution, so the largest (1 − γ)·V is an upper bound. The result is at least 0, since a run
    may end.
    """
    if not (usable & (model.reward > 0.0)).any():
        return 0.0
    rows = (diags_array(usable.ravel().astype(np.float64)) @ model.transitions).tocsr()
    ending = SparseMDP(rows, np.where(usable, model.reward, 0.0))  # other actions end the process
    solved = engine(ending, 1.0 - EARNING_RECALL, ending.reward[None]).optimise(np.ones(1))
    most = float(solved.values[0, reached(model, usable, state)].max())
    return max(0.0, EARNING_RECALL * most) * (1.0 + 1e-9)


def reached(model: SparseMDP, usable: BoolArray, state: int) -> BoolArray:
    """Return the mask [S] of the states that `usable` [S, A] actions may reach from `state`."""
    rows = (diags_array(usable.ravel().astype(np.float64)) @ model.transitions).tocsr()
    rows.eliminate_zeros()
    parts = rows.data, rows.indices, rows.indptr[:: model.actions].copy()
    links = csr_array(parts, (model.states, model.states))
    met = np.zeros(model.states, np.bool_)
    met[breadth_first_order(links, state, return_predecessors=False)] = True
    return met


def best_ratio(
    model: SparseMDP,
    bonus: FloatArray,
    cost: FloatArray,
    allowed: BoolArray,
    state: int,
    toll: FloatArray | float = 0.0,
    free: BoolArray | None = None,
    *,
    may_fail: bool = False,
) -> Ratio | None:
    """Return the best ratio of bonus plus reward to cost over all policies.

    `bonus` [S, A] is at least 0; `cost` [S, A] is above 0 for `allowed` [S, A] actions. The `toll`
    [S, A] is subtracted from the reward. So is the largest average reward of policies that use only
    `free` [S, A] actions (None: all allowed ones). A policy collects a bonus with probability 1,
    unless the process ends. If it `may_fail`, it may also quit in any state other than `state`.
    Returns None if nothing can be gained.
    """
    usable = allowed & np.isfinite(model.reward)
    collects = usable & (bonus > 0.0)
    quits: BoolArray = np.full(model.states, may_fail)
    quits[state] = False
    onward, start, inside = _collecting(model, usable, collects, quits)
    if not (inside[state] and collects.any()):
        return None
    forgone = most_earned(model, usable if free is None else usable & free, state)
    reward = np.where(usable, model.reward - toll - forgone, -np.inf)
    # Actions 0 to A − 1 go on, A to 2A − 1 are the same but collect and end, and 2A quits.
    actions, never = model.actions, np.zeros((model.states, 1))
    rows = model.transitions.tocoo()
    here, action = np.divmod(rows.row, actions)
    at, shape = here * (2 * actions + 1) + action, (model.states * (2 * actions + 1), model.states)
    scale = max(1.0, float(cost[usable].max()))
    dear = np.where(usable, cost, 0.0) / scale
    gains = [
        np.where(onward, reward, -np.inf),
        np.where(collects, reward + bonus, -np.inf),
        np.where((quits | ~inside)[:, None], 0.0, -np.inf),
    ]
    each = np.hstack([np.ones((model.states, 2 * actions)), never])
    totals = np.stack([np.hstack(gains), each, np.hstack([dear, dear, never])])
    longer = SparseMDP(csr_array((rows.data, (at, rows.col)), shape))
    solver = engine(longer, 1.0 - STOP_PROBABILITY, totals)
    first = PolicySolution(start, solver.evaluate(start), np.inf, Status.NOT_CONVERGED, 0)
    least = 1e-9 * float(bonus[collects].max()) / float(dear.max())
    price, best = 0.0, None
    for _ in range(MAX_PRICE_ROUNDS):
        first = solver.optimise(np.array([1.0, 0.0, -max(price, least)]), [first])
        gain, steps, paid = first.values[:, state].tolist()
        if not 0.0 < gain < np.inf or not paid > 0.0:
            break
        if best is not None and gain <= price * paid * (1.0 + 1e-12):
            break
        price, policy, kind = gain / paid, first.policy % actions, first.policy // actions
        found = gain, steps, scale * paid, policy, kind == 1, kind == 2
        best = Ratio(int(policy[state]), *found)
    return best


def _collecting(
    model: SparseMDP, usable: BoolArray, collects: BoolArray, quits: BoolArray
) -> tuple[BoolArray, IntArray, BoolArray]:
    """Return the states from which a policy surely collects a bonus, or quits where `quits` [S].

    They are the third result, a mask [S]. The first one masks the `usable` [S, A] actions that
    surely stay in these states, and the second one is such a policy [S], with actions numbered as
    in `best_ratio`; in the other states it quits. `collects` [S, A] are the actions with a bonus.
    """
    links, ends = model.transitions > 0.0, collects.any(axis=1)
    inside: BoolArray = np.ones(model.states, np.bool_)
    while True:
        onward = usable & ~(links @ ~inside).reshape(usable.shape)
        start = np.where(ends, model.actions + collects.argmax(axis=1), 2 * model.actions)
        met = ends | quits
        while True:
            closer = onward & (links @ met).reshape(usable.shape) & ~met[:, None]
            new = closer.any(axis=1)
            if not new.any():
                break
            start[new], met = closer.argmax(axis=1)[new], met | new
        if (met == inside).all():
            return onward & inside[:, None], start.astype(np.int32), inside
        inside = met
