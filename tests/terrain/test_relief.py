from __future__ import annotations

import numpy as np

from homeward.terrain.relief import draw_belief, draw_relief


def test_a_relief_is_smooth_and_too_steep_in_places_only() -> None:
    field = draw_relief((50, 100), np.random.default_rng(0))
    slope = np.degrees(np.arctan(np.abs(np.diff(field, axis=1)) / 20.0))
    assert field.shape == (50, 100)
    assert 0.05 < (slope > 5.0).mean() < 0.95
    assert np.abs(np.diff(field, axis=1)).std() < field.std() / 3.0


def test_what_is_believed_of_a_relief_is_known_up_to_a_metre() -> None:
    belief = draw_belief((6, 8), np.random.default_rng(1))
    again = draw_belief((6, 8), np.random.default_rng(1))
    assert belief.shape == (6, 8)
    assert belief.size == (20.0, 20.0)
    assert 0.125 <= belief.variance.min() < belief.variance.max() <= 0.625
    assert belief.height.tobytes() == again.height.tobytes()
