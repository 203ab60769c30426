"""Check of a plan's table of actions and of its flags, by recomputation.

For each action in the current state, the table has the exploration value and the bound per
criterion of this behaviour: take the action now and follow the plan afterwards. This is not a
stationary policy, so on a move-or-stay graph its first step uses the general correction
(``docs/theory.md``, section 5). The numbers of the chosen action are those of the policies in the
mixture that start with it.

A claimed bound is refuted if it is too high. A claimed bound that is too low is valid, but it does
not justify the verdict "unsafe": verdicts are checked against the recomputed bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from homeward.arrays import FloatArray
from homeward.certificates.claims import CLAIM_TOLERANCE

if TYPE_CHECKING:
    from homeward.certificates.arithmetic import Recomputed

ROUNDING = 1e-14  # additional tolerance of a bound, relative to its largest possible value
LEVEL_TOLERANCE = 2e-9  # largest shortfall of a total that still meets its level
WORTHLESS = 1e-12  # smallest value of a plan that counts, relative to the largest possible value
UNSURE_FACTOR = 10.0  # if a number is within this factor of a threshold, both answers are accepted


def objections(again: Recomputed, ahead: Sequence[FloatArray], bonus: FloatArray) -> Iterator[str]:
    """Yield a sentence for each wrong flag of a plan, and for each wrong entry of its table.

    `ahead` has the mixture's values [S] after the first step, first for `again.worths` and then for
    `again.totals`. `bonus` [A] is the bonus of each action in the current state.
    """
    plan, chain, state = again.plan, again.chain, again.plan.state
    actions = chain.world.shape[1]
    at = slice(state * actions, (state + 1) * actions)
    rows, taken = chain.world.rows[at], plan.action_name(plan.action)
    others = rows.toarray()
    others[:, state] = 0.0
    leaves = others.sum(axis=1) + chain.world.ending[at]
    idle = (bonus == 0.0) & ~(chain.world.reward[state] > 0.0)
    # Two masks [A]: actions that certainly, and actions that possibly, neither move nor earn.
    stays = [idle & (leaves <= x) for x in (WORTHLESS / UNSURE_FACTOR, WORTHLESS * UNSURE_FACTOR)]
    # The value of an exit includes all later steps, so its rounding error is larger.
    unsure = UNSURE_FACTOR * (chain.span if chain.exits.any() else 1.0)

    def is_zero(value: float) -> tuple[bool, bool]:
        """Return whether a value is 0 for certain, and whether it may be 0, given its rounding."""
        least = WORTHLESS * again.scale
        return abs(value) <= least / unsure, abs(value) <= least * unsure

    surely, possibly = is_zero(again.value)
    if plan.worthless and not possibly:
        yield f"the plan is claimed to have no value, but its value is {again.value:.6g}"
    if surely and not plan.worthless:
        yield "the plan has no value, but its flag `worthless` is false"
    zero = is_zero(again.kept_value)
    if plan.waits and not (zero[1] or stays[1][plan.action]):
        yield f"{taken} is claimed to wait without gain, but it moves or gains"
    if not plan.waits and (zero[0] or stays[0][plan.action]):
        yield f"{taken} waits without gain, but the plan's flag `waits` is false"

    by_action = []
    for total, values in zip((*again.worths, *again.totals), ahead, strict=True):
        now, leaving = total.reward[state], np.asarray(total.leaving)
        if plan.correction == "moves" and plan.steps is None and total not in again.worths:
            now = leaving[state] + chain.discount * chain.world.general[state]
        leaving = leaving[0] if leaving.ndim == 3 else leaving
        onward = now + chain.discount * (rows @ values)
        by_action.append(np.where(chain.exits[state], leaving[state], onward))
    worths, sizes, *safety = by_action
    slacks = [  # tolerance of each total; for earnings, relative to the range in reachable states
        CLAIM_TOLERANCE
        * (float(np.ptp(np.asarray(t.leaving))) * chain.span if c.kind == "earn" else 1.0)
        for c, t in zip(plan.criteria, again.totals, strict=True)
    ]
    first = plan.outbound[:, state] if plan.steps is None else plan.outbound[:, 0, state]
    weights = np.bincount(first, plan.weights, minlength=actions)
    closed = ~np.isfinite(again.worths[0].reward[state])

    def verdicts(action: int) -> list[str]:
        """Return the correct verdict on an action, or two verdicts if rounding decides."""
        if action == plan.action:
            return ["chosen"]
        if closed[action]:
            return ["unavailable"]
        if weights[action] > 0.0:
            return ["less_safe"] * (not stays[0][action]) + ["waits"] * bool(stays[1][action])
        if plan.status == "infeasible":
            return ["no_safer"]
        spare = [
            float(kept[action]) - total.level
            for total, kept in zip(again.totals, safety, strict=True)
        ]
        pairs = list(zip(spare, slacks, strict=True))
        unsafe = any(left < slack for left, slack in pairs)
        safe = all(left > -slack - LEVEL_TOLERANCE for left, slack in pairs)
        return ["unsafe"] * unsafe + ["worth_less"] * safe

    for row in plan.evidence:
        a, name, chosen = row.action, plan.action_name(row.action), row.action == plan.action
        allowed, weight, leave = verdicts(a), weights[a], leaves[a]
        if row.verdict not in allowed:
            yield f"{name} is claimed to be “{row.verdict}”, but is “{allowed[0]}”"
        if not abs(row.weight - weight) <= CLAIM_TOLERANCE:
            yield f"{name} is claimed to have a weight of {row.weight:.6g}, but has {weight:.6g}"
        if closed[a]:
            continue
        if not abs(row.leaves - leave) <= CLAIM_TOLERANCE:
            yield (
                f"{name} is claimed to leave the state with probability {row.leaves:.6g}, "
                f"but the probability is {leave:.6g}"
            )
        worth, size = float(worths[a]), float(sizes[a])
        if chosen:
            worth, size = again.kept_value, again.kept_size
        if not abs(row.exploration - worth) <= CLAIM_TOLERANCE * size + again.rounding:
            value = f"but its value is {worth:.6g}"
            yield f"{name} is claimed to have value {row.exploration:.6g}, {value}"
        for k, (total, claimed) in enumerate(zip(again.totals, row.safety, strict=True)):
            kept = again.bounds["action"][k] if chosen else total.bound(float(safety[k][a]))
            rounding = ROUNDING * (abs(total.least) + total.unit)
            if not claimed <= kept + slacks[k] * total.unit + rounding:
                yield (
                    f"{name} is claimed to have the bound {claimed:.6g} for "
                    f"{plan.criteria[k].name!r}, but the bound is {kept:.6g}"
                )
