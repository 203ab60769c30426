from __future__ import annotations

import numpy as np
import pytest

from homeward.errors import InvalidProblemError
from homeward.safety import Allowance, ReturnBefore

USE = np.ones((3, 2))


@pytest.mark.parametrize(
    ("allowance", "said"),
    [
        (Allowance(0.0, "Wh", USE, USE), "the allowance is 0, expected above 0"),
        (Allowance(5.0, "Wh", USE[0], USE), r"use in Wh has shape \(2,\), expected \[S, A\]"),
        (Allowance(5.0, "Wh", USE, USE - 2.0), "lost in Wh is -1, expected >= 0"),
    ],
)
def test_a_wrong_allowance_is_refused_by_its_part(allowance: Allowance, said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        ReturnBefore((allowance,), delta=0.9)
