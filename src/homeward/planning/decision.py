"""Choice of one action from a mixture of policies, in favour of safety, with the reasons.

An optimal mixture of policies would be drawn once and followed. The paper does not draw: it takes
the safest action to which the mixture gives weight. Call the policies with the same first action a
*share* of the mixture. The bound of the mixture is an average over its shares, so with one
criterion the share with the best bound keeps at least the bound of the mixture. That share is
taken, with two exceptions. Both use *variants*: policies of the mixture with another action in the
current state.

- With several criteria, there may be no share that keeps all the levels. Then the best variant that
  keeps them is taken. If there is none, the share with the largest margin to its most violated
  level is taken, and `Plan.keeps_all` is False.
- If the plan has value but the safest share waits or moves without gain, the explorer would do so
  for ever. Then the best variant that has value and keeps the levels is taken.

Variants are evaluated like any other policy, so their bounds are proven too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.certificates.claims import ActionEvidence
from homeward.models import Moves
from homeward.planning.plan import Evidence, Verdict
from homeward.planning.problem import lower
from homeward.solvers import ConstrainedProblem, ConstrainedSolution, Status, engine_for
from homeward.solvers.tolerances import ROUNDING, met_within

WORTHLESS = 1e-12  # value of a plan that counts as 0, as a fraction of the largest possible total


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The chosen action, and the policies of the plan that start with it."""

    action: int
    weights: FloatArray  # [J] probability of each policy
    policies: IntArray  # [J, S], over the states of the problem
    values: FloatArray  # [1 + K] in the current state: the objective, then each criterion
    margin: float  # the least excess over a level


def is_worthless(problem: ConstrainedProblem, choice: Choice) -> bool:
    """Return whether the choice is worth 0 up to rounding."""
    return bool(abs(choice.values[0]) <= WORTHLESS * problem.worth)


def decide(
    problem: ConstrainedProblem, solved: ConstrainedSolution, stays: BoolArray | None
) -> Choice:
    """Return the choice; `stays` [A], if given, masks the actions that neither move nor earn."""
    firsts = solved.policies[:, problem.start]
    shares = []
    for action in set(firsts.tolist()):
        mine = firsts == action
        weights = solved.weights[mine] / solved.weights[mine].sum()
        values = weights @ solved.values[mine, :, problem.start]
        policies = solved.policies if mine.all() else solved.policies[mine]
        shares.append(Choice(action, weights, policies, values, _margin(problem, values)))
    safest = max(shares, key=lambda share: (share.margin, share.values[0], -share.action))
    within = met_within(problem.span)
    kept = safest.margin >= -within
    stuck = stays is not None and (bool(stays[safest.action]) or is_worthless(problem, safest))
    if solved.status is Status.INFEASIBLE or (kept and not stuck):
        return safest
    others = [other for other in _variants(problem, solved) if other.margin >= -within]
    if kept and stays is not None:
        others = [o for o in others if not stays[o.action] and o.values[0] > safest.values[0]]
    if not others:
        return safest
    return max(others, key=lambda other: (other.values[0], other.margin, -other.action))


def evidence_of(
    problem: ConstrainedProblem,
    solved: ConstrainedSolution,
    choice: Choice,
    leaving: FloatArray,
    stays: BoolArray,
    exits: BoolArray | None = None,
    measures: Sequence[tuple[float, float]] | None = None,
    once: Callable[[], FloatArray] | None = None,
) -> Evidence:
    """Return the values and the verdict of each action, with the plan followed after it.

    `leaving` [A] is the probability that an action changes the state; `stays` is as in `decide`;
    `exits` [A] masks the actions that leave the set to stay inside. The value of a criterion is
    ``least + unit·total``, with (least, unit) from `measures`. Taking an action once and then
    following the plan is not a stationary policy. If the correction holds for stationary policies
    only, `once` computes the rewards [K, A] of the criteria for a single attempt of each action.
    """
    s, model = problem.start, problem.model
    columns, states = solved.values.shape[1:]
    discount, values = problem.discount, solved.values  # [J, 1 + K, S]
    ahead = model.ahead(s, values.reshape(-1, states)).reshape(len(values), -1)  # [J, (1 + K)·A]
    mixed = (solved.weights @ ahead).reshape(columns, -1)
    following = problem.totals[:, s] + discount * mixed  # [1 + K, A]
    firsts = solved.policies[:, s]
    shares = np.bincount(firsts, solved.weights, model.actions).tolist()
    if exits is not None and isinstance(model, Moves):  # pays (1 − γ) at every step
        following[:, exits] = problem.totals[:, s, exits] / (1.0 - discount)
    if measures is None:
        measures = [(0.0, 1.0)] * len(problem.levels)
    infeasible, rounding = solved.status is Status.INFEASIBLE, ROUNDING * problem.span

    def compute() -> tuple[ActionEvidence, ...]:
        evidence = []
        if once is not None:
            total = once() + discount * mixed[1:]
            following[1:] = total if exits is None else np.where(exits, following[1:], total)
        following[:, choice.action] = choice.values
        unsafe = np.any(following[1:] < problem.levels[:, None] - met_within(problem.span), axis=0)
        for a, share in enumerate(shares):
            if a == choice.action:
                verdict = Verdict.CHOSEN
            elif problem.objective[s, a] == -np.inf:
                verdict = Verdict.UNAVAILABLE
            elif share > 0.0:
                verdict = Verdict.WAITS if stays[a] else Verdict.LESS_SAFE
            elif infeasible:
                verdict = Verdict.NO_SAFER
            else:
                verdict = Verdict.UNSAFE if unsafe[a] else Verdict.WORTH_LESS
            explores, *bounds = following[:, a].tolist()
            safety = tuple(
                lower(least, unit, bound - rounding)
                for bound, (least, unit) in zip(bounds, measures, strict=True)
            )
            evidence.append(ActionEvidence(a, float(leaving[a]), explores, safety, share, verdict))
        return tuple(evidence)

    return Evidence(compute)


def _variants(problem: ConstrainedProblem, solved: ConstrainedSolution) -> list[Choice]:
    """Return the mixture's policies with each other action in the current state, evaluated."""
    solver = engine_for(problem)
    variants = []
    for action in np.flatnonzero(np.isfinite(problem.objective[problem.start])):
        for policy in solved.policies:
            changed = policy.copy()
            changed[problem.start] = action
            values = solver.evaluate(changed)[:, problem.start]
            margin = _margin(problem, values)
            variants.append(Choice(int(action), np.ones(1), changed[None], values, margin))
    return variants


def _margin(problem: ConstrainedProblem, values: FloatArray) -> float:
    """Return the least excess of values [1 + K] over their levels."""
    return float((values[1:] - problem.levels).min()) if len(problem.levels) else 0.0
