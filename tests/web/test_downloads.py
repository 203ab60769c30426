from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.web.rasters import geotiff

from homeward.runs import Run
from homeward.runs.verification import plan_of_step
from homeward.web import downloads
from homeward.web.refusals import RefusalError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_certificate_has_no_digest_of_steps_that_it_did_not_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run.create(tmp_path / "run", "grid", {"size": 4, "seed": 3, "limit": 3})
    run.resume()
    assert downloads.certificate_of(run.directory)["details"]["record"]["steps_sha256"]
    judge = plan_of_step

    def judged_while_a_step_came(asked: Run) -> Any:
        found = judge(asked)
        with (asked.directory / "steps.jsonl").open("a") as log:
            log.write("{")
        return found

    monkeypatch.setattr(downloads, "plan_of_step", judged_while_a_step_came)
    assert downloads.certificate_of(run.directory)["details"]["record"]["steps_sha256"] is None


def test_a_way_home_is_offered_only_as_files_that_can_be_written(tmp_path: Path) -> None:
    local = 'LOCAL_CS["a survey",UNIT["metre",1]]'
    for crs, suffixes in (("EPSG:32633", [".geojson", ".gpx", ".kml"]), (local, [".geojson"])):
        raster = tmp_path / "hills.tif"
        raster.write_bytes(geotiff(crs=crs))
        config = {"terrain": str(raster), "cell": 40.0, "limit": 2}
        run = Run.create(tmp_path / f"run{len(suffixes)}", "rover", config)
        run.resume()
        assert downloads.way_home_suffixes(run) == suffixes
        for suffix in suffixes:
            assert downloads.way_home_file(run, 2, suffix)
        with pytest.raises(RefusalError, match="there is no way home as"):
            downloads.way_home_file(run, 2, ".gpx" if len(suffixes) == 1 else ".dxf")


def test_a_certificate_names_the_terrain_of_a_run_that_no_page_started(tmp_path: Path) -> None:
    raster = tmp_path / "hills.tif"
    raster.write_bytes(geotiff())
    run = Run.create(tmp_path / "run", "rover", {"terrain": str(raster), "cell": 40.0, "limit": 2})
    run.resume()
    record = downloads.certificate_of(run.directory)["details"]["record"]
    digest = hashlib.sha256(geotiff()).hexdigest()
    assert record["files"] == {"terrain": {"name": "hills.tif", "sha256": digest}}
    assert record["crs"] == "WGS 84 / UTM zone 33N"
    assert str(tmp_path) not in json.dumps(record)


def test_outputs_of_an_earlier_end_are_not_certified(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", "grid", {"size": 6, "seed": 3, "limit": 3})
    run.resume()
    assert "summary.json" in downloads.certificate_of(run.directory)["details"]["record"]["outputs"]
    run.extend(5)
    next(steps := run.steps())
    steps.close()
    assert downloads.certificate_of(run.directory)["details"]["record"]["outputs"] == {}
