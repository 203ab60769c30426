"""Runs that have ended, watched: what is on view is what the run's record and its plans say."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import expect
from tests.web.frames import unpack
from tests.web.page.looking import MARGIN

from homeward.planning.explorer import Explorer
from homeward.planning.plan import Verdict
from homeward.runs import Run, find_kind
from homeward.runs.config import checked
from homeward.runs.run import TIMES
from homeward.words import VERDICTS

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import FloatRect, Route
    from tests.web.page.looking import Looking, Site


WORLD = {"size": 8, "seed": 5, "walls": 0.15}
GROUND = {"rows": 200, "columns": 300, "sensor_range": 60.0, "limit": 25}
PAPER = {"algorithm": "paper", "home": "current"}
RUNS = [
    ("meadow-safe", "grid", {**WORLD, "delta": 0.8}),
    ("meadow-unsafe", "grid", {**WORLD, "explorer": "uncover"}),
    ("based", "grid", {**WORLD, "delta": 0.7, "home": "start", "limit": 20}),
    ("ground", "rover", GROUND),
    ("meadow-paper", "grid", {**WORLD, **PAPER, "delta": 0.8}),
    ("ground-paper", "rover", {**GROUND, **PAPER}),
]


def steps_of(site: Site, name: str) -> list[dict[str, Any]]:
    lines = (site.root / name / "steps.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def path_of(site: Site, name: str) -> list[int]:
    found: list[int] = [step["next_state"] for step in steps_of(site, name)]
    return found


def explorer_of(root: Path, name: str, steps: int) -> Explorer:
    """Give the explorer after so many steps, without the record: by exploring again."""
    run = Run.open(root / name)
    kind = find_kind(run.kind)
    setup = kind.make(checked(kind.config, run.config, name))
    explorer = Explorer(setup.planner, setup.belief, setup.world)
    for _ in range(steps):
        assert explorer.step()
    return explorer


def table_of(explanation: str) -> list[str]:
    """Give the lines of an explanation that name no place: those of its table."""
    return [line for line in explanation.splitlines() if line.startswith("  ")]


def test_the_list_shows_every_run_and_opens_one(look: Looking) -> None:
    look.open()
    for name, _, _ in RUNS:
        look.sees(f'tr[data-run="{name}"]', "finished")
    look.page.get_by_role("link", name="meadow-safe", exact=True).click()
    look.sees("h1", "meadow-safe")
    look.sees(".map canvas[data-step]")


def test_scrubbing_moves_the_map_the_count_and_the_reasons(look: Looking, site: Site) -> None:
    last = len(path_of(site, "meadow-safe"))
    look.open("#/run/meadow-safe")
    look.painted(0)
    for step in (last, last // 2):
        look.scrub(step)
        look.painted(step)
        look.sees(".count", f"after {step} of {last}")
        look.explained(step)
        look.page.wait_for_url(f"**/#/run/meadow-safe?step={step}")


def test_a_run_that_was_just_started_is_seen_at_its_end(look: Looking, site: Site) -> None:
    last = len(path_of(site, "meadow-safe"))
    look.open("#/new")
    look.sees("h1", "New run")
    look.page.evaluate("location.hash = '#/run/meadow-safe'")  # as when it is started there
    look.painted(last)
    look.page.wait_for_url(f"**step={last}")


def test_playing_goes_from_the_start_to_the_end(look: Looking, site: Site) -> None:
    last = len(path_of(site, "meadow-safe"))
    look.open("#/run/meadow-safe?step=0")
    look.painted(0)
    look.find(".speed select").select_option("500")
    look.button("Play").click()
    look.painted(last)
    expect(look.button("Play")).to_be_visible()


@pytest.mark.parametrize("name", ["meadow-safe", "ground"])
def test_what_is_read_at_the_pointer_is_what_the_run_left(
    look: Looking, site: Site, name: str
) -> None:
    run = Run.open(site.root / name)
    fields = run.fields()
    last = len(path_of(site, name))
    look.open(f"#/run/{name}?step={last}")
    look.painted(last)
    grid = name != "ground"
    heights = np.asarray(fields["heights" if grid else "height"], float)
    rows, columns = heights.shape
    cells = np.random.default_rng(1).choice(rows * columns, 6, replace=False)
    for cell in cells.tolist():
        look.point(cell, (rows, columns))
        look.sees('.readout dd[data-layer="visited"]')
        expected = float(heights.ravel()[cell])
        if grid:
            seen = bool(np.asarray(fields["seen"]).ravel()[cell]) or expected < 0
            assert look.reading("seen") == seen
            assert look.reading("visited") == np.asarray(fields["visited"]).ravel()[cell]
            assert look.reading("truth") == expected
            expected = expected if seen else np.nan
        else:
            deviation = float(np.asarray(fields["deviation"]).ravel()[cell])
            assert look.reading("uncertainty") == pytest.approx(deviation, rel=1e-5)
        assert look.reading("height") == pytest.approx(expected, rel=1e-5, nan_ok=True)


def test_every_layer_can_be_shown_by_a_click_and_by_a_key(look: Looking, site: Site) -> None:
    look.open("#/run/meadow-safe?step=3")
    look.painted(3)
    layers = ["height", "uncertainty", "seen", "v", "bonus", "success", "visited", "truth"]
    expect(look.find(".segments button")).to_have_count(4)  # three layers, and more
    look.button("More").click()
    expect(look.find(".segments button")).to_have_count(len(layers) + 1)
    for layer in layers:
        look.find(f'.segments [data-layer="{layer}"]').click()
        look.painted(3, layer)
    for number, layer in enumerate(layers, start=1):
        look.page.keyboard.press(str(number))
        look.painted(3, layer)
    look.find(".blend select").select_option("v")
    look.sees(".legend", "Proven probability to return home")
    look.find(".blend input").fill("0.25")
    expect(look.page).to_have_url(
        f"{site.address}/#/run/meadow-safe?step=3&layer=truth&over=v&mix=0.25"
    )


@pytest.mark.parametrize(("name", "step"), [("meadow-safe", 0), ("meadow-safe", 7), ("based", 4)])
def test_the_reasons_are_the_plans_own(look: Looking, site: Site, name: str, step: int) -> None:
    plan = explorer_of(site.root, name, step).explain()
    look.open(f"#/run/{name}?step={step}")
    why = look.explained(step)
    assert table_of(why.locator("pre").text_content() or "") == table_of(str(plan)) != []
    chosen = why.locator(".petal.chosen")
    expect(chosen).to_have_attribute("data-action", str(plan.action))
    assert plan.action == steps_of(site, name)[step]["action"]
    found = look.numbers()
    assert set(found) == {e.action for e in plan.evidence}
    for evidence in plan.evidence:
        if evidence.verdict is Verdict.UNAVAILABLE or not evidence.leaves:
            continue
        refused = evidence.verdict is Verdict.UNSAFE  # its rate is not searched
        rate = math.nan if refused else evidence.exploration
        expected = [evidence.leaves, rate, *evidence.safety]
        told = found[evidence.action]
        assert told == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)
        row = why.locator(f'tbody tr[data-action="{evidence.action}"]')
        assert VERDICTS[evidence.verdict] in (row.text_content() or "")
    proven = why.locator(".criteria b").get_attribute("data-value")
    assert float(proven or "nan") == pytest.approx(plan.decision.bounds[0].bound, abs=1e-9)


def test_large_numbers_are_written_as_powers_of_ten(look: Looking) -> None:
    look.open("#/run/ground-paper?step=3")
    look.explained(3)
    words = " ".join(look.find(".sentence, .reasons, .numbers-table").all_text_contents())
    assert re.search(r"\d\u00a0×\u00a010[⁰¹²³⁴⁵⁶⁷⁸⁹]", words)
    assert not re.search(r"\de[+-]\d", words)


def test_a_cells_way_home_is_drawn_with_risks_that_add_up(look: Looking, site: Site) -> None:
    explorer = explorer_of(site.root, "based", 4)
    [options] = explorer.rules.options(explorer.belief, explorer.run_state, explorer.here)
    way = options.value()
    doubtful = np.flatnonzero((way > 0.0) & (way < 1.0))
    cell = int(doubtful[0])
    look.open("#/run/based?step=4")
    look.painted(4)
    look.explained(4)
    look.page.mouse.click(*look.point(cell, (8, 8)))
    look.sees(".way .num")
    risks = look.find(".way td[data-value]").evaluate_all("c => c.map((e) => +e.dataset.value)")
    assert 1.0 - sum(risks) == pytest.approx(way[cell], abs=1e-9)
    look.button("Close the way home").click()
    expect(look.find(".way")).to_have_count(0)


def test_two_runs_are_compared_on_one_cursor(look: Looking, site: Site) -> None:
    safe, unsafe = (len(path_of(site, f"meadow-{which}")) for which in ("safe", "unsafe"))
    look.open("#/run/meadow-safe?step=2")
    look.page.get_by_role("link", name="Compare with its pair").click()
    look.painted(2, map_=0)  # the step is kept
    look.painted(2, map_=1)
    step = min(safe, unsafe) // 2
    look.scrub(step)
    look.painted(step, map_=0)
    look.painted(step, map_=1)
    look.explained(step, 0)
    look.explained(step, 1)
    look.page.keyboard.press("4")
    look.painted(step, "v", 0)
    look.painted(step, "v", 1)


def test_two_runs_are_chosen_from_the_list(look: Looking) -> None:
    look.open()
    look.page.get_by_label("Select meadow-unsafe").check()
    look.page.get_by_label("Select meadow-safe").check()
    look.page.get_by_role("link", name="Compare the two").click()
    look.sees('[data-run="meadow-safe"] .map canvas[data-step]')
    stages = look.find(".stage[data-run]")
    expect(stages).to_have_count(2)
    runs = [stage.get_attribute("data-run") for stage in stages.all()]
    assert runs == ["meadow-safe", "meadow-unsafe"]  # the safe one first
    assert urlsplit(look.page.url).fragment.split("?")[0] == "/compare/meadow-safe/meadow-unsafe"


def test_a_link_brings_back_run_step_layer_and_view(look: Looking) -> None:
    look.open("#/run/meadow-safe?step=6&layer=v")
    look.painted(6, "v")
    look.button("Zoom in").click()
    look.page.keyboard.press("ArrowRight")
    look.painted(7, "v")
    look.page.wait_for_url("**step=7&layer=v&view=**")
    link = look.page.url.partition("/#")[2]
    look.open(f"#{link}")
    look.painted(7, "v")
    look.page.wait_for_timeout(400)
    assert look.page.url.partition("/#")[2] == link


@pytest.mark.parametrize("link", ["#/run/none", "#/run/../../etc"])
def test_a_link_to_no_run_says_so(look: Looking, link: str) -> None:
    look.allowed = ("404",)
    look.open(link)
    look.sees("main h1", "This run can't be shown")
    expect(look.find(".map canvas")).to_have_count(0)
    look.page.get_by_role("link", name="Runs", exact=True).click()
    look.sees('tr[data-run="meadow-safe"]')


@pytest.mark.parametrize("link", ["#/run", "#/compare/x", "#nonsense?step=-1&view=0,0,0"])
def test_a_link_that_names_no_view_shows_the_list(look: Looking, link: str) -> None:
    look.open(link)
    look.sees('tr[data-run="meadow-safe"]')
    expect(look.page.get_by_role("link", name="Runs", exact=True)).to_have_attribute(
        "aria-current", "page"
    )


def test_a_step_beyond_the_end_shows_the_end(look: Looking, site: Site) -> None:
    last = len(path_of(site, "meadow-safe"))
    look.open("#/run/meadow-safe?step=999999")
    look.painted(last)


def test_all_can_be_done_by_keyboard(look: Looking, site: Site) -> None:
    press = look.page.keyboard.press
    path = path_of(site, "meadow-safe")
    last = len(path)
    look.open()
    look.sees('tr[data-run="meadow-safe"]')
    look.page.get_by_role("link", name="meadow-safe", exact=True).focus()
    press("Enter")
    look.painted(0)
    expect(look.find("h1")).to_be_focused()
    press("ArrowRight")
    press("Shift+ArrowRight")
    look.painted(11)
    press("Home")
    look.painted(0)
    press("End")
    look.painted(last)
    press("ArrowLeft")
    look.painted(last - 1)
    press("?")
    look.sees("dialog[open]")
    press("Escape")
    expect(look.find("dialog[open]")).to_have_count(0)
    look.find(".map canvas").focus()
    here = path[last - 2]
    key, there = ("ArrowUp", here - 8) if here >= 8 else ("ArrowDown", here + 8)
    press(key)
    look.sees(f'.readout[data-cell="{there}"]')
    press("Enter")
    look.sees(".way h2", "Way home from row")
    press("Escape")
    expect(look.find(".way")).to_have_count(0)
    press("Home")
    look.painted(0)
    press("Space")
    expect(look.button("Pause playing")).to_be_visible()
    press("Space")
    expect(look.button("Play")).to_be_visible()
    press("+")
    look.page.wait_for_url("**view=**")


def test_the_map_zooms_at_the_pointer_and_is_moved_by_dragging(look: Looking) -> None:
    look.open("#/run/meadow-safe?step=0")
    look.painted(0)
    x, y = look.point(9, (8, 8))
    look.page.mouse.wheel(0, -400)
    look.page.wait_for_url("**view=**")
    look.page.mouse.move(x + 1, y)
    look.sees('.readout[data-cell="9"]')
    zoomed = look.page.url
    look.page.mouse.down()
    look.page.mouse.move(x + 90, y + 40, steps=4)
    look.page.mouse.up()
    expect(look.page).not_to_have_url(zoomed)
    expect(look.find(".way")).to_have_count(0)
    look.button("Show the whole map").click()
    expect(look.page).to_have_url(f"{look.site.address}/#/run/meadow-safe?step=0")


def ground_on_view(look: Looking) -> FloatRect:
    """Open the terrain at its first moment; give where its map is."""
    look.open("#/run/ground?step=0")
    look.painted(0)
    box = look.find(".map canvas").bounding_box()
    assert box is not None
    return box


def test_two_fingers_zoom_about_what_is_between_them(look: Looking, site: Site) -> None:
    box = ground_on_view(look)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    hand = look.page.context.new_cdp_session(look.page)
    for kind, apart in (("Start", 40), ("Move", 50), ("Move", 60), ("End", 0)):
        ends = [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]
        points = {"type": f"touch{kind}", "touchPoints": ends if apart else []}
        hand.send("Input.dispatchTouchEvent", points)
    expect(look.page).to_have_url(re.compile(r"[?&]view="))
    view = re.search(r"view=([\d.]+),([\d.]+),([\d.]+)", look.page.url)
    assert view is not None
    rows, columns = Run(site.root / "ground").fields()["height"].shape
    before = min(box["width"] / columns, box["height"] / rows) * MARGIN
    assert float(view[3]) == pytest.approx(1.5 * before, rel=0.02)
    middle = columns / 2, rows / 2
    assert (float(view[1]), float(view[2])) == pytest.approx(middle, abs=0.1)
    expect(look.find(".way")).to_have_count(0)


def tap(look: Looking, *fingers: list[tuple[float, float]]) -> None:
    """Put fingers on the page, move them from place to place, and lift them."""
    hand = look.page.context.new_cdp_session(look.page)
    for number, places in enumerate(fingers):
        points = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(places)]
        kind = "touchMove" if number else "touchStart"
        hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    hand.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def test_a_tap_reads_a_cell_out_and_a_second_one_puts_it_away(look: Looking) -> None:
    look.open("#/run/meadow-safe?step=4")
    look.painted(4)
    place = look.point(9, (8, 8))
    look.page.mouse.move(2, 2)
    expect(look.find(".readout")).to_have_count(0)
    tap(look, [place])
    look.sees(".way h2", "Way home from row 1, column 1")
    look.sees('.readout[data-cell="9"] dd[data-layer="v"]')
    tap(look, [place])
    expect(look.find(".way")).to_have_count(0)
    expect(look.find(".readout")).to_have_count(0)


def test_two_fingers_moved_together_move_the_map(look: Looking, site: Site) -> None:
    box = ground_on_view(look)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    places = [[(x - 40 + by, y + by), (x + 40 + by, y + by)] for by in (0, 20, 40, 60)]
    tap(look, *places)
    look.page.wait_for_url("**view=**")
    view = re.search(r"view=([\d.]+),([\d.]+),([\d.]+)", look.page.url)
    assert view is not None
    rows, columns = Run(site.root / "ground").fields()["height"].shape
    zoom = min(box["width"] / columns, box["height"] / rows) * MARGIN
    assert float(view[3]) == pytest.approx(zoom, rel=0.01)
    moved = columns / 2 - 60 / zoom, rows / 2 - 60 / zoom
    assert (float(view[1]), float(view[2])) == pytest.approx(moved, abs=0.1)


def test_a_view_off_the_map_shows_its_nearest_part(look: Looking) -> None:
    look.open("#/run/meadow-safe?step=3&view=-1e9,4,40")
    look.painted(3)
    box = look.find(".map canvas").bounding_box()
    assert box is not None
    look.page.mouse.move(box["x"] + box["width"] / 2 + 20, box["y"] + box["height"] / 2 + 20)
    look.sees('.readout[data-cell="32"]')


@pytest.mark.parametrize("size", [(1440, 900), (820, 1180)])
def test_the_map_keeps_its_height_whatever_the_layer(look: Looking, size: tuple[int, int]) -> None:
    look.page.set_viewport_size({"width": size[0], "height": size[1]})
    look.open("#/run/ground?step=3")
    look.painted(3)
    heights, legends = set(), set()
    for number in range(1, 9):
        look.page.keyboard.press(str(number))
        look.page.wait_for_function(
            "() => document.querySelector('.segments [aria-pressed=true]').textContent"
            " && !document.querySelector('.map .working')"
        )
        box = look.find(".map canvas").bounding_box()
        own = look.find(".legend").first.bounding_box()
        assert box is not None
        assert own is not None
        heights.add(round(box["height"], 1))
        legends.add(round(own["height"]))
    assert len(heights) == 1
    if size == (1440, 900):
        assert len(legends) > 1  # or there would be nothing to make room for


def test_a_cells_way_home_comes_into_sight_and_leaves_the_focus(look: Looking) -> None:
    look.open("#/run/based?step=4")
    look.painted(4)
    look.explained(4)
    side = look.find(".side")
    side.evaluate("(side) => side.scrollTo(0, side.scrollHeight)")
    place = look.point(9, (8, 8))
    look.page.mouse.click(*place)
    look.sees(".way h2")
    expect(look.find(".way h2")).to_be_in_viewport()
    look.find(".map canvas").focus()
    side.evaluate("(side) => side.scrollTo(0, side.scrollHeight)")
    look.page.keyboard.press("ArrowDown")
    look.page.keyboard.press("Enter")
    expect(look.find(".way h2")).to_be_in_viewport()
    expect(look.find(".map canvas")).to_be_focused()


def test_the_truth_is_in_colour_where_it_is_unseen_and_paler(look: Looking) -> None:
    look.allowed = ("willReadFrequently",)
    look.open("#/run/ground?step=2&layer=truth")
    look.painted(2, "truth")
    look.sees(".legend", "paler: not yet seen")
    spread = """(canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let coloured = 0, drawn = 0;
        for (let i = 0; i < data.length; i += 4) {
            if (!data[i + 3]) continue;
            drawn += 1;
            const parts = [data[i], data[i + 1], data[i + 2]];
            if (Math.max(...parts) - Math.min(...parts) > 20) coloured += 1;
        }
        return coloured / drawn;
    }"""
    assert look.find(".map canvas").evaluate(spread) > 0.9
    look.page.keyboard.press("1")
    look.painted(2)
    assert look.find(".map canvas").evaluate(spread) < 0.7


def test_layers_are_buttons_and_the_arrows_stay_with_time(look: Looking) -> None:
    look.open("#/run/meadow-safe?step=3")
    look.painted(3)
    button = look.button("Safe region")
    button.click()
    look.painted(3, "v")
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(look.button("Ground")).to_have_attribute("aria-pressed", "false")
    look.page.keyboard.press("ArrowRight")
    look.painted(4, "v")


def test_a_view_has_a_title_and_its_heading_takes_the_focus(look: Looking) -> None:
    look.open("#/compare/meadow-safe/meadow-unsafe")
    look.explained(0)
    expect(look.page).to_have_title("meadow-safe and meadow-unsafe · Homeward")
    assert look.page.evaluate("document.activeElement === document.body")
    for name in ("New run", "Draw a world", "Counter-examples", "Runs"):
        link = look.page.get_by_role("link", name=name, exact=True)
        link.press("Enter")
        expect(look.find("#main h1").first).to_be_focused()
        expect(look.page).to_have_title(f"{name} · Homeward")
    look.page.get_by_role("link", name="based", exact=True).click()
    expect(look.page).to_have_title("based · Homeward")
    expect(look.find("h1")).to_be_focused()


def test_a_link_that_is_followed_while_the_view_writes_its_own_is_kept(look: Looking) -> None:
    look.open("#/run/meadow-safe?step=3")
    look.painted(3)
    look.page.evaluate("""() => {
        const real = window.setTimeout;
        window.setTimeout = (task, ms) => (ms === 250 ? ((window.due = task), 0) : real(task, ms));
    }""")
    look.page.keyboard.press("ArrowRight")
    look.painted(4)
    look.page.evaluate('() => { location.hash = "#/new"; window.due(); }')
    expect(look.page).to_have_title("New run · Homeward")
    assert look.page.url.endswith("#/new")


def test_the_plots_say_what_was_recorded(look: Looking, site: Site) -> None:
    run = Run(site.root / "meadow-safe")
    records = list(run.records())
    times = np.fromfile(run.directory / "plan_ms.f32", np.float32)
    look.open("#/run/meadow-safe?step=5")
    look.painted(5)
    for title, value in (("Proven safety", records[5].bounds[0]), ("Planning time", times[5])):
        plot = look.find(f'.plot-box[aria-label^="{title}"]')
        said = re.search(r" (\d[\d.]*)(;|$)", plot.get_attribute("aria-label") or "")
        assert said is not None
        assert float(said[1]) == pytest.approx(value, rel=1e-3)
        expect(plot.locator(".plot-area")).to_be_visible()
    first = unpack(look.get("runs/meadow-safe/records").body())[0]["known_at_start"]
    look.scrub(0)
    look.painted(0)
    known = look.find(".plot").nth(1).locator(".plot-values b")
    assert float(known.inner_text()) == pytest.approx(first, rel=1e-3)


def test_the_first_plot_says_what_is_proven_of_the_plan_and_of_the_move(
    look: Looking, site: Site
) -> None:
    records = list(Run(site.root / "meadow-paper").records())
    step = next(n for n, r in enumerate(records) if r.kept_bounds[0] - r.bounds[0] > 1e-3)
    look.open(f"#/run/meadow-paper?step={step}")
    look.painted(step)
    values = look.find(".plot-values").first
    bound, kept = records[step].bounds[0], records[step].kept_bounds[0]
    for name, value in (("plan", bound), ("move made", kept)):
        shown = ">0.9999" if 0.9999 < value < 1.0 else f"{math.floor(value * 1e4) / 1e4:g}"
        expect(values).to_contain_text(f"{name} {shown}")
    expect(values).to_contain_text("δ = 0.8")


def test_a_click_on_a_plot_moves_the_cursor(look: Looking, site: Site) -> None:
    last = len(path_of(site, "meadow-safe"))
    look.open("#/run/meadow-safe?step=0")
    look.painted(0)
    look.explained(0)  # the plots move down when the reasons come
    over = look.find(".plot .plot-area").first
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    look.page.mouse.click(box["x"] + box["width"] - 1, box["y"] + 20)
    look.painted(last)


def test_a_picture_of_the_view_is_saved(look: Looking) -> None:
    look.open("#/run/meadow-safe?step=5")
    look.painted(5)
    with look.page.expect_download() as download:
        look.button("Save a picture of this view").click()
    assert download.value.suggested_filename == "meadow-safe-5.png"
    content = download.value.path().read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    wide, high = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
    box = look.find(".map canvas").bounding_box()
    assert box is not None
    assert wide == round(box["width"])
    assert high > box["height"] + 60  # title and legend


def test_the_switch_turns_light_to_dark_and_is_remembered(look: Looking) -> None:
    look.open()
    expect(look.find("html")).to_have_attribute("data-theme", "light")
    look.button("Use dark colours").click()
    expect(look.find("html")).to_have_attribute("data-theme", "dark")
    look.page.reload()
    expect(look.find("html")).to_have_attribute("data-theme", "dark")


def test_the_counter_examples_say_where_the_naive_definition_errs(look: Looking) -> None:
    look.open("#/stories")
    stories = look.find(".story")
    expect(stories).to_have_count(4)  # with the budget
    loop = stories.nth(2)
    expect(loop).to_contain_text("The average loop")
    expect(loop.locator("tbody td").nth(0)).to_have_text("1 ✓")
    expect(loop.locator("tbody td").nth(1)).to_have_text("0.010 ✕")
    expect(loop.locator(".graphs svg")).to_have_count(2)
    expect(loop).to_contain_text("Before each move the explorer is called home with")
    expect(stories.nth(1)).to_contain_text("Proven 0: the planner subtracts a correction")
    loop.get_by_role("button", name="Call it off").click()
    expect(loop.locator(".walk-list")).to_contain_text("the rule promises 100")
    draws = loop.locator(".walk-list b").all_text_contents()
    assert int(draws[0]) < 10
    budget = stories.nth(3)
    budget.locator("input").fill("100")
    expect(budget).to_contain_text("after 100 of them, 13.3 of 100 come home")
    assert budget.locator(".hundred").first.locator("circle.home").count() < 35


def test_plots_wait_for_the_first_picture_and_label_only_ticks(look: Looking, site: Site) -> None:
    times = site.root / "ground" / TIMES
    np.geomspace(1.0, 4e4, times.stat().st_size // 4, dtype=np.float32).tofile(times)
    held: list[Route] = []
    holding = True
    look.page.route(
        "**/fields*", lambda route: held.append(route) if holding else route.continue_()
    )
    look.open("#/run/ground?step=0")
    look.sees(".run-head", "finished")
    look.page.wait_for_timeout(400)
    assert held
    expect(look.find(".plot")).to_have_count(0)
    holding = False
    for route in held:
        route.continue_()
    look.painted(0)
    expect(look.find(".plot .plot-area")).to_have_count(3)
    expect(look.find(".plot").nth(2).locator(".tick.left").last).to_have_text("10000")
    assert "–" not in look.find(".plot-area .tick").all_text_contents()
