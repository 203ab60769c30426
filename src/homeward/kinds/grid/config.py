"""The configuration of runs in grid worlds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from homeward.errors import InvalidInputError
from homeward.kinds.promises import Cell, Delta, Discount, SafeConfig, cell_from_text
from homeward.runs.config import Option

ExplorerName = Literal["safe", "uncover", "rmax", "near-bayesian"]
WINDOW_FORM = "ROW:ROW,COL:COL"


def _window(value: object) -> object:
    """Return rows (first, last) and columns (first, last) of a text such as ``2:9,0:6``.

    Return other values unchanged, lists as tuples.
    """
    if not isinstance(value, str):
        return tuple(value) if isinstance(value, list) else value
    try:
        (top, bottom), (left, right) = (map(int, part.split(":")) for part in value.split(","))
    except ValueError:
        raise ValueError(f"{value!r} is not {WINDOW_FORM}") from None
    return (top, bottom), (left, right)


def _readable(text: str) -> str:
    """Return the text itself; raise if it is not a map."""
    from homeward.kinds.grid.maps import MAX_LEVELS, HeightMap

    HeightMap.from_text(text, levels=MAX_LEVELS)
    return text


class GridConfig(SafeConfig):
    """A grid world of heights, drawn from the seed or given as a map.

    Each square has a height from 1 to 5, or to another number of levels. The explorer sees a height
    when it enters the square or a neighbour. A move succeeds if it climbs by at most one level, or
    as many as given. Any descent succeeds, and may be impossible to climb back.
    """

    size: Annotated[
        int,
        Field(title="Squares per side", ge=2, le=2000, description="Squares along each side."),
    ] = 10
    walls: Annotated[
        float,
        Field(title="Fraction of walls", ge=0.0, le=1.0, description="Mean fraction of walls."),
    ] = 0.2
    levels: Annotated[
        int, Field(ge=2, le=9, description="Number of different heights; the lowest is 1.")
    ] = 5
    climb: Annotated[
        int, Field(ge=1, le=8, description="Largest rise of a move that works, in levels.")
    ] = 1
    start: Annotated[
        Annotated[int, Field(ge=0)] | None,
        Field(description="The start: ROW,COL, counted from 0; in a file, row·size + column."),
        Option(form="ROW,COL", unset="drawn from the seed"),
    ] = None
    map: Annotated[
        Annotated[str, AfterValidator(_readable)] | None,
        Field(
            description="A map as text, instead of a random one: 1 to 5 are heights, # is a wall, "
            "a to e mark the start at height 1 to 5."
        ),
        Option(form="FILE", is_file=True),
    ] = None
    explorer: Annotated[
        ExplorerName,
        Field(
            title="Type of explorer",
            description="The type of explorer. Only the type safe has a safety level.",
        ),
    ] = "safe"
    delta: Delta = 1.0
    correction: Annotated[
        Literal["moves", "general", "naive"],
        Field(
            description="Correction of the safety constraint: moves (ours), general (the paper's) "
            "or naive (no correction)."
        ),
    ] = "moves"
    keep_in: Annotated[
        Annotated[tuple[Cell, Cell], BeforeValidator(_window)] | None,
        Field(
            title="Stay inside",
            description="Never act outside of these rows and columns; both ends are included.",
        ),
        Option(form=WINDOW_FORM),
    ] = None
    stay: Annotated[bool, Field(description="Whether the explorer may stay where it is.")] = True
    discount: Discount = 0.99
    limit: Annotated[
        Annotated[int, Field(ge=0)] | None,
        Field(title="Maximum steps", description="Maximum number of steps."),
        Option(unset="20 per square"),
    ] = None

    @classmethod
    def resolved(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return values with a start given as ``ROW,COL`` converted to row·size + column."""
        start, size = values.get("start"), values.get("size", cls.model_fields["size"].default)
        if not isinstance(start, str) or not isinstance(size, int):
            return values
        try:
            row, column = cell_from_text(start)
        except ValueError as cause:
            raise InvalidInputError(f"the start: {cause}") from cause
        if max(row, column) >= size:
            raise InvalidInputError(
                f"the start, row {row} and column {column}, is off the map of {size} rows and "
                f"{size} columns"
            )
        return {**values, "start": row * size + column}

    @model_validator(mode="after")
    def _either(self) -> Self:
        if self.map is not None and self.start is not None:
            raise ValueError("a map defines its own start: remove start")
        if self.climb >= self.levels:
            raise ValueError(
                f"climb is {self.climb} with {self.levels} levels, so every move works: expected "
                "less than the number of levels"
            )
        if self.map is not None:
            from homeward.kinds.grid.maps import HeightMap

            HeightMap.from_text(self.map, levels=self.levels)
        return self
