"""The reference: links to public names wherever they are written, and readable signatures.

Docstrings and signatures use short names or the module that a name lives in; the reference lists
every public name as ``homeward.Name``.
"""

from __future__ import annotations

import re
from typing import Any

import homeward


def resolve(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Return a link to the public name that a reference ends with; None if there is none."""
    if node.get("refdomain") != "py":
        return None
    target = str(node.get("reftarget", "")).removeprefix("homeward.")
    for start in range(target.count(".") + 1):
        parts = target.split(".")[start:]
        if parts[0] in homeward.__all__:
            python = env.get_domain("py")
            name = ".".join(["homeward", *parts])
            return python.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, content)
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
