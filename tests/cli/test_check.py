"""``homeward check``, small."""

import json

import pytest
from typer.testing import CliRunner

from homeward.cli.app import app

SMALL = {
    "agreement": ["--problems", "3"],
    "soundness": ["--beliefs", "40"],
    "dirichlet": ["--samples", "2000"],
}


@pytest.mark.parametrize("name", SMALL)
def test_a_law_that_holds_exits_with_zero_and_says_by_how_much(name: str) -> None:
    result = CliRunner().invoke(app, ["check", name, *SMALL[name], "--json"])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["holds"] is True
    assert answer["rows"]


def test_a_law_that_does_not_hold_exits_with_one() -> None:
    result = CliRunner().invoke(
        app, ["check", "dirichlet", "--samples", "2000", "--allowed", "0.000001"]
    )
    assert result.exit_code == 1
    assert "standard errors apart" in result.stdout


def test_the_table_names_its_columns() -> None:
    result = CliRunner().invoke(app, ["check", "agreement", "--problems", "2"])
    assert "worst relative difference" in result.stdout
    assert "disagreements" in result.stdout
