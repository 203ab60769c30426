"""Kinds of runs, by name.

A kind is found by its name, or as ``module:name`` wherever it can be imported. Names come from
the entry points of installed packages in the group ``homeward.kinds``, and from `register`, which
holds for one process.
"""

from __future__ import annotations

from dataclasses import dataclass, field, is_dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Literal

from homeward.errors import InvalidInputError
from homeward.runs.config import Config
from homeward.runs.observations import MARKS, Digest, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from homeward.beliefs import Belief
    from homeward.planning.explorer import Loop
    from homeward.planning.planner import Planner
    from homeward.runs.log import Record
    from homeward.runs.manifest import Manifest
    from homeward.runs.run import Run
    from homeward.worlds import World


MAX_CELLS = 4_000_000
"""Maximum number of cells of a map that is explored from a page."""

ENTRY_POINTS = "homeward.kinds"
"""The group of entry points that are kinds."""


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """All that an explorer needs to start."""

    planner: Planner
    belief: Belief  # before the first observation
    world: World  # deterministic given the actions: random numbers come from the seed alone
    limit: int  # steps
    strict: bool = False  # raise if no action keeps every level
    algorithm: Literal["rate", "paper"] = "rate"
    floor: float | None = None  # gain per step below which the rate explorer ends

    def explorer(self) -> Loop:
        """Return an explorer that has not yet taken a step."""
        from homeward.planning.explorer import Explorer
        from homeward.planning.paper import PaperExplorer

        if self.algorithm == "paper":
            return PaperExplorer(self.planner, self.belief, self.world, strict=self.strict)
        return Explorer(self.planner, self.belief, self.world, strict=self.strict, floor=self.floor)


@dataclass(frozen=True, slots=True, eq=False)
class Ended:
    """A finished run, for the functions that write its outputs."""

    directory: Path
    config: Config
    manifest: Manifest  # with the end
    setup: Setup  # with the world as the explorer left it
    belief: Belief  # the last
    records: Callable[[], Iterator[Record]]  # what was recorded, observations as JSON
    why: str = ""  # why it ended, in sentences


@dataclass(frozen=True, slots=True)
class Form:
    """What a page may set for a new run.

    Parameters
    ----------
    keys
        Keys of the configuration that a client may set; only those of `files` may name a file.
    files
        Keys whose value is a file: the client gives an upload of its own, or one of these names.
    of_the_file
        Keys that are read from an uploaded file.
    check
        Raises `InvalidInputError` for a configuration that is too large for a page.
    safe, unsafe
        Values that turn a configuration into that of a safe or an unsafe explorer.
    promises
        Keys that the unsafe explorer does not take.
    preview
        From a configuration to maps [R, C] by name, and their description as JSON values.
    preview_keys
        The keys that a preview depends on.
    """

    keys: tuple[str, ...]
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    of_the_file: tuple[str, ...] = ()
    check: Callable[[Any], None] | None = None
    safe: Mapping[str, Any] = field(default_factory=dict)
    unsafe: Mapping[str, Any] = field(default_factory=dict)
    promises: tuple[str, ...] = ()
    preview: Callable[[Any], tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]] | None = None
    preview_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of run: how to make, record, draw, serve and certify it.

    Parameters
    ----------
    name
        Name in the registry.
    version
        Increases whenever the same configuration would give another run.
    config
        The model that configurations are checked against, a subclass of `Config`.
    make
        From a checked configuration to a `Setup`; the same one for the same configuration.
    observations
        The dataclasses that its worlds' observations are made of.
    fields
        From the last belief and the world to arrays that are kept when the run ends, beside
        ``outbound`` [J, S], the last plan's policies.
    settle
        From a checked configuration to the one that is written when a run is made: files outside of
        the run are pinned by digest, so that a change is noticed.
    products
        Writes the kind's outputs into the run's folder, before its status becomes ended. It is
        called again if the process is killed meanwhile, so each file must be written atomically.
    digests
        Record only a digest of each observation: for worlds with large observations.
    spacing
        Least number of steps between two recorded warm starts; a run that is resumed plans again
        from the last one.
    title, description
        Name and one-line description for people.
    draw
        Writes a picture of a run, up to its last step, to a file.
    film
        Writes a film of a run to a file, .gif or .mp4.
    live
        From a checked configuration to a function from the explorer of a run in progress to texts
        on what it knows, and a map for a terminal, "" if there is none.
    scene
        From a setup to the `homeward.replay.Scene` with its maps.
    kept_layers
        From the arrays of a finished run to the layers [R, C] that need nothing else.
    shape
        From a configuration as JSON values to rows and columns; None if they take long to compute.
        A field ``height`` of a finished run overrides it.
    form
        What a page may set for a new run; None if it can't make one.
    demo
        Configurations by the name of a run: a page makes these runs where there are none.
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
    draw: Callable[[Run, Path], None] | None = None
    film: Callable[[Run, Path], None] | None = None
    live: Callable[[Any], Callable[[Any], tuple[list[str], str]]] | None = None
    scene: Callable[[Setup], Any] | None = None
    kept_layers: Callable[[Mapping[str, NDArray[Any]]], dict[str, NDArray[Any]]] | None = None
    shape: Callable[[Mapping[str, Any]], tuple[int, int] | None] | None = None
    form: Form | None = None
    demo: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

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
                raise InvalidInputError(f"an observation can't be named {name}")
            if names.count(name) > 1:
                raise InvalidInputError(f"two observations are named {name}")

    def written(self, observation: Any) -> Any:
        """Return an observation as JSON, as it is recorded: whole, or its digest."""
        kept = Digest.of(observation) if self.digests else observation
        return encode(kept, self.observations)


_KINDS: dict[str, Kind] = {}  # those that this process registered


def register(kind: Kind) -> Kind:
    """Make a kind known by its name in this process; a name can be given once."""
    if _KINDS.get(kind.name, kind) is not kind or kind.name in installed_kinds():
        raise InvalidInputError(f"there is another kind of run named {kind.name}")
    _KINDS[kind.name] = kind
    return kind


def find_kind(name: str) -> Kind:
    """Return a kind by its registered name or as ``module:name``."""
    if name in _KINDS:
        return _KINDS[name]
    reference = installed_kinds().get(name, name)
    if ":" not in reference:
        known = ", ".join(kind_names())
        raise InvalidInputError(
            f"there is no kind of run named {name!r}: expected one of {known}, or module:name"
        )
    kind = load(reference, "the kind of run")
    if not isinstance(kind, Kind):
        raise InvalidInputError(f"{reference} is a {type(kind).__name__}, not a kind of run")
    return kind


def load(reference: str, what: str) -> Any:
    """Import what ``module:name`` refers to; `what` says what it should be."""
    module, colon, name = reference.partition(":")
    if not (module and colon and name):
        raise InvalidInputError(f"{what} is {reference!r}, expected module:name")
    try:
        found = import_module(module)
    except Exception as cause:
        raise InvalidInputError(
            f"{what} {reference!r}: {module} can't be imported: {type(cause).__name__}: {cause}"
        ) from cause
    try:
        return getattr(found, name)
    except AttributeError:
        raise InvalidInputError(f"{what} {reference!r}: {module} has no {name}") from None


def kind_names() -> list[str]:
    """Return the names of all known kinds, sorted."""
    return sorted({*_KINDS, *installed_kinds()})


@cache
def installed_kinds() -> dict[str, str]:
    """Return the reference ``module:name`` of each kind that an installed package offers."""
    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}
