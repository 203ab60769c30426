"""The evidence on every action of a decision, computed when somebody asks, and its text.

`explain` is for the explorer of a run and for a replay. A decision itself carries nothing of this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homeward.html import card
from homeward.planning.plan import Verdict
from homeward.referee.claims import ActionEvidence
from homeward.words import EVALUATORS, floored, verdict_of

if TYPE_CHECKING:
    from homeward.beliefs import Belief
    from homeward.planning.explorer import Bound, Decision, Rules
    from homeward.planning.promise import RunState

NO_REASONS = "An agent chose it and gave no reasons. It promises nothing."


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """A decision with the evidence on every action; ``print`` shows it as text."""

    decision: Decision
    evidence: tuple[ActionEvidence, ...]  # by action number
    here: tuple[float, ...]  # lower bound on coming home from the state, for each return criterion
    naive: bool  # whether bounds are believed, not proven

    @property
    def action(self) -> int | None:
        """The action; None if the run ends."""
        return self.decision.action

    def sentences(self) -> list[str]:
        """Return the sentences of the explanation, the decision first."""
        decision = self.decision
        if decision.action is None:
            return ["The run ends."]
        place = decision.state_name(decision.state)
        lines = [f"In {place}: take {decision.action_name(decision.action)}."]
        proposal = decision.proposal
        if proposal is None:
            return [*lines, NO_REASONS]
        if decision.found.earns:
            rate = f"{proposal.rate:.4g}"
            lines.append(f"No information is worth its steps; it earns {rate} per step.")
        else:
            end = decision.state_name(proposal.path[-1])
            towards = f"It goes to {end}. " if len(proposal.path) > 1 else ""
            lines.append(
                f"{towards}Expected gain: {proposal.gain:.4g} in {proposal.steps:.4g} steps, "
                f"{proposal.rate:.4g} per step."
            )
        here = iter(self.here)
        for each in decision.bounds:
            text = "no action that leaves it"
            if each.kind == "return":
                kept = f"at least {floored(each.bound)} for the whole run"
                from_here = f"{floored(next(here))} from here ({self._proof(each)})"
                text = f"{kept} (required {each.level:g}), {from_here}"
            lines.append(f"{each.name[:1].upper()}{each.name[1:]}: {text}.")
        return lines

    def _proof(self, bound: Bound) -> str:
        """Return how a bound was evaluated."""
        if self.naive:
            return "naive: believed, not proven"
        return EVALUATORS[bound.evaluator].format(correction="general")

    def rows(self) -> list[list[str]]:
        """Return the evidence on the actions as rows of text, column titles first."""
        heads = {"return": "safety", "stay": "inside"}
        kinds = [heads.get(each.kind, each.kind) for each in self.decision.bounds]
        rows = [["action", "leaves", "explores", *kinds, "verdict"]]
        for e in self.evidence:
            cells = ["-"] * (2 + len(e.safety))
            if e.verdict != Verdict.UNAVAILABLE:
                safety = (floored(value, 4) for value in e.safety)
                cells = [f"{e.leaves:.3f}", f"{e.exploration:.4g}", *safety]
            verdict = verdict_of(e.verdict, e.leaves)
            rows.append([self.decision.action_name(e.action), *cells, verdict])
        return rows

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        table = (f"  {'  '.join(map(str.ljust, row, widths))}".rstrip() for row in rows)
        return "\n".join([*self.sentences(), *table])

    def _repr_html_(self) -> str:
        """Return the explanation as HTML, for notebooks."""
        first, *others = self.sentences()
        return card(first, others, self.rows(), self.decision.action)


def explain(rules: Rules, belief: Belief, run: RunState, decision: Decision) -> Explanation:
    """Return the evidence on a decision that was made with a belief and the state `run`."""
    from homeward.beliefs.corrections import Correction
    from homeward.criteria import StayInside

    model, state = belief.mean(), decision.state
    options = rules.options(belief, run, state)
    rates = rules.search.rates(belief, options, state, decision.found)
    shares = np.max([np.zeros(model.actions), *(each.shares() for each in options)], axis=0)
    after = [each.after() for each in options]
    leaving, evidence = model.leaving(state), []
    for a in range(model.actions):
        known = iter(float(bounds[a]) for bounds in after)
        safety = tuple(
            1.0 if isinstance(c, StayInside) else next(known) for c in rules.planner.criteria
        )
        forbidden = rules.allowed is not None and not rules.allowed[state, a]
        if a == decision.action:
            verdict = Verdict.CHOSEN
        elif not np.isfinite(model.reward[state, a]):
            verdict = Verdict.UNAVAILABLE
        elif shares[a] > 1.0 or forbidden:
            verdict = Verdict.UNSAFE
        else:
            verdict = Verdict.NOT_CHOSEN
        numbers = float(leaving[a]), float(rates[a]), safety, float(a == decision.action)
        evidence.append(ActionEvidence(a, *numbers, verdict, float(shares[a])))
    here = tuple(float(each.value()[state]) for each in options)
    naive = rules.planner.correction is Correction.NAIVE
    return Explanation(decision, tuple(evidence), here, naive)


def unexplained(belief: Belief, decision: Decision) -> Explanation:
    """Return what can be said of an action that an agent chose: which others there were."""
    model, state = belief.mean(), decision.state
    leaving, evidence = model.leaving(state), []
    for a in range(model.actions):
        verdict = Verdict.NOT_TAKEN
        if a == decision.action:
            verdict = Verdict.CHOSEN
        elif not np.isfinite(model.reward[state, a]):
            verdict = Verdict.UNAVAILABLE
        weight = float(a == decision.action)
        evidence.append(ActionEvidence(a, float(leaving[a]), 0.0, (), weight, verdict))
    return Explanation(decision, tuple(evidence), (), naive=True)
