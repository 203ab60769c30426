"""What a toy-text run can be asked for."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from homeward.kinds.tabular.world import Name
from homeward.runs.config import Config

Concentration = Annotated[float, Field(gt=0.0, le=1e150)]


class ToyTextConfig(Config):
    """A world, what was believed of one's own actions beforehand, and the safety level."""

    world: Name
    prior: tuple[Concentration, Concentration, Concentration, Concentration]
    delta: Annotated[float, Field(ge=0.0, le=1.0)] | None = 0.95  # none explores unsafely
    algorithm: Literal["rate", "paper"] = "rate"
    home: Literal["start", "current"] = "start"
    discount: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.99
    limit: Annotated[int, Field(ge=0)] = 300  # steps
