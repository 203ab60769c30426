"""A vehicle to which something happens that its belief held impossible."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rasterio
from tests.cli.invoking import invoke

from homeward.kinds.rover.kind import cells_of
from homeward.missions import Mission
from homeward.planning.ends import End
from homeward.replay import Replay
from homeward.runs import Run
from homeward.runs.verification import plan_of_step
from homeward.web.service import ViewingService
from homeward.words import floored

GALE = Path(__file__).parents[2].parent / "shared" / "terrain" / "gale_337x348_1m.tif"
BACK = {"N": "S", "NE": "SW", "E": "W", "SE": "NW", "S": "N", "SW": "NE", "W": "E", "NW": "SE"}


def hills(folder: Path) -> dict[str, Any]:
    """Write small hills; return the settings of a mission on them."""
    y, x = np.mgrid[:20, :20] * 10.0
    heights = 6.0 * np.sin(x / 50.0) + 5.0 * np.cos(y / 40.0)
    place = rasterio.Affine(10.0, 0.0, 500_000.0, 0.0, -10.0, 5_400_000.0)
    shape = {"height": 20, "width": 20, "count": 1, "dtype": "float32"}
    path = folder / "hills.tif"
    with rasterio.open(
        path, "w", driver="GTiff", crs="EPSG:32633", transform=place, **shape
    ) as file:
        file.write(heights.astype("float32"), 1)
    more = {"cell": 10.0, "ground": "paper", "blur": 0.0, "climb": 12.0, "descend": 25.0}
    return {"terrain": str(path), "sensor_range": 15.0, "start": [10, 10], **more}


class Drive:
    """A vehicle on measured ground: it goes where it is told, and reports what it measures."""

    def __init__(
        self, folder: Path, config: dict[str, Any], *, looks: bool = True, **more: Any
    ) -> None:
        self.folder, self.looks = str(folder), looks
        self.mission = Mission.start(folder, "rover", {**config, **more})
        settled: Any = self.mission.config
        self.ground = cells_of(settled).centre
        self.start = self.place = list(self.mission.status()["start"])
        self.said: list[dict[str, Any]] = [self.report(self.look())]

    def look(self) -> list[dict[str, float]]:
        row, column = self.place
        near = [(r, c) for r in range(row - 1, row + 2) for c in range(column - 1, column + 2)]
        return [
            {"row": r, "column": c, "height": float(self.ground[r, c]), "error": 0.02}
            for r, c in near
            if self.looks and np.isfinite(self.ground[r, c])
        ]

    def report(self, heights: Any = (), **more: Any) -> dict[str, Any]:
        report = {"position": self.place, "heights": list(heights), **more}
        return self.mission.observe({"id": str(hash(str(more)) % 1000) + str(self.place), **report})

    def drive(self, steps: int) -> list[str]:
        """Follow the advice; return the moves."""
        moves = []
        for _ in range(steps):
            advice = self.mission.next()
            self.place = list(advice["to"])
            self.said.append(self.report(self.look(), tried=advice["move"]))
            moves.append(advice["move"])
        return moves

    def told(self, command: str, *options: str, code: int = 0) -> str:
        done = invoke(*command.split(), self.folder, *options)
        assert done.exit_code == code, done.output
        return done.output


@pytest.fixture(params=["hills", "gale"])
def drive(request: pytest.FixtureRequest, tmp_path: Path) -> Drive:
    if request.param == "hills":
        return Drive(tmp_path / "m", hills(tmp_path))
    if not GALE.exists():
        pytest.skip("no real terrain beside the project")
    config = {"terrain": str(GALE), "cell": 5.0, "sensor_range": 7.5, "climb": 15.0}
    return Drive(tmp_path / "m", config)


def certain(drive: Drive) -> tuple[str, list[int]]:
    """Return a move that the mission holds certain, other than the way back, and where it leads."""
    belief: Any = Replay(drive.folder).at(drive.mission.status()["steps"]).belief
    state = drive.place[0] * belief.shape[1] + drive.place[1]
    model = belief.mean()
    back = drive.mission.recall()["ways_home"][0]["moves"][0]["move"]
    for action in np.flatnonzero(model.success[state] == 1.0).tolist():
        name = model.action_name(action)
        if model.dest[state, action] != state and name != back:
            return name, list(divmod(int(model.dest[state, action]), belief.shape[1]))
    raise AssertionError("no move is held certain")


def test_a_move_that_was_held_certain_and_fails_leaves_no_promise(drive: Drive) -> None:
    out = drive.drive(3)
    before = drive.mission.recall()
    assert before["ways_home"][0]["probability"] == pytest.approx(1.0)
    assert before["promise"]["end"] is None
    assert before["promise"]["holds"]
    move, _ = certain(drive)
    answer = json.loads(
        drive.told(
            "mission observe", "--position", "{},{}".format(*drive.place), "--tried", move, "--json"
        )
    )["reports"][0]
    assert (answer["worked"], answer["kept"], answer["end"]) == (False, 0.0, "refuted")

    advice = json.loads(drive.told("mission next", "--json"))
    promise, (way,) = advice["promise"], advice["ways_home"]
    assert (advice["end"], advice["move"], promise["end"]) == ("refuted", None, "refuted")
    assert not promise["holds"]
    assert promise["kept"] == promise["budgets"][0]["kept"] == promise["budgets"][0]["left"] == 0.0
    assert [each["bound"] for each in advice["criteria"]] == [0.0]
    assert way["probability"] == 0.0
    assert [each["move"] for each in way["moves"]] == [BACK[each] for each in reversed(out)]
    said = drive.told("mission next")
    assert "What happened contradicts the belief" in said
    assert "not proven: " + " ".join(each["move"] for each in way["moves"]) in said
    assert "Promise: lost" in said
    assert "at least" not in said
    recall = json.loads(drive.told("mission recall", "--json"))
    assert (recall["ways_home"], recall["promise"]) == ([way], promise)
    assert json.loads(drive.told("mission status", "--json"))["promise"] == promise
    assert json.loads((Path(drive.folder) / "way_home.geojson").read_text())["features"]

    judged = json.loads(drive.told("certify", "--json", code=1))
    assert judged["refuted"]
    assert judged["run"]["end"] == "refuted"
    assert judged["run"]["kept"] == judged["homes"][0]["kept"] == 0.0
    assert judged["homes"][0]["reasons"] == judged["run"]["reasons"]
    assert judged["run"]["reasons"][0].startswith("step 4: what happened contradicts the belief")
    assert "confirmed" not in drive.told("certify", code=1)


def test_a_move_that_failed_and_then_works_leads_on_and_home(drive: Drive) -> None:
    drive.drive(2)
    move, there = certain(drive)
    drive.report(tried=move)
    before = drive.place
    drive.place = there
    assert drive.report(drive.look(), tried=move)["worked"]
    drive.place = before
    assert drive.report(tried=BACK[move])["worked"]
    assert not drive.report(tried=move, time="2030-01-01T00:00:00Z")["worked"]  # it slips again
    while not (way := drive.mission.recall()["ways_home"][0])["is_home"]:
        assert drive.mission.status()["promise"]["end"] == "refuted"
        drive.place = list(way["moves"][0]["to"])
        drive.report(tried=way["moves"][0]["move"], time="2030-01-02T00:00:00Z")
    assert drive.place == drive.start
    assert len(plan_of_step(Run.open(drive.folder)).run.reasons) == 1  # type: ignore[union-attr]
    again = Mission.open(drive.folder)
    assert (again.next(), again.recall()) == (drive.mission.next(), drive.mission.recall())


def test_a_failed_move_of_the_way_home_sends_it_around(tmp_path: Path) -> None:
    drive = Drive(tmp_path / "m", hills(tmp_path))
    out = drive.drive(3)
    back = BACK[out[-1]]
    drive.report(tried=back)
    moves = drive.mission.recall()["ways_home"][0]["moves"]
    assert moves[0]["move"] != back
    assert moves[-1]["to"] == drive.start
    drive.place = list(drive.mission.recall()["ways_home"][0]["moves"][0]["to"])
    assert drive.report()["step"] == 5  # the way home, or the only move that leads there


def test_an_uncertain_move_may_fail_and_a_retry_that_works_is_taken(tmp_path: Path) -> None:
    drive = Drive(tmp_path / "m", hills(tmp_path), error=2.0, looks=False, delta=0.05)
    belief: Any = Replay(drive.folder).at(0).belief
    state = drive.place[0] * 20 + drive.place[1]
    model = belief.mean()
    chances = np.where(model.dest[state] != state, model.success[state], 0.0)
    chances[chances > 1.0 - 1e-6] = 0.0
    action = int(chances.argmax())
    assert chances[action] > 0.0
    move, there = model.action_name(action), list(divmod(int(model.dest[state, action]), 20))
    assert drive.report(tried=move)["end"] is None  # Bayes' rule is enough
    assert drive.mission.status()["promise"]["holds"]
    drive.place = there
    answer = drive.report(tried=move)
    assert (answer["worked"], answer["end"]) == (True, "refuted")


def test_a_height_that_breaks_a_way_home_held_certain_leaves_no_promise(tmp_path: Path) -> None:
    drive = Drive(tmp_path / "m", hills(tmp_path))
    drive.place = [9, 10]
    assert drive.report(moved=True)["kept"] == 1.0
    drop = {"row": 9, "column": 10, "height": 900.0, "error": 0.001}
    answer = drive.report([drop], sure=True)
    assert (answer["status"], answer["end"], answer["kept"]) == ("look", "refuted", 0.0)
    assert drive.mission.next()["promise"]["end"] == "refuted"


@pytest.mark.parametrize("carried", [True, False])  # or it drove there
def test_a_certain_way_home_that_is_measured_closed_contradicts_it_whatever_was_spent(
    carried: bool, tmp_path: Path
) -> None:
    drive = Drive(tmp_path / "m", hills(tmp_path), error=2.0, looks=False, delta=0.5)
    advice = drive.mission.next()
    drive.place = list(advice["to"])
    drive.report(**({"moved": True} if carried else {"tried": advice["move"]}))
    around = [divmod(cell, 20) for cell in range(400)]
    drive.report(
        [
            {"row": r, "column": c, "height": float(drive.ground[r, c]), "error": 0.02}
            for r, c in around
            if np.isfinite(drive.ground[r, c])
        ],
        id="survey",
    )
    before = drive.mission.next()
    assert before["ways_home"][0]["probability"] == pytest.approx(1.0, abs=1e-9)
    assert 0.5 < before["promise"]["kept"] < 0.999
    row, column = drive.place
    cliff = {"row": row, "column": column, "height": 900.0, "error": 0.001}
    answer = drive.report([cliff], sure=True, id="cliff")
    assert (answer["end"], answer["kept"]) == ("refuted", 0.0)

    advice = json.loads(drive.told("mission next", "--json"))
    assert (advice["end"], advice["move"]) == ("refuted", None)
    assert [each["bound"] for each in advice["criteria"]] == [0.0]
    assert advice["promise"]["end"] == "refuted"
    assert not advice["promise"]["holds"]
    assert advice["promise"]["kept"] == advice["ways_home"][0]["probability"] == 0.0
    assert json.loads(drive.told("mission recall", "--json"))["promise"] == advice["promise"]
    assert json.loads(drive.told("mission status", "--json"))["promise"] == advice["promise"]
    judged = json.loads(drive.told("certify", "--json", code=1))
    assert judged["refuted"]
    assert (judged["run"]["end"], judged["run"]["kept"]) == ("refuted", 0.0)
    assert judged["homes"][0]["kept"] == 0.0
    driven = [] if carried else before["ways_home"][0]["moves"]
    assert advice["ways_home"][0]["moves"] == driven  # what was driven is all that speaks for a way
    page = ViewingService(tmp_path)
    assert json.loads(json.dumps(page.answer("mission", ("m", "next")))) == advice
    why = page.answer("why", ("m", 3))
    assert (why["end"], why["way_home"]) == ("refuted", 0.0)


@pytest.mark.parametrize("limits", [{"distance": 600.0}, {"back_within": 12}])
def test_limits_are_counted_on_after_the_promise_is_lost(
    limits: dict[str, Any], tmp_path: Path
) -> None:
    drive = Drive(tmp_path / "m", hills(tmp_path), **limits)
    drive.drive(2)
    move, _ = certain(drive)
    drive.report(tried=move)
    used = drive.mission.status()["promise"]["budgets"][-1]["used"]
    drive.place = [10, 10]
    amounts = [7.0] * len(used)
    drive.report(moved=True, **({"used": amounts} if amounts else {}))
    promise = drive.mission.status()["promise"]
    assert promise["end"] == "refuted"
    assert promise["budgets"][-1]["used"] == [each + 7.0 for each in used]
    assert drive.mission.recall()["ways_home"][0]["is_home"]


def test_a_replay_claims_nothing_from_the_step_on(tmp_path: Path) -> None:
    drive = Drive(tmp_path / "m", hills(tmp_path))
    drive.drive(3)
    move, _ = certain(drive)
    drive.report(tried=move)
    replay = Replay(drive.folder)
    state = drive.place[0] * 20 + drive.place[1]
    for step, bound in ((3, 1.0), (4, 0.0)):
        assert replay.at(step).returns[1].value[state] == pytest.approx(bound)
    why, way = replay.why(4), replay.way(4, state)
    assert (why["end"], why["way_home"]) == (End.REFUTED, 0.0)
    assert (way["bound"], len(way["edges"])) == (0.0, 3)
    assert replay.ghosts(4, state, 0)["lost"] == []
    assert replay.log.bounds_of(4) == [0.0]
    record = list(Run.open(drive.folder).records())[-1]
    assert record.holding["refuted"] is True
    assert record.holding["kept"] == 0.0


@pytest.mark.parametrize("tried", ["W", "NE"])
def test_on_exact_heights_a_slip_is_taken_too(tried: str, tmp_path: Path) -> None:
    mission = Mission.start(tmp_path / "m", "grid", {"map": "111\n1c1\n111", "delta": 0.9})
    square = [[r, c, 3] for r in range(3) for c in range(3)]
    mission.observe({"heights": square})
    answer = mission.observe({"position": [1, 1], "tried": tried})
    assert (answer["worked"], answer["end"]) == (False, "refuted")
    there = {"W": [1, 0], "NE": [0, 2]}[tried]
    assert mission.observe({"position": there, "tried": tried})["worked"]
    (way,) = mission.next()["ways_home"]
    assert [move["to"] for move in way["moves"]] == [[1, 1]]
    assert floored(way["probability"]) == "0.000000"
