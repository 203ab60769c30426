"""Response times of two screens of the page: the list of runs, and "Call it off"."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from homeward.runs import Run

if TYPE_CHECKING:
    from playwright.sync_api import Page

RUNS = 500
DRAG = """
async () => {
  const slider = document.querySelector("#drag-level");
  const painted = () => new Promise((resolve) => requestAnimationFrame(() => {
    const channel = new MessageChannel(); // heard once the frame has been painted
    channel.port1.onmessage = resolve;
    channel.port2.postMessage(null);
  }));
  const times = [];
  for (let i = 0; i <= 100; i++) {
    await painted();
    const began = performance.now();
    slider.value = String(i / 100);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await painted();
    times.push(performance.now() - began);
  }
  return times;
}
"""
WALK = """
async () => {
  const stage = document.querySelector(".calloff-stage");
  const times = [];
  while (stage.dataset.walking === "true")
    times.push(await new Promise((resolve) => requestAnimationFrame(resolve)));
  return times;
}
"""


def make_runs(root: Path) -> None:
    """Make a folder of 500 runs: copies of one."""
    Run.create(root / "run-000", "grid", {"size": 4}).resume()
    for number in range(1, RUNS):
        shutil.copytree(root / "run-000", root / f"run-{number:03d}")


def open_list(page: Page, address: str) -> float:
    """Open the page; return the milliseconds until its list of runs is on screen."""
    page.goto("about:blank")
    page.goto(f"{address}/")
    seen: float = page.wait_for_function(
        "() => document.querySelector('tr[data-run]') && performance.now()"
    ).json_value()
    return seen


def drag_level(page: Page) -> list[float]:
    """Drag δ through its levels; return the milliseconds to each new solution on screen."""
    times: list[float] = page.evaluate(DRAG)
    return times


def walk_ghosts(page: Page) -> str:
    """Call it off; return the frames a second while a hundred ghosts walk, as text."""
    page.get_by_role("button", name="Call it off now").click()
    gaps = np.diff(page.evaluate(WALK))
    return f"{1e3 / gaps.mean():.1f} frames a second, longest gap {gaps.max():.0f} ms"
