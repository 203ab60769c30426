"""Explore two Gymnasium environments safely: Taxi, and MiniGrid's LavaGap if it is installed.

Taxi has a table of its transitions. LavaGap has none: it is probed, for several seeds. The gap in
the lava is somewhere else for each seed, so the explorer does not know where it is until it sees
it. In both, an episode that ends can't return home, so a safe explorer never ends one.
"""

import gymnasium

import homeward as hw
from homeward.worlds import GymnasiumTable


def explore(table: GymnasiumTable, seed: int) -> hw.Explorer:
    """Explore an environment, with a way back to the start of at least 95 % all the time."""
    planner = hw.Planner(hw.RMax(), [hw.ReturnHome(0.95)])
    explorer = hw.Explorer(planner, table.belief(), table.world(seed))
    for _ in explorer.explore(2000):
        pass
    return explorer


def report(table: GymnasiumTable, explorer: hw.Explorer) -> None:
    """Print what was found."""
    seen = int(explorer.belief.visited.sum())
    print(table)
    print(f"{explorer.steps} steps, {seen} states visited, terminated: {explorer.world.ended}.")
    print(f"Proven for the whole run: {explorer.run_state.kept:.6f}. {explorer.why()}\n")


taxi = hw.from_gymnasium(gymnasium.make("Taxi-v4"))
report(taxi, explore(taxi, seed=0))

try:
    import minigrid
except ImportError:
    print("pip install minigrid to explore LavaGap too.")
else:
    # The agent sees three squares ahead and to each side.
    lava = minigrid.wrappers.ViewSizeWrapper(gymnasium.make("MiniGrid-LavaGapS5-v0"), 3)
    lava = hw.from_gymnasium(
        lava,
        state=lambda env: (*map(int, env.agent_pos), int(env.agent_dir)),
        seeds=range(6),
        action_names=("left", "right", "forward", "pickup", "drop", "toggle", "done"),
    )
    for seed in range(3):
        report(lava, explore(lava, seed))
