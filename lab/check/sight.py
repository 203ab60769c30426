"""Checks the level of runs where sight and the way home depend on the same heights.

A corridor has five pits, into which the rover may drop. The only exit of a pit leads over one cell,
two cells from the corridor. If that cell is too low, there is no exit, and the true rim of the pit
hides the cell from the corridor. So whether the true ground lets the cell be seen would tell
whether there is an exit. Heights are drawn from the belief. The way home that a run holds at its
end must work in a fraction of the worlds that is neither below δ nor below what runs claim.
"""

from __future__ import annotations

import numpy as np

from homeward.arrays import FloatArray
from homeward.beliefs import Sensor, TerrainBelief
from homeward.beliefs.fields import CorrelatedTerrainBelief
from homeward.beliefs.grid_graph import STEPS
from homeward.beliefs.heights import SlopeBelief
from homeward.bonuses import InformationGain
from homeward.criteria import ReturnHome
from homeward.kinds.rover.world import Rover, draw_heights
from homeward.paper.levels import held_works
from homeward.planning.algorithm1 import Planner
from homeward.planning.explorer import Explorer
from lab.check.calibration import PlanCalibration

BELIEFS = ("independent", "correlated")
GROUNDS = ("in sight", "half hidden")  # the exits, seen from the corridor over the terrain model
PITS, WIDTH = 5, 3  # number of pits; columns for each
DELTA, LIMIT = 0.88, 60
SENSOR = Sensor(range=2.0, mast=0.5)  # m; it reaches an exit only from the cell above its pit
EXACT, DEVIATION = 1e-3, 0.39  # standard deviations in m: of exits the latter
LOWEST = -0.5  # m; an exit is lower with probability .1, and is then too low
RIM = 0.3  # m; height of a pit that hides its exit in the terrain model
ALIKE = 0.5  # correlation of two exits in a correlated belief
EAST, SOUTH, WEST, NORTH = (STEPS.index(step) for step in ((0, 1), (1, 0), (0, -1), (-1, 0)))


def belief_of(belief: str, rims: FloatArray) -> SlopeBelief:
    """Return the belief about a corridor past pits of the heights `rims` [PITS] in m.

    The corridor is the first row. From the corridor the rover drops into a pit, goes on to its
    exit, which works if that is not too low, and comes back one column further.
    """
    columns = PITS * WIDTH
    height, deviation = np.zeros(3 * columns), np.full(3 * columns, EXACT)
    drop, rise = (np.full((3 * columns, len(STEPS)), -np.inf) for _ in range(2))
    corridor, tops = np.arange(columns), WIDTH * np.arange(PITS) + 1
    pits, exits = tops + columns, tops + 2 * columns
    ways = (corridor[:-1], EAST), (corridor[1:], WEST), (tops, SOUTH)
    for cells, action in (*ways, (exits, EAST), (exits + 1, NORTH), (pits + 1, NORTH)):
        drop[cells, action] = rise[cells, action] = np.inf
    drop[pits, SOUTH], rise[pits, SOUTH] = rims - LOWEST, np.inf
    height[pits], deviation[exits] = rims, DEVIATION
    if belief == "independent":
        return TerrainBelief((3, columns), height, deviation**2, 1.0, limits=(drop, rise))
    covariance = np.diag(deviation**2)
    covariance[np.ix_(exits, exits)] += ALIKE * DEVIATION**2 * (1.0 - np.eye(PITS))
    return CorrelatedTerrainBelief((3, columns), covariance, height, 1.0, limits=(drop, rise))


def follow(belief: str, ground: str, seed: int) -> tuple[bool, float]:
    """Run a rover in a drawn world; return whether its way home works, and what the run claims."""
    share = 0.5 if ground == "half hidden" else 0.0
    hides = np.random.default_rng(seed).random(PITS) < share
    prior = belief_of(belief, np.where(hides, RIM, 0.0))
    rover = Rover(prior, draw_heights(prior, seed), 0, SENSOR, seed)
    explorer = Explorer(Planner(InformationGain(SENSOR), [ReturnHome(DELTA)]), prior, rover)
    for _ in explorer.explore(LIMIT):
        pass
    return held_works(explorer.run_state, rover), explorer.run_state.kept


def examine(belief: str, ground: str, worlds: int, seed: int) -> PlanCalibration:
    """Follow a run in each of `worlds` drawn worlds; count those whose way home works."""
    runs = [follow(belief, ground, seed * worlds + number) for number in range(worlds)]
    kept = float(np.mean([claim for _, claim in runs]))
    return PlanCalibration(sum(works for works, _ in runs), worlds, worlds, DELTA, kept)
