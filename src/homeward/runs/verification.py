"""Verification of a recorded run: a step's plan is made again and must equal its record.

The recorded steps before it are taken without planning where possible (see `runs.retracing`).

If the level is the whole run's, the claim concerns all steps, so the verdict is on the run,
whichever step is asked for. It is checked twice: its risk budget is audited (`budget_audit`, which
shares no code with the planner), and every step is planned and charged again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.beliefs.corrections import Correction
from homeward.certificates.budget_audit import HomeClaim, audit, why_not_auditable
from homeward.certificates.certificate import UNCORRECTED
from homeward.certificates.claims import CLAIM_TOLERANCE
from homeward.certificates.stored_plan import StoredPlan
from homeward.certificates.verdicts import RunVerdict
from homeward.errors import HomewardError, InvalidFileError, InvalidInputError
from homeward.runs.log import Record
from homeward.runs.manifest import changes, made_alike, versions_here
from homeward.runs.retracing import replay, to_record
from homeward.safety import ReturnHome, ReturnWithin

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from homeward.beliefs import Belief
    from homeward.certificates.verdicts import Certificate, HomeVerdict
    from homeward.planning.explorer import Loop
    from homeward.runs import Run
    from homeward.runs.kind import Kind, Setup

PLANNED_FIELDS = ("state", "action", "status", "observation", "next_state", "holding")
"""Fields of a record that planning again must reproduce, beside its bounds."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordedPlan:
    """A step of a run: its record, and the plan that is made again."""

    record: Record
    stored: StoredPlan | None  # None if the level is the whole run's: then see `run`
    reasons: tuple[str, ...] = ()  # other fields that planning again did not reproduce
    run: RunVerdict | None = None  # verdict on the run, if the level is the whole run's
    homes: tuple[HomeVerdict, ...] = ()  # one per way home
    notes: tuple[str, ...] = ()

    @property
    def refuted(self) -> bool:
        """Whether a claim of the run is refuted."""
        run = self.run is not None and self.run.refuted
        return run or bool(self.reasons) or any(home.refuted for home in self.homes)


def plan_of_step(run: Run, step: int | None = None) -> RecordedPlan:
    """Plan a recorded step of a run again, by default the last; the run is not changed."""
    records = list(run.records())
    if not records:
        raise InvalidInputError(f"{run.directory}: has taken no step, so there is no plan")
    number = len(records) if step is None else step
    if not 1 <= number <= len(records):
        raise InvalidInputError(f"{run.directory}: step is {number}, expected 1 to {len(records)}")
    record, before = records[number - 1], records[: number - 1]
    kind, config = run.load()
    here, sessions = versions_here(), run.manifest.sessions
    if not made_alike(sessions, 1, number, here):
        taken = list(takewhile(lambda session: session.first <= number, sessions))
        differ = [change for session in taken for change in changes(session.versions, here)]
        raise InvalidFileError(
            f"{run.directory}: was made with other versions ({', '.join(dict.fromkeys(differ))}), "
            "so its plans might not come out the same"
        )
    setup = kind.make(config)
    explorer = setup.explorer()
    if explorer.held is not None:
        return _judge_run(run, records, record, kind, explorer, kind.make(config))
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
    reasons = tuple(
        _differences(record, to_record(taken_again, None, None, kind, 0), PLANNED_FIELDS)
    )
    stored = StoredPlan.of(taken_again.plan, belief, explorer.planner)
    return RecordedPlan(record, stored, reasons)


def _differences(record: Record, again: Record, names: Sequence[str]) -> Iterator[str]:
    """Yield a reason for each field in which a record differs from planning again."""
    for name in names:
        logged, found = getattr(record, name), getattr(again, name)
        if logged != found:
            yield (
                f"the log says {name.replace('_', ' ')} {_short(logged)}, and planning again "
                f"gives {_short(found)}"
            )


def _judge_run(
    run: Run, records: list[Record], record: Record, kind: Kind, explorer: Loop, setup: Setup
) -> RecordedPlan:
    """Return the verdict on a run with levels of its own: audited, and every step planned again."""
    last = records[-1]
    try:
        kept = float(last.holding["kept"])
    except (KeyError, TypeError, ValueError) as cause:
        raise InvalidFileError(
            f"{run.directory}: step {last.step} does not say what is held: {cause}"
        ) from cause
    if not 0.0 <= kept <= 1.0:
        raise InvalidFileError(f"{run.directory}: step {last.step} keeps {kept:g}, not 0 to 1")
    reasons = _plan_all_again(records, kind, explorer)
    found = None if reasons or explorer.held is None else explorer.held.kept
    claims = _claims(setup)
    level = max((claim.level for claim in claims), default=0.0)
    verdict = RunVerdict(level, kept, found, tuple(reasons))
    note = None
    if not claims:
        note = "nothing was promised of this run, so there is nothing to audit"
    elif setup.planner.correction is Correction.NAIVE:
        note = f"the risk budget is not audited: {UNCORRECTED}"
    elif (why := why_not_auditable(setup.belief)) is not None:
        note = f"the risk budget is not audited, since {why}: every step was only planned again"
    if note is not None:
        return RecordedPlan(record, None, (), verdict, notes=(note,))
    strange: list[str] = []  # the step where the world answers differently

    def steps() -> Iterator[tuple[Record, Belief]]:
        world = setup.world
        belief = setup.belief.update(world.look())
        for record in records:
            state = int(world.state)
            observation = world.act(record.action)
            found = (state, int(world.state), kind.written(observation))
            if found != (record.state, record.next_state, record.observation):
                strange.append(f"step {record.step}: the world does not answer as recorded")
                return
            yield record, belief
            belief = belief.update(observation)

    homes = audit(claims, steps())
    return RecordedPlan(record, None, tuple(strange), verdict, homes)


def _plan_all_again(records: list[Record], kind: Kind, explorer: Loop) -> list[str]:
    """Return the reasons of the first record that planning again does not reproduce."""
    for record in records:
        before = explorer.held
        try:
            step = explorer.step()
        except HomewardError as cause:
            return [f"step {record.step} can't be taken: {cause}"]
        if step is None:
            return [f"step {record.step}: the explorer ends before it"]
        again = to_record(step, before, None, kind, 0)
        differ = list(_differences(record, again, Record.__slots__))
        if differ:
            return [f"step {record.step}: {reason}" for reason in differ]
    return []


def _claims(setup: Setup) -> list[HomeClaim]:
    """Return the ways home that the criteria ask for, in their order.

    Places have the model's names, or row and column on a map.
    """
    start, found = int(setup.world.state), []
    names, shape = setup.belief.mean().state_names, getattr(setup.belief, "shape", None)

    def place(state: int) -> str:
        named = f"state {state}" if shape is None else "{},{}".format(*divmod(state, shape[1]))
        named = named if names is None else str(names[state])
        return f"the start, {named}" if state == start else named

    for criterion in setup.planner.criteria:
        if isinstance(criterion, ReturnHome | ReturnWithin):
            home = start if isinstance(criterion.home, str) else criterion.home
            homes = frozenset(int(h) for h in np.atleast_1d(home))
            places = "; ".join(place(home) for home in sorted(homes))
            name = f"return to {'any of ' * (len(homes) > 1)}{places}"
            steps = criterion.steps if isinstance(criterion, ReturnWithin) else None
            if steps is not None:
                name += f" within {steps} step{'s' * (steps != 1)}"
            found.append(HomeClaim(name, homes, criterion.delta, steps))
    return found


def compare(certificate: Certificate, recorded: RecordedPlan) -> Certificate:
    """Return a certificate with the differences between the log and the plan made again."""
    assert recorded.stored is not None
    record, plan = recorded.record, recorded.stored.plan
    said = {"plan": record.bounds, "action": record.kept_bounds}
    count = len(plan.criteria)
    if any(len(bounds) != count for bounds in said.values()):
        reason = f"the log has {len(record.bounds)} bounds of {count} criteria"
        worth = replace(certificate.worth, reasons=(*certificate.worth.reasons, reason))
        return replace(certificate, worth=worth)
    verdicts = []
    alone = len(certificate.verdicts) == count  # a plan of one part has the same bounds for both
    for i, verdict in enumerate(certificate.verdicts):
        claimed, parts = verdict.claimed, said if alone else (verdict.part,)
        logs = [said[part][i % count] for part in parts]
        differ = tuple(
            f"the log says {logged:.6g}, the plan {claimed:.6g}"
            for logged in logs
            if not abs(logged - claimed) <= CLAIM_TOLERANCE * verdict.unit
        )
        verdicts.append(replace(verdict, reasons=verdict.reasons + differ))
    reasons = [*certificate.worth.reasons, *recorded.reasons]
    for name, logged, planned in (
        ("worth", record.value, plan.exploration_value),
        ("an upper bound of", record.upper, plan.upper_bound),
    ):
        slack = CLAIM_TOLERANCE * max(1.0, abs(planned))
        if logged != planned and not abs(logged - planned) <= slack:
            reasons.append(f"the log says {name} {logged:.6g}, planning again {planned:.6g}")
    worth = replace(certificate.worth, reasons=tuple(reasons))
    return replace(certificate, verdicts=tuple(verdicts), worth=worth)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
