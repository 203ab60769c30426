"""Comparison of our solvers with others on the same problems in the same run.

- The unconstrained MDP of a 50 × 100 terrain: our solver on moves and on general rows, QuantEcon's
  policy iteration and modified policy iteration; on a small terrain also pymdptoolbox.
- Random sparse MDPs as general models: our policy iteration and QuantEcon's.
- A small constrained problem: Storm's multi-objective engine as an independent check.

A solver that exceeds the time limit is stopped and has no answer.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from homeward.arrays import FloatArray
from homeward.bonuses import Information
from homeward.criteria import ReturnHome
from homeward.models import Model, SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.solvers import engine, solve_constrained
from lab.bench import peers, storm
from lab.bench.planning import statement
from lab.bench.terrain import SENSOR, set_out


@dataclass(frozen=True, slots=True)
class Comparison:
    """One solver on one problem."""

    problem: str
    solver: str
    seconds: float | None  # None if there is no answer within the limit
    difference: float | None  # largest relative difference from our answer
    ratio: float | None  # its time / our time


def within(seconds: float, work: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in its own process; return its result, or None after the time limit."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(send, work, arguments), daemon=True)
    process.start()
    send.close()
    try:
        return receive.recv() if receive.poll(seconds) else None
    except EOFError:  # the process died, probably out of memory
        return None
    finally:
        process.kill()
        process.join()


def _send(send: Any, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Call a function and send its result through a pipe."""
    send.send(work(*arguments))


def unconstrained(
    shape: tuple[int, int], discount: float, limit: float, *, small: bool = False
) -> Iterator[Comparison]:
    """Yield comparisons on the unconstrained MDP of a terrain."""
    belief, _ = set_out(shape, 0)
    model, reward = belief.mean(), Information(SENSOR)(belief)
    reward = reward / reward.max()
    name = f"terrain {shape[0]} × {shape[1]}"
    ours, seconds = _ours(model, reward, discount)
    yield Comparison(name, "Homeward, moves", seconds, 0.0, 1.0)
    rows = model.sparse()
    value, general = _ours(rows, reward, discount)
    yield _beside(name, "Homeward, general rows", (value, general), ours, seconds)
    for method in ("policy_iteration", "modified_policy_iteration"):
        answer = within(limit, peers.quantecon_values, rows, reward, discount, method)
        yield _beside(name, f"QuantEcon {method}", answer, ours, seconds)
    if small:
        answer = within(limit, peers.mdptoolbox_values, rows, reward, discount)
        yield _beside(name, "pymdptoolbox policy iteration", answer, ours, seconds)


def general(states: int, discount: float, limit: float) -> Iterator[Comparison]:
    """Yield comparisons on a random sparse MDP with 4 actions and 6 successors each."""
    model, reward = random_sparse(states, 4, 6, seed=0)
    name = f"random sparse {states:,}"
    ours, seconds = _ours(model, reward, discount)
    yield Comparison(name, "Homeward", seconds, 0.0, 1.0)
    answer = within(limit, peers.quantecon_values, model, reward, discount, "policy_iteration")
    yield _beside(name, "QuantEcon policy_iteration", answer, ours, seconds)


def refereed(
    shape: tuple[int, int], discount: float, delta: float, limit: float
) -> Iterator[Comparison]:
    """Yield comparisons of our solver with Storm on a constrained problem."""
    belief, rover = set_out(shape, 0)
    planner = Planner(Information(SENSOR), [ReturnHome(delta)], discount)
    problem = statement(planner, belief, rover.state, Information(SENSOR)(belief))
    solve_constrained(problem)
    before = time.perf_counter()
    ours = solve_constrained(problem)
    seconds = time.perf_counter() - before
    name = f"constrained terrain {shape[0]} × {shape[1]}, δ = {delta:g}"
    yield Comparison(name, "Homeward", seconds, 0.0, 1.0)
    answer = within(limit, storm.solve, problem)
    storms = None if answer is None else (np.array([answer.objective]), answer.seconds)
    yield _beside(name, "Storm", storms, np.array([ours.objective]), seconds)


def random_sparse(
    states: int, actions: int, successors: int, seed: int
) -> tuple[SparseMDP, FloatArray]:
    """Draw a general model with a number of random successors per row, and rewards [S, A]."""
    rng = np.random.default_rng(seed)
    count = states * actions
    rows = np.repeat(np.arange(count), successors)
    columns = rng.integers(0, states, rows.size)
    data = rng.dirichlet(np.ones(successors), count).ravel()
    matrix = csr_array((data, (rows, columns)), shape=(count, states))
    return SparseMDP(matrix), rng.random((states, actions))


def _ours(model: Model, reward: FloatArray, discount: float) -> tuple[FloatArray, float]:
    """Return values [S] and seconds of our compiled policy iteration, including its setup."""
    engine(model, discount, reward[None]).optimise(np.ones(1))  # compiles every kernel
    found, seconds = peers.timed(lambda: engine(model, discount, reward[None]).optimise(np.ones(1)))
    return found.values[0], seconds


def _beside(
    problem: str,
    solver: str,
    answer: tuple[FloatArray, float] | None,
    ours: FloatArray,
    our_seconds: float,
) -> Comparison:
    """Return the comparison of another solver's values and seconds with ours.

    `answer` is None if the other solver has no answer.
    """
    if answer is None:
        return Comparison(problem, solver, None, None, None)
    value, seconds = answer
    apart = float(np.abs(value - ours).max() / np.abs(ours).max())
    return Comparison(problem, solver, seconds, apart, seconds / our_seconds)
