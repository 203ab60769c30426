"""The closed-form Dirichlet correction meets Monte Carlo."""

import numpy as np
import pytest

from lab.check.dirichlet_correction import examine_row, rows


@pytest.mark.parametrize("index", range(36))
def test_the_closed_form_is_within_sampling_error(index: int) -> None:
    rng = np.random.default_rng(index)
    alpha, scale = rows(rng)[index]
    assert examine_row(alpha, scale, 20_000, rng)["apart (sigmas)"] < 4.5


def test_rows_span_two_to_fifty_outcomes_and_five_decades() -> None:
    found = rows(np.random.default_rng(0))
    assert {len(alpha) for alpha, _ in found} == {2, 3, 5, 10, 20, 50}
    assert min(alpha.min() for alpha, _ in found) == 0.01
    assert max(alpha.max() for alpha, _ in found) == 1000.0


def test_a_wrong_closed_form_would_be_far_off() -> None:
    rng = np.random.default_rng(0)
    found = examine_row(np.array([2.0, 3.0]), "", 20_000, rng)
    apart = abs(2 * found["closed form"] - found["sampled"])
    assert apart / found["standard error"] > 50
