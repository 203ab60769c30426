"""``homeward study compare KIND``: compare agents in the same worlds of a kind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from homeward.cli.options import Json, MaxSteps, Scheduler, Workers
from homeward.cli.run import KindGroup
from homeward.words import AGENTS, ENDS, PROMISES

if TYPE_CHECKING:
    from homeward.cli.settings import Settings

STUDY, RUNS, SUMMARY, FIGURE = "compare.sqlite", "runs.csv", "agents.csv", "compare.png"
"""Files of a comparison in its folder."""

TITLE = "Gain: median (quartiles) over worlds. Home: mean probability of coming home at the end"

WITHOUT = ("seed", "limit", "agent", "algorithm", "explorer", "film")
"""Keys of configurations that have no option, since the comparison sets them."""

Agents = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        metavar="NAME",
        help="An agent: a name, or module:name of your own. Give the option once for each agent.",
        show_default="nine of the agents",
    ),
]
Seeds = Annotated[int, typer.Option(min=1, help="Number of worlds; their seeds count from 0.")]
Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder of the results.", show_default="compare-KIND"),
]


def compare_command(name: str) -> Any:
    """Return the command that compares agents in worlds of the kind `name`."""
    from homeward.cli.settings import make_command
    from homeward.runs.kind import find_kind

    kind = find_kind(name)
    summary = (
        f"Compare agents in worlds of the kind {name}: {kind.title or kind.name}.\n\n"
        f"{ABOUT}\n\n"
        f"Example: homeward study compare {name} --agent ours --agent random --seeds 5"
    )
    return make_command(compare, name, kind.config, summary=summary, without=WITHOUT)


def compare(
    settings: Settings,
    agent: Agents = None,
    seeds: Seeds = 20,
    steps: MaxSteps = 300,
    out: Out = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    as_json: Json = False,
) -> None:
    """Run the study, write its tables and its figure, and print the summary."""
    from homeward.cli.show import check_writable, save, say, show
    from homeward.cli.study import complete_study
    from homeward.files import refusing
    from homeward.plots.charts import draw_comparison
    from homeward.runs.kind import find_kind
    from homeward.studies import write_table
    from homeward.studies.compare import AGENTS as DEFAULT_AGENTS
    from homeward.studies.compare import as_table, study_of, summarise

    kind = settings.kind
    values = {key: value for key, value in settings.given().items() if key not in WITHOUT}
    out = Path(f"compare-{find_kind(kind).name}") if out is None else out
    study = study_of(kind, agent or [*DEFAULT_AGENTS], values, seeds, steps)
    with refusing(out, "can't be written"):
        out.mkdir(parents=True, exist_ok=True)
    check_writable(out / FIGURE)
    rows = complete_study(out / STUDY, study, out / RUNS, workers, scheduler, as_json=as_json)
    summaries = summarise(rows)
    write_table(as_table(summaries), out / SUMMARY)
    save(draw_comparison(summaries, steps, f"{kind}: {seeds} worlds, {steps} steps"), out / FIGURE)
    files = {"study": STUDY, "runs": RUNS, "summary": SUMMARY, "figure": FIGURE}
    result = {"kind": kind, "seeds": seeds, "steps": steps, "settings": values}
    result["rows"] = summaries if as_json else [row_of(each) for each in summaries]
    result |= {name: str(out / file) for name, file in files.items()}
    written = ", ".join(str(out / file) for file in (FIGURE, SUMMARY, RUNS))
    show(result, {"rows": TITLE}, f"written: {written}", as_json)
    if not as_json:
        for each in summaries:
            ends = "; ".join(f"{count} × {ENDS[end]}" for end, count in each["ends"].items())
            say(f"{each['agent']}: {ends}")


def row_of(each: dict[str, Any]) -> dict[str, Any]:
    """Return the summary of an agent, as in `summarise`, as a row of the printed table."""
    median, low, high = (rounded(each[key]) for key in ("gain", "gain_q1", "gain_q3"))
    stranded = f"{each['stranded']} of {each['runs']}"
    if each["stranded_at"] is not None:
        stranded += f", after {each['stranded_at']:.0f}"
    return {
        "agent": each["agent"],
        "promise": PROMISES[each["promise"]],
        each["unit"]: f"{median} ({low}–{high})",
        "home": f"{each['home']:.0%}",
        "stranded": stranded,
        "steps": f"{each['steps']:.0f}",
        "done": f"{each['done']} of {each['runs']}",
        "ms per step": "-" if each["cpu_ms"] is None else f"{each['cpu_ms']:.2f}",
    }


def rounded(value: float) -> str:
    """Return a number with three significant digits; from 100 on, rounded to a whole number."""
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


class CompareGroup(KindGroup):
    """A group of commands that compare agents: one per kind."""

    make = staticmethod(compare_command)


ABOUT = (
    "Each agent explores the same worlds, one for each seed. The table shows what it learned, "
    "whether it can still come home in the true world, which it does not know, how many steps it "
    "took until it was done, and its processor time. The folder gets compare.png, agents.csv (the "
    "table), runs.csv (a row for each run) and compare.sqlite. Run the same command again to "
    "resume. Options of the kind apply to all agents; those of safety criteria apply to agents "
    "that keep a level."
)

app = typer.Typer(
    cls=CompareGroup,
    callback=lambda: None,  # makes it a group, although it has no fixed subcommand
    no_args_is_help=True,
    help="Compare agents in the same worlds: who learns most, and who gets home.\n\n"
    f"{ABOUT}\n\n"
    "An agent of your own is a class with a method act(belief, state, rng) that returns the number "
    "of an action, or such a function, in a module of the current folder or of an installed "
    "package: --agent my_module:MyAgent. belief.mean() is the mean model: its dest [S, A] and "
    "success [S, A] on maps. docs/agents.md has an example.\n\n"
    "Example: homeward study compare rover --agent ours --agent random --agent my_module:MyAgent "
    "--seeds 20 --steps 300 --out results\n\n"
    "Agents:\n\n" + "\n\n".join(f"{name}: {about}." for name, about in AGENTS.items()),
)
