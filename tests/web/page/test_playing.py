"""Playing, with a clock that stands still until the test lets time pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.web.page.looking import opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext
    from tests.web.page.looking import Looking, Site

RUNS = [("walk", "grid", {"size": 8, "seed": 5, "walls": 0.15, "home": "start", "limit": 20})]


@pytest.fixture
def windows(browser: Browser, site: Site) -> Iterator[BrowserContext]:
    """Give a browser for each test: a clock that stands still does so in all its windows."""
    with opened(browser, site) as context:
        yield context


def at_rest(look: Looking, step: int) -> None:
    """Open the run with its clock standing still; `pass_by` lets time go on."""
    look.page.clock.install(time=0)
    look.open(f"#/run/walk?step={step}")
    look.painted(step)
    look.page.clock.pause_at(3600)


def pass_by(look: Looking, seconds: float) -> None:
    look.page.clock.run_for(round(1000 * seconds))


def step_of(look: Looking) -> int:
    """Give the step that the cursor stands at."""
    return int(look.find(".scrub").input_value())


def test_space_plays_and_pauses(look: Looking) -> None:
    at_rest(look, 0)
    look.page.keyboard.press("Space")
    expect(look.button("Pause playing")).to_be_visible()
    pass_by(look, 1.05)
    reached = step_of(look)
    assert reached == 5  # five a second, unless another speed is chosen
    look.page.keyboard.press("Space")
    expect(look.button("Play")).to_be_visible()
    pass_by(look, 1.0)
    assert step_of(look) == reached


@pytest.mark.parametrize(("speed", "seconds", "steps"), [("2", 1.1, 2), ("20", 0.52, 10)])
def test_playing_keeps_to_the_speed(look: Looking, speed: str, seconds: float, steps: int) -> None:
    at_rest(look, 0)
    look.find(".speed select").select_option(speed)
    look.button("Play").click()
    pass_by(look, seconds)
    assert step_of(look) == steps
    look.button("Pause playing").click()
    pass_by(look, 1.0)
    assert step_of(look) == steps
