"""Kinds of runs, by name: how a configuration becomes an explorer in a world.

A kind is found by its name, or as ``module:name`` wherever it can be imported. Names come from
the entry points of installed packages in the group ``homeward.kinds``, and from `register`, which
holds for one process.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Literal

from homeward.errors import InvalidInputError
from homeward.runs.config import Config
from homeward.runs.observations import Digest, check_types, encode
from homeward.runs.references import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from homeward.beliefs import Belief
    from homeward.planning.explorer import Loop
    from homeward.planning.planner import Planner
    from homeward.runs.log import Record
    from homeward.runs.manifest import Manifest
    from homeward.worlds import World


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """What an explorer needs to set out."""

    planner: Planner
    belief: Belief  # before the first look
    world: World  # answers the same to the same actions: its chances come from the seed alone
    limit: int  # steps
    strict: bool = False  # end with an error where no action keeps every level
    algorithm: Literal["rate", "paper"] = "rate"
    floor: float | None = None  # gain per step that ends a run, of the rate explorer

    def explorer(self) -> Loop:
        """Return an explorer that has not yet taken a step."""
        from homeward.planning.explorer import Explorer
        from homeward.planning.paper import PaperExplorer

        if self.algorithm == "paper":
            return PaperExplorer(self.planner, self.belief, self.world, strict=self.strict)
        return Explorer(self.planner, self.belief, self.world, strict=self.strict, floor=self.floor)


@dataclass(frozen=True, slots=True, eq=False)
class Ended:
    """A run that has come to its end, as those see it who write down what came of it."""

    directory: Path
    config: Config
    manifest: Manifest  # with how it ended
    setup: Setup  # with the world as the explorer left it
    belief: Belief  # the last
    records: Callable[[], Iterator[Record]]  # what was recorded, observations as JSON
    why: str = ""  # why it ended, in sentences


def as_it_is(config: Any) -> Any:
    """Write a configuration down as it was given."""
    return config


def no_products(ended: Ended) -> None:
    """Write nothing but the record."""


def no_fields(belief: Any, world: Any) -> dict[str, NDArray[Any]]:
    """Keep no arrays but the plan's own."""
    return {}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of run.

    Parameters
    ----------
    name
        What it is registered under.
    version
        Grows whenever the same configuration would give another run.
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
        From a checked configuration to the one that is written down when a run is made: what it
        names outside of the run is pinned, so that a change is noticed.
    products
        Writes into the run's folder what came of it, when it has ended and before it says so. It is
        called again if the process is killed there, so files must be put in place as a whole.
    digests
        Keep only a digest of each observation: for worlds that observe much.
    spacing
        Write down what the next plan starts from in one of so many steps at most; a run that is
        resumed plans again from there.
    """

    name: str
    version: int
    config: type[Config]
    make: Callable[[Any], Setup]
    observations: tuple[type, ...] = ()
    fields: Callable[[Any, Any], Mapping[str, NDArray[Any]]] = no_fields
    settle: Callable[[Any], Config] = as_it_is
    products: Callable[[Ended], None] = no_products
    digests: bool = False
    spacing: int = 1

    def __post_init__(self) -> None:
        if not self.name or ":" in self.name:
            raise InvalidInputError(f"{self.name!r} can't be the name of a kind of run")
        if not issubclass(self.config, Config):
            raise InvalidInputError(f"the config of {self.name} is no subclass of Config")
        if self.spacing < 1:
            raise InvalidInputError(
                f"the spacing of {self.name} is {self.spacing}, expected 1 or more"
            )
        check_types(self.observations)

    def written(self, observation: Any) -> Any:
        """Give an observation as JSON, as it is recorded: whole, or its digest."""
        kept = Digest.of(observation) if self.digests else observation
        return encode(kept, self.observations)


GROUP = "homeward.kinds"
"""The group of entry points that are kinds."""

_KINDS: dict[str, Kind] = {}  # those that this process registered


def register(kind: Kind) -> Kind:
    """Make a kind known by its name in this process; a name is given once."""
    if _KINDS.get(kind.name, kind) is not kind or kind.name in _installed():
        raise InvalidInputError(f"there is another kind of run named {kind.name}")
    _KINDS[kind.name] = kind
    return kind


def find_kind(name: str) -> Kind:
    """Find a kind by its registered name or as ``module:name``."""
    if name in _KINDS:
        return _KINDS[name]
    reference = _installed().get(name, name)
    if ":" not in reference:
        known = ", ".join(kind_names())
        raise InvalidInputError(
            f"there is no kind of run named {name!r}: known are {known}, and module:name"
        )
    kind = load(reference, "the kind of run")
    if not isinstance(kind, Kind):
        raise InvalidInputError(f"{reference} is a {type(kind).__name__}, not a kind of run")
    return kind


def kind_names() -> list[str]:
    """Return the names of all known kinds, sorted."""
    return sorted({*_KINDS, *_installed()})


@cache
def _installed() -> dict[str, str]:
    """Return the reference ``module:name`` of each kind that an installed package offers."""
    return {point.name: point.value for point in entry_points(group=GROUP)}
