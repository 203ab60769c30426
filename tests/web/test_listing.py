from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeward.errors import InvalidInputError
from homeward.web.listing import MAX_ROWS, Selection, paired


def run(name: str, **more: Any) -> dict[str, Any]:
    usual = {"kind": "grid", "explorer": "safe", "status": "finished", "end": "all_seen"}
    times = {"created": "2026-01-01T00:00:00+00:00", "updated": None}
    return {"id": name, "pair": None, "outcome": None, "steps": 0, **usual, **times, **more}


RUNS = [
    run("old", created="2025-03-01T08:00:00+00:00", steps=9),
    run("New", kind="rover", created="2026-03-01T08:00:00+00:00", outcome="trapped", steps=3),
    run("a-unsafe", explorer="uncover", pair="a-safe", created="2025-06-01T08:00:00+00:00"),
    run("a-safe", pair="a-unsafe", created="2025-06-01T07:00:00+00:00", status="running", end=None),
]


def names(**query: str) -> list[str]:
    return [each["id"] for each in Selection.of(query).page(RUNS)["runs"]]


def test_the_newest_row_is_first_and_a_pair_is_one_row() -> None:
    assert names() == ["New", "a-safe", "a-unsafe", "old"]
    assert Selection.of({}).page(RUNS)["total"] == 3


def test_rows_are_sorted_by_any_key_both_ways() -> None:
    assert names(sort="name") == ["a-safe", "a-unsafe", "New", "old"]
    assert names(sort="name", order="desc") == ["old", "New", "a-safe", "a-unsafe"]
    assert names(sort="steps")[:2] == ["old", "New"]
    assert names(sort="kind")[-1] == "New"
    assert names(sort="outcome")[-1] == "New"


def test_runs_are_chosen_by_name_kind_outcome_and_date() -> None:
    assert names(name="A-") == ["a-safe", "a-unsafe"]
    assert names(kind="rover") == names(outcome="trapped") == ["New"]
    assert names(outcome="running") == ["a-safe"]
    assert names(outcome="all_seen") == ["New", "a-unsafe", "old"]
    assert names(since="2025-06-01T07:30:00", until="2025-12-31") == ["a-unsafe"]


@pytest.mark.parametrize(
    "query",
    [
        *({"sort": "size"}, {"order": "up"}, {"limit": "0"}, {"limit": str(MAX_ROWS + 1)}),
        *({"offset": "-1"}, {"since": "soon"}, {"colour": "red"}),
    ],
)
def test_another_selection_is_refused(query: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError):
        Selection.of(query)


@given(st.integers(1, 60), st.integers(1, 9), st.data())
def test_the_pages_together_are_the_list(count: int, limit: int, data: st.DataObject) -> None:
    pairs = data.draw(st.sets(st.integers(0, count - 1)))
    runs = [
        run(f"r{n}-{end}", pair=f"r{n}-{other}" if n in pairs else None, explorer=end)
        for n in range(count)
        for end, other in (("safe", "unsafe"), ("unsafe", "safe"))[: 2 if n in pairs else 1]
    ]
    pages = [
        Selection.of({"limit": str(limit), "offset": str(n)}).page(runs)
        for n in range(0, count, limit)
    ]
    assert {page["total"] for page in pages} == {count}
    found = [each["id"] for page in pages for each in page["runs"]]
    assert sorted(found) == sorted(each["id"] for each in runs)
    assert all(len(paired(page["runs"])) <= limit for page in pages)
