"""``homeward paper toytext``, small."""

import json

from typer.testing import CliRunner

from homeward.cli.app import app


def test_the_study_counts_losses_and_checks_the_promise() -> None:
    arguments = ["paper", "toytext", "--seeds", "1", "--worlds", "200", "--workers", "0", "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    lost = {(row["world"], row["explorer"]): row["lost"] for row in answer["runs"]}
    assert lost["cliff", "Algorithm 1, safe at 0.95"] == 0
    assert lost["cliff", "Algorithm 1, unsafe"] == 1
    assert lost["cliff", "ours, sampled, safe at 0.95"] == 0
    assert answer["taxi"] == []
    assert answer["holds"] is True
