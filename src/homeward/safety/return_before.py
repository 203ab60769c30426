"""The criterion `ReturnBefore`: be home before the whole run exceeds a limit, such as energy.

Each attempt of a move uses amounts such as metres or energy. At every step of a run, the amount
used so far plus the amount for the current way home is within each limit. So with probability at
least δ the explorer is home before any limit is exceeded, whenever it is recalled. If moves never
fail, this is certain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from homeward.arrays import FloatArray, number, numbers
from homeward.errors import InvalidProblemError
from homeward.safety.criterion import Requirement, Situation, check_level, check_steps
from homeward.safety.return_home import Home


class Allowance(NamedTuple):
    """A total amount that a run may use, such as metres or energy.

    Attributes
    ----------
    amount : The total amount, above 0
    unit : The unit of the amount, such as m
    use : [S, A] amount that an attempt uses if it works, at least 0
    lost : [S, A] amount that an attempt uses if it fails, at least 0. For actions that stay, it is
        the amount that they use.
    """

    amount: float
    unit: str
    use: FloatArray
    lost: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class ReturnBefore:
    """A return policy reaches home before the run exceeds an allowance, with probability ≥ δ.

    Parameters
    ----------
    allowances : Total amounts that the whole run may use, including the way home
    delta : The safety level of the whole run
    home : The run's ``"start"``, or a list of states; reaching any one of them is enough
    within : Largest number of steps of the return alone; None for any number
    """

    allowances: tuple[Allowance, ...]
    delta: float
    home: Home = "start"
    within: int | None = None

    def __post_init__(self) -> None:
        error = InvalidProblemError
        check_level(self.delta)
        if self.within is not None:
            object.__setattr__(self, "within", check_steps(self.within, "the return"))
        if isinstance(self.allowances, Allowance) or not self.allowances:
            raise error("allowances is not a tuple of one or more: without any, use ReturnHome")
        object.__setattr__(self, "allowances", tuple(self.allowances))
        for allowance in self.allowances:
            if not 0.0 < number(allowance.amount, "the allowance", error) < np.inf:
                raise error(f"the allowance is {allowance.amount:g}, expected above 0 and finite")
            for name in ("use", "lost"):
                what = f"{name} in {allowance.unit}"
                used = numbers(getattr(allowance, name), what, None, error)
                if used.ndim != 2:
                    raise error(f"{what} has shape {used.shape}, expected [S, A]")
                if not (used >= 0.0).all():
                    raise error(f"{what} is {used.min():g}, expected >= 0")

    @property
    def described(self) -> str:
        """The limits as text, such as "500 m in all"."""
        limits = [f"{a.amount:g} {a.unit} in all" for a in self.allowances]
        if self.within is not None:
            limits.insert(0, f"{self.within} step{'s' * (self.within != 1)}")
        return " and ".join(limits)

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Raise `InvalidProblemError`: the criterion is about a whole run, not a single plan."""
        raise InvalidProblemError("ReturnBefore is kept over a whole run: use Explorer")
