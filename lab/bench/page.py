"""Response times of the page, measured in a real browser.

jumps   A rover's run of 15,000 steps on 50 × 100 cells. Measures the time of requests for the
        fields of random steps, and in a browser the time from the input of the time slider to the
        painted frame; each step twice.
live    A rover on 1000 × 2000 cells, started from the page and watched for a minute. Measures the
        longest tasks of the page's thread, in wall time and in processor time. To separate the page
        from the machine, it also measures the longest pause of a process with 2 ms of work.
first   The page as `homeward serve` opens it in an empty folder. Measures the first paint, the time
        until the list and the map are visible, and counts the requests to other hosts.
list    A folder of 500 runs. Measures the time until the list is visible.
calloff The demonstration "Call it off". Measures the time from each input of δ to the painted
        solution, and the frames a second while it draws a hundred ways home at once.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from homeward.cli.show import say
from homeward.errors import InvalidInputError
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import SPACING, make
from homeward.planning.warm_start import WarmStart
from homeward.runs import Run
from homeward.runs.config import checked
from homeward.runs.log import Record, to_line
from lab.bench.page_screens import RUNS, drag_level, make_runs, open_list, walk_ghosts

STEPS, JUMPS, WARM = 15_000, 200, 20
WATCHED_SECONDS = 60.0  # seconds for which a live run is watched
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SERVE = "from homeward.cli import main; main()"
QUERIES = {
    "height": "fields?layers=height",
    "height, seen": "fields?layers=height,seen",
    "all layers": "fields?layers=height,uncertainty,seen,visited,v,bonus,success,truth",
    "why": "why",
}
TASKS = """
window.tasks = [];
new PerformanceObserver((list) => {
  for (const task of list.getEntries()) window.tasks.push([task.startTime, task.duration]);
}).observe({ type: "longtask", buffered: true });
"""
PAUSES = """
import sys, time
longest = 0.0
while True:
    time.sleep(0.01)
    began = time.perf_counter()
    end = time.thread_time() + 0.002
    while time.thread_time() < end:
        pass
    took = 1e3 * (time.perf_counter() - began)
    if took > longest:
        longest = took
        print(f"{longest:.0f}", flush=True)
"""
JUMP = """
(step) => new Promise((resolve) => {
  const slider = document.querySelector(".scrub");
  const canvas = document.querySelector(".map canvas");
  const began = performance.now();
  const channel = new MessageChannel(); // heard once the frame has been painted
  channel.port1.onmessage = () => resolve(performance.now() - began);
  const watch = new MutationObserver(() => {
    if (canvas.dataset.step !== String(step)) return;
    watch.disconnect();
    channel.port2.postMessage(null);
  });
  watch.observe(canvas, { attributes: true, attributeFilter: ["data-step"] });
  slider.value = String(step);
  slider.dispatchEvent(new Event("input", { bubbles: true }));
})
"""


@contextmanager
def served(root: Path) -> Iterator[tuple[str, str]]:
    """Serve a folder by the command ``homeward serve``; yield the address and the token."""
    command = [sys.executable, "-c", SERVE, "serve", str(root), "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        found = next(a for line in server.stdout if (a := re.search(r"http://[^\s]+", line)))
        try:
            address, token = found[0].split("/?token=")
            yield address, token
        finally:
            server.terminate()
            server.stdout.read()


def walk(folder: Path) -> None:
    """Record a random walk as a rover run, with the usual number of warm starts."""
    paper = {"algorithm": "paper", "home": "current"}  # of its decisions nothing is recorded
    run = Run.create(folder, "rover", {"limit": STEPS, **paper})
    setup = make(checked(RoverConfig, run.config, "c"))
    world, start = setup.world, setup.world.state
    belief = setup.belief.update(world.look())
    rng = np.random.default_rng(0)
    with open(folder / "steps.jsonl", "wb") as log:
        for step in range(1, STEPS + 1):
            here, action = world.state, int(rng.integers(1, 9))
            seeds = None
            if step % SPACING == 0:
                seeds = WarmStart.of(setup.planner.plan(belief, here, start)).encode()
            belief = belief.update(world.act(action))
            bound = (1.0,)
            told = Record(
                *(step, here, action, world.state, None, "optimal", 1.0, 1.0, bound, bound, seeds)
            )
            log.write(to_line(told))


def spread(times: list[float]) -> str:
    """Return the median, the 95th percentile and the maximum of times in ms, as text."""
    middle, high = np.percentile(times, [50, 95])
    return f"median {middle:.1f} ms, 95 % below {high:.1f}, most {max(times):.1f}"


def ask(server: tuple[str, str], path: str) -> bytes:
    """Return the body of the response to a request for `path`; `server` is (address, token)."""
    address, token = server
    headers = {"Authorization": f"Bearer {token}"}
    with urllib.request.urlopen(
        urllib.request.Request(f"{address}{path}", None, headers)
    ) as answer:
        content: bytes = answer.read()
    return content


def jumps(browser: Browser, place: Path) -> None:
    """Measure the time of jumps to random steps, of the server alone and in the browser."""
    root = place / "long"
    root.mkdir()
    walk(root / "run")
    with served(root) as server:
        address, token = server
        began = time.perf_counter()
        details = json.loads(ask(server, "/api/v1/runs/run"))
        ask(server, f"/api/v1/runs/run/steps/{STEPS - 1}/fields?layers=height")
        took = time.perf_counter() - began
        say(f"{details['shape']} cells, {STEPS:,} steps learned in {took:.1f} s")
        rng = np.random.default_rng(1)
        for name, query in QUERIES.items():
            times = []
            for step in rng.integers(0, STEPS, JUMPS if query != "why" else JUMPS // 10).tolist():
                began = time.perf_counter()
                ask(server, f"/api/v1/runs/run/steps/{step}/{query}")
                times.append(1e3 * (time.perf_counter() - began))
            say(f"server, {name}: {spread(times[1:])}")
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.add_init_script(TASKS)
        page.goto(f"{address}/?token={token}")
        page.wait_for_selector("tr[data-run]")  # the page has its key
        page.goto("about:blank")
        page.goto(f"{address}/#/run/run?step=7")
        page.wait_for_selector('.map canvas[data-step="7"]', timeout=60_000)
        page.wait_for_timeout(2_000)
        steps = rng.permutation(STEPS)[: WARM + JUMPS].tolist()
        for pause, how in ((0, "one after another"), (400, "after a pause each")):
            some = steps[: len(steps) if not pause else WARM + JUMPS // 4]
            first = [_jump(page, step + (pause > 0), pause) for step in some][WARM:]
            again = [_jump(page, step + (pause > 0), 0) for step in some[WARM:]]
            say(f"page, {how}, first time: {spread(first)}")
            say(f"page, {how}, once more: {spread(again)}")
        say(f"page: {_long(page)}")
        page.close()


def _jump(page: Page, step: int, pause: int) -> float:
    if pause:
        page.wait_for_timeout(pause)
    took: float = page.evaluate(JUMP, step)
    return took


def _long(page: Page) -> str:
    tasks: list[list[float]] = page.evaluate("window.tasks")
    told = ", ".join(f"{length:.0f} ms at {1e-3 * start:.1f} s" for start, length in tasks)
    return f"{len(tasks)} tasks above 50 ms" + (f": {told}" if told else "")


@contextmanager
def paused() -> Iterator[list[str]]:
    """Measure how long the machine delays another process meanwhile.

    A second process works for 2 ms at a time. The yielded list is filled at the end: each time, in
    ms, that such a piece of work took longer than all before it.
    """
    found: list[str] = []
    with subprocess.Popen(
        [sys.executable, "-c", PAUSES], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield found
        finally:
            process.kill()
            assert process.stdout is not None
            found += process.stdout.read().split()


def longest(trace: bytes) -> str:
    """Return a text with the longest tasks of the page's main thread in a browser trace."""
    events = json.loads(trace)["traceEvents"]
    names = [e for e in events if e.get("name") == "thread_name"]
    drawing = {(e["pid"], e["tid"]) for e in names if e["args"]["name"] == "CrRendererMain"}
    tasks = [e for e in events if e.get("ph") == "X" and (e["pid"], e["tid"]) in drawing]
    ends: dict[tuple[int, int], float] = {}
    outer = []  # tasks that are not part of another one
    for task in sorted(tasks, key=lambda task: (task["ts"], -task["dur"])):
        thread = (task["pid"], task["tid"])
        if task["ts"] >= ends.get(thread, -1.0):
            ends[thread] = task["ts"] + task["dur"]
            outer.append(task)
    tasks = sorted(outer, key=lambda task: -task["dur"])
    told = (f"{1e-3 * t['dur']:.0f} ms ({1e-3 * t.get('tdur', 0):.0f})" for t in tasks[:5])
    busiest = max(task.get("tdur", 0) for task in tasks)
    return f"{', '.join(told)}; at most {1e-3 * busiest:.0f} ms of processor time"


def live(browser: Browser, place: Path) -> None:
    """Watch a large live run and print the longest tasks of the page's main thread."""
    root = place / "large"
    root.mkdir()
    Run.create(root / "small", "grid", {"size": 4}).resume()
    with served(root) as (address, token):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.add_init_script(TASKS)
        page.goto(f"{address}/?token={token}")
        page.wait_for_selector("tr[data-run]")  # the page has its key
        # In cells of 20 m: from the middle of a map in cells of 1 m, no move is safe.
        size = {"rows": 1000, "columns": 2000, "pixel": 20.0, "cell": 20.0}
        config = {**size, "sensor_range": 100.0, "limit": 1_000_000}
        body = {"kind": "rover", "name": "large", "config": config}
        page.evaluate(
            "([body, token]) => fetch('/api/v1/runs', { method: 'POST', body: JSON.stringify(body),"
            " headers: { 'X-Homeward': '1', 'Content-Type': 'application/json',"
            " Authorization: `Bearer ${token}` } })",
            [body, token],
        )
        page.goto("about:blank")
        browser.start_tracing(page=page, categories=["toplevel"])
        began = time.perf_counter()
        page.goto(f"{address}/#/run/large")
        page.wait_for_selector(".map canvas[data-step]", timeout=300_000)
        say(f"{page.locator('.run-head').inner_text().split(chr(10))}")
        say(f"map on view after {time.perf_counter() - began:.1f} s")
        until = time.perf_counter() + WATCHED_SECONDS
        with paused() as pauses:
            while time.perf_counter() < until:
                page.wait_for_timeout(1_000)
                page.mouse.move(500, 450 + 40 * (time.perf_counter() % 2))
                page.mouse.wheel(0, -60)
        if "running" not in page.locator(".run-head").inner_text():
            raise RuntimeError("the run ended while it was watched")
        say(f"after {WATCHED_SECONDS:.0f} s: {page.locator('.count').inner_text()}, {_long(page)}")
        say(f"longest tasks, with processor time in brackets: {longest(browser.stop_tracing())}")
        say(f"longest pause of a process with 2 ms of work: {pauses[-1]} ms")
        page.close()


def first(browser: Browser, place: Path) -> None:
    """Measure the first load of the page in an empty folder."""
    with served(place / "empty") as (address, token):
        foreign: list[str] = []
        page = browser.new_page()
        page.goto(f"{address}/?token={token}")
        page.wait_for_selector("tr[data-run]")
        key = page.evaluate("localStorage.getItem('homeward.key')")
        page.close()
        for link, sight in (("", "tr[data-run]"), ("#/run/demo-safe", ".map canvas[data-step]")):
            for visit in ("first", "second"):
                context = browser.new_context(viewport={"width": 1440, "height": 900})
                context.add_init_script(f"localStorage.setItem('homeward.key', '{key}')")
                page = context.new_page()
                page.on(
                    "request",
                    lambda request: (
                        foreign.append(request.url)
                        if not request.url.startswith((address, "blob:", "data:"))
                        else None
                    ),
                )
                page.goto(f"{address}/{link}")
                seen: float = page.wait_for_function(  # polls at every frame
                    "(sight) => document.querySelector(sight) && performance.now()", arg=sight
                ).json_value()
                paints: Any = page.evaluate(
                    "performance.getEntriesByType('paint').map((p) => [p.name, p.startTime])"
                )
                told = ", ".join(f"{name} {start:.0f} ms" for name, start in paints)
                say(f"/{link}, {visit} visit: {sight} by {seen:.0f} ms, {told}")
                context.close()
        say(f"requests to other hosts: {len(foreign)}")


def listed(browser: Browser, place: Path) -> None:
    """Measure how long a folder of many runs takes to appear."""
    root = place / "many"
    make_runs(root)
    with served(root) as (address, token):
        page = browser.new_page()
        page.goto(f"{address}/?token={token}")
        page.wait_for_selector("tr[data-run]")
        say(f"{RUNS} runs: {spread([open_list(page, address) for _ in range(5)])}")
        page.close()


def calloff(browser: Browser, place: Path) -> None:
    """Measure "Call it off": new solutions while δ is dragged, and ghosts."""
    with served(place / "calloff") as (address, token):
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{address}/?token={token}")
        page.wait_for_selector("tr[data-run]")  # the page has its key
        page.goto("about:blank")
        page.goto(f"{address}/#/calloff")
        page.wait_for_selector(".calloff-stage[data-plan]")
        say(f"dragging δ: {spread(drag_level(page))}")
        page.get_by_label("δ as a number").fill("0.9")
        say(f"a hundred ghosts: {walk_ghosts(page)}")
        page.close()


PARTS = {"jumps": jumps, "live": live, "first": first, "list": listed, "calloff": calloff}


def measure_parts(wanted: list[str]) -> None:
    """Measure the parts `wanted`, or all parts; print a line for each result."""
    for name in wanted:
        if name not in PARTS:
            raise InvalidInputError(f"there is no part {name}; there are {', '.join(PARTS)}")
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        raise InvalidInputError("there is no Chromium on this machine")
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found)
        for name in wanted or PARTS:
            say(f"== {name}")
            PARTS[name](browser, Path(place))
        browser.close()
