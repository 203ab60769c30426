"""``python -m lab check``, small."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from homeward.solvers import ConstrainedProblem, ConstrainedSolution, solve_constrained
from lab.__main__ import app
from lab.check import edges

SMALL = {
    "agreement": ["--problems", "3", "--together", "1"],
    "soundness": ["--beliefs", "20", "--together", "1"],
    "promise": ["--beliefs", "2"],
    "shown": ["--runs", "1"],
    "edges": ["--problems", "1", "--seed", "95"],
    "refuted": ["--runs", "12", "--limit", "20"],
    "dirichlet": ["--samples", "2000"],
    "sight": ["--worlds", "3"],
    "certify": ["--plans", "4", "--forged", "3", "--episodes", "200"],
}


@pytest.mark.parametrize("name", SMALL)
def test_a_law_that_holds_exits_with_zero_and_says_by_how_much(name: str) -> None:
    result = CliRunner().invoke(app, ["check", name, *SMALL[name], "--json"])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["holds"] is True
    assert answer["rows"]
    for row in answer["rows"] if name == "edges" else ():  # every answer is counted once
        assert row["answers"] == 2 * row["problems"]
        assert row["optimal"] + row["infeasible"] + row["other"] == row["answers"]
        assert row["worst difference"] <= 1e-7


def test_a_law_that_does_not_hold_exits_with_one() -> None:
    result = CliRunner().invoke(
        app, ["check", "dirichlet", "--samples", "2000", "--allowed", "0.000001"]
    )
    assert result.exit_code == 1
    assert "standard errors in" in result.stdout


def test_the_table_names_its_columns() -> None:
    result = CliRunner().invoke(app, ["check", "agreement", "--problems", "2", "--together", "0"])
    assert "worst relative difference" in result.stdout
    assert "disagreements" in result.stdout


def test_calibration_holds_where_it_is_corrected_and_not_where_it_is_naive() -> None:
    small = ["--worlds", "150", "--plans", "2", "--runs", "2", "--sampled", "1"]
    result = CliRunner().invoke(app, ["check", "calibration", *small, "--json"])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["holds"] is True
    assert {(row["belief"], row["δ"], row["correction"]) for row in answer["rows"]} == {
        (belief, delta, correction)
        for belief, deltas in (
            ("heights, 8 × 8", (0.9, 0.8)),
            ("heights, 10 × 10", (0.9, 0.8)),
            ("terrain, 24 × 32", (0.98, 0.9, 0.8)),
            ("terrain, 24 × 32, explored", (0.98, 0.9, 0.8)),
            ("independent, 6 × 6", (0.9,)),
            ("correlated, 6 × 6", (0.9,)),
            ("unmapped, 6 × 6", (0.9,)),
        )
        for delta in deltas
        for correction in ("general", "moves")
    }
    assert all(row["plans"] == 2 and row["worlds"] == 150 for row in answer["rows"])
    assert all(row["99% at least"] <= row["fraction"] for row in answer["rows"])
    assert [(row["belief"], row["δ"], row["recall"], row["runs"]) for row in answer["runs"]] == [
        (belief, delta, rule, 2)
        for belief in ("independent", "correlated", "unmapped")
        for delta in (0.9, 0.7)
        for rule in ("end", "doubtful")
    ]
    assert len(answer["naive"]) == 13
    assert not any(row["holds"] for row in answer["naive"][:11])


def test_a_refuted_promise_exits_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from lab.check import calibration

    def broken(*_: object) -> calibration.PlanCalibration:
        return calibration.PlanCalibration(plans=1, worlds=100, home=50, level=0.9, bound=0.9)

    monkeypatch.setattr(calibration, "examine", broken)
    monkeypatch.setattr(calibration, "calibrate_runs", lambda *_: {"end": broken()})
    result = CliRunner().invoke(app, ["check", "calibration", "--sampled", "0"])
    assert result.exit_code == 1
    assert "32 of 32 claims are refuted" in result.stdout
    assert "mean bound" in result.stdout


def test_a_wrong_answer_at_an_edge_is_named_with_its_family_and_problem() -> None:
    def low_if_warm(problem: ConstrainedProblem, *start: Any) -> ConstrainedSolution:
        found = solve_constrained(problem, *start)
        low = found.objective - 1e-5 * (1.0 + abs(found.objective))
        return replace(found, objective=low) if start else found

    with patch.object(edges, "solve_constrained", low_if_warm):
        results = [
            CliRunner().invoke(app, ["check", "edges", *SMALL["edges"], *form])
            for form in (["--json"], [])
        ]
    assert [result.exit_code for result in results] == [1, 1]
    answer = json.loads(results[0].stdout)
    assert answer["holds"] is False
    assert answer["problems"] == len(edges.FAMILIES)
    assert answer["disagreements"] == answer["problems"]
    said = "the objective is wrong"
    assert {
        "family": "nothing to earn",
        "answer": "warm",
        "fault": said,
        "times": 1,
        "first problem": 0,
    } in answer["wrong"]
    assert "Wrong answers" in results[1].stdout
    assert said in results[1].stdout


def test_conservative_says_how_much_more_is_explored_as_safely_and_draws_it(tmp_path: Path) -> None:
    plot = tmp_path / "bounds.png"
    small = ["--beliefs", "1", "--few", "8", "--worlds", "20", "--plot", str(plot)]
    result = CliRunner().invoke(app, ["check", "conservative", *small, "--json"])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["holds"] is True
    assert len(answer["rows"]) == 3 * 2 * 8
    assert {row["belief"] for row in answer["gains"]} >= {"a few worlds"}
    assert answer["worst_excess"] <= 1e-9
    assert plot.read_bytes()[:4] == b"\x89PNG"


def test_conservative_exits_with_one_where_a_bound_is_above_the_truth() -> None:
    small = ["--beliefs", "1", "--few", "2", "--worlds", "2", "--tolerance", "-1.0"]
    result = CliRunner().invoke(app, ["check", "conservative", *small])
    assert result.exit_code == 1
    assert "largest difference" in result.stdout


def test_conservative_refuses_a_figure_of_no_known_kind_before_it_works() -> None:
    result = CliRunner().invoke(app, ["check", "conservative", "--plot", "bounds.doc"])
    assert result.exit_code != 0
