"""Beliefs as plain arrays and JSON, and back: one codec for each kind of belief.

What no codec is known for is refused by name. `register_codec` makes another known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from homeward.arrays import SUM_TOLERANCE, frozen
from homeward.beliefs import DirichletBelief, FiniteBelief, HeightBelief, TerrainBelief
from homeward.beliefs.attempts import Attempts
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.models import Moves, SparseMDP

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from homeward.beliefs import Belief

Arrays: TypeAlias = "Mapping[str, NDArray[Any]]"
Written: TypeAlias = "tuple[dict[str, Any], dict[str, NDArray[Any]]]"


_DIRICHLET = ("outcomes", "alpha", "kinds", "reward", "visited", "tallies")


class Codec(NamedTuple):
    """How one kind of belief is written down: as a JSON object and named arrays, and back."""

    name: str
    type: type
    encode: Callable[[Any], Written]
    decode: Callable[[Mapping[str, Any], Arrays], Any]


def encode_belief(belief: Belief) -> tuple[str, Written]:
    """Give the name of a belief's codec and what it writes; refuse a belief that has none."""
    for codec in _CODECS.values():
        if type(belief) is codec.type:
            return codec.name, codec.encode(belief)
    raise InvalidInputError(
        f"a {type(belief).__name__} can't be stored: it is not known how it is written down "
        f"(known: {', '.join(c.type.__name__ for c in _CODECS.values())})"
    )


def decode_belief(name: str, values: Mapping[str, Any], arrays: Arrays) -> Belief:
    """Read a belief back."""
    codec = _CODECS.get(name)
    if codec is None:
        raise InvalidFileError(f"it holds a belief of the kind {name!r}, which is not known here")
    belief: Belief = codec.decode(values, arrays)
    return belief


def register_codec(codec: Codec) -> Codec:
    """Make another kind of belief known in this process; a name is given once."""
    if _CODECS.get(codec.name, codec) is not codec:
        raise InvalidInputError(f"there is another kind of belief named {codec.name}")
    _CODECS[codec.name] = codec
    return codec


def _encode_finite(belief: FiniteBelief) -> Written:
    first = belief.worlds[0]
    values: dict[str, Any] = {"worlds": len(belief.worlds), "moves": isinstance(first, Moves)}
    values |= _names(first)
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
        raise InvalidFileError(f"it holds {count} worlds, and says {values['worlds']}")
    worlds: list[Moves | SparseMDP] = []
    for i in range(count):
        if values["moves"]:
            success = arrays["success"][i]
            worlds.append(Moves(arrays["dest"], success, reward[i], *_read_names(values)))
            continue
        parts = (arrays[f"{i}.data"], arrays[f"{i}.indices"], arrays[f"{i}.ends"])
        matrix = csr_array(parts, shape=(states * actions, states))
        matrix.check_format()
        worlds.append(SparseMDP(matrix, reward[i], *_read_names(values)))
    weights = arrays["weights"]
    belief = FiniteBelief(worlds, weights, arrays["visited"], arrays["counts"])
    if np.abs(belief.weights - weights).max() < SUM_TOLERANCE:  # but for rounding, as they were
        object.__setattr__(belief, "weights", frozen(weights))
    return belief


def _encode_dirichlet(belief: DirichletBelief) -> Written:
    return _names(belief), {name: np.asarray(getattr(belief, name)) for name in _DIRICHLET}


def _decode_dirichlet(values: Mapping[str, Any], arrays: Arrays) -> DirichletBelief:
    rows: dict[str, Any] = {name: arrays[name] for name in _DIRICHLET}
    states, actions = _read_names(values)
    return DirichletBelief(**rows, state_names=states, action_names=actions)


def _encode_heights(belief: HeightBelief) -> Written:
    names = ("prior", "walls", "known", "visited")
    values = {"shape": list(belief.shape), "stay": belief.stay}
    return values, {name: np.asarray(getattr(belief, name)) for name in names}


def _decode_heights(values: Mapping[str, Any], arrays: Arrays) -> HeightBelief:
    prior, walls, known, visited = (arrays[n] for n in ("prior", "walls", "known", "visited"))
    return HeightBelief(tuple(values["shape"]), prior, walls, values["stay"], known, visited)


def _encode_terrain(belief: TerrainBelief) -> Written:
    values = {
        "shape": list(belief.shape),
        "cell": list(belief.size),
        "climb": float(belief.climb),
        "descend": float(belief.descend),
    }
    arrays = {name: getattr(belief, name) for name in ("height", "variance", "blocked")}
    if len(belief.attempts):
        arrays |= {"tried": belief.attempts.pairs, "worked": belief.attempts.worked}
    return values, arrays


def _decode_terrain(values: Mapping[str, Any], arrays: Arrays) -> TerrainBelief:
    rows, columns = values["shape"]
    high, wide = values["cell"]
    return TerrainBelief(
        (rows, columns),
        arrays["height"],
        arrays["variance"],
        (high, wide),
        values["climb"],
        values["descend"],
        arrays["blocked"],
        Attempts(arrays["tried"], arrays["worked"]) if "tried" in arrays else Attempts.none(),
    )


def _names(named: Any) -> dict[str, Any]:
    """Give what states and actions are called."""
    return {"state_names": named.state_names, "action_names": named.action_names}


def _read_names(values: Mapping[str, Any]) -> tuple[Any, Any]:
    states, actions = values["state_names"], values["action_names"]
    return states, actions


_CODECS = {
    codec.name: codec
    for codec in (
        Codec("finite", FiniteBelief, _encode_finite, _decode_finite),
        Codec("dirichlet", DirichletBelief, _encode_dirichlet, _decode_dirichlet),
        Codec("heights", HeightBelief, _encode_heights, _decode_heights),
        Codec("terrain", TerrainBelief, _encode_terrain, _decode_terrain),
    )
}
