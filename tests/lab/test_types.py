from __future__ import annotations

from lab.types import TARGET, generated, type_of


def test_the_pages_types_are_those_of_the_interface() -> None:
    assert TARGET.read_text("utf-8") == generated(), "run `python -m lab types`"


def test_schemas_become_types() -> None:
    text = {"type": "string"}
    assert type_of({"anyOf": [text, {"type": "null"}]}) == "string | null"
    assert type_of({"type": "array", "items": {"anyOf": [text, {"type": "null"}]}}) == (
        "(string | null)[]"
    )
    assert type_of({"type": "array", "prefixItems": [text, {"type": "integer"}]}) == (
        "[string, number]"
    )
    assert type_of({"enum": ["a", "b"]}) == '"a" | "b"'
    assert type_of({"$ref": "#/components/schemas/Way"}) == "Way"
    assert type_of({"type": "object", "additionalProperties": text}) == "Record<string, string>"
    assert type_of({}) == "unknown"
