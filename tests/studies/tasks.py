"""Tasks for the tests, where any worker finds them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np


def quick(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Draw a number, at once."""
    rng = np.random.default_rng([seed, int(1000 * cell["scale"])])
    return {"drawn": cell["scale"] * rng.normal(), "even": seed % 2 == 0, "name": f"n{seed}"}


def napping(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Draw a number after a nap."""
    time.sleep(cell["nap"])
    return {"drawn": float(np.random.default_rng(seed).normal()), "square": seed * seed}


def odd_raises(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Raise for odd seeds."""
    if seed % 2:
        raise RuntimeError(f"seed {seed} is odd")
    return {"half": seed // 2}


def raises_once(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Raise the first time that a seed is tried."""
    mark = Path(cell["folder"]) / f"{seed}.tried"
    if not mark.exists():
        mark.touch()
        raise RuntimeError("the first time")
    return {"tried": True}


def kills(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Kill the worker for the seeds that the cell lists, and leave a mark each time."""
    if seed in cell["deadly"]:
        folder = Path(cell["folder"])
        (folder / f"{seed}.{len(list(folder.glob(f'{seed}.*')))}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"square": seed * seed}


def kills_once(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Kill the worker the first time that the seed 3 is tried."""
    mark = Path(cell["folder"]) / "killed"
    if seed == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.01)
    return {"square": seed * seed}


def threads(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Say how many threads may be used, and by whom."""
    import numba

    return {
        "numba": numba.get_num_threads(),
        "openmp": os.environ.get("OMP_NUM_THREADS", ""),
        "blas": os.environ.get("OPENBLAS_NUM_THREADS", ""),
        "process": os.getpid(),
    }


def crooked(cell: dict[str, Any], seed: int) -> Any:
    """Give rows that are none."""
    return cell["rows"][seed]


not_callable = 3


def refused(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    from homeward.errors import InvalidInputError

    raise InvalidInputError("delta is 2, expected at most 1")
