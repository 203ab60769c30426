"""One page of the list of runs: filtered, sorted, and with the runs of a pair in one row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from homeward.web.contract import Sort
from homeward.web.refusals import Refusal
from homeward.web.transport import parse_integer

DEFAULT_ROWS = MAX_ROWS = 2000
KEYS = ("offset", "limit", "sort", "order", "name", "kind", "outcome", "since", "until")
DESCENDING = (Sort.CREATED, Sort.UPDATED, Sort.STEPS)  # keys by which the largest comes first


@dataclass(frozen=True, slots=True)
class Selection:
    """Which runs a request selects, in which order, and which rows of them."""

    offset: int = 0
    limit: int = DEFAULT_ROWS
    sort: Sort = Sort.CREATED
    descending: bool = True
    name: str = ""  # text that a name contains, in any case
    kind: str = ""
    outcome: str = ""  # status, end or outcome of a run
    since: datetime | None = None  # earliest time of creation, inclusive
    until: datetime | None = None  # latest time of creation, inclusive

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Selection:
        """Return the selection of a query; raise if it has another key or an invalid value."""
        for key in query:
            if key not in KEYS:
                raise Refusal.INVALID(f"{key[:40]!r} is unknown, expected one of {', '.join(KEYS)}")
        sort, order = query.get("sort", Sort.CREATED), query.get("order")
        if sort not in list(Sort):
            raise Refusal.INVALID(f"sort must be one of {', '.join(Sort)}")
        if order not in (None, "asc", "desc"):
            raise Refusal.INVALID("order must be asc or desc")
        limit = parse_integer(query.get("limit", str(DEFAULT_ROWS)), "limit")
        if not 1 <= limit <= MAX_ROWS:
            raise Refusal.INVALID(f"limit must be 1 to {MAX_ROWS}")
        return cls(
            offset=parse_integer(query.get("offset", "0"), "offset"),
            limit=limit,
            sort=Sort(sort),
            descending=Sort(sort) in DESCENDING if order is None else order == "desc",
            name=query.get("name", "").lower(),
            kind=query.get("kind", ""),
            outcome=query.get("outcome", ""),
            since=_time(query.get("since"), "since"),
            until=_time(query.get("until"), "until"),
        )

    def page(self, summaries: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        """Return one page of the list as JSON values."""
        chosen = [each for each in summaries if self.takes(each)]
        chosen.sort(key=self.rank, reverse=self.descending)
        rows = paired(chosen)
        shown = rows[self.offset : self.offset + self.limit]
        runs = [each for row in shown for each in row]
        return {"runs": runs, "total": len(rows), "offset": self.offset, "limit": self.limit}

    def takes(self, summary: Mapping[str, Any]) -> bool:
        """Return whether a run belongs to the selection."""
        if self.name not in summary["id"].lower():
            return False
        if self.kind not in ("", summary["kind"]):
            return False
        if self.outcome and self.outcome not in (
            *(summary["status"], summary["end"], summary["outcome"]),
        ):
            return False
        if self.since is None and self.until is None:
            return True
        made = _time(summary["created"], "created")
        if made is None:
            return False
        early = self.since is not None and made < self.since
        return not early and (self.until is None or made <= self.until)

    def rank(self, summary: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return the sort key of a run; equal runs are in the order of their names."""
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
    """Return rows of one run, or of the two runs of a pair with the safe one first."""
    known = {each["id"]: each for each in summaries}
    rows: list[list[Mapping[str, Any]]] = []
    taken: set[str] = set()
    for each in known.values():
        if each["id"] in taken:
            continue
        other = known.get(each["pair"] or "")
        row = [each] if other is None else [each, other]
        taken.update(one["id"] for one in row)
        rows.append(sorted(row, key=lambda one: one["explorer"] != "safe"))
    return rows


def _time(text: str | None, what: str) -> datetime | None:
    """Return the time of an ISO 8601 text; without a zone it is in UTC."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise Refusal.INVALID(f"{what} is {text[:40]!r}, expected a date or time") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
