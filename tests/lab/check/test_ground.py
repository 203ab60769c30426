from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from homeward.terrain import Elevation
from lab.check.ground import close, follow

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("kind", ["rocks", "polygons"])
def test_wheels_on_obstacles_and_in_areas_to_keep_out_of_are_counted(
    kind: str, tmp_path: Path
) -> None:
    elevation = Elevation(np.zeros((60, 80)), transform=(2.0, 0.0, 100.0, 0.0, -2.0, 900.0))
    files, closed = close(elevation, kind, tmp_path, np.random.default_rng(3))
    assert files == {
        "keep_out": str(tmp_path / "out.geojson"),
        "obstacles": str(tmp_path / f"rocks.{'npy' if kind == 'rocks' else 'geojson'}"),
    }
    places = np.mgrid[0:60, 0:80].reshape(2, -1).astype(np.float64)
    shut = closed(places).reshape(60, 80)
    assert 0.01 < shut.mean() < 0.3
    limits = (20.0, 30.0, 20.0)
    touched = np.flatnonzero(shut[2:58, 2:78].any(axis=1)) + 2
    through = follow(np.array([[touched[0], 2.0], [touched[0], 77.0]]), elevation.heights, 2.0,
                     limits, 2.0, closed)  # fmt: skip
    assert through.closed > 0
    assert through.beyond == through.along == through.missing == 0
    row, column = np.argwhere(~shut)[len(touched)]
    beside = follow(np.array([[row, column], [row, column + 1e-3]]), elevation.heights, 2.0,
                    limits, 1e-3, closed)  # fmt: skip
    assert beside.closed == 0
