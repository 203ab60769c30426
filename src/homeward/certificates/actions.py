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

    from homeward.arrays import FloatArray
    from homeward.certificates.arithmetic import Recomputed

ROUNDING = 1e-14
"""Additional difference of a bound, as a fraction of the most that could be kept."""

LEVEL_TOLERANCE = 2e-9
"""Largest shortfall of a total that still keeps its level."""

WORTHLESS = 1e-12
"""Fraction of the largest possible value below which a plan counts as worthless."""

UNSURE_FACTOR = 10.0
"""Within this factor of a threshold either answer is accepted."""


def objections(again: Recomputed, ahead: Sequence[FloatArray], bonus: FloatArray) -> Iterator[str]:
    """Yield a reason for each wrong flag of a plan, and for each wrong number of its table.

    `ahead` are the mixture's values [S] one step on, of `worths` and `totals`. `bonus` [A] is that
    of the actions in the current state.
    """
    plan, chain, state = again.plan, again.chain, again.plan.state
    actions = chain.world.shape[1]
    at = slice(state * actions, (state + 1) * actions)
    rows, taken = chain.world.rows[at], plan.action_name(plan.action)
    others = rows.toarray()
    others[:, state] = 0.0
    leaves = others.sum(axis=1) + chain.world.ending[at]
    idle = (bonus == 0.0) & ~(chain.world.reward[state] > 0.0)
    # Two answers: surely, and possibly, an action neither moves nor earns.
    stays = [idle & (leaves <= x) for x in (WORTHLESS / UNSURE_FACTOR, WORTHLESS * UNSURE_FACTOR)]
    # The value of an action that leaves the set includes all that follows: more rounding.
    unsure = UNSURE_FACTOR * (chain.span if chain.exits.any() else 1.0)

    def is_zero(value: float) -> tuple[bool, bool]:
        """Return whether a value surely, and possibly, is only rounding."""
        least = WORTHLESS * again.scale
        return abs(value) <= least / unsure, abs(value) <= least * unsure

    surely, possibly = is_zero(again.value)
    if plan.worthless and not possibly:
        yield f"the plan is claimed to have no value, but is worth {again.value:.6g}"
    if surely and not plan.worthless:
        yield "the plan has no value, but does not say so"
    zero = is_zero(again.kept_value)
    if plan.waits and not (zero[1] or stays[1][plan.action]):
        yield f"{taken} is claimed to wait without gain, but does not"
    if not plan.waits and (zero[0] or stays[0][plan.action]):
        yield f"{taken} waits without gain, but the plan does not say so"

    found = []
    for total, values in zip((*again.worths, *again.totals), ahead, strict=True):
        now, leaving = total.reward[state], np.asarray(total.leaving)
        if plan.correction == "moves" and plan.steps is None and total not in again.worths:
            now = leaving[state] + chain.discount * chain.world.general[state]
        leaving = leaving[0] if leaving.ndim == 3 else leaving
        onward = now + chain.discount * (rows @ values)
        found.append(np.where(chain.exits[state], leaving[state], onward))
    worths, sizes, *safety = found
    slacks = [  # of each total; earnings relative to their range in reachable states
        CLAIM_TOLERANCE
        * (float(np.ptp(np.asarray(t.leaving))) * chain.span if c.kind == "earn" else 1.0)
        for c, t in zip(plan.criteria, again.totals, strict=True)
    ]
    first = plan.outbound[:, state] if plan.steps is None else plan.outbound[:, 0, state]
    weights = np.bincount(first, plan.weights, minlength=actions)
    closed = ~np.isfinite(again.worths[0].reward[state])

    def verdicts(action: int) -> list[str]:
        """Return the verdicts that an action may have; two if rounding decides between them."""
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

    for said in plan.evidence:
        a, name, chosen = said.action, plan.action_name(said.action), said.action == plan.action
        allowed, weight, leave = verdicts(a), weights[a], leaves[a]
        if said.verdict not in allowed:
            yield f"{name} is claimed to be “{said.verdict}”, but is “{allowed[0]}”"
        if not abs(said.weight - weight) <= CLAIM_TOLERANCE:
            yield f"{name} is claimed to have a weight of {said.weight:.6g}, but has {weight:.6g}"
        if closed[a]:
            continue
        if not abs(said.leaves - leave) <= CLAIM_TOLERANCE:
            yield f"{name} is claimed to leave with {said.leaves:.6g}, but does with {leave:.6g}"
        worth, size = float(worths[a]), float(sizes[a])
        if chosen:
            worth, size = again.kept_value, again.kept_size
        if not abs(said.exploration - worth) <= CLAIM_TOLERANCE * size + again.rounding:
            yield f"{name} is claimed to be worth {said.exploration:.6g}, but is worth {worth:.6g}"
        for k, (total, claimed) in enumerate(zip(again.totals, said.safety, strict=True)):
            kept = again.bounds["action"][k] if chosen else total.bound(float(safety[k][a]))
            rounding = ROUNDING * (abs(total.least) + total.unit)
            if not claimed <= kept + slacks[k] * total.unit + rounding:
                yield (
                    f"{name} is claimed to keep {claimed:.6g} of {plan.criteria[k].name!r}, "
                    f"but keeps {kept:.6g}"
                )
