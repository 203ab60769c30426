from __future__ import annotations

import asyncio
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from homeward.runs import Run
from homeward.web import streams as module
from homeward.web.catalogue import Catalogue
from homeward.web.jobs import Jobs
from homeward.web.refusals import RefusalError
from homeward.web.streams import Streams, watched

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


def parsed(text: str) -> tuple[str, str | None, dict[str, Any]]:
    """Take an event apart: its name, its id and its data."""
    lines = dict(line.split(": ", 1) for line in text.strip().split("\n"))
    return lines["event"], lines.get("id"), json.loads(lines["data"])


async def following(stream: AsyncIterator[str]) -> tuple[str, str | None, dict[str, Any]]:
    return parsed(await asyncio.wait_for(anext(stream), 5.0))


def streams_of(root: Path, most: int = 64) -> Streams:
    catalogue = Catalogue(root)
    return Streams(catalogue, Jobs(catalogue), most)


def test_a_finished_run_tells_its_steps_and_then_how_it_stands(own: Path) -> None:
    async def scene() -> None:
        stream = streams_of(own).of({"grid-safe": 0}).events
        name, number, data = await following(stream)
        total = Run(own / "grid-safe").manifest.steps
        assert (name, number) == ("steps", f"grid-safe@{total}")
        assert data == {"id": "grid-safe", "from": 0, "to": total, "status": "finished"}
        name, _, data = await following(stream)
        assert name == "status"
        assert (data["id"], data["status"], data["steps"]) == ("grid-safe", "finished", total)

    asyncio.run(scene())


def test_who_comes_again_is_told_only_what_is_new(own: Path) -> None:
    async def scene() -> None:
        total = Run(own / "grid-safe").manifest.steps
        stream = streams_of(own).of({"grid-safe": 5}).events
        assert (await following(stream))[2]["from"] == 5
        stream = streams_of(own).of({"grid-safe": total}).events
        assert (await following(stream))[0] == "status"
        stream = streams_of(own).of({"grid-safe": total + 90}).events
        assert (await following(stream))[2]["from"] == 0

    asyncio.run(scene())


def test_steps_are_told_as_they_are_taken(tmp_path: Path) -> None:
    async def scene() -> None:
        run = Run.create(tmp_path / "run", "grid", {"size": 5})
        stream = streams_of(tmp_path).of({"run": 0}).events
        assert (await following(stream))[2]["status"] == "interrupted"
        steps = run.steps()
        next(steps)
        told = [await following(stream), await following(stream)]
        assert [t[0] for t in told] == ["steps", "status"]
        assert told[0][2] == {"id": "run", "from": 0, "to": 1, "status": "running"}
        assert told[1][2]["status"] == "running"
        next(steps)
        next(steps)
        assert (await following(stream))[2] == {
            "id": "run",
            "from": 1,
            "to": 3,
            "status": "running",
        }
        steps.close()
        assert (await following(stream))[2]["status"] == "interrupted"

    asyncio.run(scene())


def test_a_run_that_goes_away_is_told_and_ends_the_stream(own: Path) -> None:
    async def scene() -> None:
        stream = streams_of(own).of({"grid-safe": 0}).events
        await following(stream)
        await following(stream)
        shutil.rmtree(own / "grid-safe")
        assert (await following(stream))[0] == "gone"
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    asyncio.run(scene())


def test_what_changes_in_the_queue_alone_is_told(tmp_path: Path) -> None:
    Run.create(tmp_path / "waiting", "grid", {"size": 3})

    async def scene() -> None:
        streams = streams_of(tmp_path)
        stream = streams.of({"waiting": 0}).events
        _, _, data = await following(stream)
        assert data["status"] == "interrupted"
        await streams.jobs._update({"waiting": ("queued", None)})
        _, _, data = await following(stream)
        assert (data["status"], data["place"]) == ("queued", 1)

    asyncio.run(scene())


@pytest.mark.parametrize("late", ["summary", "steps"])
def test_a_run_that_goes_away_as_it_is_looked_at_is_gone(
    own: Path, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    streams = streams_of(own)
    seen = streams._poll("grid-safe", None)
    assert seen is not None
    count = streams.catalogue.count

    def gone(name: str) -> tuple[int, str | None]:
        found = count(name)
        shutil.rmtree(own / name, ignore_errors=True)
        return found

    monkeypatch.setattr(streams.catalogue, "count", gone)
    assert streams._poll("grid-safe", None if late == "summary" else seen[0]) is None


def test_a_stream_shows_that_it_is_alive(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEEP_ALIVE_SECONDS", 0.05)

    async def scene() -> None:
        streams = streams_of(own)
        for stream, told in (
            (streams.of({"grid-safe": 0}).events, 2),
            (streams.of({}, True).events, 1),
        ):
            for _ in range(told):
                await following(stream)
            assert await asyncio.wait_for(anext(stream), 5.0) == module.KEEP_ALIVE

    asyncio.run(scene())


def test_the_list_is_told_when_it_changes(own: Path) -> None:
    async def scene() -> None:
        streams = streams_of(own)
        stream = streams.of({}, True).events
        begun = {"count": 1, "changed": [], "gone": []}
        assert (await following(stream)) == ("runs", None, begun)
        Run.create(own / "another", "grid", {"size": 4})
        told = {"count": 2, "changed": ["another"], "gone": []}
        assert (await following(stream))[2] == told
        await streams.jobs._update({"another": ("queued", None)})
        assert (await following(stream))[2] == told
        shutil.rmtree(own / "grid-safe")
        assert (await following(stream))[2] == {"count": 1, "changed": [], "gone": ["grid-safe"]}
        streams.closing = True
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    asyncio.run(scene())


def test_so_many_streams_are_open_at_once(own: Path) -> None:
    async def scene() -> None:
        streams = streams_of(own, most=2)
        first = streams.of({"grid-safe": 0})
        streams.of({}, True)
        with pytest.raises(RefusalError, match="2 streams are open") as refusal:
            streams.of({}, True)
        assert refusal.value.status == 429

        async def receive() -> Any:
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            await asyncio.sleep(0)

        await first({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send)
        assert streams.going == 1

    asyncio.run(scene())


def test_one_stream_tells_of_several_runs_and_of_the_list(own: Path) -> None:
    shutil.copytree(own / "grid-safe", own / "second")

    async def scene() -> None:
        total = Run(own / "grid-safe").manifest.steps
        stream = streams_of(own).of({"grid-safe": 0, "second": 4, "absent": 9}, True).events
        told = [await following(stream) for _ in range(6)]
        assert [(name, data.get("id")) for name, _, data in told] == [
            *(("steps", "grid-safe"), ("status", "grid-safe")),
            *(("steps", "second"), ("status", "second")),
            *(("gone", "absent"), ("runs", None)),
        ]
        assert told[2][1] == f"grid-safe@{total},second@{total},absent@9"
        assert told[2][2]["from"] == 4
        shutil.rmtree(own / "second")
        assert {(await following(stream))[0] for _ in range(2)} == {"gone", "runs"}

    asyncio.run(scene())


def test_the_runs_of_a_stream_are_named_with_their_last_steps() -> None:
    assert watched("a@12,b-safe@0,c") == {"a": 12, "b-safe": 0, "c": 0}
    assert watched("") == {}
    for wrong in ("a@x", "../a@1", "a/b", ",".join(f"r{n}" for n in range(65))):
        with pytest.raises(RefusalError):
            watched(wrong)
