from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from homeward.replay import Replay
from homeward.replay.events import trapped_at
from homeward.replay.playback import glance_of, playback_of

if TYPE_CHECKING:
    from pathlib import Path


def numbers(text: str, dtype: str = "<i4") -> Any:
    return np.frombuffer(base64.b64decode(text), dtype)


@pytest.mark.parametrize("name", ["grid-safe", "grid-unsafe", "rover"])
def test_a_playback_tells_every_moment(runs: Path, name: str) -> None:
    replay = Replay(runs / name)
    found = playback_of(replay, 0.95)
    json.dumps(found, allow_nan=False)
    steps = len(replay.log)
    assert numbers(found["next"]).tolist() == list(replay.log.nexts)
    assert numbers(found["moments"]).tolist() == list(range(steps + 1))
    seen, way_home = numbers(found["seen"]), numbers(found["way_home"], "<f8")
    flips = np.split(numbers(found["flips"]), np.cumsum(numbers(found["counts"])))
    inside = np.zeros(len(seen), bool)
    for step in range(steps + 1):
        inside[flips[step]] ^= True
        if step % 9 and step != steps:
            continue
        moment = replay.at(step)
        value = moment.returns[1].value
        assert (inside == (value >= 0.95 - 1e-9)).all()
        assert way_home[step] == value[moment.state]
        known = replay.layers(step, ["seen"])["seen"].ravel()
        assert (((seen >= 0) & (seen <= step)) == known).all()


def test_a_long_run_has_fewer_moments(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homeward.replay.playback.MAX_MOMENTS", 5)
    replay = Replay(runs / "grid-safe")
    moments = numbers(playback_of(replay)["moments"])
    assert (len(moments), moments[0], moments[-1]) == (5, 0, len(replay.log))


@pytest.mark.parametrize("name", ["grid-safe", "grid-unsafe", "rover"])
def test_a_glance_is_the_last_moment(runs: Path, name: str) -> None:
    replay = Replay(runs / name)
    found = glance_of(replay)
    last = Replay(runs / name)
    maps = last.layers(len(last.log), ["seen", "truth"])
    open_cells = np.isfinite(maps["truth"]).sum()
    assert found["share"] == pytest.approx(maps["seen"].sum() / open_cells)
    assert numbers(found["seen"], "u1").reshape(found["shape"]).sum() == maps["seen"].sum()
    assert found["trapped"] == trapped_at(last)
    path = numbers(found["path"])
    assert (path[0], path[-1]) == (last.history.start, last.log.nexts[-1])


def test_a_thumbnail_is_small(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homeward.replay.playback.THUMBNAIL_SIDE", 3)
    found = glance_of(Replay(runs / "grid-safe"))
    assert found["shape"] == [3, 3]
    assert numbers(found["path"]).max() < 9
