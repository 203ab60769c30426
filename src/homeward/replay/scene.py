"""The map layers of a run.

Each kind passes its own layers to `Scene`. `Scene` adds the layers that every map has: the bound on
returning home, the bonus, the safest move, the visited cells and the set to stay inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from homeward.arrays import BoolArray
from homeward.beliefs.grid_graph import NAMES, STEPS
from homeward.models import Moves
from homeward.replay.moment import Moment
from homeward.runs import Setup

BELIEF, PLAN = "belief", "plan"  # computing a layer takes about as long as this


class Layer(NamedTuple):
    """One map layer: its description as JSON values, and a function that returns its values [S]."""

    facts: dict[str, Any]
    values: Callable[[Moment], NDArray[Any]]


def layer(
    name: str,
    title: str,
    unit: str | None,
    scale: str,
    values: Callable[[Moment], NDArray[Any]],
    costs: str = BELIEF,
    **more: Any,
) -> Layer:
    """Return a layer; `scale` is "sequential", "probability" or "categorical"."""
    facts = {"name": name, "title": title, "unit": unit, "scale": scale, "costs": costs, **more}
    return Layer(facts, values)


def mask_layer(
    name: str, title: str, no: str, yes: str, values: Callable[[Moment], NDArray[Any]]
) -> Layer:
    """Return the layer of a mask, with a label for each of its two values."""
    categories = [{"value": 0, "title": no}, {"value": 1, "title": yes}]
    return layer(name, title, None, "categorical", values, categories=categories)


class Profile(NamedTuple):
    """The ground along a path over cells, as JSON values."""

    distance: list[float]  # [n] m along the path; moves if the map has no scale
    height: list[float | None]  # [n] None where it is not known
    slopes: list[dict[str, float | None] | None]  # per move: steepest up, down and to the side, in
    # degrees; None if the map has no scale or a height is not known


class Scene:
    """The map layers of a run.

    Parameters
    ----------
    shape
        Rows and columns of the map.
    known, truth
        Layers of the belief, and layers of the true world.
    bonus
        Label of the bonus, and its unit.
    closed
        Function to the mask [S] of the cells that can't be entered.
    measure
        Function from an observation, the belief after it and the previous result to how much is
        known. It is called once per step, in order.
    place
        Function that puts the world into a state after a number of steps, so that the world repeats
        its observations. If it is None, the recorded observations are used.
    cell
        Height and width of a cell in m; None if the map has no scale.
    profile
        Function from the cells of a path to its profile. By default it consists of the values of
        the layer ``height``, from cell centre to cell centre.
    targets
        Cells to visit.
    """

    def __init__(
        self,
        setup: Setup,
        shape: tuple[int, int],
        known: Iterable[Layer],
        truth: Iterable[Layer],
        bonus: tuple[str, str | None],
        closed: Callable[[Moment], BoolArray],
        measure: Callable[[Any, Any, float], float],
        place: Callable[[int, int], None] | None = None,
        cell: tuple[float, float] | None = None,
        profile: Callable[[Sequence[int]], Profile] | None = None,
        targets: Sequence[int] = (),
    ) -> None:
        self.setup, self.shape, self.cell, self._profile = setup, shape, cell, profile
        self.targets = list(dict.fromkeys(targets))
        self.closed, self.measure, self.place = closed, measure, place
        self._layers = {
            each.facts["name"]: each for each in (*known, *self._shared(*bonus), *truth)
        }

    @property
    def layers(self) -> list[dict[str, Any]]:
        """Descriptions of the layers, as JSON values."""
        return [each.facts for each in self._layers.values()]

    def maps(self, names: Sequence[str], moment: Moment) -> dict[str, NDArray[Any]]:
        """Return layers [R, C] by name."""
        return {
            name: np.asarray(self._layers[name].values(moment)).reshape(self.shape)
            for name in names
        }

    def profile(self, moment: Moment, path: Sequence[int]) -> Profile | None:
        """Return the profile of a path over cells at a moment; None if there are no heights."""
        if self._profile is not None:
            return self._profile(path)
        if "height" not in self._layers:
            return None
        cells = np.asarray(path)
        places = np.column_stack(np.divmod(cells, self.shape[1])) * (self.cell or (1.0, 1.0))
        lengths = np.linalg.norm(np.diff(places, axis=0), axis=1)
        if self.cell is None:
            lengths = np.ones(len(path) - 1)
        height = np.asarray(self._layers["height"].values(moment), np.float64).ravel()[cells]
        slopes: list[dict[str, float | None] | None] = []
        for rise, length in zip(np.diff(height), lengths, strict=True):
            slope = float(np.degrees(np.arctan(rise / length)))
            known = self.cell is not None and np.isfinite(slope)
            up, down = max(slope, 0.0), max(-slope, 0.0)
            slopes.append({"up": up, "down": down, "side": None} if known else None)
        distance = [0.0, *np.cumsum(lengths).tolist()]
        return Profile(distance, [h if np.isfinite(h) else None for h in height.tolist()], slopes)

    def _shared(self, bonus: str, unit: str | None) -> list[Layer]:
        """Return the layers that every map has."""
        has_home = any(hasattr(c, "home") for c in self.setup.planner.criteria)
        goal = "return home" if has_home else "return to the start"

        def costly(
            name: str, title: str, unit: str | None, values: Callable[[Moment], NDArray[Any]]
        ) -> Layer:
            """Return a layer that takes about as long as a plan; it is NaN on closed cells."""
            scale = "sequential" if name == "bonus" else "probability"
            shown = lambda m: np.where(self.closed(m), np.nan, values(m))  # noqa: E731
            return layer(name, title, unit, scale, shown, PLAN)

        layers = [
            costly("v", f"Proven probability to {goal}", None, lambda m: m.returns[1].value),
            costly(
                "bonus",
                f"Bonus: {bonus}",
                unit,
                lambda m: np.asarray(m.planner.bonus(m.belief)).max(axis=1),
            ),
            costly("success", "Success probability of the safest move", None, _surest_move),
            mask_layer("visited", "Visited", "not visited", "visited", _visited),
        ]
        inside = allowed_of(self.setup)
        if inside is not None:
            title, no, yes = "The set to stay inside", "outside the set", "inside the set"
            layers.append(mask_layer("kept", title, no, yes, lambda moment: np.asarray(inside)))
        return layers


def _surest_move(moment: Moment) -> NDArray[Any]:
    """Return for each state [S] the largest probability, over actions, of leaving the state."""
    model = moment.model
    states, shape = np.arange(model.states), (model.states, model.actions)
    leaves: NDArray[Any]
    if isinstance(model, Moves):
        leaves = model.success * (model.dest != states[:, None])
    else:
        rows = model.sparse().transitions
        stays = rows[np.arange(rows.shape[0]), np.repeat(states, model.actions)]
        leaves = np.asarray(rows.sum(axis=1)).reshape(shape) - np.asarray(stays).reshape(shape)
    largest: NDArray[Any] = leaves.max(axis=1)
    return largest


def _visited(moment: Moment) -> BoolArray:
    """Return the mask [S] of the states on the path."""
    visited = np.zeros(moment.model.states, dtype=bool)
    visited[moment.path] = True
    return visited


def actions_of(setup: Setup) -> list[dict[str, Any]]:
    """Return each action as JSON values: its name, and its move in rows `dr` and columns `dc`.

    Rows count down, columns to the right. Both are None without a map.
    """
    model: Any = setup.belief.mean()
    names = model.action_names or tuple(f"action {a}" for a in range(model.actions))
    moves: dict[str, Any] = dict(zip(NAMES, STEPS, strict=True))
    moves |= {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1), "wait": (0, 0)}
    rows = ((name, *moves.get(name, (None, None))) for name in names)
    return [{"name": name, "dr": down, "dc": right} for name, down, right in rows]


def allowed_of(setup: Setup) -> BoolArray | None:
    """Return the mask [S] of cells that every criterion allows; None if all cells are allowed."""
    inside: BoolArray | None = None
    for criterion in setup.planner.criteria:
        allowed = getattr(criterion, "allowed", None)
        if allowed is not None:
            cells = allowed if allowed.ndim == 1 else allowed.any(axis=1)
            inside = cells if inside is None else inside & cells
    return inside
