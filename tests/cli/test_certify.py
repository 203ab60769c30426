"""``homeward certify`` as a user meets it."""

from __future__ import annotations

import json
import math
import re
import zlib
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.test_app import homeward
from tests.referee.kinds import NAME as HILL
from tests.runs.kinds import meadow
from typer.testing import CliRunner

from homeward.cli.app import app
from homeward.errors import HomewardError, InvalidFileError
from homeward.runs import Run
from homeward.runs.log import text_of, to_line

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["certify", *(str(a) for a in arguments), "--workers", "1"])


def answer(*arguments: object, code: int = 0) -> dict[str, Any]:
    result = invoke(*arguments, "--json")
    assert result.exit_code == code, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def refused(*arguments: object) -> str:
    result = invoke(*arguments)
    assert isinstance(result.exception, HomewardError), result.output
    return str(result.exception)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    made_run = meadow(tmp_path / "run", moody=False, limit=5)
    made_run.resume()
    return made_run


def test_every_claim_of_a_step_has_a_verdict(run: Run) -> None:
    found = answer(run.directory, "--step", 3, "--episodes", 500)
    assert (found["step"], found["refuted"]) == (3, False)
    first = found["verdicts"][0]
    assert first["claimed"] == list(run.records())[2].bounds[0]
    assert {"criterion", "claimed", "estimate", "low", "high", "refuted"} <= set(first)
    assert (found["episodes"], found["confidence"], found["seed"]) == (500, 0.99, 0)


def test_the_table_says_what_was_done(run: Run) -> None:
    told = " ".join(invoke(run.directory, "--episodes", 300).stdout.replace("│", " ").split())
    for words in (
        "step 5",
        "return to state 0",
        "claimed",
        "Arithmetic: the value of the plan is",
        "the value of every safe plan is at most",
        "Sampling: 300 episodes, seed 0",
        "probability at least 0.99",
        "bounds are refuted",
    ):
        assert words in told


def test_a_method_can_be_asked_for_by_name(run: Run, tmp_path: Path) -> None:
    for method in ("sampling", "arithmetic"):
        found = answer(run.directory, "--method", method, "--episodes", 200)
        assert {v["method"] for v in found["verdicts"]} == {method}
    grid = Run.create(tmp_path / "grid", "grid", {"size": 6, "limit": 2, "algorithm": "paper"})
    grid.resume()
    assert "only a FiniteBelief can be enumerated" in refused(grid.directory, "--method", "exact")


def test_the_seed_decides_and_the_confidence_widens(run: Run) -> None:
    options = ("--method", "sampling", "--episodes", 500)
    one, same = (answer(run.directory, *options)["verdicts"] for _ in range(2))
    assert one == same
    other = answer(run.directory, *options, "--seed", 1)["verdicts"]
    assert other[0]["estimate"] != one[0]["estimate"] or other[0]["low"] == one[0]["low"]
    wide = answer(run.directory, *options, "--confidence", "0.99999")["verdicts"]
    assert wide[0]["low"] < one[0]["low"]


def test_a_log_that_was_tampered_with_exits_with_one(run: Run) -> None:
    records = list(run.records())
    records[4] = replace(records[4], bounds=(records[4].bounds[0] + 0.05,))
    (run.directory / "steps.jsonl").write_bytes(b"".join(map(to_line, records)))
    result = invoke(run.directory, "--method", "arithmetic")
    assert result.exit_code == 1
    assert "in the log is" in " ".join(result.stdout.split())


def test_of_a_run_whose_level_is_its_own_every_home_has_a_verdict(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", "grid", {"size": 8, "seed": 3, "back_within": 4, "limit": 9})
    run.resume()
    found = answer(run.directory)
    assert [(home["level"], home["kept"], home["refuted"]) for home in found["homes"]] == [
        (1.0, 1.0, False),
        (1.0, 1.0, False),
    ]
    assert found["homes"][1]["name"].endswith("within 4 steps")
    assert found["run"]["verdict"] == "confirmed: every step was planned and charged again"
    assert (found["refuted"], found["reasons"], found["notes"]) == (False, [], [])
    told = " ".join(invoke(run.directory).stdout.split())
    assert "the run claims a lower bound of 1.000000; required is 1" in told
    assert told.count("confirmed: the risks of") == 2
    assert "Planned again: confirmed" in told


def test_forged_books_exit_with_one_and_name_the_step(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", "grid", {"size": 8, "seed": 3, "limit": 9})
    run.resume()
    records = list(run.records())
    holding = {**records[2].holding, "ways": [[[records[2].next_state], [-1]]]}
    records[2] = replace(records[2], holding=holding)
    (run.directory / "steps.jsonl").write_bytes(b"".join(map(to_line, records)))
    result = invoke(run.directory)
    assert result.exit_code == 1
    assert "refuted: step 3: the recorded edges contain no path home from state" in result.stdout
    told = json.loads(invoke(run.directory, "--json").stdout)
    assert told["refuted"] is True
    assert told["homes"][0]["reasons"][0].startswith("step 3: ")
    assert told["run"]["reasons"][0].startswith("step 3: the holding in the log is")


def tampered(run: Run, line: int, field: str, value: object) -> None:
    """Replace a field in a line of the log, or delete it if the value is `...`."""
    path = run.directory / "steps.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    record = json.loads(text_of(lines[line]))
    place, _, name = field.rpartition(".")
    part = record[place] if place else record
    if value is ...:
        del part[name]
    else:
        part[name] = value
    text = json.dumps(record, separators=(",", ":")).encode()
    lines[line] = text[:-1] + b',"crc":"%08x"}\n' % zlib.crc32(text)
    path.write_bytes(b"".join(lines))


ODD: tuple[Any, ...] = (2.5, -5, 10**6, 10**400, math.nan, math.inf)
NONSENSE: tuple[Any, ...] = (..., None, True, *ODD, "x", "\ud800", [], {})


@pytest.mark.parametrize("paper", [False, True])
@pytest.mark.parametrize("line", [0, -1])
@pytest.mark.parametrize("field", ["state", "action", "next_state", "status", "bounds", "step"])
def test_nonsense_in_a_log_is_refuted_or_refused(
    run: Run, tmp_path: Path, field: str, line: int, *, paper: bool
) -> None:
    if not paper:
        run = Run.create(tmp_path / "grid", "grid", {"size": 4, "seed": 3, "limit": 3})
        run.resume()
    path = run.directory / "steps.jsonl"
    kept = path.read_bytes()
    for value in NONSENSE:
        path.write_bytes(kept)
        tampered(run, line, field, value)
        step = ["--step", 1, "--method", "arithmetic"] if paper and line == 0 else []
        result = invoke(run.directory, *step)
        if not isinstance(result.exception, HomewardError):
            assert isinstance(result.exception, SystemExit), (value, result.exception)
            assert result.exit_code == 1, value


def test_a_damaged_last_line_of_an_ended_run_is_refused(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "grid", "grid", {"size": 4, "seed": 3, "limit": 3})
    run.resume()
    path = run.directory / "steps.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    whole = b"".join(lines)
    for log in (whole[:-9], whole[:-4] + b'0"}\n', whole[: -len(lines[-1])]):
        path.write_bytes(log)
        for result in (
            invoke(run.directory),
            CliRunner().invoke(app, ["runs", "show", str(run.directory)]),
        ):
            assert isinstance(result.exception, InvalidFileError), (log[-20:], result.output)
            said = r"steps\.jsonl: has 2 of the 3 steps of the run: line 3 is damaged or missing"
            assert re.search(said, str(result.exception))


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("kept_bounds", [math.nan], r"step 3: the bound of “.*” is nan"),
        ("kept_bounds", [1.5], r"step 3: the bound of “.*” is 1\.5"),
        ("status", "\ud800", "line 3 is damaged: it is not a record"),
    ],
)
def test_nonsense_is_not_shown(tmp_path: Path, field: str, value: object, said: str) -> None:
    run = Run.create(tmp_path / "grid", "grid", {"size": 4, "seed": 3, "limit": 3})
    run.resume()
    tampered(run, -1, field, value)
    result = CliRunner().invoke(app, ["runs", "show", str(run.directory)])
    assert isinstance(result.exception, InvalidFileError)
    assert re.search(said, str(result.exception))


PARTS = ("kept", "spent", "ways", "path", "worth", "idle")
BUDGET = ("holding", *(f"holding.{name}" for name in PARTS))


@pytest.mark.parametrize("field", BUDGET)
def test_nonsense_in_the_risk_budget_is_refuted_or_refused(tmp_path: Path, field: str) -> None:
    run = Run.create(tmp_path / "grid", "grid", {"size": 4, "seed": 3, "limit": 3})
    run.resume()
    path = run.directory / "steps.jsonl"
    kept = path.read_bytes()
    for line, value in product((0, -1), (*NONSENSE, [[]], [[[0], [10**400]]])):
        if value is True and field == "holding.kept":
            continue  # equals 1
        path.write_bytes(kept)
        tampered(run, line, field, value)
        result = invoke(run.directory)
        if not isinstance(result.exception, HomewardError):
            assert isinstance(result.exception, SystemExit), (value, result.exception)
            assert result.exit_code == 1, value
        shown = CliRunner().invoke(app, ["runs", "show", str(run.directory)]).exception
        assert isinstance(shown, HomewardError | SystemExit | None), (value, shown)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (2.5, "line 2 is damaged: the action is 2.5, expected a whole number"),
        (10**6, "in step 2 the recorded action is 1000000, outside 0..4"),
    ],
)
def test_an_action_that_does_not_exist_is_one_line_and_exit_code_two(
    run: Run, value: object, said: str
) -> None:
    tampered(run, 1, "action", value)
    result = homeward("certify", str(run.directory))
    assert result.returncode == 2
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_text_that_can_not_be_encoded_is_no_record(run: Run) -> None:
    tampered(run, -1, "observation", "\ud800")
    result = homeward("certify", str(run.directory), "--method", "arithmetic")
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert "can't encode character '\\ud800'" in " ".join(result.stderr.split())


def test_a_general_model_is_only_planned_again_and_that_is_said(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "hill", HILL)
    run.resume()
    found = answer(run.directory)
    assert found["run"]["kept"] == pytest.approx(0.9)
    assert (found["homes"], len(found["notes"])) == ([], 1)
    assert "the risk budget is not audited, since its model is not" in invoke(run.directory).stdout


def test_an_unsafe_run_has_nothing_to_certify(tmp_path: Path) -> None:
    config = {"size": 5, "explorer": "uncover", "limit": 3}
    run = Run.create(tmp_path / "run", "grid", config)
    run.resume()
    result = invoke(run.directory)
    assert result.exit_code == 0
    assert f"{run.directory}: the run has no safety level\n" in result.stdout
    assert "This run has no safety level, so there is nothing to audit." in result.stdout
    assert "asked for" not in result.stdout
    paper = Run.create(tmp_path / "paper", "grid", {**config, "algorithm": "paper"})
    paper.resume()
    told = invoke(paper.directory)
    assert "step 3: the plan has no criteria: there is nothing to certify" in told.stdout
    assert answer(paper.directory)["verdicts"] == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("episodes", 9), ("confidence", 2), ("method", "magic"), ("seed", 1)],
)
def test_options_of_sampling_are_refused_for_a_run_that_is_audited(
    tmp_path: Path, name: str, value: object
) -> None:
    run = Run.create(tmp_path / "run", "grid", {"size": 4, "limit": 1})
    run.resume()
    assert f"--{name} applies only to the paper's algorithm" in refused(
        run.directory, f"--{name}", value
    )


def test_homes_are_named_by_row_and_column(tmp_path: Path) -> None:
    asked = {"map": "111\n11a\n111", "limit": 1, "back_within": 9}
    run = Run.create(tmp_path / "run", "grid", asked)
    run.resume()
    told = invoke(run.directory).stdout
    assert "Audit of “return to the start, 1,2” at 1: lower bound 1.000000" in told
    assert "Audit of “return to the start, 1,2 within 9 steps” at 1" in told
    asked |= {"bases": [[0, 0], [2, 1]]}
    based = Run.create(tmp_path / "based", "grid", asked)
    based.resume()
    assert "“return to any of 0,0; 2,1” at 1" in invoke(based.directory).stdout


def test_ctrl_c_exits_as_stopped(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("homeward.referee.sampling.sample", stop)
    assert invoke(run.directory).exit_code == 130


def test_bad_input_is_named(run: Run, tmp_path: Path) -> None:
    assert "is not a run: there is no config.json" in refused(tmp_path)
    assert "no-such" in refused(tmp_path / "no-such")
    assert "step is 9, expected 1 to 5" in refused(run.directory, "--step", 9)
    assert "the confidence is 1.5" in refused(run.directory, "--confidence", 1.5)
    assert "method is 'magic'" in refused(run.directory, "--method", "magic")


def test_help_teaches_with_an_example() -> None:
    told = CliRunner().invoke(app, ["certify", "--help"]).stdout
    assert "homeward certify runs/valley --step 12" in told
    assert "Exit codes" in told
