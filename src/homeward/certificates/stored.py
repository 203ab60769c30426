"""A plan with all that is needed to check it: the belief, the bonus, and what each criterion asked.

A `Plan` alone says what was decided. To check it one also needs the belief that it was made with,
the bonus that made it worth something, and for `EarnAtLeast` which rewards were counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homeward.arrays import frozen, index, place
from homeward.budget import Ration
from homeward.errors import InvalidProblemError
from homeward.safety import EarnAtLeast, ReturnHome, ReturnWithin, StayInside

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.beliefs import Belief
    from homeward.models import Model
    from homeward.plan import CriterionEvidence, Plan
    from homeward.planner import Planner

KNOWN = (ReturnHome, ReturnWithin, StayInside, EarnAtLeast, Ration)
"""The criteria whose claims can be checked."""

SUM = 1e-9
"""How far the weights of a mixture may be from adding up to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredPlan:
    """A plan and what it was made from."""

    plan: Plan
    belief: Belief
    bonus: FloatArray  # [S, A] what was worth seeing
    rewards: tuple[FloatArray | None, ...]  # per criterion, [S, A]: given to be earned, if any were
    limits: tuple[tuple[float, float] | None, ...]  # per criterion: of what worlds pay, if given

    def __post_init__(self) -> None:
        check(self.plan, self.belief.mean(), self.bonus, self.rewards, self.limits)
        object.__setattr__(self, "bonus", frozen(self.bonus))

    @classmethod
    def of(cls, plan: Plan, belief: Belief, planner: Planner) -> StoredPlan:
        """Take a plan together with the belief and the planner that it is from."""
        if len(plan.criteria) != len(planner.criteria):
            raise InvalidProblemError(
                f"the plan has {len(plan.criteria)} criteria, its planner {len(planner.criteria)}"
            )
        for criterion in planner.criteria:
            if not isinstance(criterion, KNOWN):
                raise InvalidProblemError(
                    f"a {type(criterion).__name__} can't be stored: it is not known how to check it"
                )
        earn = [c if isinstance(c, EarnAtLeast) else None for c in planner.criteria]
        bonus = np.array(planner.bonus(belief), np.float64)
        return cls(
            plan,
            belief,
            bonus,
            tuple(None if c is None else c.rewards for c in earn),
            tuple(None if c is None else c.limits for c in earn),
        )

    @property
    def exits(self) -> BoolArray | None:
        """The state-actions [S, A] that leave some set that is to be stayed inside."""
        sets = [c.allowed for c in self.plan.criteria if c.allowed is not None]
        exits = ~np.logical_and.reduce(sets) if sets else None
        return exits if exits is not None and exits.any() else None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The mixtures that bounds are claimed of; one if the action starts all of it."""
        plan = self.plan
        whole = Part("plan", plan.weights, plan.outbound, tuple(c.bound for c in plan.criteria))
        kept = Part(
            "action",
            plan.kept_weights,
            plan.kept_outbound,
            tuple(c.kept_bound for c in plan.criteria),
        )
        same = (
            np.array_equal(whole.weights, kept.weights)
            and np.array_equal(whole.outbound, kept.outbound)
            and whole.claims == kept.claims
        )
        return (whole,) if same else (whole, kept)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A mixture, to be drawn once, and what is claimed of it."""

    name: str  # "plan": the mixture; "action": the part of it that starts with the action
    weights: FloatArray  # [J]
    outbound: IntArray  # [J, S], or [J, n, S] where the recall is fixed
    claims: tuple[float, ...]  # a bound per criterion


def check(
    plan: Plan,
    model: Model,
    bonus: FloatArray,
    rewards: tuple[FloatArray | None, ...],
    limits: tuple[tuple[float, float] | None, ...],
) -> None:
    """Refuse a plan that does not fit the mean model of its belief."""
    error = InvalidProblemError
    states, actions = shape = (model.states, model.actions)
    index(plan.state, states, "the plan's state", error)
    index(plan.action, actions, "the plan's action", error)
    if not 0.0 < plan.discount < 1.0:
        raise error(f"the plan's γ is {plan.discount:g}, expected 0 < γ < 1")
    if plan.steps is not None and plan.steps < 1:
        raise error(f"the plan is recalled after {plan.steps} steps, expected at least 1")
    when = (states,) if plan.steps is None else (plan.steps, states)
    for name, weights, policies in (
        ("outbound", plan.weights, plan.outbound),
        ("kept_outbound", plan.kept_weights, plan.kept_outbound),
    ):
        if weights.ndim != 1 or weights.size == 0 or weights.dtype.kind != "f":
            raise error(f"the weights of {name} are {weights.dtype} of shape {weights.shape}")
        if not (weights.min() >= 0.0 and abs(float(weights.sum()) - 1.0) <= SUM):
            raise error(f"the weights of {name} are no probabilities that sum to 1")
        _check_policy(policies, f"{name}", (len(weights), *when), (0, actions))
    if plan.afterwards is not None:
        _check_policy(plan.afterwards, "afterwards", when, (0, actions))
    _check_finite(bonus, "the bonus", shape)
    if not len(plan.criteria) == len(rewards) == len(limits):
        raise error(f"{len(plan.criteria)} criteria, but {len(rewards)} rewards")
    left = False
    for k, (criterion, given) in enumerate(zip(plan.criteria, rewards, strict=True)):
        _check_criterion(criterion, f"criterion {k}", states, actions)
        left |= criterion.allowed is not None and not criterion.allowed.all()
        if given is not None:
            _check_finite(given, f"the rewards of criterion {k}", shape)
    if left and plan.afterwards is None:
        raise error("the plan may leave its set, but does not say what it follows then")


def _check_criterion(criterion: CriterionEvidence, name: str, states: int, actions: int) -> None:
    """Refuse evidence of a criterion that does not fit so many states and actions."""
    error, back = InvalidProblemError, (-1, actions)
    for value in (criterion.level, criterion.bound, criterion.kept_bound, criterion.unit):
        if not np.isfinite(value):
            raise error(f"{name} claims {value}")
    if not criterion.unit > 0.0:
        raise error(f"{name} has a unit of {criterion.unit:g}")
    if criterion.kind not in ("return", "stay", "earn"):
        raise error(f"{name} is of the kind {criterion.kind!r}")
    _check_finite(criterion.way_home, f"the way home of {name}", (states,))
    _check_policy(criterion.return_policy, f"the return policy of {name}", (states,), back)
    if (criterion.allowed is None) == (criterion.kind == "stay"):
        raise error(f"{name} is of the kind {criterion.kind}, and its set does not fit that")
    allowed = criterion.allowed
    if allowed is not None and (allowed.shape != (states, actions) or allowed.dtype != np.bool_):
        raise error(f"the set of {name} is {allowed.dtype} of shape {allowed.shape}")
    if criterion.kind == "return":
        _check_policy(criterion.home, f"the home of {name}", (len(criterion.home),), (0, states))
        if not criterion.home.size:
            raise error(f"{name} asks for a way home and has none")
    layers, since = criterion.return_layers, criterion.return_since
    if criterion.within is None:
        return
    if criterion.within < 1 or layers is None or since is None or len(layers) == 0:
        raise error(f"{name} has a limit of {criterion.within} steps and no policies by steps left")
    _check_policy(layers, f"the return policies of {name}", (len(since), states), back)
    if since.ndim != 1 or (np.diff(since) <= 0).any():
        raise error(f"the return policies of {name} are not in the order of the steps left")


def _check_finite(values: FloatArray, name: str, shape: tuple[int, ...]) -> None:
    """Refuse what is not a finite number for each entry of that shape."""
    if values.shape != shape or values.dtype.kind != "f":
        raise InvalidProblemError(
            f"{name} is {values.dtype} of shape {values.shape}, expected numbers of {shape}"
        )
    if not np.isfinite(values).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
        raise InvalidProblemError(f"{name} is {values[at]} at {at}")


def _check_policy(
    policy: IntArray, name: str, shape: tuple[int, ...], bounds: tuple[int, int]
) -> None:
    """Refuse a policy of another shape, or one that takes what is not there."""
    if policy.shape != shape or not np.issubdtype(policy.dtype, np.integer):
        raise InvalidProblemError(
            f"{name} is {policy.dtype} of shape {policy.shape}, expected whole numbers of {shape}"
        )
    wrong = (policy < bounds[0]) | (policy >= bounds[1])
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        axes = {1: "s", 2: "js", 3: "jts"}[policy.ndim]
        raise InvalidProblemError(
            f"{name} {place(at, axes)} is {policy[at]}, outside {bounds[0]}..{bounds[1] - 1}"
        )
