"""`PlanCase`: the claims of a plan with all data that a check of them needs.

These data are the belief, the bonus and, for `EarnAtLeast`, the rewards. A `PlanCase` whose parts
contradict each other raises an error when it is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen, index, indices, names
from homeward.beliefs import Belief, FiniteBelief
from homeward.criteria import EarnAtLeast
from homeward.errors import InvalidProblemError as Error
from homeward.models import Model
from homeward.solvers import Status
from homeward.words import EVALUATORS, VERDICTS

if TYPE_CHECKING:
    from homeward.certificates.claims import CriterionClaims, PlanClaims

WEIGHT_TOLERANCE = 1e-9  # largest difference between the sum of a mixture's weights and 1
GAP_TOLERANCE = 1e-9  # largest error of a gap, as a fraction of max(|upper bound|, |value|)


@dataclass(frozen=True, slots=True, eq=False)
class PlanCase:
    """A plan with its belief, bonus and rewards.

    Attributes
    ----------
    bonus : [S, A] array of float
        The bonus of the belief.
    rewards : tuple
        For each criterion, the rewards [S, A] that an `EarnAtLeast` was given, else None.
    limits : tuple
        For each criterion, the limits (low, high) of rewards that it was given, else None.
    """

    plan: PlanClaims
    belief: Belief
    bonus: FloatArray
    rewards: tuple[FloatArray | None, ...]
    limits: tuple[tuple[float, float] | None, ...]

    def __post_init__(self) -> None:
        check(self)
        object.__setattr__(self, "bonus", frozen(self.bonus))

    @classmethod
    def of(cls, plan: PlanClaims, belief: Belief, planner: Any) -> PlanCase:
        """Return the case of a plan, from the belief it was made with and its planner."""
        count = len(planner.criteria)
        if len(plan.criteria) != count:
            raise Error(f"the plan has {len(plan.criteria)} criteria, but its planner has {count}")
        if isinstance(belief, FiniteBelief):  # the form that the planner uses
            belief = belief.as_moves() or belief
        earn = [c if isinstance(c, EarnAtLeast) else None for c in planner.criteria]
        return cls(
            plan,
            belief,
            np.array(planner.bonus(belief), np.float64),
            tuple(None if c is None else c.rewards for c in earn),
            tuple(None if c is None else c.limits for c in earn),
        )

    @property
    def exits(self) -> BoolArray | None:
        """Mask [S, A] of the actions that a `StayInside` criterion excludes; None without one."""
        sets = [c.allowed for c in self.plan.criteria if c.allowed is not None]
        exits = ~np.logical_and.reduce(sets) if sets else None
        return exits if exits is not None and exits.any() else None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The mixtures with claimed bounds: all policies, and those that start with the action.

        If all policies start with the action, there is only one mixture.
        """
        plan, criteria = self.plan, self.plan.criteria
        whole = Part("plan", plan.weights, plan.outbound, tuple(c.bound for c in criteria))
        claims = tuple(c.kept_bound for c in criteria)
        kept = Part("action", plan.kept_weights, plan.kept_outbound, claims)
        same = whole.claims == kept.claims and np.array_equal(whole.weights, kept.weights)
        return (whole,) if same and np.array_equal(whole.outbound, kept.outbound) else (whole, kept)


class Part(NamedTuple):
    """A mixture, of which one policy is drawn at the start, and its claimed bounds."""

    name: str  # "plan": all policies; "action": those that start with the chosen action
    weights: FloatArray  # [J]
    outbound: IntArray  # [J, S], or [J, n, S] if the recall is fixed
    claims: tuple[float, ...]  # bound for each criterion


def check(case: PlanCase) -> None:
    """Raise `InvalidProblemError` if a plan is inconsistent, or does not fit its belief."""
    plan, model = case.plan, case.belief.mean()
    states, actions = shape = (model.states, model.actions)
    index(plan.state, states, "the plan's state", Error)
    index(plan.action, actions, "the plan's action", Error)
    if not 0.0 < plan.discount < 1.0:
        raise Error(f"the plan's γ is {plan.discount:g}, expected 0 < γ < 1")
    if plan.steps is not None and plan.steps < 1:
        raise Error(f"the plan is recalled after {plan.steps} steps, expected at least 1")
    when = (states,) if plan.steps is None else (plan.steps, states)
    for name, weights, policies in (
        ("outbound", plan.weights, plan.outbound),
        ("kept_outbound", plan.kept_weights, plan.kept_outbound),
    ):
        if not (weights.ndim == 1 and weights.size > 0 and weights.dtype.kind == "f"):
            raise Error(f"the weights of {name} are {weights.dtype} of shape {weights.shape}")
        if not (weights.min() >= 0.0 and abs(float(weights.sum()) - 1.0) <= WEIGHT_TOLERANCE):
            raise Error(f"the weights of {name} are not probabilities that sum to 1")
        whole = (len(weights), *when)
        indices(policies, name, whole, (0, actions), "jts" if plan.steps else "js", Error)
    _check_plan(plan, model)
    if plan.afterwards is not None:
        axes = "ts" if plan.steps else "s"
        indices(plan.afterwards, "afterwards", when, (0, actions), axes, Error)
    _check_finite(case.bonus, "the bonus", shape)
    left = bool((case.bonus > 0.0).any())
    if plan.bonus_left != left:
        where = "somewhere" if left else "nowhere"
        raise Error(
            f"the plan's bonus_left is {plan.bonus_left}, but the bonus is positive {where}"
        )
    if not len(plan.criteria) == len(case.rewards) == len(case.limits):
        raise Error(
            f"the plan has {len(plan.criteria)} criteria, but {len(case.rewards)} rewards and "
            f"{len(case.limits)} limits"
        )
    for k, criterion in enumerate(plan.criteria):
        _check_criterion(criterion, f"criterion {k}", plan, shape)
        rewards = case.rewards[k]
        if rewards is not None:
            _check_finite(rewards, f"the rewards of criterion {k}", shape)
        if criterion.kind != "earn" and (rewards is not None or case.limits[k] is not None):
            raise Error(f"criterion {k} is of kind {criterion.kind}, but has rewards or limits")
    if plan.afterwards is None and case.exits is not None:
        raise Error("the plan may leave its set, but has no policy to follow afterwards")


def _check_plan(plan: PlanClaims, model: Model) -> None:
    """Raise if a field of a plan does not fit the mean model, the status or the other fields.

    If the plan is infeasible, its upper bound must be −inf.
    """
    if plan.method not in ("columns", "lp"):
        raise Error(f"the plan's method is {plan.method!r}, expected 'columns' or 'lp'")
    index(plan.rounds, 2**63, "the number of the plan's rounds", Error)
    for name in ("bonus_left", "worthless", "waits"):
        value = getattr(plan, name)
        if not isinstance(value, bool | np.bool_):
            raise Error(f"the plan's {name} is {value!r}, expected true or false")
    for what, claimed, given, count in (
        ("state", plan.state_names, model.state_names, model.states),
        ("action", plan.action_names, model.action_names, model.actions),
    ):
        if names(claimed, count, what, Error) != names(given, count, what, Error):
            raise Error(f"the plan's {what} names differ from those of its belief")
    conflict = [
        index(k, len(plan.criteria), "a criterion in conflict", Error) for k in plan.conflict
    ]
    if conflict != sorted(set(conflict)):
        raise Error(f"the criteria in conflict are {conflict}, expected ascending numbers")
    if conflict and plan.status is not Status.INFEASIBLE:
        raise Error(f"criteria {conflict} are in conflict, but the plan is {plan.status}")
    rows = [row.action for row in plan.evidence]
    if rows != list(range(model.actions)):
        raise Error(f"the evidence is on actions {rows}, expected 0 to {model.actions - 1}")
    for a, row in enumerate(plan.evidence):
        if len(row.safety) != len(plan.criteria):
            counts = f"{len(row.safety)} bounds for {len(plan.criteria)} criteria"
            raise Error(f"the evidence on action {a} has {counts}")
        if row.verdict not in VERDICTS:
            codes = ", ".join(VERDICTS)
            raise Error(f"the verdict on action {a} is {row.verdict!r}, expected one of {codes}")
    now = plan.kept_outbound if plan.steps is None else plan.kept_outbound[:, 0]
    first = now[:, plan.state]
    for j in np.flatnonzero((plan.kept_weights > 0.0) & (first != plan.action))[:1]:
        raise Error(
            f"the plan's action is {plan.action}, but kept_outbound (j={j}) starts with {first[j]}"
        )
    upper, value = plan.upper_bound, plan.exploration_value
    infeasible = plan.status is Status.INFEASIBLE
    if np.isnan(upper) or not np.isfinite(value) or not np.isfinite(plan.kept_value):
        raise Error(
            f"the plan's value {value:g}, upper bound {upper:g} or kept value "
            f"{plan.kept_value:g} is not a valid number"
        )
    if infeasible and not plan.criteria:
        raise Error("the plan is infeasible, but it has no criteria")
    if infeasible and upper != -np.inf:
        raise Error(f"the plan is infeasible, but its upper bound is {upper:g}, expected -inf")
    if not plan.gap >= 0.0 or (infeasible and plan.gap == np.inf):
        raise Error(f"the plan's gap is {plan.gap:g}, expected 0 or more")
    gap, slack = max(0.0, upper - value), GAP_TOLERANCE * max(abs(upper), abs(value))
    if upper > -np.inf and plan.gap != gap and not abs(plan.gap - gap) <= slack:
        raise Error(f"the plan's gap is {plan.gap:g}, but {upper:g} − {value:g} is {gap:g}")


def _check_criterion(
    criterion: CriterionClaims, name: str, plan: PlanClaims, shape: tuple[int, int]
) -> None:
    """Raise if the claims on a criterion do not fit `shape` (S, A), the plan or each other."""
    (states, actions), kind, within = shape, criterion.kind, criterion.within
    bounds = criterion.bound, criterion.kept_bound, criterion.corrected, criterion.kept_corrected
    for value in (criterion.level, *bounds, criterion.unit):
        if not np.isfinite(value):
            raise Error(f"{name} claims the number {value}, expected a finite one")
    if not criterion.unit > 0.0:
        raise Error(f"{name} has the unit {criterion.unit:g}, expected above 0")
    if criterion.evaluator not in EVALUATORS:
        codes = ", ".join(EVALUATORS)
        raise Error(f"{name} is evaluated by {criterion.evaluator!r}, expected one of {codes}")
    if kind not in ("return", "stay", "earn"):
        raise Error(f"{name} has the unknown kind {kind!r}")
    if kind != "earn":
        if criterion.unit != 1.0:
            raise Error(f"{name} is a probability with the unit {criterion.unit:g}, expected 1")
        if not 0.0 <= criterion.level <= 1.0:
            raise Error(f"{name} has the level {criterion.level:g}, expected a probability")
    price, infeasible = criterion.multiplier, plan.upper_bound == -np.inf
    if not (0.0 <= price < np.inf or (price == np.inf and infeasible)):
        raise Error(f"{name} has a multiplier of {price:g}, expected 0 <= λ < inf")
    _check_finite(criterion.way_home, f"the way home of {name}", (states,))
    back, allowed, policy = (-1, actions), criterion.allowed, criterion.return_policy
    indices(policy, f"the return policy of {name}", (states,), back, "s", Error)
    if (allowed is not None) != (kind == "stay"):
        raise Error(f"{name} is of kind {kind}; only kind stay must have a set to stay inside")
    if allowed is not None and (allowed.shape != shape or allowed.dtype != np.bool_):
        raise Error(
            f"the set of {name} is {allowed.dtype} of shape {allowed.shape}, expected booleans of "
            f"{shape}"
        )
    if kind == "return":
        count = (len(criterion.home),)
        indices(criterion.home, f"the home of {name}", count, (0, states), "s", Error)
        if not criterion.home.size:
            raise Error(f"{name} is of kind return, but has no home")
    elif criterion.home.size or within is not None:
        raise Error(f"{name} is of kind {kind}, but has a home or a limit of steps")
    if within is not None:
        index(within, 2**63, f"the limit of steps of {name}", Error)
        layers, since = criterion.return_layers, criterion.return_since
        if within < 1 or layers is None or since is None or len(layers) == 0:
            raise Error(f"{name} has a limit of {within} steps, but no return policies for them")
        layered = (len(since), states)
        indices(layers, f"the return policies of {name}", layered, back, "hs", Error)
        if since.ndim != 1 or (np.diff(since) <= 0).any():
            raise Error(f"the return policies of {name} are not sorted by the steps left")
    expected = _names_of(criterion, plan)
    if criterion.name not in expected:
        raise Error(f"{name} has the name {criterion.name!r}, expected {expected[0]!r}")


def _names_of(criterion: CriterionClaims, plan: PlanClaims) -> list[str]:
    """Return the names that a criterion may have.

    `StayInside` counts states or state-actions in its name; both are claimed as a mask [S, A].
    """
    if criterion.kind == "earn":
        return [f"earn a total of {criterion.level:g}"]
    if criterion.kind == "return":
        name = f"return to {', '.join(plan.state_name(int(home)) for home in criterion.home)}"
        if criterion.within is not None:
            name += f" within {criterion.within} step{'s' * (criterion.within != 1)}"
        return [name]
    assert criterion.allowed is not None
    counts = {"state-action": int(np.count_nonzero(criterion.allowed))}
    if (criterion.allowed == criterion.allowed[:, :1]).all():
        counts["state"] = int(np.count_nonzero(criterion.allowed[:, 0]))
    return [
        f"stay inside the set of {count} {what}{'s' * (count != 1)}"
        for what, count in counts.items()
    ]


def _check_finite(values: FloatArray, name: str, shape: tuple[int, ...]) -> None:
    """Raise unless `values` is an array of finite floats with this `shape`."""
    if values.shape != shape or values.dtype.kind != "f":
        raise Error(
            f"{name} is {values.dtype} of shape {values.shape}, expected numbers of {shape}"
        )
    for at in np.argwhere(~np.isfinite(values))[:1].tolist():
        raise Error(f"{name} is {values[tuple(at)]} at {tuple(at)}, expected a finite number")
