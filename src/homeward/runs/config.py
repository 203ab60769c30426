"""Configurations: checked when they are handed in, complete when they are written down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from homeward.errors import InvalidInputError

M = TypeVar("M", bound=BaseModel)


class Strict(BaseModel):
    """A value read from outside: unknown keys are refused, and nothing is taken for another."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Config(Strict):
    """What a kind of run is configured by; each kind adds its own keys."""

    seed: Annotated[int, Field(ge=0)] = 0  # all that is random in the run comes from it


def checked(model: type[M], given: M | Mapping[str, Any], what: str) -> M:
    """Check values against a model; a message names every key that is off, and what it holds."""
    if isinstance(given, model):
        return given
    try:
        # Through JSON, so that what is checked is what will be read back.
        text = json.dumps(given, allow_nan=False)
    except (TypeError, ValueError) as cause:
        raise InvalidInputError(f"{what}: {_unwritable(given, cause)}") from cause
    try:
        return model.model_validate_json(text)
    except ValidationError as cause:
        faults = "; ".join(_fault(error) for error in cause.errors(include_url=False))
        raise InvalidInputError(f"{what}: {faults}") from cause


def _unwritable(given: Any, cause: Exception) -> str:
    """Return why values can't be written as JSON, by the first key whose value can't."""
    for key, value in given.items() if isinstance(given, Mapping) else ():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            if isinstance(value, float):
                return f"{key} is {value}, expected a finite number"
            return f"{key} is {value!r}, which can't be written as JSON: {cause}"
    return f"can't be written as JSON: {cause}"


def _fault(error: Any) -> str:
    """Say which key is off and why."""
    key = ".".join(str(part) for part in error["loc"]) or "it"
    if error["type"] == "missing":
        return f"{key} is missing"
    if error["type"] == "extra_forbidden":
        return f"{key} is not known"
    message = error["msg"][:1].lower() + error["msg"][1:]
    return f"{key} is {json.dumps(error['input'])}: {message}"
