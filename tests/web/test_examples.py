from __future__ import annotations

import json
from collections import defaultdict

import pytest

from homeward.kinds.grid.maps import HeightMap
from homeward.web.examples import examples


def test_there_are_three_of_each_and_all_is_json() -> None:
    found = examples()
    json.dumps(found, allow_nan=False)
    assert [w["name"] for w in found["worlds"]] == ["pit", "detour", "gamble"]
    assert len(found["counterexamples"]) == 3


@pytest.mark.parametrize("number", range(3))
def test_a_worlds_map_can_be_read(number: int) -> None:
    world = examples()["worlds"][number]
    assert str(HeightMap.from_text(world["map"])) == world["map"]


@pytest.mark.parametrize("number", range(3))
def test_the_chances_of_an_action_add_up(number: int) -> None:
    story = examples()["counterexamples"][number]
    names = {state["name"] for state in story["states"]}
    assert sum(world["weight"] for world in story["worlds"]) == pytest.approx(1.0)
    for world in story["worlds"]:
        totals: dict[tuple[str, str], float] = defaultdict(float)
        for edge in world["edges"]:
            assert {edge["from"], edge["to"]} <= names
            totals[edge["from"], edge["action"]] += edge["p"]
        assert list(totals.values()) == pytest.approx([1.0] * len(totals))


def test_the_naive_definition_says_more_than_is_true_and_the_bound_no_more() -> None:
    stories = examples()["counterexamples"]
    for story in stories:
        assert any(r["naive"] >= story["delta"] > r["exact"] for r in story["rows"])
        assert all(r["bound"] <= r["exact"] + 1e-9 for r in story["rows"])
