"""Downloads of a run: its files, its way home as GeoJSON, GPX or KML, and its certificate."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from homeward import __version__
from homeward.runs import Kind, Run
from homeward.runs.manifest import now
from homeward.runs.run import STEPS, digest_of
from homeward.runs.verification import plan_of_step
from homeward.web.catalogue import NAME, plain_file
from homeward.web.refusals import Refusal
from homeward.web.transport import DOWNLOADS
from homeward.web.uploads import shown_config

INTERNAL = ("config.json", "manifest.json")  # files that are not offered
EPISODES = 2000  # number of worlds in which a plan of the paper's algorithm is sampled


def files_of(folder: Path) -> list[dict[str, Any]]:
    """Return the names and sizes of a run's files that can be downloaded."""
    names = sorted(path.name for path in folder.iterdir())
    files = [path for name in names if (path := file_of(folder, name)) is not None]
    return [{"name": path.name, "bytes": path.stat().st_size} for path in files]


def file_of(folder: Path, name: str) -> Path | None:
    """Return the path of a file that can be downloaded; None if no such file exists."""
    if not NAME.fullmatch(name) or name in INTERNAL or Path(name).suffix not in DOWNLOADS:
        return None
    return plain_file(folder, name)


def way_home_file(kind: Kind, folder: Path, step: int, suffix: str) -> bytes:
    """Return the way home after a step as the content of a file: .geojson, .gpx or .kml."""
    if kind.write_ways is None or suffix not in (".geojson", ".gpx", ".kml"):
        raise Refusal.NOT_FOUND(f"there is no way home as {suffix[:8]} for this run")
    with TemporaryDirectory() as place:
        out = Path(place) / f"way_home{suffix}"
        kind.write_ways(Run.open(folder), step, out)
        return out.read_bytes()


def certificate_of(folder: Path) -> dict[str, Any]:
    """Return the verdict on the bounds that a run claims, as JSON values.

    The entry ``record`` identifies the checked run: its configuration, the digests of its files,
    the version of Homeward and the time. The digest of the steps is None if the log grew meanwhile.
    """
    from homeward.certificates import certificate

    run, log = Run.open(folder), folder / STEPS
    steps = digest_of(log)
    recorded = plan_of_step(run)
    if recorded.stored is not None:
        found = certificate.certify(recorded.stored, episodes=EPISODES, jobs=1)
        refuted, details = found.refuted, found.as_dict()
    else:
        refuted, details = recorded.refuted, recorded.facts()
    details["record"] = {
        "config": shown_config(run.config, folder.parent),
        "config_sha256": run.manifest.config_sha256,
        "steps_sha256": steps if steps == digest_of(log) else None,
        "homeward": __version__,
        "certified": now(),
    }
    about = {"run": folder.name, "step": recorded.record.step}
    return {**about, "refuted": refuted, "details": details}
