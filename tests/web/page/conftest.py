"""What the tests of the page share: a real browser, and a real server for each module.

A module says in `RUNS` which runs there are before the server starts: name, kind, configuration.
"""

from __future__ import annotations

import shutil
import sys
import warnings
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright
from tests.web.page.looking import STATIC, Looking, Site, opened
from tests.web.site import serving

from homeward.runs import Run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

FORGET = """Object.keys(localStorage).filter((name) => name !== "homeward.key")
    .forEach((name) => localStorage.removeItem(name))"""
"""Empties the storage, except for the key of the server."""

TOKEN = "let-me-in"

ONE_PROCESS = (
    "--renderer-process-limit=1",
    "--process-per-site",
    "--disable-site-isolation-trials",
)
"""All windows share a process, so that only the first has to start it."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Give a Chromium that is on the machine; without one, skip loudly.

    Its driver holds an event loop, so it goes before other modules run loops of their own.
    """
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        said = f"THE PAGE IS NOT TESTED: none of {', '.join(BROWSERS)} is on this machine"
        sys.stderr.write(f"\n{said}\n")
        pytest.skip(said)
    with warnings.catch_warnings(), sync_playwright() as playwright:
        warnings.simplefilter("ignore", ResourceWarning)
        started = playwright.chromium.launch(executable_path=found, args=ONE_PROCESS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """Serve the module's runs in a thread; the command itself would take longer to start."""
    if not (STATIC / "page.js").is_file():
        pytest.fail("the page is not built here: pip install -e . builds it")
    root = tmp_path_factory.mktemp("page") / "runs"
    root.mkdir()
    for name, kind, config in request.module.RUNS:
        Run.create(root / name, kind, config).resume()
    with serving(root, TOKEN, STATIC) as server:
        yield Site(root, server.address, TOKEN)


@pytest.fixture(scope="module")
def windows(browser: Browser, site: Site) -> Iterator[BrowserContext]:
    """Give a browser with one window on the server, which keeps its process going."""
    with opened(browser, site) as context:
        yield context


@pytest.fixture
def look(windows: BrowserContext, site: Site) -> Iterator[Looking]:
    """Look at the page; it must end without an error and without a foreign request.

    The next one finds a window as if nobody had looked: the same one, unless it was closed.
    """
    anchor, *others = windows.pages
    looking = Looking(others[0] if others else windows.new_page(), site)
    yield looking
    for other in windows.pages:
        if other not in (anchor, looking.page):
            other.close()
    looking.leave()
    anchor.evaluate(FORGET)
    assert looking.errors == []
    assert looking.foreign == []
