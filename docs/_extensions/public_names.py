"""The reference: links to its names wherever they are written, and readable signatures.

Docstrings and signatures use short names or the module that a name lives in. The reference lists a
public name as ``homeward.Name``, and others by the module that they are imported from.
"""

from __future__ import annotations

import re
from typing import Any


def resolve(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Return a link to the name in the reference that a target ends with; None if there is none."""
    if node.get("refdomain") != "py":
        return None
    parts, python = str(node.get("reftarget", "")).split("."), env.get_domain("py")
    for start in range(len(parts)):
        ending = ".".join(["", *parts[start:]])
        named = [name for name in python.objects if name.endswith(ending)]
        if named:
            name, where = min(named, key=len), (env, node["refdoc"], app.builder)
            return python.resolve_xref(*where, "obj", name, node, content)
    return None


def skip_alias(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> Any:
    """Skip the fields of a named tuple, which its docstring describes."""
    is_alias = (getattr(member, "__doc__", None) or "").startswith("Alias for field number")
    return True if is_alias else None


def tidy_signature(
    app: Any,
    what: str,
    name: str,
    thing: Any,
    options: Any,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Return a signature with the names of array types, and without that of a protocol."""
    if getattr(thing, "_is_protocol", False):
        return "", None
    alias = r"TypeAliasForwardRef\('(\w+)'\)"
    short, answer = (text and re.sub(alias, r"\1", text) for text in (signature, returns))
    return short, answer


def setup(app: Any) -> dict[str, bool]:
    """Register the extension."""
    app.connect("autodoc-skip-member", skip_alias)
    app.connect("autodoc-process-signature", tidy_signature)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
