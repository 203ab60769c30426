"""The claims of a plan: its decision, and its numbers for every criterion and action.

The planner's `Plan` is a `PlanClaims` with methods that explain it. A `PlanCase` adds what a check
of the claims needs: the belief, the bonus and the rewards. It raises an error if a plan contradicts
itself. Read `certificate` next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen, index, indices, set_fields
from homeward.errors import InvalidProblemError as Error
from homeward.words import at_least

if TYPE_CHECKING:
    from homeward.beliefs import Belief
    from homeward.beliefs.corrections import Correction

CLAIM_TOLERANCE = 1e-7  # in units of a claim, how much a recomputed number may differ
WEIGHT_TOLERANCE = 1e-9  # largest difference between the sum of a mixture's weights and 1
GAP_TOLERANCE = 1e-9  # largest error of a gap, as a fraction of max(|upper bound|, |value|)


class ActionEvidence(NamedTuple):
    """The claims about taking one action now and following the plan afterwards.

    Attributes
    ----------
    action : int
        The action.
    leaves : float
        Probability that the state changes.
    exploration : float
        Discounted reward plus bonus, on the mean model.
    safety : tuple
        Lower bound for each criterion.
    weight : float
        Total weight of the policies in the mixture that start with this action.
    verdict : str
        Code in `words.VERDICTS`: why the action was taken or not.
    share : float
        Share of the remaining risk that a way home after it would spend, for a level of the whole
        run; 0 in plans of the paper's algorithm.
    """

    action: int
    leaves: float
    exploration: float
    safety: tuple[float, ...]
    weight: float
    verdict: str
    share: float = 0.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CriterionClaims:
    """The claims about one criterion; the kind ``own`` is a user-defined criterion."""

    name: str
    kind: Literal["return", "stay", "earn", "own"] = "return"
    level: float  # δ, or the total to earn
    bound: float  # lower bound on the probability or the earnings of the mixture
    kept_bound: float  # the bound of the policies that start with the chosen action
    multiplier: float  # λ: loss of exploration value per unit of `level`
    unit: float = 1.0  # 1 for a probability; else the range of possible earnings
    within: int | None = None  # largest number of steps of a return; None for any number
    home: IntArray  # [n] states; empty if the criterion requires no return
    way_home: FloatArray  # [S] lower bound on the probability of returning
    return_policy: IntArray  # [S] action, −1 to give up or at home
    allowed: BoolArray | None = None  # [S, A] mask of the set to stay inside
    return_layers: IntArray | None = None  # [L, S] policies of a limited return, by steps left
    return_since: IntArray | None = None  # [L] least number of steps left for each policy
    evaluator: str = "correction"  # what proves the bounds: a code of `words.EVALUATORS`
    corrected: float = np.nan  # bound by the correction, for the choice of a plan; NaN: `bound`
    kept_corrected: float = np.nan  # the same for the policies that start with the chosen action

    def __post_init__(self) -> None:
        if np.isnan(self.corrected):
            set_fields(self, corrected=self.bound, kept_corrected=self.kept_bound)

    @property
    def return_policies(self) -> IntArray:
        """The return policies [L, S] by steps left; L is 1 if the steps are not limited."""
        unlimited = self.within is None or self.return_layers is None
        return self.return_policy[None] if unlimited else np.asarray(self.return_layers)

    def stages(self) -> Iterator[tuple[IntArray, int]]:
        """Yield (policy [S], number of steps) of a limited return, in order of the steps left."""
        assert self.within is not None
        assert self.return_since is not None
        changes = [h for h in self.return_since[1:].tolist() if 1 < h <= self.within]
        for first, last in pairwise([1, *changes, 1 + self.within]):
            layer = int(np.searchsorted(self.return_since, first, side="right")) - 1
            yield self.return_policies[max(0, layer)], last - first


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PlanClaims:
    """The claims of a plan: one decision, its policies, and their claimed values and bounds."""

    state: int  # the current state
    action: int  # the chosen action
    status: str  # whether the plan is optimal, infeasible, or not converged
    weights: FloatArray  # [J] probability of each outbound policy; one is drawn at the start
    outbound: IntArray  # [J, S]; if the recall is fixed, [J, n, S] by step
    exploration_value: float  # discounted reward plus bonus of the mixture, on the mean model
    upper_bound: float  # upper bound on the value of every safe mixture; −inf if none is safe
    gap: float  # ``upper_bound − exploration_value``
    kept_weights: FloatArray  # [J'] weights of the policies that start with the action
    kept_outbound: IntArray  # [J', S] or [J', n, S], policies that start with the action
    kept_value: float  # exploration value of the mixture of these policies
    criteria: tuple[CriterionClaims, ...]  # the claims on each criterion
    evidence: Sequence[ActionEvidence]  # one entry per action in the current state
    correction: Correction  # the theorem that proves the bounds
    discount: float  # γ: the probability that exploration goes on for another step
    method: str  # the solver: "columns" or "lp"
    rounds: int  # number of ordinary MDPs solved, or of LP iterations
    bonus_left: bool  # whether any state-action has a positive bonus
    worthless: bool  # whether the best safe plan has no value
    waits: bool  # whether the action has no value, or neither moves nor earns bonus
    state_names: tuple[str, ...] | None = None  # names of the states; None without names
    action_names: tuple[str, ...] | None = None  # names of the actions; None without names
    afterwards: IntArray | None = None  # [S] policy that is followed after an exit
    steps: int | None = None  # steps until a fixed recall; None: it comes with probability 1 − γ
    conflict: tuple[int, ...] = ()  # if infeasible: fewest criteria that can't be met together

    def __post_init__(self) -> None:
        for name in ("weights", "outbound", "kept_weights", "kept_outbound", "afterwards"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def expected_steps(self) -> float:
        """The expected number of steps until the recall: 1/(1 − γ), or the fixed number."""
        return 1.0 / (1.0 - self.discount) if self.steps is None else float(self.steps)

    def action_name(self, action: int) -> str:
        """Return the name of an action."""
        return self.action_names[action] if self.action_names else f"action {action}"

    def state_name(self, state: int) -> str:
        """Return the name of a state."""
        return self.state_names[state] if self.state_names else f"state {state}"

    def __str__(self) -> str:
        lines = [f"In {self.state_name(self.state)}: take {self.action_name(self.action)}."]
        lines += [
            f"{c.name}: at least {at_least(c.bound)} (required {c.level:g})" for c in self.criteria
        ]
        return "\n".join(lines)


class Part(NamedTuple):
    """A mixture, of which one policy is drawn at the start, and its claimed bounds."""

    name: str  # "plan": all policies; "action": those that start with the chosen action
    weights: FloatArray  # [J]
    outbound: IntArray  # [J, S], or [J, n, S] if the recall is fixed
    claims: tuple[float, ...]  # bound for each criterion


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
        for wrong, message in _contradictions(self):
            if wrong:
                raise Error(message)
        set_fields(self, bonus=frozen(self.bonus))

    @classmethod
    def of(cls, plan: PlanClaims, belief: Belief, planner: Any) -> PlanCase:
        """Return the case of a plan, from the belief it was made with and its planner."""
        count = len(planner.criteria)
        if len(plan.criteria) != count:
            raise Error(f"the plan has {len(plan.criteria)} criteria, but its planner has {count}")
        as_moves = getattr(belief, "as_moves", None)  # a finite belief in the planner's form
        belief = (as_moves() if as_moves is not None else None) or belief
        rewards = tuple(getattr(c, "rewards", None) for c in planner.criteria)
        earned = [c.kind == "earn" for c in plan.criteria]
        limits = (c.limits if e else None for c, e in zip(planner.criteria, earned, strict=True))
        return cls(plan, belief, np.array(planner.bonus(belief), np.float64), rewards, (*limits,))

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


def _contradictions(case: PlanCase) -> Iterator[tuple[bool, str]]:
    """Yield pairs: whether a plan contradicts itself or its belief, and a message if it does."""
    plan, model, count = case.plan, case.belief.mean(), len(case.plan.criteria)
    states, actions = shape = (model.states, model.actions)
    index(plan.state, states, "the plan's state", Error)
    index(plan.action, actions, "the plan's action", Error)
    yield not 0.0 < plan.discount < 1.0, f"the plan's γ is {plan.discount:g}, expected 0 < γ < 1"
    when = (states,) if plan.steps is None else (plan.steps, states)
    for name, weights, policies in (
        ("outbound", plan.weights, plan.outbound),
        ("kept_outbound", plan.kept_weights, plan.kept_outbound),
    ):
        likely = bool(weights.min(initial=0.0) >= 0.0)
        likely &= bool(abs(float(weights.sum()) - 1.0) <= WEIGHT_TOLERANCE)
        yield not likely, f"the weights of {name} are not probabilities that sum to 1"
        axes = "js" if plan.steps is None else "jts"
        indices(policies, name, (len(weights), *when), (0, actions), axes, Error)
    if plan.afterwards is not None:
        indices(plan.afterwards, "afterwards", when, (0, actions), "ts"[-len(when) :], Error)
    elif case.exits is not None:
        yield True, "the plan may leave its set, but has no policy to follow afterwards"
    first = plan.kept_outbound.reshape(len(plan.kept_weights), -1, states)[:, 0, plan.state]
    for j in np.flatnonzero((plan.kept_weights > 0.0) & (first != plan.action))[:1]:
        starts = f"but kept_outbound (j={j}) starts with {first[j]}"
        yield True, f"the plan's action is {plan.action}, {starts}"
    left = bool((case.bonus > 0.0).any())
    where = "somewhere" if left else "nowhere"
    message = f"the plan's bonus_left is {plan.bonus_left}, but the bonus is positive {where}"
    yield plan.bonus_left != left, message
    yield not _is_finite(case.bonus, shape), "the bonus is not finite numbers [S, A]"
    rows = [row.action for row in plan.evidence]
    listed = rows == list(range(actions))
    yield not listed, f"the evidence is on actions {rows}, expected 0 to {actions - 1}"
    for a, row in enumerate(plan.evidence):
        counts = f"{len(row.safety)} bounds for {count} criteria"
        yield len(row.safety) != count, f"the evidence on action {a} has {counts}"
    upper, value, infeasible = plan.upper_bound, plan.exploration_value, plan.status == "infeasible"
    message = f"the plan's value {value:g}, upper bound {upper:g} or kept value "
    valid = np.isfinite([value, plan.kept_value]).all() and not np.isnan(upper)
    yield not valid, f"{message}{plan.kept_value:g} is not a valid number"
    impossible = infeasible and not (count and upper == -np.inf and plan.gap < np.inf)
    message = f"the plan is infeasible with {count} criteria, the upper bound {upper:g}"
    yield impossible, f"{message} and the gap {plan.gap:g}: expected some, -inf and a number"
    gap, slack = plan.gap, 0.0
    if -np.inf < upper < np.inf:
        gap, slack = max(0.0, upper - value), GAP_TOLERANCE * max(abs(upper), abs(value))
    wrong = not (plan.gap >= 0.0 and (plan.gap == gap or abs(plan.gap - gap) <= slack))
    yield wrong, f"the plan's gap is {plan.gap:g}, but {upper:g} − {value:g} is {gap:g}"
    same = count == len(case.rewards) == len(case.limits)
    yield not same, f"the plan has {count} criteria, but rewards or limits for another number"
    for k, criterion in enumerate(plan.criteria):
        yield from _contradictions_of(case, criterion, k, shape)


def _contradictions_of(
    case: PlanCase, criterion: CriterionClaims, k: int, shape: tuple[int, int]
) -> Iterator[tuple[bool, str]]:
    """Yield pairs as `_contradictions` does, for the claims on criterion `k`."""
    plan, (states, actions), kind, name = case.plan, shape, criterion.kind, f"criterion {k}"
    unit, level, price, within = (
        criterion.unit,
        criterion.level,
        criterion.multiplier,
        criterion.within,
    )
    bounds = criterion.bound, criterion.kept_bound, criterion.corrected, criterion.kept_corrected
    for value in (level, *bounds, unit):
        yield not np.isfinite(value), f"{name} claims the number {value}, expected a finite one"
    known, earns = kind in ("return", "stay", "earn"), kind == "earn"
    yield not (known and unit > 0.0), f"{name} has the kind {kind!r} and the unit {unit:g}"
    message = f"{name} is a probability with the unit {unit:g} and the level {level:g}"
    yield not (earns or (unit == 1.0 and 0.0 <= level <= 1.0)), message
    price = criterion.multiplier
    valid = 0.0 <= price < np.inf or (price == np.inf and plan.upper_bound == -np.inf)
    yield not valid, f"{name} has a multiplier of {price:g}, expected 0 <= λ < inf"
    paid, allowed, home = case.rewards[k], criterion.allowed, criterion.home
    yield paid is not None and not _is_finite(paid, shape), f"the rewards of {name} are not finite"
    given = paid is not None or case.limits[k] is not None
    yield given and not earns, f"{name} is of kind {kind}, but has rewards or limits"
    inside = allowed is not None and allowed.shape == shape and allowed.dtype == np.bool_
    yield inside != (kind == "stay"), f"{name} is of kind {kind}; only stay has a set [S, A]"
    back, what = (-1, actions), f"the return policy of {name}"
    indices(criterion.return_policy, what, (states,), back, "s", Error)
    finite = _is_finite(criterion.way_home, (states,))
    yield not finite, f"the way home of {name} is not {states} finite numbers"
    indices(home, f"the home of {name}", (len(home),), (0, states), "s", Error)
    returns = len(home) > 0 if kind == "return" else not len(home) and within is None
    message = f"{name} is of kind {kind}, but has a home or a limit of steps"
    yield not returns, f"{name} has no home" if kind == "return" else message
    if within is not None:
        index(within, 2**63, f"the limit of steps of {name}", Error)
        layers, since = criterion.return_layers, criterion.return_since
        if within < 1 or layers is None or since is None or not len(layers):
            raise Error(f"{name} has a limit of {within} steps, but no return policies for them")
        indices(layers, what, (len(since), states), back, "hs", Error)
        yield bool((np.diff(since) <= 0).any()), f"{what} is not sorted by the steps left"
    expected = _names_of(criterion, plan)
    message = f"{name} has the name {criterion.name!r}, expected {expected[0]!r}"
    yield criterion.name not in expected, message


def _names_of(criterion: CriterionClaims, plan: PlanClaims) -> list[str]:
    """Return the names that a criterion may have.

    `StayInside` counts states or state-actions in its name; both are claimed as a mask [S, A].
    """
    allowed, within = criterion.allowed, criterion.within
    if criterion.kind == "earn":
        return [f"earn a total of {criterion.level:g}"]
    if allowed is None:
        name = f"return to {', '.join(plan.state_name(int(home)) for home in criterion.home)}"
        steps = "" if within is None else f" within {within} step{'s' * (within != 1)}"
        return [name + steps]
    counts = {"state-action": int(allowed.sum())}
    if (allowed == allowed[:, :1]).all():
        counts["state"] = int(allowed[:, 0].sum())
    start = "stay inside the set of"
    return [f"{start} {n} {what}{'s' * (n != 1)}" for what, n in counts.items()]


def _is_finite(values: FloatArray, shape: tuple[int, ...]) -> bool:
    """Return whether `values` has this shape and finite numbers."""
    return values.shape == shape and bool(np.isfinite(values).all())
