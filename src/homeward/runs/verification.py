"""Verification of a recorded run: plan a step again and compare the plan with its record.

The steps before this step are taken without planning where possible (see `runs.retracing`).

If the level holds for the whole run, the verdict is on the whole run, for every chosen step. The
run is then checked twice: `budget_audit`, which shares no code with the planner, audits its risk
budget; and every step is planned again and its risk charged again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import numpy as np

from homeward.beliefs import Belief
from homeward.beliefs.corrections import Correction
from homeward.beliefs.refutation import learned
from homeward.criteria import ReturnHome
from homeward.errors import HomewardError, InvalidFileError, InvalidInputError, prefixed
from homeward.planning.ends import End
from homeward.planning.explorer import Explorer, Loop
from homeward.referee.certificate import UNCORRECTED, Certificate, HomeVerdict, RunVerdict
from homeward.referee.claims import CLAIM_TOLERANCE, PlanCase
from homeward.referee.runs import HomeClaim, audit, audit_sampled, why_not_auditable
from homeward.runs import Run
from homeward.runs.kind import Kind, Setup
from homeward.runs.log import Record
from homeward.runs.manifest import changes, made_with, versions_here
from homeward.runs.reporting import remote_explorer, report_of, take
from homeward.runs.retracing import check_numbers, replay, to_record
from homeward.words import ENDS
from homeward.worlds.outside import Outside

PLANNED_FIELDS = (
    *("state", "action", "status", "observation", "next_state", "holding", "evaluators"),
)
"""Fields of a record that a second planning must reproduce, in addition to its bounds."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordedPlan:
    """A recorded step of a run, and its plan, which was computed again."""

    record: Record
    case: PlanCase | None  # None if the level holds for the whole run: then see `run`
    reasons: tuple[str, ...] = ()  # texts on fields, except bounds, that were not reproduced
    run: RunVerdict | None = None  # verdict on the run, if the level holds for the whole run
    homes: tuple[HomeVerdict, ...] = ()  # one per home
    notes: tuple[str, ...] = ()

    def facts(self) -> dict[str, Any]:
        """Return the verdicts on a run whose level holds for the whole run, as JSON values."""
        run = None if self.run is None else self.run.as_dict()
        homes = [home.as_dict() for home in self.homes]
        return {"run": run, "homes": homes, "notes": list(self.notes)}

    @property
    def refuted(self) -> bool:
        """Whether a claim of the run is refuted."""
        run = self.run is not None and self.run.refuted
        return run or bool(self.reasons) or any(home.refuted for home in self.homes)


def plan_of_step(run: Run, step: int | None = None) -> RecordedPlan:
    """Plan a recorded step again, by default the last step, without changing any file."""
    records = run.all_records()
    if not records:
        raise InvalidInputError(f"{run.directory}: has taken no step, so there is no plan")
    number = len(records) if step is None else step
    if not 1 <= number <= len(records):
        raise InvalidInputError(f"{run.directory}: step is {number}, expected 1 to {len(records)}")
    record, before = records[number - 1], records[: number - 1]
    kind, config = run.load()
    current, sessions = versions_here(), run.manifest.sessions
    if not made_with(current, sessions, 1, number):
        taken = list(takewhile(lambda session: session.first <= number, sessions))
        differ = [change for session in taken for change in changes(session.versions, current)]
        raise InvalidFileError(
            f"{run.directory}: was made with other versions ({', '.join(dict.fromkeys(differ))}), "
            "so its plans might differ: check it with the recorded versions"
        )
    setup = run.setup(kind, config)
    explorer = remote_explorer(setup) if run.is_mission else setup.explorer()
    model = explorer.belief.mean()
    with prefixed(run.directory, InvalidFileError):
        for each in records:
            check_numbers(each, model)
    if explorer.run_state is not None:
        return _judge_run(run, records, record, kind, explorer, run.setup(kind, config))
    warm_step = max((r.step for r in before if r.seeds is not None), default=0)
    replay(explorer, before, kind, warm_step, run.directory, plan_again=True)
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
    if explorer.refuted:
        reasons += (f"step {number}: {ENDS[End.REFUTED]}",)
    assert taken_again.plan is not None
    case = PlanCase.of(taken_again.plan, belief, explorer.planner)
    return RecordedPlan(record, case, reasons)


def _differences(record: Record, again: Record, names: Sequence[str]) -> Iterator[str]:
    """Yield a text for each of the fields `names` in which two records of a step differ."""
    for name in names:
        logged, new = getattr(record, name), getattr(again, name)
        if logged != new:
            yield (
                f"the {name.replace('_', ' ')} in the log is {_short(logged)}, but planning again "
                f"gives {_short(new)}"
            )


def _judge_run(
    run: Run, records: list[Record], record: Record, kind: Kind, explorer: Loop, setup: Setup
) -> RecordedPlan:
    """Audit a run whose levels hold for the whole run, and plan every step again."""
    last = records[-1]
    try:
        kept = float(last.holding["kept"])
    except (KeyError, TypeError, ValueError, OverflowError) as cause:
        raise InvalidFileError(
            f"{run.directory}: step {last.step} has no valid risk budget: {cause}"
        ) from cause
    if not 0.0 <= kept <= 1.0:
        raise InvalidFileError(
            f"{run.directory}: the bound of step {last.step} is {kept!r}, expected 0 to 1"
        )
    reasons = _plan_all_again(records, kind, explorer)
    kept_again = None if reasons or explorer.run_state is None else explorer.run_state.kept
    claims = _claims(setup)
    level = max((claim.level for claim in claims), default=0.0)
    # From the step that refutes the belief on, nothing is claimed, so nothing is audited.
    claiming = [each for each in records if not (each.holding or {}).get("refuted")]
    end = None
    if len(claiming) < len(records):
        end = End.REFUTED
        reasons.append(f"step {len(claiming) + 1}: {ENDS[end]}")
    verdict = RunVerdict(level, kept, kept_again, tuple(reasons), end)
    note = None
    if not claims:
        note = "this run has no safety level, so there is nothing to audit"
    elif setup.planner.correction is Correction.NAIVE:
        note = f"the risk budget is not audited: {UNCORRECTED}"
    elif setup.planner.sampled is None and (why := why_not_auditable(setup.belief)) is not None:
        note = f"every step was planned again, but the risk budget is not audited, since {why}"
    if note is not None:
        return RecordedPlan(record, None, (), verdict, notes=(note,))
    differs: list[str] = []  # a text on the first step that the world does not reproduce

    def steps() -> Iterator[tuple[Record, Belief]]:
        world = setup.world
        belief = setup.belief.update(world.look())
        for record in claiming if run.is_mission else ():
            # A report without an action is observed before its risk is charged.
            after, _ = learned(belief, report_of(record, kind).observation, record.move)
            yield record, after if record.action < 0 else belief
            belief = after
        for record in () if run.is_mission else claiming:
            state = int(world.state)
            observation = world.act(record.action)
            repeated = (state, int(world.state), kind.written(observation))
            if repeated != (record.state, record.next_state, record.observation):
                differs.append(f"step {record.step}: the world does not reproduce the record")
                return
            yield record, belief
            belief, _ = learned(belief, observation, record.move)

    homes = (audit if setup.planner.sampled is None else audit_sampled)(claims, steps())
    if end is not None:
        homes = tuple(
            replace(home, kept=0.0, charged=1.0, reasons=(*home.reasons, reasons[-1]))
            for home in homes
        )
    return RecordedPlan(record, None, tuple(differs), verdict, homes)


def _plan_all_again(records: list[Record], kind: Kind, explorer: Loop) -> list[str]:
    """Return the differences at the first record that planning again does not reproduce."""
    for record in records:
        before = explorer.run_state
        try:
            if isinstance(explorer, Explorer) and isinstance(explorer.world, Outside):
                again = replace(take(explorer, report_of(record, kind), kind)[0], report=None)
                record = replace(record, report=None)  # not planned
            else:
                step = explorer.step()
                if step is None:
                    return [f"step {record.step}: the explorer ends before it"]
                again = to_record(step, before, None, kind, 0)
        except HomewardError as cause:
            return [f"step {record.step} can't be taken: {cause}"]
        differ = list(_differences(record, again, Record.__slots__))
        if differ:
            return [f"step {record.step}: {reason}" for reason in differ]
    return []


def _claims(setup: Setup) -> list[HomeClaim]:
    """Return the claim of each return criterion.

    Its name has the name of each home in the model, its cell on a map, or its number.
    """
    start, claims = int(setup.world.state), []
    names, shape = setup.belief.mean().state_names, getattr(setup.belief, "shape", None)

    def place(state: int) -> str:
        named = f"state {state}" if shape is None else "{},{}".format(*divmod(state, shape[1]))
        named = named if names is None else str(names[state])
        return f"the start, {named}" if state == start else named

    for criterion in setup.planner.criteria:
        if isinstance(criterion, ReturnHome):
            home = start if isinstance(criterion.home, str) else criterion.home
            homes = frozenset(int(h) for h in np.atleast_1d(home))
            places = "; ".join(place(home) for home in sorted(homes))
            name = f"return to {'any of ' * (len(homes) > 1)}{places}"
            if criterion.within is not None or criterion.limits:
                name += f" within {criterion.described}"
            limits = criterion.within, tuple(criterion.limits)
            claims.append(HomeClaim(name, homes, criterion.delta, *limits))
    return claims


def compare(certificate: Certificate, recorded: RecordedPlan) -> Certificate:
    """Return the certificate, with a reason added for each number in the log that differs."""
    assert recorded.case is not None
    record, plan = recorded.record, recorded.case.plan
    recorded_bounds = {"plan": record.bounds, "action": record.kept_bounds}
    count = len(plan.criteria)
    if any(len(bounds) != count for bounds in recorded_bounds.values()):
        reason = f"the log has {len(record.bounds)} bounds for {count} criteria"
        worth = replace(certificate.worth, reasons=(*certificate.worth.reasons, reason))
        return replace(certificate, worth=worth)
    verdicts = []
    # If every policy starts with the chosen action, one verdict is on the plan and on the action.
    alone = len(certificate.verdicts) == count
    for i, verdict in enumerate(certificate.verdicts):
        parts = recorded_bounds if alone else (verdict.part,)
        differ = tuple(
            f"the bound in the log is {logged:.12g}, but the plan's is {verdict.claimed:.12g}"
            for part in parts
            for logged in [recorded_bounds[part][i % count]]
            if not abs(logged - verdict.claimed) <= CLAIM_TOLERANCE * verdict.unit
        )
        verdicts.append(replace(verdict, reasons=verdict.reasons + differ))
    reasons = [*certificate.worth.reasons, *recorded.reasons]
    for name, logged, planned in (
        ("value", record.value, plan.exploration_value),
        ("upper bound", record.upper, plan.upper_bound),
    ):
        slack = CLAIM_TOLERANCE * max(1.0, abs(planned))
        if logged != planned and not abs(logged - planned) <= slack:
            reasons.append(
                f"the {name} in the log is {logged:.12g}, but planning again gives {planned:.12g}"
            )
    worth = replace(certificate.worth, reasons=tuple(reasons))
    return replace(certificate, verdicts=tuple(verdicts), worth=worth)


def _short(value: Any) -> str:
    """Return the text of a value, cut to 60 characters."""
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
