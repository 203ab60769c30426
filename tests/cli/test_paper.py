from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from matplotlib.figure import Figure

from homeward.cli import main
from homeward.kinds.grid.maps import HeightMap
from homeward.paper import examples, satisfiability
from homeward.paper.formulas import Formula, belief_from

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SATISFIABLE = "p cnf 3 2\n1 -2 3 0\n-1 0\n%\n0\n"
UNSATISFIABLE = "p cnf 1 2\n1 0\n-1 0\n"
PNG = b"\x89PNG"


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Run ``homeward paper ...`` in an empty folder; give the exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["homeward", "paper", *words])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        code = left.value.code
        return code if isinstance(code, int) else 0, said.out, said.err

    return call


def cnf(folder: Path, text: str) -> str:
    (folder / "f.cnf").write_text(text)
    return "f.cnf"


def test_counterexamples_prints_every_policy_and_a_lesson_per_story(run: Any) -> None:
    code, out, _ = run("counterexamples")
    assert code == 0
    lines = out.splitlines()
    (row,) = [
        line
        for line in lines
        if line.startswith("Known odds") and "a,c,c" in line and "0.999" in line
    ]
    assert row.split()[2:7] == ["a,c,c,c,…", "0.999", "0.800000", "0.008921", "0.008920"]
    for title in ("Known odds", "Which way back", "The average loop"):
        assert f"{title}. The naive definition: " in out
    assert max(len(line) for line in lines[len(lines) // 2 :]) <= 100


def test_counterexamples_draws_a_png_and_leaves_nothing_else(run: Any, tmp_path: Path) -> None:
    run("counterexamples")
    assert [p.name for p in tmp_path.iterdir()] == ["counterexamples.png"]
    assert (tmp_path / "counterexamples.png").read_bytes().startswith(PNG)


def test_the_figure_can_be_a_pdf_elsewhere(run: Any, tmp_path: Path) -> None:
    code, out, _ = run("counterexamples", "--out", "stories.pdf")
    assert code == 0
    assert (tmp_path / "stories.pdf").read_bytes().startswith(b"%PDF")
    assert "stories.pdf" in out


def test_counterexamples_as_json_holds_the_table(run: Any) -> None:
    code, out, _ = run("counterexamples", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["figure"] == "counterexamples.png"
    assert len(told["rows"]) == 10
    loop = told["rows"][-1]
    assert (loop["story"], loop["discount"]) == ("The average loop", 0.999)
    assert (loop["naive"], loop["exact"]) == pytest.approx((1.0, 0.001))


def test_a_figure_that_fails_half_way_leaves_the_old_one(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "counterexamples.png"
    old.write_bytes(b"old")

    def full_disk(self: Figure, path: Path, **_: object) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", full_disk)
    code, out, err = run("counterexamples")
    assert code == 2
    assert err == "homeward: counterexamples.png: can't be written: No space left on device\n"
    assert out == ""
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"counterexamples.png": b"old"}


@pytest.mark.parametrize(
    ("target", "complaint"),
    [("no/such/x.png", "there is no folder no/such"), ("x.gif", ".png, .pdf, .svg")],
)
def test_a_place_where_no_figure_can_go_is_one_line(run: Any, target: str, complaint: str) -> None:
    code, _, err = run("counterexamples", "--out", target)
    assert code == 2
    assert err.startswith(f"homeward: {target}: ")
    assert complaint in err
    assert err.count("\n") == 1


def test_examples_draws_nine_panels_and_says_what_each_shows(run: Any, tmp_path: Path) -> None:
    code, out, _ = run("examples")
    assert code == 0
    assert [p.name for p in tmp_path.iterdir()] == ["examples.png"]
    assert (tmp_path / "examples.png").read_bytes().startswith(PNG)
    cells = [line.split("│")[1].strip() for line in out.splitlines() if line.startswith("│")]
    assert "".join(cell for cell in cells if cell.isalpha()) == "abcdefghi"
    assert "moving South-West is held to be unsafe" in out
    assert "0.61 │ no      │ yes" in out
    assert out.endswith("All panels agree with the paper. The figure is in examples.png.\n")


def test_examples_as_json_holds_the_claims_and_their_numbers(run: Any) -> None:
    code, out, _ = run("examples", "--out", "worlds.svg", "--json")
    told = json.loads(out)
    assert code == 0
    assert (told["figure"], told["discount"]) == ("worlds.svg", 0.99)
    assert HeightMap.from_text("\n".join(told["worlds"]["pit"])).states == 49
    assert [panel["panel"] for panel in told["panels"]] == list("abcdefghi")
    for panel in told["panels"]:
        assert panel["holds"] is True
        assert set(panel) == {"panel", "claim", "holds", "caption", "numbers"}
    assert told["panels"][6]["numbers"]["probability"] == 0.8
    assert told["panels"][8]["numbers"]["taken_up_to"] == {"general": 0.6, "moves": 0.8}


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_caption_that_does_not_come_true_gives_exit_code_1(
    run: Any, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    mirrored = "\n".join(line[::-1] for line in str(examples.PIT).splitlines())
    monkeypatch.setattr(examples, "PIT", HeightMap.from_text(mirrored))
    code, out, _ = run("examples", *words)
    assert code == 1
    if words:
        holds = {panel["panel"]: panel["holds"] for panel in json.loads(out)["panels"]}
        assert [letter for letter in holds if not holds[letter]] == ["a"]
    else:
        assert "Panels that differ from the paper: a." in out
        assert "agree with the paper" not in out


def test_examples_refuses_a_place_for_no_figure_before_it_explores(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examples, "run_all", lambda: pytest.fail("it explored"))
    code, out, err = run("examples", "--out", "x.gif")
    assert (code, out) == (2, "")
    assert err == "homeward: x.gif: a figure can be written as .png, .pdf, .svg\n"


def test_sat_decides_a_satisfiable_file_and_shows_the_way_back(run: Any, tmp_path: Path) -> None:
    pytest.importorskip("pysat")
    code, out, _ = run("sat", cnf(tmp_path, SATISFIABLE))
    assert code == 0
    assert out.splitlines() == [
        "f.cnf: satisfiable",
        "3 of 8 worlds (3 variables, 2 clauses) have a way back from S to D.",
        "Assignment: -1 -2 -3",
        "Likeliest way back, with probability 0.25:",
        "  S → 1y:¬x2 → 2x:¬x1 → D",
        "SAT solver: satisfiable",
    ]


def test_sat_decides_an_unsatisfiable_file(run: Any, tmp_path: Path) -> None:
    pytest.importorskip("pysat")
    code, out, _ = run("sat", cnf(tmp_path, UNSATISFIABLE))
    assert code == 0
    assert out.splitlines() == [
        "f.cnf: unsatisfiable",
        "0 of 2 worlds (1 variables, 2 clauses) have a way back from S to D.",
        "SAT solver: unsatisfiable",
    ]


def test_sat_as_json_tells_the_same(run: Any, tmp_path: Path) -> None:
    pytest.importorskip("pysat")
    told = json.loads(run("sat", cnf(tmp_path, SATISFIABLE), "--json")[1])
    assert told == {
        "file": "f.cnf",
        "variables": 3,
        "clauses": 2,
        "worlds": 8,
        "open_worlds": 3,
        "satisfiable": True,
        "assignment": [-1, -2, -3],
        "return_path": ["S", "1y:¬x2", "2x:¬x1", "D"],
        "probability": 0.25,
        "solver": True,
    }


def test_without_a_solver_a_file_is_still_decided(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    code, out, _ = run("sat", cnf(tmp_path, UNSATISFIABLE))
    assert code == 0
    assert out.endswith("SAT solver: not installed (homeward[sat])\n")


def test_without_a_solver_random_formulas_are_refused_in_one_line(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    code, _, err = run("sat", "--formulas", "2")
    assert code == 2
    said = "there is no SAT solver to compare with: pip install 'homeward[sat]'"
    assert err == f"homeward: {said}\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "f.cnf: can't be read: No such file or directory"),
        ("p cnf 3 1\n1 2 3\n", "f.cnf:2: the clause begun here is not ended with 0"),
        (
            "p cnf 20 1\n1 2 20 0\n",
            "f.cnf: 20 variables make 2^20 worlds; at most 16 variables can be enumerated",
        ),
    ],
)
def test_a_file_that_cannot_be_decided_is_one_line(
    run: Any, tmp_path: Path, text: str | None, complaint: str
) -> None:
    if text is not None:
        cnf(tmp_path, text)
    code, out, err = run("sat", "f.cnf")
    assert (code, out, err) == (2, "", f"homeward: {complaint}\n")


def test_random_formulas_are_counted(run: Any) -> None:
    pytest.importorskip("pysat")
    code, out, _ = run("sat", "--formulas", "6", "--variables", "6", "--json")
    told = json.loads(out)
    assert code == 0
    assert (told["formulas"], told["agreements"], told["disputed"]) == (6, 6, [])
    assert told["satisfiable"] + told["unsatisfiable"] == 6


def test_another_seed_draws_other_formulas(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []

    def remember(formula: Formula) -> bool:
        drawn.append(formula.clauses)
        return True

    monkeypatch.setattr(satisfiability, "ask_solver", remember)
    for seed in ("0", "0", "1"):
        run("sat", "--formulas", "1", "--variables", "5", "--seed", seed)
    first, again, other = drawn
    assert first == again
    assert first != other


def test_a_disagreement_is_printed_and_gives_exit_code_1(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def contradict(formula: Formula) -> bool:
        return not satisfiability.decide(belief_from(formula)).safe

    monkeypatch.setattr(satisfiability, "ask_solver", contradict)
    code, out, _ = run("sat", "--formulas", "2", "--variables", "4")
    assert code == 1
    assert "agree on 0." in out
    assert out.count("They disagree on:") == out.count("p cnf 4 17") == 2


def test_a_disagreement_on_a_file_gives_exit_code_1(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(satisfiability, "ask_solver", lambda _: True)
    code, out, _ = run("sat", cnf(tmp_path, UNSATISFIABLE))
    assert code == 1
    assert out.endswith("SAT solver: satisfiable\n")


@pytest.mark.parametrize("option", ["--formulas", "--variables", "--seed"])
def test_options_for_random_formulas_do_not_go_with_a_file(
    run: Any, tmp_path: Path, option: str
) -> None:
    code, _, err = run("sat", cnf(tmp_path, SATISFIABLE), option, "5")
    assert code == 2
    assert f"{option} applies only to random formulas" in err


@pytest.mark.parametrize(
    ("command", "taught"),
    [("counterexamples", "mean model"), ("examples", "The gamble"), ("sat", "NP-hard")],
)
def test_help_teaches(run: Any, command: str, taught: str) -> None:
    code, out, _ = run(command, "--help")
    assert code == 0
    assert taught in out
    assert f"homeward paper {command}" in out
