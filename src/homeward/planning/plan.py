"""A plan of Algorithm 1: one decision with its policies, its bounds and its reasons.

``print(plan)`` prints an explanation. Read next: `algorithm1`, which makes plans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs.corrections import Correction
from homeward.errors import InvalidProblemError
from homeward.html import card
from homeward.referee.claims import ActionEvidence, CriterionClaims, PlanClaims
from homeward.solvers import Status
from homeward.solvers.tolerances import ROUNDING, met_within
from homeward.words import EVALUATORS, at_least, floored, verdict_of


class Verdict(StrEnum):
    """Why an action was taken or not; `words.VERDICTS` has the sentence for each code."""

    CHOSEN = "chosen"
    LESS_SAFE = "less_safe"  # it has weight in the mixture
    WAITS = "waits"  # it has weight in the mixture
    UNSAFE = "unsafe"
    WORTH_LESS = "worth_less"
    NOT_CHOSEN = "not_chosen"  # only in plans of `Explorer`, which keeps its proposal
    NO_SAFER = "no_safer"
    NOT_TAKEN = "not_taken"  # only in plans of agents
    UNAVAILABLE = "unavailable"


class Evaluator(StrEnum):
    """How a bound was computed; `words.EVALUATORS` has the words for each code."""

    EXACT = "exact"  # in every world of a finite belief
    PATH = "path"  # exact probability that all moves of the path work
    CORRECTION = "correction"  # on the mean model, by the plan's correction
    UNION = "union"  # 1 less the sum of the probabilities that a move never works
    SAMPLED = "sampled"  # estimate in worlds drawn from the belief; not proven


class Evidence(Sequence[ActionEvidence]):
    """The evidence on every action, by action number; computed at its first use."""

    def __init__(self, compute: Callable[[], tuple[ActionEvidence, ...]]) -> None:
        self._compute = compute

    @cached_property
    def _all(self) -> tuple[ActionEvidence, ...]:
        return self._compute()

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, which: Any) -> Any:
        return self._all[which]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Evidence | tuple) and self._all == tuple(other)

    def __repr__(self) -> str:
        return repr(self._all)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return tuple, (self._all,)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CriterionEvidence(CriterionClaims):
    """The bounds that a plan proves for one criterion, and its return policy.

    Attributes
    ----------
    name, kind : What is required, in words, and ``"return"``, ``"stay"`` or ``"earn"``
    level : δ, or the total to earn
    bound : Proven lower bound on the probability, or on the earnings, of the whole mixture
    kept_bound : The bound of the policies that start with the chosen action
    corrected, kept_corrected : The same by the correction alone, which chose the plan
    evaluator : How `bound` was proven, a code of `Evaluator`
    multiplier : λ, the exploration value that one more unit of `level` would cost
    unit : 1 for a probability; for earnings, the range that is possible
    home, within : [n] states that are home, and the largest number of steps of a return
    way_home : [S] lower bound on the probability of returning from each state
    return_policy : [S] action of the return policy, −1 at home and where it gives up
    return_layers, return_since : [L, S] return policies by the steps left, and the least number of
        steps left for each; see `return_with`
    allowed : [S, A] mask of the set to stay inside
    span : Expected number of steps until the recall
    """

    span: float = 1.0

    @property
    def kept(self) -> bool:
        """Whether the policies that start with the chosen action meet the level (`met_within`)."""
        return self._keeps(self.kept_bound)

    @property
    def kept_by_correction(self) -> bool:
        """Whether these policies meet the level by the corrected bound, which chose the plan."""
        return self._keeps(self.kept_corrected)

    def _keeps(self, bound: float) -> bool:
        """Return whether a bound meets the level up to tolerance and rounding."""
        rounding = ROUNDING * (abs(self.level) + self.unit)
        return bound >= self.level - met_within(self.span) * self.unit - rounding

    def return_with(self, steps: int) -> IntArray:
        """Return the return policy [S] to follow when `steps` steps are left."""
        if self.return_layers is None or self.return_since is None:
            return self.return_policy
        layer = int(np.searchsorted(self.return_since, steps, side="right")) - 1
        policy: IntArray = self.return_layers[max(0, layer)]
        return policy


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Plan(PlanClaims):
    """One decision of Algorithm 1: its policies over all states, and the bounds that they prove.

    A plan is a mixture of J deterministic policies. One of them would be drawn at the start and
    followed until the recall. Algorithm 1 takes one action and plans again; `kept_weights` and
    `kept_outbound` are the policies that start with this action.

    Attributes
    ----------
    state, action : The current state, and the chosen action
    status : Whether the plan is optimal, proven infeasible, or not proven to be optimal
    criteria : The bounds for each criterion, with its return policy; see `CriterionEvidence`
    evidence : The values, bounds and verdict of each action in the current state
    weights : [J] probability of each policy
    outbound : [J, S] action of each policy in each state; [J, n, S] by step for a recall after n
    exploration_value : Expected total of reward plus bonus of the mixture, on the mean model
    upper_bound : No safe mixture has a larger value; −inf if none is safe
    gap : ``upper_bound − exploration_value``; if infeasible, the gap of the least shortfall
    kept_weights : [J'] probability of each policy that starts with the action
    kept_outbound : [J', S] or [J', n, S] these policies
    kept_value : Their exploration value
    afterwards : [S] or [n, S] policy after a set to stay inside was left; None without a set
    correction : The theorem that proves the bounds: general, moves, or naive, which proves nothing
    discount : γ, the probability that exploration goes on for another step
    steps : Number of steps until a fixed recall; None for a recall with probability 1 − γ
    method, rounds : The solver, ``"columns"`` or ``"lp"``, and the number of problems it solved
    bonus_left : Whether any state-action has a positive bonus
    worthless : Whether the best safe plan has no value
    waits : Whether the action has no value, or neither moves nor earns
    conflict : If infeasible, the numbers of the fewest criteria that can't be met together
    state_names, action_names : Names of states and actions; None without names
    """

    criteria: tuple[CriterionEvidence, ...]

    @property
    def keeps_all(self) -> bool:
        """Whether the policies of the mixture that start with the chosen action meet all levels."""
        return all(c.kept for c in self.criteria)

    @property
    def bounds(self) -> tuple[float, ...]:
        """The proven lower bound for each criterion."""
        return tuple(c.bound for c in self.criteria)

    @property
    def multipliers(self) -> tuple[float, ...]:
        """λ of each criterion: the exploration value that one more unit of its level would cost."""
        return tuple(c.multiplier for c in self.criteria)

    @property
    def way_home(self) -> FloatArray:
        """Lower bound [S] on the probability of returning, for the first return criterion."""
        return self._returning.way_home

    @property
    def return_policy(self) -> IntArray:
        """Return policy [S] of the first return criterion."""
        return self._returning.return_policy

    @property
    def _returning(self) -> CriterionEvidence:
        """The first return criterion; raises without one."""
        for criterion in self.criteria:
            if criterion.home.size:
                return criterion
        what = " that requires a return" if self.criteria else ", so it keeps no way home"
        raise InvalidProblemError(f"the plan has no criterion{what}")

    def explain(self) -> str:
        """Return text: the decision, the proven bounds, and why no other action was taken."""
        return "\n".join([*self._sentences(), *self._table()])

    def _sentences(self) -> list[str]:
        """Return the sentences of the explanation, the decision first."""
        lines = [f"In {self.state_name(self.state)}: take {self.action_name(self.action)}."]
        if self.status not in (Status.OPTIMAL, Status.INFEASIBLE):
            lines.append(f"Solver status: {self.status}. The bounds hold; better plans may exist.")
        if self.status is Status.INFEASIBLE:
            closest = "; this plan has the least shortfall"
            if self.keeps_all:
                closest = (
                    f" by the {self.correction} correction, but this plan does, as shown below"
                )
            lines.append(f"No policy meets {self._conflict()}{closest}.")
        else:
            lines.append(
                f"Its exploration value is {self.exploration_value:.6g}; "
                f"no safe plan has more than {self.upper_bound:.6g} ({self.status})."
            )
        if not self.criteria:
            lines.append("Nothing is guaranteed, since there is no criterion.")
        lines.extend(self._proven(c) for c in self.criteria)
        if self.afterwards is not None:
            lines.append("Outside the set it explores freely, and no criterion counts.")
        mixed = [e for e in self.evidence if e.weight > 0]
        if len(mixed) > 1:
            shares = ", ".join(f"{self.action_name(e.action)} {e.weight:.3g}" for e in mixed)
            lines.append(f"The plan draws its policy once, by first action: {shares}.")
        if len(mixed) > 1 or mixed[0].action != self.action:
            kept = " and ".join(_number(c, c.kept_bound) for c in self.criteria)
            lines.append(
                f"The policies that start with {self.action_name(self.action)} are the safest: "
                f"value {_plain(self.kept_value):.6g}, bound {kept or 'none'}."
            )
        if not self.keeps_all and self.status is not Status.INFEASIBLE:
            lines.append("No single first action meets every level; only the mixture does.")
        return lines

    def _conflict(self) -> str:
        """Return text that names the criteria which can't be met together."""
        if len(self.criteria) < 2 or not self.conflict:
            return "the safety level"
        conflicting = (self.criteria[k] for k in self.conflict)
        *others, last = (f"“{c.name}” at {c.level:g}" for c in conflicting)
        if not others:
            return f"{last}, even alone"
        return f"{', '.join(others)} and {last} together, but any fewer can be met"

    def _proven(self, c: CriterionEvidence) -> str:
        """Return the sentence on the proven bound of a criterion."""
        proof = f"proven ({self._proof(c)})"
        if self.correction is Correction.NAIVE:
            proof = "believed, not proven (naive)"
        price = ""
        if 0 < c.multiplier < np.inf:
            more, cost = ("unit", 1.0) if c.kind == "earn" else ("percent", 0.01)
            price = f"; one more {more} would cost {c.multiplier * cost:.3g}"
        when, preposition = "Until the recall", "For" if c.kind == "stay" else "In"
        if c.kind == "return":
            when, preposition = "If recalled at any time", "If recalled after"
        if self.steps is not None:
            when = f"{preposition} {self.steps} steps"
        bound = f"at least {_number(c, c.bound)}"
        text = f"{c.name} with probability {bound}"
        if c.kind == "earn":
            text = f"earn {bound} in expectation"
        return f"{when}: {text} (required {c.level:g}); {proof}{price}."

    def _proof(self, c: CriterionEvidence) -> str:
        """Return how the bounds of a criterion were evaluated."""
        if self.correction is Correction.NAIVE:
            return "naive: believed, not proven"
        return EVALUATORS[c.evaluator].format(correction=self.correction)

    def _rows(self) -> list[list[str]]:
        """Return the evidence on the actions as rows of text, column titles first."""
        heads = {"return": "safety", "stay": "inside", "earn": "earns"}
        rows = [
            ["action", "leaves", "explores", *(heads[c.kind] for c in self.criteria), "verdict"]
        ]
        for e in self.evidence:
            cells = ["-"] * (2 + len(e.safety))
            if e.verdict is not Verdict.UNAVAILABLE:
                bounds = zip(self.criteria, e.safety, strict=True)
                safety = (at_least(v, 4) if c.kind == "earn" else floored(v, 4) for c, v in bounds)
                cells = [f"{e.leaves:.3f}", f"{_plain(e.exploration):.4g}", *safety]
            rows.append([self.action_name(e.action), *cells, verdict_of(e.verdict, e.leaves)])
        return rows

    def _table(self) -> list[str]:
        """Return the evidence on the actions as a text table."""
        rows = self._rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return [f"  {'  '.join(map(str.ljust, row, widths))}".rstrip() for row in rows]

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        """Return the explanation as HTML, for notebooks."""
        decision, *sentences = self._sentences()
        chosen = next((k for k, e in enumerate(self.evidence) if e.action == self.action), None)
        return card(decision, sentences, self._rows(), chosen)


def _plain(value: float) -> float:
    """Return the value, or 0 if it is 0 up to rounding."""
    return 0.0 if abs(value) < 1e-12 else value


def _number(criterion: CriterionEvidence, value: float) -> str:
    """Return a lower bound on a probability, or on earnings, as text."""
    return at_least(value) if criterion.kind == "earn" else floored(value)
