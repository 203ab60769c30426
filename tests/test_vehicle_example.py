"""The programs in ``examples`` do what they say."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.missions import Mission

if TYPE_CHECKING:
    import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_a_vehicle_explores_and_comes_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.cli.invoking import invoke

    monkeypatch.syspath_prepend(str(EXAMPLES))
    import vehicle  # type: ignore[import-not-found]

    rng, ground = np.random.default_rng(0), vehicle.hills()
    vehicle.write_model(tmp_path / "hills.tif", ground + 0.3 * rng.standard_normal(ground.shape))
    words = ("mission", "start", "rover", str(tmp_path / "m"), "--terrain")
    done = invoke(*words, str(tmp_path / "hills.tif"), *vehicle.SETTINGS)
    assert done.exit_code == 0, done.output
    mission = Mission.open(tmp_path / "m")

    def ask(method: str, what: str, value: Any = None) -> Any:
        return mission.observe(value) if method == "POST" else getattr(mission, what)()

    recall = vehicle.drive(ask, vehicle.Rover(ground, rng), 8)
    assert recall["gpx"].startswith("<?xml")
    assert mission.status()["position"] == mission.status()["start"]
    assert "the rover is home" in capsys.readouterr().out
    sys.modules.pop("vehicle")
