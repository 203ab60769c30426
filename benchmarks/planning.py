"""Run `homeward bench planning` by itself: `python benchmarks/planning.py --help`."""

import typer

from homeward.cli.bench import planning

if __name__ == "__main__":
    typer.run(planning)
