"""The first screen: two explorers that play, three doors, and the list of runs."""

from __future__ import annotations

import base64
import json
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
from playwright.sync_api import expect

from lab.front import TARGET, record

if TYPE_CHECKING:
    from tests.web.page.looking import Looking, Site

WORLD = {"size": 12, "seed": 36, "walls": 0.15, "start": 78, "home": "start"}
RUNS = [
    ("meadow-safe", "grid", {**WORLD, "delta": 0.8, "limit": 9}),
    ("meadow-unsafe", "grid", {**WORLD, "explorer": "uncover"}),
    ("bold", "grid", {**WORLD, "delta": 0.6, "limit": 5}),
]


def stored() -> list[dict[str, Any]]:
    return list(json.loads(TARGET.read_text()))


def scrub(look: Looking, step: int) -> None:
    look.find(".player .scrub").evaluate(
        "(slider, step) => { slider.value = String(step);"
        " slider.dispatchEvent(new Event('input', { bubbles: true })); }",
        step,
    )


def test_the_recorded_pair_is_what_the_program_does_today() -> None:
    for old, new in zip(stored(), record(limit=40), strict=True):
        nexts = np.frombuffer(base64.b64decode(old["next"]), "<i4")
        assert nexts[:40].tolist() == np.frombuffer(base64.b64decode(new["next"]), "<i4").tolist()
        assert old["height"] == new["height"]


def test_two_explorers_play_by_themselves_and_one_is_trapped(look: Looking) -> None:
    look.open()
    screens = look.find(".player .screen")
    expect(screens).to_have_count(2)
    look.sees(".player button[aria-label='Pause playing']")
    look.page.wait_for_function("() => Number(document.querySelector('.player .scrub').value) > 2")
    step = stored()[1]["trapped"]
    scrub(look, step - 1)
    expect(look.find(".flag")).to_have_count(0)
    scrub(look, step)
    expect(look.find(".screen.unsafe .flag")).to_have_text(f"Trapped at step {step}")
    expect(look.find(".screen.unsafe .counters")).to_contain_text("none")
    expect(look.find(".screen.safe .counters")).to_contain_text("100 %")
    last = stored()[0]["steps"]
    scrub(look, last)
    for number, (name, run) in enumerate(zip(("safe", "unsafe"), stored(), strict=True)):
        canvas = look.find(".screen canvas").nth(number)
        expect(canvas).to_have_attribute("data-step", str(run["steps"]))
        seen = np.frombuffer(base64.b64decode(run["seen"]), "<i4")
        share = f"{100 * (seen >= 0).mean():.0f}"
        expect(look.find(f".screen.{name} .counters dd").first).to_have_text(f"{share} %")


def test_the_film_says_which_world_it_shows_and_what_its_colours_mean(look: Looking) -> None:
    look.open()
    caption = look.find(".film-caption")
    expect(caption).to_contain_text(f"Film: synthetic Mars at δ = {stored()[0]['delta']:g}")
    expect(caption.locator(".swatch")).to_have_text(
        ["seen", "not yet seen", "darker: no proven way home", "inside: way home proven"]
    )
    expect(look.find("section h2").filter(has_text="Your runs")).to_be_visible()


def test_who_prefers_stillness_is_not_moved(look: Looking) -> None:
    look.page.emulate_media(reduced_motion="reduce")
    look.open()
    look.sees(".player button[aria-label='Play']")
    look.page.wait_for_timeout(1000)
    expect(look.find(".player .scrub")).to_have_value("0")
    look.page.emulate_media(reduced_motion="no-preference")


def test_three_doors_lead_on(look: Looking) -> None:
    for door, title in (
        ("Try it yourself", "Call it off"),
        ("Use my terrain", "New run"),
        ("Read the reasons", "Three counter-examples"),
    ):
        look.open()
        look.page.get_by_role("link", name=door).click()
        expect(look.find("main h1")).to_contain_text(title)


def test_own_terrain_begins_with_its_upload(look: Looking) -> None:
    look.open()
    look.page.get_by_role("link", name="Use my terrain").click()
    expect(look.find('input[value="rover"]')).to_be_checked()
    expect(look.find('input[value="upload"]')).to_be_checked()
    expect(look.find(".drop input[type=file]")).to_be_visible()
    expect(look.page.get_by_label("Maximum climb")).to_have_value("20")


def test_a_row_has_a_picture_the_share_seen_and_the_outcome(look: Looking) -> None:
    look.open()
    row = look.find('tr[data-run="meadow-unsafe"]')
    expect(row.locator("canvas.thumbnail:not(.empty)")).to_be_visible()
    expect(row).to_contain_text("trapped at step")
    expect(row).to_contain_text("No way home was left from then on.")
    expect(row).to_contain_text("%")
    pair = look.find("tbody.pair-rows")
    expect(pair.locator("tr")).to_have_count(2)
    expect(pair).to_contain_text("compare with meadow-unsafe")


def test_the_list_is_sorted_filtered_and_paged_and_many_are_deleted(
    look: Looking, site: Site
) -> None:
    copies = [f"copy-{number:02}" for number in range(25)]
    for name in copies:
        shutil.copytree(site.root / "bold", site.root / name)
    long = "x" * 100
    shutil.copytree(site.root / "bold", site.root / long)
    look.open()
    rows = look.find("tr[data-run]")
    look.sees(".pages", "page 1 of 2")
    look.button("Next").click()
    look.sees(".pages", "page 2 of 2")
    look.button("run").click()
    expect(rows.first).to_have_attribute("data-run", "bold")
    look.button("run").click()
    expect(rows.first).to_have_attribute("data-run", long)
    width = rows.first.locator("th").evaluate("(cell) => cell.getBoundingClientRect().width")
    assert width <= 330  # one long name leaves room for the rest
    look.page.get_by_label("that are").select_option("finished")
    look.page.get_by_label("Show runs named").fill("copy")
    look.sees(".sieve", "25 found")
    look.page.once("dialog", lambda dialog: dialog.accept())
    for name in copies[-3:]:
        look.page.get_by_label(f"Select {name}").check()
    look.sees("section header", "Compare the 3")
    look.button("Delete the 3").click()
    look.sees(".sieve", "22 found")
    assert not any((site.root / name).exists() for name in copies[-3:])
    for name in (*copies[:-3], long):
        shutil.rmtree(site.root / name)
