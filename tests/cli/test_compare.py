"""``homeward study compare``: files, table, resumption, refusals."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest
from tests.cli.invoking import answer, invoke, refused

if TYPE_CHECKING:
    from pathlib import Path

SMALL = ("--size", 6, "--seeds", 2, "--steps", 12, "--workers", 0, "--out", "there")
TWO = ("--agent", "ours", "--agent", "random")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_comparison_writes_its_table_and_its_figure_and_resumes(tmp_path: Path) -> None:
    said = invoke("study", "compare", "grid", *TWO, *SMALL).stdout
    assert "no promise" in said
    assert "for the run" in said
    there = tmp_path / "there"
    runs = (there / "runs.csv").read_bytes()
    rows = list(csv.DictReader((there / "agents.csv").read_text().splitlines()))
    assert [row["agent"] for row in rows] == ["ours", "random"]
    assert (there / "compare.png").read_bytes()[:4] == b"\x89PNG"
    told = answer("study", "compare", "grid", *TWO, *SMALL)
    assert (there / "runs.csv").read_bytes() == runs  # not computed again: the times are the same
    assert [row["agent"] for row in told["rows"]] == ["ours", "random"]
    assert json.loads(json.dumps(told)) == told


def test_an_agent_of_the_current_folder_is_compared(tmp_path: Path) -> None:
    (tmp_path / "wait.py").write_text("def always(belief, state, rng):\n    return 0\n")
    told = answer("study", "compare", "grid", "--agent", "wait:always", *SMALL)
    (row,) = told["rows"]
    assert (row["agent"], row["home"], row["ends"]) == ("wait:always", 1.0, {"steps": 2})


def test_what_is_wrong_is_told_before_the_work() -> None:
    assert "no agent named 'bold'" in str(
        refused("study", "compare", "grid", "--agent", "bold", *SMALL)
    )
    assert "there is no kind of run" in str(refused("study", "compare", "nowhere"))


def test_the_help_names_every_agent_and_shows_how_to_bring_one() -> None:
    from homeward.words import AGENTS

    said = " ".join(invoke("study", "compare", "--help").stdout.split())
    assert "act(belief, state, rng)" in said
    assert all(f"{name}:" in said for name in AGENTS)
