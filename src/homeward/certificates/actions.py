"""What a plan says of itself and of each action, worked out again.

The table of actions says, for each action in the current state, what it would be worth and keep to
take it now and to follow the plan from then on. That is no stationary policy, so on a move-or-stay
graph its first step is charged with the general correction (``docs/theory.md``, section 5). Of the
chosen action it says what the part of the plan does that starts with it.

A bound on safety is refuted if it is too high. One that is too low is true, but it is no reason to
call an action unsafe: verdicts are judged by the bounds that are found here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homeward.planning.plan import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from homeward.arrays import BoolArray, FloatArray
    from homeward.certificates.chain import Chain, Total
    from homeward.planning.plan import ActionEvidence, Plan

TOLERANCE = 1e-7
"""By how much, in units of what is said, a number may differ from the one found here."""

ROUNDING = 1e-14
"""And by how much more, as a fraction of the most that a plan could collect or keep."""

FEASIBLE = 2e-9
"""By how much a total may be below its level and still keep it."""

TINY = 1e-25
"""And as a fraction of what a plan could collect if it were elsewhere."""

WORTHLESS = 1e-12
"""A plan that is worth less than this fraction of the most that could be is worth nothing."""

UNSURE = 10.0
"""Between so many times less and so many times more, either answer will do."""


class Here:
    """The actions in the current state, and what they are worth with the plan followed after.

    The axis [A] is the actions; a plan's states are those that it can come to.
    """

    def __init__(
        self,
        plan: Plan,
        chain: Chain,
        worths: Sequence[Total],
        totals: Sequence[Total],
        ahead: Sequence[FloatArray],
        bonus: FloatArray,
        anywhere: float,
    ) -> None:
        """Take the objective in `worths`, also with losses as gains, and the criteria's `totals`.

        `ahead` are the mixture's values [S] of all these, one step on, and `bonus` is [A]. A plan
        that may start `anywhere` could collect that much, which rounding is measured by.
        """
        self.plan, self.totals = plan, totals
        self.slack = [
            TOLERANCE * (float(np.ptp(t.leaving)) * chain.span if c.kind == "earn" else 1.0)
            for c, t in zip(plan.criteria, totals, strict=True)
        ]  # of each total: earnings are measured by what can be earned where the plan can come to
        state, actions = plan.state, chain.world.shape[1]
        rows = chain.world.rows[state * actions : (state + 1) * actions]
        found = []
        for total, values in zip((*worths, *totals), ahead, strict=True):
            now = total.reward[state]
            if plan.correction == "moves" and plan.steps is None and total not in worths:
                now = total.leaving[state] + chain.discount * chain.world.general[state]
            leaving = total.leaving[0] if total.leaving.ndim == 3 else total.leaving
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
        self.rounding = ROUNDING * self.scale + TINY * anywhere
        # An action that leaves the set is priced with all that comes after, which may be much more.
        self.room = UNSURE * (chain.span if chain.exits.any() else 1.0)

    def may_stay(self, action: int) -> tuple[bool, bool]:
        """Tell whether an action surely, and whether it possibly, waits for no bonus."""
        if self.bonus[action] != 0.0 or self.reward[action] > 0.0:
            return False, False
        leaves = float(self.leaves[action])
        return leaves <= WORTHLESS / UNSURE, leaves <= WORTHLESS * UNSURE

    def may_be_nothing(self, value: float) -> tuple[bool, bool]:
        """Tell whether a worth surely, and whether it possibly, is nothing but rounding."""
        least = WORTHLESS * self.scale
        return abs(value) <= least / self.room, abs(value) <= least * self.room


def check_words(here: Here, value: float, kept_value: float) -> Iterator[str]:
    """Say where a plan is called worthless, or waiting, and is not, or the other way round."""
    plan = here.plan
    surely, possibly = here.may_be_nothing(value)
    if plan.worthless and not possibly:
        yield f"the plan is said to be worth nothing, and is worth {value:.6g}"
    if surely and not plan.worthless:
        yield "the plan is worth nothing, and does not say so"
    nothing, stays = here.may_be_nothing(kept_value), here.may_stay(plan.action)
    if plan.waits and not (nothing[1] or stays[1]):
        yield f"{plan.action_name(plan.action)} is said to wait for nothing, and does not"
    if not plan.waits and (nothing[0] or stays[0]):
        yield f"{plan.action_name(plan.action)} waits for nothing, and the plan does not say so"


def check_table(here: Here, kept: tuple[float, float], bounds: Sequence[float]) -> Iterator[str]:
    """Say what the table of actions gets wrong.

    The part of the plan that starts with its action is worth the first of `kept`, the second with
    losses as gains, and keeps `bounds` [K].
    """
    plan = here.plan
    for said in plan.evidence:
        a, name = said.action, plan.action_name(said.action)
        chosen = a == plan.action
        verdicts, weight, leaves = _verdicts(here, a), here.weight[a], here.leaves[a]
        if said.verdict not in verdicts:
            yield f"{name} is said to be “{said.verdict}”, and is “{verdicts[0]}”"
        if not abs(said.weight - weight) <= TOLERANCE:
            yield f"{name} is said to have a weight of {said.weight:.6g}, and has {weight:.6g}"
        if here.closed[a]:
            continue
        if not abs(said.leaves - leaves) <= TOLERANCE:
            yield f"{name} is said to leave with {said.leaves:.6g}, and does with {leaves:.6g}"
        worth, size = kept if chosen else (float(here.worth[a]), float(here.size[a]))
        if not abs(said.exploration - worth) <= TOLERANCE * size + here.rounding:
            yield f"{name} is said to be worth {said.exploration:.6g}, and is worth {worth:.6g}"
        yield from _check_safety(here, said, bounds if chosen else None)


def _check_safety(
    here: Here, said: ActionEvidence, bounds: Sequence[float] | None
) -> Iterator[str]:
    """Say which bounds of an action are above those that are found, or above given ones [K]."""
    for k, (total, claimed) in enumerate(zip(here.totals, said.safety, strict=True)):
        found = total.bound(float(here.safety[k][said.action])) if bounds is None else bounds[k]
        rounding = ROUNDING * (abs(total.least) + total.unit)
        if not claimed <= found + here.slack[k] * total.unit + rounding:
            plan = here.plan
            yield (
                f"{plan.action_name(said.action)} is said to keep {claimed:.6g} of "
                f"{plan.criteria[k].name!r}, and keeps {found:.6g}"
            )


def _verdicts(here: Here, action: int) -> list[Verdict]:
    """List the verdicts that an action may have; two where rounding decides between them."""
    if action == here.plan.action:
        return [Verdict.CHOSEN]
    if here.closed[action]:
        return [Verdict.UNAVAILABLE]
    if here.weight[action] > 0.0:
        surely, possibly = here.may_stay(action)
        return [Verdict.LESS_SAFE] * (not surely) + [Verdict.WAITS] * possibly
    if here.plan.status == "infeasible":
        return [Verdict.NO_SAFER]
    unsafe, safe = False, True
    for total, found, slack in zip(here.totals, here.safety, here.slack, strict=True):
        spare = float(found[action]) - total.level
        unsafe |= spare < slack
        safe &= spare > -slack - FEASIBLE
    return [Verdict.UNSAFE] * unsafe + [Verdict.WORTH_LESS] * safe
