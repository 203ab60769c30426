from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect
from tests.missions.playing import GridPlayer, start

if TYPE_CHECKING:
    from tests.web.page.looking import Looking, Site

RUNS = [("done", "grid", {"size": 4, "seed": 1})]
WORLD = {"size": 8, "walls": 0.15, "delta": 0.9}


def test_six_windows_on_two_live_runs_all_stay_live(look: Looking, site: Site) -> None:
    """A browser opens six connections to a server, and each stream of its own would take one."""
    players = {name: GridPlayer({**WORLD, "seed": seed}) for name, seed in (("one", 4), ("two", 5))}
    live = {name: start(site.root / name, player, "grid") for name, player in players.items()}
    for name, mission in live.items():
        mission.observe(players[name].look())
    look.open("#/run/done")
    look.sees(".run-head", "finished")
    pages = [look.page.context.new_page() for _ in range(6)]
    for page, name in zip(pages, ("one", "two") * 3, strict=True):
        page.goto(f"{site.address}/#/run/{name}")
    for page in pages:
        expect(page.locator(".map canvas").first).to_have_attribute("data-step", "0")
    for step in (1, 2, 3):
        for name, mission in live.items():
            mission.observe(players[name].act(mission.next()["action"], id=str(step)))
        for page in pages:
            expect(page.locator(".count").first).to_contain_text(f"of {step} steps")
    look.open("#/run/one?step=1")  # there is a connection left for what is asked for
    look.explained(1)
    look.sees(".run-head", "mission")


ALONE = """
    window.SharedWorker = undefined;
    window.streams = [];
    const Plain = EventSource;
    window.EventSource = class extends Plain {
        constructor(url) {
            super(url);
            window.streams.push(this);
            this.addEventListener("status", () => (window.hasStatus = true));
        }
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
    # A stream begins with the run's status, and the page then requests the records after step 1.
    page.wait_for_function("() => window.hasStatus")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    with page.expect_response(lambda response: "/records?from=0" in response.url):
        page.evaluate(NEWS, [2, 0, 3])
    records = [url for url in requests if "/records?from=" in url]
    assert "/records?from=0" in records[-1]  # and no request for a part after it
