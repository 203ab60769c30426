"""English sentences for the codes of ends and verdicts.

Records, programs and the page compare codes: the values of `End` and `Verdict`. Only this module
turns a code into English. It imports nothing from the package.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

ENDS = {
    "all_seen": "nothing is left to explore",
    "all_safe_seen": "everything that can be explored safely was explored",
    "out_of_reach": "the explorer can't reach what is left to explore",
    "too_little": "what is left to explore gains too little per step",
    "only_by_chance": "no single plan was found that explores further and keeps the safety level",
    "budget": "going on would risk more than the safety level allows",
    "not_learning": "observations do not make the bonus smaller",
    "lost": "the world ended the run",
    "infeasible": "no policy meets the safety level",
    "outside": "the explorer left the set to stay inside",
    "home": "nothing more is worth its way within the limits of the run, and the explorer is home",
    "out_of_range": "no way home is left that fits into what is left of the limits of the run",
    "steps": "the step limit was reached",
    "stuck": "the explorer can't leave its cell",
}
"""Why an exploration ended, by the value of `End`."""

CHANGES = {
    "all_seen": "A larger world has more to explore.",
    "all_safe_seen": "Another start, a larger area to keep in or a lower δ may allow more.",
    "out_of_reach": "From another start the explorer may reach it.",
    "too_little": "With a lower floor the explorer goes on.",
    "only_by_chance": "A lower safety level δ may allow such a plan.",
    "budget": "A lower safety level δ allows more risk.",
    "not_learning": "Choose a bonus that decreases with each observation.",
    "lost": "A safety level δ, or a higher one, makes this less likely.",
    "infeasible": "With a lower safety level δ or fewer criteria there may be a policy.",
    "outside": "A higher probability of staying inside makes this less likely.",
    "home": "With higher limits the explorer may go further.",
    "out_of_range": "Higher limits, or a higher safety level δ, make this less likely.",
    "steps": "With a higher limit the explorer goes on.",
    "stuck": "A safety level δ, or a higher one, makes this less likely.",
}
"""What to change so that an exploration goes further, by the value of `End`."""

NO_DECISION = "The agent has not yet chosen what to do next.", ""
"""Two texts, as of `ending`, while an agent that gives no plan is still running."""

AGENTS = {
    "ours": "looks that gain much for their steps, with a way home over the whole run",
    "paper": "the paper's Algorithm 1, with a way home in each plan",
    "naive": "Algorithm 1 on the mean model without correction, which proves nothing",
    "unsafe": "Algorithm 1 without a safety level",
    "best-rate": "our search without a safety level",
    "rmax": "R-max: visit every state",
    "mbie-eb": "MBIE-EB: a bonus of 1/√n after n observations of a state-action",
    "near-bayesian": "near-Bayesian: a bonus of 1/(1 + n) after n observations",
    "nearest": "the nearest frontier, by likely moves",
    "random": "random actions",
    "certified-nearest": "the nearest new place with our way home",
    "certified-rate": "the best rate with our way home, without looking ahead",
}
"""The agents by name."""

PROMISES = {"run": "for the run", "plan": "for each plan", "none": "no promise"}
"""What an agent's safety level holds for, by code."""

UNPROVEN_ENDS = ("all_safe_seen", "budget", "infeasible", "too_little")
"""Ends that may be due to what could not be proven."""

SAMPLING = (
    "Not all that is safe can be proven here: with a confidence, sampled certificates estimate it "
    "in worlds drawn from the belief (in Python: Planner(..., sampled=Sampled()))."
)
"""What to change where a correction proves too little."""

VERDICTS = {
    "chosen": "chosen",
    "less_safe": "in the plan, but less safe than the chosen action",
    "waits": "in the plan, but it stays and gains nothing",
    "unsafe": "would fall below the safety level",
    "worth_less": "safe enough, but worth no more than the plan",
    "not_chosen": "safe enough, but not chosen",
    "no_safer": "not safer than the chosen action",
    "not_taken": "not chosen by the agent",
    "unavailable": "can't be chosen here",
}
"""Why an action was taken or not, by the value of `Verdict`."""

STAYS = {
    "worth_less": "surely stays here, and worth no more than the plan",
    "not_chosen": "surely stays here",
}
"""Words for some values of `Verdict` instead of those in `VERDICTS`, if the action surely stays."""

EVALUATORS = {
    "exact": "exactly, in every world of the belief",
    "path": "by the exact probability that all moves on the way work",
    "pairs": "by the probabilities that moves, and pairs of moves, never work",
    "correction": "{correction} correction",
    "union": "by the sum of the probabilities that a move never works",
    "sampled": "estimated in worlds drawn from the belief, not proven",
}
"""How a bound was evaluated, by the code of its evaluator."""


def verdict_of(code: str, leaves: float) -> str:
    """Return why an action was taken or not; it leaves the state with probability `leaves`."""
    return STAYS.get(code, VERDICTS[code]) if leaves <= 0.0 else VERDICTS[code]


def certificate_of(kept: float, evaluator: str, confidence: float | None, worlds: int) -> str:
    """Return what is known of the way home over a whole run, and whether it is proven."""
    said = (
        f"at any recall it can return with probability at least {math.floor(kept * 1e4) / 1e4:g}, "
        "over worlds drawn from the prior"
    )
    if evaluator == "sampled" and confidence is not None:
        return (
            f"Estimated, not proven: {said} ({worlds:,} worlds drawn from the belief for each "
            f"step; the doubt left by a confidence of {confidence:g} is counted as risk)."
        )
    how = EVALUATORS[evaluator].format(correction="by the general")
    return f"Proven: {said} ({how})."


def lots_of(drawn: Sequence[tuple[int, float]]) -> str:
    """Return which steps were taken at random, with their probabilities; "" without such steps."""
    said = ", ".join(f"step {step} (probability {chance:.3g})" for step, chance in drawn)
    return f"Taken at random instead of ending the run: {said}." if drawn else ""


class Remainder(NamedTuple):
    """What is left to explore when an exploration ends.

    `budgets` has the name, the level δ and the probability that may still be risked, by home.
    """

    left: float = 0.0  # gain that is left anywhere in the world, in `unit`
    rate: float = 0.0  # largest gain per step without risk if it is below the floor; otherwise 0
    unit: str | None = None  # of the bonus, in the plural; None if the unit has no name
    share: float = math.inf  # risk of going on / budget left, > 1; inf if no risk allows more
    budgets: tuple[tuple[str, float, float], ...] = ()
    unproven: bool = False  # whether sampled certificates could allow what can't be proven


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, such as "1 step" or "1,200 steps"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def sentence(text: str) -> str:
    """Return a clause as a sentence: capitalised, with a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def why_ended(end: str, steps: int, rest: Remainder | None = None) -> str:
    """Return why an exploration ended after `steps` steps, what is left, and what to change."""
    return " ".join(ending(end, steps, rest)).strip()


def ending(end: str, steps: int, rest: Remainder | None = None) -> tuple[str, str]:
    """Return two texts: why an exploration ended; what is left and what to change.

    `rest` is None if the remainder is unknown. Settings are named without syntax ("the floor"), so
    that the library, the command line and the page can use the same text.
    """
    why, change = sentence(ENDS[end]), CHANGES[end]
    if end == "steps":
        return f"The step limit of {steps:,} was reached.", change
    said = []
    budgets = rest.budgets if rest is not None and math.isfinite(rest.share) else ()
    if rest is not None and len(budgets) == 1:
        ((_, level, left),) = budgets
        risk = rest.share * left
        said.append(f"Going on would risk {risk:.3g}, but only {left:.3g} is left.")
        lower = math.floor((level - (risk - left)) * 1e4) / 1e4
        change = f"δ = {lower:g} would allow it." if lower > 0.0 else "No δ above 0 would allow it."
    elif rest is not None and budgets:
        allowed = " and ".join(f"{left:.3g} for “{name}”" for name, _, left in budgets)
        said.append(f"Going on would risk {rest.share:.3g} times what is left: {allowed}.")
    if rest is not None and rest.rate > 0.0:
        rate = amount(rest.rate, rest.unit, 3)
        said.append(f"The best option left gains {rate} per step.")
    if rest is not None and rest.left > 0.0:
        said.append(f"Left to explore: {amount(rest.left, rest.unit)}.")
    if rest is not None and rest.unproven and end in UNPROVEN_ENDS:
        change = f"{change} {SAMPLING}"
    return why, " ".join([*said, change])


def amount(value: float, unit: str | None, digits: int = 6) -> str:
    """Return a gain and its unit as text; if `unit` is None, the unit is "units of bonus"."""
    number = f"{value:.{digits}g}"
    if number == "1":
        return f"1 {'unit of bonus' if unit is None else unit.removesuffix('s')}"
    return f"{number} {unit or 'units of bonus'}"


def report_taken(answer: Mapping[str, Any]) -> str:
    """Return how a mission understood a report, from the JSON of `Mission.observe`."""
    status, step = answer["status"], f"step {answer['step']}"
    if status == "repeated":
        return f"{sentence(step)[:-1]}: this report was recorded before; nothing changed."
    place = answer["position"]
    where = place if isinstance(place, str) else "row {}, column {}".format(*place)
    if status == "first_look":
        return f"First look from {where}."
    move = answer["move"] or f"action {answer['action']}"
    outcome = {True: f"{move} worked", False: f"{move} failed", None: f"{move} was taken"}
    said = {
        "look": "a look",
        "moved": "the vehicle was moved",
        "own": f"{outcome[answer['worked']]}, by the user's own choice",
        "step": outcome[answer["worked"]],
    }[status]
    kept = "" if status != "moved" else f"; what is left of the promise is {answer['kept']:.6g}"
    return f"{sentence(step)[:-1]}: {said}; the vehicle is at {where}{kept}."


def promise_left(promise: Mapping[str, Any]) -> str:
    """Return what a mission still promises, from the JSON of its answers."""
    budgets = promise["budgets"]
    if not budgets:
        return "Promise: none, since the mission keeps no safety level."
    said = []
    for budget in budgets:
        kept, level = budget["kept"], budget["level"]
        if kept <= 0.0:
            said.append("nothing is proven any more: follow the safest way home that is known")
        elif kept < level - 1e-9:
            said.append(
                f"the level {level:g} is not kept since the vehicle was moved; what is left is "
                f"{math.floor(kept * 1e6) / 1e6:g}"
            )
        else:
            said.append(
                f"at any recall it can come home with probability at least {level:g}; "
                f"{budget['left']:.3g} may still be risked"
            )
    return f"Promise: {'; '.join(said)}."


def run_title(name: str, kind: str, status: str, steps: int) -> str:
    """Return a line on a run: its name, kind, status and length."""
    return f"{name}: {kind} run, {status}, {steps:,} step{'' if steps == 1 else 's'}"


def run_facts(
    config: Mapping[str, Any], lowest: Sequence[float], *, has_level: bool
) -> list[list[str]]:
    """Return a table on a run, column titles first: its main settings, and its `lowest` bounds."""
    named = {"explorer": "explorer", "algorithm": "algorithm", "seed": "seed"}
    if has_level:
        named["delta"] = "δ"
    found = {head: f"{config[key]}" for key, head in named.items() if config.get(key) is not None}
    if lowest:
        found["lowest bound"] = ", ".join(f"{math.floor(b * 1e6 + 1e-3) / 1e6:.6g}" for b in lowest)
    return [list(found), list(found.values())]
