"""The targets of a run: on the map, in its legend, beside each other, offline and in the form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from playwright.sync_api import expect
from tests.missions.playing import RoverPlayer
from tests.web.page.test_drawing import FRAMES, Map

from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.terrain import cells_of
from homeward.missions import Mission
from homeward.runs import Run
from homeward.web.player import html_of

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser
    from tests.web.page.looking import Looking, Site

GROUND = {"rows": 400, "columns": 600, "seed": 1, "limit": 40}
CELLS = (14, 21), (4, 25), (19, 0), (14, 21)
"""Row and column; the last target is in the cell of the first one."""

SHAPE = (20, 30)
PLACES = [(20.0 * column + 10, 400 - 20.0 * row - 10, 1.0) for row, column in CELLS]
RUNS: list[tuple[str, str, dict[str, Any]]] = [
    ("visits", "rover", {**GROUND, "targets": PLACES, "delta": 0.98}),
    ("bolder", "rover", {**GROUND, "targets": PLACES, "delta": 0.7}),
    ("plain", "rover", {**GROUND, "limit": 3}),
]
WHITE, YELLOW = (255, 255, 255), (255, 220, 0)


def reached(root: Path, run: str) -> dict[int, int | None]:
    """Return the step that reached each target, by its cell, from the run's own summary."""
    facts = json.loads((root / run / "summary.json").read_text())["targets"]
    return {each["row"] * SHAPE[1] + each["column"]: each["step"] for each in facts}


def test_the_map_marks_targets_and_fills_them_once_they_are_reached(
    look: Looking, site: Site
) -> None:
    steps = reached(site.root, "visits")
    assert cells_of(RoverConfig(**GROUND)).shape == SHAPE  # type: ignore[arg-type]
    [first, *_] = sorted(step for step in steps.values() if step)
    assert None in steps.values()
    assert look.get("runs/visits").json()["targets"] == list(steps)
    for step in (first - 1, first, 40):
        look.open(f"#/run/visits?step={step}")
        canvas = look.painted(step)
        here = look.get(f"runs/visits/steps/{step}/way?cell=0").status
        assert here == 200
        now = [cell for cell, at in steps.items() if at is not None and at <= step]
        expect(canvas).to_have_attribute("data-reached", " ".join(map(str, now)))
        look.explained(step)
        look.page.evaluate(FRAMES)
        drawn = Map(look, SHAPE)
        for cell in steps:
            if step == first and steps[cell] == first:
                continue  # the explorer stands on it
            colour = drawn.colours([drawn.middle(cell)])[0]
            assert np.abs(colour - (YELLOW if cell in now else WHITE)).max() < 12, (step, cell)
    look.sees(".legend", "target, reached")
    look.sees(".legend", "target, not reached")
    missed = next(cell for cell, at in steps.items() if at is None)
    look.point(missed, SHAPE)
    look.sees(".readout", "A target, not reached.")
    found = next(cell for cell, at in steps.items() if at == first)
    look.point(found, SHAPE)
    look.sees(".readout", f"A target, reached at step {first}.")


def test_a_run_without_targets_has_none_in_its_legend(look: Looking) -> None:
    look.open("#/run/plain?step=1")
    look.painted(1)
    look.sees(".legend", "way home")
    expect(look.find(".legend").first).not_to_contain_text("target, reached")


def test_compared_runs_have_their_own_targets(look: Looking, site: Site) -> None:
    look.open("#/compare/visits/bolder?step=40")
    for number, run in enumerate(("visits", "bolder")):
        canvas = look.painted(40, map_=number)
        now = [str(cell) for cell, at in reached(site.root, run).items() if at is not None]
        expect(canvas).to_have_attribute("data-reached", " ".join(now))


def test_an_exported_run_marks_its_targets(browser: Browser, site: Site, tmp_path: Path) -> None:
    out = tmp_path / "visits.html"
    out.write_bytes(html_of(site.root / "visits").encode())
    steps = reached(site.root, "visits")
    page = browser.new_page()
    page.goto(out.as_uri())
    expect(page.locator("main")).to_contain_text("Stars are targets")
    for step in (1, 40):
        page.locator(".scrub").fill(str(step))
        now = [str(cell) for cell, at in steps.items() if at is not None and at <= step]
        canvas = page.locator(".screen canvas")
        expect(canvas).to_have_attribute("data-reached", " ".join(now))
    page.close()


def test_a_live_run_and_a_mission_have_their_targets(look: Looking, site: Site) -> None:
    goal = {**GROUND, "targets": PLACES}
    Run.create(site.root / "live", "rover", goal)
    look.open("#/run/live")
    look.button("resume live").click()
    look.sees(".run-head", "finished")
    canvas = look.painted(40)
    now = [str(cell) for cell, at in reached(site.root, "live").items() if at is not None]
    expect(canvas).to_have_attribute("data-reached", " ".join(now))
    player = RoverPlayer(rows=400, columns=600, targets=tuple(PLACES))
    Run.create(site.root / "real", "rover", player.mission, is_mission=True)
    Mission.open(site.root / "real").observe(player.look())
    look.open("#/run/real")
    expect(look.painted(0)).to_have_attribute("data-reached", "")
    look.sees(".legend", "target, not reached")
    targets = look.get("runs/real").json()["targets"]
    assert targets == list(reached(site.root, "live"))


def test_the_form_shows_where_its_targets_are(look: Looking) -> None:
    look.open("#/new")
    look.page.get_by_text("Terrain", exact=True).first.click()
    look.sees(".preview-box canvas")
    look.page.get_by_label("Targets").fill("500,250\n1000,750,2\n9000,0")
    stars = look.find(".preview .mark-star")
    expect(stars).to_have_count(2)  # the third is off the map
    box, star = look.find(".preview-box canvas").bounding_box(), stars.first.bounding_box()
    assert box is not None
    assert star is not None
    assert abs(star["x"] + star["width"] / 2 - box["x"] - 0.25 * box["width"]) < 1
    assert abs(star["y"] + star["height"] / 2 - box["y"] - 0.75 * box["height"]) < 1
