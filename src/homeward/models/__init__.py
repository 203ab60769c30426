"""Concrete MDPs that one can plan on: `Moves` (move or stay) and `SparseMDP` (anything)."""

from typing import TypeAlias

from homeward.models.moves import Moves
from homeward.models.sparse import SparseMDP

Model: TypeAlias = Moves | SparseMDP

__all__ = ["Model", "Moves", "SparseMDP"]
