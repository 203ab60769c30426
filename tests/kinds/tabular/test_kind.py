"""Runs in the toy-text worlds go the way of the study's explorers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from homeward.errors import InvalidInputError
from homeward.kinds.tabular.config import ToyTextConfig
from homeward.paper.toytext import SETTINGS, explore
from homeward.planning.ends import End
from homeward.runs import Run
from homeward.runs.config import checked
from homeward.runs.verification import plan_of_step

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("setting", SETTINGS[:2], ids=lambda s: s.title)
def test_a_recorded_run_goes_the_same_way_as_an_unrecorded_one(
    tmp_path: Path, setting: Any
) -> None:
    config: dict[str, Any] = {"world": setting.world, "prior": list(setting.prior), "seed": 1}
    config |= {"algorithm": "paper"}
    run = Run.create(tmp_path / "run", "toytext", config)
    end = run.resume()
    outing = explore(setting, 0.95, 1)
    trajectory = run.trajectory()
    assert [trajectory[0].state, *(r.next_state for r in trajectory)] == list(outing.path)
    assert end is outing.end
    fields = run.fields()
    assert fields["visited"].shape == outing.tiles.shape
    assert fields["visited"].sum() == len(set(outing.path))


def test_without_a_level_it_explores_unsafely(tmp_path: Path) -> None:
    config = {"world": "cliff", "prior": [50, 0.05, 0.05, 0.01], "delta": None}
    run = Run.create(tmp_path / "run", "toytext", config)
    assert run.resume() is End.LOST
    assert run.trajectory()[-1].bounds == ()


def test_a_cliff_stopped_halfway_goes_on_the_same_way(tmp_path: Path) -> None:
    config = {"world": "cliff", "prior": [50, 0.05, 0.05, 0.01], "limit": 9}
    whole, parts = (Run.create(tmp_path / n, "toytext", config) for n in ("whole", "parts"))
    whole.resume()
    while parts.manifest.end is None:
        next(parts.steps(), None)
    assert (tmp_path / "parts/steps.jsonl").read_bytes() == (
        tmp_path / "whole/steps.jsonl"
    ).read_bytes()


def test_a_sampled_run_stopped_halfway_goes_on_the_same_way_and_is_planned_again(
    tmp_path: Path,
) -> None:
    config = {"world": "slippery lake", "prior": [10_000, 10_000, 10_000, 1], "limit": 6}
    config |= {"confidence": 0.99, "worlds": 200}
    whole, parts = (Run.create(tmp_path / n, "toytext", config) for n in ("whole", "parts"))
    whole.resume()
    while parts.manifest.end is None:
        next(parts.steps(), None)
    for name in ("steps.jsonl", "summary.json"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert "not proven" in (tmp_path / "whole/summary.json").read_text()
    judged = plan_of_step(whole)
    assert judged.run is not None
    assert not judged.refuted


def test_the_summary_names_the_steps_that_were_taken_by_lot(tmp_path: Path) -> None:
    config = {"world": "slippery lake", "prior": [10_000, 10_000, 10_000, 1], "limit": 60}
    config |= {"confidence": 0.99, "worlds": 200, "delta": 0.95, "lots": True}
    said = []
    for seed in (4, 5):
        run = Run.create(tmp_path / str(seed), "toytext", config | {"seed": seed})
        run.resume()
        chances = [record.holding["sampled"][0][3] for record in run.records()]
        drawn = [n for n, chance in enumerate(chances, start=1) if chance < 1.0]
        summary = (tmp_path / str(seed) / "summary.json").read_text()
        assert ("Taken at random" in summary) is bool(drawn)
        assert all(f"step {n} (probability {chances[n - 1]:.3g})" in summary for n in drawn)
        said.append(bool(drawn))
    assert said == [False, True]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"worlds": 100}, "worlds needs confidence"),
        ({"lots": True}, "lots needs confidence"),
        ({"confidence": 0.9, "delta": None}, "confidence needs a safety level"),
        ({"confidence": 0.9, "algorithm": "paper"}, "confidence needs algorithm rate"),
    ],
)
def test_a_key_of_sampling_that_has_no_effect_is_refused(
    tmp_path: Path, config: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Run.create(tmp_path / "run", "toytext", config)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"world": "swamp"}, 'world is "swamp"'),
        ({"prior": [1, 1, 1]}, "prior"),
        ({"prior": [1, 1, 1, 0]}, "prior.3 is 0"),
        ({"delta": 1.5}, "delta is 1.5"),
        ({"discount": 1.0}, "discount is 1.0"),
        ({"limit": -1}, "limit is -1"),
        ({"speed": 1}, "speed is not known"),
    ],
)
def test_a_config_that_is_off_is_refused_and_nothing_is_made(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    config = {"world": "lake", "prior": [1, 1, 1, 1], **change}
    with pytest.raises(InvalidInputError, match=f"the config of a toytext run: {message}"):
        Run.create(tmp_path / "run", "toytext", config)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"discount": 0.9}, "discount needs algorithm paper"),
        ({"home": "current"}, "home current needs algorithm paper"),
        (
            {"home": "current", "delta": None, "algorithm": "paper"},
            "home needs an explorer with a safety level",
        ),
    ],
)
def test_a_key_that_would_change_nothing_is_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    config = {"world": "lake", "prior": [1, 1, 1, 1], **change}
    with pytest.raises(InvalidInputError, match=f"^{message}"):
        Run.create(tmp_path / "run", "toytext", config)
    assert list(tmp_path.iterdir()) == []


def test_a_doubt_that_exceeds_the_level_from_the_start_is_refused() -> None:
    config = checked(ToyTextConfig, {"confidence": 0.9, "delta": 0.95}, "run")
    with pytest.raises(InvalidInputError, match="give a higher confidence or more worlds"):
        config.check_use()
