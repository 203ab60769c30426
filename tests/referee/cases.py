"""Small plans that the tests of certificates share, with answers that can be done by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.beliefs import DirichletBelief, FiniteBelief, TerrainBelief, Transition
from homeward.beliefs.levels import HeightBelief
from homeward.beliefs.observations import Reveal
from homeward.criteria import EarnAtLeast, ReturnHome, StayInside
from homeward.models import Moves, SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.referee.claims import PlanCase
from homeward.terrain.synthetic import draw_belief

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import FloatArray
    from homeward.beliefs import Belief

CAMP, RIDGE = 0, 1
STAY, GO = 0, 1


def ridge(chance: float = 0.5) -> FiniteBelief:
    """Going up is sure; the way down is there in a fraction of the worlds."""
    dest = np.array([[0, 1], [1, 0]])
    worlds = [Moves(dest, np.array([[1.0, 1.0], [1.0, down]])) for down in (0.0, 1.0)]
    return FiniteBelief(worlds, np.array([1.0 - chance, chance]))


def on_the_ridge(belief: Belief) -> FloatArray:
    """Staying on the ridge pays 1 a step."""
    bonus = np.zeros((2, 2))
    bonus[RIDGE, STAY] = 1.0
    return bonus


def ridge_plan(delta: float = 0.9, **options: Any) -> PlanCase:
    """Plan on the ridge with γ = ½: 0.4 of it goes up, and is worth 0.4, at δ = 0.9."""
    return made(ridge(), [ReturnHome(delta, CAMP)], on_the_ridge, 0.5, **options)


def made(
    belief: Belief,
    criteria: Sequence[Any],
    bonus: Any,
    discount: float = 0.9,
    state: int = 0,
    **options: Any,
) -> PlanCase:
    """Plan, and keep the plan with what it is from."""
    planner = Planner(bonus, list(criteria), discount, **options)
    return PlanCase.of(planner.plan(belief, state), belief, planner)


def far(belief: Belief) -> FloatArray:
    """Pay for being far along in the order of states."""
    model = belief.mean()
    return np.repeat(np.arange(model.states, dtype=float)[:, None], model.actions, axis=1)


def heights(shape: tuple[int, int] = (4, 4)) -> HeightBelief:
    """Heights of which one corner was seen."""
    look = Reveal(np.array([0, 1, shape[1]]), np.array([2, 2, 3]), 0)
    return HeightBelief(shape, walls=0.1).update(look)


def taught(shape: tuple[int, int] = (3, 4)) -> TerrainBelief:
    """Terrain on which a move worked and others failed, from a cell that was measured."""
    states = shape[0] * shape[1]
    variance = np.full(states, 0.5)
    variance[:2] = 1e-6
    belief = TerrainBelief(shape, np.linspace(0.0, 1.0, states), variance)
    for move in (Transition(0, 3, 1), Transition(0, 5, 0), Transition(1, 5, 1)):
        belief = belief.update(move)
    return belief


def every_belief() -> dict[str, Belief]:
    """Return one belief of each kind that is known."""
    rng = np.random.default_rng(1)
    general = rng.dirichlet(np.ones(3), (2, 3, 2)) * 0.9
    rows = np.array([[[5.0, 1.0, 0.0], [0.0, 3.0, 1.0]]] * 3)
    return {
        "moves": ridge(),
        "general": FiniteBelief([SparseMDP.from_dense(world) for world in general]),
        "dirichlet": DirichletBelief.independent(rows, np.ones((3, 2))),
        "heights": heights(),
        "terrain": draw_belief((6, 7), rng),
        "taught": taught(),
    }


def every_plan(name: str, **options: Any) -> PlanCase:
    """Plan with each kind of criterion at once on one of `every_belief`."""
    belief = every_belief()[name]
    model = belief.mean()
    inside = np.ones((model.states, model.actions), dtype=bool)
    inside[-1] = False
    criteria = [
        ReturnHome(0.6, 0),
        ReturnHome(0.3, 0, within=3),
        StayInside(inside, 0.5),
        EarnAtLeast(-1.0, np.ones((model.states, model.actions))),
    ]
    return made(belief, criteria, far, **options)
