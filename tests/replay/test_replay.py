from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from homeward.errors import InvalidFileError
from homeward.replay import InterruptedReplayError, NotRecordedError, Replay
from homeward.runs import Run, WarmStart
from homeward.runs.log import from_line, to_line
from homeward.words import ENDS, VERDICTS, sentence

if TYPE_CHECKING:
    from pathlib import Path

    from homeward.planning.explained import Explanation
    from homeward.planning.explorer import Step
    from homeward.planning.plan import Plan


def explained(replay: Replay, step: int) -> Explanation:
    return cast("Explanation", replay.plan(step)[0])


def steps_of(runs: Path, name: str, tmp_path: Path) -> list[Step]:
    """Take a run again and give its steps, with their plans."""
    run = Run(runs / name)
    return list(Run.create(tmp_path / "again", run.kind, run.config).steps())


@pytest.mark.parametrize("name", ["grid-safe", "grid-unsafe", "rover", "rover-paper", "grid-paper"])
def test_why_is_the_evidence_of_the_plan_that_was_made(
    runs: Path, tmp_path: Path, name: str
) -> None:
    replay = Replay(runs / name)
    for step in steps_of(runs, name, tmp_path)[::7]:
        why, bounds = replay.why(step.number - 1), [each.bound for each in step.decision.bounds]
        value, again = step.decision.rate, replay.plan(step.number - 1)[0]
        if step.plan is not None:
            value, bounds = step.plan.exploration_value, list(step.plan.bounds)
        assert why["agrees"]
        assert (why["state"], why["action"]) == (step.decision.state, step.action)
        assert why["recorded"] == {"action": step.action, "bounds": bounds}
        assert why["value"] == value
        assert [c["bound"] for c in why["criteria"]] == bounds
        for told, evidence in zip(why["actions"], again.evidence, strict=True):
            assert told["action"] == evidence.action
            judged = evidence.verdict in ("unsafe", "not_chosen", "worth_less")
            never = judged and not evidence.leaves and told["name"] != "stay"
            verdict = "unavailable" if never else evidence.verdict
            assert (told["verdict"], told["words"]) == (verdict, VERDICTS[verdict])
            assert told["leaves"] == evidence.leaves
            assert told["exploration"] == evidence.exploration
            assert told["safety"] == list(evidence.safety)


@pytest.mark.parametrize(("name", "rules"), [("grid-safe", {"near"}), ("rover", {"path", "place"})])
def test_a_move_of_a_lower_rate_has_its_rule(runs: Path, name: str, rules: set[str]) -> None:
    replay, lower = Replay(runs / name), 0
    for step in range(len(replay.log)):
        why, proposal = replay.why(step), explained(replay, step).decision.proposal
        assert proposal is not None
        rule, actions = why["proposal"]["rule"], why["actions"]
        assert rule in rules
        assert (rule == "path") == proposal.along
        safe = [a["exploration"] for a in actions if a["verdict"] == "not_chosen"]
        lower += max(safe, default=0.0) > why["proposal"]["rate"]
    assert lower


def test_without_a_level_the_way_home_after_each_move_is_told(
    runs: Path,
) -> None:
    replay = Replay(runs / "grid-unsafe")
    moment, why = replay.at(2), replay.why(2)
    model: Any = moment.model
    value = replay.layers(2, ["v"])["v"].ravel()
    assert [told["way_home"] for told in why["actions"]] == moment.after.tolist()
    for told in why["actions"]:
        if told["leaves"] in (0.0, 1.0):  # it is known where the move ends
            end = model.dest[moment.state, told["action"]] if told["leaves"] else moment.state
            assert told["way_home"] >= value[end] - 1e-12
    for name in ("grid-safe", "rover-paper"):  # there it is the safety
        assert all(told["way_home"] is None for told in Replay(runs / name).why(2)["actions"])


def test_a_move_into_a_wall_is_neither_safe_nor_unsafe(tmp_path: Path) -> None:
    world = {"size": 12, "seed": 36, "walls": 0.15, "start": 78, "home": "start"}
    Run.create(tmp_path / "run", "grid", {**world, "delta": 0.9, "limit": 8}).resume()
    replay = Replay(tmp_path / "run")
    told = [each for step in range(8) for each in replay.why(step)["actions"]]
    plans = [each for step in range(8) for each in replay.plan(step)[0].evidence]
    assert any(each.verdict == "unsafe" and not each.leaves for each in plans)
    never = [each for each in told if not each["leaves"] and each["name"] != "stay"]
    assert never
    assert {each["verdict"] for each in never} == {"unavailable"}
    assert {each["verdict"] for each in told if each["name"] == "stay"} == {"not_chosen"}


def test_what_is_held_is_the_same_from_wherever_it_is_folded(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("homeward.replay.history.HELD_SPACING", 4)
    monkeypatch.setattr(
        "homeward.replay.history.MAX_HELD_BYTES", 3 * 80 * 4
    )  # three ways of 80 cells
    replay = Replay(runs / "rover")
    steps = steps_of(runs, "rover", tmp_path)
    replay.why(0)
    assert replay.decisions is not None
    for number in (60, 7, 8, 41, 3, 59):
        held, expected = replay.decisions.kept.at(number), steps[number - 1].run_state
        assert expected is not None
        assert held.proposal == expected.proposal
        assert (held.remaining, held.idle) == (expected.remaining, expected.idle)
        for mine, account in zip(held.promises, expected.promises, strict=True):
            assert mine.spent == account.spent
            np.testing.assert_array_equal(mine.way, account.way)
    assert replay.decisions.kept.spacing > 4


def test_a_plan_says_where_it_heads_and_what_it_expects(runs: Path) -> None:
    for name, unit in (("rover", "nats"), ("grid-safe", "squares"), ("grid-unsafe", "squares")):
        replay = Replay(runs / name)
        found = replay.why(1)["proposal"]
        assert found["path"][0] == replay.log.states[1]
        assert found["path"][1] == replay.log.nexts[1]
        assert found["rate"] == found["gain"] / found["steps"] > 0.0
        assert found["unit"] == unit


def test_where_a_run_ends_there_is_no_plan_but_a_reason(runs: Path) -> None:
    replay = Replay(runs / "grid-safe")
    why = replay.why(len(replay.log))
    assert why["action"] is None
    assert why["actions"] == []
    assert why["recorded"] is None
    assert why["agrees"]
    end = replay.run.manifest.end
    assert end is not None
    assert why["end"] is end
    assert why["sentence"].startswith(sentence(ENDS[end]))
    assert [c["level"] for c in why["criteria"]] == [0.7]
    assert why["criteria"][0]["bound"] >= 0.7
    json.dumps(why, allow_nan=False)


def test_after_its_last_step_a_run_that_was_called_off_says_what_it_would_do(runs: Path) -> None:
    replay = Replay(runs / "rover")
    why = replay.why(len(replay.log))
    assert why["action"] is not None
    assert why["recorded"] is None
    assert why["agrees"]


def test_a_long_way_to_a_plan_is_broken_off_and_gone_on_with(runs: Path) -> None:
    replay = Replay(runs / "rover-paper")
    planned = planning(replay)
    asked = iter([False, True])
    replay.interrupted = lambda: next(asked, False)
    with pytest.raises(InterruptedReplayError, match="ask again"):
        replay.plan(54)
    assert planned == [50, 51]
    assert replay.plan(54)[1]
    assert planned == [50, 51, 52, 53, 54]


def planning(replay: Replay) -> list[int]:
    """Give the steps after which plans are made, as they are made from now on."""
    planned: list[int] = []
    real = replay._plan

    def counting(moment: Any, warm_start: Any, *, keep: bool = True) -> Any:
        planned.append(moment.step)
        return real(moment, warm_start, keep=keep)

    replay._plan = counting  # type: ignore[method-assign]
    return planned


def test_a_plan_without_seeds_of_its_own_is_found_from_the_last_before(runs: Path) -> None:
    replay = Replay(runs / "rover-paper")
    assert list(replay.log.warm_steps) == [50]
    planned = planning(replay)
    replay.plan(54)
    assert planned == [50, 51, 52, 53, 54]
    planned.clear()
    replay.plan(55)
    assert planned == [55]
    planned.clear()
    replay.plan(54)
    assert planned == []


def test_on_a_large_map_the_nearest_seeds_are_tried_first(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("homeward.replay.replay.SMALL", 0)
    replay = Replay(runs / "rover-paper")
    planned = planning(replay)
    _, agrees = replay.plan(54)
    assert agrees
    assert planned == [54]


def test_where_they_lead_to_another_plan_the_steps_between_are_planned_again(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("homeward.replay.replay.SMALL", 0)
    replay = Replay(runs / "rover-paper")
    planned = planning(replay)
    doubts = iter([False, True])
    monkeypatch.setattr(replay, "_agrees", lambda plan, step: next(doubts))
    _, agrees = replay.plan(54)
    assert agrees
    assert planned == [54, 50, 51, 52, 53, 54]


def test_a_plan_that_is_not_the_recorded_one_is_told_so(own: Path) -> None:
    replay = Replay(own / "grid-safe")
    replay.log.actions[4] = (replay.log.actions[4] + 1) % 9
    why = replay.why(4)
    assert not why["agrees"]
    assert why["recorded"]["action"] != why["action"]


def test_the_sentence_speaks_of_rows_and_columns(runs: Path) -> None:
    replay = Replay(runs / "grid-safe")
    why = replay.why(3)
    row, column = divmod(why["state"], 6)
    assert why["sentence"].startswith(f"In row {row}, column {column}: take ")
    assert "state" not in why["explanation"]
    assert "  action" not in why["sentence"]
    assert "  action" in why["explanation"]


def test_why_is_plain_json(runs: Path) -> None:
    json.dumps(Replay(runs / "grid-safe").why(2), allow_nan=False)


def test_fields_before_the_last_step_are_learned(runs: Path) -> None:
    replay = Replay(runs / "rover")
    arrays = replay.layers(7, ["height", "v"])
    height = replay.at(7).belief.height  # type: ignore[attr-defined]
    np.testing.assert_array_equal(arrays["height"].ravel(), height)
    assert list(arrays) == ["height", "v"]


def test_the_last_fields_of_a_finished_run_need_no_setting_up(runs: Path) -> None:
    replay = Replay(runs / "rover")
    kept = replay.layers(60, ["height", "uncertainty"])
    assert not replay.is_set_up
    learned = replay.layers(60, ["height", "v", "uncertainty"])
    assert replay.is_set_up
    for name, array in kept.items():
        np.testing.assert_array_equal(learned[name], array)


@pytest.mark.parametrize("step", [-1, 61])
def test_a_step_that_was_not_taken_is_refused(runs: Path, step: int) -> None:
    replay = Replay(runs / "rover")
    for ask in (replay.why, lambda k: replay.way(k, 0), lambda k: replay.layers(k, ["height"])):
        with pytest.raises(NotRecordedError, match="the run has 60 steps"):
            ask(step)


def test_a_layer_that_is_not_there_is_refused(runs: Path) -> None:
    with pytest.raises(NotRecordedError, match="no layer 'magic'"):
        Replay(runs / "rover").layers(3, ["magic"])


def test_a_cell_off_the_map_is_refused(runs: Path) -> None:
    replay = Replay(runs / "grid-safe")
    assert replay.way(3, 35)["cell"] == 35
    with pytest.raises(NotRecordedError, match="no cell 36"):
        replay.way(3, 36)


def test_a_growing_run_is_read_on(runs: Path, tmp_path: Path) -> None:
    config = Run(runs / "grid-safe").config
    run = Run.create(tmp_path / "run", "grid", config)
    steps = run.steps()
    next(steps)
    replay = Replay(tmp_path / "run")
    assert len(replay.log) == 1
    next(steps)
    next(steps)
    assert replay.refresh()
    assert len(replay.log) == 3
    finished = Replay(runs / "grid-safe")
    found, expected = (each.layers(3, ["seen"])["seen"] for each in (replay, finished))
    np.testing.assert_array_equal(found, expected)
    steps.close()


def test_a_run_that_was_made_anew_is_noticed(own: Path) -> None:
    replay = Replay(own / "grid-safe")
    assert replay.refresh()
    shutil.rmtree(own / "grid-safe")
    Run.create(own / "grid-safe", "grid", {"size": 4}).resume()
    assert not replay.refresh()


def test_what_is_before_a_damaged_line_is_shown(own: Path) -> None:
    path = own / "grid-safe" / "steps.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], b"noise\n", *lines[5:]]))
    replay = Replay(own / "grid-safe")
    for _ in range(2):
        assert (len(replay.log), replay.log.damage) == (4, "line 5 is damaged")
        assert replay.why(3)["agrees"]
        assert replay.refresh()
    path.write_bytes(b"".join(lines))
    assert replay.refresh()
    assert replay.log.damage is None
    path.write_bytes(path.read_bytes() + b"noise\nnoise\n")
    assert not replay.refresh()  # it may be another file
    path.unlink()
    with pytest.raises(InvalidFileError, match="can't be read"):
        replay.refresh()


def test_records_that_lead_elsewhere_are_refused(own: Path) -> None:
    path = own / "grid-safe" / "steps.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    wrong = from_line(lines[2])
    lines[2] = to_line(replace(wrong, next_state=wrong.next_state + 1))
    path.write_bytes(b"".join(lines))
    replay = Replay(own / "grid-safe")
    assert replay.layers(2, ["seen"])
    with pytest.raises(InvalidFileError, match="step 3 ends in state"):
        replay.layers(3, ["seen"])


@pytest.mark.parametrize(
    ("version", "said"), [(99, "newer version"), (0, "made by an older version")]
)
def test_a_run_of_another_version_is_not_set_up(own: Path, version: int, said: str) -> None:
    config = json.loads((own / "grid-safe" / "config.json").read_text())
    config["version"] = version
    text = json.dumps(config)
    (own / "grid-safe" / "config.json").write_text(text)
    import hashlib

    manifest = json.loads((own / "grid-safe" / "manifest.json").read_text())
    manifest["config_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (own / "grid-safe" / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InvalidFileError, match=f"{said}.*of version {version}"):
        Replay(own / "grid-safe").at(0)


PIT = "55555\n55555\n55a55\n55555\n55555"


@pytest.mark.parametrize("explorer", ["uncover", "safe", "rmax"])
def test_one_who_can_not_move_chooses_no_move(tmp_path: Path, explorer: str) -> None:
    config = {"map": PIT, "explorer": explorer, "algorithm": "paper", "stay": False}
    Run.create(tmp_path / "pit", "grid", config).resume()
    why = Replay(tmp_path / "pit").why(0)
    assert (why["action"], why["trapped"]) == (None, True)
    assert why["sentence"] == sentence(ENDS["stuck"])
    assert {each["verdict"] for each in why["actions"]} == {"unavailable"}
    Run.create(tmp_path / "stays", "grid", {**config, "stay": True}).resume()
    assert Replay(tmp_path / "stays").why(0)["trapped"] is False


def test_the_warm_starts_that_are_kept_are_limited_in_bytes(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = Replay(runs / "grid-paper")
    size = WarmStart.of(cast("Plan", replay.plan(0)[0])).nbytes
    monkeypatch.setattr("homeward.replay.replay.MAX_WARM_START_BYTES", 3 * size)
    for step in range(6):
        replay.plan(step)
    assert 0 < sum(kept.nbytes for kept in replay._warm_starts.values()) <= 3 * size
