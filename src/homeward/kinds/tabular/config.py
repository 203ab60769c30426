"""The configuration of runs in Gymnasium's FrozenLake and CliffWalking."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field

from homeward.errors import InvalidInputError
from homeward.kinds.promises import CAN_COME_HOME, AgentConfig, Discount, StepLimit, check_keys
from homeward.kinds.tabular.world import Name
from homeward.planning.returning.sampled import Sampled
from homeward.runs.config import Named, Option

Concentration = Annotated[float, Field(gt=0.0, le=1e150)]


def _numbers(value: object) -> object:
    """Return the numbers of a text such as ``1,1,1,1``; return other values, lists as tuples."""
    if not isinstance(value, str):
        return tuple(value) if isinstance(value, list) else value
    try:
        return tuple(float(part) for part in value.split(","))
    except ValueError:
        raise ValueError(f"{value!r} is not AHEAD,LEFT,RIGHT,BACK") from None


class ToyTextConfig(AgentConfig):
    """FrozenLake or CliffWalking of Gymnasium: the map is known, the effects of actions are not."""

    world: Annotated[
        Name,
        Field(description="FrozenLake with or without slips, 4 × 4 or 8 × 8; or CliffWalking."),
    ] = "lake"
    prior: Annotated[
        tuple[Concentration, Concentration, Concentration, Concentration],
        BeforeValidator(_numbers),
        Field(
            description="Dirichlet prior of where an action leads: counts for ahead, left, right "
            "and back."
        ),
        Option(form="AHEAD,LEFT,RIGHT,BACK"),
    ] = (50.0, 0.05, 0.05, 0.01)
    delta: Annotated[
        Annotated[float, Field(ge=0.0, le=1.0)] | None,
        Field(description=f"{CAN_COME_HOME} Null in a file explores without a safety level."),
    ] = 0.95
    algorithm: Annotated[
        Literal["rate", "paper"],
        Field(description="rate: our algorithm. paper: Algorithm 1 of the paper."),
    ] = "rate"
    home: Annotated[
        Literal["start", "current"],
        Field(description="Where to return to; current needs --algorithm paper."),
    ] = "start"
    discount: Discount = 0.99
    confidence: Annotated[
        Annotated[float, Field(gt=0.0, lt=1.0)] | None,
        Field(
            description="Also use estimates, in worlds drawn from the prior. All their intervals "
            "hold with this probability; 1 minus it counts as risk."
        ),
        Option(unset="only what is proven"),
    ] = None
    worlds: Annotated[
        int, Field(ge=1, le=1_000_000, description="With --confidence: worlds drawn for each step.")
    ] = 2000
    lots: Annotated[
        bool,
        Field(
            description="With --confidence: where the run would end because an action risks more "
            "than the budget has left, take that action with a probability that the budget allows."
        ),
    ] = False
    limit: StepLimit = 300

    promise_keys: ClassVar = ("delta", "home", "confidence", "worlds", "lots")

    def own_level(self) -> float | None:
        """Return δ; None without a safety level."""
        return self.delta if self.explores_with().safe else None

    def at_level(self, level: float | None) -> Self | None:
        """Return the same run with another δ, or without one; None for other agents."""
        if self.agent is not None or self.confidence is not None:
            return None
        return self.model_copy(update={"delta": level})

    def sampled(self) -> Sampled | None:
        """Return the settings of sampled certificates; None if only proven bounds count."""
        if self.confidence is None:
            return None
        return Sampled(self.confidence, self.worlds, self.seed, self.lots)

    def check_use(self, explicit: Collection[str] = (), named: Named = str) -> None:
        """Raise if keys contradict each other, or if a key that was set has no effect."""
        keys = ("algorithm", "home", "discount")
        has_level = self.explores_with().safe and self.delta is not None
        if not self.explores_with().safe:
            unused = next((key for key in self.promise_keys if key in explicit), None)
            if unused is not None:
                raise InvalidInputError(f"{named(unused)} needs an agent with a safety level")
        check_keys(self, not has_level, keys, explicit, named)
        if self.confidence is None:
            for key in ("worlds", "lots"):
                if key in explicit or getattr(self, key) != type(self).model_fields[key].default:
                    raise InvalidInputError(f"{named(key)} needs {named('confidence')}")
        elif self.delta is None:
            raise InvalidInputError(f"{named('confidence')} needs a safety level")
        elif self.algorithm == "paper":
            raise InvalidInputError(f"{named('confidence')} needs {named('algorithm')} rate")
        sampled = self.sampled()
        if sampled is not None and self.delta is not None:
            least = 1.0 - sampled.confidence + sampled.margin(0.0)
            if least > 1.0 - self.delta:
                raise InvalidInputError(
                    f"{named('confidence')} {sampled.confidence:g} with {self.worlds} worlds "
                    f"leaves a doubt of {least:.2g}, more than the {1.0 - self.delta:.2g} that "
                    f"{named('delta')} {self.delta:g} allows: give a higher {named('confidence')} "
                    f"or more {named('worlds')}"
                )
