"""The configuration of runs in Gymnasium's FrozenLake and CliffWalking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field

from homeward.kinds.promises import CAN_COME_HOME, Discount, StepLimit, check_keys
from homeward.kinds.tabular.world import Name
from homeward.runs.config import Config, Named, Option

if TYPE_CHECKING:
    from collections.abc import Collection

Concentration = Annotated[float, Field(gt=0.0, le=1e150)]


def _numbers(value: object) -> object:
    """Return the numbers of a text such as ``1,1,1,1``; return other values unchanged."""
    if not isinstance(value, str):
        return tuple(value) if isinstance(value, list) else value
    try:
        return tuple(float(part) for part in value.split(","))
    except ValueError:
        raise ValueError(f"{value!r} is not AHEAD,LEFT,RIGHT,BACK") from None


class ToyTextConfig(Config):
    """FrozenLake or CliffWalking of Gymnasium: the map is known, the effects of actions are not."""

    world: Annotated[Name, Field(description="The world.")] = "lake"
    prior: Annotated[
        tuple[Concentration, Concentration, Concentration, Concentration],
        BeforeValidator(_numbers),
        Field(
            description="Prior counts of where an action leads: ahead, to its left, to its right, "
            "back."
        ),
        Option(form="AHEAD,LEFT,RIGHT,BACK"),
    ] = (50.0, 0.05, 0.05, 0.01)
    delta: Annotated[
        Annotated[float, Field(ge=0.0, le=1.0)] | None,
        Field(description=f"{CAN_COME_HOME} Null in a file explores without a safety level."),
    ] = 0.95
    algorithm: Annotated[
        Literal["rate", "paper"], Field(description="The default, or the paper's Algorithm 1.")
    ] = "rate"
    home: Annotated[
        Literal["start", "current"],
        Field(description="Where to return to; current needs --algorithm paper."),
    ] = "start"
    discount: Discount = 0.99
    limit: StepLimit = 300

    def check_use(self, explicit: Collection[str] = (), named: Named = str) -> None:
        """Raise if keys contradict each other, or if a key that was set has no effect."""
        keys = ("algorithm", "home", "discount")
        check_keys(self, self.delta is None, keys, explicit, named)
