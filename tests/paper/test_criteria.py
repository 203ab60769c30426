from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from homeward.paper.criteria import rows, stories
from homeward.solvers import Status

# By hand, as docs/criteria.md derives them: for each case the policies with what they are worth and
# what they keep, and what the best that keeps the level is worth.
BY_HAND: dict[str, list[tuple[dict[str, tuple[float, ...]], float]]] = {
    "return": [({"never go": (0.0, 1.0), "go and stay": (1.0, 0.75)}, 0.4)],
    "within": [
        ({"never go": (0.0, 1.0), "go and stay": (1.0, 0.75)}, 0.4),
        ({"never go": (0.0, 1.0), "go and stay": (1.0, 1.0)}, 1.0),
    ],
    "inside": [
        ({"never go": (0.0, 1.0), "go and stay": (1.0, 0.75)}, 0.4),
        ({"never go": (0.0, 1.0), "go and stay": (1.0, 0.5)}, 0.2),
    ],
    "earn": [({"always work": (0.0, 2.0), "go at once": (1.0, 0.0)}, 0.5)],
    "conflict": [({"always work": (0.0, 2.0, 0.0), "go at once": (1.0, 0.0, 2.0)}, np.nan)],
    "recall": [
        ({"never go": (0.0, 1.0), "go at once": (2.0, 0.0)}, 1.0),
        ({"never go": (0.0, 1.0), "go at once": (1.0, 0.0)}, 0.1),
        (
            {
                "always work": (0.0, 4.0),
                "go at once": (3.0, 0.0),
                "work twice, go": (1.0, 2.0),
            },
            1.5,
        ),
    ],
}


def test_every_story_is_done_by_hand() -> None:
    assert [story.name for story in stories()] == list(BY_HAND)


@pytest.mark.parametrize("story", stories(), ids=lambda story: story.name)
def test_each_answer_is_the_one_by_hand(story: Any) -> None:
    for case, (policies, best) in zip(story.cases, BY_HAND[story.name], strict=True):
        found = case.values()
        assert list(found) == list(policies)
        for name, expected in policies.items():
            assert found[name] == pytest.approx(expected, abs=1e-12), name
        plan = case.plan()
        if story.name == "conflict":
            assert plan.status is Status.INFEASIBLE
            assert plan.conflict == (0, 1)
        else:
            assert plan.status is Status.OPTIMAL
            assert plan.exploration_value == pytest.approx(best, abs=1e-9)


def test_the_table_has_every_policy_of_every_case() -> None:
    found = rows()
    assert len(found) == sum(len(case.policies) for story in stories() for case in story.cases)
    assert found[1]["keeps"] == "0.75"
    assert {row["best"] for row in found if "conflict" in str(row["story"])} == {"conflict"}
