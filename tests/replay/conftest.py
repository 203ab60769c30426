"""What the tests of recorded runs share."""

from tests.ended_runs import own, runs

__all__ = ["own", "runs"]
