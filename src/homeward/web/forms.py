"""Checks of the configurations of new runs that a client sends."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from homeward.errors import InvalidInputError
from homeward.runs.config import Config, checked
from homeward.runs.kind import Form, find_kind, kind_names
from homeward.web.frames import narrow, pack
from homeward.web.refusals import Refusal
from homeward.web.uploads import path_of


def all_forms() -> dict[str, Form]:
    """Return the form of each kind that the page can start, by name."""
    kinds = {name: find_kind(name) for name in kind_names()}
    return {name: kind.form for name, kind in kinds.items() if kind.form is not None}


def check_kind(kind: Any) -> str:
    """Return the name of a kind; raise if the page can't start such runs."""
    forms = all_forms()
    if not isinstance(kind, str) or kind not in forms:
        raise Refusal.INVALID(f"the kind of run is not one of {', '.join(forms)}")
    return kind


def pair_of(kind: str, config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the configurations of a safe and an unsafe explorer in the same world."""
    form = all_forms()[kind]
    if not form.unsafe:
        raise Refusal.INVALID(f"a {kind} run has no unsafe explorer to compare with")
    free = {name: value for name, value in config.items() if name not in form.promises}
    return {"safe": {**config, **form.safe}, "unsafe": {**free, **form.unsafe}}


def completed(kind: str, config: Mapping[str, Any], root: Path) -> tuple[Config, list[str]]:
    """Return the checked configuration of a client's values, and the keys that are uploads.

    Uploads become paths below `root`.
    """
    form, model = all_forms()[kind], find_kind(kind).config
    for name in config:
        if name not in form.keys:
            raise Refusal.INVALID(f"{str(name)[:40]!r} can't be set for a {kind} run")
    values, uploaded, lists = dict(config), [], _lists(model)
    for name in lists - form.files.keys():
        if isinstance(values.get(name), str):
            raise Refusal.INVALID(f"{name} must be a list here, not the name of a file")
    for name, known in form.files.items():
        given = values.get(name)
        if given is None or given in known or (name in lists and not isinstance(given, str)):
            continue
        values[name] = path_of(given, name, known, root)
        uploaded.append(name)
        in_file = form.of_the_file.get(name, ())
        values = {key: value for key, value in values.items() if key not in in_file}
    complete: Config = checked(model, values, f"the configuration of a {kind} run")
    if form.check is not None:
        form.check(complete)
    return complete, uploaded


def preview(query: Mapping[str, Any], root: Path) -> bytes:
    """Return a frame with the preview of a configuration of the first kind that has previews."""
    kind, form = next((kind, f) for kind, f in all_forms().items() if f.preview is not None)
    assert form.preview is not None
    for name in query:
        if name not in form.preview_keys:
            raise Refusal.INVALID(f"{name[:40]!r} is not a key of the terrain preview")
    config, _ = completed(kind, dict(query), root)
    try:
        maps, facts = form.preview(config)
    except InvalidInputError as cause:
        raise Refusal.UNUSABLE(str(cause)) from cause
    narrowed = {name: narrow(array) for name, array in maps.items()}
    return pack(narrowed, step=0, total=0, **facts)


def terrain_defaults(terrain: str) -> dict[str, Any]:
    """Return what a run on a terrain uses if nothing else is given, such as the side of a cell."""
    kind, form = next((kind, f) for kind, f in all_forms().items() if f.defaults is not None)
    assert form.defaults is not None
    return dict(form.defaults(checked(find_kind(kind).config, {"terrain": terrain})))


def schemas() -> dict[str, Any]:
    """Return a JSON Schema per kind, with only the keys that the page may set.

    Beside the keys it has ``defaults``: what is used on each terrain without a file.
    """
    schemas_by_kind = {}
    for kind, form in all_forms().items():
        model = find_kind(kind).config
        schema = model.model_json_schema()
        schema["properties"] = {
            name: about for name, about in schema["properties"].items() if name in form.keys
        }
        lists = _lists(model)
        for name, about in schema["properties"].items():
            options = about.get("anyOf", ())
            if options and (name in lists or isinstance(about.get("default"), float)):
                # A text would be the name of a file.
                about["anyOf"] = [one for one in options if one.get("type") != "string"]
        if form.defaults is not None:
            schema["defaults"] = {name: terrain_defaults(name) for name in form.files["terrain"]}
        schemas_by_kind[kind] = schema
    return schemas_by_kind


def _lists(model: type[Config]) -> set[str]:
    """Return the keys that accept a list or the name of a file; the page may give only a list."""
    return {
        name
        for name, about in model.model_json_schema()["properties"].items()
        if {"string", "array"} <= {one.get("type") for one in about.get("anyOf", ())}
    }
