"""Run `homeward bench scale` by itself: `python benchmarks/scale.py --help`."""

import typer

from homeward.cli.bench import scale

if __name__ == "__main__":
    typer.run(scale)
