"""Beliefs over heights on a grid, against enumeration of every world."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homeward.arrays import frozen
from homeward.beliefs import HeightBelief, Reveal, Transition, corrections_of
from homeward.beliefs.corrections import Correction
from homeward.beliefs.grid_graph import NAMES, STEPS, grid_graph
from homeward.beliefs.levels import (
    UNKNOWN,
    WALL,
    draw_heights,
    model_of_heights,
)
from homeward.bonuses import Uncover
from homeward.criteria import ReturnHome
from homeward.errors import ImpossibleObservationError, InvalidBeliefError
from homeward.planning.algorithm1 import Planner
from homeward.referee.exact import dense_transitions, exact_recall, exact_return

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from homeward.arrays import FloatArray, IntArray

STAY, NORTH, NORTH_EAST, EAST, SOUTH_EAST, SOUTH, SOUTH_WEST, WEST, NORTH_WEST = range(9)


def belief_on(*rows: str, **options: Any) -> HeightBelief:
    """Believe in a grid of which some heights are known: digits, # for a wall, ? if unknown."""
    letters = {"?": UNKNOWN, "#": WALL} | {str(h): h for h in range(1, 10)}
    known = np.array([letters[c] for c in "".join(rows)])
    walls = (known == WALL).astype(float)
    given = {"walls": walls, "known": np.where(known == WALL, UNKNOWN, known), **options}
    return HeightBelief((len(rows), len(rows[0])), **given)


def target(shape: tuple[int, int], s: int, step: tuple[int, int]) -> int:
    """Give where a step leads, or the square itself where that is off the map."""
    row, column = s // shape[1] + step[0], s % shape[1] + step[1]
    inside = 0 <= row < shape[0] and 0 <= column < shape[1]
    return row * shape[1] + column if inside else s


class World(NamedTuple):
    weight: float
    heights: tuple[int, ...]
    walls: tuple[bool, ...]


def chances(belief: HeightBelief) -> tuple[FloatArray, FloatArray]:
    """Give the prior [S, H] and the chance of a wall [S] of every square."""
    states = len(belief.known)
    prior = np.broadcast_to(belief.prior, (states, np.shape(belief.prior)[-1]))
    return prior, np.asarray(belief.walls)


def worlds(belief: HeightBelief) -> Iterator[World]:
    """List every world that is possible: its chance, all heights, and what is a wall."""
    states = len(belief.known)
    prior, chance = chances(belief)
    options: list[list[tuple[float, int, bool]]] = []
    for s in range(states):
        if belief.known[s] == WALL:
            options.append([(1.0, 1, True)])
        elif belief.known[s] != UNKNOWN:
            options.append([(1.0, int(belief.known[s]), False)])
        else:
            options.append(
                [
                    (p * w, h + 1, wall)
                    for h, p in enumerate(prior[s])
                    for wall, w in ((True, chance[s]), (False, 1.0 - chance[s]))
                    if p * w > 0.0
                ]
            )
    for world in product(*options):
        weight = float(np.prod([p for p, _, _ in world]))
        yield World(weight, tuple(h for _, h, _ in world), tuple(w for _, _, w in world))


def works(belief: HeightBelief, world: World) -> tuple[tuple[float, ...], ...]:
    """Tell [S, A] which moves work in one world, from the rules alone."""
    table, heights, walls = [], world.heights, world.walls
    for s in range(len(heights)):
        row = [1.0] if belief.stay else []
        for step in STEPS[1:]:
            t = target(belief.shape, s, step)
            climbs = heights[t] <= heights[s] + 1
            row.append(float(t != s and climbs and not walls[t] and belief.known[s] != WALL))
        table.append(tuple(row))
    return tuple(table)


def enumerated(belief: HeightBelief) -> FloatArray:
    """Give the mean success [S, A] by going through all worlds."""
    total = np.zeros((len(belief.known), 9 if belief.stay else 8))
    for world in worlds(belief):
        total += world.weight * np.array(works(belief, world))
    return total


@st.composite
def priors(draw: Callable[..., Any], states: int, levels: int) -> FloatArray:
    """Draw a prior for all squares or one for each, some heights of which are impossible."""
    rows = draw(st.sampled_from([1, states]))
    parts = draw(
        st.lists(
            st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0]),
            min_size=rows * levels,
            max_size=rows * levels,
        )
    )
    mass = np.array(parts).reshape(rows, levels)
    mass[np.arange(rows), draw(st.integers(0, levels - 1))] += mass.sum(axis=1) == 0.0
    mass /= mass.sum(axis=1, keepdims=True)
    return mass[0] if rows == 1 else mass


@st.composite
def beliefs(draw: Callable[..., Any]) -> HeightBelief:
    """Draw a belief on a few squares, some of which are known."""
    shape = draw(st.sampled_from([(1, 2), (2, 2), (1, 4), (3, 1)]))
    states = shape[0] * shape[1]
    levels = draw(st.integers(1, 3))
    prior = draw(priors(states, levels))
    odds = st.sampled_from([0.0, 0.0, 0.3, 1.0])
    walls = draw(
        st.one_of(st.sampled_from([0.0, 0.4]), st.lists(odds, min_size=states, max_size=states))
    )
    belief = HeightBelief(
        shape, prior, np.array(walls) if isinstance(walls, list) else walls, draw(st.booleans())
    )
    cells = [s for s in range(states) if draw(st.booleans())]
    return belief.update(truth_of(belief, np.array(cells, int), draw(st.integers(0, 99))))


def truth_of(belief: HeightBelief, cells: IntArray, seed: int) -> Reveal:
    """Draw what some squares are seen as."""
    rng = np.random.default_rng(seed)
    states = len(belief.known)
    heights = draw_heights(belief.prior, states, rng)
    walls = rng.random(states) < belief.walls
    drawn = np.where(walls, WALL, heights)
    return Reveal(cells, np.where(belief.known == UNKNOWN, drawn, belief.known)[cells])


def same(one: HeightBelief, two: HeightBelief) -> bool:
    """Tell whether two beliefs hold the same, to the last bit."""
    names = ("known", "visited", "success", "unseen")
    return all(np.array_equal(getattr(one, n), getattr(two, n)) for n in names)


def test_the_actions_are_stay_and_the_eight_neighbours_clockwise() -> None:
    assert NAMES == ("stay", "N", "NE", "E", "SE", "S", "SW", "W", "NW")
    mean = HeightBelief((2, 3)).mean()
    assert mean.action_names == NAMES
    assert mean.dest[4].tolist() == [4, 1, 2, 5, 4, 4, 4, 3, 0]


def test_without_staying_there_are_the_eight_neighbours() -> None:
    with_it, without = HeightBelief((2, 3)).mean(), HeightBelief((2, 3), stay=False).mean()
    assert without.action_names == NAMES[1:]
    assert np.array_equal(without.dest, with_it.dest[:, 1:])
    assert np.array_equal(without.success, with_it.success[:, 1:])


def test_known_heights_allow_a_climb_by_one_and_any_drop() -> None:
    success = belief_on("12345").mean().success
    assert success[:, EAST].tolist() == [1.0, 1.0, 1.0, 1.0, 0.0]
    assert success[:, WEST].tolist() == [0.0, 1.0, 1.0, 1.0, 1.0]
    steep = belief_on("31", "15").mean().success
    assert steep[0, [EAST, SOUTH, SOUTH_EAST]].tolist() == [1.0, 1.0, 0.0]
    assert steep[1, [WEST, SOUTH, SOUTH_WEST]].tolist() == [0.0, 0.0, 1.0]


def test_off_the_map_and_into_a_wall_no_move_works() -> None:
    mean = belief_on("1#", "22").mean()
    assert mean.success[0].tolist() == [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    assert mean.dest[0, EAST] == 1
    assert mean.dest[0, NORTH] == 0


def test_nothing_leads_out_of_a_known_wall() -> None:
    assert belief_on("1#", "22").mean().success[1].tolist() == [1.0] + [0.0] * 8


def test_of_five_heights_alike_the_chances_are_derived_by_hand() -> None:
    # From height h, min(h + 1, 5) of 5 heights can be entered; from nowhere known, 19 of 25.
    for h, p in enumerate((0.4, 0.6, 0.8, 1.0, 1.0), start=1):
        assert belief_on(f"{h}?").mean().success[0, EAST] == pytest.approx(p, abs=1e-15)
    # Height h can be entered from max(h - 1, 1) and above.
    for h, p in enumerate((1.0, 1.0, 0.8, 0.6, 0.4), start=1):
        assert belief_on(f"?{h}").mean().success[0, EAST] == pytest.approx(p, abs=1e-15)
    assert belief_on("??").mean().success[0, EAST] == pytest.approx(0.76, abs=1e-15)


def test_a_wall_is_paid_for_on_the_way_in_alone() -> None:
    mean = HeightBelief((1, 2), walls=0.25).mean()
    assert mean.success[0, EAST] == mean.success[1, WEST] == pytest.approx(0.76 * 0.75)


@given(beliefs())
def test_every_success_is_the_chance_over_all_worlds(belief: HeightBelief) -> None:
    assert belief.mean().success == pytest.approx(enumerated(belief), abs=1e-14)


@given(beliefs())
def test_what_is_sure_is_exactly_so(belief: HeightBelief) -> None:
    outcomes = {works(belief, world) for world in worlds(belief)}
    sure = np.array(next(iter(outcomes)))
    settled = (np.array(list(outcomes)) == sure).all(axis=0)
    success = belief.mean().success
    assert np.array_equal(success[settled], sure[settled])
    assert ((success[~settled] > 0.0) & (success[~settled] < 1.0)).all()


def test_a_prior_whose_sum_rounds_is_still_sure_of_what_is_sure() -> None:
    prior = np.array([0.0, 0.1, 0.7, 0.2, 0.0])  # adds up to 1 − 1e-16 from the left
    success = belief_on("3??", prior=prior).mean().success
    assert success[0, EAST] == 1.0
    assert belief_on("?3", prior=prior).mean().success[0, EAST] == 1.0
    short = np.array([1.0 / 3.0, 2.0 / 3.0 - 1e-10])  # as near to 1 as is asked for
    for row in ("??", "1?", "?2"):
        assert belief_on(row, prior=short).mean().success[0, EAST] == 1.0
    thirds = np.array([0.1, 0.2, 0.3, 0.4]) / np.sum([0.1, 0.2, 0.3, 0.4])
    assert belief_on("3?", prior=thirds).mean().success[0, EAST] == 1.0


@given(beliefs(), st.sampled_from([0.5, 0.99]))
def test_the_corrections_are_the_closed_forms(belief: HeightBelief, discount: float) -> None:
    p = enumerated(belief)
    returning, exploring = belief.move_corrections(discount)
    assert belief.correction() == pytest.approx(-2.0 * p * (1.0 - p), abs=1e-14)
    assert returning == pytest.approx(-p * (1.0 - p), abs=1e-14)
    assert exploring == pytest.approx(-(2.0 - discount) * p * (1.0 - p), abs=1e-14)


@given(beliefs())
def test_it_declares_that_a_move_works_or_never_and_how_likely_it_never_does(
    belief: HeightBelief,
) -> None:
    leads = belief.mean().dest != np.arange(belief.mean().states)[:, None]
    assert corrections_of(belief, belief.mean(), 0.9).work_or_never
    expected = np.where(leads, 1.0 - enumerated(belief), 0.0)
    assert belief.blocked_probability() == pytest.approx(expected, abs=1e-14)


def test_it_is_planned_on_with_the_tighter_correction() -> None:
    belief = HeightBelief((2, 2))
    assert corrections_of(belief, belief.mean(), 0.9).kind is Correction.MOVES
    general = corrections_of(belief, belief.mean(), 0.9, Correction.GENERAL)
    assert general.returning[0, EAST] == pytest.approx(-2.0 * 0.76 * 0.24)


@given(beliefs(), st.integers(0, 99), st.randoms(use_true_random=False))
def test_learning_bit_by_bit_is_believing_it_all_anew(
    belief: HeightBelief, seed: int, random: Any
) -> None:
    cells = list(range(len(belief.known)))
    random.shuffle(cells)
    seen = truth_of(belief, np.array(cells), seed)
    learned = belief
    for i in range(len(cells)):
        learned = learned.update(Reveal(seen.cells[i : i + 1], seen.heights[i : i + 1]))
        anew = HeightBelief(
            belief.shape, belief.prior, belief.walls, belief.stay, learned.known, learned.visited
        )
        assert same(learned, anew)
    assert same(learned, belief.update(seen))


@settings(max_examples=30)
@given(beliefs(), st.integers(0, 3))
def test_what_is_expected_of_a_look_is_what_was_believed(belief: HeightBelief, cell: int) -> None:
    cell = min(cell, len(belief.known) - 1)
    prior, walls = chances(belief)
    if belief.known[cell] != UNKNOWN:
        return
    odds = [(h + 1, (1.0 - walls[cell]) * p) for h, p in enumerate(prior[cell])]
    expected = np.zeros_like(belief.success)
    for height, p in [(WALL, walls[cell]), *odds]:
        if p > 0.0:
            after = belief.update(Reveal(np.array([cell]), np.array([height])))
            expected += p * after.mean().success
    kept = np.arange(len(belief.known)) != (cell if walls[cell] > 0.0 else -1)
    assert belief.mean().success[kept] == pytest.approx(expected[kept], abs=1e-14)


def test_a_look_changes_only_the_moves_into_and_out_of_what_was_unknown() -> None:
    belief = belief_on("?????", "??3??", "?????")
    after = belief.update(Reveal(np.array([7, 8]), np.array([3, 5])))
    changed = np.argwhere(after.mean().success != belief.mean().success)
    assert changed.size
    for s, a in changed:
        assert 8 in (s, after.mean().dest[s, a])


def test_a_look_gives_a_new_model_though_the_old_was_asked_for() -> None:
    belief = belief_on("2?")
    assert belief.mean().success[0, EAST] == pytest.approx(0.6)
    assert belief.update(Reveal(np.array([1]), np.array([5]))).mean().success[0, EAST] == 0.0
    assert belief.mean().success[0, EAST] == pytest.approx(0.6)


def test_looking_at_what_is_known_teaches_nothing() -> None:
    belief = belief_on("2?#")
    for seen in (
        Reveal(np.array([0, 2]), np.array([2, WALL])),
        Reveal(np.array([], int), np.array([], int)),
    ):
        after, changed = belief.copy().absorb(seen)
        assert same(after, belief)
        assert changed is not None
        assert not len(changed)


def test_a_visit_alone_keeps_the_model() -> None:
    belief = belief_on("2?")
    after = belief.update(Reveal(np.array([0]), np.array([2]), 0))
    assert after.visited.tolist() == [True, False]
    assert belief.visited.tolist() == [False, False]
    assert same(replace(after, visited=belief.visited), belief)


@given(beliefs(), st.integers(0, 99), st.randoms(use_true_random=False))
def test_learning_in_place_says_where_it_changed(
    belief: HeightBelief, seed: int, random: Any
) -> None:
    cells = list(range(len(belief.known)))
    random.shuffle(cells)
    seen = truth_of(belief, np.array(cells), seed)
    learned, first = belief.copy(), belief.copy()
    for i in range(len(cells)):
        before = learned.copy()
        look = Reveal(seen.cells[i : i + 1], seen.heights[i : i + 1])
        learned, changed = learned.absorb(look)
        assert same(learned, before.update(look))
        assert changed is not None
        differs = (learned.success != before.success).any(axis=1)
        assert set(np.flatnonzero(differs)) <= set(changed.tolist())
    assert same(belief, first)


def test_what_can_not_be_seen_leaves_the_belief_as_it_was() -> None:
    belief = belief_on("2?#")
    before = belief.copy()
    for cells, heights, here in (
        ([1, 0], [3, 3], None),
        ([1, 1], [3, 4], None),
        ([1], [WALL], 1),
        ([1], [3], 2),
        ([1, 7], [3, 3], None),
        ([1, 0], [9, 2], None),
    ):
        with pytest.raises((ImpossibleObservationError, InvalidBeliefError)):
            belief.absorb(Reveal(np.array(cells), np.array(heights), here))
        assert same(belief, before)


def test_counts_are_infinite_once_a_square_is_visited() -> None:
    belief = belief_on("2?", "??").update(Reveal(np.array([1]), np.array([3]), 0))
    assert belief.counts.shape == (4, 9)
    assert (belief.counts[0] == np.inf).all()
    assert (belief.counts[1:] == 0.0).all()


def test_seen_are_the_known_and_the_walls() -> None:
    assert belief_on("2?", "#?").seen.tolist() == [True, False, True, False]


@given(beliefs())
def test_a_move_uncovers_the_unseen_around_where_it_leads(belief: HeightBelief) -> None:
    first = 1 if belief.stay else 0
    found = belief.uncovers()
    if belief.stay:
        assert not found[:, 0].any()
    for s in range(len(belief.known)):
        for a, step in enumerate(STEPS[1:], start=first):
            t = target(belief.shape, s, step)
            around = {target(belief.shape, t, near) for near in STEPS}
            unseen = sum(belief.known[cell] == UNKNOWN for cell in around)
            expected = belief.mean().success[s, a] * unseen if t != s else 0.0
            assert found[s, a] == pytest.approx(expected, abs=1e-15)


def test_what_a_move_uncovers_is_counted_by_hand() -> None:
    # East of the 3 lie ten unknown squares; the nearest of them is entered with .8.
    belief = belief_on("33????", "33????", "33????")
    assert belief.uncovers()[7, [STAY, WEST, NORTH]].tolist() == [0.0, 0.0, 2.0]
    assert belief.uncovers()[7, EAST] == pytest.approx(0.8 * 6)
    assert belief.uncovers()[7, NORTH_EAST] == pytest.approx(0.8 * 4)


def test_a_sample_is_a_world_and_each_comes_as_often_as_it_should() -> None:
    belief = HeightBelief((1, 3), np.array([0.5, 0.2, 0.3]), 0.25).update(
        Reveal(np.array([0]), np.array([1]))
    )
    expected: defaultdict[tuple[tuple[float, ...], ...], float] = defaultdict(float)
    for world in worlds(belief):
        expected[works(belief, world)] += world.weight
    rng, draws = np.random.default_rng(0), 4000
    found = Counter(tuple(map(tuple, belief.sample(rng).success.tolist())) for _ in range(draws))
    assert set(found) == set(expected)
    for pattern, p in expected.items():
        assert found[pattern] / draws == pytest.approx(p, abs=4.5 * np.sqrt(p * (1 - p) / draws))


@given(beliefs(), st.integers(0, 99))
def test_a_sample_agrees_with_all_that_is_sure(belief: HeightBelief, seed: int) -> None:
    drawn, mean = belief.sample(np.random.default_rng(seed)), belief.mean()
    assert set(np.unique(drawn.success)) <= {0.0, 1.0}
    sure = (mean.success == 0.0) | (mean.success == 1.0)
    assert np.array_equal(drawn.success[sure], mean.success[sure])


def test_the_same_seed_draws_the_same_world() -> None:
    one, two = (HeightBelief((4, 4)).sample(np.random.default_rng(7)).success for _ in range(2))
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("prior", [(0.0, 1.0, 0.0), (0.5, 0.0, 0.5)])
def test_heights_are_drawn_as_the_prior_says(prior: tuple[float, ...]) -> None:
    drawn = draw_heights(np.array(prior), 4000, np.random.default_rng(0))
    share = np.bincount(drawn, minlength=4)[1:] / 4000
    assert share == pytest.approx(prior, abs=0.04)
    assert (share[np.array(prior) == 0.0] == 0.0).all()


def test_each_square_has_its_own_prior() -> None:
    prior = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert draw_heights(prior, 2, np.random.default_rng(0)).tolist() == [1, 3]
    success = HeightBelief((1, 2), prior).mean().success
    assert (success[0, EAST], success[1, WEST]) == (0.0, 1.0)


def test_a_known_world_is_a_model() -> None:
    world = model_of_heights((1, 4), [1, 2, WALL, 4])
    assert world.success[:, EAST].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert world.success[:, WEST].tolist() == [0.0, 1.0, 0.0, 0.0]
    assert world.success[:, STAY].tolist() == [1.0] * 4
    assert model_of_heights((1, 4), [1, 2, WALL, 4], stay=False).actions == 8


def test_grids_of_one_shape_share_what_is_known_of_them() -> None:
    one, two = HeightBelief((3, 3)), belief_on("1?3", "???", "#5?")
    assert one.mean().dest is two.mean().dest
    assert one.mean().memo is two.mean().memo is one.sample(np.random.default_rng(0)).memo
    assert one.mean() is one.mean()
    assert grid_graph(3, 3, True) is not grid_graph(3, 3, False)


def test_learning_leaves_the_earlier_belief_as_it_was() -> None:
    belief = belief_on("2?", "??")
    before = [getattr(belief, n).copy() for n in ("known", "visited", "success", "unseen")]
    after = belief.update(Reveal(np.array([0, 1, 2, 3]), np.array([2, 5, 1, 3]), 0))
    assert not same(belief, after)
    names = ("known", "visited", "success", "unseen")
    for name, value in zip(names, before, strict=True):
        assert np.array_equal(getattr(belief, name), value)


def test_its_arrays_are_read_only_before_and_after_learning() -> None:
    first = belief_on("2?", "??")
    for belief in (first, first.update(Reveal(np.array([1]), np.array([4]), 0))):
        for name in ("prior", "walls", "known", "visited", "success", "unseen"):
            assert not getattr(belief, name).flags.writeable, name
        assert not belief.mean().success.flags.writeable


def test_what_the_caller_writes_later_does_not_change_the_belief() -> None:
    prior, walls, known = np.array([0.5, 0.5]), np.array([0.0, 0.5]), np.array([1, UNKNOWN])
    belief = HeightBelief((1, 2), prior, walls, known=known)
    before = belief.success.copy()
    prior[:], walls[:], known[:] = (1.0, 0.0), 0.0, 2
    cells, heights = np.array([1]), np.array([2])
    seen = Reveal(cells, heights)
    cells[0], heights[0] = 0, 1
    assert belief.known.tolist() == [1, UNKNOWN]
    assert belief.prior.tolist() == [0.5, 0.5]
    assert np.array_equal(belief.success, before)
    assert belief.update(seen).known.tolist() == [1, 2]


@pytest.mark.parametrize("walls", [0.0, 0.2])
@pytest.mark.parametrize("kind", [Correction.MOVES, Correction.GENERAL])
def test_a_plan_comes_home_as_often_as_it_promises(kind: Correction, walls: float) -> None:
    belief = HeightBelief((3, 3), walls=walls).update(
        Reveal(np.array([0, 1, 3, 4]), np.array([2, 3, 4, 4]), 0)
    )
    plan = Planner(Uncover(), [ReturnHome(0.6)], 0.9, kind).plan(belief, 0)
    (criterion,) = plan.criteria
    rng, home = np.random.default_rng(3), []
    for _ in range(300):
        world = dense_transitions(belief.sample(rng))
        way = exact_return(world, criterion.return_policy, criterion.home)
        each = [exact_recall(world, policy, way, 0.9)[0] for policy in plan.outbound]
        home.append(float(plan.weights @ each))
    assert plan.exploration_value > 0.0
    assert criterion.bound >= 0.6 - 1e-8
    assert np.mean(home) >= criterion.bound - 4.0 * np.std(home) / np.sqrt(len(home))


def refused(match: str, **options: Any) -> None:
    with pytest.raises(InvalidBeliefError, match=match):
        HeightBelief(**{"shape": (2, 2), **options})


@pytest.mark.parametrize(
    "shape", [(0, 4), (4, 0), (-1, 2), (2,), (2, 2, 2), [2, 2], (2.0, 2), None, (70_000, 70_000)]
)
def test_a_shape_that_is_none_is_refused(shape: Any) -> None:
    refused("the shape|a grid of", shape=shape)


@pytest.mark.parametrize(
    ("prior", "match"),
    [
        (np.full((3, 5), 0.2), r"shape \(3, 5\), expected \[H\] or \[4, H\]"),
        (np.full((2, 2, 5), 0.2), r"shape \(2, 2, 5\)"),
        (np.float64(1.0), r"shape"),
        (np.array([]), "no heights"),
        ([0.5, 0.7], "the prior sums to 1.2"),
        ([0.5, 0.4], "the prior sums to 0.9"),
        ([[0.5, 0.5], [1.0, 0.0], [0.6, 0.6], [0.5, 0.5]], "square s=2 sums to 1.2"),
        ([1.5, -0.5], "of height 1 is 1.5, not a probability"),
        ([[0.5, 0.5], [1.2, -0.2], [1.0, 0.0], [0.5, 0.5]], "of square s=1 of height 1 is 1.2"),
        ([0.5, np.nan], r"the prior is NaN at \(1,\)"),
        (["high", "low"], "not an array of numbers"),
        ([[0.5], [0.5, 0.5]], "not an array of numbers"),
    ],
)
def test_a_prior_that_is_none_is_refused_with_its_place(prior: Any, match: str) -> None:
    refused(match, prior=prior)


@pytest.mark.parametrize(
    ("walls", "match"),
    [
        (1.5, r"\(s=0\) is 1.5, not a probability"),
        (-0.1, r"\(s=0\) is -0.1"),
        ([0.0, 0.0, 2.0, 0.0], r"\(s=2\) is 2"),
        ([0.0, 0.5], r"shape \(2,\), expected \(4,\)"),
        (np.nan, "expected a number"),
        ("some", "expected a number"),
        (None, "expected a number"),
    ],
)
def test_chances_of_walls_that_are_none_are_refused(walls: Any, match: str) -> None:
    refused(match, walls=walls)


@pytest.mark.parametrize("stay", [1, "no", None])
def test_staying_is_allowed_or_not(stay: Any) -> None:
    refused("stay is", stay=stay)


@pytest.mark.parametrize(
    ("known", "match"),
    [
        ([1, 2, 3], r"shape \(3,\), expected \(4,\)"),
        ([1, 2, 3, 6], r"\(s=3\) is 6, outside -1..5"),
        ([1, 2, 3, -2], r"\(s=3\) is -2"),
        ([1.0, 2.0, 3.0, 4.0], "whole numbers"),
        ([1, WALL, 3, 4], "square s=1 is given as a wall, which the prior excludes"),
    ],
)
def test_known_heights_that_can_not_be_are_refused(known: Any, match: str) -> None:
    refused(match, known=known)


def test_known_heights_that_the_prior_rules_out_are_refused() -> None:
    refused("s=2 is given as height 1", known=[2, 2, 1, 2], prior=[0.0, 1.0])
    walls = np.array([0.0, 1.0, 0.0, 0.0])
    refused("s=1 is given as height 2", known=[2, 2, 1, 2], walls=walls)


def test_visits_that_can_not_have_been_are_refused() -> None:
    visited = np.array([True, True, False, False])
    refused(
        "square s=1 is marked as visited, but it is a wall",
        visited=visited,
        walls=np.array([0.0, 1.0, 0.0, 0.0]),
    )
    refused("expected 4 booleans", visited=np.array([True]))


@pytest.mark.parametrize(
    ("cells", "heights", "here", "match"),
    [
        ([-1], [1], None, "outside"),
        ([0.0], [1], None, "whole numbers"),
        ([[0]], [[1]], None, r"shape \(1, 1\), expected \[n\]"),
        ([[0], [0, 1]], [1], None, "not an array"),
        ([[7, 7], [-5, 7]], [1], None, r"shape \(2, 2\)"),
        ([0, 1], [1], None, r"shape \(1,\), expected \(2,\)"),
        ([0], [-2], None, "outside -1"),
        ([0], [1.5], None, "whole numbers"),
        ([0], [1], -1, "the square here"),
        ([0], [1], 0.5, "the square here"),
        ([0], [1], True, "the square here"),
    ],
)
def test_an_observation_that_is_none_is_refused(
    cells: Any, heights: Any, here: Any, match: str
) -> None:
    with pytest.raises(InvalidBeliefError, match=match):
        Reveal(cells, heights, here)


@pytest.mark.parametrize(
    ("cells", "heights", "match"),
    [([4], [1], "s=4, outside 0..3"), ([0], [9], "at height 9"), ([0, 1], [1], "shape")],
)
def test_an_observation_in_the_kernels_own_form_is_looked_at_no_less(
    cells: list[int], heights: list[int], match: str
) -> None:
    seen, high = (frozen(np.array(values, np.int32)) for values in (cells, heights))
    with pytest.raises(InvalidBeliefError, match=match):
        HeightBelief((2, 2)).update(Reveal(seen, high))


def test_an_observation_in_the_kernels_own_form_is_taken_as_it_is() -> None:
    cells, heights = (frozen(np.array(values, np.int32)) for values in ([1], [4]))
    seen = Reveal(cells, heights)
    assert seen.cells is cells
    assert seen.heights is heights
    assert HeightBelief((2, 2)).update(seen).known.tolist() == [0, 4, 0, 0]


@pytest.mark.parametrize(
    ("cells", "heights", "here", "match"),
    [
        ([0, 4], [1, 1], None, "s=4, outside 0..3"),
        ([0, 1], [1, 6], None, "s=1 is seen at height 6, expected 1 to 5, or -1"),
        ([2], [0], None, "s=2 is seen at height 0"),
        ([0], [1], 4, "the square here is 4, outside 0..3"),
    ],
)
def test_an_observation_of_another_grid_is_refused(
    cells: Any, heights: Any, here: Any, match: str
) -> None:
    with pytest.raises(InvalidBeliefError, match=match):
        HeightBelief((2, 2)).update(Reveal(cells, heights, here))


@pytest.mark.parametrize(
    ("cells", "heights", "here", "match"),
    [
        ([1, 0], [4, 3], None, "s=0 is seen as height 3, but is known as height 2"),
        ([2], [1], None, "s=2 is seen as height 1, but is known as a wall"),
        ([0], [WALL], None, "s=0 is seen as a wall, but is known as height 2"),
        ([1], [WALL], None, "s=1 is seen as a wall, which the prior excludes"),
        ([3], [5], None, "s=3 is seen as height 5, which the prior excludes"),
        ([1, 1], [3, 4], None, "s=1 is seen as height 3 and as height 4"),
        ([1], [3], 2, "in square s=2, which is a wall"),
    ],
)
def test_an_observation_that_can_not_be_is_refused(
    cells: Any, heights: Any, here: Any, match: str
) -> None:
    belief = belief_on("2?", "#?", prior=[0.25, 0.25, 0.25, 0.25, 0.0])
    before = belief.success.copy()
    with pytest.raises(ImpossibleObservationError, match=match):
        belief.update(Reveal(cells, heights, here))
    assert np.array_equal(belief.success, before)
    assert belief.known.tolist() == [2, UNKNOWN, WALL, UNKNOWN]


def test_nobody_stands_in_a_wall_that_is_just_seen() -> None:
    with pytest.raises(ImpossibleObservationError, match="s=1, which is a wall"):
        HeightBelief((1, 2), walls=0.5).update(Reveal([1], [WALL], 1))  # type: ignore[arg-type]


@pytest.mark.parametrize("seen", [None, "high", (0, 1)])
def test_an_observation_of_another_kind_is_refused(seen: Any) -> None:
    with pytest.raises(InvalidBeliefError, match="can't learn from"):
        HeightBelief((1, 2)).update(seen)


@pytest.mark.parametrize(
    ("heights", "match"),
    [
        ([1, 2, 0], r"square s=2 is 0"),
        ([1, 2], r"shape \(2,\)"),
        ([1, 2, -2], r"\(s=2\) is -2"),
        ([1.0, 2.0, 3.0], "whole numbers"),
    ],
)
def test_a_known_world_that_is_none_is_refused(heights: Any, match: str) -> None:
    with pytest.raises(InvalidBeliefError, match=match):
        model_of_heights((1, 3), heights)


@given(beliefs(), st.integers(0, 2**32))
def test_a_move_from_a_seen_square_is_conditioned_on_exactly(
    belief: HeightBelief, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    state = int(rng.integers(len(belief.known)))
    belief = belief.update(truth_of(belief, np.array([state], np.int32), seed))
    action = int(rng.integers(belief.mean().actions))
    there, chance = int(belief.mean().dest[state, action]), belief.success[state, action]
    if belief.known[state] == WALL or there == state:
        return
    outcomes = [(after, p) for after, p in ((there, chance), (state, 1.0 - chance)) if p > 0.0]
    later = [(belief.update(Transition(state, action, after)), p) for after, p in outcomes]
    for taught, _ in later:
        assert taught.success[state, action] in (0.0, 1.0)
    if all(taught.known[there] != WALL for taught, _ in later):  # nothing leads out of a known one
        total = sum(p * taught.success[:, :] for taught, p in later)
        out = belief.mean().dest != np.arange(len(belief.known))[:, None]
        into = (belief.mean().dest == there) & out
        assert total[into] == pytest.approx(belief.success[into], abs=1e-12)


def test_a_failed_move_leaves_what_is_too_high_or_a_wall() -> None:
    belief = belief_on("1?", walls=0.5).update(Transition(0, EAST, 0))
    assert belief.prior[1] == pytest.approx([0.0, 0.0, 1 / 3, 1 / 3, 1 / 3])
    assert np.asarray(belief.walls)[1] == pytest.approx(0.5 / 0.8)
    assert belief.success[0, EAST] == 0.0
    low = belief_on("5?", walls=0.5).update(Transition(0, EAST, 0))
    assert low.known[1] == WALL


def test_a_move_that_worked_leads_to_no_wall_and_no_great_height() -> None:
    belief = belief_on("1?", walls=0.5).update(Transition(0, EAST, 1))
    assert belief.prior[1] == pytest.approx([0.5, 0.5, 0.0, 0.0, 0.0])
    assert np.asarray(belief.walls)[1] == 0.0
    assert belief.success[0, EAST] == 1.0


def test_a_move_between_seen_squares_changes_nothing() -> None:
    belief = belief_on("12?", "###")
    for moved in (Transition(0, EAST, 1), Transition(0, 0, 0), Transition(0, 1, 0)):
        assert same(belief.update(moved), belief)


@pytest.mark.parametrize(
    ("move", "said"),
    [
        (Transition(0, EAST, 0), "rules out"),
        (Transition(0, EAST, None), "ends neither"),
        (Transition(0, EAST, 2), "ends neither"),
        (Transition(3, 0, 3), "starts in cell s=3, which is blocked"),
        (Transition(0, SOUTH, 3), "rules out"),
    ],
)
def test_a_move_that_can_not_have_come_out_like_that_is_impossible(
    move: Transition, said: str
) -> None:
    with pytest.raises(ImpossibleObservationError, match=said):
        belief_on("12?", "###").update(move)


def test_a_move_from_an_unknown_square_is_refused() -> None:
    with pytest.raises(InvalidBeliefError, match="a Reveal of s=2 first"):
        belief_on("12?", "###").update(Transition(2, WEST, 1))


def rising(climb: int) -> HeightBelief:
    """Two squares of seven levels, of which the first is known to have height 2."""
    belief = HeightBelief((1, 2), np.full(7, 1 / 7), climb=climb)
    return belief.update(Reveal(np.array([0]), np.array([2])))


@pytest.mark.parametrize(("climb", "levels"), [(1, 3), (2, 4), (4, 6), (6, 7)])
def test_a_move_may_climb_as_far_as_the_belief_says(climb: int, levels: int) -> None:
    belief = rising(climb)
    east, west = 3, 7
    assert belief.success[0, east] == pytest.approx(levels / 7, abs=1e-15)
    back = np.mean([height + climb >= 2 for height in range(1, 8)])
    assert belief.success[1, west] == pytest.approx(back, abs=1e-15)
    failed = belief.update(Transition(0, east, 0)) if levels < 7 else None
    if failed is not None:
        assert failed.prior[1, :levels].sum() == 0.0


@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_every_probability_of_a_climb_is_that_of_the_worlds(climb: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(4), 4)
    belief = HeightBelief((2, 2), prior, np.array([0.0, 0.3, 0.0, 0.0]), climb=climb)
    dest, expected = belief.mean().dest, np.zeros(belief.success.shape)
    for heights in np.ndindex(4, 4, 4, 4):
        chance = np.prod(prior[np.arange(4), heights])
        world = model_of_heights((2, 2), 1 + np.array(heights), climb=climb).success
        expected += chance * np.where((dest == 1) & (np.arange(4)[:, None] != 1), 0.7, 1.0) * world
    assert belief.success == pytest.approx(expected, abs=1e-12)


def test_no_move_leaves_a_wall_however_far_it_may_climb() -> None:
    belief = HeightBelief((1, 2), walls=np.array([1.0, 0.0]), climb=4)
    assert belief.success[0, 1:].max() == 0.0
    assert model_of_heights((1, 2), [WALL, 1], climb=4).success[0, 1:].max() == 0.0


@pytest.mark.parametrize("climb", [0, -1, 1.5, True])
def test_a_climb_that_is_none_is_refused(climb: Any) -> None:
    with pytest.raises(InvalidBeliefError, match="the climb is"):
        HeightBelief((2, 2), climb=climb)
