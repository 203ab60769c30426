"""The paper's nine panels of example grid worlds, run anew, and whether each caption comes true.

The paper's maps are not published, so three were made for what its captions say, a row of panels
each. Nothing else is given: every panel is found by exploring. The settings are the paper's: no
action to stay, the general correction, γ = .99, home is where the explorer stands, and a bonus for
what a move would uncover (adapted R-max). The bold explorer has the same bonus and no criterion.

*The pit* and *the detour*: a careful explorer at δ = 1 and a bold one take the first step together
and then part. The move that the bold one makes is the one that the careful one's plan holds to be
unsafe. In the pit it is a trap. In the detour there is a way back, over a low ground that is out of
sight at first; the careful explorer looks there, comes back and makes the move. The bold one makes
it blindly, and the next one, which has no way back.

*The gamble*: at the start, which is on a ridge, moving East is a drop. Whatever the East is like,
every way back leads over one unseen square, too high to enter at one of its five heights. So East
is safe with probability .8; the general correction proves .6, and ours .8. In truth the square is
too high: the explorer at δ = 1 sees that later and never moves East, the one at δ = .6 is out of
luck. The way back begins South-East, so dropping there is as safe as East. Walls around it keep it
from uncovering more, which is the best that a map can do: the two are worth the same, and at a tie
the planner takes the first. The panel shows the first plan, since the caption speaks of the start,
where the other rows show the second.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.beliefs.corrections import Correction
from homeward.beliefs.levels import LEVELS, WALL
from homeward.bonuses import Uncover
from homeward.errors import InvalidProblemError
from homeward.kinds.grid.figure import Panel
from homeward.kinds.grid.maps import HeightMap
from homeward.kinds.grid.world import HeightGridWorld
from homeward.planning.paper import PaperExplorer
from homeward.planning.plan import Verdict
from homeward.planning.planner import Planner
from homeward.safety import ReturnHome
from homeward.solvers.reach import reached

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import BoolArray
    from homeward.planning.explorer import End
    from homeward.planning.plan import Plan

DISCOUNT = 0.99
LIMIT = 200
"""Steps after which an exploration is cut off; none of these takes as many."""

DELTAS = (1.0, 0.9, 0.81, 0.8, 0.7, 0.61, 0.6, 0.5, 0.4, 0.2)
"""The safety levels at which East is tried."""

MUCH = 2.0
"""Bonuses are much higher elsewhere if exploring there is worth at least so many times as much."""

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
class Tour:
    """One exploration, from its start to its end."""

    grid: HeightMap
    plans: tuple[Plan, ...]  # [n] one behind each step
    path: tuple[int, ...]  # [n + 1] states
    end: End

    def seen(self, steps: int | None = None) -> BoolArray:
        """Tell which squares [S] are known after so many steps, or at the end; walls always are."""
        past = self.path if steps is None else self.path[: steps + 1]
        return self.grid.seen_from(past) | self.grid.walls

    @property
    def uncovered(self) -> int:
        """How many squares that are no wall were seen."""
        return int((self.seen() & ~self.grid.walls).sum())

    @property
    def all_seen(self) -> bool:
        """Whether every square was seen."""
        return bool(self.seen().all())

    def steps_of(self, origin: int, target: int) -> list[int]:
        """List the steps that made a move by their numbers, from 1."""
        return [n for n, move in enumerate(pairwise(self.path), 1) if move == (origin, target)]

    @property
    def lost(self) -> int | None:
        """After how many steps the way back to the start was lost for good, if it was."""
        if not self.grid.stranded(self.path[-1]):
            return None
        return next(n for n, state in enumerate(self.path) if self.grid.stranded(state))

    @property
    def stuck(self) -> bool:
        """Whether it has no way back, and squares are unseen that it can't get to see, in truth."""
        left = reach(self.grid, self.path[-1])
        return self.lost is not None and not (self.seen() | self.grid.seen_from(left)).all()


@dataclass(frozen=True, slots=True, eq=False)
class Parting:
    """Where two explorers of a world part: a move that the bold one makes, the careful one not."""

    steps: int  # that they took together
    origin: int
    target: int
    direction: str
    verdict: Verdict  # of the careful plan on the move
    bound: float  # what the careful plan proves if it begins with the move
    way_home: float  # a lower bound on the probability to return from the target
    way_seen: bool  # some way back leads over seen squares alone

    @property
    def refused(self) -> bool:
        """Whether the careful explorer held the move to be unsafe."""
        return self.verdict is Verdict.UNSAFE


@dataclass(frozen=True, slots=True, eq=False)
class Doubt:
    """What a way that is seen but for one square depends on."""

    square: int
    blocked: list[int]  # heights of the square at which the way is closed
    chance: float  # that the way is open, any height being as likely as another


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """One panel: what the paper's caption claims, whether that is so, and what was found."""

    letter: str
    claim: str
    holds: bool
    panel: Panel  # its caption is made from the numbers
    numbers: dict[str, Any] = field(default_factory=dict)


def explore(
    grid: HeightMap, delta: float | None, correction: Correction = Correction.GENERAL
) -> Tour:
    """Explore a map with the paper's settings, at a safety level or, without one, boldly."""
    world = HeightGridWorld(grid, stay=False)
    explorer = PaperExplorer(planner(delta, correction), grid.belief(stay=False), world)
    steps = list(explorer.explore(LIMIT))
    path = (grid.start, *(step.state for step in steps))
    assert explorer.end is not None
    return Tour(grid, tuple(step.plan for step in steps), path, explorer.end)


def planner(delta: float | None, correction: Correction = Correction.GENERAL) -> Planner:
    """Give the paper's planner for these worlds; without a level it keeps nothing safe."""
    criteria = () if delta is None else (ReturnHome(delta, "current"),)
    return Planner(Uncover(), criteria, DISCOUNT, correction)


def part(careful: Tour, bold: Tour) -> Parting:
    """Find the first move of the bold explorer that the careful one did not make."""
    for steps, (plan, other) in enumerate(zip(careful.plans, bold.plans, strict=False)):
        if plan.action == other.action:
            continue
        origin, target = bold.path[steps : steps + 2]
        told = plan.evidence[other.action]
        return Parting(
            steps=steps,
            origin=origin,
            target=target,
            direction=plan.action_name(other.action),
            verdict=told.verdict,
            bound=min(told.safety),
            way_home=float(plan.way_home[target]),
            way_seen=_is_way_seen(careful.grid, careful.seen(steps), origin, target),
        )
    raise InvalidProblemError("the two explorers never part")


def reach(grid: HeightMap, state: int) -> set[int]:
    """Return the squares that can be reached from one, in the true world."""
    true = grid.moves(stay=False)
    return set(np.flatnonzero(reached(true.dest, true.success, state)).tolist())


def way_back(grid: HeightMap, plan: Plan, state: int) -> list[int]:
    """Follow a plan's return policy, every move taken to work, as far as it leads."""
    dest, way = grid.moves(stay=False).dest, [state]
    while plan.return_policy[way[-1]] >= 0:
        way.append(int(dest[way[-1], plan.return_policy[way[-1]]]))
    return way


def doubt_of(grid: HeightMap, seen: BoolArray, way: Sequence[int]) -> Doubt:
    """Find the one unseen square of a way and try every height that it may have."""
    unseen = {state for state in way if not seen[state]}
    if len(unseen) != 1:
        raise InvalidProblemError(f"the way {list(way)} has {len(unseen)} unseen squares, not one")
    (square,) = unseen
    heights = grid.heights.ravel().copy()
    blocked = []
    for height in range(1, LEVELS + 1):
        heights[square] = height
        if any(heights[b] > heights[a] + 1 for a, b in pairwise(way)):
            blocked.append(height)
    if not blocked:
        raise InvalidProblemError(f"the way {list(way)} is open whatever is at s={square}")
    return Doubt(square, blocked, 1.0 - len(blocked) / LEVELS)


def try_levels(
    grid: HeightMap, action: int, deltas: Sequence[float] = DELTAS
) -> list[dict[str, Any]]:
    """Tell for each level and correction whether the first plan takes an action."""
    kinds = (Correction.GENERAL, Correction.MOVES)
    return [
        {"delta": delta, **{k.value: plan_first(grid, delta, k).action == action for k in kinds}}
        for delta in deltas
    ]


def plan_first(grid: HeightMap, delta: float, correction: Correction) -> Plan:
    """Plan at the start, where only its surroundings are seen."""
    belief = grid.belief(stay=False).update(HeightGridWorld(grid, stay=False).look())
    return planner(delta, correction).plan(belief, grid.start)


def run_all() -> list[Finding]:
    """Run the three worlds; give the nine panels, in the paper's order."""
    return [*tell_pit(PIT), *tell_detour(DETOUR), *tell_gamble(GAMBLE)]


def tell_pit(grid: HeightMap) -> list[Finding]:
    """Show panels (a) to (c): a move that is a trap, refused by one explorer, made by the other."""
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
            f"The safe explorer {_saw(careful)} and {kept} its way back.",
            title="safe, δ = 1",
        ),
        _show_tour(
            "c",
            "the adapted R-max explorer gets stuck before it has seen the entire map",
            bold.stuck,
            bold,
            f"Adapted R-max moved {compass(at.direction)}. It {_saw(bold)}.",
            title="adapted R-max",
            taken=(at.origin, at.target),
        ),
    ]


def tell_detour(grid: HeightMap) -> list[Finding]:
    """Show panels (d) to (f): a move that is refused until its way back has come into sight."""
    careful, bold = explore(grid, 1.0), explore(grid, None)
    at = part(careful, bold)
    move = at.origin, at.target
    made = next((n for n in careful.steps_of(*move) if n > at.steps), None)
    in_sight = made is not None and _is_way_seen(grid, careful.seen(made - 1), *move)
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
            f"The safe explorer {came}. It {_saw(careful)}.",
            {
                "made_in_step": made,
                "way_back_seen_then": in_sight,
                "proven_then": None if made is None else careful.plans[made - 1].bounds[0],
            },
            title="safe, δ = 1",
            taken=None if made is None else move,
        ),
        _show_tour(
            "f",
            "adapted R-max: its second action is in fact safe, its third is not; it gets stuck",
            at.steps == 1 and bold.lost == 3 and bold.stuck,
            bold,
            f"Adapted R-max: its action {at.steps + 1} is in fact {judged}. It {_saw(bold)}.",
            title="adapted R-max",
            taken=move,
        ),
    ]


def tell_gamble(grid: HeightMap) -> list[Finding]:
    """Show panels (g) to (i): a move that is safe with probability .8, made at some levels."""
    careful, bold = explore(grid, 1.0), explore(grid, 0.6)
    at = part(careful, bold)
    east = compass(at.direction)
    plan, daring = careful.plans[at.steps], bold.plans[at.steps]
    doubt = doubt_of(grid, careful.seen(at.steps), way_back(grid, plan, at.target))
    ours = plan_first(grid, 1.0, Correction.MOVES).way_home[at.target]
    proven = {"general": at.way_home, "moves": float(ours)}
    factor = (1.0 - at.way_home) / (1.0 - doubt.chance)
    levels = try_levels(grid, daring.action)
    most = {kind: max((row["delta"] for row in levels if row[kind]), default=0) for kind in proven}
    asked = {"general": 0.6, "moves": 0.8}
    upward = all(row[kind] == (row["delta"] <= asked[kind]) for kind in asked for row in levels)
    never = not any(at.direction in bearing_of(grid, at.origin, s) for s in careful.path)
    worth = {"careful": plan.exploration_value, "bold": daring.exploration_value}
    times = worth["bold"] / worth["careful"]
    bearing = bearing_of(grid, grid.start, doubt.square)
    return [
        _show_refusal(
            "g",
            "moving East is safe with probability .8: the return path is blocked for one of five "
            "heights of the unknown square South of the start",
            at.steps == 0
            and at.direction == "E"
            and bearing == "S"
            and len(doubt.blocked) == 1
            and doubt.chance == 1.0 - 1.0 / LEVELS,
            careful,
            at,
            f"Moving {east} is safe with probability {doubt.chance:g}: the way back is blocked "
            f"at {len(doubt.blocked)} of {LEVELS} heights of the square (?) {compass(bearing)} "
            "of the start.",
            {
                "probability": doubt.chance,
                "unknown": _place(grid, doubt.square),
                "bearing": bearing,
                "blocked_heights": doubt.blocked,
                "proven": proven,
            },
            doubt=doubt.square,
        ),
        _show_tour(
            "h",
            "safe exploration at δ = 1 does not risk East, though bonuses are much higher there",
            at.refused and never and times >= MUCH,
            careful,
            f"δ = 1 {'never moves' if never else 'moves'} {east}, where exploring is worth "
            f"{times:.1f} times as much. It {_saw(careful)}.",
            {"never_moved": never, "worth": worth, "worth_times": times},
            title="safe, δ = 1",
            refused=(at.origin, at.target),
        ),
        _show_tour(
            "i",
            "safe exploration at δ <= .6 does move East; failure is overestimated by two",
            upward and abs(factor - 2.0) < 1e-9,
            bold,
            f"δ ≤ {most['general']:g} moves {east}: failure is overestimated {factor:.3g} times. "
            f"With our correction δ ≤ {most['moves']:g} does. This one {_saw(bold)}.",
            {"overestimated_times": factor, "taken_up_to": most, "levels": levels},
            title="safe, δ = 0.6",
            taken=(at.origin, at.target),
        ),
    ]


def compass(direction: str) -> str:
    """Write a direction out: SW is South-West."""
    words = {"N": "North", "S": "South", "E": "East", "W": "West"}
    return "-".join(words[letter] for letter in direction)


def bearing_of(grid: HeightMap, origin: int, target: int) -> str:
    """Name the direction from one square to another by the signs of the ways down and across."""
    (r, c), (row, column) = _place(grid, origin), _place(grid, target)
    return ("N", "", "S")[int(np.sign(row - r)) + 1] + ("W", "", "E")[int(np.sign(column - c)) + 1]


def _show_refusal(
    letter: str,
    claim: str,
    holds: bool,
    careful: Tour,
    at: Parting,
    caption: str,
    numbers: dict[str, Any] | None = None,
    *,
    doubt: int | None = None,
) -> Finding:
    """Show what was known when a move was refused, for want of a way back that is seen."""
    grid, steps = careful.grid, at.steps
    return Finding(
        letter,
        claim,
        holds and at.refused and not at.way_seen,
        Panel(
            grid,
            careful.seen(steps),
            careful.path[: steps + 1],
            f"({letter})  {f'after step {steps}' if steps else 'at the start'}",
            refused=(at.origin, at.target),
            doubt=doubt,
            caption=caption,
        ),
        {
            "steps": steps,
            "direction": at.direction,
            "from": _place(grid, at.origin),
            "to": _place(grid, at.target),
            "verdict": at.verdict.value,
            "bound": at.bound,
            "way_home": at.way_home,
            "way_back_seen": at.way_seen,
            **(numbers or {}),
        },
    )


def _show_tour(
    letter: str,
    claim: str,
    holds: bool,
    tour: Tour,
    caption: str,
    numbers: dict[str, Any] | None = None,
    *,
    title: str,
    refused: tuple[int, int] | None = None,
    taken: tuple[int, int] | None = None,
) -> Finding:
    """Show the whole of an exploration."""
    grid = tour.grid
    return Finding(
        letter,
        claim,
        holds,
        Panel(
            grid,
            tour.seen(),
            tour.path,
            f"({letter})  {title}",
            refused=refused,
            stranded=tour.lost is not None,
            taken=taken,
            caption=caption,
        ),
        {
            "steps": len(tour.plans),
            "seen": tour.uncovered,
            "squares": _squares(grid),
            "ended_at": _place(grid, tour.path[-1]),
            "lost_in_step": tour.lost,
            "stuck": tour.stuck,
            "path": [_place(grid, state) for state in tour.path],
            **(numbers or {}),
        },
    )


def _judged(at: Parting) -> str:
    held = "unsafe" if at.refused else "safe"
    return f"moving {compass(at.direction)} is held to be {held}, with {_sight(at.way_seen)}"


def _sight(way_seen: bool) -> str:
    return "a way back in sight" if way_seen else "no way back in sight"


def _saw(tour: Tour) -> str:
    squares = _squares(tour.grid)
    amount = f"all {squares}" if tour.all_seen else f"{tour.uncovered} of {squares}"
    end = " and got stuck" if tour.stuck else ""
    return f"saw {amount} squares in {len(tour.plans)} steps{end}"


def _squares(grid: HeightMap) -> int:
    return int((~grid.walls).sum())


def _place(grid: HeightMap, state: int) -> tuple[int, int]:
    """Give the row and the column of a square."""
    row, column = divmod(state, grid.shape[1])
    return row, column


def _is_way_seen(grid: HeightMap, seen: BoolArray, home: int, state: int) -> bool:
    """Tell whether seen squares alone make a way home: what is unseen is taken for walls."""
    heights = np.where(seen.reshape(grid.shape), grid.heights, WALL)
    return not HeightMap(heights, home).stranded(state)
