"""Looking at the page as somebody would who sits before it."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from playwright.sync_api import expect

import homeward

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import (
        Browser,
        BrowserContext,
        ConsoleMessage,
        Error,
        Locator,
        Page,
        Request,
        ViewportSize,
    )

PACKAGE = Path(str(homeward.__file__)).parent
STATIC = PACKAGE / "web" / "static"
PATIENCE = 60_000.0
"""Milliseconds that something may take on a busy machine."""

expect.set_options(timeout=PATIENCE)

MARGIN = 0.94
"""How much of the room a map takes when all of it is on view."""

SIZE: ViewportSize = {"width": 1440, "height": 900}
SERVE = "from homeward.cli import main; main()"


@contextmanager
def served(root: Path, *words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Serve a folder by the command itself; give the address that it says, and the process."""
    given = words if "--port" in words else (*words, "--port", "0")
    command = [sys.executable, "-c", SERVE, "serve", str(root), "--no-open", *given]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        said = (re.search(r"http://[^\s]+", line) for line in server.stdout)
        try:
            address = next((found[0] for found in said if found), None)
            assert address is not None, "the server said no address"
            yield address, server
        finally:
            server.terminate()
            try:  # not until its pipe closes: a process that it left behind may hold that
                server.wait(PATIENCE / 1000)
            except subprocess.TimeoutExpired:
                server.kill()


@dataclass(frozen=True)
class Site:
    """A server of a folder of runs."""

    root: Path
    address: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        """What a program sends to be let in."""
        return {"Authorization": f"Bearer {self.token}"}


def site_of(root: Path, address: str) -> Site:
    """Return the server at the address that it printed."""
    there, token = address.split("/?token=")
    return Site(root, there, token)


@contextmanager
def opened(browser: Browser, site: Site) -> Iterator[BrowserContext]:
    """Open a browser that was never here; its first window keeps the server's process going."""
    context = browser.new_context(viewport=SIZE, permissions=["clipboard-write", "clipboard-read"])
    first = context.new_page()
    first.goto(f"{site.address}/?token={site.token}")
    # A function: the page's policy forbids an expression to be evaluated more than once.
    first.wait_for_function("() => localStorage.getItem('homeward.key') !== null")
    first.goto(f"{site.address}/static/page.css")  # the front page would play all the time
    yield context
    context.close()


class Looking:
    """One window on the page."""

    def __init__(self, page: Page, site: Site) -> None:
        self.page, self.site = page, site
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self.allowed: tuple[str, ...] = ()  # refusals that a test provokes, by a part of their text
        page.set_default_timeout(PATIENCE)
        for event, heard in self._hearing():
            page.on(event, heard)

    def leave(self) -> None:
        """Leave the window as it was."""
        if self.page.is_closed():
            return
        self.page.unroute_all()
        self.page.goto("about:blank")
        for event, heard in self._hearing():
            self.page.remove_listener(event, heard)
        self.page.set_viewport_size(SIZE)
        self.page.emulate_media(color_scheme="null")

    def _hearing(self) -> list[tuple[Any, Callable[[Any], None]]]:
        return [("pageerror", self._failed), ("console", self._said), ("request", self._asked)]

    def _failed(self, error: Error) -> None:
        self.errors.append(str(error))

    def _said(self, message: ConsoleMessage) -> None:
        known = any(part in message.text for part in self.allowed)
        if message.type in ("error", "warning") and not known:
            self.errors.append(message.text)

    def _asked(self, request: Request) -> None:
        there = urlsplit(request.url)
        own = f"{there.scheme}://{there.netloc}" == self.site.address
        if not own and there.scheme not in ("blob", "data"):
            self.foreign.append(request.url)

    def enter(self) -> None:
        """Go to the page with the token, as one who follows the printed address."""
        self.page.goto(f"{self.site.address}/?token={self.site.token}")
        # Another address that is opened before the key is kept would lose it.
        self.page.wait_for_function("() => localStorage.getItem('homeward.key') !== null")

    def get(self, path: str) -> Any:
        """Return the answer of the interface to a request of a program."""
        url = f"{self.site.address}/api/v1/{path}"
        return self.page.request.get(url, headers=self.site.headers)

    def open(self, link: str = "") -> None:
        """Go to a view by its link, as one that was sent."""
        if self.page.url != "about:blank":
            self.page.goto("about:blank")
        self.page.goto(f"{self.site.address}/{link}")

    def find(self, selector: str) -> Locator:
        return self.page.locator(selector)

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def sees(self, selector: str, text: str | None = None) -> None:
        """Wait for something to be on view, with a text if one is given."""
        found = self.find(selector).first
        if text is None:
            expect(found).to_be_visible()
        else:
            expect(found).to_contain_text(text)

    def painted(self, step: int, layer: str = "height", map_: int = 0) -> Locator:
        """Wait until a map shows a layer after so many steps."""
        canvas = self.find(".map canvas").nth(map_)
        expect(canvas).to_have_attribute("data-step", str(step))
        expect(canvas).to_have_attribute("data-layer", layer)
        return canvas

    def point(self, cell: int, shape: tuple[int, int], map_: int = 0) -> tuple[float, float]:
        """Move the pointer over a cell, with the whole map on view; give the place."""
        box = self.find(".map canvas").nth(map_).bounding_box()
        assert box is not None
        rows, columns = shape
        zoom = min(box["width"] / columns, box["height"] / rows) * MARGIN
        row, column = divmod(cell, columns)
        x = box["x"] + box["width"] / 2 + (column + 0.5 - columns / 2) * zoom
        y = box["y"] + box["height"] / 2 + (row + 0.5 - rows / 2) * zoom
        self.page.mouse.move(x, y)
        expect(self.find(f'.readout[data-cell="{cell}"]')).to_be_visible()
        return x, y

    def reading(self, layer: str) -> float:
        """Give the raw value of a layer at the cell that is pointed at."""
        shown = self.find(f'.readout dd[data-layer="{layer}"]').first
        return float(shown.get_attribute("data-value") or "nan")

    def explained(self, step: int, panel: int = 0) -> Locator:
        """Wait for the reasons of a moment."""
        why = self.find(".why").nth(panel)
        expect(why).to_have_attribute("data-step", str(step))
        return why

    def scrub(self, step: int) -> None:
        """Move the time cursor as a hand would."""
        self.find(".scrub").evaluate(
            "(slider, step) => { slider.value = String(step);"
            " slider.dispatchEvent(new Event('input', { bubbles: true })); }",
            step,
        )

    def numbers(self, panel: int = 0) -> dict[int, list[float]]:
        """Give the raw numbers of the table behind the rose, by action."""
        rows = self.find(".why").nth(panel).locator("tbody tr")
        found: dict[int, list[float]] = {}
        for row in rows.all():
            cells = row.locator("td[data-value]").evaluate_all(
                "cells => cells.map((cell) => cell.dataset.value)"
            )
            found[int(row.get_attribute("data-action") or "-1")] = [_number(v) for v in cells]
        return found


def _number(text: Any) -> float:
    return float("nan") if text in ("null", "undefined") else float(text)
