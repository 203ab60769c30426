"""One page of the list of runs: filtered, sorted, and with the runs of a pair in one row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from homeward.runs.config import checked
from homeward.web.contract import Sort

MAX_ROWS = 2000  # of one page; also the default
DESCENDING = (Sort.CREATED, Sort.UPDATED, Sort.STEPS)  # keys by which the largest comes first


def with_zone(time: datetime) -> datetime:
    """Return a time with a zone: UTC if it has none."""
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


Time = Annotated[datetime, AfterValidator(with_zone)]


class Selection(BaseModel):
    """The runs that a request selects, their order, and the rows of one page."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    offset: Annotated[int, Field(ge=0)] = 0
    limit: Annotated[int, Field(ge=1, le=MAX_ROWS)] = MAX_ROWS
    sort: Sort = Sort.CREATED
    order: Literal["asc", "desc"] | None = None  # None depends on `sort`, see `DESCENDING`
    name: str = ""  # text that the name of a run contains; case is ignored
    kind: str = ""
    outcome: str = ""  # status, end or outcome of a run
    since: Time | None = None  # earliest time of creation, inclusive
    until: Time | None = None  # latest time of creation, inclusive

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Selection:
        """Return the selection of a query; raise if a key or a value is invalid."""
        return checked(cls, query)

    def page(self, summaries: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Return one page of the list as JSON values."""
        chosen = [each for each in summaries if self.takes(each)]
        descending = self.sort in DESCENDING if self.order is None else self.order == "desc"
        chosen.sort(key=self.rank, reverse=descending)
        rows = paired(chosen)
        shown = rows[self.offset : self.offset + self.limit]
        runs = [each for row in shown for each in row]
        return {"runs": runs, "total": len(rows), "offset": self.offset, "limit": self.limit}

    def takes(self, summary: Mapping[str, Any]) -> bool:
        """Return whether a run belongs to the selection."""
        ends = (summary["status"], summary["end"], summary["outcome"])
        if (
            self.name.lower() not in summary["id"].lower()
            or self.kind not in ("", summary["kind"])
            or self.outcome not in ("", *ends)
        ):
            return False
        if self.since is None and self.until is None:
            return True
        try:
            made = with_zone(datetime.fromisoformat(summary["created"]))
        except (TypeError, ValueError):  # the time is unknown
            return False
        is_early = self.since is not None and made < self.since
        return not is_early and (self.until is None or made <= self.until)

    def rank(self, summary: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the sort key of a run; runs with equal values are in the order of their names."""
        value: Any
        if self.sort is Sort.STEPS:
            value = summary["steps"]
        elif self.sort is Sort.NAME:
            value = summary["id"].lower()
        elif self.sort is Sort.OUTCOME:
            value = str(summary["outcome"] or summary["end"] or summary["status"])
        else:
            value = summary[self.sort] or ""
        return value, summary["id"]


def paired(summaries: Iterable[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Return the rows of a list: each has one run, or the two runs of a pair, safe run first."""
    known = {each["id"]: each for each in summaries}
    rows: list[list[Mapping[str, Any]]] = []
    taken: set[str] = set()
    for each in known.values():
        if each["id"] in taken:
            continue
        other = known.get(each["pair"] or "")
        row = [each] if other is None else [each, other]
        taken.update(run["id"] for run in row)
        rows.append(sorted(row, key=lambda run: run["explorer"] != "safe"))
    return rows
