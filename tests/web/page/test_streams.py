from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect
from tests.missions.playing import GridPlayer, start

from homeward.runs import Run

if TYPE_CHECKING:
    from playwright.sync_api import Page
    from tests.web.page.looking import Looking, Site

RUNS = [("done", "grid", {"size": 4, "seed": 1})]
LONG = {"size": 60, "walls": 0.2, "delta": 0.9}
STEPS = re.compile(r"of ([1-9]\d*) steps")


def steps(page: Page) -> int:
    found = STEPS.search(page.locator(".count").first.inner_text())
    assert found is not None
    return int(found[1])


def test_six_windows_on_two_live_runs_all_stay_live(look: Looking, site: Site) -> None:
    for number, name in enumerate(("one", "two")):
        Run.create(site.root / name, "grid", {**LONG, "seed": number})
    look.open("#/run/done")
    look.sees(".run-head", "finished")
    pages = [look.page.context.new_page() for _ in range(6)]
    for page, name in zip(pages, ("one", "two") * 3, strict=True):
        page.goto(f"{site.address}/#/run/{name}")
    for page, name in zip(pages[:2], ("one", "two"), strict=True):
        page.get_by_role("button", name=f"resume {name}").click()
    for page in pages:
        expect(page.locator(".count").first).to_contain_text(STEPS)
    fixed = look.page  # it does not follow the run, and each event comes before its plan
    fixed.goto(f"{site.address}/#/run/one?step=3")
    look.explained(3)
    look.sees(".run-head", "running")
    before = [steps(page) for page in pages]
    for page, count in zip(pages, before, strict=True):
        page.wait_for_function(
            "(count) => Number(/of (\\d+) steps/.exec("
            "document.querySelector('.count').innerText)?.[1]) > count",
            arg=count,
        )
    for name in ("one", "two"):
        look.page.request.post(
            f"{site.address}/api/v1/runs/{name}/cancel",
            headers={**site.headers, "X-Homeward": "1"},
        )


ALONE = """
    window.SharedWorker = undefined;
    window.streams = [];
    const Plain = EventSource;
    window.EventSource = class extends Plain {
        constructor(url) { super(url); window.streams.push(this); }
    };
    Object.defineProperty(document, "hidden", { get: () => window.isHidden ?? false });
    window.hide = (hidden) => {
        window.isHidden = hidden;
        document.dispatchEvent(new Event("visibilitychange"));
    };
    window.listens = () => window.streams.filter(({ readyState }) => readyState !== 2).length;
"""
"""A window without shared workers, which counts its streams and can be hidden."""


NEWS = """(counts) => { for (const to of counts) {
    const data = JSON.stringify({ id: "outside", from: 0, to, status: "waiting" });
    window.streams.at(-1).dispatchEvent(new MessageEvent("steps", { data }));
} }"""
"""Tells a window on a mission of numbers of steps."""


def test_a_window_has_one_stream_and_a_hidden_one_has_none(look: Looking, site: Site) -> None:
    page = look.page.context.new_page()
    page.add_init_script(ALONE)
    page.goto(f"{site.address}/#/run/done")
    expect(page.locator(".run-head").first).to_contain_text("finished")
    page.wait_for_function("() => listens() === 1")
    page.evaluate("hide(true)")
    page.wait_for_function("() => listens() === 0")
    page.evaluate("hide(false)")
    page.wait_for_function("() => listens() === 1")


def test_a_link_to_a_later_step_does_not_load_the_first(look: Looking) -> None:
    asked: list[str] = []
    look.page.on("request", lambda request: asked.append(request.url))
    look.open("#/run/done?step=2")
    look.painted(2)
    look.explained(2)
    maps = [url for url in asked if "/fields" in url]
    assert maps
    assert not [url for url in maps if "/steps/0/" in url]


def test_an_update_does_not_replace_a_reload_that_waits(look: Looking, site: Site) -> None:
    """News of more steps, of a run that was made anew, and again of more steps, come at once."""
    player = GridPlayer()
    mission = start(site.root / "outside", player, "grid")
    mission.observe(player.look())
    mission.observe(player.act(mission.next()["action"], id="1"))
    page = look.page.context.new_page()
    page.add_init_script(ALONE)
    page.goto(f"{site.address}/#/run/outside")
    expect(page.locator(".count").first).to_contain_text("of 1 steps")
    page.wait_for_function("() => listens() === 1")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.partition("/records?from=")[2]))
    with page.expect_response(lambda answer: "/records?from=0" in answer.url):
        page.evaluate(NEWS, [2, 0, 3])
    assert [first[0] for first in asked if first] == ["1", "0"]
