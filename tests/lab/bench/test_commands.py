"""``python -m lab bench``, with measurements that take no time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from homeward.errors import InvalidInputError
from lab.__main__ import app
from lab.bench import criteria as bench
from lab.bench.criteria import CriteriaTiming

if TYPE_CHECKING:
    from collections.abc import Sequence

runner = CliRunner()


def test_criteria_gives_the_ratio_with_its_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(steps: int, seed: int = 0, **_: Any) -> CriteriaTiming:
        three = (1e-3 * (2 + seed),) * 3
        return CriteriaTiming(seed, steps, (1e-3,) * 3, three, (1.0, 0.5, 0.0))

    monkeypatch.setattr(bench, "measure", measure)
    words = ["bench", "criteria", "--steps", "4", "--terrains", "3"]
    said = json.loads(runner.invoke(app, [*words, "--json"], catch_exceptions=False).stdout)
    assert said["ratio"] == pytest.approx({"median": 3.0, "least": 2.0, "greatest": 4.0})
    assert [row["ratio"] for row in said["rows"]] == pytest.approx([2.0, 3.0, 4.0])
    assert said["rows"][1]["three_ms"] == pytest.approx(3.0)
    text = runner.invoke(app, words, catch_exceptions=False).stdout
    assert "as long as one (median; 2.0 to 4.0)" in " ".join(text.split())
    assert "100%, 50%, 0%" in text


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [(["scale", "--largest", "5"], "5 cells"), (["page", "jump"], "jump")],
)
def test_a_wrong_argument_is_named(arguments: Sequence[str], culprit: str) -> None:
    with pytest.raises(InvalidInputError, match=culprit):
        runner.invoke(app, ["bench", *arguments], catch_exceptions=False)
