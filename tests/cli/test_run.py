"""``homeward run`` as a user meets it, with grid worlds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.invoking import answer, invoke, refused
from tests.runs.kinds import NAME

from homeward.errors import InvalidFileError, InvalidInputError
from homeward.kinds.grid import kind as grid
from homeward.planning.ends import End
from homeward.runs import Run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run_grid(*words: object) -> dict[str, Any]:
    return answer("run", "grid", *words)


def test_a_run_is_recorded_drawn_and_reported(tmp_path: Path) -> None:
    said = run_grid("--size", 6, "--seed", 2, "--out", "one")
    assert said["outputs"] == ["one/map.png", "one/summary.json"]
    assert (tmp_path / "one/map.png").stat().st_size > 1000
    run = Run.open("one")
    assert said["steps"] == len(list(run.records())) > 0
    assert not said["stranded"]
    assert 0.0 < said["seen"] <= 1.0
    assert said["why"]
    Run.create("two", "grid", {"size": 6, "seed": 2}).resume()
    one, two = ((tmp_path / name / "steps.jsonl").read_bytes() for name in ("one", "two"))
    assert one == two


def test_without_a_folder_each_run_has_a_new_one() -> None:
    for number in (1, 2):
        assert run_grid("--size", 4, "--steps", 1)["directory"] == f"runs/grid-{number}"


def test_a_kind_of_ones_own_has_the_options_of_its_configuration() -> None:
    said = answer("run", NAME, "--steps", 4, "--rows", 3, "--algorithm", "rate", "--out", "one")
    assert said["steps"] == 4
    config = Run.open("one").config
    assert (config["rows"], config["algorithm"]) == (3, "rate")
    assert "[rate|paper]" in invoke("run", NAME, "--help").stdout


def test_toy_text_worlds_run_with_their_defaults() -> None:
    assert answer("run", "toytext", "--steps", 3, "--out", "one")["steps"] == 3
    config = Run.open("one").config
    assert (config["world"], config["prior"]) == ("lake", [50.0, 0.05, 0.05, 0.01])
    answer("run", "toytext", "--world", "cliff", "--prior", "9,1,1,1", "--steps", 1, "--out", "two")
    assert Run.open("two").config["prior"] == [9.0, 1.0, 1.0, 1.0]
    error = refused("run", "toytext", "--discount", "0.99")
    assert str(error).startswith("--discount needs --algorithm paper")


def test_the_configuration_of_a_run_makes_another() -> None:
    run_grid("--size", 4, "--seed", 3, "--out", "one")
    run_grid("--config", "one/config.json", "--out", "two")
    assert Run.open("one").config == Run.open("two").config
    run_grid("--config", "one/config.json", "--seed", 5, "--out", "three")
    assert Run.open("three").config == Run.open("one").config | {"seed": 5}


def test_a_map_of_ones_own_is_explored_and_filmed(tmp_path: Path) -> None:
    (tmp_path / "map.txt").write_text("1111\n1a15\n1111\n")
    done = invoke("run", "grid", "--map", "map.txt", "--explorer", "uncover", "--out", "one")
    assert done.exit_code == 0
    assert "100% of the squares seen" in done.stdout
    assert invoke("runs", "draw", "one", "--out", "walk.gif").exit_code == 0
    assert (tmp_path / "walk.gif").read_bytes()[:3] == b"GIF"


@pytest.mark.parametrize(
    ("text", "place"),
    [("11\n1a1\n", "line 2, column 3"), ("1a\n?1\n", "line 2, column 1"), ("#a\n##1", "line 2")],
)
def test_a_bad_map_is_refused_by_line_and_column(tmp_path: Path, text: str, place: str) -> None:
    (tmp_path / "map.txt").write_text(text)
    assert str(refused("run", "grid", "--map", "map.txt")).startswith(f"--map: {place}")


def test_a_start_is_a_row_and_a_column() -> None:
    run_grid("--size", 6, "--start", "2,3", "--steps", 0, "--out", "one")
    assert Run.open("one").config["start"] == 15
    error = refused("run", "grid", "--size", 6, "--start", "2,6")
    assert "the start, row 2 and column 6, is off the map of 6 rows" in str(error)


def test_all_that_can_be_asked_is_told_by_name(tmp_path: Path) -> None:
    (tmp_path / "map.txt").write_text("11111\n11a11\n11111\n")
    asked = ("--delta", 0.9, "--keep-in", "0:2,1:3", "--back-within", 3, "--base", "1,2")
    more = ("--map", "map.txt", "--back-within-delta", 0.8, "--out", "one")
    said = run_grid(*asked, *more)
    names = ["return to base 1,2", "return to base 1,2 within 3 steps", "stay inside"]
    assert [found["name"] for found in said["criteria"]] == names
    assert [found["level"] for found in said["criteria"]] == [0.9, 0.8, 0.9]
    assert all(found["lowest"] >= found["level"] - 1e-8 for found in said["criteria"])
    assert said["conflict"] is None
    text = invoke("run", "grid", "--out", "one").stdout
    assert "stay inside: lower bound over the whole run 1.000000, required 0.9\n" in text
    assert "criteria: “return to base 1,2” at 0.9; " in invoke("runs", "show", "one").stdout


def test_a_recall_at_a_fixed_step_is_planned_for() -> None:
    run_grid("--size", 5, "--recall", 4, "--algorithm", "paper", "--steps", 3, "--out", "one")
    assert Run.open("one").config["recall"] == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--back-within", "0"], "--back-within is 0"),
        (["--recall", "0", "--algorithm", "paper"], "--recall is 0"),
        (["--recall", "3"], "--recall needs --algorithm paper"),
        (["--base", "x"], "--base: 'x' is not ROW,COL"),
        (["--base", "-1,2"], "--base: '-1,2' is off the map"),
        (["--base", "10,2"], "a base, row 10 and column 2, is off the map of 10 rows"),
        (["--keep-in", "0:2"], "--keep-in: '0:2' is not ROW:ROW,COL:COL"),
        (["--keep-in", "0:2,3"], "--keep-in: '0:2,3' is not ROW:ROW,COL:COL"),
        (["--keep-in", "6:4,0:9"], "the window to keep in, rows 6:4 and columns 0:9, is empty"),
        (["--keep-in", "0:9,0:10"], "is off the map of 10 rows and 10 columns"),
        (
            ["--keep-in", "0:4,0:9", "--start", "5,5"],
            "the start, row 5 and column 5, is outside the window",
        ),
        (["--delta", "nan"], "--delta is nan, expected a finite number"),
        (["--map", "gone.txt"], "gone.txt: can't be read: No such file or directory"),
        (["--explorer", "bold"], '--explorer is "bold"'),
        (["--home", "current"], "--home current needs --algorithm paper"),
        (["--each-base"], "--each-base has no effect without --base"),
        (["--base", "5,5", "--explorer", "rmax"], "--base needs an explorer with a safety"),
        (["--delta", "1", "--explorer", "uncover"], "--delta needs an explorer with a safety"),
        (["--home", "start", "--explorer", "rmax"], "--home needs an explorer with a safety"),
        (
            ["--correction", "moves", "--explorer", "near-bayesian"],
            "--correction needs an explorer with a safety",
        ),
        (["--home", "start", "--base", "5,5"], "--home and --base exclude each other: choose one"),
        (["--discount", "0.99"], "--discount needs --algorithm paper: the default algorithm"),
        (
            ["--keep-in", "0:9,0:9", "--keep-in-delta", "0.5"],
            "--keep-in-delta needs --algorithm paper: the default algorithm takes no action",
        ),
    ],
)
def test_bad_input_is_named_and_makes_no_run(
    tmp_path: Path, words: list[str], message: str
) -> None:
    error = refused("run", "grid", "--out", "one", *words)
    assert isinstance(error, InvalidInputError)
    assert message in str(error)
    assert not (tmp_path / "one").exists()


@pytest.mark.parametrize("name", ["size", "walls", "seed"])
def test_a_map_leaves_nothing_to_draw(tmp_path: Path, name: str) -> None:
    (tmp_path / "map.txt").write_text("11a11\n")
    error = refused("run", "grid", "--map", "map.txt", f"--{name}", 10 if name == "size" else 0)
    assert str(error).startswith(f"--{name} and --map: a map already defines")


def test_the_same_command_goes_on_and_another_one_is_refused() -> None:
    asked = ("--size", 6, "--seed", 2, "--out", "one")
    assert run_grid(*asked, "--steps", 1)["steps"] == 1
    assert run_grid(*asked, "--steps", 2)["steps"] == 2
    assert run_grid("--out", "one")["steps"] == 2
    error = refused("run", "grid", "--size", 6, "--seed", 2, "--delta", 0.5, "--out", "one")
    assert isinstance(error, InvalidFileError)
    assert "(--delta: recorded 1, given 0.5)" in str(error)
    assert "(--seed: recorded 2, by default 0)" in str(
        refused("run", "grid", "--size", 6, "--out", "one")
    )
    assert "one: is a grid run, not a toytext run" in str(refused("run", "toytext", "--out", "one"))


def test_criteria_that_conflict_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "map.txt").write_text("55e55\n")
    words = ["--map", "map.txt", "--base", "0,0", "--base", "0,4", "--each-base"]
    words += ["--back-within", "1", "--delta", "0.6"]
    for algorithm, message in (
        ("paper", "“return to base 0,0 within 1 step” at 0.6 and “return to base 0,4"),
        (
            "rate",
            "no return policy meets “return to base 0,0 within 1 step” at 0.6: ",
        ),
    ):
        assert message in str(refused("run", "grid", *words, "--algorithm", algorithm))


def test_what_can_no_longer_be_kept_is_told_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Let the start pass; then the first plan finds what nobody can keep, and waits.
    monkeypatch.setattr(grid, "check_start", lambda *_: None)
    (tmp_path / "map.txt").write_text("1a511\n")
    told = run_grid("--map", "map.txt", "--base", "0,2", "--out", "one")
    assert told["end"] == End.INFEASIBLE
    assert told["conflict"] == ["“return to base 0,2” at 1"]
    text = invoke("run", "grid", "--out", "one").stdout
    assert "at the end no policy meets “return to base 0,2” at 1, even alone" in text


def test_the_level_is_of_the_whole_run(tmp_path: Path) -> None:
    asked = ("--size", 8, "--seed", 3, "--start", "4,4", "--delta", 0.3, "--out", "one")
    told = run_grid(*asked)
    lines = (tmp_path / "one/steps.jsonl").read_text().splitlines()
    kept = [json.loads(line)["holding"]["kept"] for line in lines]
    assert kept == sorted(kept, reverse=True)
    assert 0.3 <= kept[-1] <= kept[0] <= 1.0
    assert told["criteria"] == [{"name": "return to the start", "level": 0.3, "lowest": kept[-1]}]
    promise, steps, why, *rest = invoke("run", "grid", *asked).stdout.splitlines()
    assert promise == (
        "one: whenever it is recalled, it can return to the start with probability at least 0.3"
    )
    assert steps == f"{told['steps']} steps taken"
    assert why == told["why"]
    assert (
        f"return to the start: lower bound over the whole run {kept[-1]:.6f}, required 0.3" in rest
    )


def test_a_run_that_takes_no_step_says_so(tmp_path: Path) -> None:
    (tmp_path / "map.txt").write_text("a55\n555\n")
    text = invoke("run", "grid", "--map", "map.txt").stdout
    assert text.splitlines()[1] == "no step was taken"
