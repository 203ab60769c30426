"""Checkpoints of a run: values at regular steps, from which later ones are recomputed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Checkpoints(Generic[T]):
    """Some values of a sequence in which each is computed from the previous one.

    If they take more than `max_bytes`, every other one is dropped and the spacing doubles.

    Parameters
    ----------
    first
        The value after 0 steps.
    follow
        Returns the value after a step, given the step's number and the previous value.
    size
        Returns the bytes that a value takes in addition to the previous checkpoint.
    """

    def __init__(
        self,
        first: T,
        follow: Callable[[int, T], T],
        size: Callable[[T, T | None], int],
        spacing: int,
        max_bytes: int,
    ) -> None:
        self.follow, self.size = follow, size
        self.spacing, self.max_bytes = spacing, max_bytes
        self.kept: dict[int, T] = {0: first}
        self.bytes = size(first, None)
        self._recent: tuple[int, T] = (0, first)

    def at(self, step: int) -> T:
        """Return the value after a number of steps."""
        number = min(step - step % self.spacing, max(self.kept))
        value = self.kept[number]
        if number < self._recent[0] <= step:
            number, value = self._recent
        while number < step:
            number += 1
            value = self.follow(number, value)
            self.keep(number, value)
        self._recent = step, value
        return value

    def keep(self, step: int, value: T) -> None:
        """Keep the value after a step if it is the next checkpoint."""
        last = max(self.kept)
        if step != last + self.spacing:
            return
        self.bytes += self.size(value, self.kept[last])
        self.kept[step] = value
        while self.bytes > self.max_bytes and len(self.kept) > 2:
            self.spacing *= 2
            self.kept = {n: v for n, v in self.kept.items() if n % self.spacing == 0}
            values = list(self.kept.values())
            before = [None, *values[:-1]]
            self.bytes = sum(self.size(v, b) for v, b in zip(values, before, strict=True))
