"""The reasons of a decision, or of a run's end: a plan with its evidence as JSON values."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.bonuses import unit_of
from homeward.replay.scene import actions_of
from homeward.words import VERDICTS, ending

if TYPE_CHECKING:
    from homeward.planning.guide import Decision
    from homeward.planning.held import Proposal
    from homeward.planning.plan import Plan
    from homeward.replay.moment import Moment
    from homeward.runs import Setup


def reasons(plan: Plan, moment: Moment, setup: Setup, columns: int) -> dict[str, Any]:
    """Return a plan that was made at a moment, on a map with a number of columns."""
    unit = unit_of(setup.planner.bonus)
    ways = [c.way_home for c in plan.criteria if c.home.size]
    ways = ways or [moment.returns[1].value]
    explanation = _placed(plan.explain(), columns)
    words = [line for line in explanation.splitlines() if not line.startswith("  ")]
    if plan.proposal is not None:
        words = [words[0], _heading(plan.proposal, unit, columns)]
    actions = actions_of(setup)
    return {
        "step": moment.step,
        "state": moment.state,
        "end": None,
        "action": plan.action,
        "status": str(plan.status),
        "sentence": words[0],
        "reasons": " ".join(words[1:]),
        "explanation": explanation,
        "criteria": [
            {
                "name": _placed(criterion.name, columns),
                "kind": criterion.kind,
                "level": criterion.level,
                "bound": criterion.bound,
                "kept_bound": criterion.kept_bound,
                "multiplier": _finite(criterion.multiplier),
            }
            for criterion in plan.criteria
        ],
        "actions": [
            {
                "action": each.action,
                **actions[each.action],
                "leaves": each.leaves,
                "exploration": _finite(each.exploration),
                "safety": list(each.safety),
                "weight": each.weight,
                "verdict": each.verdict,
                "words": VERDICTS[each.verdict],
            }
            for each in plan.evidence
        ],
        "value": _finite(plan.exploration_value),
        "upper": _finite(plan.upper_bound),
        "gap": _finite(plan.gap),
        "way_home": max(float(way[plan.state]) for way in ways),
        "proposal": None if plan.proposal is None else _proposal(plan.proposal, unit),
    }


def ended(decision: Decision, moment: Moment, columns: int) -> dict[str, Any]:
    """Return why a run ends at a moment, in the form of a plan without an action."""
    assert decision.end is not None
    rest = decision.remainder(unit_of(moment.planner.bonus))
    first, more = (_placed(text, columns) for text in ending(decision.end, moment.step, rest))
    kept = zip(decision.budgets, decision.held.accounts, strict=False)
    return {
        **dict.fromkeys(("action", "value", "upper", "gap", "proposal")),
        "step": moment.step,
        "state": moment.state,
        "end": decision.end,
        "status": "ended",
        "sentence": first,
        "reasons": more,
        "explanation": f"{first} {more}".strip(),
        "criteria": [
            {
                "name": _placed(name, columns),
                "kind": "return",
                "level": level,
                "bound": 1.0 - account.spent,
                "kept_bound": 1.0 - account.spent,
                "multiplier": 0.0,
            }
            for (name, level, _), account in kept
        ],
        "actions": [],
        "way_home": float(moment.returns[1].value[moment.state]),
        "agrees": True,
    }


def _heading(proposal: Proposal, unit: str | None, columns: int) -> str:
    """Return where a proposal leads and what is expected of it, in one sentence."""
    counted = f" {unit}" if unit else ""
    steps = "1 step" if proposal.steps == 1.0 else f"{proposal.steps:.3g} steps"
    rate = f"{proposal.rate:.3g}{counted} per step"
    expects = f"expects {proposal.gain:.3g}{counted} within {steps}: {rate}"
    if len(proposal.path) == 1:
        return f"It {expects}."
    row, column = divmod(proposal.path[-1], columns)
    return f"It heads for row {row}, column {column} and {expects}."


def _proposal(proposal: Proposal, unit: str | None) -> dict[str, Any]:
    """Return a proposal as JSON values."""
    return {
        "path": list(proposal.path),
        "gain": proposal.gain,
        "steps": proposal.steps,
        "rate": proposal.rate,
        "share": proposal.share if np.isfinite(proposal.share) else None,
        "unit": unit,
    }


def _placed(text: str, columns: int) -> str:
    """Return a text with the number of a state replaced by its row and column."""
    return re.sub(
        r"\bstate (\d+)\b",
        lambda found: "row {}, column {}".format(*divmod(int(found[1]), columns)),
        text,
    )


def _finite(value: float) -> float | None:
    """Return a number as JSON, which has no infinities."""
    return float(value) if math.isfinite(value) else None
