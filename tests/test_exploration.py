"""One call that explores, and what can be asked of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import homeward as hw
from homeward.errors import InvalidProblemError
from homeward.planning.ends import End


def hut(bridge: str) -> hw.SparseMDP:
    """A camp, a ledge and a valley; the bridge out of the valley leads somewhere."""
    return hw.SparseMDP.from_names(
        {
            "camp": {"walk": "ledge", "wait": "camp"},
            "ledge": {"walk": "valley", "back": "camp", "wait": "ledge"},
            "valley": {"back": bridge, "wait": "valley"},
        }
    )


def belief() -> hw.FiniteBelief:
    return hw.FiniteBelief([hut("ledge"), hut("valley")], weights=[0.98, 0.02])


def valley(**options: Any) -> hw.Exploration:
    return hw.explore(hut("ledge"), belief(), hw.ReturnHome(0.95), **options)


def test_asking_for_a_result_takes_all_steps() -> None:
    exploration = valley()
    assert repr(exploration) == ("Exploration: 0 steps of at most 1,000; run() takes the others.")
    assert exploration.end is End.ALL_SEEN
    assert "Nothing is left to explore" in exploration.why
    assert [row.next_state for row in exploration.steps] == [1, 2]
    assert (exploration.state, exploration.visited) == (2, 3)
    assert 0.95 <= exploration.promise <= 0.98
    assert repr(exploration) == str(exploration)
    assert str(exploration).startswith("Exploration: 2 steps. Nothing is left to explore.")
    assert "2" in exploration._repr_html_()


def test_its_card_rounds_the_promise_down(monkeypatch: pytest.MonkeyPatch) -> None:
    exploration = valley()
    monkeypatch.setattr(type(exploration), "promise", 0.99999998)
    assert "0.9999" in exploration._repr_html_()


def test_it_is_iterated_while_it_runs() -> None:
    exploration, seen = valley(), []
    for step in exploration:
        seen.append(step.state)
        if len(seen) == 1:
            assert exploration.explorer.steps == 1
    assert seen == [1, 2]


def test_the_steps_are_a_table() -> None:
    frame = valley().steps.to_frame()
    assert list(frame.columns) == list(valley().steps[0]._fields)
    assert (frame.kept.diff().dropna() <= 0.0).all()
    assert frame.next_state.tolist() == [1, 2]


@pytest.mark.parametrize(("bridge", "home"), [("ledge", True), ("valley", False)])
def test_a_recall_walks_home_and_tells_how_it_went(bridge: str, home: bool) -> None:
    exploration = hw.explore(hut(bridge), belief(), hw.ReturnHome(0.95))
    recall = exploration.recall()
    assert recall.home is home
    assert recall.promised >= 0.95
    if home:
        assert recall.states == (2, 1, 0)
        assert str(recall).startswith("Came home in 2 steps; at least 0.9")
    else:
        assert set(recall.states) == {2}
        assert str(recall).startswith("Did not come home")


def test_a_recall_that_contradicts_the_belief_is_why_it_ended() -> None:
    exploration = hw.explore(hut("ledge"), hw.FiniteBelief([hut("ledge")]))
    assert exploration.end is End.ALL_SEEN
    assert exploration.promise > 0.999
    truth: Any = exploration.explorer.world
    truth.model = hut("valley")
    assert not exploration.recall().home
    assert (exploration.end, exploration.promise) == (End.REFUTED, 0.0)
    assert exploration.why.startswith("What happened contradicts the belief")


def test_after_a_recall_it_may_go_on() -> None:
    grid = hw.HeightMap.random((8, 8), 1)
    exploration = hw.explore(hw.HeightGridWorld(grid), grid.belief("known"), limit=10)
    assert exploration.end is End.STEPS
    assert exploration.recall().home
    assert exploration.state == grid.start
    before = exploration.visited
    assert exploration.go_on(200).end is End.ALL_SEEN
    assert exploration.visited > before
    assert exploration.promise >= 0.95


def test_a_recall_comes_home_in_the_drawn_worlds_that_have_a_way() -> None:
    homes = []
    for seed in range(12):
        doubtful = hw.FiniteBelief([hut("ledge"), hut("valley")])
        exploration = hw.explore(None, doubtful, hw.ReturnHome(0.5), seed=seed)
        truth: Any = exploration.explorer.world
        assert exploration.state == 2
        has_bridge = any(truth.model.row(2, a)[1] == 1.0 for a in range(truth.model.actions))
        homes.append(exploration.recall().home)
        assert homes[-1] == has_bridge
    assert set(homes) == {True, False}


def test_a_recall_on_a_dirichlet_belief_is_charged() -> None:
    rows = np.ones((3, 2, 3)) + 60.0 * np.eye(3)[[[0, 1], [1, 2], [2, 1]]]
    prior = hw.DirichletBelief.independent(rows)
    exploration = hw.explore(None, prior, hw.ReturnHome(0.5), seed=2, limit=6)
    before = exploration.promise
    exploration.recall()
    assert exploration.promise <= before


def test_the_bonus_and_the_level_have_defaults() -> None:
    grid = hw.HeightMap.random((5, 5), 2)
    exploration = hw.explore(hw.HeightGridWorld(grid), grid.belief("known"))
    planner = exploration.explorer.planner
    assert isinstance(planner.bonus, hw.Uncover)
    assert planner.criteria[0].delta == 0.95  # type: ignore[attr-defined]
    assert isinstance(hw.explore(hut("ledge"), belief()).explorer.planner.bonus, hw.RMax)


def test_it_draws_itself() -> None:
    assert isinstance(valley().plot(), Figure)
    grid = hw.HeightMap.random((5, 5), 2)
    picture = hw.explore(hw.HeightGridWorld(grid), grid.belief("known")).plot()
    assert [axis.get_title() for axis in picture.axes][1] == "Probability of coming home, at least"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((hut("ledge"), hut("ledge")), "the belief is SparseMDP, expected an object of a subclass"),
        ((hut("ledge"), hw.FiniteBelief), "the belief is the class FiniteBelief"),
        ((object(), belief()), "world is a object, expected a world"),
        ((hut("ledge"), belief(), []), None),
    ],
)
def test_a_mistake_is_named(given: tuple[Any, ...], message: str | None) -> None:
    if message is not None:
        with pytest.raises(hw.InvalidInputError, match=message):
            hw.explore(*given)
        return
    with pytest.raises(InvalidProblemError, match="no way home to walk"):
        hw.explore(*given, limit=2).recall()
