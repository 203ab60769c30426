"""What the page says of a plan: nothing that it prints contradicts anything else that it prints."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

import matplotlib.image
import numpy as np
import pytest
from playwright.sync_api import expect
from tests.web.page.looking import PACKAGE

from homeward.planning.plan import Verdict
from homeward.words import VERDICTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Locator, Route
    from tests.web.page.looking import Looking

GRID = {"size": 12, "seed": 36, "walls": 0.15, "start": 78}
WORLD = {**GRID, "algorithm": "paper", "home": "start"}
GROUND = {"rows": 200, "columns": 300, "sensor_range": 60.0, "limit": 3}
RUNS = [
    ("safe", "grid", {**WORLD, "delta": 0.9}),
    ("unsafe", "grid", {**WORLD, "explorer": "uncover"}),
    ("roaming", "grid", {**WORLD, "home": "current", "delta": 0.9, "limit": 3}),
    ("ground", "rover", {**GROUND, "algorithm": "paper", "home": "current"}),
    ("rate", "grid", {**GRID, "delta": 0.9}),
    ("measuring", "rover", GROUND),
]
AXE = PACKAGE / "web" / "page" / "node_modules" / "axe-core" / "axe.min.js"
SAFE_STEPS, UNSAFE_STEPS = 98, 20
MIXED = 26  # where safety decides, against the better part of the plan
NEARLY = 49  # where a move is a ten-thousandth short of δ


def tell(look: Looking, change: Callable[[dict[str, Any]], None]) -> None:
    """Let the server's plans say something else."""

    def answer(route: Route) -> None:
        why = route.fetch().json()
        change(why)
        route.fulfill(body=json.dumps(why), content_type="application/json")

    look.page.route("**/why", answer)


def petal(look: Looking, action: int) -> list[str]:
    lines = look.find(f'.petal[data-action="{action}"] text')
    return [" ".join(line.split()) for line in lines.all_text_contents()]


def said_of(look: Looking, action: int) -> dict[str, str]:
    """Give e and s as the rose says them."""
    return {line[0]: line[2:] for line in petal(look, action) if line[:2] in ("e ", "s ")}


def percent(text: str) -> float:
    return 0.0 if text == "±0 %" else float(text.removesuffix(" %").replace("−", "-"))


def why_of(look: Looking, name: str, step: int) -> dict[str, Any]:
    answer = look.get(f"runs/{name}/steps/{step}/why")
    found: dict[str, Any] = answer.json()
    return found


def possible(why: dict[str, Any]) -> list[dict[str, Any]]:
    return [action for action in why["actions"] if action["verdict"] != Verdict.UNAVAILABLE]


def test_the_rose_measures_every_move_by_the_plan(look: Looking) -> None:
    look.open(f"#/run/safe?step={SAFE_STEPS}")
    look.explained(SAFE_STEPS)
    for step in (SAFE_STEPS, 5, MIXED):
        look.scrub(step)
        look.explained(step)
        why = why_of(look, "safe", step)
        for action in possible(why):
            e = percent(said_of(look, action["action"])["e"])
            away = 100.0 * (action["exploration"] / why["value"] - 1.0)
            assert e == pytest.approx(away, rel=0.06, abs=6e-4)
            if action["verdict"] == Verdict.WORTH_LESS:
                assert e <= 0.0
    look.sees(".rose figcaption", "its exploration value relative to the plan;")
    assert percent(said_of(look, why["action"])["e"]) < -20.0


def test_where_the_plan_is_worth_nothing_worth_is_told_as_it_is(look: Looking) -> None:
    look.open(f"#/run/unsafe?step={UNSAFE_STEPS}")
    look.explained(UNSAFE_STEPS)
    why = why_of(look, "unsafe", UNSAFE_STEPS)
    assert why["value"] == 0.0
    for action in possible(why):
        assert said_of(look, action["action"])["e"] == "0"
    caption = look.find(".rose figcaption")
    expect(caption).to_contain_text("its exploration value;")


def test_an_explorer_without_a_level_shows_the_ways_home_that_it_does_not_look_at(
    look: Looking,
) -> None:
    look.open("#/run/unsafe?step=0")
    look.explained(0)
    look.painted(0)
    expect(look.find(".rose figcaption")).to_contain_text(
        "s, the way home after it, which this explorer does not look at"
    )
    for action in possible(why_of(look, "unsafe", 0)):
        s = float(said_of(look, action["action"])["s"].lstrip("<>"))
        assert s == pytest.approx(action["way_home"], abs=2e-3)
    contour = legend(look).locator(".marks .swatch").last
    expect(contour).to_have_text("way home ≥ 0.9 inside, darker outside, not asked of this run")


SIGNS = {
    Verdict.CHOSEN: "✓ chosen",
    Verdict.LESS_SAFE: "○ in the plan, not chosen",
    Verdict.WAITS: "○ in the plan, not chosen",
    Verdict.UNSAFE: "✕ below δ",
    Verdict.WORTH_LESS: "= not worth more than the plan",
    Verdict.NOT_CHOSEN: "= safe, not chosen",
    Verdict.NO_SAFER: "≤ not safer",
    Verdict.NOT_TAKEN: "· not chosen by the agent",
    Verdict.UNAVAILABLE: "– not available",
}


def test_each_verdict_has_its_own_true_sign(look: Looking) -> None:
    assert set(SIGNS) == set(Verdict)

    def change(why: dict[str, Any]) -> None:
        for action, verdict in zip(why["actions"], Verdict, strict=False):
            action["verdict"], action["words"] = verdict, VERDICTS[verdict]
        why["actions"] = why["actions"][: len(Verdict)]

    tell(look, change)
    look.open("#/run/safe?step=5")
    look.explained(5)
    signs = [" ".join(sign.split()) for sign in look.find(".sign").all_text_contents()]
    assert set(signs) == set(SIGNS.values())
    for action, verdict in enumerate(Verdict):
        assert petal(look, action)[0].endswith(SIGNS[verdict][0])


def test_a_move_that_falls_short_of_the_level_is_not_said_to_reach_it(look: Looking) -> None:
    look.open(f"#/run/safe?step={NEARLY}")
    why = look.explained(NEARLY)
    plan = why_of(look, "safe", NEARLY)
    short = [a for a in plan["actions"] if 0.8995 < a["safety"][0] < 0.9 - 1e-5]
    assert short
    for action in short:
        written = f"{math.floor(1e4 * action['safety'][0]) / 1e4:.4f}"  # not rounded up
        assert said_of(look, action["action"])["s"] == written
        row = why.locator(f'tbody tr[data-action="{action["action"]}"] td[data-value]').nth(2)
        expect(row).to_have_text(written)
    look.find(f'.petal[data-action="{short[0]["action"]}"]').hover()
    look.sees(".verdict.unsafe", "would fall below the safety level, 0.8998 < 0.9.")


BESIDE = [  # a level, a value, and how the rose and the table write it
    (0.95, 0.94999024, "0.94999", "0.94999"),
    (0.95, 0.95 - 1.3e-7, "0.949999", "0.949999"),
    (0.95, 0.95 - 1e-10, "0.949999", "0.949999"),
    (0.95, 0.95 - 1e-13, "0.95", "0.9500"),  # an error of the last binary digits
    (0.95, 0.9500049, "0.95", "0.9500"),
    (0.95, 0.9212, "0.921", "0.9212"),
    (0.95, 0.92199, "0.921", "0.9219"),  # a bound is not rounded up
    (0.9, 0.96186, "0.961", "0.9618"),
    (1.0, 1.0 - 1e-7, ">0.999", ">0.9999"),
    (1.0, 1.0, "1", "1"),
    (0.99995, 0.99996, "0.99996", "0.99996"),
    (0.9634514, 0.9634512, "0.963", "0.9634"),
    (0.95, -0.2, "0", "0"),
]


def test_a_number_beside_a_level_has_the_digits_to_tell_them_apart(look: Looking) -> None:
    def change(why: dict[str, Any]) -> None:
        level, value, _, _ = BESIDE[why["step"]]
        criterion = why["criteria"][0]
        criterion["level"] = level
        criterion["bound"] = criterion["kept_bound"] = value
        for action in why["actions"]:
            action["safety"] = [value]

    tell(look, change)
    look.open("#/run/safe?step=0")
    look.explained(0)
    for step, (level, value, rose, table) in enumerate(BESIDE):
        look.scrub(step)
        why = look.explained(step)
        assert said_of(look, 0)["s"] == rose
        expect(why.locator("tbody tr").first.locator("td[data-value]").nth(2)).to_have_text(table)
        kept = value >= level - 1e-12
        written = f"{level:.6f}".rstrip("0").rstrip(".")
        proven = why.locator(".criteria .num")
        expect(proven).to_have_text(f"{table} {'≥' if kept else '<'} {written}")
        said = float(re.sub(r"[<>]", "", table))
        assert (said < float(written)) == (not kept)


def test_the_way_home_is_told_beside_the_level_too(look: Looking) -> None:
    def answer(route: Route) -> None:
        way = route.fetch().json()
        way["bound"] = 0.89999
        way["edges"][0]["left"] = 0.89998
        route.fulfill(body=json.dumps(way), content_type="application/json")

    look.open(f"#/run/safe?step={NEARLY}")
    look.explained(NEARLY)
    look.painted(NEARLY)
    look.page.route("**/way?cell=*", answer)
    look.find(".map canvas").focus()
    look.page.keyboard.press("Enter")
    look.sees(".way .num", "0.89999")
    expect(look.find(".way thead th").last).to_have_text("still to come")
    expect(look.find(".way tbody tr").first.locator("td").last).to_have_text("0.89998")


WHOLE = (
    "Whenever the explorer is recalled, it can return home with probability "
    "at least 95\u00a0%. This holds for the whole run"
)


def test_the_level_is_said_to_be_what_the_whole_run_keeps(look: Looking) -> None:
    look.open("#/new")
    level, meaning = look.find("#level"), look.find("#level-meaning")
    level.fill("6")
    said = f"{WHOLE}: in at most 1 of 20 such worlds it can't return home."
    expect(meaning).to_have_text(said)
    look.page.get_by_role("radio", name="Bases").check()
    expect(meaning).to_have_text(said)
    expect(look.page.get_by_role("radio", name="Current position")).to_have_count(0)
    level.fill("13")
    expect(meaning).to_contain_text("in every possible world. This holds for the whole run.")
    look.page.get_by_role("radio", name="Terrain A rover").check()
    look.page.get_by_role("radio", name="Naive").check()
    expect(meaning).to_contain_text("This is true only if the mean model is; nothing is proven.")


def test_the_level_of_the_papers_algorithm_is_what_each_plan_keeps(look: Looking) -> None:
    look.open("#/new")
    look.page.get_by_role("radio", name="As in the paper").check()
    level, meaning = look.find("#level"), look.find("#level-meaning")
    level.fill("6")
    expect(meaning).to_have_text(
        "For each plan, after a recall: in at most 1 of 20 such worlds it can't return home. "
        "Home is the cell where the explorer makes the plan; nothing is guaranteed for the "
        "start."
    )
    look.page.get_by_role("radio", name="The start").check()
    expect(meaning).to_contain_text("the risks add up over many steps.")
    look.page.get_by_role("radio", name="Information per step").check()
    expect(meaning).to_contain_text(WHOLE)


def test_a_drawn_world_says_what_its_level_means(look: Looking) -> None:
    look.open("#/draw")
    look.find("#level").fill("6")
    expect(look.find("#level-meaning")).to_contain_text(WHOLE)


@pytest.mark.parametrize(("name", "unit"), [("rate", "squares"), ("measuring", "nats")])
def test_a_run_says_where_it_heads_and_what_it_expects(look: Looking, name: str, unit: str) -> None:
    look.open(f"#/run/{name}?step=1")
    panel = look.explained(1)
    why = why_of(look, name, 1)
    expect(panel.locator(".reasons")).to_contain_text(re.compile(rf"expects .* {unit} per step\."))
    expect(panel.locator("figcaption")).to_contain_text(f"at best, {unit} per step")
    expect(panel.locator("figcaption")).to_contain_text("the way home after it")
    expect(panel.locator(".criteria")).to_contain_text("over the whole run")
    assert look.numbers()[why["action"]][1] == why["proposal"]["rate"]
    look.sees(".legend .marks", "planned path")
    look.sees(".legend .marks", "where it heads for")


@pytest.mark.parametrize("name", ["rate", "measuring", "unsafe"])
def test_the_table_of_all_numbers_fits_its_panel(look: Looking, name: str) -> None:
    look.open(f"#/run/{name}?step=1")
    panel = look.explained(1)
    panel.locator("details.numbers").evaluate("(each) => (each.open = true)")
    table = panel.locator("details.numbers .scroll")
    expect(table.locator("tr.chosen")).to_be_visible()
    assert table.evaluate("(each) => each.scrollWidth <= each.clientWidth")


def test_a_refused_look_is_told_with_the_number_that_made_it_better(look: Looking) -> None:
    look.open("#/run/rate?step=0")
    look.explained(0)
    mark = look.find(".event-marks .refused").first
    expect(mark).to_be_attached()
    events = look.get("runs/rate/timeline").json()["events"]
    event = next(each for each in events if each["code"] == "refused")
    step = event["step"]
    look.scrub(step)
    look.explained(step)
    look.sees(".event-line", f"refused a better look as unsafe ({event['amount']:g})")
    unsafe = [a for a in why_of(look, "rate", step)["actions"] if a["verdict"] == "unsafe"]
    best = max(unsafe, key=lambda action: action["look"])
    assert f"look {event['amount']:g}" in petal(look, best["action"])
    assert "e" not in said_of(look, best["action"])


def test_a_move_says_what_its_risk_costs_and_whether_it_works(look: Looking) -> None:
    def tell_costs(why: dict[str, Any]) -> None:
        why["proposal"] |= {"share": 0.3, "unit": "nats", "gain": 2.0, "steps": 1.0, "rate": 2.0}
        others = (each for each in why["actions"] if each["name"] != "stay")
        for action, share, rate, works in zip(
            others, (0.2, 0.2, 0.0, 0.0), (0.0, 1.5, 1.25, 0.0), (1, 1, 1, 1e-9), strict=False
        ):
            action |= {"share": share, "exploration": rate, "leaves": works}
            action["verdict"] = "not_chosen"

    tell(look, tell_costs)
    look.open("#/run/measuring?step=1")
    panel = look.explained(1)
    look.sees(".why .reasons", "expects 2 nats, after the price of its risk, within 1 step: 2 nats")
    expect(panel.locator("figcaption")).to_contain_text("nats per step after the price of risk")
    said = (
        "would spend 20 % of the risk that is left. The price of that is more than a look gains.",
        "20 % of the risk that is left. With the price of that, 1.5 nats per step by the best",
        "safe, 1.25 nats per step by the best single look.",
        "safe, but the move works with probability <0.0001 only.",
    )
    others = [each["action"] for each in why_of(look, "measuring", 1)["actions"]][1:5]
    for action, sentence in zip(others, said, strict=True):
        look.find(f'.petal[data-action="{action}"] text').first.hover()
        expect(panel.locator(".verdict")).to_contain_text(sentence)


def test_a_run_that_ended_by_itself_says_why(look: Looking) -> None:
    look.open("#/run/rate?step=9999")
    panel = look.find(".why")
    expect(panel.locator("h2")).to_have_text("Why it ended")
    look.sees(".why .sentence", "Everything that can be explored safely was explored.")
    expect(panel.locator(".rose")).to_have_count(0)
    expect(panel.locator(".criteria")).to_contain_text("over the whole run")


def test_at_its_end_a_run_says_what_it_would_do_next(look: Looking) -> None:
    look.open(f"#/run/safe?step={SAFE_STEPS}")
    why = look.explained(SAFE_STEPS)
    expect(why.locator("h2")).to_have_text("Why this move?")
    expect(why).to_have_attribute("aria-label", "Why this move")
    expect(why.locator(".sign.chosen")).to_contain_text("would be chosen")
    expect(why.locator(".verdict")).to_contain_text("would be chosen; 99.4 % of the plan starts")
    expect(why.locator(".ended")).to_contain_text("The run ended here")
    look.page.keyboard.press("ArrowLeft")
    look.explained(SAFE_STEPS - 1)
    expect(why.locator("h2")).to_have_text("Why this move?")
    expect(why.locator(".ended")).to_have_count(0)
    look.open(f"#/compare/safe/unsafe?step={UNSAFE_STEPS}")
    look.explained(UNSAFE_STEPS, 0)
    look.explained(UNSAFE_STEPS, 1)
    expect(look.find(".why").nth(0).locator("header")).to_have_text(
        f"Why this move?next: step {UNSAFE_STEPS + 1}safe"
    )
    ended = "Why this move?unsafe (uncover)"
    expect(look.find(".why").nth(1).locator("header")).to_have_text(ended)


def test_where_no_way_home_can_be_proven_it_says_so(look: Looking) -> None:
    lost = "From here no way home can be proven."
    look.open(f"#/run/unsafe?step={UNSAFE_STEPS}")
    why = look.explained(UNSAFE_STEPS)
    expect(why).to_contain_text(lost)
    assert why_of(look, "unsafe", UNSAFE_STEPS)["way_home"] == 0.0
    look.page.keyboard.press("ArrowLeft")
    look.explained(UNSAFE_STEPS - 1)
    assert why_of(look, "unsafe", UNSAFE_STEPS - 1)["way_home"] > 0.0
    expect(why).not_to_contain_text(lost)
    assert why_of(look, "safe", NEARLY)["way_home"] == pytest.approx(
        look.get(
            f"runs/safe/steps/{NEARLY}/way?cell={why_of(look, 'safe', NEARLY)['state']}"
        ).json()["bound"]
    )


WORDS = (
    *("way home", "bonus", "safety level δ", "recall", "discount γ", "proven bound"),
    *("correction", "one more percent would cost", "the plan draws its policy once"),
    *("e and s", "entropy"),
)


def test_the_words_are_explained_by_a_key_and_from_the_first_visit(look: Looking) -> None:
    look.open("#/run/safe?step=5")
    look.painted(5)
    look.button("Glossary").click()
    help_ = look.find("dialog[open]")
    expect(help_.locator(".words dt")).to_have_text(list(WORDS))
    for sentence in help_.locator(".words dd").all_text_contents():
        assert sentence.endswith(".")
    expect(look.button("Close")).to_be_focused()
    look.page.evaluate(AXE.read_text())
    found = look.page.evaluate("() => axe.run('dialog', { resultTypes: ['violations'] })")
    assert [v["id"] for v in found["violations"] if v["impact"] in ("serious", "critical")] == []
    look.page.keyboard.press("Enter")
    expect(help_).to_have_count(0)
    look.page.keyboard.press("?")
    look.sees("dialog[open] .keys", "play or pause")


def test_the_rose_stays_where_it_is_while_reasons_change(look: Looking) -> None:
    look.open(f"#/run/safe?step={MIXED}")
    look.explained(MIXED)
    lengths, places = set(), set()
    for step in (MIXED, 5, NEARLY, SAFE_STEPS):
        look.scrub(step)
        why = look.explained(step)
        box = why.locator(".rose svg").bounding_box()
        assert box is not None
        places.add(box["y"])
        lengths.add(len(why.locator(".reasons").text_content() or ""))
    assert len(lengths) > 1
    assert len(places) == 1


def test_the_reasons_grey_only_after_a_while_of_waiting(look: Looking) -> None:
    look.open("#/run/safe?step=5")
    why = look.explained(5)
    held: list[Route] = []
    look.page.route("**/steps/6/why", lambda route: held.append(route))
    look.page.evaluate(
        """() => {
          const why = document.querySelector(".why");
          const now = () => getComputedStyle(why).opacity;
          window.seen = [];
          new MutationObserver(() => {
            if (!why.classList.contains("stale")) return;
            for (const ms of [0, 150, 900]) setTimeout(() => window.seen.push(now()), ms);
          }).observe(why, { attributes: true, attributeFilter: ["class"] });
        }"""
    )
    look.page.keyboard.press("ArrowRight")
    look.page.wait_for_function("() => window.seen.length === 3")
    at_once, soon, late = (float(part) for part in look.page.evaluate("() => window.seen"))
    assert (at_once, soon) == (1.0, 1.0)
    assert late == pytest.approx(0.62)
    while not held:  # the map comes first
        look.page.wait_for_timeout(50)
    held[0].continue_()
    look.explained(6)
    expect(why).to_have_css("opacity", "1")


def colours(look: Looking, width: int) -> tuple[np.ndarray[Any, Any], float]:
    """Save a picture in a window of some width; give its pixels, and where the legend starts."""
    look.page.set_viewport_size({"width": width, "height": 900})
    look.page.emulate_media(color_scheme="light")
    look.open("#/run/safe?step=20")
    look.painted(20)
    with look.page.expect_download() as download:
        look.button("Save a picture of this view").click()
    box = look.find(".map canvas").bounding_box()
    assert box is not None
    image = np.asarray(matplotlib.image.imread(download.value.path()))[..., :3]
    pixels = np.rint(255.0 * image).astype(int)
    assert pixels.shape[1] == round(box["width"])
    return pixels, 64 + box["height"]


KEYED = {
    **{f"height {h + 1}": c for h, c in enumerate(("6b2f14", "a1511f", "cc7f3c", "e6ae6c"))},
    **{"height 5": "f6dcb0", "wall": "3a3f44", "not yet seen": "cfd2d5"},
    **{"explorer": "0f6cb4", "path": "12283d", "way home and home": "00806b"},
}


@pytest.mark.parametrize("width", [360, 1440])
def test_a_saved_picture_has_its_whole_legend_and_the_marks(look: Looking, width: int) -> None:
    pixels, top = colours(look, width)
    legend = pixels[int(top) + 1 :]
    found = {"".join(f"{part:02x}" for part in pixel) for row in legend for pixel in row}
    missing = {name for name, colour in KEYED.items() if colour not in found}
    assert missing == set()
    assert (legend[:, -8:] == 255).all()  # nothing runs over the edge
    rows = np.flatnonzero((legend != 255).any(axis=(1, 2)))
    assert rows.max() < len(legend) - 8


def legend(look: Looking) -> Locator:
    look.sees(".legend .marks")
    return look.find(".legend:not(.unseen .legend)")


def test_a_home_apart_from_the_explorer_has_its_mark_in_the_legend(look: Looking) -> None:
    look.open("#/run/safe?step=5")
    look.painted(5)
    contour = "way home ≥ 0.9 inside, darker outside"
    marks = ["explorer", "path so far", "home, the start", "way home", contour]
    expect(legend(look).locator(".marks .swatch")).to_have_text(marks)
    expect(look.find(".legend .mark-home").first).to_be_visible()
    look.open("#/run/roaming?step=1")
    look.painted(1)
    marks[2] = "start"  # home is where the explorer stands
    expect(legend(look).locator(".marks .swatch")).to_have_text(marks)


def test_swatches_are_outlined(look: Looking) -> None:
    look.page.emulate_media(color_scheme="dark")
    look.open("#/run/safe?step=5")
    look.painted(5)
    wall = legend(look).locator(".swatch", has_text="wall").locator("i")
    outline = wall.evaluate("(e) => getComputedStyle(e).boxShadow")
    assert "rgb(165, 178, 188) 0px 0px 0px 1px" in outline


@pytest.mark.parametrize(("name", "shape"), [("safe", (12, 12)), ("ground", (10, 15))])
def test_legend_and_readout_call_what_is_seen_alike(
    look: Looking, name: str, shape: tuple[int, int]
) -> None:
    look.open(f"#/run/{name}?step=1&layer=seen")
    look.painted(1, "seen")
    swatches = legend(look).locator(".key").first.locator(".swatch").all_text_contents()
    assert swatches == ["seen", "not yet seen"]
    said = set()
    for cell in range(0, shape[0] * shape[1], 7):
        look.point(cell, shape)
        reading = look.find('.readout dd[data-layer="seen"]')
        expect(reading).to_be_visible()
        said.add(reading.text_content())
    assert said == set(swatches)


def test_the_bonus_of_terrain_has_no_unit_but_its_name(look: Looking) -> None:
    look.open("#/run/ground?step=1&layer=bonus")
    look.painted(1, "bonus")
    title = legend(look).locator(".key-title")
    expect(title).to_have_text("Bonus: Σ variance / the sensor's, in its reach")


def test_one_of_something_is_singular(look: Looking) -> None:
    look.open("#/run/safe?step=20&layer=bonus")
    look.painted(20, "bonus")
    found = set()
    for cell in range(144):
        look.point(cell, (12, 12))
        text = look.find('.readout dd[data-layer="bonus"]').first.text_content()
        found.add(text)
        if text == "1 square":
            break
    assert "1 square" in found
    assert "1 squares" not in found


def test_labels_of_the_counter_examples_stand_clear_of_their_lines(look: Looking) -> None:
    look.open("#/stories")
    look.sees(".story svg")
    crossed = look.page.evaluate(
        """() => {
          const crossed = [];
          for (const svg of document.querySelectorAll(".story svg")) {
            const labels = [...svg.querySelectorAll("text.edge")];
            for (const line of svg.querySelectorAll("path.edge")) {
              const long = line.getTotalLength();
              for (let at = 0; at <= long; at += 1) {
                const { x, y } = line.getPointAtLength(at);
                for (const label of labels) {
                  const box = label.getBBox();
                  const [dx, dy] = [x - box.x, y - box.y];
                  if (dx > 0 && dx < box.width && dy > 3 && dy < box.height - 3)
                    crossed.push(label.textContent);
                }
              }
            }
          }
          return [...new Set(crossed)];
        }"""
    )
    assert crossed == []
    assert "…." not in (look.find(".stories-page").text_content() or "")
