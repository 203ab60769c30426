"""``homeward paper``: the paper's small stories, figures and tables."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from textwrap import indent, wrap
from typing import TYPE_CHECKING, Annotated

import typer

from homeward.cli.coverage import coverage
from homeward.cli.criteria import criteria
from homeward.cli.levels import levels
from homeward.cli.mars import mars, timing
from homeward.cli.options import Figure, Json
from homeward.cli.safemdp import safemdp
from homeward.cli.show import check_writable, save, say_json, show, track
from homeward.cli.toytext import toytext

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.paper.counterexamples import Row
    from homeward.paper.formulas import Formula

FORMULAS = 200
DRAWN_AT = 0.99
MIN_TABLE_COLUMNS = 120
"""Minimum terminal width, in columns, of a table with sentences."""

app = typer.Typer(help="The paper's stories, figures and tables.", no_args_is_help=True)
app.command()(coverage)
app.command()(criteria)
app.command()(levels)
app.command()(mars)
app.command()(safemdp)
app.command()(timing)
app.command()(toytext)


@app.command()
def counterexamples(
    out: Figure = Path("counterexamples.png"),
    as_json: Json = False,
) -> None:
    """Show why safety is defined as it is: three worlds that fool simpler definitions.

    Each story of the paper's section 3.3 has a policy that a simpler definition
    of safety accepts although it is not safe: judging state-actions one by one,
    asking for some way home in every sampled MDP, or trusting the mean model.

    The table gives, for each policy and γ: the naive definition's number; the
    exact probability of getting home when called off, by enumeration; and the
    lower bounds that the planner proves with the paper's "general" correction
    and with our "moves" correction. A policy is accepted at safety level δ if
    its bound is at least δ. Bounds are never above the exact value.

    Example: homeward paper counterexamples --out stories.pdf
    """
    from homeward.paper.counterexamples import DISCOUNTS, SERIES, compare, panels
    from homeward.paper.figures.stories import draw_stories

    check_writable(out)
    rows = compare(DISCOUNTS)
    caption = (
        f"γ = {DRAWN_AT:g}. Blue: home. Grey: no way home in that world. A number beside an action "
        "is its probability; without one it is sure."
    )
    save(draw_stories(panels(rows, DRAWN_AT), SERIES, caption), out)
    if as_json:
        say_json({"figure": str(out), "rows": [asdict(row) for row in rows]})
    else:
        _print_stories(rows)
        typer.echo(f"The figure is in {out}.")


@app.command()
def examples(
    out: Figure = Path("examples.png"),
    as_json: Json = False,
) -> None:
    """Explore three grid worlds, safely and boldly: the paper's figure of examples, run anew.

    Heights are unknown until seen from next to them; a square more than one
    higher can't be climbed, and any drop can be taken. A safe explorer keeps a
    way back with probability δ. Adapted R-max keeps none.

    The pit: a drop that the safe explorer refuses is a trap for the other. The
    detour: a drop is refused until a way back has come into sight, then taken.
    The gamble: moving East is safe with probability .8; it is taken at δ ≤ .6
    with the paper's "general" correction and at δ ≤ .8 with our "moves".

    The maps are our own, made for the paper's captions; every panel is found by
    exploring. A caption that does not come true gives exit code 1.

    Example: homeward paper examples --out worlds.pdf
    """
    from homeward.kinds.grid.figure import draw_panels
    from homeward.paper.examples import DISCOUNT, TITLE, WORLDS, run_all

    check_writable(out)
    findings = run_all()
    save(draw_panels([f.panel for f in findings], title=TITLE), out)
    failed = [f.letter for f in findings if not f.holds]
    if as_json:
        told = [
            {
                "panel": f.letter,
                "claim": f.claim,
                "holds": f.holds,
                "caption": f.panel.caption,
                "numbers": f.numbers,
            }
            for f in findings
        ]
        worlds = {name: str(grid).splitlines() for name, grid in WORLDS.items()}
        say_json({"figure": str(out), "discount": DISCOUNT, "worlds": worlds, "panels": told})
    else:
        levels = findings[-1].numbers["levels"]
        tables = {
            "panels": [
                {"panel": f.letter, "what was found": f.panel.caption, "as in the paper": f.holds}
                for f in findings
            ],
            "levels": [{"δ": row.pop("delta"), **row} for row in map(dict, levels)],
        }
        titles = {"panels": "The nine panels", "levels": "Is moving East taken?"}
        all_true = "Every caption of the paper comes true."
        verdict = f"Not as in the paper: {', '.join(failed)}." if failed else all_true
        show(tables, titles, f"{verdict} The figure is in {out}.", as_json=False)
    if failed:
        raise typer.Exit(1)


@app.command()
def sat(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE.cnf", help="A DIMACS CNF file to decide, with at most 16 variables."
        ),
    ] = None,
    formulas: Annotated[
        int | None,
        typer.Option(min=1, help="Without a file: number of random formulas.", show_default="200"),
    ] = None,
    variables: Annotated[
        int | None,
        typer.Option(
            min=3, max=16, help="Without a file: variables each.", show_default="6 to 11, drawn"
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Without a file: random seed.", show_default="0")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Decide 3SAT by asking whether a safe policy exists (the paper's Theorem 1).

    A formula becomes a belief with one world per truth assignment. From D the
    explorer goes to S and waits; the way back leads through one literal of each
    clause, and a move out of a literal works only where the literal is true. So
    there is a chance to return iff some assignment makes every clause true. That
    is why deciding safety exactly is NP-hard, and why the planner keeps a lower
    bound instead.

    With a file, decides it and gives the likeliest way back. Without one, draws
    random formulas at 4.26 clauses per variable, where they are hardest, and
    compares every verdict with a SAT solver's (it comes with the extra "sat").
    Any disagreement is printed and gives exit code 1.

    Examples: homeward paper sat formula.cnf

    homeward paper sat --formulas 50 --variables 9 --seed 1
    """
    if file is None:
        _sat_random(
            FORMULAS if formulas is None else formulas,
            variables,
            0 if seed is None else seed,
            as_json=as_json,
        )
        return
    for name, given in (("formulas", formulas), ("variables", variables), ("seed", seed)):
        if given is not None:
            raise typer.BadParameter(f"--{name} is for random formulas and does not go with a file")
    from homeward.paper.formulas import read_dimacs

    _sat_file(read_dimacs(file), as_json=as_json)


def _sat_file(formula: Formula, *, as_json: bool) -> None:
    """Decide one formula and print the way back."""
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
    found = None if decision.world is None else list(assignment(formula, decision.world))
    if as_json:
        say_json(
            {
                "file": formula.name,
                "variables": formula.variables,
                "clauses": len(formula.clauses),
                "worlds": decision.worlds,
                "open_worlds": decision.open_worlds,
                "satisfiable": decision.safe,
                "assignment": found,
                "return_path": path,
                "probability": decision.probability,
                "solver": solver,
            }
        )
    else:
        typer.echo(f"{formula.name}: {'satisfiable' if decision.safe else 'unsatisfiable'}")
        typer.echo(
            f"{decision.open_worlds} of {decision.worlds} worlds "
            f"({formula.variables} variables, {len(formula.clauses)} clauses) "
            "have a way back from S to D."
        )
        if found is not None:
            typer.echo(f"Assignment: {' '.join(str(k) for k in found)}")
            typer.echo(f"Likeliest way back, with probability {decision.probability:.6g}:")
            typer.echo(f"  {' → '.join(path)}")
        typer.echo(
            "SAT solver: not installed (homeward[sat])"
            if solver is None
            else f"SAT solver: {'satisfiable' if solver else 'unsatisfiable'}"
        )
    if solver is not None and solver != decision.safe:
        raise typer.Exit(1)


def _sat_random(formulas: int, variables: int | None, seed: int, *, as_json: bool) -> None:
    """Compare verdicts on random formulas."""
    import numpy as np

    from homeward.paper.satisfiability import tally, try_formulas

    trials = try_formulas(formulas, np.random.default_rng(seed), variables)
    result = tally(track(trials, "deciding", quiet=as_json, total=formulas))
    if as_json:
        disputed = [formula.dimacs() for formula in result.disputed]
        say_json({**asdict(result), "seed": seed, "disputed": disputed})
    else:
        typer.echo(
            f"{result.formulas} random formulas (seed {seed}): {result.satisfiable} satisfiable, "
            f"{result.unsatisfiable} unsatisfiable; the belief and the SAT solver agree on "
            f"{result.agreements}."
        )
        for formula in result.disputed:
            typer.echo(f"They disagree on:\n{formula.dimacs()}")
    if result.disputed:
        raise typer.Exit(1)


def _print_stories(rows: Sequence[Row]) -> None:
    """Print the table, and a sentence or two per story."""
    from rich.console import Console
    from rich.table import Column, Table

    from homeward.paper.counterexamples import as_text
    from homeward.paper.worlds import all_stories

    console = Console()
    if console.is_terminal:
        wide = console.width >= MIN_TABLE_COLUMNS
        table = Table("story", Column("policy", no_wrap=True), Column("γ", no_wrap=True))
        for name in ("naive", "exact", "general", "moves"):
            table.add_column(name, justify="right", no_wrap=True)
        if wide:
            table.add_column("shows")
        for row in rows:
            values = ("-" if v is None else f"{v:.4f}" for v in row.values)
            note = (row.shows,) if wide else ()
            table.add_row(row.story, row.policy, f"{row.discount:g}", *values, *note)
        console.print(table)
    else:
        typer.echo(as_text(rows))
    for story in all_stories():
        typer.echo(f"\n{story.title}. The naive definition: {story.naive}.")
        lines = wrap(story.lesson, min(100, console.width) - 2)
        typer.echo(indent("\n".join(lines), "  "))
    typer.echo("")
