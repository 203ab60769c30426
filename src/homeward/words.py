"""The sentences that people read, made from codes.

Records, programs and the page compare codes: the values of `End` and `Verdict`. What such a code
says in English is said here and nowhere else. Nothing of the package is imported, so that every
part of it may ask.
"""

from __future__ import annotations

import math
from typing import NamedTuple

ENDS = {
    "all_seen": "nothing is left to explore",
    "all_safe_seen": "all that is safe is seen",
    "out_of_reach": "what is left is out of reach",
    "too_little": "what is left is not worth the way",
    "only_by_chance": "no single plan was found that goes on and keeps the safety level",
    "budget": "what is left would risk more than the budget has left",
    "not_learning": "looking does not make the bonus smaller",
    "lost": "the world ended it",
    "infeasible": "no policy keeps the safety level",
    "outside": "the set to stay inside was left",
    "steps": "the step limit was reached",
    "stuck": "no move works any more",
}
"""Why an exploration ended, by the code of its end."""

VERDICTS = {
    "chosen": "chosen",
    "less_safe": "in the plan, but less safe than the chosen one",
    "waits": "in the plan, but waits for nothing",
    "unsafe": "would fall below the safety level",
    "worth_less": "safe enough, worth no more than the plan",
    "not_chosen": "safe enough, not chosen",
    "no_safer": "no safer",
    "unavailable": "can't be chosen here",
}
"""Why an action was taken or not, by the code of its verdict."""


class Remainder(NamedTuple):
    """What an exploration leaves when it ends.

    Attributes
    ----------
    left
        What could still be learned elsewhere, in `unit`.
    rate
        The best gain per step that is free but below the floor, in `unit`; 0 if there is none.
    unit
        The unit of the bonus, in the plural; None if it has no name.
    risk
        Probability that going on would risk; infinite if nothing is left that risk could buy.
    budget
        Probability that may still be risked.
    level
        The safety level δ of the run.
    """

    left: float = 0.0
    rate: float = 0.0
    unit: str | None = None
    risk: float = math.inf
    budget: float = 0.0
    level: float = 0.0


def sentence(text: str) -> str:
    """Return a clause as a sentence: its first letter large, a full stop at its end."""
    return f"{text[:1].upper()}{text[1:]}."


def why_ended(end: str, rest: Remainder | None = None) -> str:
    """Return why an exploration ended, what is left and what would allow more, in sentences."""
    said = [sentence(ENDS[end])]
    if rest is None:
        return said[0]
    if math.isfinite(rest.risk):
        said.append(
            f"Going on would risk {rest.risk:.3g}, and {rest.budget:.3g} is left of the budget."
        )
        lower = rest.level - (rest.risk - rest.budget)
        if lower > 0.0:
            said.append(f"δ = {math.floor(lower * 1e4) / 1e4:g} would allow it.")
    if rest.rate > 0.0:
        said.append(f"The best that is left brings {amount(rest.rate, rest.unit, 3)} per step.")
    if rest.left > 0.0:
        said.append(f"Left to learn elsewhere: {amount(rest.left, rest.unit)}.")
    return " ".join(said)


def amount(value: float, unit: str | None, digits: int = 6) -> str:
    """Write a gain with its unit; without one it is counted in units of the bonus."""
    number = f"{value:.{digits}g}"
    if number == "1":
        return f"1 {'unit of bonus' if unit is None else unit.removesuffix('s')}"
    return f"{number} {unit or 'units of bonus'}"
