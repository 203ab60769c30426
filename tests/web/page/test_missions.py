"""A mission on the page: in the list, on the map, with each report, and recalled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from tests.missions.playing import GridPlayer, RoverPlayer, start

from homeward.missions import Mission

if TYPE_CHECKING:
    from tests.web.page.looking import Looking, Site

SLOW_REASONS = """
window.asked = [];
const fetched = window.fetch;
window.fetch = async (url, init) => {
  if (!String(url).endsWith("/why")) return fetched(url, init);
  window.asked.push(String(url));
  await new Promise((resolve, reject) => {
    setTimeout(resolve, 400);
    init?.signal?.addEventListener("abort", () => reject(init.signal.reason));
  });
  return fetched(url, init);
}; 0
"""
RUNS: list[tuple[str, str, dict[str, Any]]] = []


def test_a_mission_is_followed_while_it_goes_on(look: Looking, site: Site) -> None:
    player = GridPlayer()
    mission = start(site.root / "outside", player, "grid")
    mission.observe(player.look())
    look.open("#/runs")
    look.sees("[data-run=outside] .status", "mission")
    look.open("#/run/outside")
    look.painted(0)
    look.sees(".why h2", "Why this move?")
    look.sees(".why .sentence", f"take {mission.next()['move']}")
    look.sees(".mission", "The vehicle is at home.")
    for step in (1, 2):
        mission.observe(player.act(mission.next()["action"], id=str(step)))
        look.painted(step)
        look.sees(".why .sentence", f"take {mission.next()['move']}")
    recall, advised = mission.recall(), mission.next()
    moves = " ".join(step["move"] for step in recall["ways_home"][0]["moves"])
    look.sees(".mission", f": {moves}.")
    row, column = recall["position"]
    look.sees(".mission", f"The vehicle is in row {row}, column {column}. Its next move: ")
    row, column = advised["to"]
    look.sees(".mission", f"{advised['move']} to row {row}, column {column}.")
    [budget] = recall["promise"]["budgets"]
    look.sees(".mission", f"The promise of {budget['level']:g} holds;")
    left = float(look.find(".mission meter").get_attribute("value") or "nan")
    assert left == pytest.approx(budget["left"])
    look.button("Show it on the map").click()
    look.sees(".way", "It succeeds with probability at least")
    expect(look.find(".way tbody tr")).to_have_count(len(recall["ways_home"][0]["moves"]))


def test_a_move_that_was_held_certain_and_fails_takes_the_promise_away(
    look: Looking, site: Site
) -> None:
    mission = Mission.start(site.root / "slip", "grid", {"map": "11111\n1c111\n11111"})
    mission.observe({"heights": [[r, c, 3] for r in range(3) for c in range(5)]})
    for column in (2, 3):
        mission.observe({"position": [1, column], "tried": "E"})
    look.open("#/run/slip")
    look.painted(2)
    look.sees(".mission", "The promise of")
    mission.observe({"position": [1, 3], "tried": "N"})
    look.painted(3)
    look.sees(".mission .bad", "The promise is lost: what happened contradicts the belief.")
    look.sees(".mission", "No way home can be proven from here; the best supported one: W W.")
    look.sees(".mission", "No further move is advised.")
    look.sees(".why", "What happened contradicts the belief, so nothing is promised any more.")
    expect(look.find(".mission meter")).to_have_count(0)
    expect(look.find(".criteria .kept")).to_have_count(0)


def test_a_rovers_way_home_is_taken_along(look: Looking, site: Site) -> None:
    player = RoverPlayer()
    mission = start(site.root / "drive", player, "rover")
    mission.observe(player.look())
    mission.observe(player.act(mission.next()["action"], id="1"))
    look.open("#/run/drive")
    x, y, _ = mission.next()["line"][-1]
    look.sees(".mission", f", at x {x:.1f}, y {y:.1f}.")
    with look.page.expect_download() as download:
        look.page.get_by_role("link", name="Way home (GeoJSON)").click()
    assert json.loads(download.value.path().read_text()) == mission.recall()["geojson"]


def test_reasons_come_while_steps_come_faster_than_they_do(look: Looking, site: Site) -> None:
    player = GridPlayer()
    mission = start(site.root / "fast", player, "grid")
    mission.observe(player.look())

    look.open("#/run/fast")
    look.painted(0)
    look.explained(0)
    look.page.evaluate(SLOW_REASONS)
    for step in range(1, 13):
        mission.observe(player.act(mission.next()["action"], id=str(step)))
        look.page.wait_for_timeout(120)
    assert int(look.find(".why").get_attribute("data-step") or "0") > 0
    look.explained(12)
    asked = look.page.evaluate("window.asked")
    assert len(asked) == len(set(asked))  # each moment once
