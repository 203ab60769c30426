"""Scenes: what of a run can be drawn as a map, layer by layer.

Grid worlds of heights and rovers on terrain have a scene; other runs have none. A scene knows how
to put its world at any step of a recorded way, so that what was seen there can be seen again.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from homeward.beliefs.grid_graph import NAMES, STEPS
from homeward.beliefs.heights import TerrainBelief
from homeward.beliefs.levels import LEVELS, UNKNOWN, WALL, HeightBelief
from homeward.bonuses import InformationGain, Uncover
from homeward.kinds.rover.outputs import ROUGHLY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from homeward.arrays import BoolArray
    from homeward.replay.moment import Moment
    from homeward.runs import Setup

BELIEF, PLAN = "belief", "plan"
"""What a layer costs: nothing beyond the belief, or about what a plan does."""


class Scene(Protocol):
    """What of a run can be drawn."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        ...

    @property
    def cell(self) -> tuple[float, float] | None:
        """The height and the width of a cell in m, where it has some."""
        ...

    @property
    def layers(self) -> Sequence[dict[str, Any]]:
        """What can be drawn, as JSON values."""
        ...

    def place(self, state: int, steps: int) -> None:
        """Put the world where it was after so many steps."""
        ...

    def measure(self, observation: Any, belief: Any, before: float) -> float:
        """Give how much is known after an observation, if it was `before` that much."""
        ...

    def maps(self, names: Sequence[str], moment: Moment) -> dict[str, NDArray[Any]]:
        """Give layers [R, C] by name."""
        ...


def scene_of(setup: Setup) -> Scene | None:
    """Give the scene of a run; None where nothing is to be drawn."""
    if isinstance(setup.belief, HeightBelief):
        return GridScene(setup)
    if isinstance(setup.belief, TerrainBelief):
        return TerrainScene(setup)
    return None


def layer(
    name: str, title: str, unit: str | None, scale: str, costs: str = BELIEF, **more: Any
) -> dict[str, Any]:
    """Give a layer as JSON values."""
    return {"name": name, "title": title, "unit": unit, "scale": scale, "costs": costs, **more}


def either(no: str, yes: str) -> list[dict[str, Any]]:
    """Give the categories of what is so or not."""
    return [{"value": 0, "title": no}, {"value": 1, "title": yes}]


SEEN = either("not yet seen", "seen")


def actions_of(setup: Setup) -> list[dict[str, Any]]:
    """Give the actions as JSON values: rows down and columns to the right, None where unknown."""
    model: Any = setup.belief.mean()
    names = model.action_names or tuple(f"action {a}" for a in range(model.actions))
    ways = dict(zip(NAMES, STEPS, strict=True))
    nowhere = (None, None)
    found = []
    for name in names:
        down, right = ways.get(name, nowhere)
        found.append({"name": name, "dr": down, "dc": right})
    return found


def shared_layers(setup: Setup, bonus: str, unit: str | None) -> list[dict[str, Any]]:
    """Give the layers that every map has; `bonus` says what the bonus counts, in `unit`."""
    asked = any(hasattr(c, "home") for c in setup.planner.criteria)
    whose = "chance of a way home" if asked else "chance of a way back to the start"
    layers = [
        layer("v", f"Proven {whose}", None, "probability", PLAN),
        layer("bonus", f"Bonus: {bonus}", unit, "sequential", PLAN),
        layer("success", "Chance of the surest move away", None, "probability", PLAN),
        layer(
            "visited", "Visited", None, "categorical", categories=either("not visited", "visited")
        ),
    ]
    if allowed_of(setup) is not None:
        inside = either("outside the set", "inside the set")
        layers.append(
            layer("kept", "The set to stay inside", None, "categorical", categories=inside)
        )
    return layers


def allowed_of(setup: Setup) -> BoolArray | None:
    """Give the cells [S] inside every set to stay inside; None where there is no such set."""
    inside: BoolArray | None = None
    for criterion in setup.planner.criteria:
        allowed = getattr(criterion, "allowed", None)
        if allowed is not None:
            cells = allowed if allowed.ndim == 1 else allowed.any(axis=1)
            inside = cells if inside is None else inside & cells
    return inside


class GridScene:
    """A grid world: heights 1 to 5, seen or not, and walls."""

    cell = None

    def __init__(self, setup: Setup) -> None:
        belief, world = setup.belief, setup.world
        assert isinstance(belief, HeightBelief)
        self.setup, self.world = setup, world
        self.shape = belief.shape
        self.heights: Any = world.grid.heights  # type: ignore[attr-defined]
        self._seen = np.zeros(self.heights.size, dtype=bool)
        mass = np.atleast_2d(belief.prior)
        bits = -np.where(mass > 0.0, mass * np.log2(np.where(mass > 0.0, mass, 1.0)), 0.0)
        self.entropy = bits.sum(axis=1)  # [1] or [S]
        steps = [{"value": h, "title": f"height {h}"} for h in range(1, LEVELS + 1)]
        heights = [{"value": WALL, "title": "wall"}, *steps]
        uncovers = isinstance(setup.planner.bonus, Uncover)
        bonus = "what it would uncover" if uncovers else "what there is to see"
        self.layers = [
            layer("height", "Height", None, "categorical", categories=heights),
            layer("uncertainty", "Entropy of the height", "bits", "sequential"),
            layer("seen", "Seen", None, "categorical", categories=SEEN),
            *shared_layers(setup, bonus, "squares" if uncovers else None),
            layer("truth", "True height", None, "categorical", categories=heights),
        ]

    def place(self, state: int, steps: int) -> None:
        """Put the explorer on a square."""
        self.world.state = state  # type: ignore[misc]

    def measure(self, observation: Any, belief: Any, before: float) -> float:
        """Give the fraction of all squares that were seen. To be asked step by step."""
        new = np.count_nonzero(~self._seen[observation.cells])
        self._seen[observation.cells] = True
        return before + new / self._seen.size

    def maps(self, names: Sequence[str], moment: Moment) -> dict[str, NDArray[Any]]:
        """Give layers [R, C] by name."""
        belief: Any = moment.belief
        known = belief.known
        found = _shared(names, moment, self.setup, known == WALL)
        for name in names:
            if name == "height":
                found[name] = np.where(known == UNKNOWN, np.nan, known)
            elif name == "uncertainty":
                found[name] = np.where(known == UNKNOWN, self.entropy, 0.0)
            elif name == "seen":
                found[name] = known != UNKNOWN
            elif name == "truth":
                found[name] = self.heights.astype(np.float64)
        return {name: found[name].reshape(self.shape) for name in names}


class TerrainScene:
    """Terrain: heights in m with their deviations; cells without data are blocked."""

    def __init__(self, setup: Setup) -> None:
        belief = setup.belief
        assert isinstance(belief, TerrainBelief)
        self.setup, self.world = setup, setup.world
        self.prior, self.shape = belief, belief.shape
        self.cell = belief.size
        self.blocked = belief.blocked
        gain = isinstance(setup.planner.bonus, InformationGain)
        bonus = "what a look would tell" if gain else "Σ variance / the sensor's, in its reach"
        self.layers = [
            layer("height", "Mean height", "m", "sequential"),
            layer("uncertainty", "Standard deviation of the height", "m", "sequential"),
            layer(
                "seen",
                f"Seen: known to within {100 * ROUGHLY:g} cm",
                None,
                "categorical",
                categories=SEEN,
            ),
            *shared_layers(setup, bonus, "nats" if gain else None),
            layer("truth", "True height", "m", "sequential"),
        ]

    def place(self, state: int, steps: int) -> None:
        """Put the rover in a cell, after so many steps."""
        self.world.state, self.world.steps = state, steps  # type: ignore[misc, attr-defined]

    def measure(self, observation: Any, belief: Any, before: float) -> float:
        """Give the entropy that was taken off the heights so far, in nats."""
        spread = self.prior.variance / belief.variance if not self.blocked.any() else None
        if spread is None:
            counted = ~self.blocked
            spread = self.prior.variance[counted] / belief.variance[counted]
        return 0.5 * float(np.log(spread).sum())

    def maps(self, names: Sequence[str], moment: Moment) -> dict[str, NDArray[Any]]:
        """Give layers [R, C] by name."""
        belief: Any = moment.belief
        found = _shared(names, moment, self.setup, self.blocked)
        for name in names:
            if name == "height":
                found[name] = np.where(self.blocked, np.nan, belief.height)
            elif name == "uncertainty":
                found[name] = np.where(self.blocked, np.nan, np.sqrt(belief.variance))
            elif name == "seen":
                found[name] = (belief.variance <= ROUGHLY**2) & ~self.blocked
            elif name == "truth":
                truth: Any = self.world.truth  # type: ignore[attr-defined]
                found[name] = np.where(self.blocked, np.nan, truth)
        return {name: found[name].reshape(self.shape) for name in names}


def _shared(
    names: Sequence[str], moment: Moment, setup: Setup, closed: BoolArray
) -> dict[str, NDArray[Any]]:
    """Give those layers [S] that every map has; nothing is said of where nobody can stand."""
    found: dict[str, NDArray[Any]] = {}
    for name in names:
        if name == "v":
            found[name] = np.where(closed, np.nan, moment.returns[1].value)
        elif name == "bonus":
            bonus = np.asarray(moment.planner.bonus(moment.belief)).max(axis=1)
            found[name] = np.where(closed, np.nan, bonus)
        elif name == "success":
            model = moment.model
            away = model.dest != np.arange(model.states)[:, None]
            found[name] = np.where(closed, np.nan, (model.success * away).max(axis=1))
        elif name == "visited":
            visited = np.zeros(len(closed), dtype=bool)
            visited[moment.path] = True
            found[name] = visited
        elif name == "kept":
            found[name] = np.asarray(allowed_of(setup))
    return found


def kept_maps(
    kind: str, fields: dict[str, NDArray[Any]], names: Sequence[str]
) -> dict[str, NDArray[Any]] | None:
    """Give layers of a run's last step from the arrays that it left; None if they do not do."""
    found: dict[str, NDArray[Any]] = {}
    if kind == "grid" and {"heights", "seen", "visited"} <= fields.keys():
        heights = fields["heights"].astype(np.float64)
        known = fields["seen"] | (heights == WALL)
        alike = math.log2(LEVELS)
        found = {
            "height": np.where(known, heights, np.nan),
            "uncertainty": np.where(known, 0.0, alike),
            "seen": known,
            "visited": fields["visited"],
            "truth": heights,
        }
    elif kind == "rover" and {"height", "deviation"} <= fields.keys():
        closed = fields["deviation"] == 0.0
        found = {
            "height": np.where(closed, np.nan, fields["height"]),
            "uncertainty": np.where(closed, np.nan, fields["deviation"]),
            "seen": (fields["deviation"] ** 2 <= ROUGHLY**2) & ~closed,
        }
    if not names or not set(names) <= found.keys():
        return None
    return {name: found[name] for name in names}
