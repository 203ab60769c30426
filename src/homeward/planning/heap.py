"""A priority queue of states for compiled searches: a 4-ary heap by two keys, then the state.

Kernels only. Entries are (first, second, state), least first. Each state is in it at most once;
`place` [S] is its position, so that its keys can be decreased.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray


@njit(cache=True)
def empty_heap(states: int) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Return the arrays [S] of an empty heap: both keys, the states, and the place of a state."""
    keys = np.empty(states), np.empty(states)
    return keys[0], keys[1], np.empty(states, np.int64), np.full(states, -1, np.int64)


@njit(cache=True)
def push(
    first: FloatArray,
    second: FloatArray,
    node: IntArray,
    place: IntArray,
    count: int,
    a: float,
    b: float,
    s: int,
) -> int:
    """Add a state to a heap of `count` entries, or lower its keys; return the new count."""
    i = place[s]
    if i < 0:
        i, count = count, count + 1
    while i > 0:
        up = (i - 1) >> 2
        if first[up] < a or (first[up] == a and (second[up], node[up]) < (b, s)):
            break
        first[i], second[i], node[i] = first[up], second[up], node[up]
        place[node[i]] = i
        i = up
    first[i], second[i], node[i], place[s] = a, b, s, i
    return count


@njit(cache=True)
def pop(first: FloatArray, second: FloatArray, node: IntArray, place: IntArray, count: int) -> int:
    """Remove the least entry of a heap; return the new count."""
    place[node[0]] = -1
    count -= 1
    if count == 0:
        return 0
    a, b, s = first[count], second[count], node[count]
    i = 0
    while True:
        down = 4 * i + 1
        if down >= count:
            break
        for k in range(down + 1, min(4 * i + 5, count)):
            if first[k] < first[down] or (
                first[k] == first[down] and (second[k], node[k]) < (second[down], node[down])
            ):
                down = k
        if first[down] > a or (first[down] == a and (second[down], node[down]) > (b, s)):
            break
        first[i], second[i], node[i] = first[down], second[down], node[down]
        place[node[i]] = i
        i = down
    first[i], second[i], node[i], place[s] = a, b, s, i
    return count
