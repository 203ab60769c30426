"""What a grid run can be asked for."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from homeward.kinds.promises import Cell, Level, SafeConfig

ExplorerName = Literal["safe", "uncover", "rmax", "near-bayesian"]


class GridConfig(SafeConfig):
    """A world, drawn from the seed or given as text, and who explores it."""

    size: Annotated[int, Field(ge=2, le=2000)] = 10  # squares along each side
    walls: Annotated[float, Field(ge=0.0, le=1.0)] = 0.2  # the mean fraction of squares
    start: Annotated[int, Field(ge=0)] | None = None  # drawn unless given
    map: str | None = None  # a map as text, instead
    explorer: ExplorerName = "safe"
    delta: Level = 1.0  # of the safe explorer
    correction: Literal["moves", "general", "naive"] = "moves"
    keep_in: tuple[Cell, Cell] | None = None  # the first and the last row; so for columns
    stay: bool = True
    discount: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.99
    limit: Annotated[int, Field(ge=0)] | None = None  # steps

    @model_validator(mode="after")
    def _either(self) -> Self:
        if self.map is not None and self.start is not None:
            raise ValueError("a map says itself where the start is")
        return self

    def keeps_nothing(self) -> bool:
        """Tell whether the explorer keeps nothing safe."""
        return self.explorer != "safe"
