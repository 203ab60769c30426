"""A study: one function, computed for every cell (a choice of settings) and every seed.

The function is named ``module:name``, so that any worker can import it. It takes a cell (a dict of
JSON values) and a seed, and returns one row: a dict of scalars. The same cell and seed must give
the same row.
"""

from __future__ import annotations

import json
import tomllib
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, product
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, JsonValue, model_validator

from homeward.errors import InvalidFileError, InvalidInputError
from homeward.files import refusing
from homeward.runs.config import Strict, checked

Seed = Annotated[int, Field(ge=0, lt=2**63)]


class Study(Strict):
    """The definition of a study; studies with equal values are the same study."""

    name: Annotated[str, Field(min_length=1)]
    task: str  # module:name of a function (cell, seed) -> row
    cells: Annotated[tuple[dict[str, JsonValue], ...], Field(min_length=1)]
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)]
    counts: tuple[Annotated[int, Field(ge=1)], ...] | None = None  # number of seeds of each cell
    version: Annotated[int, Field(ge=1)] = 1  # increases whenever the rows of tasks change

    @model_validator(mode="after")
    def _all_differ(self) -> Self:
        """Raise if two cells or two seeds are equal, a cell has a seed, or `counts` is invalid.

        `counts` needs one number for each cell, at most the number of seeds.
        """
        seen: dict[str, int] = {}
        for i, cell in enumerate(self.cells):
            if "seed" in cell:
                raise ValueError(f"cell {i} has a key named seed")
            first = seen.setdefault(json.dumps(cell, sort_keys=True), i)
            if first != i:
                raise ValueError(f"cell {i} is the same as cell {first}")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("a seed is given twice: list each seed once")
        if self.counts is not None:
            if len(self.counts) != len(self.cells):
                raise ValueError(f"{len(self.counts)} counts for {len(self.cells)} cells")
            if max(self.counts) > len(self.seeds):
                raise ValueError(
                    f"a cell needs {max(self.counts)} seeds, but there are {len(self.seeds)}"
                )
        return self

    @cached_property
    def _ends(self) -> list[int]:
        """Cumulative number of tasks after each cell."""
        return list(accumulate(self.counts or [len(self.seeds)] * len(self.cells)))

    @property
    def tasks(self) -> int:
        """Number of tasks; they are numbered by cell, then by seed."""
        return self._ends[-1]

    def task_at(self, position: int) -> tuple[dict[str, Any], int]:
        """Return the cell and the seed of the task with number `position`."""
        cell = bisect_right(self._ends, position)
        seed = position - (self._ends[cell - 1] if cell else 0)
        return dict(self.cells[cell]), self.seeds[seed]


def define(
    name: str,
    task: str,
    cells: Iterable[Mapping[str, Any]],
    seeds: Iterable[int],
    version: int = 1,
    counts: Iterable[int] | None = None,
) -> Study:
    """Return a checked study; cell i uses the first ``counts[i]`` seeds, by default all."""
    values = {
        "name": name,
        "task": task,
        "cells": [dict(cell) for cell in cells],
        "seeds": list(seeds),
        "counts": None if counts is None else list(counts),
        "version": version,
    }
    return checked(Study, values, f"study {name}")


def combine(axes: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return all combinations of the values of the axes; the last axis changes fastest."""
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def read_study(path: Path) -> Study:
    """Return the study of a TOML file.

    Its keys are name, task, seeds (a list or a number), and cells, or vary for all combinations.
    """
    with refusing(path, "can't be read"):
        data = path.read_bytes()
    try:
        values = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as cause:
        raise InvalidFileError(f"{path}: is not TOML: {cause}") from cause
    keys = [key for key in ("vary", "cells") if key in values]
    if len(keys) > 1:
        raise InvalidFileError(f"{path}: has both {keys[0]} and {keys[1]}: give one of them")
    if keys and keys != ["cells"]:
        axes = values.pop(keys[0])
        if not isinstance(axes, dict) or not all(isinstance(axis, list) for axis in axes.values()):
            raise InvalidFileError(f"{path}: {keys[0]} is not a table of lists")
        values["cells"] = combine(axes)
    if type(values.get("seeds")) is int:
        values["seeds"] = list(range(values["seeds"]))
    try:
        return checked(Study, values, str(path))
    except InvalidInputError as cause:
        raise InvalidFileError(str(cause)) from cause
