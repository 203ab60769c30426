"""What the tests of runs share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.runs.kinds import meadow

if TYPE_CHECKING:
    from homeward.runs import Run


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Take a run to its end without a stop."""
    run = meadow(tmp_path_factory.mktemp("whole") / "run")
    run.resume()
    return run
