"""Malformed reports and files are refused with a code, and never by another exception."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.missions.playing import GridPlayer, RoverPlayer, play, start

from homeward.errors import HomewardError
from homeward.missions import Fault, Mission, ReportError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KINDS = ("grid", "rover", "toytext")

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**6), 10**6)
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["NE", "stay", "0,0", "map:1,2", "2030-01-01T00:00:00Z", "1e999", "١,٢"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["x", "y", "row", "column", "height", "error", "variance"])
            | st.text(max_size=4),
            inner,
            max_size=5,
        )
    ),
    max_leaves=8,
)
KEYS = st.sampled_from(["id", "time", "position", "tried", "moved", "used", "heights"])
REPORTS = (
    st.dictionaries(KEYS, JSON, max_size=5) | st.dictionaries(st.text(max_size=5), JSON) | JSON
)


@pytest.fixture(scope="module")
def missions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Mission]:
    root: Path = tmp_path_factory.mktemp("reports")
    grid, rover = GridPlayer(), RoverPlayer()
    found = {"grid": start(root / "grid", grid, "grid")}
    found["rover"] = start(root / "rover", rover, "rover")
    found["toytext"] = Mission.start(root / "toytext", "toytext", {"world": "lake", "delta": 0.5})
    play(found["grid"], grid, 2)
    play(found["rover"], rover, 2)
    found["toytext"].observe({"position": [0, 0]})
    return found


def refusal(work: Callable[[], Any]) -> tuple[HomewardError | None, Any]:
    """Return the refusal of some work, or what it returns."""
    try:
        return None, work()
    except HomewardError as error:
        return error, None


@settings(
    max_examples=350, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
@given(kind=st.sampled_from(KINDS), report=REPORTS)
def test_no_report_raises_anything_but_a_refusal(
    missions: dict[str, Mission], kind: str, report: Any
) -> None:
    mission = missions[kind]
    before = mission.run.manifest.steps
    error, answer = refusal(lambda: mission.observe(report))
    assert isinstance(error, ReportError | None)
    if error is None:
        assert answer["step"] >= 0
    else:
        assert error.code in Fault
        assert mission.run.manifest.steps == before


@pytest.mark.parametrize(
    ("report", "code"),
    [
        ({"position": "²,3"}, "position"),
        ({"position": [0, 0], "tried": "³"}, "format"),
        ({"position": [0, 0], "moved": True, "used": [10**400]}, "format"),
        ({"id": "\ud800"}, "format"),
    ],
)
def test_characters_and_numbers_that_python_cannot_convert_are_refused(
    missions: dict[str, Mission], report: Any, code: str
) -> None:
    with pytest.raises(ReportError) as refused:
        missions["rover"].observe(report)
    assert refused.value.code == code


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "report",
    [
        {},
        {"id": "7"},
        {"time": "2099-01-01T00:00:00Z"},
        {"moved": False, "tried": None, "position": None},
        {"heights": []},
        {"heights": [], "sure": True},
        {"id": " \t"},
        {"id": "  ", "position": [0, 0]},
    ],
)
def test_a_report_that_says_nothing_is_refused(
    missions: dict[str, Mission], kind: str, report: dict[str, Any]
) -> None:
    before = missions[kind].run.manifest.steps
    with pytest.raises(ReportError) as refused:
        missions[kind].observe(report)
    assert refused.value.code is Fault.FORMAT
    assert missions[kind].run.manifest.steps == before


@pytest.mark.parametrize(
    ("name", "text"), [("a.json", "[]"), ("a.jsonl", " \n\n"), ("a.jsonl", "")]
)
def test_a_file_without_a_report_is_refused(
    missions: dict[str, Mission], tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ReportError, match=f"{name}: has no report"):
        missions["grid"].observe_file(tmp_path / name)


def test_measurements_again_under_another_id_are_told_apart_from_a_report_without_one(
    missions: dict[str, Mission],
) -> None:
    mission = missions["rover"]
    row, column = mission.status()["position"]
    heights = [{"row": row, "column": column, "height": 1.25, "error": 3.0}]
    mission.observe({"id": "first", "heights": heights})
    with pytest.raises(ReportError, match="send it with the id of that report"):
        mission.observe({"id": "second", "heights": heights})
    with pytest.raises(ReportError, match="give it an id"):
        mission.observe({"heights": heights})


@settings(max_examples=150, deadline=None, database=None)
@given(
    data=st.binary(max_size=60)
    | st.text(max_size=60).map(str.encode)
    | st.lists(
        st.lists(
            st.sampled_from(
                ["row", "column", "height", "error", "x", "1", "-1", "nan", "", '"', "9"]
            ),
            max_size=5,
        ).map(",".join),
        max_size=4,
    ).map(lambda rows: "\n".join(["row,column,height,error", *rows]).encode()),
    suffix=st.sampled_from([".csv", ".csv", ".json", ".jsonl", ".tif", ".txt"]),
)
def test_no_file_raises_anything_but_a_refusal(
    missions: dict[str, Mission], data: bytes, suffix: str
) -> None:
    mission = missions["rover"]
    path = mission.run.directory.parent / f"file{suffix}"
    path.write_bytes(data)
    error, _ = refusal(lambda: mission.observe_file(path))
    assert error is None or "\n" not in str(error)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("row,column,height,error\n1,2,3,4\n1,x,3,4", "row 3 is 'x', expected a number"),
        ("row,column,height,error\n1,2,nan,4", "row 2 is nan, expected a finite number"),
        ("row,column,height,error\n1,2,3,-4", "the error of row 2 is -4"),
        ("row,column,height,error\n1,2,3,0", "the error of row 2 is 0"),
        ("row,column,height,error\n1,2,3,1e200", "1e+200, expected a number from 1e-12 to 1e+12"),
        ("row,column,height,variance\n1,2,3,1e99", "1e+99, expected a number from 1e-24 to 1e+24"),
        ("row,column,height,error\n1,2,3", "row 2 has 3 cells, the first row has 4"),
        ("row,column,height,error\n1,2,3,4\n\n1,2,3,4", "row 4 is in row 1, column 2 of the map"),
        ("row,column,height,error\n999,2,3,4", "row 2: row 999, column 2 is off the map"),
        ("a,b\n1,2", "the first row is 'a,b'"),
    ],
)
def test_a_bad_row_of_a_csv_file_is_named(
    missions: dict[str, Mission], tmp_path: Path, rows: str, said: str
) -> None:
    path = tmp_path / "scan.csv"
    path.write_text(rows)
    with pytest.raises(ReportError) as caught:
        missions["rover"].observe_file(path)
    assert caught.value.code is Fault.MEASUREMENT
    assert said in str(caught.value)


def test_a_file_of_reports_is_recorded_up_to_the_first_bad_one(tmp_path: Path) -> None:
    mission = Mission.start(tmp_path / "m", "toytext", {"world": "lake", "delta": 0.5})
    path = tmp_path / "reports.jsonl"
    here, off = '"position": [0, 0]', '{"position": [9, 9]}'
    path.write_text(f'{{"id": 1, {here}}}\n\n{{"id": 2, {here}}}\n{off}\n{{"id": 3, {here}}}\n')
    with pytest.raises(ReportError, match=r"reports.jsonl, line 4: row 9, column 9 is off the map"):
        mission.observe_file(path)
    assert mission.status()["steps"] == 1
    path.write_text(path.read_text().replace("[9, 9]", "[0, 0]"))
    answers = mission.observe_file(path)
    assert [answer["status"] for answer in answers] == ["repeated", "repeated", "look", "look"]
