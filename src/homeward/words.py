"""English sentences for codes, such as those of ends and verdicts.

Records, programs and the page compare codes, such as the values of `End` and `Verdict`. Only this
module turns a code into English. It imports nothing from the package.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_FLOOR, Context, Decimal
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
    "home": "no further look is worth its steps within the limits, and the explorer is home",
    "out_of_range": "no way home fits into what is left of the limits of the run",
    "steps": "the step limit was reached",
    "refuted": "what happened contradicts the belief, so nothing is promised any more",
    "stuck": "the explorer can't leave its cell",
}
"""Why an exploration ended, by the value of `End`."""

CHANGES = {
    "all_seen": "A larger world has more to explore.",
    "all_safe_seen": "Another start may allow more.",
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
    "refuted": "A belief with larger errors allows for what happened.",
    "stuck": "A safety level δ, or a higher one, makes this less likely.",
}
"""What to change so that an exploration goes further, by the value of `End`."""

NO_DECISION = "The agent has not yet chosen what to do next.", ""
"""Result of `ending` for an agent without plans whose run has not ended."""

AGENTS = {
    "ours": "our explorer: high gain per step, with a proven way home over the whole run",
    "paper": "the paper's Algorithm 1, with a proven way home in each plan",
    "naive": "Algorithm 1 on the mean model without correction, which proves nothing",
    "unsafe": "Algorithm 1 without a safety level",
    "best-rate": "our search without a safety level",
    "rmax": "R-max: visit every state",
    "mbie-eb": "MBIE-EB: a bonus of 1/√n after n observations of a state-action",
    "near-bayesian": "near-Bayesian: a bonus of 1/(1 + n) after n observations",
    "nearest": "the nearest frontier, along moves that are likely to work",
    "random": "random actions",
    "certified-nearest": "the nearest new state with our proven way home",
    "certified-rate": "the best gain per step with our proven way home, without looking ahead",
}
"""Descriptions of the agents by name."""

PROMISES = {"run": "for the run", "plan": "for each plan", "none": "no promise"}
"""What an agent's safety level holds for, by code."""

FINER = "With a smaller deviation to know heights to, the explorer goes on."
"""What to change if every cell is known well enough."""

LARGER_AREA = "A larger area to keep in may allow more."
"""What to change if more could be reached outside of the area."""

VERDICTS = {
    "chosen": "chosen",
    "less_safe": "in the plan, but less safe than the chosen action",
    "waits": "in the plan, but it stays in its state and gains nothing",
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
"""Texts that replace those of `VERDICTS` for actions that surely stay in their state."""

EVALUATORS = {
    "exact": "exactly, in every world of the belief",
    "path": "by the exact probability that all moves on the way work",
    "correction": "{correction} correction",
    "union": "by the sum of the probabilities that a move never works",
    "sampled": "estimated in worlds drawn from the belief, not proven",
}
"""How a bound was evaluated, by the code of its evaluator."""


def floored(value: float, decimals: int = 6) -> str:
    """Return a lower bound as text, rounded down but for errors of the last binary digits."""
    scale = 10.0**decimals
    return f"{math.floor(value * scale + 1e-6) / scale:.{decimals}f}"


def at_least(value: float, digits: int = 6) -> str:
    """Return a lower bound of any size as text with some digits, rounded down like `floored`."""
    exact = 0.0 if abs(value) < 1e-12 else value + 1e-12 * abs(value)
    return f"{float(Context(digits, ROUND_FLOOR).plus(Decimal(exact))):.{digits}g}"


def verdict_of(code: str, leaves: float) -> str:
    """Return why an action was taken or not.

    `leaves` is the probability that the action leaves its state.
    """
    return STAYS.get(code, VERDICTS[code]) if leaves <= 0.0 else VERDICTS[code]


def certificate_of(kept: float, evaluator: str, confidence: float | None, worlds: int) -> str:
    """Return the sentence that states the probability of returning home in a whole run.

    The sentence says whether the probability is proven or estimated.

    `kept` is the lower bound on the probability of returning. If it is an estimate, it has a
    `confidence`, and `worlds` were drawn for each step.
    """
    claim = (
        f"at any recall it can return with probability at least {at_least(kept, 4)}, "
        "over worlds drawn from the prior"
    )
    if evaluator == "sampled" and confidence is not None:
        return (
            f"Estimated, not proven: {claim} ({worlds:,} worlds drawn from the belief for each "
            f"step; the doubt left by a confidence of {confidence:g} is counted as risk)."
        )
    method = EVALUATORS[evaluator].format(correction="by the general")
    return f"Proven: {claim} ({method})."


def lots_of(drawn: Sequence[tuple[int, float]]) -> str:
    """Return a sentence on the steps that were taken at random; "" if there are none.

    `drawn` has the number and the probability of each such step.
    """
    steps = ", ".join(f"step {step} (probability {chance:.3g})" for step, chance in drawn)
    return f"Taken at random instead of ending the run: {steps}." if drawn else ""


class Remainder(NamedTuple):
    """What is left to explore when an exploration ends.

    `budgets` has, for each home, its name, the level δ and the risk that may still be spent.
    """

    left: float = 0.0  # most that is left within reach, in `unit`, whatever the risk to get it
    rate: float = 0.0  # largest gain per step without risk if it is below the floor; otherwise 0
    unit: str | None = None  # of the bonus, in the plural; None if the unit has no name
    share: float = math.inf  # risk of going on / budget left, > 1; inf if going on is impossible
    budgets: tuple[tuple[str, float, float], ...] = ()
    outside: bool = False  # whether more could be reached outside of the area to keep in
    known: float | None = None  # m, deviation to which every cell within reach is known


def counted(number: int, noun: str) -> str:
    """Return a number and its noun, such as "1 step" or "1,200 steps"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def recalled(home: bool, promised: float, steps: int) -> str:
    """Return how a recall went, in a sentence."""
    went = "Came home" if home else "Did not come home"
    return f"{went} in {counted(steps, 'step')}; at least {at_least(promised)} was promised."


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
    rest = Remainder() if rest is None else rest
    details = []
    budgets = rest.budgets if math.isfinite(rest.share) else ()
    if len(budgets) == 1:
        ((_, level, left),) = budgets
        risk = rest.share * left
        details.append(f"Going on would risk {risk:.3g}, but only {at_least(left, 3)} is left.")
        lower = math.floor((level - (risk - left)) * 1e4) / 1e4
        change = f"δ = {lower:g} would allow it." if lower > 0.0 else "No δ above 0 would allow it."
    elif budgets:
        allowed = " and ".join(f"{at_least(left, 3)} for “{name}”" for name, _, left in budgets)
        details.append(f"Going on would risk {rest.share:.3g} times what is left: {allowed}.")
    if rest.rate > 0.0:
        rate = amount(rest.rate, rest.unit, 3)
        details.append(f"The best option left gains {rate} per step.")
    if rest.left > 0.0:
        details.append(f"Left within reach: at most {amount(rest.left, rest.unit)}.")
    if rest.known is not None:
        details.append(f"Every cell that can be reached is known to {length(rest.known)}.")
        change = FINER
    if rest.outside and end == "all_safe_seen":
        change = LARGER_AREA
    return why, " ".join([*details, change])


def levels_said(levels: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return sentences on which levels gave the same moves, from the JSON values of `levels.Tried`.

    Only levels that were tried are named.
    """
    named = [
        ("without a safety level" if each["level"] is None else f"with δ = {each['level']:g}", each)
        for each in levels
    ]
    same = [name for name, each in named if each["parts"] is None]
    clauses = [f"{' or '.join(same)} it would have made the same moves"] if same else []
    clauses += [
        f"{name} its moves would differ from step {each['parts']} on"
        for name, each in named
        if each["parts"] is not None
    ]
    return [sentence(clause) for clause in clauses]


def length(metres: float) -> str:
    """Return a length below 1 m in cm, and others in m, as text."""
    return f"{100.0 * metres:.6g} cm" if metres < 1.0 else f"{metres:.6g} m"


def amount(value: float, unit: str | None, digits: int = 6) -> str:
    """Return a gain and its unit as text; if `unit` is None, the unit is "units of bonus"."""
    number = f"{value:.{digits}g}"
    if number == "1":
        return f"1 {'unit of bonus' if unit is None else unit.removesuffix('s')}"
    return f"{number} {unit or 'units of bonus'}"


def report_taken(answer: Mapping[str, Any]) -> str:
    """Return a sentence on what a report changed, from the JSON of `Mission.observe`."""
    status, step = answer["status"], f"Step {answer['step']}"
    if status == "repeated":
        return f"{step}: this report was recorded before; nothing changed."
    place = answer["position"]
    where = place if isinstance(place, str) else "row {}, column {}".format(*place)
    if status == "first_look":
        return f"First look from {where}."
    move = answer["move"] or f"action {answer['action']}"
    outcome = {True: f"{move} worked", False: f"{move} failed", None: f"{move} was taken"}
    event = {
        "look": "a look",
        "moved": "the vehicle was moved",
        "own": f"{outcome[answer['worked']]}, by the user's own choice",
        "step": outcome[answer["worked"]],
    }[status]
    kept = (
        "" if status != "moved" else f"; what is left of the promise is {at_least(answer['kept'])}"
    )
    if answer["end"] == "refuted":
        kept = f"; {ENDS['refuted']}"
    return f"{step}: {event}; the vehicle is at {where}{kept}."


def way_home(way: Mapping[str, Any], homes: str) -> str:
    """Return the sentence on a way home to `homes` of a mission, from the JSON of its answers."""
    moves = " ".join(step["move"] for step in way["moves"])
    if way["is_home"]:
        return f"The vehicle is at home, {homes}."
    if way["probability"] > 0.0:
        sure = f"probability at least {at_least(way['probability'])}"
        return f"Way home to {homes}, {sure}{': ' * bool(moves)}{moves}"
    if moves or "policy" in way:
        return f"Way home to {homes}, not proven{': ' * bool(moves)}{moves}"
    return f"No way home to {homes} is known."


def promise_left(promise: Mapping[str, Any]) -> str:
    """Return the sentence on what a mission still promises, from the JSON of its answers."""
    budgets = promise["budgets"]
    if promise["end"] == "refuted":
        return (
            "Promise: lost, since what happened contradicts the belief. Nothing is proven of a way "
            "home; the one that is offered follows what was driven as far as it can."
        )
    if not budgets:
        return "Promise: none, since the mission keeps no safety level."
    promises = []
    for budget in budgets:
        kept, level = budget["kept"], budget["level"]
        if kept <= 0.0:
            promises.append("nothing is proven any more: follow the safest way home that is known")
        elif budget["lost"]:
            promises.append(
                f"nothing is proven of the way home after these reports, which the level {level:g} "
                f"allows in {1.0 - level:.3g} of the cases"
            )
        elif kept < level - 1e-9:
            promises.append(
                f"the level {level:g} is not kept since the vehicle was moved; what is left is "
                f"{at_least(kept)}"
            )
        else:
            promises.append(
                f"at any recall it can come home with probability at least "
                f"{at_least(min(kept, level), 12)}; "
                f"{at_least(budget['left'], 3)} may still be risked"
            )
    return f"Promise: {'; '.join(promises)}."


def run_title(name: str, kind: str, status: str, steps: int) -> str:
    """Return a line on a run: its name, kind, status and number of steps."""
    return f"{name}: {kind} run, {status}, {counted(steps, 'step')}"


def rover_settings(config: Mapping[str, Any]) -> str:
    """Return a line on the cells, the sensor and the safety level of a rover's configuration."""
    reach, level = config["sensor_range"], config.get("delta")
    sensor = "the whole map" if reach is None else f"{reach:g} m"
    kept = "no safety level" if config["explorer"] == "unsafe" else f"δ = {level:g}"
    return f"Cells of {config['cell']:g} m, sensor range {sensor}, {kept}."


def run_facts(
    config: Mapping[str, Any], lowest: Sequence[float], *, has_level: bool
) -> list[list[str]]:
    """Return the titles and the values of a table on a run: main settings and lowest bounds.

    `lowest` has the lowest recorded bound of each criterion.
    """
    titles = {"explorer": "explorer", "algorithm": "algorithm", "seed": "seed"}
    if has_level:
        titles["delta"] = "δ"
    facts = {title: f"{config[k]}" for k, title in titles.items() if config.get(k) is not None}
    if lowest:
        facts["lowest bound"] = ", ".join(at_least(b) for b in lowest)
    return [list(facts), list(facts.values())]
