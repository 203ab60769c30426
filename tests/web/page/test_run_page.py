"""The map of a run and what belongs to it: moves, events, files, other levels, several runs."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import expect

from homeward.replay import Replay
from homeward.replay.events import trapped_at
from homeward.runs import Run
from homeward.words import ENDS, sentence

if TYPE_CHECKING:
    from playwright.sync_api import Route
    from tests.web.page.looking import Looking, Site

WORLD = {"size": 12, "seed": 36, "walls": 0.15, "start": 78, "home": "start"}
GROUND = {"rows": 200, "columns": 300, "sensor_range": 29.0, "limit": 12, "delta": 0.9}
WIDE = {"rows": 65, "columns": 65, "pixel": 20.0, "cell": 20.0, "sensor_range": 29.0, "limit": 3}
PIT = "555\n5a5\n555"
RUNS = [
    ("meadow-safe", "grid", {**WORLD, "delta": 0.9, "limit": 20}),
    ("meadow-unsafe", "grid", {**WORLD, "explorer": "uncover"}),
    ("ground", "rover", GROUND),
    ("hills", "rover", {"terrain": "sample", "window": "0,0,40,30", "cell": 100.0, "limit": 4}),
    ("wide", "rover", WIDE),
    ("pit", "grid", {"map": PIT, "explorer": "uncover", "algorithm": "paper", "stay": False}),
]
RECORD_STROKES = """
window.strokes = [];
const stroke = CanvasRenderingContext2D.prototype.stroke;
CanvasRenderingContext2D.prototype.stroke = function (...rest) {
  window.strokes.push(this.strokeStyle); return stroke.apply(this, rest); };
const text = CanvasRenderingContext2D.prototype.fillText;
window.texts = [];
CanvasRenderingContext2D.prototype.fillText = function (said, ...rest) {
  window.texts.push(String(said)); return text.call(this, said, ...rest); };
"""
LOST, WAY = "#c3241a", "#00806b"


def test_events_lead_to_where_it_was_trapped_and_the_map_says_so(look: Looking, site: Site) -> None:
    step = trapped_at(Replay(site.root / "meadow-unsafe"))
    assert step is not None
    look.page.add_init_script(RECORD_STROKES)
    look.open("#/run/meadow-unsafe?step=0")
    look.explained(0)
    expect(look.find(f".event-marks .trapped[title^='Step {step}:']")).to_have_count(1)
    events = look.get("runs/meadow-unsafe/timeline").json()["events"]
    for _ in {event["step"] for event in events if 0 < event["step"] <= step}:
        look.button("Next event").click()
    look.sees(".event-line", f"Step {step}: trapped: no way home is left.")
    look.painted(step)
    look.page.wait_for_function(
        "(said) => window.texts.includes(said)", arg=f"Trapped at step {step}"
    )
    look.sees(".run-head", f"trapped at step {step}")
    look.page.close()  # the script would stay


def test_thousands_of_events_leave_the_slider_light(look: Looking) -> None:
    """Marks that would lie on each other are one, and stay as they are while the cursor moves."""
    quiet = {"code": "news", "cell": 1, "amount": None}
    events = [{**quiet, "step": 1 + n % 20} for n in range(4000)]
    events += [{**quiet, "step": 9, "code": "trapped"}]
    told = {"events": events, "trapped": 9, "complete": True}
    look.page.route("**/timeline", lambda route: route.fulfill(json=told))
    look.open("#/run/meadow-safe?step=3")
    look.explained(3)
    marks = look.find(".event-marks i")
    expect(marks).to_have_count(20)
    expect(look.find(".event-marks .trapped[title^='Step 9:']")).to_have_count(1)
    look.page.evaluate(
        "window.changes = 0; new MutationObserver((all) => window.changes += all.length)"
        ".observe(document.querySelector('.event-marks'), {subtree: true, childList: true,"
        " attributes: true}); 0"
    )
    look.button("Next step").click()
    look.painted(4)
    assert look.page.evaluate("window.changes") == 0
    look.button("Next event").click()  # no mark is passed over
    look.painted(5)
    field = look.page.get_by_label("Show the map after step")
    field.fill("17")
    field.press("Enter")
    look.painted(17)
    look.explained(17)
    look.sees(".count", "after 17 of")
    expect(look.find(".why header .unit")).to_have_text("next: step 18")
    expect(field).to_have_value("")


def test_events_are_asked_for_after_the_first_map_and_reasons(look: Looking) -> None:
    """The same process makes them, and takes longer for the events."""
    asked: list[str] = []
    look.page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    with look.page.expect_request("**/timeline"):
        look.open("#/run/meadow-safe?step=3")
    last = [path.rpartition("/")[2] for path in asked]
    assert {"fields", "why"} <= set(last[: last.index("timeline")])


def test_refused_moves_are_struck_and_the_sentence_names_them(look: Looking, site: Site) -> None:
    replay = Replay(site.root / "meadow-safe")
    step = next(
        step
        for step in range(len(replay.log))
        if any(e.verdict == "unsafe" and e.leaves > 0 for e in replay.plan(step)[0].evidence)
    )
    names = [
        each["name"]
        for each in replay.why(step)["actions"]
        if each["verdict"] == "unsafe" and each["leaves"] > 0
    ]
    look.page.add_init_script(RECORD_STROKES)
    look.open(f"#/run/meadow-safe?step={step}")
    look.explained(step)
    look.sees(".pursuit", f"It refuses {', '.join(names)}: too little way home.")
    strokes = look.page.evaluate("window.strokes")
    assert LOST in strokes
    assert WAY in strokes
    look.page.close()


def test_only_moves_that_may_work_are_drawn(look: Looking, site: Site) -> None:
    def moves(step: int) -> dict[float, bool]:
        told = replay.why(step)["actions"]
        return {math.atan2(e["dr"], e["dc"]): e["leaves"] > 0 for e in told if e["dr"] or e["dc"]}

    replay = Replay(site.root / "meadow-safe")
    step = next(step for step in range(len(replay.log)) if not all(moves(step).values()))
    look.open(f"#/run/meadow-safe?step={step}")
    look.explained(step)
    look.page.evaluate(
        "window.turns = []; const rotate = CanvasRenderingContext2D.prototype.rotate;"
        "CanvasRenderingContext2D.prototype.rotate = function (turn) {"
        "  window.turns.push(turn); return rotate.call(this, turn); }; 0"
    )
    look.page.keyboard.press("+")
    look.page.wait_for_function("() => window.turns.length > 0")
    drawn = set(look.page.evaluate("window.turns"))
    assert drawn == {turn for turn, works in moves(step).items() if works}


def test_one_who_is_stuck_chooses_no_move(look: Looking) -> None:
    look.open("#/run/pit?step=0")
    why = look.explained(0)
    expect(why.locator(".sentence")).to_have_text(sentence(ENDS["stuck"]))
    expect(why.locator(".rose")).to_have_count(0)
    expect(why).not_to_contain_text("chosen")


def test_a_way_home_of_another_moment_is_not_drawn(look: Looking) -> None:
    look.open("#/run/meadow-safe?step=6")
    look.explained(6)
    held: list[Route] = []
    look.page.route("**/why", lambda route: held.append(route))
    look.page.evaluate(
        "window.dashes = []; const set = CanvasRenderingContext2D.prototype.setLineDash;"
        "CanvasRenderingContext2D.prototype.setLineDash = function (dash) {"
        "  window.dashes.push(dash.length); return set.call(this, dash); }; 0"
    )
    look.button("Next step").click()
    look.painted(7)
    look.page.wait_for_timeout(300)
    look.page.evaluate("window.dashes.length = 0")
    look.page.keyboard.press("+")
    look.page.wait_for_timeout(200)
    assert 2 not in look.page.evaluate("window.dashes")
    for route in held:
        route.continue_()


def test_a_recorded_run_is_called_off_at_a_step(look: Looking, site: Site) -> None:
    """Ghosts walk its way home on the map; some are lost, where the map says so."""
    replay = Replay(site.root / "meadow-safe")
    step = 6
    value = replay.at(step).returns[1].value
    cell = int(np.flatnonzero((value > 0.5) & (value < 0.9))[0])
    told = replay.ghosts(step, cell, 1)
    home = told["lost"].count(None)
    look.page.add_init_script(RECORD_STROKES)
    look.open("#/run/meadow-safe?step=0")  # at home, from where there is nothing to walk
    panel = look.find(".call-off")
    there = int(replay.log.path_to(1)[-1])
    expect(panel).to_contain_text(
        f"after the next move, from row {there // 12}, column {there % 12}"
    )
    look.open(f"#/run/meadow-safe?step={step}")
    look.explained(step)
    look.page.mouse.click(*look.point(cell, replay.scene.shape))
    expect(panel.locator(".unit")).to_have_text(f"from row {cell // 12}, column {cell % 12}")
    look.button("Call it off now").click()
    expect(panel).to_have_attribute("data-walking", "true")
    expect(panel).to_have_attribute("data-walking", "false")
    proven = int(100 * told["bound"] + 1e-9)
    look.sees(".call-off .said", f"Proven ≥ {proven} of 100; of these 100, {home} came home.")
    expect(look.find(".call-off circle.lost")).to_have_count(100 - home)
    places = Counter(place for place in told["lost"] if place is not None)
    assert {str(count) for count in places.values()} <= set(look.page.evaluate("window.texts"))
    look.button("Next step").click()
    expect(look.find(".call-off circle")).to_have_count(0)
    look.page.close()


def test_a_level_of_the_whole_run_is_not_told_as_that_of_a_plan(look: Looking) -> None:
    look.open("#/run/meadow-safe?step=3")
    why = look.explained(3)
    expect(why).to_contain_text("return to row 6, column 6, over the whole run")
    expect(look.find(".plot").first).to_contain_text("whole run")
    expect(look.find(".plot .tick.x").first).to_have_text("step\u00a00")  # what the axis counts


def test_terrain_has_slope_scale_coordinates_and_a_profile(look: Looking) -> None:
    look.open("#/run/ground?step=8&layer=slope")
    canvas = look.painted(8, "slope")
    expect(canvas).to_have_attribute("data-scale", "50 m")
    x, y = look.point(17, (10, 15))
    look.sees(".readout .coordinates", "x 50.0\u00a0m, y")
    look.page.mouse.click(x, y)
    look.sees(".profile svg")


def test_heights_and_slopes_are_told_apart_from_those_of_the_limits(look: Looking) -> None:
    look.open("#/run/hills?step=4")
    look.painted(4)
    shape = tuple(look.get("runs/hills").json()["shape"])
    start = look.get("runs/hills").json()["start"]
    look.point(start, shape)
    look.sees(".readout dl", "Terrain model")
    assert look.reading("model") != look.reading("height")
    look.sees(".readout", "Ground: as measured, with the simulated error of the terrain model.")
    look.sees(".readout", "The limits, 20° up, 30° down and 20° to the side, hold under the wheels")
    look.sees(".readout", "known to about ±0.015°")  # pixels of 80 m
    look.sees(".readout .coordinates", "centre x")
    look.open("#/run/ground?step=8")
    look.painted(8)
    look.point(17, (10, 15))
    expect(look.find(".readout .note")).to_have_count(0)  # there the limits are between centres


def test_the_drawer_has_settings_files_and_the_certificate(look: Looking) -> None:
    look.open("#/run/ground?step=3")
    look.painted(3)
    look.find(".drawer summary").click()
    for name, value in (
        ("Maximum climb", r"[\d.]+\s°"),
        ("Maximum side slope", r"[\d.]+\s°"),
        ("Cell size", r"[\d.]+\sm"),
        ("Rows", r"200\spixels"),
        ("Maximum steps", r"\d+"),
    ):
        entry = look.find(".settings div").filter(has=look.page.get_by_text(name, exact=True))
        expect(entry.locator("dd")).to_have_text(re.compile(f"^{value}$"))
    look.sees(".downloads", "Terrain as known (GeoTIFF)")
    with look.page.expect_download() as download:
        look.page.get_by_role("link", name="Path (GeoJSON)").click()
    found = json.loads(download.value.path().read_text())
    assert found["type"] == "FeatureCollection"
    with look.page.expect_download() as download:
        look.page.get_by_role("link", name="Way home after step 3 (GeoJSON)").click()
    assert download.value.suggested_filename == "ground-way-home-3.geojson"
    with look.page.expect_download() as download:
        look.page.get_by_role("link", name="This run as a page that plays offline").click()
    assert "<title>ground" in download.value.path().read_text()
    look.button("Certify").click()
    look.sees(".drawer", "Every claim is confirmed.")
    look.sees(".drawer", "Certificate (JSON)")
    claims = look.find(".drawer tbody tr")
    expect(claims.first).to_contain_text("whole run: return home")
    expect(claims.first.locator("td").nth(0)).to_have_text("0.9")  # δ, then claimed and found
    for number in (1, 2):
        expect(claims.first.locator("td").nth(number)).to_have_text(re.compile(r"^>?(1|0\.9\d+)$"))
    expect(claims.first).to_contain_text("confirmed: every step was planned and charged again")
    expect(claims.nth(1)).to_contain_text("the risks of 12 steps are within the budget")


def test_the_files_are_one_click_from_the_head_of_the_page(look: Looking) -> None:
    look.open("#/run/ground?step=3")
    look.painted(3)
    look.button("Map only").click()
    look.button("Files and certificate").click()
    expect(look.find(".downloads")).to_be_in_viewport()
    expect(look.find(".settings")).to_be_in_viewport()


def test_the_level_of_the_run_itself_is_not_run_again(look: Looking) -> None:
    look.open("#/run/meadow-safe?step=3")
    look.painted(3)
    look.find(".drawer summary").click()
    look.find(".drawer input").fill("0.9")
    look.sees(".own-level", "δ = 0.9 is the level of this run: it is compared, not run again.")
    expect(look.button("Run and compare")).to_be_disabled()
    look.find(".drawer input").fill("0.9, 0.8")
    with look.page.expect_request("**/again") as request:
        look.button("Run and compare").click()
    assert request.value.post_data_json == {"deltas": [0.8]}
    look.page.wait_for_url("**/compare/meadow-safe/meadow-safe-delta-0.8*")


def test_a_run_opened_from_a_comparison_stays_at_its_step(look: Looking) -> None:
    look.open("#/compare/meadow-safe/meadow-unsafe?step=7")
    look.painted(7)
    look.find(".run-head h2 a").first.click()
    look.page.wait_for_url("**/run/meadow-safe?step=7*")
    look.find(".run-head a").filter(has_text="Compare with its pair").click()
    look.page.wait_for_url("**/compare/meadow-safe/meadow-unsafe?step=7*")


def test_a_notice_leaves_the_names_of_the_pages_in_sight(look: Looking) -> None:
    look.open("#/run/ground?step=3")
    look.painted(3)
    look.button("Copy a link to this view").click()
    said, names = look.find(".message").bounding_box(), look.find(".top nav").bounding_box()
    assert said is not None
    assert names is not None
    assert said["x"] > names["x"] + names["width"]


def test_the_same_world_at_other_levels_is_one_click(look: Looking) -> None:
    look.open("#/run/meadow-safe?step=3")
    look.painted(3)
    look.find(".drawer summary").click()
    look.find(".drawer input").fill("1, 0.7")
    look.button("Run and compare").click()
    expect(look.find(".pair .stage")).to_have_count(3)
    expect(look.find(".stage[data-run$='-0.7']")).to_contain_text("δ = 0.7")
    expect(look.find("h1")).to_have_count(1)
    expect(look.find(".plot").nth(1).locator(".plot-values > span")).to_have_count(3)
    for number in range(3):
        expect(look.find(".map canvas").nth(number)).to_have_attribute("data-step", "20")


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (900, 1000), (390, 844)])
def test_the_map_alone_fills_the_window(look: Looking, width: int, height: int) -> None:
    look.page.set_viewport_size({"width": width, "height": height})
    look.open("#/run/meadow-safe?step=3")
    canvas = look.painted(3)
    before = canvas.bounding_box()
    look.button("Map only").click()
    expect(look.find(".side")).to_be_hidden()
    after = canvas.bounding_box()
    assert before is not None
    assert after is not None
    assert after["height"] > 1.4 * before["height"]
    assert after["width"] > width - 60
    expect(look.find(".timeline")).to_be_in_viewport(ratio=1)
    expect(look.find(".map-tools")).to_be_in_viewport(ratio=1)
    look.button("Map only").click()
    expect(look.find(".top")).to_be_visible()
    assert canvas.bounding_box() == before


def test_single_letters_can_be_switched_off(look: Looking) -> None:
    look.open("#/run/meadow-safe?step=3")
    look.painted(3)
    look.page.keyboard.press("f")
    expect(look.find(".speed select")).to_have_value("10")
    look.button("Help: glossary and keys").click()
    look.page.get_by_label("Use single letters").uncheck()
    look.page.keyboard.press("Escape")
    expect(look.find("dialog[open]")).to_have_count(0)
    look.page.keyboard.press("f")
    look.page.keyboard.press("ArrowRight")
    look.painted(4)
    expect(look.find(".speed select")).to_have_value("10")


def test_what_is_announced_is_the_cell_that_was_reached(look: Looking) -> None:
    look.open("#/run/meadow-safe?step=3")
    look.painted(3).focus()
    look.page.keyboard.press("ArrowLeft")
    spoken = look.find(".map-box [aria-live=polite]")
    count = len(look.get("runs/meadow-safe").json()["layers"])
    expect(look.find(".readout dd")).to_have_count(count)  # all layers have come
    expect(spoken).to_contain_text("row ")
    spoken.evaluate(
        "(region) => { window.heard = []; new MutationObserver(() => heard.push(region.innerText))"
        ".observe(region, { characterData: true, childList: true, subtree: true }); }"
    )
    for _ in range(2):
        said = spoken.inner_text()
        look.page.keyboard.press("ArrowLeft")
        expect(spoken).not_to_have_text(said)
        expect(spoken).not_to_be_empty()
    said = spoken.inner_text()
    expect(look.find(".readout b")).to_have_text(said.partition(":")[0])
    heard = {text for text in look.page.evaluate("window.heard") if text}
    assert said in heard
    assert len(heard) == 2  # no cell with the values of the one before


@pytest.mark.parametrize("level", ["0.955", "1"])
def test_a_level_is_typed(look: Looking, level: str) -> None:
    look.open("#/new")
    look.page.get_by_label("δ as a number").fill(level)
    told = "in every possible world" if level == "1" else "at least 95.5"
    look.sees("#level-meaning", told)


def test_at_its_end_the_map_says_that_the_run_ended_and_not_where_it_heads(look: Looking) -> None:
    look.open("#/run/wide?step=3")
    look.sees(".pursuit", "The run ended here.")
    look.open("#/run/wide?step=2")
    look.sees(".pursuit", "Heads for")


def test_the_region_with_a_way_home_stays_outlined_on_every_layer_of_a_large_map(
    look: Looking,
) -> None:
    look.open("#/run/wide?step=2")
    outlined = re.compile("^[1-9]")
    canvas = look.painted(2)
    expect(canvas).to_have_attribute("data-border", outlined)
    for button, layer in (("Safe region", "v"), ("Ground", "height")):
        look.page.get_by_text(button, exact=True).first.click()
        look.painted(2, layer)
        expect(canvas).to_have_attribute("data-border", outlined)


def test_the_way_home_tells_slopes_beside_the_vehicles_limits(look: Looking) -> None:
    look.open("#/run/hills?step=4&layer=slope")
    canvas = look.painted(4, "slope")
    expect(look.find(".legend .key-title").first).to_contain_text("Slope of the terrain model")
    canvas.focus()
    look.page.keyboard.press("ArrowDown")
    look.page.keyboard.press("Enter")
    look.sees(".profile figcaption", "on the terrain model along the way that is driven")
    steepest = r"Steepest: [\d.]+° up \(limit 20°\), [\d.]+° down \(limit 30°\), [\d.]+° to"
    expect(look.find(".profile figcaption")).to_contain_text(re.compile(steepest))
    expect(look.find(".way th").nth(2)).to_have_text("slope")
    expect(look.find(".way tbody tr td").nth(1)).to_have_text(re.compile(r"^−?[\d.]+°$"))


def test_a_run_that_ended_at_its_limit_goes_on(look: Looking, site: Site) -> None:
    look.open("#/run/wide?step=3")
    look.explained(3)
    more = look.page.get_by_role("textbox", name="for more steps")
    expect(more).to_have_value("3")
    more.fill("none")
    expect(look.button("Go on")).to_be_disabled()
    more.fill("2")
    look.button("Go on").click()
    look.sees(".count", "of 5 steps")
    look.sees(".run-head", "finished")
    expect(look.page.get_by_role("textbox", name="for more steps")).to_have_value("5")
    assert Run.open(site.root / "wide").manifest.limit == 5


def test_other_levels_come_with_what_this_one_risked(look: Looking, site: Site) -> None:
    look.open("#/run/meadow-safe?step=3")
    look.explained(3)
    look.find(".drawer summary").click()
    records = Run.open(site.root / "meadow-safe").records()
    spent = 1.0 - min(record.kept_bounds[0] for record in records)
    risked = f"{spent:.2g}" if spent > 1e-6 else "less than 1\u00a0×\u00a010⁻⁶"
    said = f"Of the risk of 0.1 that δ = 0.9 allows, {risked} was spent."
    look.sees(".drawer", said)
