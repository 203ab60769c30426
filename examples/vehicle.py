"""A rover that is steered by a mission: this program plays the rover, in a process of its own.

It makes a terrain model with errors, starts a mission with the command line, and serves it. Then it
does what a real vehicle would do: it asks over HTTP for the next move, tries it on the true ground,
which only this program knows, measures the heights around it, and reports both. In the end it is
recalled, and drives home::

    python examples/vehicle.py missions/hills --observations 50

The way home is in ``missions/hills/way_home.geojson``, which geopandas, QGIS and others open.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

CELL, SIDE = 10.0, 48  # m, and cells along each side
CLIMB, DESCEND = 12.0, 25.0  # degrees that the vehicle can drive
MODEL_ERROR = 0.3  # m, standard deviation of the terrain model
REACH = 29.0  # m, range of the sensor
SETTINGS = (
    *("--cell", f"{CELL:g}", "--ground", "paper", "--blur", "0", "--error", f"{MODEL_ERROR**2:g}"),
    *("--climb", f"{CLIMB:g}", "--descend", f"{DESCEND:g}", "--sensor-range", f"{REACH:g}"),
    *("--delta", "0.95", "--start", f"{SIDE // 2},{SIDE // 2}"),
)
MOVES = {
    name: (down, right)
    for name, down, right in (
        *(("stay", 0, 0), ("N", -1, 0), ("NE", -1, 1), ("E", 0, 1), ("SE", 1, 1)),
        *(("S", 1, 0), ("SW", 1, -1), ("W", 0, -1), ("NW", -1, -1)),
    )
}


def hills() -> np.ndarray:
    """Return heights [SIDE, SIDE] in m: hills, and craters that are hard to leave."""
    y, x = np.mgrid[:SIDE, :SIDE] * CELL
    ground = 6.0 * np.sin(x / 70.0) + 5.0 * np.cos(y / 90.0)
    for row, column, depth in ((10, 12, 14.0), (33, 37, 12.0), (36, 9, 10.0)):
        away = np.hypot(y - row * CELL, x - column * CELL)
        ground -= depth * np.exp(-((away / 35.0) ** 4))
    return np.asarray(ground)


def write_model(path: Path, heights: np.ndarray) -> None:
    """Write a terrain model as GeoTIFF, on the ground of a UTM zone."""
    import rasterio

    transform = rasterio.Affine(CELL, 0.0, 500_000.0, 0.0, -CELL, 5_400_000.0)
    shape = {"height": SIDE, "width": SIDE, "count": 1, "dtype": "float32"}
    with rasterio.open(
        path, "w", driver="GTiff", crs="EPSG:32633", transform=transform, **shape
    ) as file:
        file.write(heights.astype("float32"), 1)


class Rover:
    """The vehicle on the true ground [SIDE, SIDE], which the mission does not know."""

    def __init__(self, ground: np.ndarray, rng: np.random.Generator) -> None:
        self.ground, self.rng = ground, rng
        self.row = self.column = SIDE // 2

    def attempt(self, move: str) -> bool:
        """Try a move; it fails where the ground is too steep."""
        down, right = MOVES[move]
        row, column = self.row + down, self.column + right
        if not (0 <= row < SIDE and 0 <= column < SIDE):
            return False
        rise = self.ground[row, column] - self.ground[self.row, self.column]
        length = max(CELL * math.hypot(down, right), 1e-9)
        slope = math.degrees(math.atan2(rise, length))
        if -DESCEND <= slope <= CLIMB:
            self.row, self.column = row, column
            return True
        return move == "stay"

    def report(self, number: int, move: str | None = None) -> dict[str, Any]:
        """Measure the heights in range, and return a report."""
        heights, far = [], int(REACH / CELL) + 1
        for row in range(max(0, self.row - far), min(SIDE, self.row + far + 1)):
            for column in range(max(0, self.column - far), min(SIDE, self.column + far + 1)):
                away = CELL * math.hypot(row - self.row, column - self.column)
                if away <= REACH:
                    error = 1e-3 * (away + 1.0)  # the sensor's standard deviation in m
                    height = self.ground[row, column] + error * self.rng.standard_normal()
                    heights.append([row, column, round(float(height), 6), error])
        report = {"id": f"report-{number}", "position": [self.row, self.column], "heights": heights}
        return report if move is None else {**report, "tried": move}


def drive(ask: Callable[..., Any], rover: Rover, observations: int) -> dict[str, Any]:
    """Explore for a number of reports, then come home; return the recall.

    `ask` sends a request: a method, the last part of the mission's address, and a JSON value.
    """
    ask("POST", "observations", rover.report(0))
    number = 0
    for number in range(1, observations):
        advice = ask("GET", "next")
        if advice["move"] is None:
            say(advice["sentence"])
            break
        worked = rover.attempt(advice["move"])
        ask("POST", "observations", rover.report(number, advice["move"]))
        if number % 10 == 0 or not worked:
            left = advice["promise"]["budgets"][0]["left"]
            outcome = "worked" if worked else "failed"
            say(f"report {number}: {advice['move']} {outcome}; {left:.3g} may still be risked")
    recall: dict[str, Any] = ask("GET", "recall")
    way = recall["ways_home"][0]
    say(f"recalled: {len(way['moves'])} moves home, probability at least {way['probability']:.4f}")
    while not way["is_home"]:  # a move that fails changes the way
        number += 1
        move = way["moves"][0]["move"]
        rover.attempt(move)
        ask("POST", "observations", rover.report(number, move))
        way = ask("GET", "recall")["ways_home"][0]
    say(f"the rover is home at row {rover.row}, column {rover.column}")
    return recall


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def client(address: str, mission: str) -> Callable[..., Any]:
    """Return a function that sends requests to the server at the address that it printed."""
    parts = urlsplit(address)
    found = re.search(r"(?:token|key)=([^&#]+)", parts.query + "&" + parts.fragment)
    base = f"{parts.scheme}://{parts.netloc}/api/v1/missions/{mission}"

    def ask(method: str, what: str, value: Any = None) -> Any:
        headers = {"X-Homeward": "1", "Content-Type": "application/json"}
        if found:
            headers["Authorization"] = f"Bearer {found[1]}"
        data = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(f"{base}/{what}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    return ask


def main() -> None:
    """Start a mission, serve it, and play the rover."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mission", type=Path, help="new folder of the mission")
    parser.add_argument("--observations", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng, ground = np.random.default_rng(given.seed), hills()
    given.mission.parent.mkdir(parents=True, exist_ok=True)
    model = given.mission.parent / "hills.tif"
    write_model(model, ground + MODEL_ERROR * rng.standard_normal(ground.shape))
    homeward = [sys.executable, "-m", "homeward"]
    start = ["mission", "start", "rover", str(given.mission), "--terrain", str(model)]
    subprocess.run([*homeward, *start, *SETTINGS], check=True)
    serve = [*homeward, "serve", str(given.mission.parent), "--no-open", "--port", "0"]
    server = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        address = re.search(r"http://\S+", line)
        assert address is not None, line
        say(f"watch it: {address[0]}")
        recall = drive(
            client(address[0], given.mission.name), Rover(ground, rng), given.observations
        )
    finally:
        server.terminate()
        server.wait()
    path = given.mission / "way_home.geojson"
    path.write_text(json.dumps(recall["geojson"]))
    (given.mission / "way_home.gpx").write_text(recall["gpx"])
    import geopandas

    way = geopandas.read_file(path)
    say(f"{path}: {way.length.iloc[0]:.0f} m in {way.crs.name}")


if __name__ == "__main__":
    main()
