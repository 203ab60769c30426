"""Runs past pits whose exits the true ground hides exactly if they are too low."""

import numpy as np
import pytest

from homeward.beliefs.sight import sees
from homeward.kinds.rover.world import draw_heights
from lab.check.sight import BELIEFS, LOWEST, PITS, RIM, SENSOR, WIDTH, belief_of, examine


@pytest.mark.parametrize("belief", BELIEFS)
def test_the_true_ground_would_hide_an_exit_where_it_is_too_low(belief: str) -> None:
    prior, low = belief_of(belief, np.zeros(PITS)), []
    for seed in range(50):
        truth = draw_heights(prior, seed).reshape(prior.shape)
        for column in range(1, WIDTH * PITS, WIDTH):
            depth = truth[1, column] - truth[2, column]
            if abs(depth + LOWEST) > 0.02:  # the other heights differ by millimetres
                is_seen = sees(truth, 0, column, SENSOR.mast or 0.0, 2, 0)
                assert is_seen == (depth < -LOWEST)
                low.append(not is_seen)
    assert np.mean(low) == pytest.approx(0.1, abs=0.06)


def test_the_terrain_model_hides_the_exits_of_high_pits_alone() -> None:
    rims = np.array([0.0, RIM, 0.0, RIM, RIM])
    ground = belief_of("independent", rims).terrain.reshape(3, -1)
    columns = range(1, WIDTH * PITS, WIDTH)
    shown = [sees(ground, 0, column, SENSOR.mast or 0.0, 2, 0) for column in columns]
    assert shown == (rims == 0.0).tolist()


@pytest.mark.parametrize("belief", BELIEFS)
@pytest.mark.parametrize("ground", ["in sight", "half hidden"])
def test_runs_come_home_as_often_as_they_promise(belief: str, ground: str) -> None:
    found = examine(belief, ground, 60, 0)
    assert found.holds
    assert found.fraction >= found.level
    assert found.bound >= found.level
