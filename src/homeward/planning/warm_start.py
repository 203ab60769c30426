"""The warm start of the next plan, small enough to be recorded at every step.

The planner starts its searches from the previous plan: from its outbound policies, its multipliers
and its policy after the set to stay inside is left. So its choice among equally good plans depends
on the previous plan. A resumed run must continue exactly as if it had not stopped, so a recorded
explorer always plans from a `WarmStart`.
"""

from __future__ import annotations

import base64
import operator
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from homeward.arrays import IntArray, frozen
from homeward.errors import InvalidFileError

if TYPE_CHECKING:
    from homeward.planning.plan import Plan


@dataclass(frozen=True, slots=True, eq=False)
class WarmStart:
    """The part of a plan that the next plan depends on; `Planner.plan` accepts it as `previous`."""

    outbound: IntArray  # [J, S] int32; [J, n, S], by step, where the recall is fixed
    multipliers: tuple[float, ...]  # [K] one for each criterion
    afterwards: IntArray | None = None  # [S] int32 policy after the set to stay inside is left

    @classmethod
    def of(cls, plan: Plan | WarmStart) -> WarmStart:
        """Return the warm start of a plan; `afterwards` is None if it depends on the step."""
        given = np.asarray(plan.outbound)
        policies = given if given.ndim in (2, 3) else given.reshape(0, 0)
        outside = plan.afterwards
        return cls(
            _whole(policies),
            tuple(float(m) for m in plan.multipliers),
            None if outside is None or outside.ndim != 1 else _whole(outside),
        )

    @property
    def nbytes(self) -> int:
        """Number of bytes of the arrays."""
        return self.outbound.nbytes + (0 if self.afterwards is None else self.afterwards.nbytes)

    @property
    def steps(self) -> int | None:
        """Steps until recall; None if the recall is random."""
        return int(self.outbound.shape[1]) if self.outbound.ndim == 3 else None

    @property
    def criteria(self) -> tuple[float, ...]:
        """The multipliers, since the planner only reads the number of criteria."""
        return self.multipliers

    def encode(self) -> dict[str, Any]:
        """Return a JSON value: compressed policies in the narrowest type, and exact multipliers.

        `afterwards` is the last of the compressed policies.
        """
        flat = self.outbound.ravel()
        if self.afterwards is not None:
            flat = np.concatenate([flat, self.afterwards])
        ends = (int(flat.min()), int(flat.max())) if flat.size else (0, 0)
        narrow = np.result_type(*map(np.min_scalar_type, ends)).newbyteorder("<")
        packed = zlib.compress(flat.astype(narrow).tobytes(), 1)
        value: dict[str, Any] = {
            "shape": list(self.outbound.shape),
            "type": narrow.str,
            "policies": base64.b64encode(packed).decode(),
            "multipliers": [m.hex() for m in self.multipliers],
        }
        if self.afterwards is not None:
            value["afterwards"] = len(self.afterwards)
        return value

    @classmethod
    def decode(cls, value: Any) -> WarmStart:
        """Return the warm start that `encode` encoded; raise `InvalidFileError` if invalid."""
        try:
            packed = base64.b64decode(value["policies"], validate=True)
            flat = np.frombuffer(zlib.decompress(packed), dtype=np.dtype(value["type"]))
            outside = value.get("afterwards")
            end = len(flat) if outside is None else len(flat) - operator.index(outside)
            if not 0 <= end <= len(flat):
                raise ValueError(f"afterwards is {outside}, expected 0 to {len(flat)}")
            outbound = _whole(flat[:end].reshape(value["shape"]))
            multipliers = tuple(float.fromhex(m) for m in value["multipliers"])
        except (AttributeError, KeyError, TypeError, ValueError, zlib.error) as cause:
            raise InvalidFileError(f"the recorded warm start can't be read: {cause}") from cause
        return cls(outbound, multipliers, None if outside is None else _whole(flat[end:]))


def _whole(policies: NDArray[Any]) -> IntArray:
    """Return policies as a contiguous read-only array of int32."""
    return frozen(np.ascontiguousarray(policies, dtype=np.int32))
