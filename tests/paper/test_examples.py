"""The captions of the paper's example worlds, each as a test that explores."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from homeward.beliefs.corrections import Correction
from homeward.beliefs.levels import WALL
from homeward.errors import InvalidProblemError
from homeward.kinds.grid.maps import HeightMap
from homeward.paper import examples
from homeward.paper.examples import (
    DETOUR,
    GAMBLE,
    PIT,
    WORLDS,
    Finding,
    run_all,
    tell_detour,
    tell_gamble,
    tell_pit,
)
from homeward.paper.tours import (
    DISCOUNT,
    Parting,
    Tour,
    bearing_of,
    compass,
    doubt_of,
    explore,
    part,
    plan_first,
    reach,
    try_levels,
    way_back,
)
from homeward.planning.ends import End
from homeward.planning.plan import Verdict
from homeward.solvers import Status

EAST, SOUTH_EAST = 2, 3
SOUTH_OF_START = GAMBLE.start + 2 * GAMBLE.shape[1]


@pytest.fixture(scope="module")
def findings() -> dict[str, Finding]:
    """Run all worlds once; give the panels by their letters."""
    return {finding.letter: finding for finding in run_all()}


@pytest.fixture(scope="module")
def tours() -> dict[str, Tour]:
    """Explore the first two worlds, each safely and boldly."""
    return {
        f"{how} {name}": explore(WORLDS[name], delta)
        for name in ("pit", "detour")
        for how, delta in (("safe", 1.0), ("bold", None))
    }


def changed(grid: HeightMap, state: int, height: int) -> HeightMap:
    heights = grid.heights.ravel().copy()
    heights[state] = height
    return HeightMap(heights.reshape(grid.shape), grid.start)


def mirrored(grid: HeightMap) -> HeightMap:
    return HeightMap.from_text("\n".join(line[::-1] for line in str(grid).splitlines()))


def reachable(grid: HeightMap, start: int) -> set[int]:
    """Give what can be reached in the true world, by trying every step."""
    found, ahead = {start}, [start]
    heights = grid.heights.ravel()
    while ahead:
        here = ahead.pop()
        for there in grid.around(here).tolist():
            if there not in found and WALL < heights[there] <= heights[here] + 1:
                found.add(there)
                ahead.append(there)
    return found


def place(grid: HeightMap, state: int) -> tuple[int, int]:
    row, column = divmod(state, grid.shape[1])
    return row, column


def seen_only(tour: Tour, steps: int, home: int) -> HeightMap:
    """Give the map of what was seen after some steps; the rest is walls."""
    heights = np.where(tour.seen(steps).reshape(tour.grid.shape), tour.grid.heights, WALL)
    return HeightMap(heights, home)


def test_the_nine_panels_come_in_order_and_every_caption_is_true(
    findings: dict[str, Finding],
) -> None:
    assert list(findings) == list("abcdefghi")
    assert [letter for letter, finding in findings.items() if not finding.holds] == []


@pytest.mark.parametrize(
    ("name", "direction", "stranded"), [("pit", "SW", True), ("detour", "SE", False)]
)
def test_after_the_first_step_the_move_is_refused_as_unsafe(
    tours: dict[str, Tour], name: str, direction: str, stranded: bool
) -> None:
    safe = tours[f"safe {name}"]
    plan = safe.plans[1]
    action = (plan.action_names or ()).index(direction)
    told = plan.evidence[action]
    target = int(safe.grid.moves(stay=False).dest[plan.state, action])
    assert told.verdict is Verdict.UNSAFE
    assert told.leaves == 1.0  # it is a move that works
    assert told.safety[0] < 0.05
    assert plan.correction is Correction.GENERAL
    assert "stay" not in (plan.action_names or ())
    assert safe.grid.stranded(target) is stranded  # by what is true, not by what is known


@pytest.mark.parametrize("name", ["pit", "detour"])
def test_on_what_is_known_then_there_is_no_way_back(tours: dict[str, Tour], name: str) -> None:
    safe, bold = tours[f"safe {name}"], tours[f"bold {name}"]
    origin, target = bold.path[1:3]
    assert safe.path[1] == origin
    assert origin not in reachable(seen_only(safe, 1, origin), target)
    assert not part(safe, bold).way_seen


@pytest.mark.parametrize("name", ["pit", "detour"])
def test_the_refused_move_is_the_second_of_the_bold_explorer(
    tours: dict[str, Tour], name: str
) -> None:
    safe, bold = tours[f"safe {name}"], tours[f"bold {name}"]
    at = part(safe, bold)
    assert at.steps == 1
    assert safe.path[:2] == bold.path[:2]
    assert (at.origin, at.target) == bold.path[1:3]
    assert at.refused


@pytest.mark.parametrize("name", ["pit", "detour"])
def test_the_safe_explorer_sees_all_of_the_map(tours: dict[str, Tour], name: str) -> None:
    safe = tours[f"safe {name}"]
    assert safe.end is End.ALL_SEEN
    assert safe.grid.seen_from(safe.path).all()
    assert {plan.status for plan in safe.plans} == {Status.OPTIMAL}


@pytest.mark.parametrize("name", ["pit", "detour"])
def test_the_safe_explorer_takes_no_step_that_can_not_be_undone(
    tours: dict[str, Tour], name: str
) -> None:
    safe = tours[f"safe {name}"]
    for before, after in pairwise(safe.path):
        assert before in reachable(safe.grid, after)
    assert safe.lost is None


def test_adapted_r_max_gets_stuck_in_the_pit(tours: dict[str, Tour]) -> None:
    bold = tours["bold pit"]
    left = reachable(PIT, bold.path[-1])
    assert place(PIT, bold.path[-1]) == (1, 0)
    assert PIT.start not in left
    assert not (PIT.seen_from(bold.path) | PIT.seen_from(left)).all()
    assert bold.lost == 2  # by the very move that the safe explorer refused
    assert bold.stuck


def test_the_move_that_was_refused_is_made_once_its_way_back_is_seen(
    tours: dict[str, Tour],
) -> None:
    safe, bold = tours["safe detour"], tours["bold detour"]
    origin, target = bold.path[1:3]
    made = safe.steps_of(origin, target)[0]
    plan = safe.plans[made - 1]
    assert made > 2
    assert (safe.path[made - 1], safe.path[made]) == (origin, target)
    assert plan.evidence[plan.action].verdict is Verdict.CHOSEN
    assert plan.criteria[0].kept_bound == pytest.approx(1.0)
    assert origin in reachable(seen_only(safe, made - 1, origin), target)


def test_the_second_action_of_adapted_r_max_is_safe_and_its_third_is_not(
    tours: dict[str, Tour],
) -> None:
    bold = tours["bold detour"]
    home = [DETOUR.start in reachable(DETOUR, state) for state in bold.path]
    assert home == [True, True, True, False, False]
    assert not (
        DETOUR.seen_from(bold.path) | DETOUR.seen_from(reachable(DETOUR, bold.path[-1]))
    ).all()
    assert bold.stuck


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_unseen_the_east_has_a_way_back_at_four_heights_of_five(seed: int) -> None:
    seen = GAMBLE.seen_from([GAMBLE.start]) | GAMBLE.walls
    unseen = HeightMap.random(GAMBLE.shape, seed).heights.ravel()
    guessed = np.where(seen, GAMBLE.heights.ravel(), unseen).reshape(GAMBLE.shape)
    ways = []
    for height in range(1, 6):
        grid = changed(HeightMap(guessed, GAMBLE.start), SOUTH_OF_START, height)
        ways.append(GAMBLE.start in reachable(grid, GAMBLE.start + 1))
    assert ways == [True, True, True, True, False]


def test_what_is_proven_of_the_east_is_point_eight_by_ours_and_point_six_by_theirs() -> None:
    for kind, proven in ((Correction.MOVES, 0.8), (Correction.GENERAL, 0.6)):
        plan = plan_first(GAMBLE, 1.0, kind)
        assert plan.way_home[GAMBLE.start + 1] == pytest.approx(proven, abs=1e-12)


def test_the_way_back_from_the_east_leads_over_the_square_south_of_the_start() -> None:
    way = way_back(GAMBLE, plan_first(GAMBLE, 1.0, Correction.GENERAL), GAMBLE.start + 1)
    assert (way[0], way[-1]) == (GAMBLE.start + 1, GAMBLE.start)
    doubt = doubt_of(GAMBLE, GAMBLE.seen_from([GAMBLE.start]), way)
    assert doubt == (SOUTH_OF_START, [5])


@pytest.mark.parametrize("kind", [Correction.GENERAL, Correction.MOVES])
def test_at_delta_one_east_is_refused_and_never_risked(kind: Correction) -> None:
    safe = explore(GAMBLE, 1.0, kind)
    assert safe.plans[0].evidence[EAST].verdict is Verdict.UNSAFE
    assert {state % GAMBLE.shape[1] for state in safe.path} <= {0, 1}
    assert safe.end is End.ALL_SAFE_SEEN


def test_exploring_is_worth_much_more_in_the_east() -> None:
    safe = plan_first(GAMBLE, 1.0, Correction.GENERAL)
    risky = plan_first(GAMBLE, 0.6, Correction.GENERAL)
    assert risky.exploration_value > 2.0 * safe.exploration_value


@pytest.mark.parametrize(
    ("kind", "delta", "taken"),
    [
        (Correction.GENERAL, 1.0, False),
        (Correction.GENERAL, 0.8, False),
        (Correction.GENERAL, 0.61, False),
        (Correction.GENERAL, 0.6, True),
        (Correction.GENERAL, 0.3, True),
        (Correction.GENERAL, 0.05, True),
        (Correction.MOVES, 0.9, False),
        (Correction.MOVES, 0.81, False),
        (Correction.MOVES, 0.8, True),
        (Correction.MOVES, 0.6, True),
        (Correction.MOVES, 0.05, True),
    ],
)
def test_moving_east_is_taken_up_to_the_level_that_is_proven(
    kind: Correction, delta: float, taken: bool
) -> None:
    tour = explore(GAMBLE, delta, kind)
    assert (tour.path[1] == GAMBLE.start + 1) is taken
    assert ((tour.plans[0].action == EAST) and tour.plans[0].keeps_all) is taken


@pytest.mark.parametrize(("kind", "proven"), [(Correction.GENERAL, 0.6), (Correction.MOVES, 0.8)])
def test_the_level_to_which_east_is_taken_allows_for_a_recall_before_the_first_step(
    kind: Correction, proven: float
) -> None:
    limit = (1.0 - DISCOUNT) + DISCOUNT * proven
    rows = try_levels(GAMBLE, EAST, (limit - 1e-6, limit + 1e-6))
    assert [row[kind.value] for row in rows] == [True, False]


def test_dropping_south_east_is_as_good_as_east_and_the_first_is_taken() -> None:
    plan = plan_first(GAMBLE, 0.6, Correction.GENERAL)
    east, south_east = plan.evidence[EAST], plan.evidence[SOUTH_EAST]
    assert plan.action == EAST
    assert south_east.exploration == pytest.approx(east.exploration, rel=1e-12)
    assert south_east.safety == pytest.approx(east.safety, abs=1e-12)


def test_a_careful_explorer_moves_east_where_it_comes_to_see_that_the_way_is_open() -> None:
    lucky = changed(GAMBLE, SOUTH_OF_START, 4)
    g, h, i = tell_gamble(lucky)
    assert (g.holds, h.holds, i.holds) == (True, False, True)
    assert h.panel.caption.startswith("δ = 1 moves East")
    assert h.numbers["seen"] == h.numbers["squares"] == 37


@pytest.mark.parametrize("delta", [0.9, 0.6, 0.2])
@pytest.mark.parametrize("kind", ["general", "moves"])
def test_one_level_at_which_east_is_taken_otherwise_breaks_the_claim(
    monkeypatch: pytest.MonkeyPatch, kind: str, delta: float
) -> None:
    rows = try_levels(GAMBLE, EAST)
    for row in rows:
        row[kind] ^= row["delta"] == delta
    monkeypatch.setattr(examples, "try_levels", lambda *_: rows)
    assert [finding.holds for finding in tell_gamble(GAMBLE)] == [True, True, False]


def test_panels_of_a_refusal_show_what_was_known_then(findings: dict[str, Finding]) -> None:
    for letter, grid, steps in (("a", PIT, 1), ("d", DETOUR, 1), ("g", GAMBLE, 0)):
        panel = findings[letter].panel
        assert len(panel.path) == steps + 1
        assert np.array_equal(panel.seen, grid.seen_from(panel.path) | grid.walls)
        assert panel.refused is not None
        assert panel.refused[0] == panel.path[-1]
    assert findings["g"].panel.doubt == SOUTH_OF_START


def test_panels_of_a_tour_show_all_of_it(findings: dict[str, Finding]) -> None:
    for letter, grid, stranded in (
        ("b", PIT, False),
        ("c", PIT, True),
        ("e", DETOUR, False),
        ("f", DETOUR, True),
        ("h", GAMBLE, False),
        ("i", GAMBLE, True),
    ):
        panel, numbers = findings[letter].panel, findings[letter].numbers
        assert panel.stranded is stranded
        assert np.array_equal(panel.seen, grid.seen_from(panel.path) | grid.walls)
        assert numbers["steps"] == len(panel.path) - 1
        assert numbers["path"] == [place(grid, state) for state in panel.path]
        assert numbers["seen"] == (panel.seen & ~grid.walls).sum()
    refused = findings["d"].panel.refused
    assert findings["e"].panel.taken == findings["f"].panel.taken == refused
    assert findings["c"].panel.taken == findings["a"].panel.refused
    assert findings["h"].panel.refused == findings["i"].panel.taken == findings["g"].panel.refused


def test_captions_are_made_from_the_run(findings: dict[str, Finding]) -> None:
    a, b, c = tell_pit(mirrored(PIT))
    assert (a.holds, b.holds, c.holds) == (False, True, True)
    told = "After step 1, moving South-{} is held to be unsafe, with no way back in sight."
    assert a.panel.caption == told.format("East")
    assert findings["a"].panel.caption == told.format("West")
    numbers = findings["c"].numbers
    assert findings["c"].panel.caption == (
        f"Adapted R-max moved South-West. It saw {numbers['seen']} of {numbers['squares']} "
        f"squares in {numbers['steps']} steps and got stuck."
    )


def test_a_trap_is_no_detour() -> None:
    d, e, f = tell_detour(mirrored(PIT))
    assert (d.holds, e.holds, f.holds) == (True, False, False)
    assert "never moved South-East" in e.panel.caption
    assert (e.numbers["made_in_step"], e.panel.taken) == (None, None)
    assert "its action 2 is in fact unsafe. It" in f.panel.caption


def test_explorers_who_never_part_are_refused() -> None:
    with pytest.raises(InvalidProblemError, match="make the same moves"):
        tell_pit(HeightMap.from_text("a111\n1111"))


def test_a_way_in_no_doubt_or_in_more_than_one_is_refused() -> None:
    grid = HeightMap.from_text("5e5454")
    seen = grid.seen_from([1])
    with pytest.raises(InvalidProblemError, match="has 0 unseen squares"):
        doubt_of(grid, seen, [2, 1])
    with pytest.raises(InvalidProblemError, match="has 2 unseen squares"):
        doubt_of(grid, seen, [4, 3, 2])
    with pytest.raises(InvalidProblemError, match="does not depend on s=3"):
        doubt_of(grid, seen, [2, 3])


def test_whoever_has_a_way_back_is_not_stuck_though_it_can_not_see_all() -> None:
    tour = explore(HeightMap.from_text("1a1##1"), 1.0)
    assert not tour.all_seen
    assert tour.lost is None
    assert not tour.stuck


def test_what_can_be_reached_is_what_steps_lead_to() -> None:
    for grid in WORLDS.values():
        for state in range(0, grid.states, 3):
            if not grid.walls[state]:
                assert reach(grid, state) == reachable(grid, state)


def test_directions_are_named() -> None:
    grid = HeightMap.from_text("111\n1a1\n111\n111")
    names = [bearing_of(grid, 4, state) for state in range(12)]
    assert names == ["NW", "N", "NE", "W", "", "E", "SW", "S", "SE", "SW", "S", "SE"]
    assert [compass(name) for name in ("N", "SW", "E")] == ["North", "South-West", "East"]


def test_a_parting_without_that_verdict_is_no_refusal() -> None:
    given = {"steps": 0, "origin": 0, "target": 1, "direction": "E"}
    rest = {"bound": 1.0, "way_home": 1.0, "way_seen": True}
    for verdict in Verdict:
        refused = Parting(**given, verdict=verdict, **rest).refused  # type: ignore[arg-type]
        assert refused is (verdict is Verdict.UNSAFE)
