from __future__ import annotations

from lab.bench.loops import measure


def test_both_loops_are_timed_on_the_same_ground() -> None:
    paper, ours = measure(5, 0, 0.2)
    assert (paper["explorer"], ours["explorer"]) == ("paper", "rate")
    for pace in (paper, ours):
        assert pace["steps"] == 5
        assert 0.0 < pace["q1"] <= pace["median"] <= pace["q3"]
