"""Run `homeward bench criteria` by itself: `python benchmarks/criteria.py --help`."""

import typer

from homeward.cli.bench import criteria

if __name__ == "__main__":
    typer.run(criteria)
