"""`check_world`: whether a world keeps to its protocol, and a belief can learn from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from homeward.arrays import index
from homeward.beliefs.observations import Transition, Visit
from homeward.checking.offences import CheckReport, Findings
from homeward.errors import HomewardError, ImpossibleObservationError, InvalidProblemError


def check_world(
    make: Callable[[], Any], belief: Any, *, steps: int = 200, seed: int = 0
) -> CheckReport:
    """Return a report if a world keeps to its protocol; raise if it does not.

    Random actions are taken. The world must tell its state and whether it has ended, answer with
    observations that the belief learns from, and answer in the same way when it is made again.

    Parameters
    ----------
    make : callable
        Function that returns the world in its first state, the same at each call.
    belief : Belief
        The belief that the observations update.
    steps : int
        Number of random actions; the world is made again where it ends.
    seed : int
        Random seed of the actions.

    Raises
    ------
    InvalidProblemError
        It lists each offence.
    """
    error = InvalidProblemError
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise error(f"steps is {steps!r}, expected a whole number of 1 or more")
    if not callable(make):
        raise error(
            f"make is a {type(make).__name__}, expected a function without arguments that returns "
            "the world, such as lambda: MyWorld(seed=0)"
        )
    world = make()
    said = Findings(type(world).__name__, steps, 1.0 - 1e-12)
    for name in ("state", "ended", "look", "act"):
        if not hasattr(world, name):
            said.add("protocol", name, "an attribute or method of that name", "none")
    if said.offences:
        return said.finish(error)
    first = _walk(make, belief, steps, seed, said)
    if not said.offences:
        said.checked |= dict.fromkeys(("state", "ended", "look", "act", "observations"))
        again = _walk(make, belief, min(steps, 50), seed, said)
        if again != first[: len(again)]:
            told = "the same states after the same actions in a world made again"
            said.add("world", "act()", told, "others: take random numbers from a seed")
        said.checked["the same world again"] = None
    return said.finish(error)


def _walk(make: Callable[[], Any], belief: Any, steps: int, seed: int, said: Findings) -> list[int]:
    """Return the states of a random walk; report what breaks the protocol."""
    rng, model = np.random.default_rng(seed), belief.mean()
    path: list[int] = []
    world, learned = None, belief
    for step in range(steps):
        if world is None or world.ended:
            world, learned = make(), belief
            if world.ended:
                said.add("world", "ended", "a world that has not ended at its start", "True")
                return path
            first = _state(world, model.states, said)
            learned = _learned(learned, world.look(), "look()", said)
            if learned is None or first is None:
                return path
            if world.ended or _state(world, model.states, said) != first:
                said.add("world", "look()", "a look to change neither state nor ended", "it does")
                return path
        before = _state(world, model.states, said)
        if before is None:
            return path
        action = int(rng.choice(np.flatnonzero(np.isfinite(model.reward[before]))))
        seen = world.act(action)
        after = _state(world, model.states, said)
        if after is None:
            return path
        if isinstance(seen, Transition):
            given = (before, action, None if world.ended and seen.next_state is None else after)
            if (seen.state, seen.action, seen.next_state) != given:
                told = f"a Transition{given}, as the states say"
                said.add("world", f"act({action}), step {step}", told, f"{seen}")
                return path
        if isinstance(seen, Visit) and seen.state != after:
            said.add("world", f"act({action}), step {step}", f"Visit({after})", f"{seen}")
            return path
        learned = _learned(learned, seen, f"act({action}) in state {before}", said)
        if learned is None:
            return path
        path.append(after)
    return path


def _state(world: Any, states: int, said: Findings) -> int | None:
    """Return the world's state; None after reporting that it is no state of the belief."""
    try:
        return index(world.state, states, "the state", InvalidProblemError)
    except HomewardError as cause:
        said.add("world", "state", f"a number from 0 to {states - 1}", str(cause))
        return None


def _learned(belief: Any, seen: Any, where: str, said: Findings) -> Any:
    """Return the belief after an observation; None after reporting that it can't learn from it."""
    try:
        return belief.update(seen)
    except ImpossibleObservationError as cause:
        said.add("impossible", where, "an observation that the belief allows", str(cause))
    except HomewardError as cause:
        said.add("world", where, "an observation that the belief learns from", str(cause))
    return None
