"""Getting in, and what is left when the server goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect
from tests.web.page.looking import STATIC, Looking, served, site_of
from tests.web.site import serving

from homeward.runs import Run

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

WORLD = {"size": 24, "seed": 4, "walls": 0.2, "delta": 0.9}
TOKEN = "open-sesame-1001"


def test_who_has_the_token_gets_in_and_others_are_told(browser: Browser, tmp_path: Path) -> None:
    Run.create(tmp_path / "kept", "grid", {"size": 3, "seed": 1}).resume()
    with serving(tmp_path, TOKEN, STATIC) as server:
        there, address = f"{server.address}/", f"{server.address}/?token={TOKEN}"
        context = browser.new_context()
        look = Looking(context.new_page(), site_of(tmp_path, address))
        look.allowed = ("401",)
        look.page.goto(there)
        look.sees("main", "This browser has no token")
        link = f"{there}#/run/kept?step=2"
        look.page.goto("about:blank")
        look.page.goto(link)
        look.sees("main", "This browser has no token")
        asked: list[str] = []
        look.page.on("request", lambda request: asked.append(request.url))
        look.page.wait_for_timeout(4_000)  # longer than the pause before a stream is opened again
        assert asked == []
        assert look.page.url == link
        look.page.goto(address)
        look.sees('tr[data-run="kept"]')
        assert TOKEN not in look.page.url
        look.page.goto(there)  # the browser has the key
        look.sees('tr[data-run="kept"]')
        context.close()
        assert look.errors == []


def test_a_link_with_the_token_leads_where_it_says(browser: Browser, tmp_path: Path) -> None:
    Run.create(tmp_path / "kept", "grid", {"size": 3, "seed": 1}).resume()
    with serving(tmp_path, TOKEN, STATIC) as server:
        for route, seen in (
            ("#/calloff", "Call it off"),
            ("#/new?terrain=upload", "New run"),
            ("#/run/kept?step=1&layer=v", "kept"),
            ("", "Same rover"),
        ):
            context = browser.new_context()
            look = Looking(
                context.new_page(), site_of(tmp_path, f"{server.address}/?token={TOKEN}")
            )
            look.page.goto(f"{server.address}/?token={TOKEN}{route}")
            look.sees("h1", seen)
            expect(look.page).to_have_url(f"{server.address}/{route}")
            look.open()
            look.sees('tr[data-run="kept"]')  # the token was taken, whatever the view
            context.close()
            assert look.errors == []


def test_a_server_that_was_killed_is_found_again_and_so_is_its_run(
    browser: Browser, tmp_path: Path
) -> None:
    root = tmp_path / "runs"
    Run.create(root / "live", "grid", WORLD)
    whole = Run.create(tmp_path / "whole", "grid", WORLD)
    whole.resume()
    context = browser.new_context()
    with served(root) as (address, server):
        look = Looking(context.new_page(), site_of(root, address))
        look.allowed = ("ERR_",)  # nobody answers for a while
        look.enter()
        look.open("#/run/live")
        look.button("resume live").click()
        look.sees('.status:text-is("running")')
        expect(look.find(".count b")).not_to_have_text("0")
        server.kill()
        server.wait()
    port = look.site.address.rpartition(":")[2]
    with served(root, "--port", port):
        look.sees(".run-head", "finished")
        look.painted(len(list(whole.records())))
        context.close()  # or the page would see the end of this server too
    log = "steps.jsonl"
    assert (root / "live" / log).read_bytes() == (tmp_path / "whole" / log).read_bytes()
    assert look.errors == []
