"""`check_criterion`: whether the total of a criterion's reward is a lower bound.

A requirement claims that the total of its reward on the mean model, discounted by γ, is at most
what the criterion measures, whatever policy is followed. A criterion with a method ``value(world,
policy, state, discount)`` says what it measures in one world. Then the claim is checked for random
policies: the mean of the values in drawn worlds must not be below the total. The values in the
worlds of a `FiniteBelief` are averaged exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from homeward.arrays import FloatArray
from homeward.beliefs.finite import FiniteBelief
from homeward.checking.offences import ROUNDING, CheckReport, Findings, slack
from homeward.errors import InvalidProblemError
from homeward.models import Model
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
        A belief on which it is checked; small ones are checked more thoroughly.
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
        It lists each offence.
    """
    from homeward.planning.move_form import belief_of_plan
    from homeward.planning.planner import Planner

    error = InvalidProblemError
    said = Findings(type(criterion).__name__, samples, confidence)
    if not callable(getattr(criterion, "require", None)):
        said.add("protocol", "require", "a method of that name", "none")
        return said.finish(error)
    belief = belief_of_plan(belief)
    model = belief.mean()
    shape = (model.states, model.actions)
    planner = Planner(lambda _: np.zeros(shape), [criterion], discount)
    situation = planner.situation(belief, model, state, state)
    given = np.full(shape, np.nan)
    asked: Requirement = criterion.require(situation, given)
    if not _is_requirement(asked, shape, said):
        return said.finish(error)
    again = criterion.require(situation)
    if not np.array_equal(again.reward, asked.reward):
        said.add("requirement", "require(situation)", "the same reward twice", "two rewards")
    said.checked["requirement"] = None
    if isinstance(criterion, OwnCriterion):
        rng = np.random.default_rng(seed)
        usable = np.isfinite(model.reward)
        policies = [
            np.array([rng.choice(np.flatnonzero(row)) for row in usable]) for _ in range(POLICIES)
        ]
        _check_values(criterion, belief, asked, policies, (state, discount), said, seed)
        said.checked["value"] = None
    return said.finish(error)


def _is_requirement(asked: Any, shape: tuple[int, int], said: Findings) -> bool:
    """Return whether a requirement has a name, a level and a finite reward [S, A]."""
    count = len(said.offences)
    reward = np.asarray(getattr(asked, "reward", None))
    if reward.shape != shape or reward.dtype.kind != "f" or not np.isfinite(reward).all():
        told = f"finite numbers [S, A] = {shape}"
        said.add("requirement", "reward", told, f"{reward.dtype} of {reward.shape}")
    if not isinstance(getattr(asked, "name", None), str) or not asked.name:
        said.add("requirement", "name", "a text", repr(getattr(asked, "name", None)))
    if not np.isfinite(getattr(asked, "level", np.nan)):
        said.add("requirement", "level", "a finite number", repr(getattr(asked, "level", None)))
    if not getattr(asked, "unit", 0.0) > 0.0:
        said.add("requirement", "unit", "a number above 0", repr(getattr(asked, "unit", None)))
    return len(said.offences) == count


def _check_values(
    criterion: OwnCriterion,
    belief: Any,
    asked: Requirement,
    policies: list[Any],
    at: tuple[int, float],
    said: Findings,
    seed: int,
) -> None:
    """Report policies whose total is above the mean of the criterion's values."""
    state, discount = at
    model, rng = belief.mean(), np.random.default_rng(seed)
    if isinstance(belief, FiniteBelief):
        worlds, weights = list(belief.worlds), belief.weights
        said.samples = len(worlds)
    else:
        worlds, weights = [belief.sample(rng) for _ in range(said.samples)], None
    reward = np.where(np.isfinite(model.reward), asked.reward, -np.inf)
    for policy in policies:
        total = _total(model, discount, reward, policy, state)
        claimed = asked.least + asked.unit * total
        values = np.array([criterion.value(world, policy, state, discount) for world in worlds])
        if not np.isfinite(values).all():
            said.add("value", "value()", "finite numbers", f"{values[~np.isfinite(values)][0]}")
            return
        mean, half = float(values.mean()), 1e-7 * max(1.0, abs(claimed))
        if weights is not None:
            mean = float(weights @ values)
        else:
            width = max(asked.unit, float(np.ptp(values)))
            half += float(slack(values[:, None], said.log_inverse_alpha(len(policies)), width)[0])
        if claimed > mean + half + ROUNDING:
            told = f"{mean:.6g} ± {half:.2g} or less, the mean of value()"
            what = f"the total of the reward under the policy {policy.tolist()}"
            said.add("value", f"state {model.state_name(state)}", told, f"{what} is {claimed:.6g}")
            return


def _total(model: Model, discount: float, reward: FloatArray, policy: Any, state: int) -> float:
    """Return the discounted total of a reward [S, A] from a state under a policy [S]."""
    usable = np.where(np.isfinite(reward), reward, 0.0)
    found = engine(model, discount, usable[None]).evaluate(policy.astype(np.int32))
    return float(np.asarray(found)[0, state])
