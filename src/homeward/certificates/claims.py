"""The claims of a plan: its decision, and its numbers on every criterion and action.

A plan is copied field by field, so nothing here depends on how plans are made.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from homeward.arrays import frozen, settle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.beliefs.corrections import Correction
    from homeward.solvers import Status

CLAIM_TOLERANCE = 1e-7
"""Largest difference, in units of a claim, between a claimed and a recomputed number."""

T = TypeVar("T")


class ActionClaims(NamedTuple):
    """The claims on one action: taken now, with the plan followed afterwards."""

    action: int
    leaves: float  # probability that the state changes
    exploration: float  # discounted reward plus bonus, on the mean model
    safety: tuple[float, ...]  # per criterion, the corrected bound
    weight: float  # weight of the policies in the mixture that start with it
    verdict: str  # why it was taken or not, a code of `words.VERDICTS`


@dataclass(frozen=True, slots=True, eq=False)
class CriterionClaims:
    """The claims on one criterion."""

    name: str
    kind: str  # return, stay or earn
    level: float  # δ, or the total to earn
    bound: float  # lower bound on the probability, or on what the mixture earns
    kept_bound: float  # the same of the part that starts with the chosen action
    multiplier: float  # λ: exploration value that one unit of `bound` costs
    unit: float  # 1 for a probability; else the range of what can be earned
    within: int | None  # steps that the way home may take; None for any number
    home: IntArray  # [n] states; empty if the criterion asks for no way home
    way_home: FloatArray  # [S] lower bound on the probability of returning
    return_policy: IntArray  # [S] action, −1 to give up or at home
    allowed: BoolArray | None  # [S, A] the set to stay inside
    return_layers: IntArray | None  # [L, S] return policies by steps left, if those are limited
    return_since: IntArray | None  # [L] steps left from which on each of them is followed
    evaluator: str = "correction"  # what proves the bounds, a code of `words.EVALUATORS`
    corrected: float = np.nan  # the corrected bound of the mixture; `bound` in old files
    kept_corrected: float = np.nan  # the same of the part that starts with the chosen action

    def __post_init__(self) -> None:
        if np.isnan(self.corrected):
            settle(self, corrected=self.bound, kept_corrected=self.kept_bound)

    @classmethod
    def of(cls, criterion: Any) -> CriterionClaims:
        """Copy the claims on a criterion from any object with these fields."""
        return _copied(cls, criterion)

    @property
    def return_policies(self) -> IntArray:
        """The return policies [L, S] by steps left; one if steps are not limited."""
        unlimited = self.within is None or self.return_layers is None
        return self.return_policy[None] if unlimited else np.asarray(self.return_layers)

    def stages(self) -> Iterator[tuple[IntArray, int]]:
        """Yield each policy [S] of a limited way home and its number of steps, last steps first."""
        assert self.within is not None
        assert self.return_since is not None
        changes = [h for h in self.return_since[1:].tolist() if 1 < h <= self.within]
        for first, last in pairwise([1, *changes, 1 + self.within]):
            layer = int(np.searchsorted(self.return_since, first, side="right")) - 1
            yield self.return_policies[max(0, layer)], last - first


@dataclass(frozen=True, slots=True, eq=False)
class PlanClaims:
    """One decision, its policies, and what they are claimed to prove."""

    state: int
    action: int
    status: Status
    weights: FloatArray  # [J] probability of each outbound policy; one is drawn, once
    outbound: IntArray  # [J, S]; [J, n, S], by step, if the recall is fixed
    exploration_value: float  # of the mixture: discounted reward plus bonus, on the mean model
    upper_bound: float  # on the value of every safe mixture; −inf if none is safe
    gap: float  # upper_bound − exploration_value
    kept_weights: FloatArray  # [J'] the part of the mixture that starts with the action
    kept_outbound: IntArray  # [J', S] or [J', n, S]
    kept_value: float  # exploration value of that part
    criteria: tuple[CriterionClaims, ...]
    evidence: tuple[ActionClaims, ...]  # per action, in the current state
    correction: Correction
    discount: float  # γ
    method: str  # the solver: "columns" or "lp"
    rounds: int  # ordinary MDPs that were solved (or LP iterations)
    bonus_left: bool  # some state-action has a positive bonus
    worthless: bool  # the best safe plan has no value
    waits: bool  # the action neither moves nor earns bonus, or has no value
    state_names: tuple[str, ...] | None
    action_names: tuple[str, ...] | None
    afterwards: IntArray | None  # [S] or [n, S] policy that is followed once a set is left
    steps: int | None  # until recall if that is fixed; else it comes with probability 1 − γ
    conflict: tuple[int, ...]  # if infeasible: fewest criteria that can't be kept together

    def __post_init__(self) -> None:
        for name in ("weights", "outbound", "kept_weights", "kept_outbound", "afterwards"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name)))

    @classmethod
    def of(cls, plan: Any) -> PlanClaims:
        """Copy the claims of a plan: any object with these fields, such as `homeward.Plan`."""
        evidence = tuple(
            ActionClaims(e.action, e.leaves, e.exploration, e.safety, e.weight, str(e.verdict))
            for e in plan.evidence
        )
        criteria = tuple(CriterionClaims.of(criterion) for criterion in plan.criteria)
        return _copied(cls, plan, criteria=criteria, evidence=evidence)

    @property
    def expected_steps(self) -> float:
        """The expected number of steps until recall: 1/(1 − γ), or the fixed number."""
        return 1.0 / (1.0 - self.discount) if self.steps is None else float(self.steps)

    def action_name(self, action: int) -> str:
        """Return the name of an action."""
        return self.action_names[action] if self.action_names else f"action {action}"

    def state_name(self, state: int) -> str:
        """Return the name of a state."""
        return self.state_names[state] if self.state_names else f"state {state}"

    def __str__(self) -> str:
        lines = [f"In {self.state_name(self.state)}: take {self.action_name(self.action)}."]
        lines += [f"{c.name}: {c.bound:.6g}, asked for {c.level:g}" for c in self.criteria]
        return "\n".join(lines)


def _copied(cls: type[T], source: Any, **changed: Any) -> T:
    """Return a dataclass with the fields of another object, some of them changed."""
    names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    return cls(**{n: changed[n] if n in changed else getattr(source, n) for n in names})
