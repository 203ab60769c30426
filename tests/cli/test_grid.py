from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from homeward.cli.app import app
from homeward.errors import InvalidFileError, InvalidInputError

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
        (["--budget", "0.9"], InvalidInputError, "a budget is for a safe explorer whose home"),
        (["--film", "walk.avi"], InvalidFileError, "a film can be written as .gif, .mp4"),
    ):
        with pytest.raises(error, match=said):
            runner.invoke(app, ["grid", *arguments], catch_exceptions=False)


def test_a_budget_is_of_the_whole_run(tmp_path: Path) -> None:
    out, record = tmp_path / "grid.png", tmp_path / "run"
    arguments = ["grid", "--size", "6", "--home", "start", "--budget", "0.6", "--out", str(out)]
    plain = runner.invoke(app, [*arguments, "--json"], catch_exceptions=False)
    again = runner.invoke(app, [*arguments, "--json", "--run", str(record)], catch_exceptions=False)
    assert json.loads(plain.stdout)["path"] == json.loads(again.stdout)["path"]
    lines = (record / "steps.jsonl").read_text().splitlines()
    kept = [json.loads(line)["holding"]["kept"] for line in lines]
    assert kept == sorted(kept, reverse=True)
    assert 0.6 <= kept[-1] <= kept[0] <= 1.0
