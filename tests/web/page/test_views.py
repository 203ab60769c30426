"""Every view in windows of three sizes, in light and dark: its main parts are on view, and fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect
from tests.missions.playing import GridPlayer, start
from tests.web.page.looking import PACKAGE

if TYPE_CHECKING:
    from tests.web.page.looking import Looking, Site

AXE = PACKAGE / "web" / "page" / "node_modules" / "axe-core" / "axe.min.js"
WORLD = {"size": 8, "seed": 5, "walls": 0.15}
RUNS = [
    ("meadow-safe", "grid", {**WORLD, "delta": 0.8}),
    ("meadow-unsafe", "grid", {**WORLD, "explorer": "uncover"}),
    ("ground", "rover", {"rows": 200, "columns": 300, "sensor_range": 60.0, "limit": 12}),
]
SIZES = ((820, 1180), (390, 844), (1440, 900))
VIEWS = {
    "#/runs": (".screen canvas[data-step]", ".doors a", "tr[data-run] canvas"),
    "#/new": (".level", ".choice", "button.main"),
    "#/draw": (".examples button:nth-child(3)", ".board"),
    "#/calloff": (".calloff-stage canvas", ".hundred", "#drag-level"),
    "#/stories": (".story",),
    "#/compare/meadow-safe/meadow-unsafe?step=4": ('.why[data-step="4"] .rose', ".scrub", ".plot"),
    "#/run/ground?step=4": ('.why[data-step="4"] .rose', ".scrub", ".pursuit", ".call-off"),
    "#/run/meadow-safe?step=4": ('.why[data-step="4"] .rose', ".scrub", ".event-line", ".drawer"),
    "#/run/outside": (".mission meter", ".map canvas[data-step]", ".call-off"),
}
WIDER = """(wide) => document.documentElement.scrollWidth <= wide ? [] :
    [...document.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right > wide + 1)
    .map((e) => e.className)"""


def test_every_view_fits_and_axe_finds_nothing_serious(look: Looking, site: Site) -> None:
    player = GridPlayer()
    start(site.root / "outside", player, "grid").observe(player.look())
    look.page.emulate_media(color_scheme="light")
    look.open()
    look.page.evaluate(AXE.read_text())
    for link, parts in VIEWS.items():
        look.page.evaluate("(link) => { location.hash = link; }", link)
        for wide, high in SIZES:
            look.page.set_viewport_size({"width": wide, "height": high})
            for part in parts:
                look.sees(part)
            assert look.page.evaluate(WIDER, wide) == [], (link, wide)
        expect(look.find("h1")).to_have_count(1)
        assert serious(look, "light", None) == set(), link
        assert serious(look, "dark", ["color-contrast"]) == set(), link  # only colours differ


def serious(look: Looking, theme: Any, rules: list[str] | None) -> set[tuple[str, str]]:
    """Return what axe finds in a theme, by all rules or some."""
    look.page.emulate_media(color_scheme=theme)
    expect(look.find("html")).to_have_attribute("data-theme", theme)
    found = look.page.evaluate(
        "(runOnly) => axe.run({ resultTypes: ['violations'], ...(runOnly && { runOnly }) })", rules
    )
    return {
        (violation["id"], node["html"])
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    }
