"""Command-line options generated from the configuration of a kind.

Each key of a configuration becomes an option. The field of the key gives the name, help, choices
and default of the option (see `runs.config.Option`). The file of ``--config`` gives values too;
options override them. Error messages name the option, or the file and the key.
"""

from __future__ import annotations

import inspect
import json
import tomllib
import types
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from homeward.cli.options import ConfigFile, set_options
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.runs.config import Config, Option, checked

OPTION_NAMES = {"limit": "steps"}  # names of options that differ from their keys, for all kinds


def option_of(field: FieldInfo) -> Option:
    """Return the `Option` of a field."""
    return next((part for part in field.metadata if isinstance(part, Option)), Option())


def flag_of(model: type[Config], key: str) -> str:
    """Return the name of the option that sets a key, with its dashes."""
    field = model.model_fields.get(key)
    own = None if field is None else option_of(field).name
    return f"--{(own or OPTION_NAMES.get(key, key)).replace('_', '-')}"


class Settings(NamedTuple):
    """Settings of a run that a user gave in a file and by options; options override the file."""

    kind: str  # name of the kind, or module:name
    model: type[Config]
    options: dict[str, Any]  # values of the given options, by key of `model`
    file: Path | None = None

    def given(self) -> dict[str, Any]:
        """Return all given values, by key."""
        values = {} if self.file is None else read_settings(self.file)
        fields = self.model.model_fields
        keys = {flag_of(self.model, key)[2:].replace("-", "_"): key for key in fields}
        values = {key if key in fields else keys.get(key, key): v for key, v in values.items()}
        # Hidden keys, such as the digest of a terrain, are computed from the others.
        hidden = {key for key, field in fields.items() if option_of(field).hidden}
        return {k: v for k, v in values.items() if k not in hidden} | self.options

    def checked(self) -> Config:
        """Return the configuration; raise if it is invalid."""
        values = self.given()

        def named(key: str) -> str:
            if key in self.options or self.file is None:
                return flag_of(self.model, key)
            return f"{self.file}: {key}" if key in values else key

        config = checked(self.model, self.model.resolved(values), named=named)
        config.check_use(self.options, named)
        return config


def make_command(
    function: Callable[..., None],
    kind: str,
    model: type[Config],
    *,
    summary: str | None = None,
    without: tuple[str, ...] = (),
    why_without: str | None = None,
) -> Any:
    """Return a command with the options of `function`, --config, and an option per key of `model`.

    The command calls `function` with the given `Settings` of the kind and with the values of its
    other parameters. Keys in `without` have no option. If `why_without` is given, such an option
    raises an error that ends with this text.
    """
    fields = {
        key: field
        for key, field in model.model_fields.items()
        if key not in without and not option_of(field).hidden
    }
    refused = [key for key in without if why_without and key in model.model_fields]
    hints: dict[str, Any] = {"config": ConfigFile}
    hints |= {key: _hint(model, key, field) for key, field in fields.items()}
    for key in refused:
        hints[key] = Annotated[str | None, typer.Option(flag_of(model, key), hidden=True)]

    def command(config: Path | None, **values: Any) -> None:
        for key in refused:
            if values.pop(key) is not None:
                raise InvalidInputError(f"{flag_of(model, key)} {why_without}")
        given = {key: values.pop(key) for key in fields}
        options = {
            key: _read(value) if option_of(fields[key]).is_file else value
            for key, value in given.items()
            if value is not None and value != []
        }
        function(Settings(kind, model, options, config), **values)

    further = {key: (hint, None) for key, hint in hints.items()}
    set_options(command, function, further, Settings=Settings)
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(kind, help=summary or inspect.getdoc(function))(command)
    return typer.main.get_command(app)


def read_settings(file: Path) -> dict[str, Any]:
    """Return the settings of a TOML or JSON file, which may be the config.json of a run."""
    text = _read(file)
    try:
        values = json.loads(text) if file.suffix.lower() == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as cause:
        raise InvalidFileError(f"{file}: can't be read: {cause}") from cause
    if not isinstance(values, dict):
        raise InvalidFileError(f"{file}: is a list or a value, expected keys with values")
    is_run = "kind" in values and isinstance(values.get("config"), dict)
    settings: dict[str, Any] = values["config"] if is_run else values
    return settings


def text_of(value: Any) -> str:
    """Return a value in the form that its option takes; polygons become the text "an area"."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        if value and isinstance(value[0], list | tuple):
            return " ".join(map(text_of, value)) if len(value[0]) == 2 else "an area"
        return ",".join(map(text_of, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _read(file: Path) -> str:
    """Return the text of a file."""
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        reason = cause.strerror if isinstance(cause, OSError) else cause
        raise InvalidFileError(f"{file}: can't be read: {reason}") from cause


def _hint(model: type[Config], key: str, field: FieldInfo) -> Any:
    """Return the Typer annotation of an option: type, name, placeholder, help and default."""
    option, kind = option_of(field), _plain(field.annotation)
    flag, form = flag_of(model, key), option.form
    default: str | bool = option.unset or False
    hint: Any = str
    if kind is bool:
        hint, flag = bool, f"{flag}/--no-{flag[2:]}" if field.default else flag
    elif kind in (int, float) and "," not in (form or ""):
        hint = kind
    elif get_origin(kind) is Literal:
        form = form or f"[{'|'.join(map(str, get_args(kind)))}]"
    elif get_origin(kind) is tuple and get_args(kind)[-1] is Ellipsis:
        hint = list[str]
    if not default and field.default not in (None, ()) and field.default is not False:
        default = text_of(field.default)
    about = typer.Option(
        flag, metavar=form, help=field.description or "", show_default=default, rich_help_panel=None
    )
    return Annotated[hint | None, about]


def _plain(annotation: Any) -> Any:
    """Return the type of a field without `None` and without metadata."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, types.UnionType):
        return _plain(next(part for part in get_args(annotation) if part is not type(None)))
    return annotation
