"""A run as one file that plays without a server, and in a notebook."""

from __future__ import annotations

import itertools
from html import unescape
from typing import TYPE_CHECKING, Any, Literal

import pytest
from playwright.sync_api import expect
from tests.web.page.test_views import SIZES
from typer.testing import CliRunner

from homeward.cli.app import app
from homeward.errors import InvalidInputError
from homeward.replay import Replay
from homeward.replay.events import trapped_at
from homeward.runs import Run
from homeward.web.player import Player, html_of

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

WORLD = {"size": 12, "seed": 36, "walls": 0.15, "start": 78, "home": "start"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a safe run and an unsafe one."""
    root = tmp_path_factory.mktemp("export")
    Run.create(root / "safe", "grid", {**WORLD, "delta": 0.9, "limit": 12}).resume()
    Run.create(root / "unsafe", "grid", {**WORLD, "explorer": "uncover"}).resume()
    return root


def test_an_exported_file_plays_from_disk_without_a_network(browser: Browser, folder: Path) -> None:
    out = folder / "both.html"
    words = ["runs", "export", str(folder / "safe"), "--beside", str(folder / "unsafe")]
    result = CliRunner().invoke(app, [*words, "--out", str(out)])
    assert result.exit_code == 0, result.output
    context = browser.new_context(offline=True)
    page = context.new_page()
    errors: list[str] = []
    asked: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(out.as_uri())
    expect(page.locator(".screen")).to_have_count(2)
    page.wait_for_function("() => Number(document.querySelector('.scrub').value) >= 2")
    trapped = trapped_at(Replay(folder / "unsafe"))
    page.locator(".scrub").fill(str(trapped))
    expect(page.locator(".flag")).to_have_text(f"Trapped at step {trapped}")
    expect(page.locator(".screen canvas").nth(1)).to_have_attribute("data-step", str(trapped))
    themes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for theme, (wide, high) in itertools.product(themes, SIZES):
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": wide, "height": high})
        expect(page.locator(".screen canvas").nth(1)).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= wide
    assert errors == []
    assert asked == [out.as_uri()]
    context.close()


def test_a_notebook_shows_the_same(browser: Browser, folder: Path) -> None:
    shown = Player(folder / "safe")._repr_html_()
    assert unescape(shown.partition('srcdoc="')[2]).startswith("<!doctype html>")
    page: Any = browser.new_page()
    page.set_content(f"<main>{shown}</main>")
    inside = page.frame_locator("iframe")
    expect(inside.locator(".screen h2")).to_have_text("Keeps a way home")
    expect(inside.locator(".screen canvas")).to_have_attribute("data-step", "0")
    page.close()


def test_what_can_not_be_played_is_refused(folder: Path) -> None:
    with pytest.raises(InvalidInputError, match="1 to 6 runs"):
        html_of()
    run = str(folder / "safe")
    result = CliRunner().invoke(app, ["runs", "export", run, "--beside", run, "--out", "a.csv"])
    assert result.exit_code != 0
