"""A plan: one decision with its evidence. ``print(plan)`` prints an explanation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from homeward.arrays import frozen, set_fields
from homeward.beliefs.corrections import Correction
from homeward.errors import InvalidProblemError
from homeward.solvers import Status
from homeward.solvers.tolerances import ROUNDING, met_within
from homeward.words import EVALUATORS, VERDICTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.planning.held import Proposal


class Verdict(StrEnum):
    """Why an action was taken or not; `words.VERDICTS` has the English sentences."""

    CHOSEN = "chosen"
    LESS_SAFE = "less_safe"  # has weight in the mixture
    WAITS = "waits"  # has weight in the mixture
    UNSAFE = "unsafe"
    WORTH_LESS = "worth_less"
    NOT_CHOSEN = "not_chosen"  # only of the rate explorer, which keeps its proposal
    NO_SAFER = "no_safer"
    UNAVAILABLE = "unavailable"


class Evaluator(StrEnum):
    """How a bound was evaluated; `words.EVALUATORS` has the English words."""

    EXACT = "exact"  # in every world of a finite belief
    PATH = "path"  # the probability that all moves along the way work, exactly
    PAIRS = "pairs"  # the same, bounded by what is known of pairs of moves
    CORRECTION = "correction"  # on the mean model, by the plan's correction
    UNION = "union"  # 1 less the sum of the probabilities that a move never works
    SAMPLED = "sampled"  # estimated in drawn worlds, with an interval: not proven


class ActionEvidence(NamedTuple):
    """The numbers of taking one action now and following the plan afterwards."""

    action: int
    leaves: float  # probability that the state changes
    exploration: float  # discounted reward plus bonus, on the mean model
    safety: tuple[float, ...]  # per criterion, the corrected bound
    weight: float  # weight of the policies in the mixture that start with it
    verdict: Verdict


class Evidence(Sequence[ActionEvidence]):
    """The evidence on every action, by action number; computed at its first use."""

    def __init__(self, tell: Callable[[], tuple[ActionEvidence, ...]]) -> None:
        self._tell = tell

    @cached_property
    def _all(self) -> tuple[ActionEvidence, ...]:
        return self._tell()

    def __len__(self) -> int:
        return len(self._all)

    def __getitem__(self, which: Any) -> Any:
        return self._all[which]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Evidence | tuple) and self._all == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all)

    def __repr__(self) -> str:
        return repr(self._all)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return tuple, (self._all,)


@dataclass(frozen=True, slots=True, eq=False)
class CriterionEvidence:
    """The bounds that a plan proves for one criterion, and its return policy."""

    name: str
    level: float  # δ
    bound: float  # proven lower bound on the mixture's probability, or on what it earns
    kept_bound: float  # the same of the part that starts with the chosen action
    multiplier: float  # λ: exploration value that one unit of `bound` costs
    home: IntArray  # [n] states; empty if no way home is required
    way_home: FloatArray  # [S] v, a lower bound on the probability of returning
    return_policy: IntArray  # [S] action, −1 to give up or at home; if limited, with all steps left
    kind: Literal["return", "stay", "earn"] = "return"
    unit: float = 1.0  # 1 for a probability; else the range of what can be earned
    allowed: BoolArray | None = None  # [S, A] the set to stay inside
    within: int | None = None  # steps that the way home may take
    return_layers: IntArray | None = None  # [L, S] return policies by steps left
    return_since: IntArray | None = None  # [L] least number of steps left at which each is followed
    span: float = 1.0  # expected steps until recall
    evaluator: Evaluator = Evaluator.CORRECTION  # what proves `bound` and `kept_bound`
    corrected: float = np.nan  # the corrected bound, by which the plan was chosen; else `bound`
    kept_corrected: float = np.nan  # the same of the part that starts with the chosen action

    def __post_init__(self) -> None:
        if np.isnan(self.corrected):
            set_fields(self, corrected=self.bound, kept_corrected=self.kept_bound)

    @property
    def kept(self) -> bool:
        """Whether the policies that start with the chosen action meet the level (`met_within`)."""
        return self._keeps(self.kept_bound)

    @property
    def kept_by_correction(self) -> bool:
        """The same judged by the corrected bound, like the choice of the plan."""
        return self._keeps(self.kept_corrected)

    def _keeps(self, bound: float) -> bool:
        rounding = ROUNDING * (abs(self.level) + self.unit)  # for a bound that is not a probability
        return bound >= self.level - met_within(self.span) * self.unit - rounding

    def return_with(self, steps: int) -> IntArray:
        """Return the return policy [S] to follow when `steps` steps are left."""
        if self.return_layers is None or self.return_since is None:
            return self.return_policy
        layer = int(np.searchsorted(self.return_since, steps, side="right")) - 1
        policy: IntArray = self.return_layers[max(0, layer)]
        return policy


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """One decision, its policies, and the values and bounds that they prove."""

    state: int
    action: int  # what to do now
    status: Status
    weights: FloatArray  # [J] probability of each outbound policy; one is drawn, once
    outbound: IntArray  # [J, S]; [J, n, S], by step, where the recall is fixed
    exploration_value: float  # of the mixture: discounted reward plus bonus, on the mean model
    upper_bound: float  # on the value of every safe mixture; −inf if none is safe
    gap: float  # upper_bound − exploration_value
    kept_weights: FloatArray  # [J'] the part of the plan that starts with the action
    kept_outbound: IntArray  # [J', S] or [J', n, S]
    kept_value: float  # exploration value of that part
    criteria: tuple[CriterionEvidence, ...]
    evidence: Sequence[ActionEvidence]  # per action, in the current state
    correction: Correction
    discount: float
    method: str  # the solver: "columns" or "lp"
    rounds: int  # ordinary MDPs solved (or LP iterations)
    bonus_left: bool  # some state-action has a positive bonus
    worthless: bool  # the best safe plan has no value
    waits: bool  # the action neither moves nor earns bonus, or has no value
    state_names: tuple[str, ...] | None = None
    action_names: tuple[str, ...] | None = None
    afterwards: IntArray | None = None  # [S] or [n, S] policy once a set is left
    steps: int | None = None  # until recall if that is fixed; else it comes with probability 1 − γ
    conflict: tuple[int, ...] = ()  # if infeasible: fewest criteria that can't be kept together
    proposal: Proposal | None = None  # what the rate explorer pursues

    def __post_init__(self) -> None:
        for name in ("weights", "outbound", "kept_weights", "kept_outbound", "afterwards"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def keeps_all(self) -> bool:
        """Whether the policies in the mixture that start with the chosen action meet all levels."""
        return all(c.kept for c in self.criteria)

    @property
    def bounds(self) -> tuple[float, ...]:
        """The proven lower bound for each criterion."""
        return tuple(c.bound for c in self.criteria)

    @property
    def multipliers(self) -> tuple[float, ...]:
        """λ of each criterion: loss of exploration value per unit of its level."""
        return tuple(c.multiplier for c in self.criteria)

    @property
    def way_home(self) -> FloatArray:
        """The lower bound [S] on the probability of returning, for the first return criterion."""
        return self._returning.way_home

    @property
    def return_policy(self) -> IntArray:
        """The return policy [S] of the first return criterion."""
        return self._returning.return_policy

    @property
    def _returning(self) -> CriterionEvidence:
        for criterion in self.criteria:
            if criterion.home.size:
                return criterion
        what = " that asks for a way home" if self.criteria else ", so it keeps no way home"
        raise InvalidProblemError(f"the plan has no criterion{what}")

    def action_name(self, action: int) -> str:
        """Return the name of an action."""
        return self.action_names[action] if self.action_names else f"action {action}"

    def state_name(self, state: int) -> str:
        """Return the name of a state."""
        return self.state_names[state] if self.state_names else f"state {state}"

    def explain(self) -> str:
        """Return text: the decision, the proven bounds, and why no other action was taken."""
        lines = [f"In {self.state_name(self.state)}: take {self.action_name(self.action)}."]
        if self.proposal is not None:
            return "\n".join([*lines, *self._pursuit(self.proposal), *self._table()])
        if self.status not in (Status.OPTIMAL, Status.INFEASIBLE):
            lines.append(f"The solver met {self.status}: the bounds hold, better plans may exist.")
        if self.status is Status.INFEASIBLE:
            lines.append(f"No policy keeps {self._conflict()}{self._closest()}")
        else:
            lines.append(
                f"It is worth {self.exploration_value:.6g} to explore like this; "
                f"no safe plan is worth more than {self.upper_bound:.6g} ({self.status})."
            )
        if not self.criteria:
            lines.append("Nothing is kept safe: there is no criterion.")
        lines.extend(self._proven(c) for c in self.criteria)
        if self.afterwards is not None:
            lines.append("Outside the set it explores freely; nothing counts for safety then.")
        mixed = [e for e in self.evidence if e.weight > 0]
        if len(mixed) > 1:
            shares = ", ".join(f"{self.action_name(e.action)} {e.weight:.3g}" for e in mixed)
            lines.append(f"The plan draws its policy once, by first action: {shares}.")
        if len(mixed) > 1 or mixed[0].action != self.action:
            kept = " and ".join(_number(c, c.kept_bound) for c in self.criteria)
            lines.append(
                f"Safety decides for {self.action_name(self.action)}; what starts with it is "
                f"worth {_plain(self.kept_value):.6g} and keeps {kept or 'nothing'}."
            )
        if not self.keeps_all and self.status is not Status.INFEASIBLE:
            lines.append("No single action keeps every level; only the draw does.")
        return "\n".join([*lines, *self._table()])

    def _pursuit(self, proposal: Proposal) -> list[str]:
        """Return lines of text: the proposal's target, gain and steps, and the run's guarantees."""
        end = self.state_name(proposal.path[-1])
        towards = f"It heads for {end}: " if len(proposal.path) > 1 else ""
        lines = [
            f"{towards}{proposal.gain:.4g} expected in {proposal.steps:.4g} steps, "
            f"{proposal.rate:.4g} a step."
        ]
        if self.method == "earn":
            lines = [f"Nothing is worth learning; it earns {proposal.rate:.4g} a step."]
        for c in self.criteria:
            said = "no action that leaves it"
            if c.kind == "return":
                kept = f"the whole run keeps {floored(c.bound)} or more, asked for {c.level:g}"
                proof = EVALUATORS[c.evaluator].format(correction=self.correction)
                said = f"{kept}, from here alone {floored(c.way_home[self.state])} ({proof})"
            lines.append(f"{c.name[:1].upper()}{c.name[1:]}: {said}.")
        return lines

    def _closest(self) -> str:
        """Return the end of the sentence on an infeasible plan: what this one is."""
        if self.keeps_all:
            return f" by the {self.correction} correction; evaluated as below, this one does."
        return "; this one comes closest."

    def _conflict(self) -> str:
        """Return text that names the criteria which can't be met together."""
        asked = [self.criteria[k] for k in self.conflict]
        if len(self.criteria) < 2 or not asked:
            return "the safety level"
        *others, last = (f"“{c.name}” at {c.level:g}" for c in asked)
        if not others:
            return f"{last}, even alone"
        return f"{', '.join(others)} and {last} together, though any fewer could be kept"

    def _proven(self, c: CriterionEvidence) -> str:
        """Return the sentence on the proven bound of a criterion."""
        proof = (
            "believed, not proven (naive)"
            if self.correction is Correction.NAIVE
            else f"proven ({EVALUATORS[c.evaluator].format(correction=self.correction)})"
        )
        price = ""
        if 0 < c.multiplier < np.inf:
            more, cost = ("unit", 1.0) if c.kind == "earn" else ("percent", 0.01)
            price = f"; one more {more} would cost {c.multiplier * cost:.3g}"
        if c.kind == "earn":
            when = "Until it is called off" if self.steps is None else f"In {self.steps} steps"
            said = f"{when}: earn {_number(c, c.bound)} or more, as expected"
        else:
            when = "Called off at any time" if c.kind == "return" else "Until it is called off"
            if self.steps is not None:
                when = f"{'Called off after' if c.kind == 'return' else 'For'} {self.steps} steps"
            said = f"{when}: {c.name} with probability at least {_number(c, c.bound)}"
        return f"{said}, asked for {c.level:g}; {proof}{price}."

    def _table(self) -> list[str]:
        """Return the evidence on the actions as a text table."""
        heads = {"return": "safety", "stay": "inside", "earn": "earns"}
        rows = [
            ["action", "leaves", "explores", *(heads[c.kind] for c in self.criteria), "verdict"]
        ]
        for e in self.evidence:
            cells = ["-"] * (2 + len(e.safety))
            if e.verdict is not Verdict.UNAVAILABLE:
                bounds = zip(self.criteria, e.safety, strict=True)
                safety = (f"{v:.4g}" if c.kind == "earn" else f"{v:.4f}" for c, v in bounds)
                cells = [f"{e.leaves:.3f}", f"{_plain(e.exploration):.4g}", *safety]
            rows.append([self.action_name(e.action), *cells, VERDICTS[e.verdict]])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return [f"  {'  '.join(map(str.ljust, row, widths))}".rstrip() for row in rows]

    def __str__(self) -> str:
        return self.explain()


def floored(value: float) -> str:
    """Return a lower bound with six decimals, rounded down; 1e-9 is added first."""
    return f"{np.floor(value * 1e6 + 1e-3) / 1e6:.6f}"


def _plain(value: float) -> float:
    """Return the value, or 0 if it is 0 up to rounding."""
    return 0.0 if abs(value) < 1e-12 else value


def _number(criterion: CriterionEvidence, value: float) -> str:
    """Return a probability, or earnings, as text."""
    return f"{_plain(value):.6g}" if criterion.kind == "earn" else f"{value:.6f}"
