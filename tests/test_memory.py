from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys
import numpy as np
from homeward.memory import keep_freed

if sys.argv[1] == "keep" and not keep_freed():
    raise SystemExit(3)
for turn in range(21):
    if turn == 1:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones(1_000_000)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    """Count the pages that are asked for while 20 arrays of 8 MB are made and dropped."""
    words = [sys.executable, "-c", SCRIPT, how]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 3:
        pytest.skip("this C library can't be told to keep what is freed")
    return int(done.stdout)


def test_what_is_freed_is_used_again() -> None:
    assert 4 * faults("keep") < faults("give back")
