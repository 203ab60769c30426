"""Plans on disk: one file, an npz archive whose ``header.json`` says what its arrays are.

The arrays are ``.npy`` members that NumPy reads without pickle; nothing in the file is ever run.
The same plan is the same bytes. Each member has a checksum, and a file that is cut short, damaged,
of another origin or of a newer format is refused as an `InvalidFileError`.

The header is read first and lists every array with its type and shape. What is not listed, or is
larger than listed, is refused before it is unpacked: a small file can't fill the memory with more
than its header owns up to.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward import __version__
from homeward.beliefs.corrections import Correction
from homeward.certificates.beliefs import decode_belief, encode_belief
from homeward.certificates.stored import StoredPlan
from homeward.errors import HomewardError, InvalidFileError
from homeward.files import refusing, replace_file
from homeward.planning.plan import ActionEvidence, CriterionEvidence, Plan, Verdict
from homeward.solvers import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from homeward.beliefs import Belief
    from homeward.planning.planner import Planner

KIND, FORMAT = "homeward plan", 1
HEADER = "header.json"
LONGEST = 2**26
"""Bytes that a header may have."""

PREFACE = 2**14
"""Bytes that a member may have beside its array's own."""

_PLAIN = (
    "state",
    "action",
    "method",
    "rounds",
    "bonus_left",
    "worthless",
    "waits",
    "state_names",
    "action_names",
    "steps",
)
_NUMBERS = ("exploration_value", "upper_bound", "gap", "kept_value", "discount")
_ARRAYS = ("weights", "outbound", "kept_weights", "kept_outbound", "afterwards")
_ASKED = ("level", "bound", "kept_bound", "multiplier", "unit")
_SEEN = ("leaves", "exploration", "weight")
_WAYS = ("home", "way_home", "return_policy", "allowed", "return_layers", "return_since")


def save_plan(plan: Plan, belief: Belief, path: Path | str, planner: Planner) -> StoredPlan:
    """Write a plan, with the belief and the planner that it is from; whole or not at all."""
    stored = StoredPlan.of(plan, belief, planner)
    save_stored(stored, path)
    return stored


def save_stored(stored: StoredPlan, path: Path | str) -> None:
    """Write a stored plan; whole or not at all."""
    replace_file(Path(path), pack(stored))


def load_plan(path: Path | str) -> StoredPlan:
    """Read a plan that was saved; refuse what is none."""
    path = Path(path)
    with refusing(path, "can't be read"):
        data = path.read_bytes()
    return read_plan(data, str(path))


def read_plan(data: bytes, name: str) -> StoredPlan:
    """Read the content of a file of that name; refuse what is no plan."""
    try:
        return unpack(data)
    except InvalidFileError as cause:
        raise InvalidFileError(f"{name}: {cause}") from cause
    except HomewardError as cause:
        raise InvalidFileError(f"{name}: holds no sound plan: {cause}") from cause
    except Exception as cause:  # whatever a damaged archive makes its readers raise
        said = f"{type(cause).__name__}: {cause}"
        raise InvalidFileError(f"{name}: is damaged, or no plan: {said}") from cause


def pack(stored: StoredPlan) -> bytes:
    """Write a stored plan as bytes."""
    plan = stored.plan
    name, (values, belief) = encode_belief(stored.belief)
    arrays: dict[str, NDArray[Any]] = {f"belief.{key}": array for key, array in belief.items()}
    arrays |= {key: getattr(plan, key) for key in _ARRAYS if getattr(plan, key) is not None}
    arrays["bonus"] = stored.bonus
    criteria = []
    for k, criterion in enumerate(plan.criteria):
        criteria.append(
            {"name": criterion.name, "kind": criterion.kind, "within": criterion.within}
            | {key: _to_json(getattr(criterion, key)) for key in _ASKED}
            | {"limits": stored.limits[k]}
        )
        ways = {key: getattr(criterion, key) for key in _WAYS} | {"rewards": stored.rewards[k]}
        arrays |= {f"{k}.{key}": way for key, way in ways.items() if way is not None}
    header = {
        "kind": KIND,
        "format": FORMAT,
        "homeward": __version__,
        "belief": {"kind": name, "values": values},
        "plan": {key: getattr(plan, key) for key in _PLAIN}
        | {key: _to_json(getattr(plan, key)) for key in _NUMBERS}
        | {"status": str(plan.status), "correction": str(plan.correction)}
        | {"conflict": list(plan.conflict)},
        "criteria": criteria,
        "arrays": {key: _listed(np.asarray(array)) for key, array in arrays.items()},
        "evidence": [
            {
                "action": e.action,
                "verdict": e.verdict.name,
                "safety": [_to_json(bound) for bound in e.safety],
            }
            | {key: _to_json(getattr(e, key)) for key in _SEEN}
            for e in plan.evidence
        ],
    }
    text = json.dumps(header, indent=1, ensure_ascii=False, allow_nan=False).encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, HEADER, text)
        for key, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
            _add(archive, f"{key}.npy", member.getvalue())
    return file.getvalue()


def unpack(data: bytes) -> StoredPlan:
    """Read what `pack` wrote."""
    if not zipfile.is_zipfile(io.BytesIO(data)):
        raise InvalidFileError("is not a plan, or was cut short")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        header = _header_of(archive)
        arrays = _arrays_of(archive, header["arrays"])
    about = header["belief"]
    belief = decode_belief(about["kind"], about["values"], _below(arrays, "belief"))
    return StoredPlan(
        _plan_of(header, arrays),
        belief,
        arrays["bonus"],
        tuple(arrays.get(f"{k}.rewards") for k in range(len(header["criteria"]))),
        tuple(_limits(asked["limits"]) for asked in header["criteria"]),
    )


def _header_of(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Read the header of an archive; refuse one of another origin or format."""
    found = [about for about in archive.infolist() if about.filename == HEADER]
    if len(found) != 1:
        raise InvalidFileError("is an archive, but was not written by homeward")
    if found[0].file_size > LONGEST:
        raise InvalidFileError(f"has a header of {found[0].file_size} bytes, beyond {LONGEST}")
    header = json.loads(archive.read(found[0]))
    if not isinstance(header, dict) or header.get("kind") != KIND:
        raise InvalidFileError("is an archive, but holds no plan")
    if header.get("format") != FORMAT:
        raise InvalidFileError(
            f"has format {header.get('format')}; homeward {__version__} reads format {FORMAT}"
        )
    return header


def _arrays_of(archive: zipfile.ZipFile, listed: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Read the arrays that a header lists; nothing else, and nothing larger, is unpacked."""
    members = [about for about in archive.infolist() if about.filename != HEADER]
    lost = Counter(about.filename for about in members)
    lost.subtract(f"{key}.npy" for key in listed)
    wrong = sorted(name for name, count in lost.items() if count)
    if wrong:
        raise InvalidFileError(f"holds other arrays than it lists: {', '.join(wrong)}")
    arrays = {}
    for about in members:
        key = about.filename.removesuffix(".npy")
        dtype, shape = listed[key]
        most = np.dtype(dtype).itemsize * math.prod(int(count) for count in shape) + PREFACE
        if about.file_size > most:
            raise InvalidFileError(
                f"its array {key} unpacks to {about.file_size} bytes, and is listed as {dtype} of "
                f"shape {tuple(shape)}"
            )
        content = io.BytesIO(archive.read(about))
        array = np.lib.format.read_array(content, allow_pickle=False)
        if _listed(array) != [dtype, shape]:
            raise InvalidFileError(
                f"its array {key} is {array.dtype} of shape {array.shape}, and is listed as "
                f"{dtype} of shape {tuple(shape)}"
            )
        arrays[key] = array
    return arrays


def _plan_of(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Plan:
    """Put a plan together again."""
    said = header["plan"]
    criteria = []
    steps = said["steps"]
    span = 1.0 / (1.0 - float(said["discount"])) if steps is None else float(steps)
    for k, asked in enumerate(header["criteria"]):
        kept: dict[str, Any] = {key: asked[key] for key in ("name", "kind", "within")}
        kept |= {key: float(asked[key]) for key in _ASKED}
        kept |= {key: arrays.get(f"{k}.{key}") for key in _WAYS}
        criteria.append(CriterionEvidence(**kept, span=span))
    whole: dict[str, Any] = {key: said[key] for key in _PLAIN}
    for key in ("state_names", "action_names"):
        whole[key] = None if whole[key] is None else tuple(whole[key])
    whole |= {key: float(said[key]) for key in _NUMBERS}
    whole |= {key: arrays[key] for key in _ARRAYS if key != "afterwards"}
    return Plan(
        **whole,
        afterwards=arrays.get("afterwards"),
        status=Status(said["status"]),
        correction=Correction(said["correction"]),
        criteria=tuple(criteria),
        conflict=tuple(said["conflict"]),
        evidence=tuple(
            ActionEvidence(
                action=int(e["action"]),
                safety=tuple(float(bound) for bound in e["safety"]),
                verdict=Verdict[e["verdict"]],
                **{key: float(e[key]) for key in _SEEN},
            )
            for e in header["evidence"]
        ),
    )


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add a member with no date, so that the same plan is the same file."""
    about = zipfile.ZipInfo(name)
    about.compress_type = zipfile.ZIP_DEFLATED
    about.external_attr = 0o644 << 16
    archive.writestr(about, content)


def _listed(array: NDArray[Any]) -> list[Any]:
    """Give the type and the shape of an array, as the header lists them."""
    return [array.dtype.str, list(array.shape)]


def _below(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    start = f"{prefix}."
    return {key.removeprefix(start): a for key, a in arrays.items() if key.startswith(start)}


def _limits(given: Any) -> tuple[float, float] | None:
    return None if given is None else (float(given[0]), float(given[1]))


def _to_json(value: float) -> float | str:
    """Give a float as JSON, which has no infinities."""
    value = float(value)
    return value if value - value == 0.0 else repr(value)
