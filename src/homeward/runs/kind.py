"""Kinds of runs, and their registry by name.

A kind is found by its registered name, or imported as ``module:name``. Installed packages register
names by entry points in the group ``homeward.kinds``; `register` adds a name in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from homeward.agents.setup import Setup as Setup
from homeward.errors import InvalidInputError
from homeward.registry import find, installed
from homeward.registry import load as load
from homeward.runs.config import Config
from homeward.runs.observation_codec import MARKS, Digest, encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from homeward.beliefs import Belief
    from homeward.planning.promise import RunState
    from homeward.runs.log import Record
    from homeward.runs.manifest import Manifest
    from homeward.runs.run import Run
    from homeward.runs.vehicle import Vehicle


MAX_CELLS = 4_000_000  # maximum number of cells of a map in a run that a page starts
ENTRY_POINTS = "homeward.kinds"  # group of the entry points that name kinds


@dataclass(frozen=True, slots=True, eq=False)
class Ended:
    """A finished run, for the functions that write its outputs."""

    directory: Path
    config: Config
    manifest: Manifest  # final, with `end` set
    setup: Setup  # its world is in the final state
    belief: Belief  # after the last observation
    records: Callable[[], Iterator[Record]]  # yields the recorded steps, observations as JSON
    why: str = ""  # sentences on why the run ended
    run_state: RunState | None = (
        None  # promises and proposal at the end; None for the paper's Algorithm 1
    )
    levels: tuple[Mapping[str, Any], ...] = ()  # levels that were tried, see `levels.Tried`


class Location(NamedTuple):
    """Where the cells of a run's map are."""

    transform: tuple[float, ...]  # affine, from column and row to map coordinates
    crs: str | None  # name of the coordinate reference system
    has_degrees: bool  # whether map coordinates convert to longitudes and latitudes


class Metrics(NamedTuple):
    """Measures of a run for a comparison of agents; the agent does not know them."""

    unit: str  # unit of the gain, in the plural
    gain: Callable[[Any], float]  # returns the total gain so far, in `unit`, from a belief
    home: Callable[[], float]  # returns the largest probability of coming home in the true world


@dataclass(frozen=True, slots=True)
class Form:
    """What a page may set for a new run.

    Parameters
    ----------
    keys
        Keys of the configuration that a client may set; only keys in `files` may name a file.
    files
        Keys whose value is a file, each with the names that a client may give instead of its own
        upload.
    of_the_file
        For each key in `files`: the keys whose values an uploaded file contains. The client's
        values of these keys are ignored.
    check
        Raises `InvalidInputError` for a configuration that is too large for a page.
    safe, unsafe
        Values that make the explorer of a configuration safe or unsafe.
    promises
        Keys of safety criteria, which the unsafe explorer does not accept.
    preview
        Function from a configuration to maps [R, C] by name, and their description as JSON values.
    preview_keys
        Keys that the preview depends on.
    defaults
        Function from a configuration that names a file, and sets nothing else, to the values that a
        run uses for keys whose default depends on the file.
    """

    keys: tuple[str, ...]
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    of_the_file: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    check: Callable[[Any], None] | None = None
    safe: Mapping[str, Any] = field(default_factory=dict)
    unsafe: Mapping[str, Any] = field(default_factory=dict)
    promises: tuple[str, ...] = ()
    preview: Callable[[Any], tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]] | None = None
    preview_keys: tuple[str, ...] = ()
    defaults: Callable[[Any], Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of run: functions to set it up, record it, draw it and show it on a page.

    Parameters
    ----------
    name
        Name in the registry.
    version
        Increases whenever the same configuration would give a different run.
    config
        Subclass of `Config` that validates configurations.
    make
        Function from a valid configuration to a `Setup`; it must be deterministic.
    observations
        Dataclasses of the observations of its worlds.
    fields
        Function from the final belief and the world to arrays that are stored when the run ends. A
        run of the paper's algorithm also stores ``outbound`` [J, S], the policies of its last plan.
    settle
        Function from a valid configuration to the configuration that a new run records. It pins
        files outside the run by digest, so that a change is noticed.
    products
        Writes the outputs of the kind into the folder of a run, before the run's status becomes
        finished. If the process is killed meanwhile, the next session calls it again, so it must
        write each file atomically.
    digests
        Whether to record only a digest of each observation, for worlds with large observations.
    spacing
        Minimum number of steps between two recorded warm starts. A resumed run plans the steps
        since the last recorded warm start again.
    title, description
        Name and one-line description for people.
    metrics
        Function from a configuration and its setup to the `Metrics` of a comparison. By default
        visited states are counted, and a run can come home until the world ends it.
    draw
        Writes a picture of a run, up to its last step, to a file.
    film
        Writes a film of a run to a file, .gif or .mp4.
    live
        Function from a valid configuration to a function of the explorer, which returns texts on
        the progress of the run and a map for a terminal ("" if there is no map).
    write_ways
        Writes the ways home after a step of a run to a file, and returns their number. If the step
        is None, it writes the ways home after every step.
    scene
        Function from a configuration and its setup to the `homeward.replay.Scene` with its map
        layers.
    kept_layers
        Function from the stored arrays of a finished run to the layers [R, C] that they determine.
    outcome
        Function from the folder of a finished run to a dict: ``stranded`` (whether no way home
        exists in the true world), ``trapped_at`` (number of steps after which no way home existed,
        or None) and ``seen`` (share of the map that was seen, or None). It returns {} if these were
        not recorded.
    shape
        Function from a configuration as JSON values to rows and columns; it returns None if they
        take long to compute. The field ``height`` of a finished run takes precedence.
    located
        Function from a valid configuration to where the cells of its map are.
    form
        What a page may set for a new run; None if a page can't start runs of this kind.
    demo
        Configurations by name of run; a page creates these runs in an empty folder.
    vehicle
        Reference ``module:name`` of the subclass of `Vehicle` for missions; None if there are no
        missions of this kind.
    """

    name: str
    version: int
    config: type[Config]
    make: Callable[[Any], Setup]
    observations: tuple[type, ...] = ()
    fields: Callable[[Any, Any], Mapping[str, NDArray[Any]]] | None = None
    settle: Callable[[Any], Config] | None = None
    products: Callable[[Ended], None] | None = None
    digests: bool = False
    spacing: int = 1
    title: str = ""
    description: str = ""
    metrics: Callable[[Any, Setup], Metrics] | None = None
    draw: Callable[[Run, Path], None] | None = None
    film: Callable[[Run, Path], None] | None = None
    live: Callable[[Any], Callable[[Any], tuple[list[str], str]]] | None = None
    write_ways: Callable[[Run, int | None, Path], int] | None = None
    scene: Callable[[Any, Setup], Any] | None = None
    kept_layers: Callable[[Mapping[str, NDArray[Any]]], dict[str, NDArray[Any]]] | None = None
    outcome: Callable[[Path], Mapping[str, Any]] | None = None
    shape: Callable[[Mapping[str, Any]], tuple[int, int] | None] | None = None
    located: Callable[[Any], Location] | None = None
    form: Form | None = None
    demo: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    vehicle: str | None = None

    def __post_init__(self) -> None:
        if not self.name or ":" in self.name:
            raise InvalidInputError(f"{self.name!r} can't be the name of a kind of run")
        if not issubclass(self.config, Config):
            raise InvalidInputError(f"the config of {self.name} is not a subclass of Config")
        if self.spacing < 1:
            raise InvalidInputError(
                f"the spacing of {self.name} is {self.spacing}, expected 1 or more"
            )
        names = [getattr(kind, "__name__", "") for kind in self.observations]
        for kind, name in zip(self.observations, names, strict=True):
            if not (isinstance(kind, type) and is_dataclass(kind)):
                raise InvalidInputError(f"{kind!r} is not a dataclass, so it can't be recorded")
            if name in MARKS:
                raise InvalidInputError(
                    f"an observation class can't be named {name}, which the log uses"
                )
            if names.count(name) > 1:
                raise InvalidInputError(f"two observations are named {name}")

    def set_up(self, config: Config) -> Setup:
        """Return the setup of a valid configuration, with the agent that it names."""
        setup = self.make(config)
        if config.agent is None:
            return setup
        from homeward.agents.catalogue import find_agent

        return replace(setup, agent=find_agent(config.agent), seed=config.seed)

    def written(self, observation: Any) -> Any:
        """Return the JSON value that is recorded for an observation, which may be its digest."""
        recorded = Digest.of(observation) if self.digests else observation
        return encode(recorded, self.observations)

    def vehicle_class(self) -> type[Vehicle]:
        """Return the class of the vehicles of missions; raise if the kind has no missions."""
        if self.vehicle is None:
            raise InvalidInputError(f"there are no missions of the kind {self.name}")
        vehicle: type[Vehicle] = load(self.vehicle, f"the vehicle of {self.name}")
        return vehicle


_KINDS: dict[str, Kind] = {}  # kinds that this process registered


def register(kind: Kind) -> Kind:
    """Register a kind by its name in this process; raise if the name is already in use."""
    if _KINDS.get(kind.name, kind) is not kind or kind.name in installed_kinds():
        raise InvalidInputError(f"another kind of run is already named {kind.name}")
    _KINDS[kind.name] = kind
    return kind


def find_kind(name: str) -> Kind:
    """Return a kind by its registered name or as ``module:name``."""
    kind = find(name, _KINDS, installed_kinds(), "kind of run")
    if not isinstance(kind, Kind):
        raise InvalidInputError(f"{name} is a {type(kind).__name__}, not a kind of run")
    return kind


def kind_names() -> list[str]:
    """Return the names of all known kinds, sorted."""
    return sorted({*_KINDS, *installed_kinds()})


@cache
def installed_kinds() -> dict[str, str]:
    """Return the reference ``module:name`` of each kind that an installed package offers."""
    return installed(ENTRY_POINTS)
