"""`check_world`: check that a world follows its protocol, and that a belief can learn from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from homeward.arrays import index
from homeward.beliefs.base import need_belief, updated
from homeward.beliefs.observations import Transition, Visit
from homeward.checking.offences import CheckReport, Findings
from homeward.errors import HomewardError, ImpossibleObservationError, InvalidProblemError


def check_world(
    make: Callable[[], Any], belief: Any, *, steps: int = 200, seed: int = 0
) -> CheckReport:
    """Return a report if a world follows its protocol; raise if it does not.

    Random actions are taken. The world must have a state and the flag `ended`, return observations
    that the belief learns from, and return the same ones when it is made again.

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
        The message lists each offence.
    """
    error = InvalidProblemError
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise error(f"steps is {steps!r}, expected a whole number of 1 or more")
    if not callable(make):
        raise error(
            f"make is a {type(make).__name__}, expected a function without arguments that returns "
            "the world, such as lambda: MyWorld(seed=0)"
        )
    index(seed, 2**63, "the seed", error)
    need_belief(belief)
    world = make()
    findings = Findings(type(world).__name__, steps, 1.0)  # nothing is estimated
    for name in ("state", "ended", "look", "act"):
        if not hasattr(world, name):
            findings.add("protocol", name, "an attribute or method of that name", "none")
    if findings.offences:
        return findings.finish(error)
    first = _walk(make, belief, steps, seed, findings)
    if not findings.offences:
        findings.checked |= dict.fromkeys(("state", "ended", "look", "act", "observations"))
        again = _walk(make, belief, min(steps, 50), seed, findings)
        if again != first[: len(again)]:
            expected = "the same states after the same actions in a world made again"
            findings.add("world", "act()", expected, "others: take random numbers from a seed")
        findings.checked["the same world again"] = None
    return findings.finish(error)


def _walk(
    make: Callable[[], Any], belief: Any, steps: int, seed: int, findings: Findings
) -> list[int]:
    """Return the states of a random walk, up to the first offence, which is reported."""
    rng, model = np.random.default_rng(seed), belief.mean()
    path: list[int] = []
    world, learned = None, belief
    for step in range(steps):
        if world is None or world.ended:
            world, learned = make(), belief
            if world.ended:
                findings.add("world", "ended", "a world that has not ended at its start", "True")
                return path
            first = _state(world, model.states, findings)
            learned = _learned(learned, world.look(), "look()", findings)
            if learned is None or first is None:
                return path
            if world.ended or _state(world, model.states, findings) != first:
                findings.add(
                    "world", "look()", "a look to change neither state nor ended", "it does"
                )
                return path
        before = _state(world, model.states, findings)
        if before is None:
            return path
        action = int(rng.choice(np.flatnonzero(np.isfinite(model.reward[before]))))
        observation = world.act(action)
        after = _state(world, model.states, findings)
        if after is None:
            return path
        right: Transition | Visit | None = None
        if isinstance(observation, Transition):
            is_end = world.ended and observation.next_state is None
            right = Transition(before, action, None if is_end else after)
        elif isinstance(observation, Visit):
            right = Visit(after)
        if right is not None and observation != right:
            findings.add("world", f"act({action}), step {step}", f"{right}", f"{observation}")
            return path
        learned = _learned(learned, observation, f"act({action}) in state {before}", findings)
        if learned is None:
            return path
        path.append(after)
    return path


def _state(world: Any, states: int, findings: Findings) -> int | None:
    """Return the world's state; None, and an offence, if the belief has no such state."""
    try:
        return index(world.state, states, "the state", InvalidProblemError)
    except HomewardError as cause:
        findings.add("world", "state", f"a number from 0 to {states - 1}", str(cause))
        return None


def _learned(belief: Any, observation: Any, where: str, findings: Findings) -> Any:
    """Return the belief after an observation; None, and an offence, if it can't learn from it."""
    try:
        return updated(belief, observation)
    except ImpossibleObservationError as cause:
        findings.add("impossible", where, "an observation that the belief allows", str(cause))
    except HomewardError as cause:
        findings.add("world", where, "an observation that the belief learns from", str(cause))
    return None
