"""Missions over HTTP: start, report, ask for the next move, recall."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.missions.playing import GridPlayer
from tests.web.site import serving

from homeward.missions import Fault
from homeward.web.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.web.site import Site


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    root: Path = tmp_path_factory.mktemp("missions")
    with serving(root) as found:
        yield found


def test_a_mission_goes_on_by_reports(place: Site) -> None:
    player = GridPlayer()
    made = place.post("/api/v1/missions", {"kind": "grid", "name": "m", "config": player.mission})
    assert (made.status_code, made.json()["status"]) == (201, "waiting")
    here = "/api/v1/missions/m"
    early = place.get(f"{here}/next")
    assert (early.status_code, early.json()["code"]) == (409, "report_no_look")
    assert place.get(f"{here}/status").json()["has_first_look"] is False
    look = place.post(f"{here}/observations", player.look())
    assert (look.status_code, look.json()["status"]) == (201, "first_look")
    for step in range(1, 4):
        advice = place.get(f"{here}/next").json()
        assert advice == place.get(f"{here}/next").json()
        report = player.act(advice["action"], id=str(step))
        assert place.post(f"{here}/observations", report).json()["step"] == step
        again = place.post(f"{here}/observations", report).json()
        assert (again["status"], again["step"]) == ("repeated", step)
    recall = place.get(f"{here}/recall").json()
    assert recall["promise"]["holds"]
    assert recall["ways_home"][0]["moves"]
    assert place.get(f"{here}/recall?format=gpx").json()["code"] == "conflict"
    assert place.get(f"{here}/recall?format=pdf").status_code == 400


def test_a_mission_whose_promise_is_lost_says_so_in_every_answer(place: Site) -> None:
    config = {"map": "111\n1c1\n111", "delta": 0.9}
    place.post("/api/v1/missions", {"kind": "grid", "name": "lost", "config": config})
    here, heights = "/api/v1/missions/lost", [[r, c, 3] for r in range(3) for c in range(3)]
    assert place.post(f"{here}/observations", {"heights": heights}).status_code == 201
    slip = place.post(f"{here}/observations", {"position": [1, 1], "tried": "W"}).json()
    assert (slip["end"], slip["kept"]) == ("refuted", 0.0)
    for answer in ("next", "recall", "status"):
        promise = place.get(f"{here}/{answer}").json()["promise"]
        assert (promise["end"], promise["holds"], promise["kept"]) == ("refuted", False, 0.0)
    again = place.post(f"{here}/observations", {"position": [1, 0], "tried": "W"})
    assert (again.status_code, again.json()["worked"]) == (201, True)
    why = place.get("/api/v1/runs/lost/steps/2/why").json()
    assert (why["end"], why["way_home"]) == ("refuted", 0.0)
    assert [each["bound"] for each in why["criteria"]] == [0.0]
    for route in ("certificate", "glance", "timeline", "steps/2/fields?layers=v"):
        assert place.get(f"/api/v1/runs/lost/{route}").status_code == 200
    certificate = place.get("/api/v1/runs/lost/certificate").json()
    assert (certificate["refuted"], certificate["details"]["run"]["end"]) == (True, "refuted")


def test_a_mission_is_shown_like_a_run(place: Site) -> None:
    player = GridPlayer()
    place.post("/api/v1/missions", {"kind": "grid", "name": "seen", "config": player.mission})
    url = "/api/v1/runs/seen"
    assert "nothing was reported yet" in place.get(url).json()["error"]
    place.post("/api/v1/missions/seen/observations", player.look())
    details = place.get(url).json()
    assert (details["status"], details["error"]) == ("waiting", None)
    assert "truth" not in {layer["name"] for layer in details["layers"]}
    why = place.get(f"{url}/steps/0/why").json()
    assert why["action"] == place.get("/api/v1/missions/seen/next").json()["action"]
    assert place.get(f"{url}/steps/0/fields?layers=height,v").status_code == 200
    true = player.world.grid.heights  # type: ignore[attr-defined]
    far = {"heights": [[0, column, int(true[0, column])] for column in range(8)]}
    assert place.post("/api/v1/missions/seen/observations", far).status_code == 201
    place.post("/api/v1/missions/seen/observations", player.act(why["action"]))
    assert place.get(url).json()["steps"] == 2
    assert place.get(f"{url}/steps/2/why").json()["agrees"] is True
    assert place.get(f"{url}/glance").status_code == 200
    assert place.get(f"{url}/timeline").status_code == 200
    refused = place.post(f"{url}/resume")
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")


def test_what_is_not_a_mission_or_not_a_report_is_refused(place: Site) -> None:
    player = GridPlayer()
    bad = {"kind": "grid", "config": {**player.mission, "seed": 3}}
    assert "seed" in place.post("/api/v1/missions", bad).json()["error"]
    place.post("/api/v1/missions", {"kind": "grid", "name": "bad", "config": player.mission})
    here = "/api/v1/missions/bad/observations"
    assert place.post(here, {"colour": "red"}).json()["code"] == "report_format"
    assert place.post(here, {"position": [99, 0]}).json()["code"] == "report_position"
    assert place.get("/api/v1/missions/none/next").status_code == 404
    for fault in Fault:
        assert Refusal(f"report_{fault}").status in (400, 409, 422)
