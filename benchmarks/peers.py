"""Run `homeward bench peers` by itself: `python benchmarks/peers.py --help`."""

import typer

from homeward.cli.bench import peers

if __name__ == "__main__":
    typer.run(peers)
