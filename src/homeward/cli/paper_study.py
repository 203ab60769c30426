"""Options and outputs that the paper's studies of many runs share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from homeward.cli.options import Figure, Json, Scheduler, Table, Workers, set_options, study_option
from homeward.cli.show import check_writable, show
from homeward.cli.study import complete_study

Command = Callable[..., None]
StudyFile = Annotated[Path | None, study_option("NAME.sqlite, with changed options in its name")]


@dataclass(frozen=True)
class PaperStudy:
    """A study that a command runs: its name, and the values of its shared options."""

    name: str
    out: Figure
    study: StudyFile = None
    table: Table = None
    workers: Workers = None
    scheduler: Scheduler = None
    as_json: Json = False

    def file(self, *changed: str) -> Path:
        """Return the file of the study; its default name has a text for each changed option."""
        return self.study or Path(f"{'-'.join([self.name, *changed])}.sqlite")

    def rows(
        self,
        file: Path,
        cells: list[dict[str, Any]],
        seeds: Sequence[int],
        counts: Sequence[int] | None = None,
        function: str = "explore",
    ) -> list[dict[str, Any]]:
        """Run the unfinished tasks, and return the row of each run.

        A task calls `function` of the study's module in `homeward.paper` with a cell and a seed.
        `counts` has the number of seeds of each cell; None means all seeds.
        """
        from homeward.studies import define

        task = f"homeward.paper.{self.name}:{function}"
        study = define(self.name, task, cells, seeds, counts=counts)
        return complete_study(
            file, study, self.table, self.workers, self.scheduler, as_json=self.as_json
        )

    def show(
        self, result: dict[str, Any], titles: dict[str, str], conclusion: str, file: Path
    ) -> None:
        """Print a result and the names of its files; see `cli.show.show`."""
        files = {"figure": str(self.out), "study": str(file)}
        ending = f"{conclusion}; the figure is in {self.out}, the runs are in {file}"
        show(result | files, titles, ending, self.as_json)


def study_command(name: str) -> Callable[[Command], Command]:
    """Return a decorator that adds the shared options to the command of the study `name`.

    The first argument of the decorated function is a `PaperStudy` with their values.
    """
    hints = get_type_hints(PaperStudy, include_extras=True)
    options = {each.name: (hints[each.name], each.default) for each in fields(PaperStudy)[1:]}
    options["out"] = Figure, Path(f"{name}.png")

    def decorate(function: Command) -> Command:
        @wraps(function)
        def command(**values: Any) -> None:
            study = PaperStudy(name, **{key: values.pop(key) for key in options})
            check_writable(study.out)
            function(study, **values)

        set_options(command, function, options)
        return command

    return decorate
