"""Comparison of agents in the same worlds: what they learn, and whether they can come home.

A task runs one agent in one world of a kind, drawn from the seed. Each kind defines its `Metrics`:
the gain of a belief, and the largest probability of coming home in the true world, which no agent
knows. A run that has ended stays where it is. Processor times are medians over steps, since the
first step may compile; they are the only numbers that differ from machine to machine.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from homeward.agents.catalogue import find_agent
from homeward.planning.ends import End
from homeward.planning.explorer import Loop
from homeward.runs.config import Config, checked
from homeward.runs.kind import Kind, Metrics, Setup, find_kind
from homeward.studies.study import Study, define
from homeward.studies.table import Table, grouped

AGENTS = (
    *("ours", "paper", "naive", "best-rate", "rmax", "mbie-eb", "near-bayesian"),
    *("nearest", "random"),
)
"""Agents that are compared unless others are named."""

POINTS = 100  # number of points of a run's curves by steps
COLUMNS = (
    *("agent", "promise", "runs", "unit", "gain", "gain_q1", "gain_q3", "home", "stranded"),
    *("stranded_at", "steps", "done", "ends", "cpu_ms"),
)
"""Columns of the summary as a table."""


def study_of(
    kind: str, agents: Sequence[str], settings: Mapping[str, Any], seeds: int, steps: int
) -> Study:
    """Return the study; raise if an agent can't explore the first world.

    `settings` are keys of the kind's configuration, as in a file. Keys of safety criteria apply to
    agents that keep a level.
    """
    cells = [
        {"agent": agent, "kind": kind, "limit": steps, "settings": dict(settings)}
        for agent in agents
    ]
    study = define(f"compare {kind}", f"{__name__}:explore", cells, range(seeds))
    for cell in cells:
        setup_of(cell, 0)[2].explorer()
    return study


def setup_of(cell: Mapping[str, Any], seed: int) -> tuple[Kind, Config, Setup]:
    """Return the kind, the configuration and the setup of one run."""
    kind, agent = find_kind(cell["kind"]), find_agent(cell["agent"])
    needless = () if agent.safe else kind.config.promise_keys
    given = {key: value for key, value in cell["settings"].items() if key not in needless}
    named = kind.config.resolved({**given, "agent": cell["agent"]})
    config = checked(kind.config, named, f"agent {cell['agent']}").seeded(seed)
    return kind, config, replace(kind.set_up(config), limit=int(cell["limit"]))


def explore(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Run one agent in one world and return its row; this is a task of the study.

    ``curve`` and ``home_curve`` have the gain and the probability of coming home at `POINTS` + 1
    equally spaced steps, separated by spaces.
    """
    kind, config, setup = setup_of(cell, seed)
    explorer = setup.explorer()
    metrics = _visits(explorer) if kind.metrics is None else kind.metrics(config, setup)
    gains, homes, laps = [metrics.gain(explorer.belief)], [metrics.home()], []
    began = time.process_time()
    for _ in explorer.explore(setup.limit):
        laps.append(time.process_time() - began)
        gains.append(metrics.gain(explorer.belief))
        homes.append(metrics.home())
        began = time.process_time()
    at = np.linspace(0, setup.limit, POINTS + 1).round().astype(int).clip(max=explorer.steps)
    lost = next((step for step, home in enumerate(homes) if home == 0.0), None)
    return {
        "promise": setup.agent.promise or "none",
        "unit": metrics.unit,
        "gain": gains[-1],
        "home": homes[-1],
        "stranded_at": lost,
        "gain_stranded": None if lost is None else gains[lost],
        "steps": explorer.steps,
        "end": str(explorer.end),
        "cpu_ms": 1e3 * float(np.median(laps)) if laps else None,
        "curve": " ".join(f"{gains[step]:.6g}" for step in at),
        "home_curve": " ".join(f"{homes[step]:.4g}" for step in at),
    }


def _visits(explorer: Loop) -> Metrics:
    """Return default metrics: the number of visited states, and home is 1 until the world ends."""
    seen: set[int] = set()

    def gain(belief: Any) -> float:
        seen.add(int(explorer.world.state))
        return float(len(seen))

    return Metrics("states visited", gain, lambda: float(not explorer.world.ended))


def summarise(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the summary of each agent, in the order in which the agents first appear.

    ``gain`` is a median, with quartiles; ``home`` is the mean probability of coming home at the
    end; ``stranded`` counts the runs that can't come home any more, ``stranded_at`` is the median
    step at which they lost their way; ``done`` counts the runs that ended before the step limit.
    ``curves`` has the quartiles [3, points] of the gain, ``marks`` the step and gain at which each
    run was stranded.
    """
    return [_agent(agent, group) for (agent,), group in grouped(rows, ("agent",)).items()]


def _agent(agent: str, group: Sequence[dict[str, Any]]) -> dict[str, Any]:
    first, lost = group[0], [row for row in group if row["stranded_at"] is not None]
    q1, middle, q3 = np.quantile([row["gain"] for row in group], (0.25, 0.5, 0.75)).tolist()
    curves, homes = (
        np.array([[float(point) for point in row[name].split()] for row in group])
        for name in ("curve", "home_curve")
    )
    times = [row["cpu_ms"] for row in group if row["cpu_ms"] is not None]
    return {
        "agent": agent,
        "promise": first["promise"],
        "runs": len(group),
        "unit": first["unit"],
        "gain": middle,
        "gain_q1": q1,
        "gain_q3": q3,
        "home": float(np.mean([row["home"] for row in group])),
        "stranded": len(lost),
        "stranded_at": float(np.median([row["stranded_at"] for row in lost])) if lost else None,
        "steps": float(np.median([row["steps"] for row in group])),
        "done": sum(End(row["end"]) is not End.STEPS for row in group),
        "ends": dict(Counter(row["end"] for row in group)),
        "cpu_ms": float(np.median(times)) if times else None,
        "curves": np.quantile(curves, (0.25, 0.5, 0.75), axis=0).tolist(),
        "home_curve": homes.mean(axis=0).tolist(),
        "marks": [[row["stranded_at"], row["gain_stranded"]] for row in lost],
    }


def as_table(found: Sequence[dict[str, Any]]) -> Table:
    """Return summaries as a table with a row for each agent."""

    def cell(value: Any) -> Any:
        if isinstance(value, dict):
            return "; ".join(f"{name} {count}" for name, count in value.items())
        return value

    return Table(COLUMNS, tuple(tuple(cell(each[name]) for name in COLUMNS) for each in found))
