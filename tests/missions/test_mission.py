from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.missions.playing import GRID, ROVER, GridPlayer, RoverPlayer, play, start

from homeward.errors import InvalidFileError, InvalidInputError
from homeward.missions import Fault, Mission, ReportError
from homeward.runs import BusyError, Run
from homeward.runs.lock import locked
from homeward.runs.log import LOOK, MOVED, OWN
from homeward.runs.verification import plan_of_step

if TYPE_CHECKING:
    from pathlib import Path

PLANNED = (
    *("step", "state", "action", "next_state", "status", "value", "upper", "bounds"),
    *("kept_bounds", "holding", "evaluators"),
)


@pytest.fixture
def player() -> GridPlayer:
    return GridPlayer()


@pytest.fixture
def mission(tmp_path: Path, player: GridPlayer) -> Mission:
    return start(tmp_path / "mission", player, "grid")


def refused(mission: Mission, report: Any) -> ReportError:
    """Report something that is refused; nothing is recorded."""
    before = [path.read_bytes() for path in sorted(mission.run.directory.iterdir())]
    with pytest.raises(ReportError) as caught:
        mission.observe(report)
    assert [path.read_bytes() for path in sorted(mission.run.directory.iterdir())] == before
    return caught.value


def test_a_mission_with_the_observations_of_a_grid_run_makes_its_moves(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", "grid", GRID)
    run.resume()
    player = GridPlayer()
    mission = start(tmp_path / "mission", player, "grid")
    play(mission, player, 1000)
    mine, theirs = list(mission.run.records()), list(run.records())
    assert len(mine) > 20
    for name in (*PLANNED, "observation"):
        assert [getattr(r, name) for r in mine] == [getattr(r, name) for r in theirs]
    assert mission.next()["end"] == run.manifest.end


def test_a_mission_with_the_observations_of_a_rover_makes_its_moves(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", "rover", {**ROVER, "seed": 2, "limit": 12})
    run.resume()
    player = RoverPlayer(seed=2)
    mission = start(tmp_path / "mission", player, "rover")
    play(mission, player, 12)
    mine, theirs = list(mission.run.records()), list(run.records())
    assert len(mine) == 12
    for name in PLANNED:
        assert [getattr(r, name) for r in mine] == [getattr(r, name) for r in theirs]


def test_another_process_gives_the_same_answers(mission: Mission, player: GridPlayer) -> None:
    play(mission, player, 5)
    again = Mission.open(mission.run.directory)
    assert again.next() == mission.next() == mission.next()
    assert again.recall() == mission.recall()
    assert again.status() == mission.status()


def test_a_report_with_a_known_id_counts_once(mission: Mission, player: GridPlayer) -> None:
    reports = play(mission, player, 4)
    log = (mission.run.directory / "steps.jsonl").read_bytes()
    again = Mission.open(mission.run.directory)
    for number, report in enumerate(reports):
        answer = again.observe(report)
        assert (answer["status"], answer["step"]) == ("repeated", number)
    assert (mission.run.directory / "steps.jsonl").read_bytes() == log
    other = {**reports[1], "time": "2030-01-01T00:00:00Z"}
    assert refused(again, other).code is Fault.REPEATED


def test_a_report_without_an_id_is_not_recorded_twice(mission: Mission, player: GridPlayer) -> None:
    look = player.look()
    mission.observe(look)
    assert refused(mission, look).code is Fault.REPEATED
    assert mission.observe({**look, "id": "again"})["status"] == LOOK


def test_measurements_with_errors_are_never_equal_twice(tmp_path: Path) -> None:
    player = RoverPlayer()
    mission = start(tmp_path / "mission", player, "rover")
    reports = play(mission, player, 2)
    old = {"heights": reports[0]["heights"], "id": "another"}
    assert refused(mission, old).code is Fault.REPEATED


def test_a_clock_that_runs_backwards_is_refused(mission: Mission, player: GridPlayer) -> None:
    mission.observe(player.look(time="2030-01-01T12:00:00+02:00"))
    here = {"position": mission.status()["position"]}
    assert refused(mission, {**here, "time": "2030-01-01T09:59:59Z"}).code is Fault.CLOCK
    assert mission.observe({**here, "time": "2030-01-01T10:00:00Z"})["status"] == LOOK


def test_two_processes_can_not_report_at_once(mission: Mission, player: GridPlayer) -> None:
    ready, done, errors = threading.Event(), threading.Event(), []

    def hold() -> None:
        with locked(mission.run.directory / "lock", "the mission"):
            ready.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    ready.wait()
    try:
        mission.observe(player.look())
    except BusyError as error:
        errors.append(str(error))
    done.set()
    holder.join()
    assert len(errors) == 1
    assert "is writing it" in errors[0]
    assert mission.observe(player.look())["status"] == "first_look"


def test_nothing_is_advised_before_the_first_look(mission: Mission, player: GridPlayer) -> None:
    with pytest.raises(ReportError) as caught:
        mission.next()
    assert caught.value.code is Fault.NO_LOOK
    assert mission.status()["has_first_look"] is False
    assert refused(mission, player.look(tried="N")).code is Fault.NO_LOOK
    row, column = player.look()["position"]
    elsewhere = {"position": [(row + 2) % 8, column]}
    assert refused(mission, elsewhere).code in (Fault.POSITION, Fault.MEASUREMENT)
    mission.observe(player.look())
    assert mission.status()["has_first_look"] is True
    assert mission.next()["move"] is not None


def test_a_look_tells_more_and_costs_nothing(mission: Mission, player: GridPlayer) -> None:
    play(mission, player, 3)
    before, held = mission.next(), mission.status()["promise"]
    heights = [
        [r, c, int(player.world.grid.heights[r, c])]  # type: ignore[attr-defined]
        for r in range(8)
        for c in range(8)
    ]
    answer = mission.observe({"heights": heights})
    assert (answer["status"], answer["step"]) == (LOOK, 4)
    assert mission.status()["promise"] == held
    assert before["end"] is None
    assert mission.next()["end"] == "all_seen"


def test_an_impossible_position_is_refused_unless_the_vehicle_was_moved(tmp_path: Path) -> None:
    player = RoverPlayer()
    mission = start(tmp_path / "mission", player, "rover")
    play(mission, player, 3)
    row, column = mission.status()["position"]
    far = [row, column + 3 if column < 5 else column - 3]
    error = refused(mission, {"position": far})
    assert error.code is Fault.NOT_ADVISED
    assert "--moved" in str(error)
    answer = mission.observe({"position": far, "moved": True})
    assert (answer["status"], answer["position"]) == (MOVED, far)
    promise = mission.next()["promise"]
    assert promise["kept"] == answer["kept"] <= 1.0
    assert plan_of_step(mission.run).refuted is False


def test_a_vehicle_moved_to_where_nothing_leads_home_has_no_promise_left(tmp_path: Path) -> None:
    pit = "a2222\n2#1#2\n22#22\n22222"
    mission = Mission.start(tmp_path / "m", "grid", {"map": pit, "delta": 0.9})
    known = [[0, 0, 1], [0, 1, 5], [1, 0, 5], [1, 1, -1]]
    mission.observe({"heights": known})
    around = [[r, c, 5] for r in (2, 3) for c in (3, 4)] + [[1, 4, 5]]
    answer = mission.observe(
        {"position": [3, 4], "moved": True, "heights": [*around, [2, 4, 5]][:-1]}
    )
    assert answer["status"] == MOVED
    assert mission.next()["promise"]["holds"] is False
    found = plan_of_step(mission.run)
    assert not found.refuted
    assert found.homes[0].kept < 0.9


def test_moves_of_the_held_way_home_may_be_taken_at_any_time(
    mission: Mission, player: GridPlayer
) -> None:
    play(mission, player, 6)
    spent = mission.status()["promise"]["budgets"][0]["spent"]
    while not mission.recall()["ways_home"][0]["is_home"]:
        move = mission.recall()["ways_home"][0]["moves"][0]
        report = player.act(move["action"])
        del report["tried"]
        report["id"] = f"home {mission.status()['steps']}"
        answer = mission.observe(report)
        assert answer["status"] in (OWN, "step")
        assert answer["position"] == move["to"]
    assert mission.status()["position"] == mission.status()["start"]
    assert mission.status()["promise"]["budgets"][0]["spent"] == spent
    assert not plan_of_step(mission.run).refuted


def test_a_move_that_was_not_advised_is_charged_or_refused(tmp_path: Path) -> None:
    text = "55555\n5555c\n55555"
    mission = Mission.start(tmp_path / "m", "grid", {"map": text, "delta": 1.0})
    mission.observe({"heights": [[0, 3, 3], [0, 4, 1], [1, 3, 3], [1, 4, 3], [2, 3, 3], [2, 4, 3]]})
    seen = [[0, 3, 3], [0, 4, 1], [1, 3, 3], [1, 4, 3]]
    error = refused(mission, {"position": [0, 4], "tried": "N", "heights": seen})
    assert error.code is Fault.TOO_RISKY
    wrong = refused(mission, {"position": [0, 4], "tried": "S", "heights": seen})
    assert wrong.code is Fault.NOT_ADVISED


def test_a_height_that_contradicts_an_exact_one_is_refused(tmp_path: Path) -> None:
    text = "55\n5c"
    mission = Mission.start(tmp_path / "m", "grid", {"map": text, "delta": 0.5})
    mission.observe({"heights": [[0, 0, 5], [0, 1, 3], [1, 0, 3], [1, 1, 3]]})
    error = refused(mission, {"heights": [[0, 0, 4]]})
    assert error.code is Fault.MEASUREMENT
    assert str(error).startswith("row 0, column 0 is known to be of height 5")


def test_a_mission_is_certified_like_a_run(mission: Mission, player: GridPlayer) -> None:
    play(mission, player, 8)
    found = plan_of_step(mission.run)
    assert not found.refuted
    assert found.run is not None
    assert found.run.recomputed == found.run.kept
    path = mission.run.directory / "steps.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 8


def test_a_mission_is_not_a_run(mission: Mission, tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="is a mission, which its reports continue"):
        mission.run.resume()
    with pytest.raises(InvalidFileError, match="is already a mission"):
        Mission.start(mission.run.directory, "grid", {"map": "a1"})
    run = Run.create(tmp_path / "run", "grid", {"size": 4})
    with pytest.raises(InvalidFileError, match="is a run in a simulated world"):
        Mission(run)
    with pytest.raises(InvalidFileError, match="there is no run"):
        Mission.open(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("kind", "config", "said"),
    [
        ("rover", None, "terrain is missing: .*your own terrain.*--terrain"),
        ("rover", {"rows": 200, "columns": 200}, "terrain is missing"),
        ("rover", {"seed": 3}, "seed is for simulated worlds"),
        ("rover", {"truth": "prior"}, "truth is for simulated worlds"),
        ("rover", {"limit": 5}, "limit is for simulated worlds"),
        ("rover", {"algorithm": "paper"}, "algorithm is paper"),
        ("grid", {"walls": 0.5, "start": 3}, "walls is for simulated worlds"),
        ("grid", {"size": 5}, "the start is missing"),
        ("toytext", {"seed": 1}, "seed is for simulated worlds"),
    ],
)
def test_what_only_a_simulated_world_needs_is_refused_by_name(
    kind: str, config: dict[str, Any] | None, said: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match=said):
        Mission.start(tmp_path / "m", kind, config)
    assert not (tmp_path / "m").exists()


def test_a_mission_simulates_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(*given: Any) -> None:
        raise AssertionError("heights were drawn")

    for name in ("true_heights", "draw_heights", "Rover"):
        monkeypatch.setattr(f"homeward.kinds.rover.kind.{name}", drawn)
    mission = Mission.start(tmp_path / "m", "rover", ROVER)
    mission.observe({"position": mission.status()["start"]})
    assert mission.next()["move"] is not None
    assert mission.recall()["ways_home"][0]["is_home"]
    mission.observe({"position": mission.next()["to"]})
    plan_of_step(mission.run)


def test_tiles_report_transitions(tmp_path: Path) -> None:
    mission = Mission.start(tmp_path / "m", "toytext", {"world": "slippery lake", "delta": 0.6})
    mission.observe({"position": [0, 0]})
    first = mission.next()["move"]
    assert first in ("right", "down")  # which are alike by symmetry
    assert refused(mission, {"position": [3, 3], "tried": "down"}).code is Fault.NOT_ADVISED
    mission.observe({"position": [0, 1], "tried": first})
    mission.observe({"position": [1, 1], "tried": mission.next()["move"]})
    assert mission.next()["end"] == "lost"
    assert mission.recall()["ways_home"][0]["probability"] == 0.0
    assert not plan_of_step(mission.run).refuted
