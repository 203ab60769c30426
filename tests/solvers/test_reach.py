from __future__ import annotations

import numpy as np
import pytest

from homeward.models import Model, Moves
from homeward.solvers.reach import silence_unreachable

# Two places, an island, and a cliff to which no move ever works.
DEST = np.array([[0, 1], [1, 3], [2, 2], [3, 3]])
ISLAND = Moves(DEST, np.array([[1.0, 0.5], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]))


@pytest.mark.parametrize("model", [ISLAND, ISLAND.sparse()])
def test_what_is_out_of_reach_counts_for_nothing_where_it_is_largest(model: Model) -> None:
    objective = np.array([[1.0, -np.inf], [9.0, 2.0], [1e12, -np.inf], [5.0, -1e9]])
    silence_unreachable(model, objective, 1)
    assert objective.tolist() == [[0.0, -np.inf], [9.0, 2.0], [0.0, -np.inf], [0.0, 0.0]]


@pytest.mark.parametrize("model", [ISLAND, ISLAND.sparse()])
def test_an_action_that_can_not_be_chosen_leads_nowhere(model: Model) -> None:
    objective = np.array([[1.0, -np.inf], [9.0, 2.0], [1.0, -np.inf], [5.0, 1.0]])
    silence_unreachable(model, objective, 0)
    assert objective.tolist() == [[1.0, -np.inf], [9.0, 2.0], [1.0, -np.inf], [5.0, 1.0]]
    objective[1, 0] = 11.0
    silence_unreachable(model, objective, 0)
    assert objective.tolist() == [[1.0, -np.inf], [0.0, 0.0], [0.0, -np.inf], [0.0, 0.0]]


@pytest.mark.parametrize("model", [ISLAND, ISLAND.sparse()])
def test_what_is_in_reach_and_of_the_same_size_leaves_all_as_it_is(model: Model) -> None:
    objective = np.array([[0.0, 0.0], [-2.0, 0.0], [9.0, 9.0], [9.0, 9.0]])
    before = objective.copy()
    silence_unreachable(model, objective, 0)
    assert (objective == before).all()
