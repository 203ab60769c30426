from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from homeward.planning.heap import empty_heap, pop, push

KEYS = st.sampled_from([0.0, 0.5, 1.0, 2.0])


@given(st.lists(st.tuples(st.integers(0, 19), KEYS, KEYS, st.booleans()), max_size=80))
def test_entries_leave_in_order_and_a_state_by_its_lowest_keys(
    pushes: list[tuple[int, float, float, bool]],
) -> None:
    heap = empty_heap(20)
    count, wanted = 0, dict[int, tuple[float, float]]()

    def leave() -> None:
        nonlocal count
        state = int(heap[2][0])
        assert (*wanted[state], state) == min((*keys, s) for s, keys in wanted.items())
        assert (heap[0][0], heap[1][0]) == wanted.pop(state)
        count = pop(*heap, count)

    for state, a, b, leaves in pushes:
        if (a, b) < wanted.get(state, (3.0, 0.0)):
            count = push(*heap, count, a, b, state)
            wanted[state] = a, b
        if leaves and count > 0:
            leave()
    while count > 0:
        leave()
    assert not wanted
