from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from homeward.cli.app import app
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.kinds.grid import kind as grid
from homeward.planning.explorer import End

if TYPE_CHECKING:
    from pathlib import Path

runner = CliRunner()


def test_a_run_is_told_drawn_and_recorded(tmp_path: Path) -> None:
    out, record = tmp_path / "grid.png", tmp_path / "run"
    arguments = ["grid", "--size", "6", "--seed", "2", "--out", str(out)]
    plain = runner.invoke(app, [*arguments, "--json"], catch_exceptions=False)
    again = runner.invoke(app, [*arguments, "--json", "--run", str(record)], catch_exceptions=False)
    one, two = json.loads(plain.stdout), json.loads(again.stdout)
    assert out.stat().st_size > 1000
    assert one["path"] == two["path"]
    assert one["steps"] == len(one["path"]) - 1 > 0
    assert not one["stranded"]
    assert two["run"] == str(record)
    assert len((record / "steps.jsonl").read_text().splitlines()) == two["steps"]


def test_a_map_of_ones_own_is_explored_and_filmed(tmp_path: Path) -> None:
    (tmp_path / "map.txt").write_text("1111\n1a15\n1111\n")
    film = tmp_path / "walk.gif"
    places = ["--map", str(tmp_path / "map.txt"), "--out", str(tmp_path / "a.png")]
    more = ["--film", str(film), "--explorer", "uncover"]
    done = runner.invoke(app, ["grid", *places, *more], catch_exceptions=False)
    assert done.exit_code == 0
    assert "100% seen" in done.stdout
    assert film.read_bytes()[:3] == b"GIF"


@pytest.mark.parametrize(
    ("text", "place"),
    [("11\n1a1\n", "line 2, column 3"), ("1a\n?1\n", "line 2, column 1"), ("#a\n##1", "line 2")],
)
def test_a_bad_map_is_refused_by_file_line_and_column(
    tmp_path: Path, text: str, place: str
) -> None:
    file = tmp_path / "map.txt"
    file.write_text(text)
    with pytest.raises(InvalidFileError, match=f"map.txt: {place}"):
        runner.invoke(app, ["grid", "--map", str(file)], catch_exceptions=False)


def test_what_does_not_exist_can_not_be_explored(tmp_path: Path) -> None:
    for arguments, error, said in (
        (["--map", str(tmp_path / "no.txt")], InvalidFileError, "no.txt: can't be read"),
        (["--explorer", "bold"], InvalidInputError, "explorer"),
        (["--budget", "0.9"], InvalidInputError, "--budget is gone: .* use --delta 0.9"),
        (["--home", "current"], InvalidInputError, "--home current .* needs --algorithm paper"),
        (["--film", "walk.avi"], InvalidFileError, "a film can be written as .gif, .mp4"),
    ):
        with pytest.raises(error, match=said):
            runner.invoke(app, ["grid", *arguments], catch_exceptions=False)


def test_all_that_can_be_asked_is_told_by_name(tmp_path: Path) -> None:
    (tmp_path / "map.txt").write_text("11111\n11a11\n11111\n")
    words = ["grid", "--map", str(tmp_path / "map.txt"), "--out", str(tmp_path / "a.png")]
    asked = ["--delta", "0.9", "--keep-in", "0:2,1:3", "--back-within", "3", "--base", "1,2"]
    record = ["--run", str(tmp_path / "run"), "--back-within-delta", "0.8"]
    said = json.loads(
        runner.invoke(app, [*words, *asked, *record, "--json"], catch_exceptions=False).stdout
    )
    names = ["return to base 1,2", "return to base 1,2 within 3 steps", "stay inside"]
    assert [found["name"] for found in said["criteria"]] == names
    assert [found["level"] for found in said["criteria"]] == [0.9, 0.8, 0.9]
    assert all(found["lowest"] >= found["level"] - 1e-8 for found in said["criteria"])
    assert said["conflict"] is None
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    assert summary["criteria"] == said["criteria"]
    text = runner.invoke(app, [*words, *asked], catch_exceptions=False).stdout
    assert "stay inside: kept over the whole run 1.000000, asked for 0.9\n" in text
    shown = runner.invoke(app, ["runs", "show", str(tmp_path / "run")], catch_exceptions=False)
    assert "keeps: “return to base 1,2” at 0.9; " in shown.stdout


def test_a_recall_at_a_fixed_step_is_planned_for(tmp_path: Path) -> None:
    words = [
        "grid",
        "--size",
        "5",
        "--recall",
        "4",
        "--algorithm",
        "paper",
        "--limit",
        "3",
        "--out",
        str(tmp_path / "a.png"),
    ]
    record = ["--run", str(tmp_path / "run")]
    assert runner.invoke(app, [*words, *record], catch_exceptions=False).exit_code == 0
    assert json.loads((tmp_path / "run/config.json").read_text())["config"]["recall"] == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--back-within", "0"], "back_within is 0"),
        (["--recall", "0", "--algorithm", "paper"], "recall is 0"),
        (["--recall", "3"], "--recall is kept plan by plan: it needs --algorithm paper"),
        (["--base", "x"], "--base is 'x', expected ROW,COLUMN"),
        (["--base", "-1,2"], "--base is '-1,2', expected ROW,COLUMN from 0 on"),
        (["--base", "10,2"], "a base, row 10 and column 2, is off the map of 10 rows"),
        (["--keep-in", "0:2"], "--keep-in is '0:2', expected ROW:ROW,COLUMN:COLUMN"),
        (["--keep-in", "0:2,3"], "--keep-in is '3', expected ROW:ROW,COLUMN:COLUMN"),
        (["--keep-in", "6:4,0:9"], "the window to keep in, rows 6:4 and columns 0:9, is empty"),
        (["--keep-in", "0:9,0:10"], "is off the map of 10 rows and 10 columns"),
        (["--keep-in", "0:4,0:9"], "the start, row 5 and column 5, is outside the window"),
        (["--delta", "nan"], "the grid world: delta is nan, expected a finite number"),
        (["--map", "gone.txt"], "^gone.txt: can't be read: No such file or directory$"),
        (["--each-base"], "--each-base says nothing without --base"),
        (["--base", "5,5", "--explorer", "rmax"], "--base is for an explorer that keeps"),
        (["--delta", "1", "--explorer", "uncover"], "--delta is for an explorer that keeps"),
        (["--home", "start", "--explorer", "rmax"], "--home is for an explorer that keeps"),
        (
            ["--correction", "moves", "--explorer", "near-bayesian"],
            "--correction is for an explorer that keeps",
        ),
        (["--home", "start", "--base", "5,5"], "--home and --base: choose one"),
        (["--discount", "0.99"], "--discount needs --algorithm paper: the default algorithm"),
        (
            ["--keep-in", "0:9,0:9", "--keep-in-delta", "0.5"],
            "--keep-in-delta needs --algorithm paper: the default algorithm takes no action",
        ),
    ],
)
def test_bad_input_is_named(tmp_path: Path, words: list[str], message: str) -> None:
    out = tmp_path / "a.png"
    with pytest.raises(InvalidInputError, match=message):
        runner.invoke(app, ["grid", "--out", str(out), *words], catch_exceptions=False)
    assert not out.exists()


@pytest.mark.parametrize("name", ["size", "walls", "seed"])
def test_a_map_leaves_nothing_to_draw(tmp_path: Path, name: str) -> None:
    (tmp_path / "map.txt").write_text("11a11\n")
    words = ["grid", "--map", str(tmp_path / "map.txt"), f"--{name}", "1"]
    words[-1] = "10" if name == "size" else "0"
    with pytest.raises(InvalidInputError, match=f"--{name} and --map: a map says itself"):
        runner.invoke(app, words, catch_exceptions=False)


def test_a_recorded_run_is_not_walked_again_and_says_how_to_go_on(tmp_path: Path) -> None:
    there = tmp_path / "run"
    words = ["grid", "--size", "4", "--limit", "1", "--out", str(tmp_path / "a.png")]
    words += ["--run", str(there)]
    runner.invoke(app, words, catch_exceptions=False)
    with pytest.raises(InvalidInputError, match=f"{there}: there is a run already; to go on: hom"):
        runner.invoke(app, words, catch_exceptions=False)


def test_criteria_that_conflict_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "map.txt").write_text("55e55\n")
    words = ["--map", str(tmp_path / "map.txt"), "--base", "0,0", "--base", "0,4", "--each-base"]
    words += ["--back-within", "1", "--delta", "0.6"]
    for algorithm, message in (
        ("paper", r"“return to base 0,0 within 1 step” at 0.6 and “return to base 0,4"),
        ("rate", r"no way keeps “return to base 0,0 within 1 step” at 0.6: the best works"),
    ):
        asked = ["grid", *words, "--algorithm", algorithm]
        with pytest.raises(InvalidInputError, match=message):
            runner.invoke(app, asked, catch_exceptions=False)


def test_what_can_no_longer_be_kept_is_told_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Let the start pass; then the first plan finds what nobody can keep, and waits.
    monkeypatch.setattr(grid, "check_start", lambda *_: None)
    (tmp_path / "map.txt").write_text("1a511\n")
    words = ["grid", "--map", str(tmp_path / "map.txt"), "--base", "0,2", "--out"]
    words += [str(tmp_path / "a.png")]
    for record in ([], ["--run", str(tmp_path / "run")]):
        said = runner.invoke(app, [*words, *record, "--json"], catch_exceptions=False)
        told = json.loads(said.stdout)
        assert told["end"] == End.INFEASIBLE
        assert told["conflict"] == ["“return to base 0,2” at 1"]
    text = runner.invoke(app, words, catch_exceptions=False).stdout
    assert "at the end no policy keeps “return to base 0,2” at 1, even alone" in text
    assert json.loads((tmp_path / "run/summary.json").read_text())["conflict"] == told["conflict"]


def test_the_level_is_of_the_whole_run(tmp_path: Path) -> None:
    out, record = tmp_path / "grid.png", tmp_path / "run"
    arguments = ["grid", "--size", "8", "--seed", "3", "--delta", "0.3", "--out", str(out)]
    plain = runner.invoke(app, [*arguments, "--json"], catch_exceptions=False)
    again = runner.invoke(app, [*arguments, "--json", "--run", str(record)], catch_exceptions=False)
    told = json.loads(plain.stdout)
    assert told["path"] == json.loads(again.stdout)["path"]
    lines = (record / "steps.jsonl").read_text().splitlines()
    kept = [json.loads(line)["holding"]["kept"] for line in lines]
    assert kept == sorted(kept, reverse=True)
    assert 0.3 <= kept[-1] <= kept[0] <= 1.0
    assert told["criteria"] == [{"name": "return to the start", "level": 0.3, "lowest": kept[-1]}]
    summary = json.loads((record / "summary.json").read_text())
    assert (summary["criteria"], summary["why"]) == (told["criteria"], told["why"])
    text = runner.invoke(app, arguments, catch_exceptions=False).stdout
    promise, steps, why, said, *_ = text.splitlines()
    assert promise == (
        "safe at δ = 0.3: whenever it is called off, it can come home to the start with "
        "probability 0.3 or more"
    )
    assert steps.endswith(f"% seen in {told['steps']} steps")
    assert why == told["why"]
    assert said == (f"return to the start: kept over the whole run {kept[-1]:.6f}, asked for 0.3")


def test_a_walk_that_takes_no_step_says_so(tmp_path: Path) -> None:
    (tmp_path / "map.txt").write_text("a55\n555\n")
    words = ["grid", "--map", str(tmp_path / "map.txt"), "--out", str(tmp_path / "a.png")]
    text = runner.invoke(app, words, catch_exceptions=False).stdout
    assert text.splitlines()[1] == "no step was taken"
