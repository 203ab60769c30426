"""What a verdict on a claim has, whatever the claim is."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


class CheckedClaim:
    """A claim that was checked; a dataclass adds the fields, `reasons` among them."""

    __slots__ = ()
    reasons: tuple[str, ...]  # what speaks against the claim

    @property
    def refuted(self) -> bool:
        """Whether something speaks against it."""
        return bool(self.reasons)

    @property
    def upheld(self) -> str:
        """What is said of the claim where nothing speaks against it."""
        return "confirmed"

    @property
    def words(self) -> str:
        """The verdict in words."""
        return f"refuted: {'; '.join(self.reasons)}" if self.refuted else self.upheld

    def as_dict(self) -> dict[str, Any]:
        """Return it as a JSON value: the fields, then the verdict."""
        names = [field.name for field in fields(self) if field.name != "reasons"]  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names} | {
            "refuted": self.refuted,
            "reasons": list(self.reasons),
            "verdict": self.words,
        }
