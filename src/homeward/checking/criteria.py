"""`check_criterion`: check that the total of a criterion's reward is a lower bound.

A requirement has a reward. Its total on the mean model, discounted by γ, must be a lower bound on
the criterion's value, for every policy. A criterion with a method ``value(world, policy, state,
discount)`` computes this value in one world. Then the bound is checked for random policies: the
mean of the values in drawn worlds must not be below the total. The values in the worlds of a
`FiniteBelief` are averaged exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from homeward.beliefs.finite import FiniteBelief
from homeward.checking.offences import ROUNDING, CheckReport, Findings, slack
from homeward.errors import InvalidProblemError
from homeward.safety.criterion import OwnCriterion, Requirement
from homeward.solvers import engine

POLICIES = 20  # number of random policies whose totals are checked


def check_criterion(
    criterion: Any,
    belief: Any,
    *,
    state: int = 0,
    discount: float = 0.9,
    samples: int = 500,
    confidence: float = 0.999,
    seed: int = 0,
) -> CheckReport:
    """Return a report if a criterion's requirement is a lower bound; raise if it is not.

    Parameters
    ----------
    criterion : Criterion
        The criterion to check.
    belief : Belief
        A belief on which it is checked; the check is more thorough if the belief is small.
    state : int
        The state in which it is required.
    discount : float
        γ of the plan.
    samples : int
        Number of worlds to draw, unless the belief is a `FiniteBelief`.
    confidence : float
        Probability that a right criterion passes.
    seed : int
        Random seed of the worlds and the policies.

    Raises
    ------
    InvalidProblemError
        The message lists each offence.
    """
    from homeward.planning.move_form import belief_of_plan
    from homeward.planning.planner import Planner

    error = InvalidProblemError
    findings = Findings(type(criterion).__name__, samples, confidence)
    if not callable(getattr(criterion, "require", None)):
        findings.add("protocol", "require", "a method of that name", "none")
        return findings.finish(error)
    belief = belief_of_plan(belief)
    model = belief.mean()
    shape = (model.states, model.actions)
    planner = Planner(lambda _: np.zeros(shape), [criterion], discount)
    situation = planner.situation(belief, model, state, state)
    requirement: Requirement = criterion.require(situation, np.full(shape, np.nan))
    if not _is_requirement(requirement, shape, findings):
        return findings.finish(error)
    if not np.array_equal(criterion.require(situation).reward, requirement.reward):
        findings.add("requirement", "require(situation)", "the same reward twice", "two rewards")
    findings.checked["requirement"] = None
    if isinstance(criterion, OwnCriterion):
        _check_values(criterion, belief, requirement, state, discount, findings, seed)
        findings.checked["value"] = None
    return findings.finish(error)


def _is_requirement(value: Any, shape: tuple[int, int], findings: Findings) -> bool:
    """Return whether a value has a name, a level, a unit and a finite reward [S, A]."""
    count = len(findings.offences)
    reward = np.asarray(getattr(value, "reward", None))
    if reward.shape != shape or reward.dtype.kind != "f" or not np.isfinite(reward).all():
        expected = f"finite numbers [S, A] = {shape}"
        findings.add("requirement", "reward", expected, f"{reward.dtype} of {reward.shape}")
    name, level, unit = (getattr(value, part, None) for part in ("name", "level", "unit"))
    for part, given, is_right, expected in (
        ("name", name, isinstance(name, str) and bool(name), "a text"),
        ("level", level, level is not None and np.isfinite(level), "a finite number"),
        ("unit", unit, unit is not None and unit > 0.0, "a number above 0"),
    ):
        if not is_right:
            findings.add("requirement", part, expected, repr(given))
    return len(findings.offences) == count


def _check_values(
    criterion: OwnCriterion,
    belief: Any,
    requirement: Requirement,
    state: int,
    discount: float,
    findings: Findings,
    seed: int,
) -> None:
    """Report the first random policy whose total is above the mean of the criterion's values."""
    model, rng = belief.mean(), np.random.default_rng(seed)
    if isinstance(belief, FiniteBelief):
        worlds, weights = list(belief.worlds), belief.weights
        findings.samples = len(worlds)
    else:
        worlds, weights = [belief.sample(rng) for _ in range(findings.samples)], None
    log_limit = findings.log_inverse_alpha(POLICIES)
    usable, rng = np.isfinite(model.reward), np.random.default_rng(seed)
    solver = engine(model, discount, np.where(usable, requirement.reward, 0.0)[None])
    for _ in range(POLICIES):
        policy = np.array([rng.choice(np.flatnonzero(row)) for row in usable])
        total = float(np.asarray(solver.evaluate(policy.astype(np.int32)))[0, state])
        claimed = requirement.least + requirement.unit * total
        values = np.array([criterion.value(world, policy, state, discount) for world in worlds])
        if not np.isfinite(values).all():
            findings.add("value", "value()", "finite numbers", f"{values[~np.isfinite(values)][0]}")
            return
        mean, half = float(values.mean()), 1e-7 * max(1.0, abs(claimed))
        if weights is not None:
            mean = float(weights @ values)
        else:
            width = max(requirement.unit, float(np.ptp(values)))
            half += float(slack(values[:, None], log_limit, width)[0])
        if claimed > mean + half + ROUNDING:
            expected = f"{mean:.6g} ± {half:.2g} or less, the mean of value()"
            given = f"the total under the policy {policy.tolist()} is {claimed:.6g}"
            findings.add("value", model.state_name(state), expected, given)
            return
