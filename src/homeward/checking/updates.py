"""Checks that `update` conditions a belief on what was observed.

Transitions are drawn in drawn worlds. Of a state-action with outcomes t of probability p(t),

- the posterior means, weighted by p(t), must give the prior mean: exactly;
- with q the posterior mean after t, E[P(t) (P − q)] = 0: the drawn worlds, weighted by how likely
  they make t, must have the mean q.

A belief may decline to learn from a state-action, whatever happens there (`Selective`, as
`DirichletBelief`). In states that may be walls (`UncertainPlaces`, as in `HeightBelief`), actions
are conditional on there being none, since nobody is inside a wall; their means are not compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from homeward.arrays import FloatArray
from homeward.beliefs.observations import Transition
from homeward.beliefs.protocol import BoundedMoves, Selective, UncertainPlaces
from homeward.checking.draws import Drawn, entries_of, fingerprint
from homeward.checking.offences import ROUNDING, Findings, slack
from homeward.errors import HomewardError, ImpossibleObservationError, InvalidInputError
from homeward.models import Model, Moves

MIXING_TOLERANCE = 1e-7  # largest difference between the prior mean and the mixed posterior means
MIN_PREDICTED = 400  # least number of predictions; the number of drawn worlds if that is more
MAX_PAIRS = 12  # most state-actions whose updates are checked: the most doubtful ones


def check_updates(
    belief: Any,
    drawn: Drawn,
    said: Findings,
    seed: int,
    observe: Callable[[Any, np.random.Generator], Any] | None,
) -> None:
    """Report updates that are not Bayes' rule, or that change the belief that is updated."""
    mean = belief.mean()
    before = fingerprint(belief)
    if observe is not None:
        _check_predicted(belief, mean, drawn, said, observe, seed)
        if fingerprint(belief) != before:
            told = "a new belief, and the old one as it was"
            said.add("update", "update()", told, "update changed the belief itself")
            return
        said.checked["update"] = None
    learned, pairs = 0, _pairs(mean, drawn)
    broken = next((why for s, a in pairs[:1] if (why := _broken(belief, mean, s, a))), None)
    if broken is not None:
        if observe is None:
            told = "a belief that learns from Transition, or the option observe"
            said.add("update", "update() of a Transition", told, broken)
        return
    for s, a in pairs:
        learned += _check_pair(belief, mean, drawn, said, s, a)
        if fingerprint(belief) != before:
            told = "a new belief, and the old one as it was"
            said.add("update", _at(mean, s, a), told, "update changed the belief itself")
            return
    if learned:
        said.checked["update"] = None
    elif observe is None:
        told = "a belief that learns from Transition, or the option observe"
        said.add("update", "update()", told, "every Transition is refused")


def _check_predicted(
    belief: Any, mean: Model, drawn: Drawn, said: Findings, observe: Callable[..., Any], seed: int
) -> None:
    """Report if posterior means, averaged over predicted observations, are not the prior mean."""
    rng, entries = np.random.default_rng(seed), drawn.entries
    found = np.zeros((max(MIN_PREDICTED, len(drawn.chance)), len(entries.chance)))
    for n in range(len(found)):
        after = belief.update(observe(belief, rng))
        if not _is_belief(after, mean, said):
            return
        found[n] = _chances(after.mean(), drawn)
    if (found == entries.chance).all() and bool((np.abs(belief.correction()) > ROUNDING).any()):
        told = "a belief that learns something from one of them"
        said.add("update", f"update() after {len(found)} observations", told, "the same means")
    half = slack(found, said.log_inverse_alpha(found.shape[1]), 1.0)
    excess = np.abs(found.mean(axis=0) - entries.chance) - half
    if excess.max() > 0.0:
        k = int(np.argmax(excess))
        s, a, t = entries.where(k)
        told = f"{entries.chance[k]:.6g} ± {half[k]:.2g}, the mean before"
        given = f"{found.mean(axis=0)[k]:.6g}, the mean after predicted observations"
        said.add("update", f"{_at(mean, s, a)} to {mean.state_name(t)}", told, given)


def _chances(model: Model, drawn: Drawn) -> FloatArray:
    """Return the probabilities that a model has of the entries of the mean model."""
    if isinstance(model, Moves):
        return entries_of(model).chance
    found: FloatArray = _dense(model)[drawn.entries.row, drawn.entries.target]
    return found


def _broken(belief: Any, mean: Model, s: int, a: int) -> str | None:
    """Return the unexpected error of `update` on a `Transition` as text; None without an error."""
    try:
        belief.update(Transition(s, a, int(np.argmax(mean.row(s, a)))))
    except (TypeError, AttributeError) as cause:
        return f"{type(cause).__name__}: {cause}"
    except HomewardError:  # it is checked why
        pass
    return None


def _at(mean: Model, s: int, a: int) -> str:
    return f"{mean.action_name(a)} in {mean.state_name(s)} (s={s}, a={a})"


def _pairs(mean: Model, drawn: Drawn) -> list[tuple[int, int]]:
    """Return the most uncertain state-actions in descending order, and one that is certain."""
    doubt = drawn.shortfall().mean(axis=0)
    doubt[~np.isfinite(mean.reward)] = 0.0
    order = np.argsort(doubt, axis=None, kind="stable").tolist()
    chosen = [k for k in order if doubt.flat[k] < -1e-6][:MAX_PAIRS]
    sure = [k for k in order[::-1] if doubt.flat[k] == 0.0][:1]
    return [(k // mean.actions, k % mean.actions) for k in (*chosen, *sure)]


def _is_belief(after: Any, mean: Model, said: Findings) -> bool:
    """Return whether an update returned a belief over models of the same size."""
    found = after.mean() if callable(getattr(after, "mean", None)) else None
    size = (mean.states, mean.actions)
    if found is None or (found.states, found.actions) != size:
        told = f"a belief over {mean.states} states and {mean.actions} actions"
        said.add("update", "update()", told, f"a {type(after).__name__}")
        return False
    return True


def _check_pair(belief: Any, mean: Model, drawn: Drawn, said: Findings, s: int, a: int) -> bool:
    """Check the updates after each outcome of a state-action; return whether there are any."""
    row, where = mean.row(s, a), _at(mean, s, a)
    outcomes = np.flatnonzero(row > 0.0).tolist()
    never = np.flatnonzero(row == 0.0).tolist()
    afters, told = [], 0.0
    for t in outcomes:
        try:
            after = belief.update(Transition(s, a, t))
        except InvalidInputError:  # it does not learn from transitions here
            return False
        except ImpossibleObservationError:
            given = f"{row[t]:g}, the probability that mean() has"
            said.add("impossible", f"{where} to {mean.state_name(t)}", given, "update refuses it")
            return True
        if not _is_belief(after, mean, said):
            return True
        afters.append(after)
        told += float(row[t])
    if isinstance(belief, BoundedMoves):
        _check_bounds(belief, mean, drawn, said, (s, a), list(zip(outcomes, afters, strict=True)))
        return True
    for t in never[:1]:
        if isinstance(mean, Moves) and t not in (s, int(mean.dest[s, a])):
            continue
        try:
            belief.update(Transition(s, a, t))
        except (ImpossibleObservationError, InvalidInputError):
            continue
        expected = "ImpossibleObservationError: its probability is 0"
        said.add("impossible", f"{where} to {mean.state_name(t)}", expected, "update accepts it")
    if isinstance(belief, Selective) and not belief.teaches(s, a):
        return True
    _check_counts(belief, said, where, s, a, list(zip(outcomes, afters, strict=True)))
    _check_bayes(belief, mean, drawn, said, (s, a), list(zip(outcomes, afters, strict=True)), told)
    return True


def _dense(model: Model) -> FloatArray:
    """Return all rows [S·A, S] of a model."""
    return np.asarray(model.sparse().transitions.toarray(), np.float64)


def _check_bayes(
    belief: Any,
    mean: Model,
    drawn: Drawn,
    said: Findings,
    pair: tuple[int, int],
    afters: list[tuple[int, Any]],
    told: float,
) -> None:
    """Report posterior means that differ from the likelihood-weighted mean of the drawn worlds."""
    where, entries = _at(mean, *pair), drawn.entries
    matters = np.ones(mean.states, np.bool_)
    if isinstance(belief, UncertainPlaces):
        matters = ~np.asarray(belief.possible_walls())
    likely = {t: _likelihood(mean, drawn, pair, t) for t, _ in afters}
    if told >= 1.0 - ROUNDING:
        each = [float(mean.row(*pair)[t]) * _dense(after.mean()) for t, after in afters]
        mixed: FloatArray = np.sum(each, axis=0)
        gap = np.abs(mixed - _dense(mean)) * np.repeat(matters, mean.actions)[:, None]
        if gap.max() > MIXING_TOLERANCE:
            worst = int(gap.argmax())
            s, a = divmod(worst // mean.states, mean.actions)
            expected = f"{_dense(mean).flat[worst]:.6g}, the mean before"
            found = f"{mixed.flat[worst]:.6g}, the mean of the means after each outcome"
            said.add("update", f"{where}, of {_at(mean, s, a)}", expected, found)
    for t, after in afters:
        rows = _chances(after.mean(), drawn)
        values = likely[t][:, None] * (drawn.chance - rows)
        half = slack(values, said.log_inverse_alpha(len(afters) * values.shape[1] * 13), 2.0)
        wrong = np.abs(values.mean(axis=0)) > half
        wrong &= matters[entries.row // mean.actions]
        if wrong.any():
            k = int(np.argmax(np.where(wrong, np.abs(values.mean(axis=0)), 0.0)))
            s, a, u = entries.where(k)
            weighted = float((likely[t] @ drawn.chance[:, k]) / likely[t].sum())
            expected = f"{weighted:.6g} ± {half[k] / likely[t].mean():.2g}, by Bayes' rule"
            to = f"after {where} to {mean.state_name(t)}: {_at(mean, s, a)} to {mean.state_name(u)}"
            said.add("update", to, expected, f"mean() has {rows[k]:.6g}")


def _likelihood(mean: Model, drawn: Drawn, pair: tuple[int, int], t: int) -> FloatArray:
    """Return the probability [N] of a transition in each drawn world."""
    s, a = pair
    entries, row = drawn.entries, s * mean.actions + a
    if isinstance(mean, Moves):
        works: FloatArray = drawn.chance[:, row]
        if int(mean.dest[s, a]) == s:
            return np.ones(len(works))
        return works if t == int(mean.dest[s, a]) else 1.0 - works
    at = np.flatnonzero((entries.row == row) & (entries.target == t))
    found: FloatArray = drawn.chance[:, at].sum(axis=1)
    return found


def _check_bounds(
    belief: Any,
    mean: Model,
    drawn: Drawn,
    said: Findings,
    pair: tuple[int, int],
    afters: list[tuple[int, Any]],
) -> None:
    """Report bounds after an update that exclude the weighted mean of the drawn worlds."""
    for t, after in afters:
        likely = _likelihood(mean, drawn, pair, t)
        low, high = (np.asarray(part).ravel() for part in after.success_bounds())
        for sign, bound, which in ((1.0, low, "at most"), (-1.0, high, "at least")):
            values = sign * likely[:, None] * (bound - drawn.chance)
            half = slack(
                values, said.log_inverse_alpha(2 * len(afters) * values.shape[1] * 13), 2.0
            )
            excess = values.mean(axis=0) - half
            if (excess > 0.0).any():
                k = int(np.argmax(excess))
                s, a, _ = drawn.entries.where(k)
                weighted = float((likely @ drawn.chance[:, k]) / likely.sum())
                where = f"after {_at(mean, *pair)} to {mean.state_name(t)}: {_at(mean, s, a)}"
                said.add("bounds", where, f"{which} {weighted:.6g}", f"{bound[k]:.6g}")


def _check_counts(
    belief: Any, said: Findings, where: str, s: int, a: int, afters: list[tuple[int, Any]]
) -> None:
    """Report counts and visits that are wrong after an update."""
    if np.asarray(getattr(belief, "counts", 0.5)).dtype.kind not in "iu":
        return  # it does not count
    for name, at in (("visited", s), ("counts", (s, a))):
        if not hasattr(belief, name):
            continue
        for t, after in afters:
            now, then = np.asarray(getattr(after, name)), np.asarray(getattr(belief, name))
            if now.shape != then.shape:
                said.add("counts", f"{name} after {where}", f"shape {then.shape}", f"{now.shape}")
                return
            if name == "visited" and not (now[at] and now[t]):
                said.add("counts", f"visited after {where}", f"states {s} and {t}", "not both")
                return
            if name == "counts" and not now[at] > then[at]:
                said.add("counts", f"counts after {where}", "one more", f"{now[at]:g}")
                return
