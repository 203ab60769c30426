"""Run `homeward bench grid` by itself: `python benchmarks/grid.py --help`."""

import typer

from homeward.cli.bench import grid

if __name__ == "__main__":
    typer.run(grid)
