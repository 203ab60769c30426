"""``python -m tests.web.page.pictures``: take the pictures of each screen for the docs again."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright
from tests.missions.playing import RoverPlayer, play, start
from tests.web.page.conftest import BROWSERS, TOKEN
from tests.web.page.looking import STATIC, Looking, Site, opened
from tests.web.site import serving

from homeward.runs import Run

if TYPE_CHECKING:
    from collections.abc import Callable

DOCS = Path(__file__).parents[3] / "docs"
DESK, TABLET, PHONE = (1440, 900), (820, 1180), (390, 844)
GROUND: dict[str, Any] = {"rows": 600, "columns": 900, "sensor_range": 29.0, "limit": 220}
STEP, DOUBTFUL = 119, (5, 15)  # a cell whose way home is doubtful at that step
COLUMNS = 45
RUN, COMPARED = f"#/run/mars-0.9?step={STEP}", "#/compare/mars-0.99/mars-0.9/mars-0.6/mars-unsafe"


def make_runs(root: Path) -> None:
    """Record a rover at three levels and without one, and a mission."""
    for level in (0.99, 0.9, 0.6):
        Run.create(root / f"mars-{level}", "rover", {**GROUND, "delta": level}).resume()
    Run.create(root / "mars-unsafe", "rover", {**GROUND, "explorer": "unsafe"}).resume()
    player = RoverPlayer()
    play(start(root / "field-test", player, "rover"), player, 6)


def show_map(look: Looking) -> None:
    look.open(RUN)
    look.explained(STEP)
    look.find(".event-marks .refused").first.wait_for(state="attached")


def show_way(look: Looking) -> None:
    show_map(look)
    look.page.mouse.click(*look.point(DOUBTFUL[0] * COLUMNS + DOUBTFUL[1], (30, COLUMNS)))
    look.sees(".way tbody tr")


def send_ghosts(look: Looking) -> None:
    show_way(look)
    look.page.emulate_media(reduced_motion="reduce")
    look.button("Call it off now").click()
    look.sees(".call-off .said", "came home")
    look.find(".call-off .said").scroll_into_view_if_needed()


def call_off(look: Looking) -> None:
    look.page.emulate_media(reduced_motion="reduce")
    look.open("#/calloff")
    look.button("Call it off now").click()
    look.sees(".said", "this draw")


def compare(look: Looking) -> None:
    look.open(f"{COMPARED}?step={STEP}")
    for number in range(4):
        look.explained(STEP, number)


def draw_world(look: Looking) -> None:
    look.open("#/draw")
    look.button("The pit").click()


def follow_mission(look: Looking) -> None:
    look.open("#/run/field-test")
    look.sees(".mission", "Its next move")
    look.explained(6)


SCREENS: dict[str, tuple[tuple[int, int], str, Callable[[Looking], None]]] = {
    "front": (DESK, "light", lambda look: look.open("#/")),
    "calloff": (DESK, "light", call_off),
    "map": (DESK, "light", show_map),
    "why": (DESK, "light", show_way),
    "ghosts": (DESK, "light", send_ghosts),
    "compare": (DESK, "light", compare),
    "draw": (DESK, "light", draw_world),
    "mission": (DESK, "light", follow_mission),
    "stories": (DESK, "light", lambda look: look.open("#/stories")),
    "map-tablet": (TABLET, "dark", show_map),
    "compare-tablet": (TABLET, "dark", compare),
    "phone": (PHONE, "light", show_map),
}


def take(names: list[str], out: Path) -> None:
    """Take the pictures of the screens `names`, or of all."""
    browser_path = next(path for name in BROWSERS if (path := shutil.which(name)))
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        root = Path(place)
        make_runs(root)
        browser = playwright.chromium.launch(executable_path=browser_path)
        with serving(root, TOKEN, STATIC) as server:
            site = Site(root, server.address, TOKEN)
            for name in names or SCREENS:
                (wide, high), theme, show = SCREENS[name]
                with opened(browser, site) as context:
                    look = Looking(context.new_page(), site)
                    look.page.add_init_script("localStorage.setItem('homeward.visited', '1')")
                    look.page.set_viewport_size({"width": wide, "height": high})
                    look.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
                    show(look)
                    look.page.wait_for_timeout(10_000 if name == "front" else 1500)
                    look.page.screenshot(path=out / f"page-{name}.png")
        browser.close()


if __name__ == "__main__":
    take(sys.argv[1:], DOCS)
