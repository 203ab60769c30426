"""Downloads of a run: its files, its way home as GeoJSON, GPX or KML, and its certificate."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from homeward import __version__
from homeward.runs import Run, RunStatus
from homeward.runs.kind import Location, find_kind
from homeward.runs.manifest import now
from homeward.runs.run import STEPS, digest_of
from homeward.runs.verification import plan_of_step
from homeward.web.catalogue import NAME, plain_file
from homeward.web.refusals import Refusal
from homeward.web.transport import DOWNLOADS
from homeward.web.uploads import files_of, shown_config

INTERNAL = ("config.json", "manifest.json")  # files that are not offered
EPISODES = 2000  # number of worlds in which a plan of the paper's algorithm is sampled


def downloads_of(folder: Path) -> list[dict[str, Any]]:
    """Return the names and sizes of a run's files that can be downloaded."""
    names = sorted(path.name for path in folder.iterdir())
    files = [path for name in names if (path := file_of(folder, name)) is not None]
    return [{"name": path.name, "bytes": path.stat().st_size} for path in files]


def file_of(folder: Path, name: str) -> Path | None:
    """Return the path of a file that can be downloaded; None if no such file exists."""
    if not NAME.fullmatch(name) or name in INTERNAL or Path(name).suffix not in DOWNLOADS:
        return None
    return plain_file(folder, name)


def location_of(run: Run) -> Location | None:
    """Return where the cells of a run's map are; None if its kind does not tell."""
    kind, config = run.load()
    return None if kind.located is None else kind.located(config)


def way_home_suffixes(run: Run) -> list[str]:
    """Return the suffixes of the files that a way home of a run can be written to."""
    if find_kind(run.kind).write_ways is None:
        return []
    located = location_of(run)
    return [".geojson", ".gpx", ".kml"] if located and located.has_degrees else [".geojson"]


def way_home_file(run: Run, step: int, suffix: str) -> bytes:
    """Return the way home after a step as the content of a file: .geojson, .gpx or .kml."""
    write = find_kind(run.kind).write_ways
    if write is None or suffix not in way_home_suffixes(run):
        raise Refusal.NOT_FOUND(f"there is no way home as {suffix[:8]} for this run")
    with TemporaryDirectory() as place:
        out = Path(place) / f"way_home{suffix}"
        write(run, step, out)
        return out.read_bytes()


def sources_of(run: Run, root: Path) -> dict[str, dict[str, str | None]]:
    """Return name and digest of each file that a run was made from, by its key."""
    found = files_of(run.config, root)
    for key, value in run.config.items():
        if isinstance(value, str) and os.sep in value and key not in found:
            path = Path(value)
            found[key] = {"name": path.name, "sha256": digest_of(path) if path.is_file() else None}
    return found


def certificate_of(folder: Path) -> dict[str, Any]:
    """Return the verdict on the bounds that a run claims, as JSON values.

    The entry ``record`` identifies the checked run: its configuration, the files that it was made
    from, where its map is, the digests of its record and of the files that can be downloaded, the
    version of Homeward and the time. The digest of the steps is None if the log grew meanwhile.
    """
    from homeward.referee import certificate

    run, log = Run.open(folder), folder / STEPS
    steps = digest_of(log)
    recorded = plan_of_step(run)
    if recorded.case is not None:
        found = certificate.judge(recorded.case, episodes=EPISODES, jobs=1)
        refuted, details = found.refuted, found.as_dict()
    else:
        refuted, details = recorded.refuted, recorded.facts()
    located, manifest = location_of(run), run.manifest
    config = shown_config(run.config, folder.parent, manifest.limit)
    is_done = manifest.status is RunStatus.FINISHED  # else the outputs are those of an earlier end
    outputs = downloads_of(folder) if is_done else []
    details["record"] = {
        # The digest of the cells would be taken for that of the terrain's file.
        "config": {key: value for key, value in config.items() if not key.endswith("_sha256")},
        "files": sources_of(run, folder.parent),
        "crs": None if located is None else located.crs,
        "transform": None if located is None else list(located.transform),
        "outputs": {each["name"]: digest_of(folder / each["name"]) for each in outputs},
        "config_sha256": run.manifest.config_sha256,
        "steps_sha256": steps if steps == digest_of(log) else None,
        "homeward": __version__,
        "certified": now(),
    }
    about = {"run": folder.name, "step": recorded.record.step}
    return {**about, "refuted": refuted, "details": details}
