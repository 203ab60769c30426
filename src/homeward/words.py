"""The sentences that people read, made from codes.

Records, programs and the page compare codes: the values of `End` and `Verdict`. Their sentences in
English are here and nowhere else. This module imports nothing of the package.
"""

from __future__ import annotations

import math
from typing import NamedTuple

ENDS = {
    "all_seen": "nothing is left to explore",
    "all_safe_seen": "all that is safe is seen",
    "out_of_reach": "what is left is out of reach",
    "too_little": "what is left brings too little per step",
    "only_by_chance": "no single plan was found that goes on and keeps the safety level",
    "budget": "going on would risk more than the safety level allows",
    "not_learning": "observations do not make the bonus smaller",
    "lost": "the world ended the run",
    "infeasible": "no policy keeps the safety level",
    "outside": "the explorer left the set to stay inside",
    "steps": "the step limit was reached",
    "stuck": "no move works any more",
}
"""Why an exploration ended, by the code of its end."""

CHANGES = {
    "all_seen": "Only a larger world has more to show.",
    "all_safe_seen": "Another start, a larger area to keep in or a lower δ may show more.",
    "out_of_reach": "Another start may reach it.",
    "too_little": "With a lower floor it goes on.",
    "only_by_chance": "A lower safety level δ may allow one.",
    "budget": "A lower safety level δ allows more.",
    "not_learning": "Choose a bonus that shrinks with what is observed.",
    "lost": "A safety level δ, or a higher one, makes this less likely.",
    "infeasible": "A lower safety level δ or fewer criteria may allow one.",
    "outside": "A higher probability of staying inside makes this less likely.",
    "steps": "With a higher limit it goes on.",
    "stuck": "A safety level δ, or a higher one, makes this less likely.",
}
"""What to change so that an exploration goes further, by the code of its end."""

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

EVALUATORS = {
    "exact": "exactly, in every world of the belief",
    "path": "by the exact probability that all moves on the way work",
    "pairs": "by the probabilities that moves, and pairs of moves, never work",
    "correction": "{correction} correction",
    "union": "by the sum of the probabilities that a move never works",
}
"""How a bound was evaluated, by the code of its evaluator."""


class Remainder(NamedTuple):
    """What an exploration leaves when it ends.

    Attributes
    ----------
    left
        What could still be learned elsewhere, in `unit`.
    rate
        The best gain per step without risk, if below the floor, in `unit`; 0 if there is none.
    unit
        The unit of the bonus, in the plural; None if it has no name.
    share
        Risk of going on over the remaining budget, above 1; infinite if no risk would allow more.
    budgets
        The name, the safety level δ and the probability that may still be risked, of each home.
    """

    left: float = 0.0
    rate: float = 0.0
    unit: str | None = None
    share: float = math.inf
    budgets: tuple[tuple[str, float, float], ...] = ()


def sentence(text: str) -> str:
    """Return a clause as a sentence: capitalised, with a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def why_ended(end: str, steps: int, rest: Remainder | None = None) -> str:
    """Return why an exploration ended after `steps`, what is left and what to change."""
    return " ".join(ending(end, steps, rest)).strip()


def ending(end: str, steps: int, rest: Remainder | None = None) -> tuple[str, str]:
    """Return why an exploration ended in one sentence, then what is left and what to change.

    The remainder `rest` is None if it is not known. Settings are named without syntax ("the
    floor"), so that the library, the command line and the page can use the same text.
    """
    why, change = sentence(ENDS[end]), CHANGES[end]
    if end == "steps":
        return f"The step limit of {steps:,} was reached.", change
    said = []
    budgets = rest.budgets if rest is not None and math.isfinite(rest.share) else ()
    if rest is not None and len(budgets) == 1:
        ((_, level, left),) = budgets
        risk = rest.share * left
        said.append(f"It would risk {risk:.3g}, and {left:.3g} is allowed.")
        lower = math.floor((level - (risk - left)) * 1e4) / 1e4
        change = f"δ = {lower:g} would allow it." if lower > 0.0 else "No δ above 0 would allow it."
    elif rest is not None and budgets:
        allowed = " and ".join(f"{left:.3g} to {name}" for name, _, left in budgets)
        said.append(f"It would risk {rest.share:.3g} times what is allowed: {allowed}.")
    if rest is not None and rest.rate > 0.0:
        rate = amount(rest.rate, rest.unit, 3)
        said.append(f"The best that is left brings {rate} per step.")
    if rest is not None and rest.left > 0.0:
        said.append(f"Left to learn elsewhere: {amount(rest.left, rest.unit)}.")
    return why, " ".join([*said, change])


def amount(value: float, unit: str | None, digits: int = 6) -> str:
    """Return a gain with its unit as text; without a unit it is in units of bonus."""
    number = f"{value:.{digits}g}"
    if number == "1":
        return f"1 {'unit of bonus' if unit is None else unit.removesuffix('s')}"
    return f"{number} {unit or 'units of bonus'}"
