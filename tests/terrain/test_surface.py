from __future__ import annotations

import subprocess
import sys

import pytest
from tests.surface import STUB, names_in

from homeward import terrain


def loaded_after(statement: str) -> set[str]:
    """Run a statement in a fresh interpreter; give the top-level modules that it loaded."""
    script = f"{statement}\nimport sys\nprint(*{{m.partition('.')[0] for m in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("name", terrain.__all__)
def test_every_name_can_be_imported(name: str) -> None:
    assert getattr(terrain, name) is not None


def test_all_is_what_can_be_loaded() -> None:
    assert list(terrain.__all__) == sorted(names_in(STUB.parent / "terrain" / "__init__.pyi"))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match=r"No homeward.terrain attribute teleport"):
        terrain.teleport  # type: ignore[attr-defined]  # noqa: B018


def test_the_part_loads_nothing_heavy() -> None:
    heavy = {"numpy", "numba", "scipy", "matplotlib", "rasterio"}
    assert not loaded_after("import homeward.terrain") & heavy


def test_rasterio_is_loaded_only_for_a_file_that_needs_it() -> None:
    statement = (
        "from homeward.terrain import *\n"
        "from homeward.terrain import to_cells, synthetic_mars, path_geojson\n"
        "path_geojson(to_cells(synthetic_mars(0, 40, 40)), [0])"
    )
    assert "rasterio" not in loaded_after(statement)
