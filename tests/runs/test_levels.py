"""Which safety levels would have given the moves of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from homeward.cli.app import app
from homeward.files import read_json
from homeward.runs import Run
from homeward.runs import levels as tried
from homeward.runs.kind import find_kind
from homeward.words import levels_said

GRID = {"size": 6, "walls": 0.2, "seed": 3, "limit": 30}


def command(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def moves(folder: Path, **config: Any) -> list[int]:
    run = Run.create(folder, config.pop("kind"), config)
    run.resume()
    return [record.action for record in run.records()]


@pytest.mark.parametrize(
    ("kind", "config"),
    [("grid", {**GRID, "delta": 0.9}), ("toytext", {}), ("grid", {**GRID, "explorer": "uncover"})],
)
def test_what_is_said_of_a_level_is_what_a_run_at_that_level_does(
    tmp_path: Path, kind: str, config: dict[str, Any]
) -> None:
    own = moves(tmp_path / "run", kind=kind, **config)
    found = json.loads(command("runs", "levels", tmp_path / "run", "--json").stdout)
    assert found["steps"] == len(own)
    assert len(found["levels"]) >= 2
    for n, each in enumerate(found["levels"]):
        given = {**config, "delta": each["level"]}
        if each["level"] is None and kind == "grid":
            given = {**config, "explorer": "uncover"}
            given.pop("delta", None)
        elif kind == "grid":
            given["explorer"] = "safe"
        other = moves(tmp_path / str(n), kind=kind, **given)
        parts = next((k for k, (a, b) in enumerate(zip(own, other)) if a != b), None)  # noqa: B905
        if parts is None and len(own) != len(other):
            parts = min(len(own), len(other))
        assert each["parts"] == (None if parts is None else parts + 1), each


def test_a_level_that_does_not_bind_is_told_after_the_run(tmp_path: Path) -> None:
    np.save(tmp_path / "flat.npy", np.zeros((120, 140)))
    out = tmp_path / "run"
    words = "explore", tmp_path / "flat.npy", "--pixel", 1, "--cell", 20, "--out", out
    said = command(*words)
    assert said.exit_code == 0, said.output
    levels = read_json(out / "summary.json")["levels"]
    assert {"level": None, "parts": None} in levels
    line = " ".join(levels_said(levels))
    assert line.startswith("Without a safety level")
    assert "it would have made the same moves." in line
    assert line in said.output.replace("\n", " ")
    assert all(part in (out / "summary.md").read_text() for part in levels_said(levels))


def test_only_levels_that_were_tried_are_told(tmp_path: Path, monkeypatch: Any) -> None:
    run = Run.create(tmp_path / "run", "grid", GRID)
    run.resume()
    kind, config = run.load()
    actions = [record.action for record in run.records()]
    asked: list[float | None] = []
    whole = tried._parts

    def parts(kind: Any, config: Any, *rest: Any) -> int | None:
        asked.append(config.own_level())
        return whole(kind, config, *rest)

    monkeypatch.setattr(tried, "_parts", parts)
    found = tried.tried_levels(kind, config, actions, run.manifest.end, None)
    assert sorted(asked, key=tried.strictness) == [each.level for each in found]
    assert len(found) < len(tried.LEVELS)
    assert tried.tried_levels(kind, config, actions, run.manifest.end, -1.0) == []


def test_agents_of_ones_own_and_large_worlds_have_no_levels(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", "grid", {**GRID, "agent": "random"})
    run.resume()
    assert read_json(tmp_path / "run" / "summary.json")["levels"] == []
    said = command("runs", "levels", tmp_path / "run")
    assert "This run has no level that could be changed alone." in said.output
    safe = Run.create(tmp_path / "safe", "grid", GRID)
    kind, config = find_kind("grid"), safe.load()[1]
    assert tried.tried_after(kind, config, [], None, 9.0, tried.MAX_STATES + 1) == ()


def test_only_finished_runs_are_tried_at_other_levels(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", "grid", GRID)
    refusal = command("runs", "levels", tmp_path / "run").exception
    assert "only a finished run" in str(refusal)


def test_the_sentences_name_each_level_once() -> None:
    levels: list[dict[str, Any]] = [
        {"level": None, "parts": 3},
        {"level": 0.9, "parts": None},
        {"level": 0.99, "parts": None},
    ]
    assert levels_said(levels) == [
        "With δ = 0.9 or with δ = 0.99 it would have made the same moves.",
        "Without a safety level its moves would differ from step 3 on.",
    ]
    assert levels_said([]) == []
