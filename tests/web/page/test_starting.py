"""Runs that are started from the page, and what can go wrong with them."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from playwright.sync_api import expect

from homeward.runs import Run

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Route
    from tests.web.page.looking import Looking, Site

RUNS = [("first", "grid", {"size": 4, "seed": 1})]


def terrain_file(path: Path) -> Path:
    """Write a GeoTIFF of rolling ground, 30 x 40 pixels of 10 m."""
    rasterio = pytest.importorskip("rasterio")
    rows, columns = np.mgrid[0:30, 0:40]
    heights = (2.0 * np.sin(rows / 5.0) + 2.0 * np.cos(columns / 6.0)).astype(np.float32)
    with rasterio.open(
        path,
        "w",
        driver="GTiff",
        height=30,
        width=40,
        count=1,
        dtype="float32",
        crs="EPSG:32633",
        transform=rasterio.Affine(10.0, 0.0, 500_000.0, 0.0, -10.0, 5_000_000.0),
    ) as file:
        file.write(heights, 1)
    return path


def square(path: Path, right: float, down: float) -> Path:
    """Write a square whose sides are 60 m, from its corner in the terrain of `terrain_file`."""
    left, top = 500_000.0 + right, 5_000_000.0 - down
    ring = [[left, top], [left + 60, top], [left + 60, top - 60], [left, top - 60], [left, top]]
    path.write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    return path


def fill(look: Looking, label: str, value: str) -> None:
    look.page.get_by_label(label).first.fill(value)


def test_a_grid_run_is_started_and_watched_live_to_its_end(look: Looking, site: Site) -> None:
    look.open("#/new")
    fill(look, "Squares per side", "6")
    look.page.get_by_label("Also run an unsafe explorer").uncheck()
    look.find(
        "summary",
    ).filter(has_text="More settings").click()
    fill(look, "Name", "a new one")
    look.button("Start and watch").click()
    look.page.wait_for_url("**/#/run/a-new-one*")
    look.sees(".run-head", "finished")
    last = len(list((site.root / "a-new-one" / "steps.jsonl").read_text().splitlines()))
    assert last > 0
    look.painted(last)
    look.sees(".count", f"after {last} of {last}")
    assert Run.open(site.root / "a-new-one").config["delta"] == 1.0  # as on the command line


def test_a_run_that_is_started_before_the_settings_are_known_has_the_usual_level(
    look: Looking, site: Site
) -> None:
    held: list[Route] = []
    look.page.route("**/api/v1/kinds*", lambda route: held.append(route))
    look.open("#/new")
    look.page.get_by_label("Also run an unsafe explorer").uncheck()
    with look.page.expect_request("**/api/v1/runs") as request:
        look.button("Start and watch").click()
    sent: Any = request.value.post_data_json
    assert "delta" not in sent["config"]
    for route in held:
        route.continue_()


COUNTS = """
    window.counts = [];
    new MutationObserver(() => {
        const playing = document.querySelector("[aria-label='Pause playing']");
        if (playing) window.counts.push(document.querySelector(".count").textContent);
    }).observe(document.body, { childList: true, subtree: true, attributes: true });
"""
"""Notes the counts of steps while a run is played."""


def test_a_run_that_ended_before_it_was_watched_is_played(look: Looking, site: Site) -> None:
    last = Run.open(site.root / "first").manifest.steps
    look.open("#/new")
    look.sees(".level")  # a page that is not there yet would open the link as one that was sent
    look.page.evaluate(COUNTS)
    look.page.evaluate("location.hash = '#/run/first'")
    look.painted(last)
    look.sees("button[aria-label='Play']")
    assert look.page.evaluate("window.counts[0]").startswith("after 0 of")


def test_the_level_is_said_in_words(look: Looking) -> None:
    look.open("#/new")
    slider = look.page.get_by_label("Safety level")
    expect(look.find("#level-meaning")).to_contain_text("in every possible world")
    look.page.get_by_text("Terrain", exact=True).click()
    expect(look.find("#level-meaning")).to_contain_text("in at most 1 of 50 such worlds")
    slider.focus()
    look.page.keyboard.press("ArrowRight")
    expect(look.find(".level-number")).to_have_value("0.99")
    expect(look.find("#level-meaning")).to_contain_text("in at most 1 of 100 such worlds")
    look.page.keyboard.press("End")
    expect(look.find("#level-meaning")).to_contain_text("in every possible world")


def test_what_must_stay_true_is_asked_for_and_refused_in_the_servers_sentence(
    look: Looking, site: Site
) -> None:
    look.allowed = ("400",)
    look.open("#/new")
    fill(look, "Squares per side", "5")
    look.page.get_by_label("Also run an unsafe explorer").uncheck()
    look.page.get_by_text("Bases", exact=True).click()
    fill(look, "Positions of the bases", "9,9")
    look.button("Start and watch").click()
    look.sees('[role="alert"] .message', "a base, row 9 and column 9, is off the map")
    look.page.get_by_text("The start", exact=True).click()
    look.find("summary").filter(has_text="More criteria").click()
    fill(look, "Home within", "40")
    fill(look, "with probability", "0.6")
    expect(look.page.get_by_label("Recall after")).to_have_count(0)
    fill(look, "Stay inside rows", "0:7")
    look.button("Start and watch").click()
    look.sees('[role="alert"] .message', "is off the map of 5 rows and 5 columns")
    fill(look, "Stay inside rows", "0:4")
    expect(look.page.get_by_label("Stay inside with probability")).to_have_count(0)
    look.find("summary").filter(has_text="More settings").click()
    fill(look, "Name", "promised")
    fill(look, "Minimum rate", "0.01")
    look.button("Start and watch").click()
    look.page.wait_for_url("**/#/run/promised*")
    look.sees(".run-head", "finished")
    config = Run.open(site.root / "promised").config
    assert (config["home"], config["algorithm"], config["floor"]) == ("start", "rate", 0.01)
    assert (config["back_within"], config["back_within_delta"]) == (40, 0.6)
    assert config["keep_in"] == [[0, 4], [0, 4]]
    assert "keep_in_delta" not in config


def test_an_area_of_a_terrain_is_sent_as_numbers(look: Looking) -> None:
    look.allowed = ("400",)
    look.open("#/new")
    look.page.get_by_text("Terrain", exact=True).first.click()
    look.page.get_by_label("Also run an unsafe explorer").uncheck()
    look.find("summary").filter(has_text="More criteria").click()
    area = look.page.get_by_label("Stay inside polygons")
    area.fill("0,0 9,0 9,9\n0,0 0,5 5,5 0,0")
    with look.page.expect_request("**/api/v1/runs") as request:
        look.button("Start and watch").click()
    first = [[0, 0], [9, 0], [9, 9], [0, 0]]
    second = [[0, 0], [0, 5], [5, 5], [0, 0]]
    sent: Any = request.value.post_data_json
    assert sent["config"]["keep_in"] == [[first], [second]]
    look.sees('[role="alert"] .message')


def test_an_uploaded_terrain_is_explored_live(look: Looking, site: Site, tmp_path: Path) -> None:
    path = terrain_file(tmp_path / "hills.tif")
    look.open("#/new")
    look.page.get_by_text("Terrain", exact=True).first.click()
    look.page.get_by_text("Your file").click()
    look.find(".drop input[type=file]").set_input_files(path)
    look.sees("[data-upload]", "40 columns × 30 rows of pixels, 10 × 10 m each")
    look.sees(".preview-box canvas")
    look.page.get_by_label("Also run an unsafe explorer").uncheck()
    look.find("summary").filter(has_text="More settings").click()
    fill(look, "Name", "hills")
    fill(look, "Maximum steps", "8")
    look.button("Start and watch").click()
    look.page.wait_for_url("**/#/run/hills*")
    look.sees(".run-head", "finished")
    look.painted(8)
    assert len((site.root / "hills" / "steps.jsonl").read_text().splitlines()) == 8
    look.find(".drawer summary").click()
    look.sees(".settings", "hills.tif")
    look.sees(".settings", "Coordinate system")
    look.sees(".settings", "WGS 84 / UTM zone 33N")
    assert (site.root / "hills" / "summary.md").read_text().startswith("# Exploration of hills.tif")


def test_a_terrain_is_explored_beside_uploaded_areas(
    look: Looking, site: Site, tmp_path: Path
) -> None:
    look.open("#/new")
    look.page.get_by_text("Terrain", exact=True).first.click()
    look.page.get_by_text("Your file").click()
    look.find(".drop input[type=file]").set_input_files(terrain_file(tmp_path / "hills.tif"))
    look.sees(".preview-box canvas")
    look.page.get_by_label("Obstacles").set_input_files(square(tmp_path / "rocks.json", 20, 20))
    look.sees(".closed-file", "rocks.json: 1 polygon.")
    look.page.get_by_label("Keep out of").set_input_files(square(tmp_path / "fence.json", 320, 20))
    look.sees(".closed-file:nth-child(2)", "fence.json: 1 polygon.")
    look.page.get_by_label("Also run an unsafe explorer").check()
    look.find("summary").filter(has_text="More settings").click()
    fill(look, "Name", "fenced")
    fill(look, "Maximum steps", "4")
    look.button("Start and watch").click()
    look.page.wait_for_url("**/#/compare/fenced-safe/fenced-unsafe*")
    for number in range(2):
        look.sees(f".run-head >> nth={number}", "finished")
        expect(look.find(".map canvas").nth(number)).to_have_attribute(
            "data-step", re.compile(r"\d")
        )
    look.open("#/run/fenced-safe")
    look.sees(".run-head", "finished")
    look.find(".drawer summary").click()
    look.sees(".settings", "rocks.json")
    look.find(".drawer input[type=text]").fill("0.7")
    look.button("Run and compare").click()
    look.page.wait_for_url("**/#/compare/fenced-safe/fenced-safe-delta-0.7*")
    look.sees(".run-head >> nth=1", "finished")
    other = Run.open(site.root / "fenced-safe-delta-0.7").config["keep_out"]
    assert other == Run.open(site.root / "fenced-safe").config["keep_out"]


def test_a_terrain_is_dropped_on_the_page(look: Looking, tmp_path: Path) -> None:
    content = terrain_file(tmp_path / "hills.tif").read_bytes()
    look.open("#/new")
    look.page.get_by_text("Terrain", exact=True).first.click()
    look.page.get_by_text("Your file").click()
    carried = look.page.evaluate_handle(
        "(bytes) => { const data = new DataTransfer();"
        " data.items.add(new File([new Uint8Array(bytes)], 'dropped.tif')); return data; }",
        list(content),
    )
    look.find(".drop").dispatch_event("drop", {"dataTransfer": carried})
    look.sees("[data-upload]", "40 columns × 30 rows of pixels, 10 × 10 m each")
    look.sees("[data-upload]", "dropped.tif")


def test_what_is_no_terrain_is_refused_in_one_sentence(look: Looking, tmp_path: Path) -> None:
    look.allowed = ("422", "415", "400")
    path = tmp_path / "song.tif"
    path.write_bytes(b"this is no raster" * 100)
    look.open("#/new")
    look.page.get_by_text("Terrain", exact=True).first.click()
    look.page.get_by_text("Your file").click()
    look.find(".drop input[type=file]").set_input_files(path)
    look.sees('[role="alert"] .message')
    expect(look.find("[data-upload]")).to_have_count(0)
    look.button("Close this message").click()
    expect(look.find('[role="alert"] .message')).to_have_count(0)


def test_a_drawn_world_is_run_by_both_explorers(look: Looking, site: Site) -> None:
    look.open("#/draw")
    look.page.get_by_role("radio", name="Wall").click()
    look.find('[data-square="0,7"]').click()
    look.find('[data-square="5,0"]').focus()
    look.page.keyboard.press("4")
    look.page.keyboard.press("ArrowRight")
    look.page.keyboard.press("s")
    expect(look.find('[data-square="5,1"]')).to_have_accessible_name(
        "row 5, column 1: height 3, start"
    )
    look.button("Run both and compare").click()
    look.page.wait_for_url("**/#/compare/*/*")
    look.sees(".run-head >> nth=0", "finished")
    look.sees(".run-head >> nth=1", "finished")
    name = look.page.url.split("/compare/")[1].split("/")[0]
    drawn = Run.open(site.root / name).config["map"]
    assert drawn == "3333333#\n33333333\n33311133\n33311133\n33311133\n4c333333"
    look.sees(".map canvas[data-step] >> nth=1")


def test_the_papers_worlds_can_be_loaded(look: Looking) -> None:
    look.open("#/draw")
    for title in ("The pit", "The detour", "The gamble"):
        look.button(title).click()
        expect(look.find("textarea")).to_have_count(1)
    expect(look.find("[data-square]")).to_have_count(40)
    assert look.find("textarea").input_value().splitlines()[1] == "3e324312"


def test_a_run_is_paused_resumed_and_cancelled(look: Looking, site: Site) -> None:
    look.open("#/new")
    fill(look, "Squares per side", "60")
    look.page.get_by_label("Also run an unsafe explorer").uncheck()
    look.find("summary").filter(has_text="More settings").click()
    fill(look, "Name", "long")
    look.button("Start and watch").click()
    look.page.wait_for_url("**/#/run/long*")
    look.sees('.status:text-is("running")')
    look.sees(".live.on")
    look.button("pause long").click()
    look.sees('.status:text-is("paused")')
    look.button("resume long").click()
    look.sees('.status:text-is("running")')
    held: list[Route] = []
    look.page.route("**/cancel", lambda route: held.append(route))
    cancel = look.button("cancel long")
    for _ in range(2):  # the second is not heard
        cancel.click(force=True)
        expect(cancel).to_have_text("cancelling…")
    expect(look.button("pause long")).to_have_attribute("aria-disabled", "true")
    (only,) = held
    only.continue_()
    look.sees('.status:text-is("cancelled")')


def test_a_run_that_is_deleted_while_it_is_watched_leaves_the_page_usable(
    look: Looking, site: Site
) -> None:
    look.allowed = ("404", "409")
    look.open("#/new")
    fill(look, "Squares per side", "60")
    look.page.get_by_label("Also run an unsafe explorer").uncheck()
    look.find("summary").filter(has_text="More settings").click()
    fill(look, "Name", "doomed")
    look.button("Start and watch").click()
    look.sees(".run-head", "running")
    shutil.rmtree(site.root / "doomed", ignore_errors=True)
    look.sees('[role="alert"] .message', "deleted")
    look.page.get_by_role("link", name="Runs", exact=True).click()
    look.sees('tr[data-run="first"]')


def test_a_run_is_deleted_after_asking(look: Looking, site: Site) -> None:
    Run.create(site.root / "spare", "grid", {"size": 3, "seed": 2}).resume()
    look.open()
    look.sees('tr[data-run="spare"]')
    look.page.once("dialog", lambda dialog: dialog.dismiss())
    look.button("delete spare").click()
    assert (site.root / "spare").exists()
    look.page.once("dialog", lambda dialog: dialog.accept())
    look.button("delete spare").click()
    expect(look.find('tr[data-run="spare"]')).to_have_count(0)
    assert not (site.root / "spare").exists()


def test_a_damaged_run_is_listed_with_what_is_wrong(look: Looking, site: Site) -> None:
    shutil.copytree(site.root / "first", site.root / "broken")
    (site.root / "broken" / "manifest.json").write_text("{")
    look.allowed = ("409", "404")
    look.open()
    look.sees('tr[data-run="broken"]', "damaged")
    look.open("#/run/broken")
    look.sees("h1", "can't be shown")


def test_wrong_settings_are_refused_in_one_sentence(look: Looking) -> None:
    look.allowed = ("400",)
    look.open("#/draw")
    look.find("summary").click()
    look.find("textarea").fill("12\n3")
    look.find("textarea").blur()
    look.sees('[role="alert"] .message', "Line 2 of the map is 1 long and line 1 is 2")
    look.open("#/new")
    look.find("summary").filter(has_text="More settings").click()
    fill(look, "Name", "first")
    look.page.get_by_label("Also run an unsafe explorer").uncheck()
    look.allowed = ("409", "400")
    look.button("Start and watch").click()
    look.sees('[role="alert"] .message', "first")
    look.sees("h1", "New run")
