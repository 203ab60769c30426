"""`Vehicle`: what a mission must know of the machine that drives, to read its reports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from homeward.errors import InvalidFileError, InvalidInputError
from homeward.runs.config import Config
from homeward.runs.kind import Setup

if TYPE_CHECKING:
    from homeward.beliefs import Belief, Transition
    from homeward.planning.explorer import WayHome
    from homeward.worlds.outside import Outside


class Vehicle(ABC):
    """A vehicle outside of the program, for one configuration."""

    unused_keys: ClassVar[tuple[str, ...]] = ("seed", "limit")
    """Keys of the configuration that only a simulated world needs."""

    needed_keys: ClassVar[tuple[str, ...]] = ()
    """Keys that a mission must give, since their defaults are for simulated worlds."""

    report_keys: ClassVar[tuple[str, ...]] = ()
    """Keys of a report that have measurements."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    """Suffixes of the files that `read` reads."""

    setup: Setup  # the setup of the mission, in which nothing is simulated
    world: Outside  # the world of `setup`, which answers an action with the report

    @abstractmethod
    def __init__(self, config: Any) -> None: ...

    @classmethod
    def settled(cls, config: Any) -> Config:
        """Return the configuration that a new mission records; raise if it is invalid."""
        config.check_use()
        complete: Config = config
        return complete

    @abstractmethod
    def state(self, position: Any) -> int:
        """Return the state of a reported position, a JSON value; raise if it has no state."""

    def measured(self, report: Mapping[str, Any]) -> Any:
        """Return the measurements in the keys `report_keys` of a report; raise if invalid."""
        return None

    def fingerprint(self, measured: Any) -> str | None:
        """Return a digest by which a repeated report is recognised, or None.

        Measurements with noise are never equal by chance, so equal digests mean the same report.
        """
        return None

    @abstractmethod
    def observation(
        self, measured: Any, moved: Transition | None, state: int, belief: Belief
    ) -> Any:
        """Return the observation in `state`, for `Belief.update`.

        `measured` is the result of the method `measured`, `moved` the transition of the action that
        was tried (None without an action), and `belief` the belief before the report.
        """

    def read(self, path: Path) -> dict[str, Any]:
        """Return the measurements in a file as keys of a report; by default, accept no file."""
        known = ", ".join((*self.suffixes, ".jsonl", ".json"))
        raise InvalidFileError(f"{path}: is not a file of reports: expected {known}")

    def line(self, state: int, other: int) -> list[list[float]] | None:
        """Return the map coordinates and heights [n, 3] of a move; None without a map."""
        return None

    def all_points(self) -> list[dict[str, Any]]:
        """Return the point at which each cell is measured, one dict per cell; [] without a map."""
        return []

    def on_map(self, ways: Sequence[WayHome]) -> dict[str, Any]:
        """Return ways home as ``geojson``, ``gpx`` and ``kml``.

        ``why_no_degrees`` says why ``gpx`` and ``kml`` are None.
        """
        why = "this kind has no map coordinates"
        return {"geojson": None, "gpx": None, "kml": None, "why_no_degrees": why}


def check_mission(vehicle: type[Vehicle], config: Config) -> None:
    """Raise if a configuration of a kind can't be that of a mission."""
    for key in vehicle.unused_keys:
        field = type(config).model_fields.get(key)
        if field is not None and getattr(config, key) != field.default:
            raise InvalidInputError(
                f"{key} is for simulated worlds; a mission simulates nothing: remove it"
            )
    if config.agent is not None:
        raise InvalidInputError(
            f"agent is {config.agent}, but a mission needs Homeward's own agent: remove agent"
        )
    if getattr(config, "algorithm", "rate") != "rate":
        raise InvalidInputError(
            "algorithm is paper, whose promise is for a single plan; a mission needs rate"
        )
    for key in vehicle.needed_keys:
        if key not in config.model_fields_set:
            raise InvalidInputError(
                f"{key} is missing: a mission needs your own {key}, such as --{key} FILE"
            )


def need(value: Any, kind: type | tuple[type, ...], what: str, expected: str) -> Any:
    """Return `value` if its type is `kind`, and not bool; otherwise raise.

    The message says that `what` has this value, and that `expected` was expected.
    """
    if not isinstance(value, kind) or isinstance(value, bool):
        shown = repr(value)
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        raise InvalidInputError(f"{what} is {shown}, expected {expected}")
    return value


def cell_of(position: Any, shape: tuple[int, int]) -> int:
    """Return the state of a position [row, column] or "ROW,COL" on a grid; raise if invalid."""
    expected = "[row, column], counted from 0"
    if isinstance(position, str):
        parts: Any = position.split(",")
        if len(parts) != 2 or not all(p.strip().isdecimal() and len(p) < 10 for p in parts):
            raise InvalidInputError(f"the position is {position[:40]!r}, expected ROW,COL")
        position = [int(part) for part in parts]
    need(position, list, "the position", expected)
    if len(position) != 2:
        raise InvalidInputError(f"the position has {len(position)} numbers, expected {expected}")
    row, column = (need(part, int, "the position", expected) for part in position)
    if not (0 <= row < shape[0] and 0 <= column < shape[1]):
        raise InvalidInputError(
            f"row {row}, column {column} is off the map of {shape[0]} rows and {shape[1]} columns"
        )
    state: int = row * shape[1] + column
    return state
