from __future__ import annotations

from lab.check.sampled_runs import PRIORS, RULES, examine


def test_runs_in_drawn_worlds_are_counted_by_rule() -> None:
    rows = examine(next(iter(PRIORS)), 0.7, range(3))
    assert [row["recall"] for row in rows] == list(RULES)
    assert all(row["worlds"] == 3 and 0 <= row["back home"] <= 3 for row in rows)
    assert all(0.7 - 1e-9 <= row["claimed (mean)"] <= 1.0 for row in rows)
    assert all(row["tiles (mean)"] > 1.0 for row in rows)
