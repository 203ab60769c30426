"""What the next plan starts from, small enough to be written down at every step.

Among equally good plans the planner gives one that depends on the plan before it: its outbound
policies are tried first and its multipliers are where the search begins. A run that is resumed must
start from the very same, so a recorded explorer plans from `Seeds` at every step, killed or not.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.arrays import frozen
from homeward.errors import InvalidFileError

if TYPE_CHECKING:
    from homeward.arrays import IntArray
    from homeward.plan import Plan


@dataclass(frozen=True, slots=True, eq=False)
class Seeds:
    """The part of a plan that the next one depends on; stands in for it as `previous`."""

    outbound: IntArray  # [J, S] int32
    multipliers: tuple[float, ...]  # [K] one for each criterion

    @classmethod
    def of(cls, plan: Plan | Seeds) -> Seeds:
        """Take them from a plan."""
        given = np.asarray(plan.outbound)
        policies = given if given.ndim == 2 else given.reshape(0, 0)
        outbound = frozen(np.ascontiguousarray(policies, dtype=np.int32))
        return cls(outbound, tuple(float(m) for m in plan.multipliers))

    @property
    def criteria(self) -> tuple[float, ...]:
        """As many entries as the plan had criteria, which is all that is asked of them."""
        return self.multipliers

    def encode(self) -> dict[str, Any]:
        """Give a JSON value: policies in the narrowest type, packed; multipliers to the bit."""
        low, high = (
            (int(self.outbound.min()), int(self.outbound.max())) if self.outbound.size else (0, 0)
        )
        narrow = np.result_type(np.min_scalar_type(low), np.min_scalar_type(high))
        narrow = narrow.newbyteorder("<")
        packed = zlib.compress(self.outbound.astype(narrow).tobytes(), 1)
        return {
            "shape": list(self.outbound.shape),
            "type": narrow.str,
            "policies": base64.b64encode(packed).decode(),
            "multipliers": [m.hex() for m in self.multipliers],
        }

    @classmethod
    def decode(cls, value: Any) -> Seeds:
        """Read what `encode` gave."""
        try:
            flat = np.frombuffer(
                zlib.decompress(base64.b64decode(value["policies"], validate=True)),
                dtype=np.dtype(value["type"]),
            )
            outbound = flat.reshape(value["shape"]).astype(np.int32)
            multipliers = tuple(float.fromhex(m) for m in value["multipliers"])
        except (KeyError, TypeError, ValueError, zlib.error) as cause:
            raise InvalidFileError(f"the policies to start from can't be read: {cause}") from cause
        return cls(frozen(outbound), multipliers)
