"""What every kind of the package offers, for runs that have ended and runs that have not."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from homeward.replay import Replay
from homeward.runs import Run, find_kind
from homeward.runs.kind import kind_names

if TYPE_CHECKING:
    from pathlib import Path

CONFIGS: dict[str, dict[str, Any]] = {
    "grid": {"size": 6, "seed": 10, "limit": 8},
    "rover": {"rows": 160, "columns": 200, "limit": 6, "sensor_range": 60.0},
    "toytext": {"world": "cliff", "prior": [1000, 1, 1, 1], "limit": 8},
}


@pytest.fixture(params=kind_names())
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    made = Run.create(tmp_path / "run", request.param, CONFIGS[request.param])
    steps = made.steps()
    assert len(list(islice(steps, 4))) == 4
    steps.close()
    return made


def test_a_run_is_drawn_as_it_stands(run: Run, tmp_path: Path) -> None:
    kind = find_kind(run.kind)
    assert kind.title
    assert kind.description
    assert kind.draw is not None
    pictures = []
    for name in ("before", "after"):
        kind.draw(run, tmp_path / f"{name}.png")
        with Image.open(tmp_path / f"{name}.png") as picture:
            pictures.append(np.asarray(picture.convert("RGB")))
        run.resume()
    assert pictures[0].size > 10_000
    assert len(np.unique(pictures[0].reshape(-1, 3), axis=0)) > 5
    assert pictures[0].shape != pictures[1].shape or (pictures[0] != pictures[1]).any()


def test_a_run_has_layers_plans_and_reasons_at_any_step(run: Run) -> None:
    replay = Replay(run.directory)
    names = [layer["name"] for layer in replay.scene.layers]
    records = list(run.records())
    for step in (0, 2, 4):
        layers = replay.layers(step, names)
        assert {array.shape for array in layers.values()} == {replay.scene.shape}
        moment = replay.at(step)
        assert layers["visited"].sum() == len({*moment.path.tolist()})
        assert 0.0 <= replay.way(step, moment.state)["bound"] <= 1.0
        if step < len(records):
            plan, agrees = replay.plan(step)
            assert agrees
            assert replay.why(step)["action"] == plan.action == records[step].action


def test_the_shape_is_told_from_the_configuration(run: Run) -> None:
    shape = find_kind(run.kind).shape
    assert shape is not None
    assert shape(run.config) == Replay(run.directory).scene.shape


@pytest.mark.parametrize(("kind", "name"), [("grid", "HeightGrid-v0"), ("rover", "Rover-v0")])
def test_an_environment_is_registered_by_its_import_alone(kind: str, name: str) -> None:
    script = (
        f"import gymnasium, homeward.kinds.{kind}.world\n"
        f"env = gymnasium.make('homeward/{name}', rows=3, columns=4)\n"
        "print(env.reset(seed=0)[0]['heights'].shape)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "(3, 4)"
