"""Promises of a run: the configuration keys of its safety criteria, and the criteria themselves.

With the default algorithm, δ holds for the whole run and home is the start. The paper's Algorithm 1
keeps δ in each plan; only this algorithm allows the current state as home, and a recall at a fixed
step. Keys that are not set are not recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, get_args

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from homeward.agents.catalogue import find_agent
from homeward.agents.setup import ActingAgent, PlanningAgent
from homeward.arrays import BoolArray
from homeward.bonuses import NearBayesian, RMax
from homeward.criteria import (
    Criterion,
    Home,
    Limit,
    ReturnHome,
    StayInside,
)
from homeward.errors import InvalidInputError
from homeward.runs.config import STEPS, Config, Named, Option, is_asked
from homeward.words import at_least

Algorithm = Literal["rate", "paper"]  # one level for the whole run, or the paper's Algorithm 1

Level = Annotated[float, Field(gt=0.0, le=1.0)]
Count = Annotated[int, Field(ge=1)]
Row = Annotated[int, Field(ge=0)]
CAN_COME_HOME = "Least probability that the explorer can return home at any recall."
Delta = Annotated[Level, Field(title="δ", description=CAN_COME_HOME)]
GOES_ON = "With --algorithm paper: γ, the probability that exploration goes on after a step."
Discount = Annotated[float, Field(title="Discount γ", gt=0.0, lt=1.0, description=GOES_ON)]
StepLimit = Annotated[
    int, Field(title="Maximum steps", ge=0, description="Maximum number of steps.")
]


def cell_from_text(value: Any) -> Any:
    """Return the row and column of a text such as ``4,7``; return other values, lists as tuples."""
    if not isinstance(value, str):
        return tuple(value) if isinstance(value, list) else value
    try:
        row, column = (int(part) for part in value.split(","))
    except ValueError:
        raise ValueError(f"{value!r} is not ROW,COL or map:X,Y") from None
    if min(row, column) < 0:
        raise ValueError(f"{value!r} is off the map: rows and columns are counted from 0")
    return row, column


Cell = Annotated[tuple[Row, Row], BeforeValidator(cell_from_text)]
"""A row and a column, both from 0; the text ``ROW,COL`` is converted."""

CRITERION_KEYS = (
    *("back_within", "back_within_delta", "keep_in", "keep_in_delta"),
    *("bases", "each_base", "recall", "distance", "energy"),
)
"""Keys of additional criteria; without a value they have no effect."""

LEVELLESS = ("unsafe", "uncover")  # names of the explorer that only lacks the safety level

SAFE_KEYS = ("delta", "correction", "home", *(name for name in CRITERION_KEYS if name != "recall"))
"""Keys that only an explorer with a safety level accepts."""


class Promise(NamedTuple):
    """Name and level of a criterion that a run promises to meet."""

    name: str
    level: float

    def __str__(self) -> str:
        return f"“{self.name}” at {self.level:g}"


class AgentConfig(Config):
    """A configuration that names its agent by `agent`, or by `explorer` and `algorithm`."""

    @classmethod
    def spelled(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return values with `agent` replaced by `explorer` and `algorithm`, if possible.

        So runs of the same agent have the same record, whichever keys name the agent.
        """
        if not isinstance(values.get("agent"), str):
            return values
        agent, fields = find_agent(values["agent"]), cls.model_fields
        keys = [key for key in ("explorer", "algorithm") if key in fields]
        implied = {"algorithm": "paper" if agent.paper else "rate"}
        for key in keys:
            default = fields[key].default
            if values.get(key, default) not in (default, implied.get(key)):
                raise InvalidInputError(f"agent and {key} exclude each other: choose one")
        for choice in product(*(get_args(fields[key].annotation) for key in keys)):
            chosen = dict(zip(keys, choice, strict=True))
            if agent_of(**chosen) == agent:
                return {k: v for k, v in values.items() if k != "agent"} | chosen
        return {**values, **implied}

    def explores_with(self) -> PlanningAgent | ActingAgent:
        """Return the agent named by the key `agent`, or else by `explorer` and `algorithm`."""
        if self.agent is not None:
            return find_agent(self.agent)
        return agent_of(getattr(self, "algorithm", "rate"), getattr(self, "explorer", "safe"))


# fmt: off
class SafeConfig(AgentConfig):
    """Keys of the safety criteria; a kind with an area to keep in adds `keep_in`."""

    unset_keys: ClassVar = ("agent", *CRITERION_KEYS)
    promise_keys: ClassVar = (*SAFE_KEYS, "floor")

    delta: Delta = 0.98
    algorithm: Annotated[Algorithm, Field(
        description="rate: go where the gain per step is largest, and keep the level over the "
        "whole run. paper: Algorithm 1 of the paper, which keeps the level in each plan.")] = "rate"
    floor: Annotated[Annotated[float, Field(ge=0.0)] | None, Field(
        title="Minimum rate", description="End when no destination gains this much per step."),
        Option(unset="0.05 nats, or 0.001 squares")] = None
    home: Annotated[Literal["current", "start"], Field(
        description="Where to return to: start, or current (the cell from which each plan "
        "starts), which needs --algorithm paper.")] = "start"
    back_within: Annotated[Count | None, Field(
        title="Home within", json_schema_extra=STEPS,
        description="Also be able to return home within this number of steps after a recall."),
        Option(form="STEPS")] = None
    back_within_delta: Annotated[Level | None, Field(
        description="Probability required for --back-within."), Option(unset="as --delta")] = None
    keep_in_delta: Annotated[Level | None, Field(
        description="With --algorithm paper: probability required for --keep-in. The default "
        "algorithm never leaves the area."), Option(unset="as --delta")] = None
    bases: Annotated[tuple[Cell, ...], Field(
        description="A base to return to, instead of home. With several bases, the explorer must "
        "be able to return to one of them."), Option("base", form="ROW,COL")] = ()
    each_base: Annotated[bool, Field(
        description="Be able to return to each base, not just to one of them.")] = False
    recall: Annotated[Count | None, Field(
        title="Recall after", json_schema_extra=STEPS,
        description="With --algorithm paper: plan for a recall after exactly this many steps."),
        Option(form="STEPS", unset="at any step")] = None

    # fmt: on
    @model_validator(mode="after")
    def _fits_together(self, info: ValidationInfo) -> Self:
        values = {name: getattr(self, name) for name in type(self).model_fields if name != "delta"}
        fault = misfit(values, self.has_no_criterion(), naming(info))
        if fault is not None:
            raise ValueError(fault)
        return self

    def has_no_criterion(self) -> bool:
        """Return whether the agent keeps no safety criterion."""
        return not self.explores_with().safe

    @property
    def explorer_name(self) -> str:
        """Display name of `agent` if it is given, otherwise of the explorer."""
        return self.agent or str(getattr(self, "explorer", "safe"))

    def promises(self) -> tuple[Promise, ...]:
        """Return the name and level of each criterion, in the planner's order."""
        if self.has_no_criterion():
            return ()
        homes = [f"return to base {row},{column}" for row, column in self.bases]
        if len(homes) > 1 and not self.each_base:
            homes = [f"return to any of {len(homes)} bases"]
        elif not homes:
            homes = ["return home" if self.home == "current" else "return to the start"]
        limits = self.run_limits()
        if limits:
            steps = [] if self.back_within is None else [f"{self.back_within} steps"]
            amounts = " and ".join([*steps, *(f"{limit} in all" for limit in limits)])
            homes = [f"{home} within {amounts}" for home in homes]
        promises = [Promise(home, self.delta) for home in homes]
        if self.back_within is not None and not limits:
            time = f"{self.back_within} step{'s' * (self.back_within != 1)}"
            level = self.level("back_within")
            promises += [Promise(f"{home} within {time}", level) for home in homes]
        if getattr(self, "keep_in", None) is not None:
            promises.append(Promise("stay inside", self.level("keep_in")))
        return tuple(promises)

    def run_limits(self) -> list[str]:
        """Return the limits of the whole run, the way home included, as texts such as "50 m"."""
        return []

    def of_the_run(self) -> bool:
        """Return whether levels hold for the whole run, not for each plan by itself."""
        return not self.explores_with().paper

    def own_level(self) -> float | None:
        """Return δ; None without a safety level."""
        return None if self.has_no_criterion() else self.delta

    def at_level(self, level: float | None) -> Self | None:
        """Return the same run with another δ, or without a level for None; None if there is none.

        Only explorers of the default bonus have levels, and a run without one has no criterion.
        """
        explorer = getattr(self, "explorer", "safe")
        if self.agent is not None or explorer not in ("safe", "naive", *LEVELLESS):
            return None
        if level is None:
            names = get_args(type(self).model_fields["explorer"].annotation)
            if any(is_asked(getattr(self, key, None)) for key in CRITERION_KEYS):
                return None
            return self.model_copy(update={"explorer": next(n for n in LEVELLESS if n in names)})
        kept = "safe" if explorer in LEVELLESS else explorer
        return self.model_copy(update={"explorer": kept, "delta": level})

    def level(self, criterion: Literal["back_within", "keep_in"]) -> float:
        """Return the level of a criterion; δ if the criterion has no level of its own."""
        own: float | None = getattr(self, f"{criterion}_delta")
        return self.delta if own is None else own

    def check_use(self, explicit: Collection[str] = (), named: Named = str) -> None:
        """Raise if keys contradict each other, or if a key that was set has no effect."""
        check_keys(self, self.has_no_criterion(), self.model_fields_set, explicit, named)


EXPLORERS: dict[str, dict[str, Any]] = {
    "safe": {},
    "unsafe": {"safe": False},
    "uncover": {"safe": False},
    "rmax": {"safe": False, "bonus": RMax()},
    "near-bayesian": {"safe": False, "bonus": NearBayesian()},
    "naive": {"naive": True},
}
"""By value of the key `explorer`, the arguments of its `PlanningAgent`."""


def agent_of(algorithm: str, explorer: str = "safe") -> PlanningAgent:
    """Return the agent for values of the keys `algorithm` and `explorer`."""
    return PlanningAgent(algorithm == "paper", **EXPLORERS[explorer])


def naming(info: ValidationInfo) -> Named:
    """Return the function from a key to its name in messages, for a validator."""
    named: Named = (info.context or {}).get("named", str)
    return named


def check_keys(
    config: Config,
    has_no_criterion: bool,
    keys: Iterable[str],
    explicit: Collection[str],
    named: Named,
) -> None:
    """Raise if values of `keys` contradict each other, or if one of these keys has no effect.

    A key without effect is accepted if it has its default value and is not `explicit`.
    """
    values = {name: getattr(config, name) for name in keys}
    default = {name: field.default for name, field in type(config).model_fields.items()}
    given = {n: v for n, v in values.items() if n in explicit or v != default[n]}
    fault = misfit(values, has_no_criterion, named) or unused(given, has_no_criterion, named)
    if fault is not None:
        raise InvalidInputError(fault)


def misfit(values: Mapping[str, Any], has_no_criterion: bool, named: Named) -> str | None:
    """Return a message on keys that contradict each other; None if no keys do."""
    given = [name for name in CRITERION_KEYS if is_asked(values.get(name))]
    unsafe = next((name for name in given if name != "recall"), None)
    if has_no_criterion and unsafe is not None:
        return f"{named(unsafe)} needs an explorer with a safety level"
    for other in ("back_within", "keep_in", "bases"):
        name = "each_base" if other == "bases" else f"{other}_delta"
        if name in given and other not in given:
            return f"{named(name)} has no effect without {named(other)}"
    current, paper = values.get("home") == "current", values.get("algorithm") == "paper"
    if current and "bases" in given:
        return f"{named('home')} current and {named('bases')} exclude each other: choose one"
    bases = [tuple(base) for base in values.get("bases") or ()]
    twice = next((base for n, base in enumerate(bases) if base in bases[:n]), None)
    if twice is not None:
        return f"{named('bases')}: {twice[0]},{twice[1]} is named twice"
    if not paper and (current or "recall" in given):
        what = f"{named('home')} current" if current else named("recall")
        return f"{what} needs {named('algorithm')} paper"
    if paper and values.get("floor") is not None:
        return f"{named('floor')} has no effect with {named('algorithm')} paper"
    limit = next((name for name in ("distance", "energy") if name in given), None)
    for name in ("each_base", "back_within_delta"):
        if limit is not None and name in given:
            return (
                f"{named(limit)} and {named(name)} exclude each other: with a limit of the whole "
                "run, there is one way home with one level"
            )
    if limit is not None and paper:
        return f"{named(limit)} is a limit of the whole run: it needs {named('algorithm')} rate"
    if values.get("recall") == 1 and "keep_in" in given:
        return f"{named('recall')} 1 and {named('keep_in')}: the only step could leave the area"
    return None


def unused(given: Mapping[str, Any], has_no_criterion: bool, named: Named) -> str | None:
    """Return a message on a `given` key that has no effect; None if all keys have an effect."""
    first = next((name for name in SAFE_KEYS[:3] if name in given), None)
    if has_no_criterion and first is not None:
        return f"{named(first)} needs an explorer with a safety level"
    if given.get("explorer") == "naive" and "correction" in given:
        return f"{named('correction')}: the naive explorer plans without a correction"
    if "home" in given and is_asked(given.get("bases")):
        return f"{named('home')} and {named('bases')} exclude each other: choose one"
    drawn = next((name for name in ("size", "walls", "seed") if name in given), None)
    if "map" in given and drawn is not None:
        return f"{named(drawn)} and {named('map')}: a map already defines the world"
    paper = f"{named('algorithm')} paper"
    if given.get("algorithm") != "paper" and "discount" in given:
        return f"{named('discount')} needs {paper}: the default algorithm does not discount"
    if given.get("algorithm") != "paper" and "keep_in_delta" in given:
        return (
            f"{named('keep_in_delta')} needs {paper}: the default algorithm takes no action that "
            f"might leave the area of {named('keep_in')}"
        )
    return None


def states_of(cells: Iterable[Sequence[int]], columns: int) -> list[int]:
    """Return the state of each cell (row, column): row · `columns` + column."""
    return [row * columns + column for row, column in cells]


def state_of(
    cell: Sequence[int], what: str, shape: tuple[int, int], closed: BoolArray, why: str
) -> int:
    """Return the state of a cell (row, column); raise if it is off the map or `closed` [S].

    `what` names the cell in messages, and `why` says what closes it.
    """
    (row, column), (rows, columns) = cell, shape
    if row >= rows or column >= columns:
        raise InvalidInputError(
            f"{what}, row {row} and column {column}, is off the map of {rows} rows and "
            f"{columns} columns"
        )
    state = row * columns + column
    if closed[state]:
        raise InvalidInputError(f"{what}, row {row} and column {column}, is {why}")
    return state


def criteria_of(
    config: SafeConfig,
    columns: int,
    inside: BoolArray | None,
    limits: tuple[Limit, ...] = (),
) -> list[Criterion]:
    """Return the planner's criteria, in the order of `SafeConfig.promises`.

    `columns` is the number of columns of the map, `inside` the mask [S] of the area to keep in, and
    `limits` are those of the whole run.
    """
    if config.has_no_criterion():
        return []
    bases = states_of(config.bases, columns)
    homes: list[Home] = list(bases) if config.each_base else [bases or config.home]
    within = config.back_within if limits else None
    criteria: list[Criterion] = [ReturnHome(config.delta, h, within, limits) for h in homes]
    if config.back_within is not None and not limits:
        steps, level = config.back_within, config.level("back_within")
        criteria += [ReturnHome(level, home, within=steps) for home in homes]
    if inside is not None:
        criteria.append(StayInside(inside, config.level("keep_in")))
    return criteria


def place_of(config: SafeConfig) -> str:
    """Return a text that names where to return to: the start, or the bases."""
    if not config.bases:
        return "the start"
    named = ", ".join(f"{row},{column}" for row, column in config.bases)
    if len(config.bases) == 1:
        return f"base {named}"
    return f"{'each' if config.each_base else 'one'} of the bases {named}"


def promise_of(config: SafeConfig, named: str = "it") -> str:
    """Return the promise of a run as a sentence without a full stop.

    `named` is the explorer's name in the sentence.
    """
    if config.has_no_criterion():
        return "no promise: the run keeps no safety level"
    if not config.of_the_run():
        place = "where it plans" if config.home == "current" else place_of(config)
        return (
            f"in each plan by itself {named} can return to {place} {surely(config.delta)}; "
            "nothing is promised for the whole run"
        )
    if config.explores_with().promise is None or getattr(config, "correction", None) == "naive":
        return f"δ = {config.delta:g} holds on the mean model only, which proves nothing"
    return (
        f"whenever {named} is recalled, it can return to {place_of(config)} {surely(config.delta)}"
    )


def surely(level: float) -> str:
    """Return the phrase "with probability at least `level`", or "with certainty" at 1."""
    return "with certainty" if level >= 1.0 else f"with probability at least {at_least(level, 12)}"
