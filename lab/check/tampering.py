"""Checks that `certify` confirms sound plans and refutes plans with one forged entry.

Plans are made on every kind of belief and criterion, with either kind of recall. Each plan must be
confirmed. Then one entry is forged. The forged plan must be refuted, or raise when it is built:

- *outbound* or *return*: an entry of a policy is changed so that, by enumeration, a claim of the
  plan is false. Plans without such an entry are skipped. Finite beliefs only.
- *bound* or *table*: a bound of the plan or of its table of actions is raised by .05 of its unit.
  The bound may still be true, since bounds are conservative, but it is no longer proven.
- *action*: the chosen action is replaced.
- *status*: the levels are called infeasible although the plan meets them.

If the exact value contradicts a claim by more than the width of the sampled interval, sampling
alone must refute the claim.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from homeward.arrays import BoolArray, IntArray
from homeward.beliefs import Belief, DirichletBelief, FiniteBelief
from homeward.beliefs.corrections import Correction
from homeward.criteria import Criterion, EarnAtLeast, ReturnHome, StayInside
from homeward.errors import InvalidProblemError
from homeward.models import Moves, SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.planning.plan import Verdict
from homeward.referee.certificate import judge
from homeward.referee.claims import CriterionClaims, PlanCase
from homeward.referee.exact import enumerated_values
from homeward.solvers import Status
from lab.check.calibration import height_outset
from lab.check.soundness import DISCOUNTS, TOGETHER, far_bonus, paid, random_case

Tamper = Literal["outbound", "return", "bound", "action", "table", "status"]
TAMPERS: tuple[Tamper, ...] = ("outbound", "return", "bound", "action", "table", "status")

EXTRA = 0.05  # increase of a forged bound, in its unit
MIN_EXCESS = 1e-3  # minimum excess of an untrue claim over the exact value, in its unit
MAX_CHANGES = 25  # number of policy entries tried before a plan is skipped


@dataclass(frozen=True, slots=True)
class Trial:
    """The verdict of `certify` on one plan."""

    belief: str
    tamper: str | None  # None for an unchanged plan
    refuted: bool
    exactly: bool = False  # by enumeration
    sampled: bool = False  # by sampling
    reckoned: bool = False  # by arithmetic
    contradicted: bool = False  # some claim is wrong by more than the width of its interval
    missed: bool = False  # sampling did not refute such a claim
    refused: bool = False  # building the plan raised, since it is inconsistent


def random_plan(number: int, rng: np.random.Generator) -> PlanCase:
    """Draw a plan; `number` determines its kind of belief, its criteria and its kind of recall.

    Of six consecutive numbers, three give a few small worlds, one gives larger worlds, one gives
    Dirichlet rows, and one gives heights. The criteria cycle through all kinds, pairs and
    triples. The kinds of recall alternate.
    """
    kinds, fixed = TOGETHER[number % len(TOGETHER)], bool(number // 2 % 2)
    turn = number % 6
    if turn < 3:
        case = random_case(kinds, number, rng, fixed=fixed)
        correction = case.corrections[int(rng.integers(len(case.corrections)))]
        return _planned(case.belief, case.criteria, case.discount, correction, case.recall, 0)
    recall = int(rng.integers(2, 6)) if fixed else None
    if turn == 5:
        belief, state = height_outset((5, 5), rng)
        states = belief.mean().states
        inside = np.ones(states, dtype=bool)
        inside[rng.choice(np.delete(np.arange(states), state), 4, replace=False)] = False
        earn = EarnAtLeast(0.0, np.ones((states, belief.mean().actions)))
        ways: list[Criterion] = [
            ReturnHome(0.8),
            ReturnHome(0.7, within=6),
            StayInside(inside, 0.6),
        ]
        picked = [ways[int(rng.integers(3))], *([earn] if rng.random() < 0.3 else [])]
        return _planned(belief, picked, 0.95, None, recall, state)
    discount = float(rng.choice(DISCOUNTS[2:5]))
    if turn == 4:
        rows = rng.choice([0.0, 0.0, 0.3, 2.0, 20.0], (5, 3, 5))
        rows[:, 0] += 5.0 * np.eye(5)
        rows[:, 1:, 0] += 0.5
        tabular: Belief = DirichletBelief.independent(rows, rng.uniform(0.0, 1.0, (5, 3)))
    else:
        tabular = paid(_larger(rng), rng)
    home = int(rng.integers(2))
    criteria: list[Criterion] = [
        ReturnHome(float(rng.choice([0.3, 0.6, 0.9])), home),
        ReturnHome(float(rng.choice([0.2, 0.5, 0.8])), home, within=int(rng.integers(2, 9))),
    ]
    return _planned(tabular, criteria[: 1 + number // 6 % 2], discount, None, recall, home)


def _larger(rng: np.random.Generator) -> FiniteBelief:
    """Draw 3 to 6 worlds with 6 to 12 states and 3 actions, of either model."""
    states, count = int(rng.integers(6, 13)), int(rng.integers(3, 7))
    weights = rng.dirichlet(np.ones(count))
    if rng.random() < 0.5:
        dest = rng.integers(0, states, (states, 3))
        dest[:, 0] = np.arange(states)
        works = rng.random((count, states, 3)) < rng.uniform(0.3, 1.0, (states, 3))
        return FiniteBelief([Moves(dest, world * 1.0) for world in works], weights)
    rows = rng.dirichlet(np.full(states, 0.1), (count, states, 3))
    rows[rows < 1e-6] = 0.0
    rows /= rows.sum(axis=3, keepdims=True)
    rows[:, rng.random((states, 3)) < 0.4] = np.eye(states)[rng.integers(states)]
    return FiniteBelief([SparseMDP.from_dense(world) for world in rows], weights)


def _planned(
    belief: Belief,
    criteria: list[Criterion],
    discount: float,
    correction: Correction | None,
    recall: int | None,
    state: int,
) -> PlanCase:
    """Return the plan of a planner with a bonus for being far from state 0."""
    planner = Planner(far_bonus, criteria, discount, correction, recall=recall)
    return PlanCase.of(planner.plan(belief, state), belief, planner)


def tampered(case: PlanCase, tamper: Tamper, rng: np.random.Generator) -> PlanCase | None:
    """Return the plan with a forged entry; None if it has no entry to forge.

    Raise `InvalidProblemError` if the forged plan is inconsistent.
    """
    if tamper in ("bound", "action", "table", "status"):
        forge = {"bound": _raised, "action": _renamed, "table": _tabled, "status": _denied}
        return forge[tamper](case, rng)
    if not isinstance(case.belief, FiniteBelief):
        return None
    forged = _outbound(case, rng) if tamper == "outbound" else _return(case, rng)
    return next((found for found in forged if is_untrue(found)), None)


def is_untrue(case: PlanCase) -> bool:
    """Return whether some claim of a plan on a finite belief is above the exact value."""
    true = enumerated_values(case)
    units = np.array([c.unit for c in case.plan.criteria])
    return any(
        bool((np.array(part.claims) - true[part.name] > MIN_EXCESS * units).any())
        for part in case.parts
    )


def _raised(case: PlanCase, rng: np.random.Generator) -> PlanCase | None:
    """Return the plan with a higher bound of the plan or of its action; None if all are near 1."""
    criteria = case.plan.criteria
    room = [k for k, c in enumerate(criteria) if c.kind == "earn" or c.bound <= 1.0 - EXTRA]
    if not room:
        return None
    k = int(rng.choice(room))
    more = EXTRA * criteria[k].unit
    raised = replace(criteria[k], bound=criteria[k].bound + more)
    if rng.random() < 0.5:
        raised = replace(criteria[k], kept_bound=criteria[k].kept_bound + more)
    return _with_criterion(case, k, raised)


def _renamed(case: PlanCase, rng: np.random.Generator) -> PlanCase | None:
    """Return the plan with another available action; None if there is no other."""
    plan = case.plan
    usable = np.flatnonzero(np.isfinite(case.belief.mean().reward[plan.state]))
    others = usable[usable != plan.action]
    if not others.size:
        return None
    return replace(case, plan=replace(plan, action=int(rng.choice(others))))


def _tabled(case: PlanCase, rng: np.random.Generator) -> PlanCase | None:
    """Return the plan with a higher bound in its table of actions; None if all are near 1."""
    plan, rows = case.plan, list(case.plan.evidence)
    room = [
        (row.action, k)
        for row in rows
        for k, c in enumerate(plan.criteria)
        if row.verdict != Verdict.UNAVAILABLE and (c.kind == "earn" or row.safety[k] <= 1.0 - EXTRA)
    ]
    if not room:
        return None
    action, k = room[int(rng.integers(len(room)))]
    safety = list(rows[action].safety)
    safety[k] += EXTRA * plan.criteria[k].unit
    rows[action] = rows[action]._replace(safety=tuple(safety))
    return replace(case, plan=replace(plan, evidence=tuple(rows)))


def _denied(case: PlanCase, _: np.random.Generator) -> PlanCase | None:
    """Return the plan with the status infeasible; None unless it is optimal."""
    plan = case.plan
    if plan.status is not Status.OPTIMAL:
        return None
    left_out = (Verdict.UNSAFE, Verdict.WORTH_LESS)
    rows = tuple(
        row._replace(verdict=Verdict.NO_SAFER) if row.verdict in left_out else row
        for row in plan.evidence
    )
    denied = replace(
        plan,
        status=Status.INFEASIBLE,
        upper_bound=-np.inf,
        gap=0.0,
        criteria=tuple(replace(c, multiplier=np.inf) for c in plan.criteria),
        evidence=rows,
    )
    return replace(case, plan=denied)


def _one_entry_changed(
    policies: IntArray, usable: BoolArray, rng: np.random.Generator, *more: int
) -> Iterator[IntArray]:
    """Yield policies with one other action, a `usable` [S, A] one or one of `more`.

    A random sample of entries is changed; the last axis of `policies` is the state.
    """
    for place in rng.permutation(policies.size)[:MAX_CHANGES]:
        at = np.unravel_index(int(place), policies.shape)
        for action in (*more, *np.flatnonzero(usable[at[-1]])):
            if action != policies[at]:
                changed = policies.copy()
                changed[at] = action
                yield changed


def _outbound(case: PlanCase, rng: np.random.Generator) -> Iterator[PlanCase]:
    """Yield plans with one changed entry of an outbound policy, for a sample of entries."""
    usable = np.isfinite(case.belief.mean().reward)
    for policies in _one_entry_changed(case.plan.outbound, usable, rng):
        yield replace(case, plan=replace(case.plan, outbound=policies))


def _return(case: PlanCase, rng: np.random.Generator) -> Iterator[PlanCase]:
    """Yield plans with one changed entry of a return policy, for a sample of entries."""
    usable = np.isfinite(case.belief.mean().reward)
    for k, criterion in enumerate(case.plan.criteria):
        if criterion.kind != "return":
            continue
        layers = criterion.return_layers
        ways = criterion.return_policy[None] if layers is None else layers
        for other in _one_entry_changed(ways, usable, rng, -1):
            kept = None if layers is None else other
            changed = replace(criterion, return_policy=other[-1], return_layers=kept)
            yield _with_criterion(case, k, changed)


def _with_criterion(case: PlanCase, k: int, claims: CriterionClaims) -> PlanCase:
    """Return the plan with other claims about criterion `k`."""
    criteria = (*case.plan.criteria[:k], claims, *case.plan.criteria[k + 1 :])
    return replace(case, plan=replace(case.plan, criteria=criteria))


def examine(
    case: PlanCase, tamper: Tamper | None, episodes: int, confidence: float, seed: int
) -> Trial:
    """Certify a plan, forged by `tamper` if not None, and return the result."""
    found = judge(case, episodes=episodes, confidence=confidence, seed=seed)
    methods = {method for verdict in found.verdicts for method in verdict.refuted_by}
    off = [  # by more than the interval
        verdict.sampled.high >= verdict.claimed
        for verdict in found.verdicts
        if verdict.exact is not None
        and verdict.sampled is not None
        and verdict.claimed - verdict.exact > verdict.sampled.high - verdict.sampled.low
    ]
    return Trial(
        type(case.belief).__name__,
        tamper,
        found.refuted,
        "exact" in methods,
        "sampling" in methods,
        reckoned=found.worth.refuted or bool(found.said) or "arithmetic" in methods,
        contradicted=bool(off),
        missed=any(off),
    )


def try_plans(
    plans: int, forged: int, episodes: int, confidence: float, seed: int
) -> Iterator[Trial]:
    """Yield the trials of `plans` unchanged plans, then of `forged` plans.

    The kinds of forgery alternate.
    """
    rng = np.random.default_rng(seed)
    for number in range(plans):
        yield examine(random_plan(number, rng), None, episodes, confidence, seed)
    number = made = 0
    while made < forged:
        tamper = TAMPERS[made % len(TAMPERS)]
        sound = random_plan(number, rng)
        number += 1
        try:
            plan = tampered(sound, tamper, rng)
        except InvalidProblemError:
            made += 1
            yield Trial(type(sound.belief).__name__, tamper, True, refused=True)
            continue
        if plan is not None:
            made += 1
            yield examine(plan, tamper, episodes, confidence, seed)
