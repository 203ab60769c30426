from __future__ import annotations

from lab.check.sampled_runs import PRIORS, RULES, examine


def test_runs_in_drawn_worlds_are_counted_by_rule() -> None:
    rows = examine(next(iter(PRIORS)), 0.7, range(3))
    assert [row.rule for row in rows] == list(RULES)
    assert all(row.returns.worlds == 3 and 0 <= row.returns.home <= 3 for row in rows)
    assert all(0.7 - 1e-9 <= row.kept <= 1.0 and row.tiles > 1.0 for row in rows)
