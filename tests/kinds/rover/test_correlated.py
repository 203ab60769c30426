"""Runs of a rover whose heights are correlated, with a terrain model and without one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.special import ndtr
from tests.terrain.planetary import write_raster

from homeward.beliefs.fields import CorrelatedTerrainBelief
from homeward.errors import InvalidInputError
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.correlated import kernel_of
from homeward.kinds.rover.kind import cells_of, make, prior_of, settle
from homeward.kinds.rover.terrain import crossings_of
from homeward.referee.runs import HomeClaim, audit
from homeward.replay import Replay
from homeward.runs import Run
from homeward.runs.config import checked
from homeward.terrain.synthetic import draw_relief

if TYPE_CHECKING:
    from pathlib import Path

SENSOR = {"sensor_range": 45.0, "cell": 20.0, "climb": 20.0, "descend": 30.0}


def config_of(**values: Any) -> RoverConfig:
    return checked(RoverConfig, values, "the rover")


@pytest.fixture
def relief(tmp_path: Path) -> dict[str, Any]:
    heights = draw_relief((10, 12), np.random.default_rng(0)) * 0.3
    np.save(tmp_path / "relief.npy", heights)
    terrain = {"terrain": str(tmp_path / "relief.npy"), "pixel": 20.0, "blur": 0.0}
    return terrain | {"ground": "paper", "known": 0.0} | SENSOR


@pytest.mark.parametrize("belief", ["correlated", "unmapped"])
def test_a_run_resumes_to_the_same_way_and_its_budget_is_confirmed(
    tmp_path: Path, relief: dict[str, Any], belief: str
) -> None:
    config = {**relief, "belief": belief, "delta": 0.9}
    whole = Run.create(tmp_path / "whole", "rover", config)
    whole.resume(limit=14)
    parts = Run.create(tmp_path / "parts", "rover", config)
    parts.resume(limit=5)
    Run.open(tmp_path / "parts").resume(limit=14)
    assert (whole.directory / "steps.jsonl").read_bytes() == (
        parts.directory / "steps.jsonl"
    ).read_bytes()
    replay = Replay(whole.directory)
    moments = [replay.at(k) for k in range(14)]
    home = HomeClaim("home", frozenset({moments[0].state}), 0.9)
    steps = [(record, m.belief) for record, m in zip(whole.records(), moments, strict=True)]
    (verdict,) = audit([home], steps)
    assert not verdict.reasons
    assert len({record.next_state for record in whole.records()}) > 5
    said = (whole.directory / "summary.md").read_text()
    assert ("No terrain model is known" in said) == (belief == "unmapped")
    assert f"--belief {belief} --kernel 1.5," in said or "--kernel 2.5," in said


def test_the_model_is_the_mean_and_its_error_the_kernel(relief: dict[str, Any]) -> None:
    config = config_of(**relief, belief="correlated", error=0.25, error_length=70.0)
    config.check_use({"error_length"})
    belief, kernel = prior_of(config), kernel_of(config)
    assert isinstance(belief, CorrelatedTerrainBelief)
    assert (belief.height == cells_of(config).centre.ravel()).all()
    assert (kernel.variance, kernel.length) == (0.25, 70.0)
    truth = make(config).world.truth  # type: ignore[attr-defined]
    assert 0.1 < (truth - belief.height).std() < 1.2
    assert settle(config).kernel == (1.5, 70.0, 0.5)


def test_without_a_model_only_the_mean_height_is_known(relief: dict[str, Any]) -> None:
    config = config_of(**relief, belief="unmapped")
    belief, centre = prior_of(config), cells_of(config).centre.ravel()
    assert np.ptp(belief.height) == 0.0
    assert belief.height[0] == pytest.approx(centre.mean())
    assert make(config).world.truth == pytest.approx(centre)  # type: ignore[attr-defined]
    known = settle(config)
    assert known.kernel is not None
    assert known.kernel[1] == kernel_of(config).length
    assert belief.update(make(known).world.look()).variance.min() < 1e-4 < belief.variance.min()


def test_on_driven_ground_a_move_works_if_the_slopes_error_is_within_its_margin(
    tmp_path: Path,
) -> None:
    heights = draw_relief((60, 60), np.random.default_rng(1)).astype(np.float32) * 0.2
    write_raster(tmp_path / "hills.tif", heights)
    config = config_of(terrain=str(tmp_path / "hills.tif"), cell=5.0, belief="correlated")
    belief, kernel, crossings = prior_of(config), kernel_of(config), crossings_of(config)
    assert crossings is not None
    base = crossings.vehicle.wheelbase
    slope = math.sqrt(2.0 * (kernel.variance - float(kernel.covariance(base)))) / base
    open_moves = np.isfinite(crossings.up) & (belief.mean().dest != np.arange(144)[:, None])
    assert open_moves.sum() > 100
    up, down = (limit[open_moves] / slope for limit in (crossings.up, crossings.down))
    expected = ndtr(up) - ndtr(-down)
    np.testing.assert_allclose(belief.mean().success[open_moves], expected, atol=1e-6)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kernel": "1.5,20,1"}, "kernel needs belief correlated or unmapped"),
        ({"belief": "correlated", "error": "e.tif"}, "needs a single error"),
        ({"belief": "unmapped", "ground": "driven"}, "needs ground paper"),
        ({"belief": "correlated", "algorithm": "paper"}, "does not go with algorithm paper"),
    ],
)
def test_what_does_not_go_with_a_belief_is_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        config_of(**values).check_use()


@pytest.mark.parametrize("name", ["error", "error_length"])
def test_an_error_that_the_kernel_replaces_is_refused(name: str) -> None:
    config = config_of(belief="correlated", kernel="2.5,20,1", error=0.5, error_length=7.0)
    config.check_use()  # as in the record of a run, where the kernel is filled in
    with pytest.raises(InvalidInputError, match=f"{name} changes nothing with kernel"):
        config.check_use(["belief", "kernel", name])


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("2,20,1", "smoothness"),
        ("1.5,20", "expected a smoothness"),
        ("1.5,-3,1", "kernel: the length is -3 m"),
        ("1.5,3,0", "kernel: the deviation is 0 m"),
        ("x", "expected a smoothness"),
    ],
)
def test_a_kernel_that_is_none_is_refused(kernel: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        config_of(belief="correlated", kernel=kernel)


def test_too_many_cells_are_refused_with_the_way_out() -> None:
    config = config_of(belief="correlated", rows=1010, columns=1000, cell=10.0)
    with pytest.raises(InvalidInputError, match=r"10,000.*larger cells or a window"):
        prior_of(config)


def test_the_summary_warns_if_measured_heights_refute_the_kernel(
    tmp_path: Path, relief: dict[str, Any]
) -> None:
    config = {**relief, "belief": "unmapped", "kernel": "2.5,200,0.5", "delta": 0.5}
    run = Run.create(tmp_path / "run", "rover", config)
    run.resume(limit=2)
    assert "**Caution**: the kernel is overconfident" in (tmp_path / "run/summary.md").read_text()
