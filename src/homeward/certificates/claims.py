"""The claims of a plan: its decision, and its numbers for every criterion and action.

The planner's `Plan` is a `PlanClaims` with methods that explain it. A plan file has only claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen, set_fields
from homeward.words import at_least

if TYPE_CHECKING:
    from homeward.beliefs.corrections import Correction
    from homeward.solvers import Status

CLAIM_TOLERANCE = 1e-7  # in units of a claim, how much a recomputed number may differ


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
    status: Status  # whether the plan is optimal, infeasible, or not converged
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
