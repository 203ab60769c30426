"""Call it off: the small world that is solved in the browser, against the planner."""

from __future__ import annotations

import itertools
import json
import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from playwright.sync_api import expect

from homeward.beliefs import corrections_of
from homeward.beliefs.base import MoveSets
from homeward.beliefs.corrections import Correction
from homeward.beliefs.levels import UNKNOWN, WALL, HeightBelief
from homeward.bonuses import Uncover
from homeward.criteria import ReturnHome
from homeward.planning.algorithm1 import Planner
from homeward.planning.explorer import Rules, decide
from homeward.solvers import solve_return

if TYPE_CHECKING:
    from tests.web.page.looking import Looking

RUNS: list[Any] = []
FIRM, PIT = 3, 1


def read(look: Looking) -> tuple[dict[str, Any], dict[str, Any] | None, Any]:
    """Give the world, the plan and the values that the page has on view."""
    stage = look.find(".calloff-stage")
    world, plan, values = (
        json.loads(stage.get_attribute(f"data-{name}") or "null")
        for name in ("world", "plan", "values")
    )
    return world, plan, np.array(values)


def set_level(look: Looking, level: float) -> None:
    look.find(".level-number").fill(f"{level:g}")
    expect(look.find("#drag-level")).to_have_value(f"{level:g}")


def belief_of(world: dict[str, Any]) -> HeightBelief:
    """Give the same world as a belief of the planner: each unseen square is firm or a pit."""
    heights, risk, seen = (np.array(world[name]) for name in ("height", "risk", "seen"))
    prior = np.zeros((heights.size, 5))
    prior[:, FIRM - 1], prior[:, PIT - 1] = 1.0 - risk, risk
    known = seen == 1
    prior[known] = 0.2
    heights = np.where(heights < 0, WALL, heights)
    shape = (world["rows"], world["columns"])
    walls = (heights == WALL).astype(float)
    return HeightBelief(shape, prior, walls, known=np.where(known, heights, UNKNOWN))


def chance(belief: HeightBelief, *paths: list[int]) -> float:
    """Give the exact probability that all moves of some paths work, as the planner computes it."""
    dest = belief.mean().dest
    moves = sorted({move for path in paths for move in itertools.pairwise(path)})
    states = np.array([a for a, _ in moves])
    actions = np.array([int(np.flatnonzero(dest[a] == b)[-1]) for a, b in moves])
    if not moves:
        return 1.0
    found = belief.work_together(MoveSets(np.array([0, len(moves)]), states, actions))
    assert found is not None
    assert found.high[0] - found.low[0] < 1e-9
    return float(found.low[0])


@pytest.mark.parametrize("level", [0.3, 0.45, 0.7, 0.9, 0.93, 1.0])
def test_its_numbers_are_those_of_the_planner(look: Looking, level: float) -> None:
    look.open("#/calloff")
    set_level(look, level)
    world, plan, values = read(look)
    belief = belief_of(world)
    planner = Planner(
        bonus=Uncover(), criteria=(ReturnHome(delta=level, home=world["home"]),), discount=0.99
    )
    rules = Rules.of(belief, planner, world["rover"])
    (goal,) = rules.goals
    assert goal.homes.tolist() == [world["home"]]
    assert plan is not None
    exact = chance(belief, plan["out"], plan["back"])
    assert plan["proven"] == pytest.approx(exact, abs=1e-9)
    assert plan["proven"] >= level - 1e-9
    turn = plan["out"][-1]
    assert values[turn] == pytest.approx(chance(belief, plan["back"]), abs=1e-9)
    for number in range(len(plan["out"])):
        part = plan["out"][: number + 1]
        assert values[part[-1]] >= level - 1e-9
    decision = decide(rules, belief, rules.open(belief, world["rover"]), world["rover"])
    assert decision is not None
    assert decision.proposal is not None
    path = list(decision.proposal.path)
    held = values[path]
    assert (held >= level - 1e-9).all()  # the planner stays inside the page's region


def test_no_way_home_of_the_planner_is_safer(look: Looking) -> None:
    look.open("#/calloff")
    world, _, values = read(look)
    belief = belief_of(world)
    model = belief.mean()
    home = np.array([world["home"]], np.int32)
    corrections = corrections_of(belief, model, 0.99, Correction.MOVES)
    found = solve_return(model, corrections.returning, home)
    assert (found.value <= values + 1e-9).all()
    near = found.value > 0.97
    assert near.sum() > 20
    assert np.allclose(found.value[near], values[near], atol=1e-3)


def test_a_hundred_walk_home_and_some_fall(look: Looking) -> None:
    look.page.emulate_media(reduced_motion="reduce")
    look.open("#/calloff")
    look.button("Call it off now").click()
    look.sees(".said", "this draw")
    _, plan, _ = read(look)
    assert plan is not None
    said = look.find(".said").inner_text()
    home = int(re.findall(r"\d+", said)[1])
    within = round(2.0 * math.sqrt(100 * plan["proven"] * (1.0 - plan["proven"])))
    proven = f"Proven ≥ {int(100 * plan['proven'])}"
    look.sees(".plan-said", f"on average come home in at least {int(100 * plan['proven'])} of 100")
    chance = f"Most draws of 100 worlds are within {within} of {round(100 * plan['proven'])}."
    assert said == f"{proven}, this draw {home}. {chance}"
    assert abs(home - 100 * plan["proven"]) < 1.0  # the first draw is a typical one
    expect(look.find(".hundred circle.home")).to_have_count(home)
    expect(look.find(".hundred circle.lost")).to_have_count(100 - home)
    look.button("Call it off now").click()
    look.sees(".said", "Mean of 2 draws:")
    second = look.find(".hundred circle.home").count()
    look.sees(".said", f"this draw {second}. Mean of 2 draws: {(home + second) / 2:.1f}.")
    set_level(look, 0.8)
    look.button("Call it off now").click()
    look.sees(".said", "this draw")
    expect(look.find(".said")).not_to_contain_text("Mean of")  # of another plan
    look.page.emulate_media(reduced_motion="no-preference")


def test_ghosts_take_their_time_and_are_called_back_by_another_level(look: Looking) -> None:
    look.open("#/calloff")
    look.button("Call it off now").click()
    stage = look.find(".calloff-stage")
    expect(stage).to_have_attribute("data-walking", "true")
    look.sees(".counters", "home so far")
    look.page.set_viewport_size({"width": 390, "height": 844})
    look.button("Start again").scroll_into_view_if_needed()
    expect(stage.locator("canvas")).to_be_in_viewport(ratio=0.95)  # beside the button
    look.page.set_viewport_size({"width": 1440, "height": 900})
    set_level(look, 0.8)
    expect(stage).to_have_attribute("data-walking", "false")
    expect(look.find(".hundred circle.waiting")).to_have_count(100)


@pytest.mark.parametrize("text", ["2", "-1", ""])
def test_a_typed_level_that_is_no_probability_is_refused_in_a_sentence(
    look: Looking, text: str
) -> None:
    look.open("#/calloff")
    field = look.page.get_by_label("δ as a number")
    field.fill(text)
    look.sees(".level [role=alert]", "enter a number from 0 to 1")
    field.fill("0.8")
    expect(look.find(".level [role=alert]")).to_have_count(0)
    field.fill(text)
    field.blur()
    expect(field).to_have_value("0.8")


def test_the_average_world_promises_all_and_few_return(look: Looking) -> None:
    look.page.emulate_media(reduced_motion="reduce")
    look.open("#/calloff")
    inside = look.find(".calloff-stage .swatch").first
    expect(inside).to_have_text("inside: way home with probability δ")
    toggle = look.page.get_by_label("Plan on the average world")
    expect(toggle).to_be_in_viewport(ratio=1.0)
    toggle.check()
    expect(inside).to_have_text("inside: way home promised on the average world only")
    _, plan, _ = read(look)
    assert plan is not None
    assert (plan["promised"], plan["proven"] < 0.5) == (1, True)
    look.button("Call it off now").click()
    look.sees(".said", "Promised 100, this draw")
    assert look.find(".hundred circle.home").count() < 50
    look.page.emulate_media(reduced_motion="no-preference")


def test_a_step_refutes_worlds_and_the_region_grows(look: Looking) -> None:
    look.open("#/calloff")
    before, plan, _ = read(look)
    assert plan is not None
    look.button("Step once").click()
    assert read(look)[0]["rover"] == plan["out"][1]
    for _ in range(4):
        look.button("Step once").click()
    after, _, values = read(look)
    assert sum(after["seen"]) > sum(before["seen"])
    expect(look.find(".said")).to_contain_text("seen")
    gone = look.find(".hundred circle.gone").count()
    assert 0 < gone < 60
    assert values[after["rover"]] > 0.9
    look.button("Start again").click()
    assert read(look)[0] == before


def test_dragging_leads_from_soft_ground_to_the_crater_to_seen_ground(look: Looking) -> None:
    look.open("#/calloff")
    proven, softest = [], []
    for level in (0.2, 0.4, 0.6, 0.8, 0.92, 0.93, 0.94, 1.0):
        look.find("#drag-level").fill(str(level))
        world, plan, _ = read(look)
        assert plan is not None
        proven.append(plan["proven"])
        risks = {world["risk"][square] for square in plan["out"]}
        softest.append(max(risks))
        assert (0.002 in risks) == (level in (0.8, 0.92, 0.93))  # the crater
        assert (risks == {0}) == (level == 1.0)  # only what was seen
    assert proven == sorted(set(proven))  # another plan at each level
    assert softest[:3] == [0.4, 0.3, 0.2]
    assert max(softest[3:]) < 0.01
