"""Two runs side by side, and the list that they are chosen from."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.web.frames import unpack

from homeward.runs import Run
from homeward.web.frames import pack

if TYPE_CHECKING:
    from playwright.sync_api import Route
    from tests.web.page.looking import Looking, Site

WORLD = {"size": 8, "seed": 5, "walls": 0.15}
RUNS = [
    ("meadow-safe", "grid", {**WORLD, "delta": 0.8}),
    ("meadow-unsafe", "grid", {**WORLD, "explorer": "uncover", "limit": 6}),
    ("bold", "grid", {**WORLD, "delta": 0.6, "limit": 12}),
    ("ground", "rover", {"rows": 200, "columns": 300, "sensor_range": 60.0, "limit": 15}),
]


def steps_of(site: Site, name: str) -> int:
    return len((site.root / name / "steps.jsonl").read_text().splitlines())


def views_of(url: str) -> dict[str, str]:
    return dict(re.findall(r"(view2?)=([^&]+)", url))


def test_maps_of_one_shape_share_a_view(look: Looking) -> None:
    look.open("#/compare/meadow-safe/meadow-unsafe?step=3")
    look.painted(3, map_=0)
    look.painted(3, map_=1)
    look.page.get_by_role("button", name="Zoom in").nth(1).click()
    look.page.wait_for_url("**view=**")
    assert views_of(look.page.url).keys() == {"view"}


def test_a_line_that_comes_later_is_drawn_beside_the_others(look: Looking) -> None:
    """As in a live comparison, where the second run has no steps at first."""
    held: list[Route] = []
    look.page.route("**/runs/bold/records*", lambda route: held.append(route))
    look.open("#/compare/meadow-safe/bold?step=3")
    look.painted(3, map_=0)
    known = look.find(".plot").nth(1)
    expect(known.locator(".plot-area")).to_have_count(1)
    expect(known.locator(".plot-values > span")).to_have_count(1)
    for route in held:
        route.continue_()
    expect(known.locator(".plot-values > span")).to_have_count(2)
    expect(known.locator(".plot-area")).to_have_count(1)


def test_a_line_that_goes_leaves_the_others(look: Looking, site: Site) -> None:
    """As in a live comparison, while the server still computes what is known by the new steps."""

    def longer(route: Route) -> None:
        details = route.fetch().json()
        route.fulfill(json={**details, "steps": details["steps"] + 1})

    def without_known(route: Route) -> None:
        about, arrays = unpack(route.fetch().body())
        del arrays["known"]
        route.fulfill(body=pack(arrays, step=about["step"], total=about["total"]))

    look.open("#/compare/meadow-safe/bold?step=3")
    look.painted(3, map_=0)
    known = look.find(".plot").nth(1)
    expect(known.locator(".plot-values > span")).to_have_count(2)
    expect(known.locator(".plot-area")).to_have_count(1)
    look.page.route("**/runs/bold", longer)
    look.page.route("**/runs/bold/records*", without_known)
    for _ in range(60):  # until the page listens: it hears of the change, and asks again
        (site.root / "bold" / "manifest.json").touch()
        look.page.wait_for_timeout(500)
        if known.locator(".plot-values > span").count() == 1:
            break
    expect(known.locator(".plot-values > span")).to_have_count(1)
    expect(known.locator(".plot-area")).to_have_count(1)


def test_maps_of_different_shapes_have_views_of_their_own(look: Looking) -> None:
    look.allowed = ("willReadFrequently",)
    look.open("#/compare/meadow-safe/ground?step=3")
    look.painted(3, map_=0)
    second = look.painted(3, map_=1)
    box = look.find(".map canvas").nth(0).bounding_box()
    assert box is not None
    look.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    look.page.mouse.wheel(0, 100)  # scrolls the page
    look.page.wait_for_timeout(300)
    assert "view=" not in look.page.url
    look.page.keyboard.down("Control")
    for _ in range(8):
        look.page.mouse.wheel(0, -300)
    look.page.keyboard.up("Control")
    look.page.wait_for_url("**view=**")
    assert views_of(look.page.url).keys() == {"view"}
    drawn = second.evaluate(
        """(canvas) => { const data = canvas.getContext("2d").getImageData(
            0, 0, canvas.width, canvas.height).data;
            return data.filter((part, i) => i % 4 === 3 && part).length * 4 / data.length; }"""
    )
    assert drawn > 0.5  # all of it, with a margin
    look.page.mouse.move(2, 2)
    look.page.keyboard.press("-")
    look.page.wait_for_url("**view2=**")
    link = look.page.url.partition("#")[2]
    look.open(f"#{link}")
    look.painted(3, map_=1)
    look.page.wait_for_timeout(400)
    assert look.page.url.partition("#")[2] == link


def test_what_is_known_is_told_with_its_unit_where_they_differ(look: Looking) -> None:
    look.open("#/compare/meadow-safe/ground?step=3")
    plot = look.find(".plot").nth(1)
    values = plot.locator(".plot-values")
    expect(values).to_contain_text("fraction of squares seen")
    expect(values).to_contain_text("entropy reduction in nats")
    expect(values).to_contain_text("meadow-safe")  # both are safe: their names tell them apart
    expect(values).to_contain_text("ground")
    expect(plot.locator(".tick.right").first).to_be_visible()
    for number in (0, 1):
        named = look.find(".why header").nth(number)
        name = ["meadow-safe", "ground"][number]
        expect(named).to_have_text(re.compile(rf"^Why this move\?next: step \d+{name}$"))
    look.open("#/compare/meadow-safe/meadow-unsafe?step=3")
    expect(values).to_contain_text("unsafe (uncover)")
    expect(plot.locator(".tick.left").first).to_be_visible()
    expect(plot.locator(".tick.right")).to_have_count(0)
    expect(plot.locator("figcaption")).to_contain_text("fraction of squares seen")


def test_a_table_tells_what_each_run_came_to_and_leads_to_it(look: Looking, site: Site) -> None:
    look.open("#/compare/meadow-safe/meadow-unsafe/ground")
    rows = look.find("tr[data-standing]")
    expect(rows).to_have_count(3)
    expect(rows.nth(0).locator("td").nth(0)).to_have_text("0.8")
    expect(rows.nth(1).locator("td").nth(0)).to_have_text("unsafe")
    for row in rows.all():
        expect(row.locator("td").nth(1)).to_have_text(re.compile(r"^\d+\s%$"))
    expect(rows.nth(0).locator("td").nth(3)).to_have_text(str(steps_of(site, "meadow-safe")))
    expect(rows.nth(2).locator("td").nth(2)).to_have_text(re.compile(r"^[\d.]+$"))  # nats
    for name in ("meadow-safe", "ground"):
        expect(look.find(f'.stage[data-run="{name}"] h2 a')).to_have_attribute(
            "href", f"#/run/{name}?step=0"
        )
    rows.nth(0).locator("a").click()
    look.page.wait_for_url("**/#/run/meadow-safe*")


def test_runs_that_differ_in_their_level_are_named_by_it(look: Looking, site: Site) -> None:
    Run.create(site.root / "other-level", "grid", {**WORLD, "delta": 0.99}).resume()
    look.open("#/compare/meadow-safe/other-level")
    rows = look.find("tr[data-standing]")
    expect(rows.locator("a")).to_have_text(["δ = 0.8", "δ = 0.99"])
    expect(look.find(".plot").nth(1)).to_contain_text("δ = 0.99")
    look.page.goto("about:blank")
    shutil.rmtree(site.root / "other-level")


def test_a_comparison_says_in_which_settings_the_runs_differ_and_can_be_saved(
    look: Looking,
) -> None:
    look.open("#/compare/meadow-safe/meadow-unsafe")
    look.sees("main", "Settings that differ: δ, Type of explorer, Maximum steps. All others")
    look.sees("main", "It is one world")
    row = look.find('tr[data-standing="meadow-safe"]')
    expect(row.locator("td").nth(3)).to_have_text(re.compile(r"^(1|>?0\.\d+)$"))
    with look.page.expect_download() as download:
        look.page.get_by_role("link", name="Save as a page").click()
    assert "<title>meadow-safe and meadow-unsafe" in download.value.path().read_text()


def test_the_run_that_learned_most_is_marked_unless_it_is_trapped(look: Looking) -> None:
    look.open("#/compare/bold/meadow-safe")
    expect(look.find("tr.best")).to_have_attribute("data-standing", "meadow-safe")
    look.sees("tr.best", "learned most")

    def trapped(route: Route) -> None:
        route.fulfill(json={**route.fetch().json(), "trapped": 3})

    look.page.route("**/runs/meadow-safe", trapped)
    look.open("#/compare/bold/meadow-safe")
    look.sees('tr[data-standing="meadow-safe"]', "trapped at step 3 No way home was left")
    expect(look.find("tr.best")).to_have_attribute("data-standing", "bold")


def test_all_plots_reach_as_far_as_the_longer_run(look: Looking, site: Site) -> None:
    last = steps_of(site, "meadow-safe")
    assert steps_of(site, "bold") < last
    look.open(f"#/compare/meadow-safe/bold?step={last}")
    look.painted(last)
    expect(look.find(".plot .plot-area")).to_have_count(3)
    for over in look.find(".plot .plot-area").all():
        marker, box = over.locator(".plot-now").bounding_box(), over.bounding_box()
        assert marker is not None
        assert box is not None
        assert marker["x"] == pytest.approx(box["x"] + box["width"], abs=2)
    look.scrub(last // 2)
    look.painted(last // 2)
    places = {
        round(over.locator(".plot-now").bounding_box()["x"])  # type: ignore[index]
        for over in look.find(".plot .plot-area").all()
    }
    assert len(places) == 1


def test_the_map_of_the_shorter_run_says_when_it_ended(look: Looking, site: Site) -> None:
    short = steps_of(site, "meadow-unsafe")
    look.open(f"#/compare/meadow-safe/meadow-unsafe?step={short}")
    look.painted(short, map_=1)
    expect(look.find(".moment")).to_have_text([f"after {short} steps"] * 2)
    look.page.keyboard.press("ArrowRight")
    look.painted(short + 1, map_=0)
    told = [f"after {short + 1} steps", f"ended after {short} steps"]
    expect(look.find(".moment")).to_have_text(told)


def test_a_run_that_is_missing_leaves_the_other_at_its_step(look: Looking) -> None:
    look.allowed = ("404",)
    look.open("#/compare/meadow-safe/nope?step=12")
    look.painted(12)
    look.sees(".count", "after 12 of")
    look.sees('[data-run="nope"]', "there is no run named nope")
    expect(look.find("main")).to_have_count(1)


def test_a_run_beside_itself_is_compared(look: Looking) -> None:
    look.open("#/compare/bold/bold?step=2")
    look.painted(2, map_=0)
    look.painted(2, map_=1)
    expect(look.find(".plot .plot-area")).to_have_count(3)


def test_pairs_stand_together_and_many_runs_are_found_by_name(look: Looking, site: Site) -> None:
    pairs = [f"world-{n}-{which}" for n in range(4) for which in ("safe", "unsafe")]
    look.open()
    look.sees('tr[data-run="bold"]')
    expect(look.find(".sieve")).to_have_count(0)
    for age, name in enumerate(sorted(pairs, key=lambda name: name[::-1])):
        folder = site.root / name
        shutil.copytree(site.root / f"meadow-{name.rpartition('-')[2]}", folder)
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["created"] = f"2031-01-01T00:00:{age:02}+00:00"
        (folder / "manifest.json").write_text(json.dumps(manifest))
    try:
        rows = look.find("tr[data-run]")
        expect(rows).to_have_count(12)
        names = rows.evaluate_all("(rows) => rows.map((row) => row.dataset.run)")
        for number in range(4):
            at = names.index(f"world-{number}-safe")
            assert names[at + 1] == f"world-{number}-unsafe"
        look.page.get_by_label("Show runs named").fill("LD-2")
        expect(rows).to_have_count(2)
        look.sees(".sieve", "1 found")
        look.page.get_by_label("Show runs named").fill("nowhere")
        expect(rows).to_have_count(0)
        look.sees(".sieve", "0 found")
        look.page.get_by_label("Show runs named").fill("")
        expect(rows).to_have_count(12)
    finally:
        for name in pairs:
            shutil.rmtree(site.root / name)
