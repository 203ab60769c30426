"""The paper's nine panels of example grid worlds, rerun, with a check of each caption.

The paper's maps are not published, so three maps were made to match its captions. In *the pit* and
*the detour*, a careful explorer (δ = 1) and a bold explorer (no level) take the same first step and
then differ. In *the gamble*, moving East from the start is a drop. Every way back leads over one
unseen square. At one of its five heights, this square is too high to enter. So the move is safe
with probability .8. The general correction proves .6, our correction proves .8. Dropping South-East
is as safe and, because of walls, uncovers no more; of equal actions the planner takes the first,
East.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from homeward.beliefs.corrections import Correction
from homeward.beliefs.levels import LEVELS
from homeward.kinds.grid.figure import Panel
from homeward.kinds.grid.maps import HeightMap
from homeward.paper.tours import (
    Parting,
    Tour,
    bearing_of,
    compass,
    doubt_of,
    explore,
    is_way_seen,
    part,
    place_of,
    plan_first,
    try_levels,
    way_back,
)

MIN_WORTH_RATIO = 2.0  # smallest ratio of exploration values that counts as "much higher"
PIT = HeightMap.from_text("""
    5523222
    15553d4
    5115515
    3453125
    3312154
    1355453
    1533333
""")

DETOUR = HeightMap.from_text("""
    1e33422
    2253533
    2413554
    2315114
    5253353
    1155232
    1152425
""")

GAMBLE = HeightMap.from_text("""
    45231425
    3e324312
    25331254
    25##3421
    23#12345
""")

WORLDS = {"pit": PIT, "detour": DETOUR, "gamble": GAMBLE}
TITLE = "Three worlds of unknown heights, explored safely and boldly"


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """One panel: the claim of the paper's caption, whether it holds, and the numbers found."""

    letter: str
    claim: str
    holds: bool
    panel: Panel  # with a caption made from the numbers
    numbers: dict[str, Any]


def run_all() -> list[Finding]:
    """Return the nine panels of the three worlds, in the paper's order."""
    return [*tell_pit(PIT), *tell_detour(DETOUR), *tell_gamble(GAMBLE)]


def tell_pit(grid: HeightMap) -> list[Finding]:
    """Return panels (a) to (c): a trap that the safe explorer avoids and the bold one enters."""
    careful, bold = explore(grid, 1.0), explore(grid, None)
    at = part(careful, bold)
    kept = "never gave up" if careful.lost is None else "gave up"
    return [
        _show_refusal(
            "a",
            "after the first step, moving South-West is unsafe",
            at.steps == 1 and at.direction == "SW",
            careful,
            at,
            f"After step {at.steps}, {_judged(at)}.",
        ),
        _show_tour(
            "b",
            "the safe explorer uncovers all of the map and avoids irreversible actions",
            careful.all_seen and careful.lost is None,
            careful,
            "safe, δ = 1",
            f"The safe explorer {_saw(careful)} and {kept} its way back.",
        ),
        _show_tour(
            "c",
            "the adapted R-max explorer gets stuck before it has seen the entire map",
            bold.stuck,
            bold,
            "adapted R-max",
            f"Adapted R-max moved {compass(at.direction)}. It {_saw(bold)}.",
            taken=(at.origin, at.target),
        ),
    ]


def tell_detour(grid: HeightMap) -> list[Finding]:
    """Return panels (d) to (f): a move that the safe explorer avoids until it sees a way back."""
    careful, bold = explore(grid, 1.0), explore(grid, None)
    at = part(careful, bold)
    move = at.origin, at.target
    made = next((n for n in careful.steps_of(*move) if n > at.steps), None)
    in_sight = made is not None and is_way_seen(grid, careful.seen(made - 1), *move)
    came = (
        f"never moved {compass(at.direction)}"
        if made is None
        else f"moved {compass(at.direction)} in step {made}, with {_sight(in_sight)}"
    )
    fine = bold.lost is None or bold.lost > at.steps + 1
    fatal = "" if bold.lost is None else f", its action {bold.lost} is not"
    judged = f"safe{fatal}" if fine else "unsafe"
    return [
        _show_refusal(
            "d",
            "moving South-East is considered unsafe: on what is known there is no return path",
            at.steps == 1 and at.direction == "SE",
            careful,
            at,
            f"After step {at.steps}, {_judged(at)}.",
        ),
        _show_tour(
            "e",
            "after seeing more, the safe explorer holds the same move to be safe",
            in_sight and careful.lost is None,
            careful,
            "safe, δ = 1",
            f"The safe explorer {came}. It {_saw(careful)}.",
            {
                "made_in_step": made,
                "way_back_seen_then": in_sight,
                "proven_then": None if made is None else careful.plans[made - 1].bounds[0],
            },
            taken=None if made is None else move,
        ),
        _show_tour(
            "f",
            "adapted R-max: its second action is in fact safe, its third is not; it gets stuck",
            at.steps == 1 and bold.lost == 3 and bold.stuck,
            bold,
            "adapted R-max",
            f"Adapted R-max: its action {at.steps + 1} is in fact {judged}. It {_saw(bold)}.",
            taken=move,
        ),
    ]


def tell_gamble(grid: HeightMap) -> list[Finding]:
    """Return panels (g) to (i): a move that is safe with probability .8, taken at low levels."""
    careful, bold = explore(grid, 1.0), explore(grid, 0.6)
    at = part(careful, bold)
    east = compass(at.direction)
    plan, daring = careful.plans[at.steps], bold.plans[at.steps]
    square, blocked = doubt_of(grid, careful.seen(at.steps), way_back(grid, plan, at.target))
    chance = 1.0 - len(blocked) / LEVELS
    ours = plan_first(grid, 1.0, Correction.MOVES).way_home[at.target]
    proven = {"general": at.way_home, "moves": float(ours)}
    factor = (1.0 - at.way_home) / (1.0 - chance)
    levels = try_levels(grid, daring.action)
    most = {kind: max((row["delta"] for row in levels if row[kind]), default=0) for kind in proven}
    expected = {"general": 0.6, "moves": 0.8}
    upward = all(
        row[kind] == (row["delta"] <= expected[kind]) for kind in expected for row in levels
    )
    never = not any(at.direction in bearing_of(grid, at.origin, s) for s in careful.path)
    worth = {"careful": plan.exploration_value, "bold": daring.exploration_value}
    times = worth["bold"] / worth["careful"]
    bearing = bearing_of(grid, grid.start, square)
    return [
        _show_refusal(
            "g",
            "moving East is safe with probability .8: the return path is blocked for one of five "
            "heights of the unknown square South of the start",
            at.steps == 0
            and at.direction == "E"
            and bearing == "S"
            and len(blocked) == 1
            and chance == 1.0 - 1.0 / LEVELS,
            careful,
            at,
            f"Moving {east} is safe with probability {chance:g}: the way back is blocked "
            f"at {len(blocked)} of {LEVELS} heights of the square (?) {compass(bearing)} "
            "of the start.",
            {
                "probability": chance,
                "unknown": place_of(grid, square),
                "bearing": bearing,
                "blocked_heights": blocked,
                "proven": proven,
            },
            doubt=square,
        ),
        _show_tour(
            "h",
            "safe exploration at δ = 1 does not risk East, though bonuses are much higher there",
            at.refused and never and times >= MIN_WORTH_RATIO,
            careful,
            "safe, δ = 1",
            f"δ = 1 {'never moves' if never else 'moves'} {east}, where exploring is worth "
            f"{times:.1f} times as much. It {_saw(careful)}.",
            {"never_moved": never, "worth": worth, "worth_times": times},
            refused=(at.origin, at.target),
        ),
        _show_tour(
            "i",
            "safe exploration at δ <= .6 does move East; failure is overestimated by two",
            upward and abs(factor - 2.0) < 1e-9,
            bold,
            "safe, δ = 0.6",
            f"δ ≤ {most['general']:g} moves {east}: failure is overestimated {factor:.3g} times. "
            f"With our correction δ ≤ {most['moves']:g} does. This one {_saw(bold)}.",
            {"overestimated_times": factor, "taken_up_to": most, "levels": levels},
            taken=(at.origin, at.target),
        ),
    ]


def _show_refusal(
    letter: str,
    claim: str,
    holds: bool,
    careful: Tour,
    at: Parting,
    caption: str,
    numbers: dict[str, Any] | None = None,
    doubt: int | None = None,
) -> Finding:
    """Return the panel of a refused move: the squares known when the safe explorer refused it."""
    grid, steps = careful.grid, at.steps
    title = f"({letter})  {f'after step {steps}' if steps else 'at the start'}"
    look: Any = {"refused": (at.origin, at.target), "doubt": doubt, "caption": caption}
    panel = Panel(grid, careful.seen(steps), careful.path[: steps + 1], title, **look)
    facts = {
        "steps": steps,
        "direction": at.direction,
        "from": place_of(grid, at.origin),
        "to": place_of(grid, at.target),
        "verdict": at.verdict,
        "bound": at.bound,
        "way_home": at.way_home,
        "way_back_seen": at.way_seen,
    }
    holds = holds and at.refused and not at.way_seen
    return Finding(letter, claim, holds, panel, facts | (numbers or {}))


def _show_tour(
    letter: str,
    claim: str,
    holds: bool,
    tour: Tour,
    title: str,
    caption: str,
    numbers: dict[str, Any] | None = None,
    **moves: tuple[int, int] | None,
) -> Finding:
    """Return the panel of a whole exploration; `moves` has the key "refused" or "taken"."""
    grid, lost = tour.grid, tour.lost
    look: Any = {"stranded": lost is not None, "caption": caption, **moves}
    panel = Panel(grid, tour.seen(), tour.path, f"({letter})  {title}", **look)
    facts = {
        "steps": len(tour.plans),
        "seen": tour.uncovered,
        "squares": int((~grid.walls).sum()),
        "ended_at": place_of(grid, tour.path[-1]),
        "lost_in_step": lost,
        "stuck": tour.stuck,
        "path": [place_of(grid, state) for state in tour.path],
    }
    return Finding(letter, claim, holds, panel, facts | (numbers or {}))


def _judged(at: Parting) -> str:
    """Return in words how the careful explorer judged the first move that it did not make."""
    held = "unsafe" if at.refused else "safe"
    return f"moving {compass(at.direction)} is held to be {held}, with {_sight(at.way_seen)}"


def _sight(way_seen: bool) -> str:
    """Return in words whether a way back was seen."""
    return "a way back in sight" if way_seen else "no way back in sight"


def _saw(tour: Tour) -> str:
    """Return in words how many squares an explorer saw, and whether it got stuck."""
    squares = int((~tour.grid.walls).sum())
    amount = f"all {squares}" if tour.all_seen else f"{tour.uncovered} of {squares}"
    end = " and got stuck" if tour.stuck else ""
    return f"saw {amount} squares in {len(tour.plans)} steps{end}"
