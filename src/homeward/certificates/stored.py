"""A plan with all that is needed to check it: the belief, the bonus, and what each criterion asked.

A `Plan` alone says what was decided. To check it one also needs the belief that it was made with,
the bonus that made it worth something, and for `EarnAtLeast` which rewards were counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homeward.arrays import frozen, index, names, place
from homeward.errors import InvalidProblemError
from homeward.safety import EarnAtLeast, ReturnHome, ReturnWithin, StayInside
from homeward.solvers import Status

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.beliefs import Belief
    from homeward.models import Model
    from homeward.planning.plan import CriterionEvidence, Plan
    from homeward.planning.planner import Planner

KNOWN = (ReturnHome, ReturnWithin, StayInside, EarnAtLeast)
"""The criteria whose claims can be checked."""

SUM = 1e-9
"""How far the weights of a mixture may be from adding up to 1."""

GAP = 1e-9
"""How far, as a fraction of the two, a gap may be from what it is the difference of."""


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
    """Refuse a plan that does not fit the mean model of its belief, or itself."""
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
    _check_words(plan, model)
    _check_table(plan, actions)
    _check_start(plan)
    _check_gap(plan)
    if plan.afterwards is not None:
        _check_policy(plan.afterwards, "afterwards", when, (0, actions))
    _check_finite(bonus, "the bonus", shape)
    if plan.bonus_left != bool((bonus > 0.0).any()):
        there = "no bonus is left" if plan.bonus_left else "some bonus is left"
        raise error(f"the plan's bonus_left is {plan.bonus_left}, but {there}")
    if not len(plan.criteria) == len(rewards) == len(limits):
        raise error(f"{len(plan.criteria)} criteria, but {len(rewards)} rewards")
    left = False
    for k, (criterion, given) in enumerate(zip(plan.criteria, rewards, strict=True)):
        _check_criterion(criterion, f"criterion {k}", states, actions)
        _check_multiplier(criterion.multiplier, f"criterion {k}", plan)
        _check_name(criterion, f"criterion {k}", plan)
        left |= criterion.allowed is not None and not criterion.allowed.all()
        if given is not None:
            _check_finite(given, f"the rewards of criterion {k}", shape)
        if criterion.kind != "earn" and (given is not None or limits[k] is not None):
            raise error(f"criterion {k} is of the kind {criterion.kind}, and counts rewards")
    if left and plan.afterwards is None:
        raise error("the plan may leave its set, but does not say what it follows then")


def _check_words(plan: Plan, model: Model) -> None:
    """Refuse what is not of the type that it should be, or names other things than the belief."""
    error = InvalidProblemError
    if plan.method not in ("columns", "lp"):
        raise error(f"the plan's method is {plan.method!r}, expected 'columns' or 'lp'")
    index(plan.rounds, 2**63, "the number of the plan's rounds", error)
    for name in ("bonus_left", "worthless", "waits"):
        if not isinstance(getattr(plan, name), bool | np.bool_):
            raise error(f"the plan's {name} is {getattr(plan, name)!r}, expected true or false")
    for what, said, known, count in (
        ("state", plan.state_names, model.state_names, model.states),
        ("action", plan.action_names, model.action_names, model.actions),
    ):
        if names(said, count, what, error) != names(known, count, what, error):
            raise error(f"the plan's {what} names are not those of its belief")
    conflict = [
        index(k, len(plan.criteria), "a criterion in conflict", error) for k in plan.conflict
    ]
    if conflict != sorted(set(conflict)):
        raise error(f"the criteria in conflict are {conflict}, expected each once and in order")
    if conflict and plan.status is not Status.INFEASIBLE:
        raise error(f"criteria {conflict} are in conflict, but the plan is {plan.status}")


def _check_table(plan: Plan, actions: int) -> None:
    """Refuse a table of actions that does not have one row for each, with a bound per criterion."""
    rows = [row.action for row in plan.evidence]
    if rows != list(range(actions)):
        raise InvalidProblemError(f"the evidence is on actions {rows}, expected 0 to {actions - 1}")
    for row in plan.evidence:
        if len(row.safety) != len(plan.criteria):
            raise InvalidProblemError(
                f"the evidence on action {row.action} has {len(row.safety)} bounds for "
                f"{len(plan.criteria)} criteria"
            )


def _check_start(plan: Plan) -> None:
    """Refuse a part that does not start with the action that it is said to start with."""
    now = plan.kept_outbound if plan.steps is None else plan.kept_outbound[:, 0]
    first = now[:, plan.state]
    wrong = (plan.kept_weights > 0.0) & (first != plan.action)
    if wrong.any():
        j = int(np.argmax(wrong))
        raise InvalidProblemError(
            f"the plan's action is {plan.action}, but kept_outbound (j={j}) starts with {first[j]}"
        )


def _check_gap(plan: Plan) -> None:
    """Refuse a gap that is not upper − value, and an upper bound that does not fit the status.

    Of a plan where nothing keeps the levels, the upper bound is −inf and the gap is the
    solver's, of the least shortfall.
    """
    error, upper, value = InvalidProblemError, plan.upper_bound, plan.exploration_value
    infeasible = plan.status is Status.INFEASIBLE
    if np.isnan(upper) or not np.isfinite(value) or not np.isfinite(plan.kept_value):
        raise error(f"the plan is worth {value:g}, at most {upper:g}, its part {plan.kept_value:g}")
    if infeasible and (upper != -np.inf or not plan.criteria):
        raise error(f"the plan is {plan.status}, but could be worth {upper:g}")
    if not plan.gap >= 0.0 or (infeasible and plan.gap == np.inf):
        raise error(f"the plan's gap is {plan.gap:g}")
    if upper == -np.inf:
        return
    gap, slack = max(0.0, upper - value), GAP * max(abs(upper), abs(value))
    if plan.gap != gap and not abs(plan.gap - gap) <= slack:
        raise error(f"the plan's gap is {plan.gap:g}, but {upper:g} less {value:g} is {gap:g}")


def _check_multiplier(multiplier: float, name: str, plan: Plan) -> None:
    """Refuse a multiplier that proves nothing; it may be infinite where no level can be kept."""
    most = multiplier < np.inf or (multiplier == np.inf and plan.upper_bound == -np.inf)
    if not (multiplier >= 0.0 and most):
        raise InvalidProblemError(
            f"{name} has a multiplier of {multiplier:g}, expected 0 <= λ < inf"
        )


def _check_name(criterion: CriterionEvidence, name: str, plan: Plan) -> None:
    """Refuse a name that says something else than what was asked for."""
    if not isinstance(criterion.name, str) or criterion.name not in _names_of(criterion, plan):
        raise InvalidProblemError(
            f"{name} is called {criterion.name!r}, but it is {_names_of(criterion, plan)[0]!r}"
        )


def _names_of(criterion: CriterionEvidence, plan: Plan) -> list[str]:
    """Give what a criterion may be called; a set of states is also one of state-actions."""
    if criterion.kind == "earn":
        return [f"earn a total of {criterion.level:g}"]
    if criterion.kind == "return":
        called = f"return to {', '.join(plan.state_name(int(home)) for home in criterion.home)}"
        if criterion.within is None:
            return [called]
        return [f"{called} within {criterion.within} step{'s' * (criterion.within != 1)}"]
    assert criterion.allowed is not None
    counts = {"state-action": int(np.count_nonzero(criterion.allowed))}
    if (criterion.allowed == criterion.allowed[:, :1]).all():
        counts["state"] = int(np.count_nonzero(criterion.allowed[:, 0]))
    return [
        f"stay inside the set of {count} {what}{'s' * (count != 1)}"
        for what, count in counts.items()
    ]


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
    if criterion.kind != "earn":
        if criterion.unit != 1.0:
            raise error(f"{name} is a probability and has a unit of {criterion.unit:g}, expected 1")
        if not 0.0 <= criterion.level <= 1.0:
            raise error(f"{name} asks for a probability of {criterion.level:g}")
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
    elif criterion.home.size or criterion.within is not None:
        raise error(f"{name} is of the kind {criterion.kind}, and has a home or a limit of steps")
    layers, since = criterion.return_layers, criterion.return_since
    if criterion.within is None:
        return
    index(criterion.within, 2**63, f"the limit of steps of {name}", error)
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
