from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from homeward.beliefs import FiniteBelief
from homeward.models import Moves
from homeward.threads import on_one_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

MOVES = Moves(np.zeros((2, 1), int), np.ones((2, 1)))


def threads() -> list[int]:
    """Return the number of threads of each BLAS that is loaded."""
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """Give each BLAS two threads, whatever the environment says."""
    with threadpool_limits(2, "blas"):
        yield


class Asked:
    """Tells how many threads it may use."""

    @on_one_thread
    def threads(self, belief: Any) -> list[int]:
        return threads()

    @on_one_thread
    def fail(self, belief: Any) -> None:
        raise KeyError


def test_general_models_are_solved_on_one_thread_and_the_others_keep_theirs() -> None:
    before, belief = threads(), FiniteBelief([MOVES.sparse()])
    assert set(Asked().threads(belief)) == {1}
    assert threads() == before
    assert Asked().threads(FiniteBelief([MOVES])) == before


def test_an_error_gives_the_threads_back() -> None:
    before = threads()
    with pytest.raises(KeyError):
        Asked().fail(FiniteBelief([MOVES.sparse()]))
    assert threads() == before
