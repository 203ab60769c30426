"""Things that go wrong while somebody looks: damaged records, runs that go, a server that goes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from tests.web.page.conftest import TOKEN
from tests.web.page.looking import STATIC, Looking, Site
from tests.web.site import serving

from homeward.runs import Run
from homeward.runs.log import from_line, to_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser

WORLD = {"size": 8, "seed": 5, "walls": 0.15}
RUNS = [("first", "grid", {**WORLD, "delta": 0.8})]
DELETED = "This run was deleted while you watched it; what was loaded stays on view."
LOST = "The server does not answer"


def copied(site: Site, name: str) -> Path:
    shutil.rmtree(site.root / name, ignore_errors=True)
    shutil.copytree(site.root / "first", site.root / name)
    return site.root / name


def cut(lines: list[bytes]) -> list[bytes]:
    return [*lines[:7], lines[7][:30]]


def garble(lines: list[bytes]) -> list[bytes]:
    return [*lines[:5], b"noise\n", *lines[6:]]


@pytest.mark.parametrize(
    ("change", "left", "said"),
    [
        (cut, 7, "its log has 7 steps, but the run ended after"),
        (garble, 5, "line 6"),
    ],
)
def test_a_run_with_a_damaged_record_says_so_and_shows_what_is_left(
    look: Looking,
    site: Site,
    change: Callable[[list[bytes]], list[bytes]],
    left: int,
    said: str,
) -> None:
    log = copied(site, "hurt") / "steps.jsonl"
    log.write_bytes(b"".join(change(log.read_bytes().splitlines(keepends=True))))
    look.open()
    row = look.find('tr[data-run="hurt"]')
    expect(row).to_contain_text("damaged")
    expect(row).to_contain_text(said)
    expect(row.locator("td.num").first).to_have_text(str(left))
    row.get_by_role("link", name="hurt", exact=True).click()
    look.sees(".run-head .ended", "This run is damaged: ")
    look.sees(".run-head .ended", said)
    look.painted(0)
    look.sees(".count", f"after 0 of {left} steps")
    look.page.keyboard.press("End")
    look.painted(left)
    look.explained(left)
    look.sees(".why .ended", "The run is damaged here.")
    expect(look.find("body")).not_to_contain_text("The run ended here")


def test_a_run_that_can_not_be_drawn_says_why(look: Looking, site: Site) -> None:
    look.allowed = ("409",)
    log = copied(site, "moved") / "steps.jsonl"
    first, *lines = log.read_bytes().splitlines(keepends=True)
    record = from_line(first)
    wrong = to_line(replace(record, next_state=record.next_state + 1))
    log.write_bytes(b"".join([wrong, *lines]))
    look.open("#/run/moved?step=3")
    look.sees(".map-note", "steps.jsonl: step 1 ends in state")
    look.open("#/run/moved?step=0")
    look.sees(".count", "after 0 of")
    expect(look.find(".map-note")).to_have_count(0)
    for _ in range(3):
        look.button("Next step").click()
    look.sees(".map-notes", "steps.jsonl: step 1 ends in state")
    look.sees(".map-notes", "The colours are those after 0 steps.")
    look.sees(".count", "after 3 of")
    expect(look.find(".working")).to_have_count(0)
    look.page.wait_for_timeout(1000)
    asked: list[str] = []
    look.page.on("request", lambda request: asked.append(request.url))
    look.page.wait_for_timeout(1000)
    assert [url for url in asked if "/steps/" in url] == []  # it is not asked for on and on
    (log.parent / "config.json").write_text("{}")
    look.open("#/run/moved")
    look.sees("main p", "moved is damaged: config.json")
    look.page.wait_for_timeout(300)
    expect(look.find("body")).not_to_contain_text("Drawing the map")


def test_a_run_of_a_newer_version_is_not_called_damaged(look: Looking, site: Site) -> None:
    look.allowed = ("409",)
    (copied(site, "newer") / "manifest.json").write_text('{"format": 99}')
    look.open()
    row = look.find('tr[data-run="newer"]')
    expect(row).to_contain_text("newer version of Homeward made it")
    expect(row).not_to_contain_text("damaged")
    look.open("#/run/newer")
    look.sees("h1", "can't be shown")
    look.sees("main p", "newer version of Homeward made it")
    expect(look.find("main")).to_have_count(1)


def test_a_finished_run_that_is_deleted_says_so_and_stays_usable(look: Looking, site: Site) -> None:
    look.allowed = ("404", "409")  # 409 while half of its files are gone
    folder = copied(site, "doomed")
    look.open("#/run/doomed?step=4")
    look.painted(4)
    look.explained(4)
    look.page.wait_for_timeout(700)  # it listens to the list by now
    shutil.rmtree(folder)
    look.sees('[role="alert"] .message', DELETED)
    look.sees(".run-head", "deleted")
    look.page.keyboard.press("ArrowRight")
    look.sees(".map-notes", "deleted before this step was loaded; the colours are those after 4")
    look.sees(".why", "The run was deleted before this plan was computed.")
    expect(look.find(".working")).to_have_count(0)
    look.page.keyboard.press("ArrowLeft")
    look.explained(4)
    expect(look.find(".map-notes")).to_be_empty()
    look.sees(".plot .plot-area")


def test_a_run_that_is_found_to_be_gone_by_asking_is_gone(look: Looking, site: Site) -> None:
    look.allowed = ("404", "409", "ERR_")
    folder = copied(site, "silent")
    look.page.context.route("**/api/v1/events?*", lambda route: route.abort())
    look.open("#/run/silent?step=4")
    look.painted(4)
    look.explained(4)
    shutil.rmtree(folder)
    look.page.keyboard.press("ArrowRight")
    look.sees('[role="alert"] .message', DELETED)
    look.sees(".run-head", "deleted")


def test_a_run_deleted_in_another_tab_can_not_be_resumed(look: Looking, site: Site) -> None:
    look.allowed = ("404", "409")
    run = Run.create(site.root / "halted", "grid", WORLD)
    steps = run.steps()
    next(steps)
    steps.close()
    look.open("#/run/halted")
    expect(look.button("resume halted")).to_be_visible()
    look.painted(0)
    other = look.page.context.new_page()
    other.goto(look.site.address)
    other.once("dialog", lambda dialog: dialog.accept())
    other.get_by_role("button", name="delete halted").click()
    expect(other.locator('tr[data-run="halted"]')).to_have_count(0)
    look.page.bring_to_front()
    look.sees(".run-head", "deleted")
    expect(look.button("resume halted")).to_have_count(0)


def test_a_run_that_somebody_else_resumes_is_seen_to_go(look: Looking, site: Site) -> None:
    run = Run.create(site.root / "waiting", "grid", WORLD)
    look.open("#/run/waiting")
    look.sees(".run-head", "interrupted")
    look.page.wait_for_timeout(700)
    run.resume()
    look.sees(".run-head", "finished")
    look.sees(".count", f"of {run.manifest.steps} steps")


def test_a_server_that_is_back_is_not_said_to_be_gone(browser: Browser, tmp_path: Path) -> None:
    root = tmp_path / "runs"
    Run.create(root / "kept", "grid", {"size": 4, "seed": 1}).resume()
    context = browser.new_context()
    with serving(root, TOKEN, STATIC) as server:
        site = Site(root, server.address, TOKEN)
        looks = [Looking(context.new_page(), site) for _ in range(2)]
        of_list, of_run = looks
        for look in looks:
            look.allowed = ("ERR_",)
        of_list.enter()
        of_list.sees('tr[data-run="kept"]')
        of_run.open("#/run/kept?step=0")
        of_run.painted(0)
        of_run.explained(0)
    for look in looks:
        look.sees('[role="alert"] .message', LOST)
    of_list.sees(".list .ended", f"{LOST}; the list may be out of date.")
    of_run.page.keyboard.press("ArrowRight")
    of_run.sees(".map-notes", LOST)
    Run.create(root / "another", "grid", {"size": 4, "seed": 2})
    with serving(root, TOKEN, STATIC, server.port):
        for look in looks:
            expect(look.find('[role="alert"] .message')).to_have_count(0)
        of_list.sees('tr[data-run="another"]')
        expect(of_list.find(".list .ended")).to_have_count(0)
        of_run.painted(1)
        of_run.explained(1)
        expect(of_run.find(".map-notes")).to_be_empty()
    context.close()
    for look in looks:
        assert look.errors == []


@pytest.mark.parametrize("size", [(1440, 900), (820, 1180)])
def test_a_message_covers_no_control(look: Looking, size: tuple[int, int]) -> None:
    look.allowed = ("500",)
    look.page.set_viewport_size({"width": size[0], "height": size[1]})
    look.page.route("**/way?*", lambda route: route.fulfill(status=500, json={"error": "thunder"}))
    look.open("#/run/first?step=3")
    look.painted(3)
    look.page.mouse.click(*look.point(9, (8, 8)))
    look.sees('[role="alert"] .message', "thunder")
    covered = look.page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, a")].filter((control) => {
            const box = control.getBoundingClientRect();
            const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
            const inside = box.width && x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;
            const top = inside ? document.elementFromPoint(x, y) : null;
            return top?.closest(".messages") && !control.closest(".messages");
        }).map((control) => control.outerHTML)"""
    )
    assert covered == []
    if size == (1440, 900):
        expect(look.find(".timeline")).to_be_in_viewport(ratio=1)
    look.button("Close this message").click()
    expect(look.find('[role="alert"] .message')).to_have_count(0)


def test_without_its_worker_there_are_reasons_and_plots_all_the_same(look: Looking) -> None:
    look.allowed = ("ERR_FAILED",)
    look.page.route("**/worker.js", lambda route: route.abort())
    look.open("#/run/first?step=2")
    look.sees('[role="alert"] .message', "The map's worker failed")
    look.explained(2)
    look.sees(".plot .plot-area")
