"""Where compared runs part, and why."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from homeward.runs import Run

if TYPE_CHECKING:
    from tests.web.page.looking import Looking, Site

NARROW = {"size": 12, "seed": 6, "walls": 0.3}
NOISY = {"rows": 300, "columns": 300, "sensor_range": 29.0, "sensor_noise": 0.01, "limit": 40}
PLANS = {**NOISY, "algorithm": "paper", "limit": 12}
RUNS = [
    ("strict", "grid", {**NARROW, "delta": 0.95}),
    ("bolder", "grid", {**NARROW, "delta": 0.5}),
    ("boldest", "grid", {**NARROW, "delta": 0.1}),
    ("careful", "rover", {**NOISY, "delta": 0.98}),
    ("careless", "rover", {**NOISY, "delta": 0.5}),
    ("plans", "rover", {**PLANS, "delta": 0.9}),
    ("bold-plans", "rover", {**PLANS, "delta": 0.5}),
]


def test_a_comparison_tells_where_runs_part_and_why(look: Looking, site: Site) -> None:
    names = "strict", "bolder", "boldest"
    strict, bolder, boldest = (
        [record.action for record in Run.open(site.root / name).records()] for name in names
    )
    last = len(strict)
    assert strict == bolder == boldest[:last] != boldest
    look.open("#/compare/strict/bolder/boldest")
    look.sees(".partings p >> nth=0", "δ = 0.95 and δ = 0.5 took the same moves at every step.")
    look.sees(".partings p >> nth=0", "What δ = 0.95 refused, δ = 0.5 did not take either.")
    parting = look.find(".partings p").nth(1)
    expect(parting).to_contain_text(f"δ = 0.1 and δ = 0.95: the same moves until step {last}.")
    expect(parting).to_contain_text("There δ = 0.95 ended: Going on would risk more than")
    parting.get_by_role("button").click()
    look.sees(".count", f"after {last} of")


def test_a_move_that_only_one_level_takes_is_named(look: Looking) -> None:
    look.open("#/compare/careful/careless")
    parting = look.find(".partings p").first
    expect(parting).to_contain_text(
        re.compile(
            r"δ = 0\.5 moves SW towards row \d+, column \d+ \([\d.]+ nats per step, [\d.]+ % of "
            r"the risk it has left\), δ = 0\.98 moves S towards row \d+"
        )
    )
    look.sees(".partings", "the lower δ is, the lower is the price")


def test_levels_of_plans_give_no_reason_that_holds_for_runs_only(look: Looking) -> None:
    look.open("#/compare/plans/bold-plans")
    parting = look.find(".partings p").first
    expect(parting).to_contain_text(re.compile(r"δ = 0\.5 moves \w+, δ = 0\.9 moves \w+\."))
    expect(look.find(".partings")).not_to_contain_text("refuses")
    expect(look.find(".partings")).not_to_contain_text("price")


def test_runs_of_different_worlds_do_not_part(look: Looking) -> None:
    look.open("#/compare/strict/careful")
    look.painted(0, map_=0)
    look.painted(0, map_=1)
    expect(look.find(".why[data-step]")).to_have_count(2)
    expect(look.find(".partings")).to_have_count(0)


def test_a_run_that_was_stopped_did_not_end(look: Looking, site: Site) -> None:
    stopped = site.root / "stopped"
    shutil.copytree(site.root / "strict", stopped)
    log = (stopped / "steps.jsonl").read_text().splitlines(keepends=True)
    (stopped / "steps.jsonl").write_text("".join(log[:5]))
    manifest = json.loads((stopped / "manifest.json").read_text())
    left = {"status": "interrupted", "end": None, "steps": 5}
    (stopped / "manifest.json").write_text(json.dumps({**manifest, **left}))
    look.open("#/compare/boldest/stopped")
    parting = look.find(".partings p").first
    expect(parting).to_contain_text("There δ = 0.95 is interrupted.")
