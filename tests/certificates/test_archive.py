"""Plans on disk: read back as they were, or refused."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.certificates.cases import (
    every_belief,
    every_plan,
    far,
    heights,
    made,
    ridge,
    ridge_plan,
)

from homeward.beliefs import FiniteBelief
from homeward.certificates import archive, certify, load_plan, save_plan, save_stored
from homeward.certificates.archive import HEADER, pack, unpack
from homeward.certificates.claims import PlanClaims
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.planning.planner import Planner
from homeward.safety import ReturnHome

GOOD = pack(ridge_plan())
EARLIER = Path(__file__).parent / "data" / "earlier-plan.npz"
"""The plan `every_plan("moves", recall=3)`, written when a file held a live plan."""


def rewritten(change: Any, data: bytes = GOOD) -> bytes:
    """Return an archive whose header was changed."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    header = json.loads(members[HEADER])
    change(header, members)
    members[HEADER] = json.dumps(header).encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return file.getvalue()


def npy(array: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


@pytest.mark.parametrize("recall", [None, 3])
@pytest.mark.parametrize("name", every_belief())
def test_a_plan_reads_back_as_it_was_to_the_bit(
    tmp_path: Path, name: str, recall: int | None
) -> None:
    stored = every_plan(name, recall=recall)
    save_stored(stored, tmp_path / "plan.npz")
    again = load_plan(tmp_path / "plan.npz")
    assert pack(again) == pack(stored)
    assert str(again.plan) == PlanClaims.__str__(stored.plan)
    assert type(again.belief) is type(stored.belief)
    mean, before = again.belief.mean(), stored.belief.mean()
    assert (mean.sparse().transitions != before.sparse().transitions).nnz == 0
    np.testing.assert_array_equal(mean.reward, before.reward)
    np.testing.assert_array_equal(again.belief.correction(), stored.belief.correction())
    for criterion, was in zip(again.plan.criteria, stored.plan.criteria, strict=True):
        np.testing.assert_array_equal(criterion.return_policies, was.return_policies)


def test_a_plan_that_an_earlier_version_wrote_is_read_and_confirmed() -> None:
    stored = load_plan(EARLIER)
    assert pack(unpack(pack(stored))) == pack(stored)
    assert (stored.plan.steps, len(stored.plan.criteria)) == (3, 4)
    assert not certify(stored, method="exact").refuted


def test_a_belief_that_has_learned_reads_back_with_what_it_learned(tmp_path: Path) -> None:
    belief = heights()
    planner = Planner(far, [ReturnHome(0.5)], 0.9)
    save_plan(planner.plan(belief, 0), belief, tmp_path / "plan.npz", planner)
    again: Any = load_plan(tmp_path / "plan.npz").belief
    np.testing.assert_array_equal(again.known, belief.known)
    np.testing.assert_array_equal(again.visited, belief.visited)
    np.testing.assert_array_equal(again.success, belief.success)


def test_an_infeasible_plan_keeps_its_infinities(tmp_path: Path) -> None:
    stored = made(ridge(0.5), [ReturnHome(1.0, 0)], far, 0.5, state=1)
    assert stored.plan.upper_bound == -np.inf
    save_stored(stored, tmp_path / "plan.npz")
    assert load_plan(tmp_path / "plan.npz").plan.upper_bound == -np.inf


def test_names_are_kept(tmp_path: Path) -> None:
    named = [replace(w, state_names=("camp", "ridge")) for w in ridge().worlds]
    stored = made(FiniteBelief(named), [ReturnHome(0.5)], far)
    save_stored(stored, tmp_path / "plan.npz")
    assert "In camp" in str(load_plan(tmp_path / "plan.npz").plan)


def test_a_belief_that_no_codec_knows_is_refused_by_name(tmp_path: Path) -> None:
    class Hunch(FiniteBelief):
        pass

    belief = Hunch(ridge().worlds)
    planner = Planner(far, [ReturnHome(0.5)], 0.9)
    with pytest.raises(InvalidInputError, match="a Hunch can't be stored"):
        save_plan(planner.plan(belief, 0), belief, tmp_path / "plan.npz", planner)
    assert list(tmp_path.iterdir()) == []


def test_what_can_not_be_written_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan.npz"
    save_stored(ridge_plan(), path)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InvalidFileError, match=r"plan.npz: can't be written: No space"):
        save_stored(ridge_plan(0.8), path)
    assert path.read_bytes() == GOOD
    assert [p.name for p in tmp_path.iterdir()] == ["plan.npz"]


def refused(tmp_path: Path, data: bytes) -> str:
    path = tmp_path / "plan.npz"
    path.write_bytes(data)
    with pytest.raises(InvalidFileError, match=r"plan\.npz: ") as caught:
        load_plan(path)
    return str(caught.value)


def _set(*keys: Any, to: Any) -> Any:
    def change(header: Any, members: Any) -> None:
        for key in keys[:-1]:
            header = header[key]
        header[keys[-1]] = to

    return change


def _member(name: str, content: bytes | None) -> Any:
    def change(header: Any, members: Any) -> None:
        if content is None:
            del members[name]
        else:
            members[name] = content

    return change


def _array(name: str, array: Any) -> Any:
    def change(header: Any, members: Any) -> None:
        members[f"{name}.npy"] = npy(array)
        header["arrays"][name] = [array.dtype.str, list(array.shape)]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("format", to=2), "has format 2; homeward"),
        (_set("kind", to="a poem"), "does not contain a plan"),
        (_set("belief", "kind", to="hunch"), "belief of the unknown type 'hunch'"),
        (_set("plan", "state", to=7), "the plan's state is 7, outside 0..1"),
        (_set("plan", "discount", to=1.5), "γ is 1.5"),
        (_set("plan", "status", to="splendid"), "splendid"),
        (_set("plan", "steps", to=2), "outbound has shape (2, 2), expected (2, 2, 2)"),
        (_set("criteria", 0, "bound", to="inf"), "criterion 0 claims the number inf"),
        (_set("criteria", 0, "unit", to=0.0), "the unit 0"),
        (_set("criteria", 0, "kind", to="fly"), "has the unknown kind 'fly'"),
        (_set("criteria", 0, "kind", to="stay"), "only kind stay must have a set"),
        (_set("criteria", 0, "within", to=3), "but no return policies for them"),
        (_set("criteria", to=7), "damaged or not a plan"),
        (_member("weights.npy", None), "not listed in the header: weights.npy"),
        (_member("more.npy", b""), "not listed in the header: more.npy"),
        (_set("plan", to={}), "damaged or not a plan: KeyError"),
        (_member("weights.npy", b"\x93NUMPY"), "damaged or not a plan"),
        (_member("weights.npy", npy(np.array([0.7, 0.7]))), "not probabilities that sum to 1"),
        (_member("outbound.npy", npy(np.full((2, 2), 5, np.int32))), "(j=0, s=0) is 5"),
        (
            _array("outbound", np.zeros((2, 3), np.int32)),
            "has shape (2, 3), expected (2, 2)",
        ),
        (_array("outbound", np.zeros((2, 2))), "outbound must hold whole numbers, not float64"),
        (_member("outbound.npy", npy(np.zeros((2, 3), np.int32))), "the header lists <i4 of shape"),
        (_set("arrays", "bonus", to=["|O", [2, 2]]), "the header lists |O"),
        (_set("plan", "action", to=1), "the plan's action is 1, but kept_outbound (j=0) starts"),
        (_set("plan", "gap", to=0.1), "the plan's gap is 0.1, but 0.4 − 0.4 is "),
        (_set("plan", "gap", to="nan"), "the plan's gap is nan"),
        (_set("plan", "gap", to=-0.0001), "the plan's gap is -0.0001"),
        (_set("plan", "upper_bound", to="nan"), "bound nan"),
        (_set("plan", "kept_value", to="inf"), "kept value inf"),
        (
            _set("plan", "status", to="infeasible"),
            "the plan is infeasible, but its upper bound is 0.4",
        ),
        (_set("plan", "conflict", to=[0]), "criteria [0] are in conflict, but the plan is optimal"),
        (_set("plan", "conflict", to=[3]), "a criterion in conflict is 3, outside 0..0"),
        (_set("plan", "conflict", to=["all"]), "a criterion in conflict is 'all'"),
        (_set("plan", "rounds", to="many"), "the number of the plan's rounds is 'many'"),
        (_set("plan", "method", to="magic"), "the plan's method is 'magic'"),
        (_set("plan", "waits", to="no"), "the plan's waits is 'no'"),
        (_set("plan", "state_names", to=["a", "b"]), "state names differ from those of its belief"),
        (_set("plan", "state_names", to=[1, 2]), "the state names are not a sequence of names"),
        (_set("plan", "action_names", to=["a"]), "1 action names for 2 actions"),
        (_set("criteria", 0, "unit", to=1e12), "is a probability with the unit 1e+12"),
        (_set("criteria", 0, "level", to=1.5), "has the level 1.5, expected a probability"),
        (_set("criteria", 0, "multiplier", to=-1.0), "has a multiplier of -1, expected 0 <= λ"),
        (_set("criteria", 0, "multiplier", to="inf"), "has a multiplier of inf, expected 0 <= λ"),
        (_set("criteria", 0, "multiplier", to="nan"), "has a multiplier of nan, expected 0 <= λ"),
        (_set("criteria", 0, "name", to="return to Earth"), "expected 'return to state 0'"),
        (_set("criteria", 0, "name", to=7), "criterion 0 has the name 7"),
        (_set("criteria", 0, "limits", to=[0, 1]), "of kind return, but has rewards or limits"),
        (_member("bonus.npy", npy(np.full((2, 2), np.nan))), "the bonus is nan at (0, 0)"),
        (_array("0.home", np.array([9], np.int32)), "the home of criterion 0 (s=0) is 9"),
        (
            _member("belief.weights.npy", npy(np.array(["a", {}], object), allow_pickle=True)),
            "Object arrays cannot be loaded",
        ),
        (_member("belief.success.npy", npy(np.full((2, 2, 2), 3.0))), "contains an invalid plan"),
    ],
)
def test_what_does_not_say_what_it_should_is_refused(
    tmp_path: Path, change: Any, message: str
) -> None:
    assert message in refused(tmp_path, rewritten(change))


def test_what_an_array_unpacks_to_is_known_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A megabyte of zeros packs into a kilobyte; it must not be unpacked to be refused."""
    zeros = npy(np.zeros(2**17))
    read: list[str] = []

    def reading(self: Any, name: Any, pwd: Any = None) -> bytes:
        read.append(name.filename)
        return plain(self, name, pwd)

    plain = zipfile.ZipFile.read
    unlisted, larger = rewritten(_member("more.npy", zeros)), rewritten(_member("bonus.npy", zeros))
    monkeypatch.setattr(zipfile.ZipFile, "read", reading)
    assert "not listed in the header: more.npy" in refused(tmp_path, unlisted)
    assert read == [HEADER]
    assert "the array bonus unpacks to 1048704 bytes, but the header lists <f8 of shape (2, 2)" in (
        refused(tmp_path, larger)
    )
    assert "bonus.npy" not in read


def test_a_header_without_end_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_HEADER_BYTES", 100)
    assert "has a header of" in refused(tmp_path, GOOD)


def test_an_array_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    file = io.BytesIO(GOOD)
    with (
        pytest.warns(UserWarning, match="Duplicate name"),
        zipfile.ZipFile(file, "a") as more,
    ):
        more.writestr("bonus.npy", b"")
    assert "not listed in the header: bonus.npy" in refused(tmp_path, file.getvalue())


@pytest.mark.parametrize("data", [b"", b"PK", b"\x00" * 500, b"not a plan at all"])
def test_what_is_no_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    assert "is not a plan, or is truncated" in refused(tmp_path, data)


def test_a_foreign_archive_is_refused(tmp_path: Path) -> None:
    file = io.BytesIO()
    np.savez(file, weights=np.ones(3))
    assert "was not written by homeward" in refused(tmp_path, file.getvalue())


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match=r"none.npz: can't be read: No such file"):
        load_plan(tmp_path / "none.npz")
    with pytest.raises(InvalidFileError, match="can't be read"):
        load_plan(tmp_path)


@given(st.integers(0, len(GOOD) - 1))
def test_a_file_that_was_cut_short_is_refused(
    tmp_path_factory: pytest.TempPathFactory, length: int
) -> None:
    refused(tmp_path_factory.mktemp("plan"), GOOD[:length])


@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_a_damaged_byte_is_refused_or_does_no_harm(
    tmp_path_factory: pytest.TempPathFactory, place: int, flip: int
) -> None:
    data, path = bytearray(GOOD), tmp_path_factory.mktemp("plan") / "plan.npz"
    data[place] ^= flip
    path.write_bytes(data)
    try:
        found = load_plan(path)
    except InvalidFileError:
        return
    assert pack(found) == GOOD  # it was in a part that says nothing, such as a date


def test_bytes_read_back_without_a_file() -> None:
    assert pack(unpack(GOOD)) == GOOD
