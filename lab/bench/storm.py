"""Solution of a constrained problem by the multi-objective engine of the model checker Storm.

Discounting becomes a sink: each move goes to the sink with probability 1 − γ. The problem is
written as a DRN file with two rewards. The query is
``multi(R{"xi"}max=? [C], R{"safe"}>=level [C])``.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from homeward.errors import InvalidProblemError
from homeward.solvers import ConstrainedProblem, Status
from lab.bench.peers import PeerAnswer, peer


def write_drn(problem: ConstrainedProblem, scale: float) -> str:
    """Return the discounted problem in Storm's DRN format, with objective / `scale`."""
    rows = problem.model.sparse().transitions
    states, actions = problem.model.states, problem.model.actions
    usable = np.isfinite(problem.objective)
    lines = [
        "@type: MDP",
        "@parameters",
        "",
        "@reward_models",
        "xi safe",
        "@nr_states",
        str(states + 1),
        "@nr_choices",
        str(int(usable.sum()) + 1),
        "@model",
    ]
    for s in range(states):
        lines.append(f"state {s} [0, 0]" + (" init" if s == problem.start else ""))
        for a in np.flatnonzero(usable[s]):
            total, safe = problem.objective[s, a] / scale, problem.constraints[0, s, a]
            lines.append(f"\taction {a} [{total:.17g}, {safe:.17g}]")
            part = slice(*rows.indptr[s * actions + a : s * actions + a + 2])
            onward = problem.discount * rows.data[part]
            moves = dict(zip(rows.indices[part].tolist(), onward.tolist(), strict=True))
            moves[states] = 1.0 - float(onward.sum())
            lines += [f"\t\t{t} : {p:.17g}" for t, p in sorted(moves.items())]
    lines += [f"state {states} [0, 0]", "\taction 0 [0, 0]", f"\t\t{states} : 1", ""]
    return "\n".join(lines)


def solve(problem: ConstrainedProblem) -> PeerAnswer:
    """Return Storm's best objective under one constraint, at its default precision."""
    if len(problem.levels) != 1:
        raise InvalidProblemError("the comparison with Storm needs a problem with one constraint")
    stormpy = peer("stormpy")
    scale = float(np.abs(problem.objective[np.isfinite(problem.objective)]).max()) or 1.0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.drn"
        file.write_text(write_drn(problem, scale))
        model = stormpy.build_model_from_drn(str(file))
    query = f'multi(R{{"xi"}}max=? [C], R{{"safe"}}>={float(problem.levels[0]):.17g} [C])'
    (question,) = stormpy.parse_properties(query)
    before = time.perf_counter()
    result = stormpy.model_checking(model, question, only_initial_states=True)
    seconds = time.perf_counter() - before
    value = float(result.get_value(model.initial_states[0]))
    return PeerAnswer(Status.OPTIMAL, value * scale, seconds)
