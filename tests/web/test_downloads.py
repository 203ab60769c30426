from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homeward.runs import Run
from homeward.runs.verification import plan_of_step
from homeward.web import downloads

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_certificate_has_no_digest_of_steps_that_it_did_not_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run.create(tmp_path / "run", "grid", {"size": 4, "seed": 3, "limit": 3})
    run.resume()
    assert downloads.certificate_of(run.directory)["details"]["record"]["steps_sha256"]
    judge = plan_of_step

    def judged_while_a_step_came(asked: Run) -> Any:
        found = judge(asked)
        with (asked.directory / "steps.jsonl").open("a") as log:
            log.write("{")
        return found

    monkeypatch.setattr(downloads, "plan_of_step", judged_while_a_step_came)
    assert downloads.certificate_of(run.directory)["details"]["record"]["steps_sha256"] is None
