"""Configurations of runs: validated when read, and written with every key.

Each setting is declared once, as a field of a configuration class, with its type, limits, default,
title, unit (such as `METRES`) and description. `Option` adds how the command line offers the
setting. Command-line options, configuration files, forms and records all follow from that
declaration.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)

from homeward.errors import InvalidInputError

M = TypeVar("M", bound=BaseModel)

METRES, DEGREES, WATT_HOURS = {"unit": "m"}, {"unit": "°"}, {"unit": "Wh"}
PIXELS, STEPS = {"unit": "pixels"}, {"unit": "steps"}  # units in the schemas of settings


def is_asked(value: Any) -> bool:
    """Return whether the value of a key asks for something: it is not None, False or empty."""
    return value is not None and value is not False and value not in ((), [])


def _known_agent(name: str | None) -> str | None:
    """Return the name of an agent; raise if there is no such agent."""
    if name is not None:
        from homeward.agents.catalogue import find_agent

        find_agent(name)
    return name


Named = Callable[[str], str]  # from a key to its name in messages: itself, or its option


@dataclass(frozen=True, slots=True)
class Option:
    """How the command line offers a key, where the type of the key does not determine it."""

    name: str | None = None  # name without its dashes; None means the name of the key
    form: str | None = None  # placeholder of the value in the help text, such as ROW,COL
    unset: str | None = None  # text for the default in the help; None shows the default
    is_file: bool = False  # the option names a file, whose text is the value
    hidden: bool = False  # there is no option: the program sets the key when it creates a run


class Strict(BaseModel):
    """Base of models for external data: refuses unknown keys, and converts no types."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        field_title_generator=lambda name, _: name.capitalize().replace("_", " "),
    )


class Config(Strict):
    """The configuration of a kind of run; each kind adds its own keys."""

    unset_keys: ClassVar[tuple[str, ...]] = ("agent",)
    """Keys that are recorded only if their value is not None, False or empty."""

    promise_keys: ClassVar[tuple[str, ...]] = ()
    """Keys that only an agent with a safety level accepts."""

    seed: Annotated[int, Field(ge=0, description="Random seed.")] = 0
    agent: Annotated[
        str | None,
        AfterValidator(_known_agent),
        Field(
            description="Who explores: a name that homeward study compare --help lists, or "
            "module:name of your own agent."
        ),
        Option(form="NAME", unset="ours"),
    ] = None

    @model_serializer(mode="wrap")
    def _without_unset(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the values to record: all, except keys in `unset_keys` that ask for nothing."""
        written: dict[str, Any] = handler(self)
        return {key: v for key, v in written.items() if key not in self.unset_keys or is_asked(v)}

    def seeded(self, seed: int) -> Self:
        """Return the same configuration with another seed, for one of many worlds."""
        return self.model_copy(update={"seed": seed})

    @classmethod
    def spelled(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values with `agent` replaced by keys of the kind that mean the same."""
        return values

    @classmethod
    def resolved(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a user's values, after converting texts whose meaning depends on other values."""
        return values

    def own_level(self) -> float | None:
        """Return the safety level of the run; None without one."""
        return None

    def at_level(self, level: float | None) -> Self | None:
        """Return the same run with another safety level, or without one for None.

        Return None if there is no such run, as with an agent of one's own.
        """
        return None

    def check_use(self, explicit: Collection[str] = (), named: Named = str) -> None:
        """Raise `InvalidInputError` if a key that was set has no effect.

        A value that equals the default is accepted unless its key is in `explicit`. So the complete
        configuration of a run can be used for another run.
        """


def checked(model: type[M], given: M | Mapping[str, Any], what: str = "", named: Named = str) -> M:
    """Return `given` validated as a `model`; raise `InvalidInputError` if it is invalid.

    The message begins with `what`; `named` returns the name of a key in the message.
    """
    if isinstance(given, model):
        return given
    prefix = f"{what}: " if what else ""
    if issubclass(model, Config) and isinstance(given, Mapping):
        given = model.spelled(given)
    try:
        # Validate the JSON text, since a reader of the record will see that text.
        text = json.dumps(given, allow_nan=False)
    except (TypeError, ValueError) as cause:
        raise InvalidInputError(f"{prefix}{_unwritable(given, cause, named)}") from cause
    try:
        return model.model_validate_json(text, context={"named": named})
    except ValidationError as cause:
        faults = "; ".join(_fault(error, named) for error in cause.errors(include_url=False))
        raise InvalidInputError(f"{prefix}{faults}") from cause


def _unwritable(given: Any, cause: Exception, named: Named) -> str:
    """Return why values can't be written as JSON: the first such key, and the reason."""
    for key, value in given.items() if isinstance(given, Mapping) else ():
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            if isinstance(value, float):
                return f"{named(key)} is {value}, expected a finite number"
            return f"{named(key)} is {value!r}, which can't be written as JSON: {cause}"
    return f"can't be written as JSON: {cause}"


def _fault(error: Any, named: Named) -> str:
    """Return a message on an error of Pydantic: the invalid key and the reason."""
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
