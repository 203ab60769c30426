"""Promises of a run: the configuration keys that ask for criteria, and how they were kept.

Beside the way home at level δ, a run may ask to be home within a number of steps of the call, to
never act outside of an area, and to return to bases, any of them or each. With the default
algorithm, δ is the level of the whole run, and home is its start. The paper's Algorithm 1 keeps δ
in each plan; only there home may be the current place, and the recall may be at a fixed step. Keys
that are not set are not recorded.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    model_serializer,
    model_validator,
)

from homeward.errors import InvalidInputError, InvalidProblemError
from homeward.planning.explorer import End
from homeward.planning.guide import Guide
from homeward.planning.ledger import BUDGET_TOLERANCE
from homeward.planning.plan import floored
from homeward.runs.config import Config, Named, Option
from homeward.safety import ReturnHome, ReturnWithin, StayInside
from homeward.solvers import Status
from homeward.solvers.reach import reached

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from homeward.arrays import BoolArray
    from homeward.models import Moves
    from homeward.planning.plan import Plan
    from homeward.runs.kind import Ended, Setup
    from homeward.runs.log import Record
    from homeward.safety import Criterion, Home

Algorithm = Literal["rate", "paper"]
"""Information per step with one level for the whole run, or the paper's Algorithm 1."""

Level = Annotated[float, Field(gt=0.0, le=1.0)]
Row = Annotated[int, Field(ge=0)]
Delta = Annotated[
    float,
    Field(
        gt=0.0,
        le=1.0,
        description="Probability that the explorer can come home, whenever it is called off.",
    ),
]
Discount = Annotated[
    float,
    Field(
        gt=0.0,
        lt=1.0,
        description="With --algorithm paper: γ, the probability that exploration goes on after a "
        "step.",
    ),
]
StepLimit = Annotated[int, Field(ge=0, description="Maximum number of steps.")]


def cell_from_text(value: Any) -> Any:
    """Return the row and column of a text such as ``4,7``; other values as they are."""
    if not isinstance(value, str):
        return tuple(value) if isinstance(value, list) else value
    if value.strip().startswith("cell:"):
        raise ValueError(f"{value} is now written {value.strip().removeprefix('cell:')}")
    try:
        row, column = (int(part) for part in value.split(","))
    except ValueError:
        raise ValueError(f"{value!r} is not ROW,COL or map:X,Y") from None
    if min(row, column) < 0:
        raise ValueError(f"{value!r} is off the map: rows and columns are counted from 0")
    return row, column


Cell = Annotated[tuple[Row, Row], BeforeValidator(cell_from_text)]
"""A row and a column, from 0; also as text ``ROW,COL``."""

ASKED = (
    *("back_within", "back_within_delta", "keep_in", "keep_in_delta"),
    *("bases", "each_base", "recall"),
)
"""Keys that have no effect unless given."""


class Promise(NamedTuple):
    """A criterion that a run keeps, and its level."""

    name: str
    level: float

    def __str__(self) -> str:
        return f"“{self.name}” at {self.level:g}"


# fmt: off
class SafeConfig(Config):
    """Keys of the safety criteria; a kind with an area to keep in adds `keep_in`."""

    delta: Delta = 0.98
    algorithm: Annotated[Algorithm, Field(
        description="rate: go where there is most to learn per step, and keep the level over the "
        "whole run. paper: Algorithm 1 of the paper, which keeps it plan by plan.")] = "rate"
    floor: Annotated[Annotated[float, Field(ge=0.0)] | None, Field(
        description="End when nothing is left that gains this much per step."),
        Option(unset="0.05 nats, or 0.001 squares")] = None
    home: Annotated[Literal["current", "start"], Field(
        description="Where to return to: the start, or with --algorithm paper also current, the "
        "cell of each step.")] = "start"
    back_within: Annotated[Annotated[int, Field(ge=1)] | None, Field(
        description="Also be able to be home within this number of steps of the call."),
        Option(form="STEPS")] = None
    back_within_delta: Annotated[Level | None, Field(
        description="Probability required for --back-within."), Option(unset="as --delta")] = None
    keep_in_delta: Annotated[Level | None, Field(
        description="With --algorithm paper: probability required for --keep-in. By default the "
        "area is never left."), Option(unset="as --delta")] = None
    bases: Annotated[tuple[Cell, ...], Field(
        description="A base to be able to return to, instead of home. May be given several times; "
        "then any of them will do."), Option("base", form="ROW,COL")] = ()
    each_base: Annotated[bool, Field(
        description="Keep a way to each base, not just to any.")] = False
    recall: Annotated[Annotated[int, Field(ge=1)] | None, Field(
        description="With --algorithm paper: plan for a call after exactly this many steps."),
        Option(form="STEPS", unset="at any step")] = None

    # fmt: on
    @model_validator(mode="after")
    def _fits_together(self, info: ValidationInfo) -> Self:
        values = {name: getattr(self, name) for name in type(self).model_fields if name != "delta"}
        fault = misfit(values, self.keeps_nothing(), naming(info))
        if fault is not None:
            raise ValueError(fault)
        return self

    @model_serializer(mode="wrap")
    def _only_what_is_asked(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        return {name: v for name, v in written.items() if name not in ASKED or _is_asked(v)}

    def keeps_nothing(self) -> bool:
        """Return whether the explorer keeps no safety level."""
        return False

    def promises(self) -> tuple[Promise, ...]:
        """Return the planner's criteria by name and level, in their order."""
        if self.keeps_nothing():
            return ()
        homes = [f"return to base {row},{column}" for row, column in self.bases]
        if len(homes) > 1 and not self.each_base:
            homes = [f"return to any of {len(homes)} bases"]
        elif not homes:
            homes = ["return home" if self.home == "current" else "return to the start"]
        found = [Promise(home, self.delta) for home in homes]
        if self.back_within is not None:
            many = f"{self.back_within} step{'s' * (self.back_within != 1)}"
            found += [Promise(f"{home} within {many}", self.level("back_within")) for home in homes]
        if getattr(self, "keep_in", None) is not None:
            found.append(Promise("stay inside", self.level("keep_in")))
        return tuple(found)

    def of_the_run(self) -> bool:
        """Return whether levels are those of the whole run, not of single plans."""
        return self.algorithm == "rate"

    def level(self, asked: Literal["back_within", "keep_in"]) -> float:
        """Return the level of a criterion: its own, or δ."""
        own: float | None = getattr(self, f"{asked}_delta")
        return self.delta if own is None else own

    def check_use(self, explicit: Collection[str] = (), named: Named = str) -> None:
        """Raise if keys do not go together, or a key that was set changes nothing."""
        values = {name: getattr(self, name) for name in self.model_fields_set}
        default = {name: field.default for name, field in type(self).model_fields.items()}
        given = {n: v for n, v in values.items() if n in explicit or v != default[n]}
        nothing = self.keeps_nothing()
        fault = misfit(values, nothing, named) or unused(given, nothing, named)
        if fault is not None:
            raise InvalidInputError(fault)

    def told_level(self) -> float | None:
        """Return the level; None where nothing is kept safe."""
        return None if self.keeps_nothing() else self.delta


def naming(info: ValidationInfo) -> Named:
    """Return the function that names keys in a validator's messages."""
    named: Named = (info.context or {}).get("named", str)
    return named


def misfit(values: Mapping[str, Any], keeps_nothing: bool, named: Named) -> str | None:
    """Return which keys do not go together; None if all do."""
    asked = {name for name in ASKED if _is_asked(values.get(name))}
    needless = [name for name in ASKED if name in asked and name != "recall"]
    if keeps_nothing and needless:
        return f"{named(needless[0])} needs an explorer with a safety level"
    for name, other in (
        ("back_within_delta", "back_within"),
        ("keep_in_delta", "keep_in"),
        ("each_base", "bases"),
    ):
        if name in asked and other not in asked:
            return f"{named(name)} has no effect without {named(other)}"
    if "bases" in asked:
        if values.get("home") == "current":
            return f"{named('home')} current and {named('bases')}: choose one"
        bases = [tuple(base) for base in values["bases"]]
        twice = next((base for n, base in enumerate(bases) if base in bases[:n]), None)
        if twice is not None:
            return f"{named('bases')}: {twice[0]},{twice[1]} is named twice"
    paper = values.get("algorithm") == "paper"
    if not paper and values.get("home") == "current":
        return f"{named('home')} current is kept plan by plan: it needs {named('algorithm')} paper"
    if not paper and "recall" in asked:
        return f"{named('recall')} is kept plan by plan: it needs {named('algorithm')} paper"
    if paper and values.get("floor") is not None:
        return f"{named('floor')} is not for {named('algorithm')} paper"
    if values.get("recall") == 1 and "keep_in" in asked:
        return f"{named('recall')} 1 and {named('keep_in')}: the only step could end outside"
    return None


def unused(given: Mapping[str, Any], keeps_nothing: bool, named: Named) -> str | None:
    """Return which of the `given` keys would change nothing, and why; None if each counts."""
    if keeps_nothing:
        for name in ("delta", "correction", "home"):
            if name in given:
                return f"{named(name)} needs an explorer with a safety level"
    if given.get("explorer") == "naive" and "correction" in given:
        return f"{named('correction')}: the naive explorer plans without a correction"
    if "home" in given and _is_asked(given.get("bases")):
        return f"{named('home')} and {named('bases')}: choose one"
    if "map" in given:
        for name in ("size", "walls", "seed"):
            if name in given:
                return f"{named(name)} and {named('map')}: a map already defines the world"
    if given.get("algorithm") == "paper":
        return None
    paper = f"{named('algorithm')} paper"
    if "discount" in given:
        return f"{named('discount')} needs {paper}: the default algorithm does not discount"
    if "keep_in_delta" in given:
        return (
            f"{named('keep_in_delta')} needs {paper}: the default algorithm takes no action that "
            f"might leave the area of {named('keep_in')}"
        )
    return None


def state_of(
    cell: Sequence[int], what: str, shape: tuple[int, int], closed: BoolArray, why: str
) -> int:
    """Return the state of a cell; raise if it is off the map, or `closed` [S] for a reason."""
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


def criteria_of(config: SafeConfig, columns: int, inside: BoolArray | None) -> list[Criterion]:
    """Return the planner's criteria, in the order of `promises`; `inside` [S] masks the area."""
    if config.keeps_nothing():
        return []
    bases = [row * columns + column for row, column in config.bases]
    homes: list[Home] = [bases] if bases else [config.home]
    if config.each_base:
        homes = list(bases)
    found: list[Criterion] = [ReturnHome(config.delta, home) for home in homes]
    if config.back_within is not None:
        steps, level = config.back_within, config.level("back_within")
        found += [ReturnWithin(steps, level, home) for home in homes]
    if inside is not None:
        found.append(StayInside(inside, config.level("keep_in")))
    return found


def place_of(config: SafeConfig) -> str:
    """Return the place to return to as text: the start, or the bases."""
    if not config.bases:
        return "the start"
    named = ", ".join(f"{row},{column}" for row, column in config.bases)
    if len(config.bases) == 1:
        return f"base {named}"
    return f"{'each' if config.each_base else 'one'} of the bases {named}"


def promise_of(config: SafeConfig, named: str = "it") -> str:
    """Return in one sentence what a run promises, without a full stop."""
    if config.keeps_nothing():
        return "no safety level is kept"
    if not config.of_the_run():
        place = "where it plans" if config.home == "current" else place_of(config)
        return (
            f"at each step {named} can get back to {place} {surely(config.delta)}, plan by plan; "
            "nothing is promised of the whole run"
        )
    if "naive" in (getattr(config, "explorer", None), getattr(config, "correction", None)):
        return f"δ = {config.delta:g} is kept on the average world alone, which proves nothing"
    return (
        f"whenever {named} is called off, it can come home to {place_of(config)} "
        f"{surely(config.delta)}"
    )


def surely(level: float) -> str:
    """Write a level as the probability with which something happens."""
    return "with certainty" if level >= 1.0 else f"with probability {level:.12g} or more"


def bounds_said(config: SafeConfig, criteria: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line on each criterion's bound, if a step was taken."""
    kept = "kept over the whole run" if config.of_the_run() else "lowest bound"
    return [
        f"{found['name']}: {kept} {floored(found['lowest'])}, asked for {found['level']:g}"
        for found in criteria
        if found["lowest"] is not None
    ]


def homes_of(config: SafeConfig, start: int, columns: int) -> list[list[int]]:
    """Return the states to return to: one state of each list."""
    bases = [row * columns + column for row, column in config.bases]
    if config.each_base:
        return [[base] for base in bases]
    return [bases or [start]]


def is_stranded(config: SafeConfig, moves: Moves, state: int, start: int, columns: int) -> bool:
    """Return whether in the true world there is no way from a state to the homes."""
    found = reached(moves.dest, moves.success, state)
    return not all(found[homes].any() for homes in homes_of(config, start, columns))


def check_start(config: SafeConfig, setup: Setup) -> None:
    """Raise if no policy keeps the criteria from the start; name the fewest that conflict.

    Only the way back to the current place can always be kept, by staying.
    """
    if all(not _is_asked(getattr(config, name, None)) for name in ASKED):
        return
    start, belief = setup.world.state, setup.belief.update(setup.world.look())
    if not config.of_the_run():
        plan = setup.planner.plan(belief, start)
        if plan.status is Status.INFEASIBLE:
            raise InvalidProblemError(f"from the start {conflict_said(conflict_in(config, plan))}")
        return
    guide = Guide(setup.planner, start)
    # Ways home come first among the promises, in the order of their accounts.
    for promise, account in zip(config.promises(), guide.open(belief).accounts, strict=False):
        if account.spent > 1.0 - promise.level + BUDGET_TOLERANCE:
            raise InvalidProblemError(
                f"from the start no way keeps {promise}: the best works with probability "
                f"{1.0 - account.spent:.4g}"
            )


def conflict_in(config: SafeConfig, plan: Plan) -> list[str]:
    """Name the fewest criteria that an infeasible plan could not keep together."""
    promises = config.promises()
    return [str(promises[k]) for k in plan.conflict]


def conflict_said(conflict: Sequence[str]) -> str:
    """Return in words which criteria can't be kept together."""
    *others, last = conflict
    if not others:
        return f"no policy keeps {last}, even alone"
    return f"no policy keeps {', '.join(others)} and {last} together"


def conflict_at_end(config: SafeConfig, ended: Ended, start: int) -> list[str] | None:
    """Return the criteria that conflict if a run ended for that reason, else None."""
    if ended.manifest.end is not End.INFEASIBLE:
        return None
    if config.of_the_run():
        return [str(promise) for promise in config.promises()]
    plan = ended.setup.planner.plan(ended.belief, ended.setup.world.state, start)
    return conflict_in(config, plan)


def account(config: SafeConfig, records: Iterable[Record]) -> dict[str, Any]:
    """Return, as JSON values, each criterion's lowest bound and the number of infeasible steps.

    If levels are the whole run's, bounds are what the run has kept.
    """
    lowest = [math.inf] * len(config.promises())
    infeasible = 0
    for record in records:
        lowest = [min(pair) for pair in zip(lowest, record.kept_bounds, strict=True)]
        infeasible += record.status == str(Status.INFEASIBLE)
    criteria = [
        {**promise._asdict(), "lowest": low if math.isfinite(low) else None}
        for promise, low in zip(config.promises(), lowest, strict=True)
    ]
    return {"criteria": criteria, "infeasible_steps": infeasible}


def _is_asked(value: Any) -> bool:
    """Return whether a key is set."""
    return value is not None and value is not False and value not in ((), [])
