"""What the tests of the page's server share: a few runs, and a server of them."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from tests.ended_runs import own, runs
from tests.web.site import Site, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["own", "runs"]


@pytest.fixture(scope="session")
def site(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve copies of the runs."""
    root = tmp_path_factory.mktemp("site") / "runs"
    shutil.copytree(runs, root)
    with serving(root) as found:
        yield found
