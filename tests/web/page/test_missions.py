"""A mission on the page: in the list, on the map, with each report, and recalled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.missions.playing import GridPlayer, start

if TYPE_CHECKING:
    from tests.web.page.looking import Looking, Site

RUNS: list[tuple[str, str, dict[str, Any]]] = []


def test_a_mission_is_followed_while_it_goes_on(look: Looking, site: Site) -> None:
    player = GridPlayer()
    mission = start(site.root / "outside", player, "grid")
    mission.observe(player.look())
    look.open("#/runs")
    look.sees("[data-run=outside] .status", "mission")
    look.open("#/run/outside")
    look.painted(0)
    look.sees(".why h2", "Next move")
    look.sees(".why .sentence", f"take {mission.next()['move']}")
    look.sees("[aria-label=Recall]", "The vehicle is at home.")
    for step in (1, 2):
        mission.observe(player.act(mission.next()["action"], id=str(step)))
        look.painted(step)
        look.sees(".why .sentence", f"take {mission.next()['move']}")
    moves = " ".join(step["move"] for step in mission.recall()["ways_home"][0]["moves"])
    look.sees("[aria-label=Recall]", f": {moves}.")
