"""``homeward paper``: the paper's small examples. `paper_studies` has its studies."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from textwrap import indent, wrap
from typing import TYPE_CHECKING, Annotated

import typer

from homeward.cli.options import Figure, Json
from homeward.cli.paper_studies import coverage, levels, mars, timing, toytext
from homeward.cli.safemdp import safemdp
from homeward.cli.show import check_writable, print_table, save, say, say_json, show, track
from homeward.words import floored

if TYPE_CHECKING:
    from homeward.paper.counterexamples import Row
    from homeward.paper.formulas import Formula

DRAWN_DISCOUNT = 0.99  # γ of the policies in the figure of counterexamples
MIN_TABLE_COLUMNS = 120  # minimum terminal width, in columns, of a table with sentences

app = typer.Typer(help="The paper's stories, figures and tables.", no_args_is_help=True)
for command in (coverage, levels, mars, safemdp, timing, toytext):
    app.command()(command)


@app.command()
def criteria(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the pictures.")] = Path(
        "criteria"
    ),
    as_json: Json = False,
) -> None:
    """Show what each criterion means, on small worlds that can be solved by hand.

    The paper lists further criteria that its framework covers: return within a horizon, staying in
    a set, earning at least a given amount, several criteria at once, and a recall at a fixed step.
    Each criterion has a world of two or three states, and a picture that plots each policy by its
    value and by the probability or amount of the criterion.

    Example: homeward paper criteria --out docs/criteria
    """
    from homeward.files import refusing
    from homeward.paper.criteria import rows, stories
    from homeward.paper.figures.criteria import draw_criterion

    with refusing(out, "can't be written"):
        out.mkdir(parents=True, exist_ok=True)
    pictures = {out / f"{story.name}.png": story for story in stories()}
    for picture in pictures:
        check_writable(picture)
    for picture, story in pictures.items():
        save(draw_criterion(story), picture)
    result = {"pictures": [str(picture) for picture in pictures], "rows": rows()}
    title = "Criteria and value of each policy"
    show(result, {"rows": title}, f"{len(pictures)} pictures are in {out}.", as_json)


@app.command()
def counterexamples(out: Figure = Path("counterexamples.png"), as_json: Json = False) -> None:
    """Show why simpler definitions of safety fail, on three small worlds.

    Each example of the paper's section 3.3 has an unsafe policy that a simpler
    definition of safety accepts: judge each state-action pair by itself, require
    some way home in every sampled MDP, or use the mean model.

    The table shows, for each policy and γ: the number of the naive definition;
    the exact probability of returning home after the recall, by enumeration; and
    the lower bounds that the planner proves with the paper's "general" correction
    and with our "moves" correction. A policy is accepted at safety level δ if its
    bound is at least δ. Bounds are never above the exact probability.

    Example: homeward paper counterexamples --out stories.pdf
    """
    from homeward.paper.counterexamples import compare
    from homeward.paper.figures.stories import draw_stories

    check_writable(out)
    rows = compare()
    save(draw_stories(rows, DRAWN_DISCOUNT), out)
    if as_json:
        say_json({"figure": str(out), "rows": [asdict(row) for row in rows]})
    else:
        _print_stories(rows)
        say(f"The figure is in {out}.")


def _print_stories(rows: Sequence[Row]) -> None:
    """Print the table of the counterexamples, then the title and lesson of each one."""
    from rich.console import Console

    from homeward.paper.counterexamples import all_stories

    width, digits = Console().width, 4 if sys.stdout.isatty() else 6
    names = ("naive", "exact", "general", "moves")
    shown = []
    for row in rows:
        *known, general, moves = row.values
        values = ["-" if value is None else f"{value:.{digits}f}" for value in known]
        values += ["-" if v is None else floored(v, digits) for v in (general, moves)]
        cells = {"story": row.story, "policy": row.policy, "γ": f"{row.discount:g}"}
        shown.append(cells | dict(zip(names, values, strict=True)) | {"shows": row.shows})
    if sys.stdout.isatty():
        if width < MIN_TABLE_COLUMNS:
            shown = [{k: cell for k, cell in row.items() if k != "shows"} for row in shown]
        print_table(shown, right=names)
    else:
        lines = [list(shown[0]), *(list(row.values()) for row in shown)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            padded = (cell.ljust(w) for cell, w in zip(line, widths, strict=True))
            say("  ".join(padded).rstrip())
    for story in all_stories():
        say(f"\n{story.title}. The naive definition: {story.naive}.")
        say(indent("\n".join(wrap(story.lesson, min(100, width) - 2)), "  "))
    say("")


@app.command()
def examples(out: Figure = Path("examples.png"), as_json: Json = False) -> None:
    """Explore three grid worlds, safely and unsafely: reproduce the paper's figure of examples.

    The explorer sees a height only from a neighbouring square. It can climb one
    level per move, and descend any number of levels. A safe explorer stays able
    to return with probability at least δ. Adapted R-max has no safety level.

    The pit: the safe explorer refuses a descent that traps the other explorer.
    The detour: the safe explorer refuses a descent until it has seen a way back.
    The gamble: moving East is safe with probability .8. The explorer moves East
    at δ ≤ .6 with the paper's "general" correction, and at δ ≤ .8 with "moves".

    We made the maps to match the paper's captions, and every panel is a new run.
    The exit code is 1 if a run contradicts its caption.

    Example: homeward paper examples --out worlds.pdf
    """
    from homeward.kinds.grid.figure import draw_panels
    from homeward.paper.examples import TITLE, WORLDS, run_all
    from homeward.paper.tours import DISCOUNT

    check_writable(out)
    findings = run_all()
    save(draw_panels([f.panel for f in findings], title=TITLE), out)
    failed = [f.letter for f in findings if not f.holds]
    if as_json:
        worlds = {name: str(grid).splitlines() for name, grid in WORLDS.items()}
        panels = [
            {
                **{"panel": f.letter, "claim": f.claim, "holds": f.holds},
                **{"caption": f.panel.caption, "numbers": f.numbers},
            }
            for f in findings
        ]
        say_json({"figure": str(out), "discount": DISCOUNT, "worlds": worlds, "panels": panels})
    else:
        tables = {
            "panels": [
                {"panel": f.letter, "result": f.panel.caption, "as in the paper": f.holds}
                for f in findings
            ],
            "levels": [
                {"δ" if name == "delta" else name: value for name, value in row.items()}
                for row in findings[-1].numbers["levels"]
            ],
        }
        titles = {"panels": "The nine panels", "levels": "Does the explorer move East?"}
        all_true = "All panels agree with the paper."
        verdict = f"Panels that differ from the paper: {', '.join(failed)}." if failed else all_true
        show(tables, titles, f"{verdict} The figure is in {out}.", as_json=False)
    if failed:
        raise typer.Exit(1)


@app.command()
def sat(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE.cnf", help="A formula as a DIMACS CNF file, with at most 16 variables."
        ),
    ] = None,
    formulas: Annotated[
        int | None,
        typer.Option(min=1, help="Without a file: number of random formulas.", show_default="200"),
    ] = None,
    variables: Annotated[
        int | None,
        typer.Option(
            min=3,
            max=16,
            help="Without a file: number of variables per formula.",
            show_default="random, 6 to 11",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Without a file: random seed.", show_default="0")
    ] = None,
    as_json: Json = False,
) -> None:
    """Decide 3SAT by asking whether a safe policy exists (the paper's Theorem 1).

    A formula becomes a belief with one world per truth assignment. The explorer
    goes from D to S and waits. The way back visits one literal of each clause,
    and a move out of a literal succeeds only in worlds where the literal is true.
    So the explorer can return with positive probability if and only if some
    assignment makes every clause true. This is why exact safety is NP-hard to
    decide, and why the planner uses a lower bound.

    With a file, the command decides its formula and prints the likeliest way
    back. Without a file, it draws random formulas with 4.26 clauses per variable,
    where they are hardest, and compares each answer with a SAT solver (extra
    "sat"). It prints every disagreement, and then exits with code 1.

    Examples: homeward paper sat formula.cnf

    homeward paper sat --formulas 50 --variables 9 --seed 1
    """
    if file is None:
        _sat_random(200 if formulas is None else formulas, variables, seed or 0, as_json=as_json)
        return
    for name, given in (("formulas", formulas), ("variables", variables), ("seed", seed)):
        if given is not None:
            raise typer.BadParameter(f"--{name} applies only to random formulas, without a file")
    from homeward.paper.formulas import read_dimacs

    _sat_file(read_dimacs(file), as_json=as_json)


def _sat_file(formula: Formula, *, as_json: bool) -> None:
    """Decide whether a formula is satisfiable, and print the likeliest way back from S to D."""
    from homeward.errors import MissingExtraError
    from homeward.paper.formulas import assignment, belief_from
    from homeward.paper.satisfiability import ask_solver, decide

    belief = belief_from(formula)
    decision = decide(belief)
    try:
        solver: bool | None = ask_solver(formula)
    except MissingExtraError:
        solver = None
    names = belief.worlds[0].state_names or ()
    path = [names[s] for s in decision.path]
    literals = None if decision.world is None else list(assignment(formula, decision.world))
    answer = {True: "satisfiable", False: "unsatisfiable", None: "not installed (homeward[sat])"}
    if as_json:
        size = {"variables": formula.variables, "clauses": len(formula.clauses)}
        worlds = {"worlds": decision.worlds, "open_worlds": decision.open_worlds}
        way = {"return_path": path, "probability": decision.probability, "solver": solver}
        answers = {"satisfiable": decision.safe, "assignment": literals}
        say_json({"file": formula.name, **size, **worlds, **answers, **way})
    else:
        say(f"{formula.name}: {answer[decision.safe]}")
        say(
            f"{decision.open_worlds} of {decision.worlds} worlds "
            f"({formula.variables} variables, {len(formula.clauses)} clauses) "
            "have a way back from S to D."
        )
        if literals is not None:
            say(f"Assignment: {' '.join(map(str, literals))}")
            say(f"Likeliest way back, with probability {decision.probability:.6g}:")
            say(f"  {' → '.join(path)}")
        say(f"SAT solver: {answer[solver]}")
    if solver is not None and solver != decision.safe:
        raise typer.Exit(1)


def _sat_random(formulas: int, variables: int | None, seed: int, *, as_json: bool) -> None:
    """Decide random formulas, and print on how many our answer is that of a SAT solver."""
    import numpy as np

    from homeward.paper.satisfiability import try_formulas

    trials = try_formulas(formulas, np.random.default_rng(seed), variables)
    answers = list(track(trials, "deciding", quiet=as_json, total=formulas))
    yes = sum(solver for _, _, solver in answers)
    disputed = [formula.dimacs() for formula, ours, solver in answers if ours != solver]
    agreed = formulas - len(disputed)
    if as_json:
        counts = {"formulas": formulas, "satisfiable": yes, "unsatisfiable": formulas - yes}
        say_json({**counts, "agreements": agreed, "disputed": disputed, "seed": seed})
    else:
        say(
            f"{formulas} random formulas (seed {seed}): {yes} satisfiable, {formulas - yes} "
            f"unsatisfiable; our answer and the SAT solver's agree on {agreed}."
        )
        for text in disputed:
            say(f"They disagree on:\n{text}")
    if disputed:
        raise typer.Exit(1)
