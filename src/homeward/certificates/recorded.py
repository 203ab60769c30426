"""The plan of a recorded step: replayed up to there, and planned again.

The run's configuration makes the same explorer in the same world; the recorded steps before are
taken without planning where that can be spared (see `homeward.runs.replay`), and the step itself is
planned. What comes out must be what was recorded.

Where the level is the whole run's, what it holds is a claim on all of its steps: each is planned
and charged again, also those after the one that is asked for, and the verdict is on the run.
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
from homeward.planning.ledger import SLACK
from homeward.runs.config import checked
from homeward.runs.kinds import find_kind
from homeward.runs.manifest import changes, made_alike, versions_here
from homeward.runs.replay import replay
from homeward.runs.run import CONFIG

if TYPE_CHECKING:
    from homeward.certificates.certificate import Certificate
    from homeward.planning.explorer import Loop
    from homeward.planning.plan import Plan
    from homeward.runs import Record, Run
    from homeward.runs.kinds import Kind


@dataclass(frozen=True, slots=True, eq=False)
class RecordedPlan:
    """A step of a run: what was recorded, and the plan that comes of planning it again."""

    record: Record
    stored: StoredPlan | None  # None where the level is the run's and the run has the verdict
    reasons: tuple[str, ...] = ()  # what else of the record does not come out again
    run: RunVerdict | None = None  # on the whole run, if the level is the run's
    notes: tuple[str, ...] = ()


def plan_of_step(run: Run, step: int | None = None) -> RecordedPlan:
    """Plan a recorded step of a run again; the run is left as it is. It is the last unless told."""
    records = list(run.records())
    if not records:
        raise InvalidInputError(f"{run.directory}: has taken no step, so there is no plan")
    number = len(records) if step is None else step
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
    seeded = max((r.step for r in before if r.seeds is not None), default=0)
    replay(explorer, before, kind, seeded, run.directory, plan_again=True)
    belief, held = explorer.belief, explorer.held
    try:
        taken_again = explorer.step()
    except HomewardError as cause:
        raise InvalidFileError(f"{run.directory}: step {number} can't be taken: {cause}") from cause
    if taken_again is None:
        raise InvalidFileError(
            f"{run.directory}: the explorer ends before step {number}, which is recorded"
        )
    plan = taken_again.plan
    found: dict[str, Any] = {
        "state": int(plan.state),
        "action": int(plan.action),
        "status": str(plan.status),
        "observation": kind.written(taken_again.observation),
        "next_state": int(taken_again.state),
        "holding": None
        if taken_again.held is None or held is None
        else taken_again.held.encode(held),
    }
    reasons = tuple(
        f"the log says {name.replace('_', ' ')} {_short(getattr(record, name))}, and planning "
        f"again gives {_short(value)}"
        for name, value in found.items()
        if getattr(record, name) != value
    )
    if explorer.held is None:
        return RecordedPlan(record, StoredPlan.of(plan, belief, explorer.planner), reasons)
    verdict = _judge_run(run, records, number, explorer, kind, plan)
    return RecordedPlan(record, None, reasons, verdict)


def _judge_run(
    run: Run, records: list[Record], number: int, explorer: Loop, kind: Kind, plan: Plan
) -> RunVerdict:
    """Take the steps after `number` again as well, and compare what is kept in the end."""
    reasons, found = [], None
    try:
        replay(explorer, records[number:], kind, 0, run.directory, plan_again=True)
    except HomewardError as cause:
        reasons.append(str(cause).removeprefix(f"{run.directory}: "))
    else:
        found = None if explorer.held is None else explorer.held.kept
    kept = _kept(records[-1], run)
    if found is not None and kept != found:
        reasons.append(
            f"the log says that {kept:.6g} is kept, and planning again gives {found:.6g}"
        )
    level = max((c.level for c in plan.criteria if c.kind == "return"), default=0.0)
    if min(kept, kept if found is None else found) < level - 2.0 * SLACK:
        reasons.append(f"{kept:.6g} is kept, asked for {level:g}")
    return RunVerdict(level, kept, found, tuple(reasons))


def _kept(record: Record, run: Run) -> float:
    """Return what a record says is kept."""
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
    assert recorded.stored is not None
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
