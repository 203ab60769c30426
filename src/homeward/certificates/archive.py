"""Plan files: an npz archive whose ``header.json`` lists its arrays.

Reading a file executes nothing in it. Equal plans give equal bytes. A file that is truncated or
damaged, or that has another format, raises an `InvalidFileError`. If an array is not listed in the
header, or is larger than listed, the file is refused before the array is unpacked, so a small file
can't fill the memory.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from homeward import __version__
from homeward.beliefs import Belief
from homeward.beliefs.corrections import Correction
from homeward.certificates.claims import ActionEvidence, CriterionClaims, PlanClaims
from homeward.certificates.codecs import decode, encode
from homeward.certificates.stored_plan import StoredPlan
from homeward.errors import HomewardError, InvalidFileError
from homeward.files import json_safe, refusing, replace_file
from homeward.solvers import Status

KIND, FORMAT = "homeward plan", 1
HEADER = "header.json"
MAX_HEADER_BYTES = 2**26
MAX_PREFACE_BYTES = 2**14  # largest size in bytes of the npy header of an array
LATER_FIELDS = ("evaluator", "corrected", "kept_corrected")  # fields that older files lack
T = TypeVar("T")


def save_plan(plan: PlanClaims, belief: Belief, path: Path | str, planner: Any) -> StoredPlan:
    """Write a plan with its belief and planner atomically; return the stored plan."""
    stored = StoredPlan.of(plan, belief, planner)
    save_stored(stored, path)
    return stored


def save_stored(stored: StoredPlan, path: Path | str) -> None:
    """Write a stored plan atomically."""
    replace_file(Path(path), pack(stored))


def load_plan(path: Path | str) -> StoredPlan:
    """Return the plan of a file; raise `InvalidFileError` if the file does not contain a plan."""
    path = Path(path)
    with refusing(path, "can't be read"):
        data = path.read_bytes()
    try:
        return unpack(data)
    except InvalidFileError as cause:
        raise InvalidFileError(f"{path}: {cause}") from cause
    except HomewardError as cause:
        raise InvalidFileError(f"{path}: contains an invalid plan: {cause}") from cause
    except Exception as cause:  # zipfile and numpy raise various exceptions on a damaged archive
        reason = f"{type(cause).__name__}: {cause}"
        raise InvalidFileError(f"{path}: is damaged or not a plan: {reason}") from cause


def pack(stored: StoredPlan) -> bytes:
    """Return the bytes of a plan file."""
    plan = stored.plan
    name, (values, belief) = encode(stored.belief)
    arrays: dict[str, NDArray[Any]] = {f"belief.{key}": array for key, array in belief.items()}
    claims = _split(PlanClaims, plan, arrays, "")
    del claims["criteria"], claims["evidence"]
    arrays["bonus"] = stored.bonus
    criteria = []
    for k, criterion in enumerate(plan.criteria):
        fields_ = _split(CriterionClaims, criterion, arrays, f"{k}.")
        criteria.append(fields_ | {"limits": stored.limits[k]})
        own = stored.own[k]
        if own is not None:
            codec, (about, parts) = encode(own)
            criteria[-1]["own"] = {"kind": codec, "values": about}
            arrays |= {f"{k}.own.{key}": array for key, array in parts.items()}
        given = stored.rewards[k]
        if given is not None:
            arrays[f"{k}.rewards"] = given
    header = {
        "kind": KIND,
        "format": FORMAT,
        "homeward": __version__,
        "belief": {"kind": name, "values": values},
        "plan": claims,
        "criteria": criteria,
        "arrays": {key: _listed(np.asarray(array)) for key, array in arrays.items()},
        "evidence": [
            {key: json_safe(value) for key, value in row._asdict().items()}
            | {"verdict": row.verdict.upper(), "safety": [json_safe(b) for b in row.safety]}
            for row in plan.evidence
        ],
    }
    text = json.dumps(header, indent=1, ensure_ascii=False, allow_nan=False).encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:

        def add(name: str, content: bytes) -> None:
            about = zipfile.ZipInfo(name)  # with a fixed date, so that equal plans give equal bytes
            about.compress_type = zipfile.ZIP_DEFLATED
            about.external_attr = 0o644 << 16
            archive.writestr(about, content)

        add(HEADER, text)
        for key, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
            add(f"{key}.npy", member.getvalue())
    return file.getvalue()


def unpack(data: bytes) -> StoredPlan:
    """Return the stored plan from the bytes of a plan file."""
    if not zipfile.is_zipfile(io.BytesIO(data)):
        raise InvalidFileError("is not a plan, or is truncated")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        header = _header_of(archive)
        arrays = _arrays_of(archive, header["arrays"])
    claims, criteria = header["plan"], header["criteria"]
    plan = _joined(
        PlanClaims,
        claims,
        arrays,
        "",
        status=Status(claims["status"]),
        correction=Correction(claims["correction"]),
        criteria=tuple(
            _joined(CriterionClaims, c, arrays, f"{k}.") for k, c in enumerate(criteria)
        ),
        evidence=tuple(
            ActionEvidence(
                int(row["action"]),
                float(row["leaves"]),
                float(row["exploration"]),
                tuple(float(bound) for bound in row["safety"]),
                float(row["weight"]),
                row["verdict"].lower(),
            )
            for row in header["evidence"]
        ),
    )
    limits = [criterion["limits"] for criterion in criteria]
    owns = enumerate(criterion.get("own") for criterion in criteria)
    return StoredPlan(
        plan,
        _decoded(header["belief"], "belief", arrays, "belief."),
        arrays["bonus"],
        tuple(arrays.get(f"{k}.rewards") for k in range(len(criteria))),
        tuple(None if pair is None else (float(pair[0]), float(pair[1])) for pair in limits),
        tuple(own and _decoded(own, "criterion", arrays, f"{k}.own.") for k, own in owns),
    )


def _decoded(
    encoded: Mapping[str, Any], what: str, arrays: Mapping[str, NDArray[Any]], prefix: str
) -> Any:
    """Return an object that a codec encoded; the names of its arrays start with `prefix`."""
    parts = {key.removeprefix(prefix): a for key, a in arrays.items() if key.startswith(prefix)}
    return decode(encoded["kind"], what, encoded["values"], parts)


def _split(cls: type, claims: Any, arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, Any]:
    """Return the fields of a dataclass that are not arrays, as JSON; add its arrays to `arrays`."""
    values = {field.name: getattr(claims, field.name) for field in fields(cls)}
    arrays |= {prefix + key: v for key, v in values.items() if isinstance(v, np.ndarray)}
    return {key: json_safe(v) for key, v in values.items() if not isinstance(v, np.ndarray)}


def _joined(
    cls: type[T], claims: Mapping[str, Any], arrays: Mapping[str, Any], prefix: str, **known: Any
) -> T:
    """Return the instance of `cls` whose fields `_split` stored in `claims` and `arrays`.

    Fields in `known` have the values given there and are not read.
    """
    values = dict(known)
    for field in fields(cls):  # type: ignore[arg-type]
        name, kind = field.name, str(field.type)
        if name in known or (kind.endswith("Array | None") and prefix + name not in arrays):
            values.setdefault(name, None)
        elif "Array" in kind:
            values[name] = arrays[prefix + name]
        elif name in claims or name not in LATER_FIELDS:
            given = float(claims[name]) if kind == "float" else claims[name]
            values[name] = tuple(given) if isinstance(given, list) else given
    return cls(**values)


def _header_of(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return the header of an archive; raise if the file is not a plan in this format."""
    headers = [member for member in archive.infolist() if member.filename == HEADER]
    if len(headers) != 1:
        raise InvalidFileError("is an archive, but was not written by homeward")
    size = headers[0].file_size
    if size > MAX_HEADER_BYTES:
        raise InvalidFileError(f"has a header of {size} bytes, expected at most {MAX_HEADER_BYTES}")
    header = json.loads(archive.read(headers[0]))
    if not isinstance(header, dict) or header.get("kind") != KIND:
        raise InvalidFileError("is an archive, but does not contain a plan")
    if header.get("format") != FORMAT:
        raise InvalidFileError(
            f"has format {header.get('format')}; homeward {__version__} reads format {FORMAT}"
        )
    return header


def _arrays_of(archive: zipfile.ZipFile, listed: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the arrays of an archive by name; raise unless each has the `listed` type and shape.

    A larger array is not unpacked.
    """
    members = [about for about in archive.infolist() if about.filename != HEADER]
    surplus = Counter(about.filename for about in members)
    surplus.subtract(f"{key}.npy" for key in listed)
    wrong = sorted(name for name, count in surplus.items() if count)
    if wrong:
        raise InvalidFileError(
            f"these arrays are missing, or are not listed in the header: {', '.join(wrong)}"
        )
    arrays = {}
    for about in members:
        key = about.filename.removesuffix(".npy")
        dtype, shape = listed[key]
        size = np.dtype(dtype).itemsize * math.prod(int(count) for count in shape)
        if about.file_size > size + MAX_PREFACE_BYTES:
            raise InvalidFileError(
                f"the array {key} unpacks to {about.file_size} bytes, but the header lists {dtype} "
                f"of shape {tuple(shape)}"
            )
        content = io.BytesIO(archive.read(about))
        array = np.lib.format.read_array(content, allow_pickle=False)
        if _listed(array) != [dtype, shape]:
            raise InvalidFileError(
                f"the array {key} is {array.dtype} of shape {array.shape}, but the header lists "
                f"{dtype} of shape {tuple(shape)}"
            )
        arrays[key] = array
    return arrays


def _listed(array: NDArray[Any]) -> list[Any]:
    """Return the header's entry for an array: [dtype, shape]."""
    return [array.dtype.str, list(array.shape)]
