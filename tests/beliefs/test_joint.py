from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeward.beliefs import FiniteBelief, HeightBelief
from homeward.beliefs.base import MoveSets
from homeward.beliefs.levels import model_of_heights
from homeward.models import Moves

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Edge = tuple[int, int]


def sets_of(*sets: Sequence[Edge]) -> MoveSets:
    first = np.cumsum([0, *map(len, sets)])
    pairs = np.array([edge for edges in sets for edge in edges], np.int64).reshape(-1, 2)
    return MoveSets(first, pairs[:, 0], pairs[:, 1])


def worlds_of(belief: HeightBelief) -> Iterator[tuple[float, Moves]]:
    """Yield every world of a small belief with its probability."""
    unknown = np.flatnonzero(belief.known == 0)
    levels = np.shape(belief.prior)[-1]
    prior = np.broadcast_to(belief.prior, (len(belief.known), levels))
    for heights in product(range(levels + 1), repeat=len(unknown)):  # 0 is a wall
        known, chance = belief.known.copy(), 1.0
        for cell, height in zip(unknown, heights, strict=True):
            wall = np.asarray(belief.walls)[cell]
            chance *= wall if height == 0 else (1.0 - wall) * prior[cell, height - 1]
            known[cell] = height or -1
        if chance > 0.0:
            yield chance, model_of_heights(belief.shape, known, belief.stay)


def random_heights(rng: np.random.Generator) -> HeightBelief:
    shape = ((2, 3), (2, 2), (1, 5), (3, 2))[rng.integers(4)]
    states, levels = shape[0] * shape[1], int(rng.integers(1, 4))
    known = np.where(rng.random(states) < 0.4, rng.integers(1, levels + 1, states), 0)
    walls = np.where(known > 0, 0.0, rng.random(states) * 0.5 * (rng.random(states) < 0.5))
    return HeightBelief(shape, rng.dirichlet(np.ones(levels), states), walls, known=known)


@given(st.integers(0, 2**32 - 1))
def test_moves_work_together_as_counted_over_all_heights(seed: int) -> None:
    """Squares that a set leaves must be entered by it, or known: a wall is never left."""
    rng = np.random.default_rng(seed)
    belief = random_heights(rng)
    dest = belief.mean().dest
    sets: list[list[Edge]] = []
    for _ in range(6):
        here = int(rng.choice(np.flatnonzero(belief.known > 0))) if (belief.known > 0).any() else -1
        walk: list[Edge] = []
        for _ in range(int(rng.integers(0, 9)) if here >= 0 else 0):
            walk.append((here, int(rng.integers(9))))
            here = int(dest[walk[-1]])
        sets.append(walk)
    found = belief.work_together(sets_of(*sets))
    assert found is not None
    assert found.evaluator == belief.evaluator == "path"
    truth = np.zeros(len(sets))
    for chance, world in worlds_of(belief):
        truth += [chance * all(world.success[e] > 0 or dest[e] == e[0] for e in s) for s in sets]
    assert found.low == pytest.approx(truth, abs=1e-11)
    assert (found.low <= truth + 1e-14).all()
    assert (found.high >= truth - 1e-14).all()


@given(st.integers(0, 2**32 - 1))
def test_worlds_of_a_finite_belief_are_counted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dest = rng.integers(0, 4, (4, 3))
    success = rng.random((5, 4, 3)) * (rng.random((5, 4, 3)) < 0.7)
    belief = FiniteBelief([Moves(dest, s) for s in success], rng.dirichlet(np.ones(5)))
    sets = [[(int(s), int(a)) for s, a in rng.integers(0, 3, (n, 2))] for n in range(5)]
    found = belief.work_together(sets_of(*sets))
    assert found is not None
    truth = [
        sum(w for w, s in zip(belief.weights, success, strict=True)
            if all(s[e] > 0.0 or dest[e] == e[0] for e in edges))
        for edges in sets
    ]  # fmt: skip
    assert found.low == pytest.approx(truth, abs=1e-14)
    assert (found.low <= np.array(truth) + 1e-15).all()


def test_a_set_that_is_too_entangled_has_the_union_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    belief = HeightBelief((3, 3), known=np.array([1, 0, 0, 0, 0, 0, 0, 0, 1]))
    edges = [(s, a) for s in range(9) for a in range(1, 9) if belief.mean().dest[s, a] != s]
    found = belief.work_together(sets_of(edges))
    assert found is not None
    assert 0.0 <= found.low[0] <= found.high[0] < 0.01

    def too_wide(*given: Any) -> None:
        given[-2][:] = -1.0

    monkeypatch.setattr("homeward.beliefs.levels.level_sets", too_wide)
    few = edges[:2]
    found, risks = belief.work_together(sets_of(few)), belief.blocked_probability()
    assert found is not None
    assert found.low[0] == pytest.approx(max(0.0, 1.0 - sum(risks[e] for e in few)))
    assert found.high[0] == pytest.approx(1.0 - max(risks[e] for e in few))


@pytest.mark.parametrize("climb", [1, 2, 3])
def test_moves_that_climb_farther_work_together_as_in_the_worlds(climb: int) -> None:
    rng = np.random.default_rng(climb)
    prior = rng.dirichlet(np.ones(4), 4)
    belief = HeightBelief((2, 2), prior, climb=climb)
    for _ in range(20):
        states, actions = rng.integers(4, size=3), rng.integers(1, 9, size=3)
        moves = MoveSets(np.array([0, 3]), states, actions)
        expected = 0.0
        for heights in np.ndindex(4, 4, 4, 4):
            world = model_of_heights((2, 2), 1 + np.array(heights), climb=climb)
            changes = world.dest[states, actions] != states
            works = (world.success[states, actions] > 0.0) | ~changes
            expected += works.all() * np.prod(prior[np.arange(4), heights])
        found = belief.work_together(moves)
        assert found is not None
        assert found.low[0] - 1e-12 <= expected <= found.high[0] + 1e-12
        assert found.high[0] - found.low[0] < 1e-9
