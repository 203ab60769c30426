"""What a belief is: a distribution over MDPs that one can plan on, learn with and draw from.

Nothing needs to be subclassed. An object with these four methods is a belief; one whose mean is a
`Moves` also says its move corrections and is then planned on with the tighter bound. What else is
known of its moves it declares (`DeclaredMoves`): nothing is inferred from its numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self, cast, runtime_checkable

import numpy as np

from homeward.beliefs.corrections import Correction, Corrections
from homeward.errors import InvalidBeliefError
from homeward.models import Moves

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.models import Model


class Belief(Protocol):
    """A distribution over MDPs. Immutable: learning gives a new one."""

    def mean(self) -> Model:
        """Give the mean model: p = E[P] and r = E[R]."""
        ...

    def correction(self) -> FloatArray:
        """Give Theorem 2's σ[S, A] = Σ_t E[min(0, P[s, a, t] − p[s, a, t])]."""
        ...

    def update(self, observation: Any) -> Self:
        """Give the belief after an observation."""
        ...

    def sample(self, rng: np.random.Generator) -> Model:
        """Draw one concrete model."""
        ...


@runtime_checkable
class MoveBelief(Protocol):
    """A belief over move-or-stay worlds, which all share their destinations."""

    def move_corrections(self, discount: float) -> tuple[FloatArray, FloatArray]:
        """Give our corrections (returning, exploring), each [S, A], under discount γ."""
        ...


class DeclaredMoves(Protocol):
    """What a belief over move-or-stay worlds may declare to be planned on with tighter bounds.

    Each part is optional, and is a fact about the belief, not a bound. Where nothing is declared
    a move may have any success in a world, and one that may work may be one that always does.
    """

    @property
    def moves_work_or_never(self) -> bool:
        """Whether in each world every move that leads elsewhere works surely or never."""
        ...

    def blocked_probability(self) -> FloatArray:
        """Return Pr(P = 0) [S, A], exactly; 0 where a move would not lead elsewhere."""
        ...


class Counted(Protocol):
    """A belief that remembers where it has been; what count-based bonuses read."""

    @property
    def visited(self) -> BoolArray:
        """Which states [S] have been entered."""
        ...

    @property
    def counts(self) -> IntArray:
        """How many observations [S, A] speak of a state-action."""
        ...


def corrections_of(
    belief: Belief, model: Model, discount: float, kind: Correction | None = None
) -> Corrections:
    """Give the corrections of a belief with that mean; by default the tightest it allows."""
    movable = isinstance(model, Moves) and hasattr(belief, "move_corrections")
    if kind is None:
        kind = Correction.MOVES if movable else Correction.GENERAL
    if kind is Correction.NAIVE:
        nothing = np.zeros((model.states, model.actions))
        return Corrections(kind, nothing, nothing)
    if kind is Correction.GENERAL:
        general = belief.correction()
        return Corrections(kind, general, general)
    if not movable:
        raise InvalidBeliefError(
            "the moves correction needs a belief over move-or-stay models; "
            f"{type(belief).__name__} has a {type(model).__name__} as its mean"
        )
    returning, exploring = cast("MoveBelief", belief).move_corrections(discount)
    return Corrections(
        kind,
        returning,
        exploring,
        bool(getattr(belief, "moves_work_or_never", False)),
        belief.success_bounds()[1] if hasattr(belief, "success_bounds") else None,
    )
