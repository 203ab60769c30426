"""The plan of a recorded step: replayed up to there, and planned again.

The run's configuration makes the same explorer in the same world; the recorded steps before are
taken without planning where that can be spared (see `homeward.runs.replay`), and the step itself is
planned. What comes out must be what was recorded.

What a run holds whose level is its own is a claim on all of its steps. So there none is spared: each is
planned and charged again, also those after the one that is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from homeward.certificates.arithmetic import TOLERANCE
from homeward.certificates.certificate import RunVerdict
from homeward.certificates.stored import StoredPlan
from homeward.errors import HomewardError, InvalidFileError, InvalidInputError
from homeward.files import read_json
from homeward.planning.budget import SLACK
from homeward.planning.warm_start import WarmStart
from homeward.runs.config import checked
from homeward.runs.kinds import find_kind
from homeward.runs.manifest import changes, made_alike, versions_here
from homeward.runs.replay import replay, start_from
from homeward.runs.run import CONFIG

if TYPE_CHECKING:
    from homeward.certificates.certificate import Certificate
    from homeward.planning.budget import Budget
    from homeward.planning.explorer import Explorer
    from homeward.runs import Record, Run
    from homeward.runs.kinds import Kind


@dataclass(frozen=True, slots=True, eq=False)
class RecordedPlan:
    """A step of a run: what was recorded, and the plan that comes of planning it again."""

    record: Record
    stored: StoredPlan
    reasons: tuple[str, ...] = ()  # what else of the record does not come out again
    run: RunVerdict | None = None  # on the whole run, if it has a budget
    notes: tuple[str, ...] = ()


def plan_of_step(run: Run, step: int | None = None) -> RecordedPlan:
    """Plan a recorded step of a run again; the run is left as it is.

    Unless told which, it is the last one that has a plan of its own and does not only follow the
    way home that is held.
    """
    records = list(run.records())
    if not records:
        raise InvalidInputError(f"{run.directory}: has taken no step, so there is no plan")
    number = _last_planned(run, records) if step is None else step
    if not 1 <= number <= len(records):
        raise InvalidInputError(f"{run.directory}: step is {number}, expected 1 to {len(records)}")
    record, before = records[number - 1], records[: number - 1]
    kind = find_kind(run.kind)
    written = read_json(run.directory / CONFIG)
    if written["version"] != kind.version:
        raise InvalidFileError(
            f"{run.directory}: is a {kind.name} run of version {written['version']}; "
            f"this is version {kind.version}"
        )
    here, sessions = versions_here(), run.manifest.sessions
    if not made_alike(sessions, 1, number, here):
        taken = list(takewhile(lambda session: session.first <= number, sessions))
        differ = [change for session in taken for change in changes(session.versions, here)]
        raise InvalidFileError(
            f"{run.directory}: was made with other versions ({', '.join(dict.fromkeys(differ))}), "
            "so its plans might not come out the same"
        )
    config = checked(kind.config, run.config, str(run.directory / CONFIG))
    setup = kind.make(config)
    explorer = setup.explorer()
    seeded = 0
    if setup.budget is None:
        seeded = max((r.step for r in before if r.seeds is not None), default=0)
    replay(explorer, before, kind, seeded, run.directory, plan_again=True)
    belief = explorer.belief
    try:
        taken_again = explorer.step()
    except HomewardError as cause:
        raise InvalidFileError(f"{run.directory}: step {number} can't be taken: {cause}") from cause
    if taken_again is None:
        raise InvalidFileError(
            f"{run.directory}: the explorer ends before step {number}, which is recorded"
        )
    if taken_again.holding is not None and taken_again.holding.homing:
        raise InvalidInputError(
            f"{run.directory}: step {number} only follows the way home that is held, and has no "
            "plan of its own; name one before it"
        )
    plan = taken_again.plan
    found = {
        "state": int(plan.state),
        "action": int(plan.action),
        "status": str(plan.status),
        "observation": kind.written(taken_again.observation),
        "next_state": int(taken_again.state),
        "holding": None if taken_again.holding is None else taken_again.holding.encode(),
    }
    reasons = tuple(
        f"the log says {name.replace('_', ' ')} {_short(getattr(record, name))}, and planning "
        f"again gives {_short(value)}"
        for name, value in found.items()
        if getattr(record, name) != value
    )
    stored = StoredPlan.of(plan, belief, explorer.planner)
    verdict = None
    if setup.budget is not None:
        start_from(explorer, WarmStart.of(plan))
        verdict = _judge_run(run, records, number, explorer, kind, setup.budget)
    notes = () if step is not None or number == len(records) else (_after(number, len(records)),)
    return RecordedPlan(record, stored, reasons, verdict, notes)


def _last_planned(run: Run, records: list[Record]) -> int:
    """Give the last step that does not only follow the way home, as the log says."""
    for record in reversed(records):
        if not (isinstance(record.holding, dict) and record.holding.get("homing")):
            return record.step
    raise InvalidInputError(
        f"{run.directory}: every step only follows the way home that is held, so there is no plan"
    )


def _after(number: int, last: int) -> str:
    steps = f"steps {number + 1} to {last} only follow"
    if last == number + 1:
        steps = f"step {last} only follows"
    return f"{steps} the way home that is held: step {number} is the last with a plan of its own"


def _judge_run(
    run: Run,
    records: list[Record],
    number: int,
    explorer: Explorer,
    kind: Kind,
    budget: Budget,
) -> RunVerdict:
    """Take the steps after `number` again as well, and compare what is kept in the end."""
    reasons, found = [], None
    try:
        replay(explorer, records[number:], kind, 0, run.directory, plan_again=True)
    except HomewardError as cause:
        reasons.append(str(cause).removeprefix(f"{run.directory}: "))
    else:
        found = None if explorer.holding is None else explorer.holding.kept
    kept = _kept(records[-1], run)
    if found is not None and kept != found:
        reasons.append(
            f"the log says that {kept:.6g} is kept, and planning again gives {found:.6g}"
        )
    if found is not None and found < budget.delta - SLACK:
        reasons.append(f"{found:.6g} is kept, asked for {budget.delta:g}")
    elif kept < budget.delta - SLACK:
        reasons.append(f"the log says that {kept:.6g} is kept, asked for {budget.delta:g}")
    return RunVerdict(budget.delta, kept, found, tuple(reasons))


def _kept(record: Record, run: Run) -> float:
    """Read what a record says is kept."""
    try:
        kept = float(record.holding["kept"])
    except (KeyError, TypeError, ValueError) as cause:
        raise InvalidFileError(
            f"{run.directory}: step {record.step} does not say what is held: {cause}"
        ) from cause
    if not 0.0 <= kept <= 1.0:
        raise InvalidFileError(f"{run.directory}: in step {record.step}, {kept:g} is kept")
    return kept


def compare(certificate: Certificate, recorded: RecordedPlan) -> Certificate:
    """Refute what the log says otherwise than the plan that comes of planning again."""
    record, plan = recorded.record, recorded.stored.plan
    notes = (*recorded.notes, *certificate.notes)
    certificate = replace(certificate, run=recorded.run, notes=notes)
    said = {"plan": record.bounds, "action": record.kept_bounds}
    count = len(plan.criteria)
    if any(len(bounds) != count for bounds in said.values()):
        reason = f"the log has {len(record.bounds)} bounds of {count} criteria"
        worth = replace(certificate.worth, reasons=(*certificate.worth.reasons, reason))
        return replace(certificate, worth=worth)
    verdicts = []
    for i, verdict in enumerate(certificate.verdicts):
        # Where one part is all of the plan, it stands for both.
        alone = len(certificate.verdicts) == count
        parts = ("plan", "action") if alone else (verdict.part,)
        reasons = list(verdict.reasons)
        for part in parts:
            logged = said[part][i % count]
            if not abs(logged - verdict.claimed) <= TOLERANCE * verdict.unit:
                reasons.append(f"the log says {logged:.6g}, the plan {verdict.claimed:.6g}")
        verdicts.append(replace(verdict, reasons=tuple(reasons)))
    reasons = [*certificate.worth.reasons, *recorded.reasons]
    for name, logged, planned in (
        ("worth", record.value, plan.exploration_value),
        ("an upper bound of", record.upper, plan.upper_bound),
    ):
        if logged != planned and not abs(logged - planned) <= TOLERANCE * max(1.0, abs(planned)):
            reasons.append(f"the log says {name} {logged:.6g}, planning again {planned:.6g}")
    worth = replace(certificate.worth, reasons=tuple(reasons))
    return replace(certificate, verdicts=tuple(verdicts), worth=worth)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
