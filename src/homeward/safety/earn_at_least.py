"""The criterion `EarnAtLeast`: the expected earnings until the recall are at least a total."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from homeward.arrays import FloatArray, first_of, floats, number, place
from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.safety.criterion import Requirement, Situation


@dataclass(frozen=True, slots=True, eq=False)
class EarnAtLeast:
    """The expected total of rewards, discounted by γ, is at least `total` under the belief.

    `rewards` [S, A] are the same in all worlds. If they are None, the rewards of the belief's
    worlds count, which may differ between worlds; `limits` are then the least and the greatest
    reward of any world. A `FiniteBelief` and a `DirichletBelief` know their limits.
    """

    total: float
    rewards: FloatArray | None = None
    limits: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        error = InvalidProblemError
        if not np.isfinite(number(self.total, "the total to earn", error)):
            raise error(f"the total to earn is {self.total:g}, expected a finite number")
        if self.rewards is not None:
            rewards = floats(self.rewards, "the rewards to earn", None, error)
            if rewards.ndim != 2:
                raise error(f"the rewards to earn have shape {rewards.shape}, expected [S, A]")
            if not np.isfinite(rewards).all():
                at = first_of(~np.isfinite(rewards))
                raise error(
                    f"the reward to earn {place(at, 'sa')} is {rewards[at]:g}, expected a finite "
                    "number"
                )
            if self.limits is not None:
                raise error("rewards and limits can't both be given: limits are for rewards=None")
            object.__setattr__(self, "rewards", rewards)
        if self.limits is not None:
            if not isinstance(self.limits, tuple | list) or len(self.limits) != 2:
                raise error(f"the limits are {self.limits!r}, expected (least, greatest)")
            low, high = (number(limit, "a limit of the rewards", error) for limit in self.limits)
            if not -np.inf < low <= high < np.inf:
                raise error(f"the limits are ({low:g}, {high:g}), expected least <= greatest")
            object.__setattr__(self, "limits", (low, high))

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Return the requirement: its total is a lower bound on the earnings until the recall."""
        model, corrections = situation.model, situation.corrections
        shape = (model.states, model.actions)
        usable = np.isfinite(model.reward)
        rewards: FloatArray = model.reward if self.rewards is None else self.rewards
        if rewards.shape != shape:
            raise InvalidProblemError(
                f"the rewards to earn have shape {rewards.shape}, expected {shape}"
            )
        low, high = float(rewards[usable].min()), float(rewards[usable].max())
        if self.rewards is None:
            low, high = self._limits(situation, low, high)
        if not isinstance(model, Moves):
            low = min(low, 0.0)  # after the process ends, the reward is 0
        span = high - low
        sigma = corrections.exploring if span > 0.0 else np.zeros(shape)
        unit = span if span > 0.0 else 1.0
        worth = np.where(usable, np.clip((rewards - low) / unit, 0.0, 1.0), 0.0)
        reward, final = np.empty(shape) if out is None else out, None
        if situation.steps is None:
            long = 1.0 / (1.0 - situation.discount)
            np.multiply(worth, 1.0 - situation.discount, out=reward)
            reward += situation.discount * sigma
        else:
            long, final = float(situation.steps), np.zeros(model.states)
            np.add(worth / long, sigma, out=reward)
        return Requirement(
            f"earn a total of {self.total:g}",
            float(self.total),
            reward,
            worth=worth,
            least=low * long,
            unit=unit * long,
            final=final,
            kind="earn",
        )

    def _limits(self, situation: Situation, low: float, high: float) -> tuple[float, float]:
        """Return the least and the greatest reward of any world.

        Raise if the least and the greatest reward of the mean model, `low` and `high`, are outside.
        """
        known = None if situation.limits is None else situation.limits()
        limits = known if self.limits is None else self.limits
        if limits is None:
            raise InvalidProblemError(
                "the belief does not know the limits of its rewards: "
                "give EarnAtLeast the argument rewards, or limits=(least, greatest)"
            )
        slack = 1e-12 * max(abs(low), abs(high))  # a mean is rounded
        for what, least, greatest, room in (
            ("the belief's worlds pay from {:g} to {:g}", *(known or limits), 0.0),
            ("the mean rewards lie between {:g} and {:g}", low, high, slack),
        ):
            if least < limits[0] - room or greatest > limits[1] + room:
                raise InvalidProblemError(
                    f"{what.format(least, greatest)}, outside the limits "
                    f"({limits[0]:g}, {limits[1]:g})"
                )
        return limits
