"""Configurations of runs: validated on input, complete when written.

Each setting is declared once, as a field of a configuration: its type, limits, default and
description, and with `Option` how the command line offers it. Options, configuration files, forms
and the record are all made from that declaration.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from homeward.errors import InvalidInputError

M = TypeVar("M", bound=BaseModel)
Named = Callable[[str], str]
"""Returns a key's name in messages: the key itself, or the option that sets it."""


@dataclass(frozen=True, slots=True)
class Option:
    """How the command line offers a key, where that does not follow from its type.

    Attributes
    ----------
    name
        Name of the option without its dashes; None: the key's.
    form
        Form of the value as help shows it, such as ``ROW,COL``.
    unset
        Help text for the default, if the default itself does not say it.
    is_file
        The option names a file, and its text is the value.
    hidden
        There is no option: the key is filled in when a run is made.
    """

    name: str | None = None
    form: str | None = None
    unset: str | None = None
    is_file: bool = False
    hidden: bool = False


class Strict(BaseModel):
    """A value from outside: unknown keys are refused, types are not converted."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Config(Strict):
    """The configuration of a kind of run; each kind adds its own keys."""

    seed: Annotated[int, Field(ge=0, description="Random seed.")] = 0

    @classmethod
    def resolved(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a user's values with those texts converted that depend on other values."""
        return values

    def check_use(self, explicit: Collection[str] = (), named: Named = str) -> None:
        """Raise `InvalidInputError` if a key that was set changes nothing.

        A value that equals the default passes unless its key is in `explicit`, so that the complete
        configuration of a run makes another.
        """


def checked(model: type[M], given: M | Mapping[str, Any], what: str = "", named: Named = str) -> M:
    """Return values checked against a model; a message names every key at fault, and its value."""
    if isinstance(given, model):
        return given
    prefix = f"{what}: " if what else ""
    try:
        # Through JSON, so that what is checked is what will be read back.
        text = json.dumps(given, allow_nan=False)
    except (TypeError, ValueError) as cause:
        raise InvalidInputError(f"{prefix}{_unwritable(given, cause, named)}") from cause
    try:
        return model.model_validate_json(text, context={"named": named})
    except ValidationError as cause:
        faults = "; ".join(_fault(error, named) for error in cause.errors(include_url=False))
        raise InvalidInputError(f"{prefix}{faults}") from cause


def _unwritable(given: Any, cause: Exception, named: Named) -> str:
    """Return why values can't be written as JSON, by the first key whose value can't."""
    for key, value in given.items() if isinstance(given, Mapping) else ():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            if isinstance(value, float):
                return f"{named(key)} is {value}, expected a finite number"
            return f"{named(key)} is {value!r}, which can't be written as JSON: {cause}"
    return f"can't be written as JSON: {cause}"


def _fault(error: Any, named: Named) -> str:
    """Return which key is at fault and why."""
    place = [str(part) for part in error["loc"]]
    if error["type"] == "value_error":  # raised by our own validator; its message is complete
        reason = str(error["ctx"]["error"])
        return f"{named(place[0])}: {reason}" if place else reason
    key = ".".join([named(place[0]), *place[1:]]) if place else "it"
    if error["type"] == "missing":
        return f"{key} is missing"
    if error["type"] == "extra_forbidden":
        return f"{key} is not known"
    message = error["msg"][:1].lower() + error["msg"][1:]
    return f"{key} is {json.dumps(error['input'])}: {message}"
