"""Keys, and the link that holds what is on view."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.web.page.looking import MARGIN

if TYPE_CHECKING:
    from tests.web.page.looking import Looking

LAST = 20
RUNS = [("walk", "grid", {"size": 8, "seed": 5, "walls": 0.15, "home": "start", "limit": LAST})]
LAYERS = ["height", "uncertainty", "seen", "v", "bonus", "success", "visited", "truth"]


def zoom_of(look: Looking, before: float | None = None) -> float:
    """Give the zoom that the link holds, when it is another than before."""
    kept = "" if before is None else rf"(?!{re.escape(f'{before:g}')}(?:&|$))"
    held = re.compile(rf"[?&]view=[\d.]+(?:,|%2C)[\d.]+(?:,|%2C){kept}([\d.]+)")
    expect(look.page).to_have_url(held)
    found = held.search(look.page.url)
    assert found is not None
    return float(found[1])


def test_s_is_slower_and_f_is_faster(look: Looking) -> None:
    look.open("#/run/walk?step=3")
    look.painted(3)
    speed = look.find(".speed select")
    expect(speed).to_have_value("5")
    for key, expected in (("f", "10"), ("f", "20"), ("s", "10"), ("s", "5"), ("s", "2")):
        look.page.keyboard.press(key)
        expect(speed).to_have_value(expected)
    for key, expected in (("s", "1"), ("f", "500")):
        for _ in range(10):
            look.page.keyboard.press(key)
        expect(speed).to_have_value(expected)
    look.painted(3)


def test_plus_and_minus_zoom_and_nought_shows_the_whole_map(look: Looking) -> None:
    look.open("#/run/walk?step=3")
    look.painted(3)
    look.page.keyboard.press("+")
    near = zoom_of(look)
    look.page.keyboard.press("-")
    whole = zoom_of(look, near)
    look.page.keyboard.press("-")
    far = zoom_of(look, whole)
    assert near > whole > far
    box = look.find(".map canvas").bounding_box()
    assert box is not None
    assert whole == pytest.approx(min(box["width"], box["height"]) / 8 * MARGIN, rel=2e-3)
    look.page.keyboard.press("0")
    expect(look.page).to_have_url(f"{look.site.address}/#/run/walk?step=3")


def test_a_digit_shows_the_layer_of_that_place(look: Looking) -> None:
    look.open("#/run/walk?step=3&over=bonus")
    look.painted(3)
    for digit in (8, 2, 4, 1, 7, 3, 6):
        look.page.keyboard.press(str(digit))
        look.painted(3, LAYERS[digit - 1])
    over = look.find(".blend select")
    expect(over).to_have_value("bonus")
    look.page.keyboard.press("5")
    look.painted(3, "bonus")
    expect(over).to_have_value("")  # not over itself
    look.page.keyboard.press("9")
    look.painted(3, "bonus")


def test_a_link_holds_what_is_over_and_how_much_of_it(look: Looking) -> None:
    link = "#/run/walk?step=4&layer=truth&over=v&mix=0.3"
    look.open(link)
    look.painted(4, "truth")
    expect(look.find(".blend select")).to_have_value("v")
    mix = look.find(".blend input")
    expect(mix).to_have_value("0.3")
    look.page.wait_for_timeout(400)  # the link is written again after a quarter of a second
    assert look.page.url == f"{look.site.address}/{link}"
    mix.fill("0.75")
    look.find(".blend select").select_option("success")
    expect(look.page).to_have_url(
        re.compile(r"#/run/walk\?step=4&layer=truth&over=success&mix=0\.75$")
    )


def test_the_link_that_is_copied_is_that_of_the_view(look: Looking) -> None:
    look.open("#/run/walk?step=2&layer=v&over=bonus&mix=0.3")
    look.painted(2, "v")
    look.page.evaluate("navigator.clipboard.writeText('something else')")
    look.page.keyboard.press("8")
    look.painted(2, "truth")
    link = f"{look.site.address}/#/run/walk?step=2&layer=truth&over=bonus&mix=0.3"
    expect(look.page).to_have_url(link)
    look.button("Copy a link to this view").click()
    look.sees('[role="status"] .message', "copied")
    assert look.page.evaluate("navigator.clipboard.readText()") == link


def test_arrows_in_a_table_that_scrolls_move_the_table(look: Looking) -> None:
    look.page.set_viewport_size({"width": 390, "height": 844})
    look.open("#/run/walk?step=3")
    look.explained(3)
    look.find(".why .numbers summary").click()
    table = look.find(".why .numbers .scroll")
    table.evaluate("(element) => { element.style.width = '9rem'; }")  # narrower than its numbers
    table.focus()
    look.page.keyboard.press("ArrowRight")
    look.page.wait_for_function(
        "() => document.querySelector('.why .numbers .scroll').scrollLeft > 0"
    )
    expect(look.find(".scrub")).to_have_value("3")
    look.find(".scrub").focus()
    look.page.keyboard.press("ArrowRight")
    expect(look.find(".scrub")).to_have_value("4")
