"""Codecs, which encode beliefs and user-defined criteria as a JSON object and named arrays.

An object whose type has no codec can't be stored. `register_codec` adds a codec.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from homeward.arrays import SUM_TOLERANCE, frozen
from homeward.beliefs import DirichletBelief, FiniteBelief, HeightBelief, TerrainBelief
from homeward.beliefs.attempts import Attempts
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.models import Moves, SparseMDP

Arrays: TypeAlias = "Mapping[str, NDArray[Any]]"
Written: TypeAlias = "tuple[dict[str, Any], dict[str, NDArray[Any]]]"


class Codec(NamedTuple):
    """Functions that encode one type of object as a JSON object and named arrays, and decode it."""

    name: str
    type: type
    encode: Callable[[Any], Written]
    decode: Callable[[Mapping[str, Any], Arrays], Any]


def encode(value: object) -> tuple[str, Written]:
    """Return the name of the codec of an object, and the encoded object.

    Raise `InvalidInputError` if its type has no codec.
    """
    for codec in _CODECS.values():
        if type(value) is codec.type:
            return codec.name, codec.encode(value)
    raise InvalidInputError(
        f"a {type(value).__name__} can't be stored, because it has no codec: see register_codec "
        f"(types with a codec: {', '.join(c.type.__name__ for c in _CODECS.values())})"
    )


def decode(name: str, what: str, values: Mapping[str, Any], arrays: Arrays) -> Any:
    """Return the object that the codec `name` encoded; messages call the object `what`."""
    codec = _CODECS.get(name)
    if codec is None:
        raise InvalidFileError(
            f"contains a {what} of the unknown type {name!r}: call register_codec before reading"
        )
    return codec.decode(values, arrays)


def register_codec(codec: Codec) -> Codec:
    """Add the codec of a belief or of a criterion for this process, and return it.

    Its `type` is the class that it encodes. Raise if another codec has its name.
    """
    if _CODECS.get(codec.name, codec) is not codec:
        raise InvalidInputError(f"another codec is already named {codec.name}")
    _CODECS[codec.name] = codec
    return codec


def _encode_finite(belief: FiniteBelief) -> Written:
    first = belief.worlds[0]
    values: dict[str, Any] = {"worlds": len(belief.worlds), "moves": isinstance(first, Moves)}
    values |= {name: getattr(first, name) for name in _NAMES}
    arrays: dict[str, NDArray[Any]] = {
        "weights": belief.weights,
        "visited": belief.visited,
        "counts": belief.counts,
        "reward": np.stack([world.reward for world in belief.worlds]),
    }
    if isinstance(first, Moves):
        arrays["dest"] = first.dest
        arrays["success"] = np.stack([w.success for w in belief.worlds if isinstance(w, Moves)])
        return values, arrays
    for i, world in enumerate(belief.worlds):
        rows = world.sparse().transitions
        arrays |= {f"{i}.data": rows.data, f"{i}.indices": rows.indices, f"{i}.ends": rows.indptr}
    return values, arrays


def _decode_finite(values: Mapping[str, Any], arrays: Arrays) -> FiniteBelief:
    reward = arrays["reward"]
    count, states, actions = reward.shape
    if count != values["worlds"]:
        raise InvalidFileError(f"contains {count} worlds, expected {values['worlds']}")
    worlds: list[Moves | SparseMDP] = []
    names = [values[name] for name in _NAMES]
    for i in range(count):
        if values["moves"]:
            worlds.append(Moves(arrays["dest"], arrays["success"][i], reward[i], *names))
            continue
        parts = (arrays[f"{i}.data"], arrays[f"{i}.indices"], arrays[f"{i}.ends"])
        matrix = csr_array(parts, shape=(states * actions, states))
        matrix.check_format()
        worlds.append(SparseMDP(matrix, reward[i], *names))
    weights = arrays["weights"]
    belief = FiniteBelief(worlds, weights, arrays["visited"], arrays["counts"])
    if np.abs(belief.weights - weights).max() < SUM_TOLERANCE:  # undo rounding by normalisation
        object.__setattr__(belief, "weights", frozen(weights))
    return belief


def _encode_terrain(belief: TerrainBelief) -> Written:
    values: dict[str, Any] = {"shape": list(belief.shape), "cell": list(belief.size)}
    values |= {"climb": float(belief.climb), "descend": float(belief.descend)}
    arrays = {name: getattr(belief, name) for name in ("height", "variance", "blocked")}
    if len(belief.attempts):
        arrays |= {"tried": belief.attempts.pairs, "worked": belief.attempts.worked}
    if belief.limits is not None:
        arrays |= dict(zip(("drop", "rise"), belief.limits, strict=True))
    return values, arrays


def _decode_terrain(values: Mapping[str, Any], arrays: Arrays) -> TerrainBelief:
    (rows, columns), (high, wide) = values["shape"], values["cell"]
    height, variance, blocked = (arrays[name] for name in ("height", "variance", "blocked"))
    return TerrainBelief(
        (rows, columns),
        height,
        variance,
        (high, wide),
        values["climb"],
        values["descend"],
        blocked,
        Attempts(arrays["tried"], arrays["worked"]) if "tried" in arrays else Attempts.none(),
        limits=(arrays["drop"], arrays["rise"]) if "drop" in arrays else None,
    )


def _by_fields(
    name: str, cls: type, plain: Sequence[str], arrays: Sequence[str], newer: Sequence[str] = ()
) -> Codec:
    """Return a codec that stores arguments of the constructor of `cls`, which are also attributes.

    `plain` are arguments that JSON can hold, and `newer` are those of them that old files lack.
    """

    def encode(belief: Any) -> Written:
        values = {key: getattr(belief, key) for key in (*plain, *newer)}
        return values, {key: np.asarray(getattr(belief, key)) for key in arrays}

    def decode(values: Mapping[str, Any], read: Arrays) -> Any:
        given = {key: values[key] for key in (*plain, *(key for key in newer if key in values))}
        given |= {key: tuple(value) for key, value in given.items() if isinstance(value, list)}
        return cls(**given, **{key: read[key] for key in arrays})

    return Codec(name, cls, encode, decode)


_NAMES = ("state_names", "action_names")
_ROWS = ("outcomes", "alpha", "kinds", "reward", "visited", "tallies")
_CELLS = ("prior", "walls", "known", "visited")
_CODECS = {
    "finite": Codec("finite", FiniteBelief, _encode_finite, _decode_finite),
    "dirichlet": _by_fields("dirichlet", DirichletBelief, _NAMES, _ROWS),
    "heights": _by_fields("heights", HeightBelief, ("shape", "stay"), _CELLS, ("climb",)),
    "terrain": Codec("terrain", TerrainBelief, _encode_terrain, _decode_terrain),
}
