"""Checks that `update` conditions a belief on what was observed.

Transitions are drawn in N drawn worlds. The K probabilities of a model are its *entries*
(`draws.Entries`). Of a state-action with outcomes t of probability p(t),

- the posterior means, weighted by p(t), must give the prior mean: exactly;
- with q the posterior mean after t, E[P(t) (P − q)] = 0: the drawn worlds, weighted by how likely
  they make t, must have the mean q.

A belief may not learn from some state-actions (`teaches`, as of `DirichletBelief`). In states that
may be walls (`possible_walls`, as of `HeightBelief`), the model assumes that there is no wall, so
the means of their actions are not compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from homeward.arrays import FloatArray
from homeward.beliefs.observations import Transition
from homeward.checking.draws import Drawn, counts_of, entries_of, fingerprint, has_bounds
from homeward.checking.offences import ROUNDING, Findings, slack
from homeward.errors import HomewardError, ImpossibleObservationError, InvalidInputError
from homeward.models import Model, Moves

MIXING_TOLERANCE = 1e-7  # largest difference between the prior mean and the mixed posterior means
MIN_PREDICTED = 400  # least number of predictions; the number of drawn worlds if that is more
MAX_PAIRS = 12  # most state-actions whose updates are checked: the most uncertain ones
LEARNS = "a belief that learns from Transition, or the option observe"


class UpdateCheck(NamedTuple):
    """A belief whose updates are checked, and worlds drawn from it; offences go to `findings`."""

    belief: Any
    mean: Model
    drawn: Drawn
    findings: Findings

    def run(self, seed: int, observe: Callable[[Any, np.random.Generator], Any] | None) -> None:
        """Report updates that are not Bayes' rule, or that change the belief that is updated."""
        before, findings = fingerprint(self.belief), self.findings

        def is_unchanged(where: str) -> bool:
            if fingerprint(self.belief) == before:
                return True
            expected = "a new belief, and the old one as it was"
            findings.add("update", where, expected, "update changed the belief itself")
            return False

        if observe is not None:
            self._check_predicted(observe, seed)
            if not is_unchanged("update()"):
                return
            findings.checked["update"] = None
        pairs, learned = self._pairs(), False
        failure = self._failure(*pairs[0]) if pairs else None
        if failure is not None:
            if observe is None:
                findings.add("update", "update() of a Transition", LEARNS, failure)
            return
        for s, a in pairs:
            learned |= self._check_pair(s, a)
            if not is_unchanged(self._at(s, a)):
                return
        if learned:
            findings.checked["update"] = None
        elif observe is None:
            findings.add("update", "update()", LEARNS, "every Transition is refused")

    def _check_predicted(self, observe: Callable[..., Any], seed: int) -> None:
        """Report if posterior means, averaged over predicted observations, miss the prior mean."""
        rng, entries = np.random.default_rng(seed), self.drawn.entries
        means = np.zeros((max(MIN_PREDICTED, len(self.drawn.chance)), len(entries.chance)))
        for n in range(len(means)):
            after = self.belief.update(observe(self.belief, rng))
            if not self._is_belief(after):
                return
            means[n] = self._chances(after.mean())
        is_uncertain = bool((np.abs(self.belief.correction()) > ROUNDING).any())
        if (means == entries.chance).all() and is_uncertain:
            where = f"update() after {len(means)} observations"
            expected = "a belief that learns something from one of them"
            self.findings.add("update", where, expected, "the same means")
        half = slack(means, self.findings.log_inverse_alpha(means.shape[1]), 1.0)
        excess = np.abs(means.mean(axis=0) - entries.chance) - half
        if excess.max() > 0.0:
            k = int(np.argmax(excess))
            expected = f"{entries.chance[k]:.6g} ± {half[k]:.2g}, the mean before"
            given = f"{means.mean(axis=0)[k]:.6g}, the mean after predicted observations"
            self.findings.add("update", self._at(*entries.where(k)), expected, given)

    def _chances(self, model: Model) -> FloatArray:
        """Return the probabilities [K] that a model has of the entries of the mean model."""
        if isinstance(model, Moves):
            return entries_of(model).chance
        entries = self.drawn.entries
        chances: FloatArray = _dense(model)[entries.row, entries.target]
        return chances

    def _failure(self, s: int, a: int) -> str | None:
        """Return the unexpected error of `update` on a `Transition`; None without an error."""
        try:
            self.belief.update(Transition(s, a, int(np.argmax(self.mean.row(s, a)))))
        except (TypeError, AttributeError) as cause:
            return f"{type(cause).__name__}: {cause}"
        except HomewardError:  # `_check_pair` finds the reason
            pass
        return None

    def _at(self, s: int, a: int, t: int | None = None) -> str:
        """Return a state-action as text, with its next state if one is given."""
        where = f"{self.mean.action_name(a)} in {self.mean.state_name(s)} (s={s}, a={a})"
        return where if t is None else f"{where} to {self.mean.state_name(t)}"

    def _pairs(self) -> list[tuple[int, int]]:
        """Return the most uncertain state-actions, the most uncertain first, and a certain one."""
        doubt = self.drawn.shortfall().mean(axis=0)
        doubt[~np.isfinite(self.mean.reward)] = 0.0
        order = np.argsort(doubt, axis=None, kind="stable").tolist()
        chosen = [k for k in order if doubt.flat[k] < -1e-6][:MAX_PAIRS]
        certain = [k for k in order[::-1] if doubt.flat[k] == 0.0][:1]
        return [divmod(k, self.mean.actions) for k in (*chosen, *certain)]

    def _is_belief(self, after: Any) -> bool:
        """Return whether an update returned a belief over models of the same size."""
        mean = after.mean() if callable(getattr(after, "mean", None)) else None
        size = self.mean.states, self.mean.actions
        if mean is None or (mean.states, mean.actions) != size:
            expected = "a belief over {} states and {} actions".format(*size)
            self.findings.add("update", "update()", expected, f"a {type(after).__name__}")
            return False
        return True

    def _check_pair(self, s: int, a: int) -> bool:
        """Check the updates after each outcome of a state-action; return whether there are any."""
        mean, belief, findings = self.mean, self.belief, self.findings
        row = mean.row(s, a)
        afters = {}  # belief by next state
        for t in np.flatnonzero(row > 0.0).tolist():
            try:
                after = belief.update(Transition(s, a, t))
            except InvalidInputError:  # it does not learn from transitions here
                return False
            except ImpossibleObservationError:
                expected = f"{row[t]:g}, the probability that mean() has"
                findings.add("impossible", self._at(s, a, t), expected, "update refuses it")
                return True
            if not self._is_belief(after):
                return True
            afters[t] = after
        if isinstance(mean, Moves) and has_bounds(belief):
            self._check_bounds(s, a, afters)
            return True
        for t in np.flatnonzero(row == 0.0).tolist()[:1]:
            if isinstance(mean, Moves) and t not in (s, int(mean.dest[s, a])):
                continue
            try:
                belief.update(Transition(s, a, t))
            except (ImpossibleObservationError, InvalidInputError):
                continue
            expected = "ImpossibleObservationError: its probability is 0"
            findings.add("impossible", self._at(s, a, t), expected, "update accepts it")
        if belief.teaches(s, a):
            self._check_counts(s, a, afters)
            self._check_mixture(s, a, afters)
            self._check_bayes(s, a, afters)
        return True

    def _is_compared(self) -> Any:
        """Return the mask [S] of the states whose actions' means are compared."""
        return ~np.asarray(self.belief.possible_walls())

    def _check_mixture(self, s: int, a: int, afters: dict[int, Any]) -> None:
        """Report if the posterior means, weighted by their probabilities, miss the prior mean."""
        mean, row = self.mean, self.mean.row(s, a)
        if sum(float(row[t]) for t in afters) < 1.0 - ROUNDING:
            return
        mixed: FloatArray = np.sum(
            [float(row[t]) * _dense(after.mean()) for t, after in afters.items()], axis=0
        )
        gap = np.abs(mixed - _dense(mean)) * np.repeat(self._is_compared(), mean.actions)[:, None]
        if gap.max() > MIXING_TOLERANCE:
            worst = int(gap.argmax())
            of = self._at(*divmod(worst // mean.states, mean.actions))
            expected = f"{_dense(mean).flat[worst]:.6g}, the mean before"
            given = f"{mixed.flat[worst]:.6g}, the mean of the means after each outcome"
            self.findings.add("update", f"{self._at(s, a)}, of {of}", expected, given)

    def _check_bayes(self, s: int, a: int, afters: dict[int, Any]) -> None:
        """Report posterior means that differ from the likelihood-weighted mean of drawn worlds."""
        entries = self.drawn.entries
        for t, after in afters.items():
            likely, means = self._likelihood(s, a, t), self._chances(after.mean())
            mean_gap, half = self._gaps(likely, means, len(afters))
            wrong = (np.abs(mean_gap) > half) & self._is_compared()[
                entries.row // self.mean.actions
            ]
            if wrong.any():
                k = int(np.argmax(np.where(wrong, np.abs(mean_gap), 0.0)))
                weighted = self._weighted(likely, k)
                expected = f"{weighted:.6g} ± {half[k] / likely.mean():.2g}, by Bayes' rule"
                where = f"after {self._at(s, a, t)}: {self._at(*entries.where(k))}"
                self.findings.add("update", where, expected, f"mean() has {means[k]:.6g}")

    def _check_bounds(self, s: int, a: int, afters: dict[int, Any]) -> None:
        """Report bounds after an update that exclude the weighted mean of the drawn worlds."""
        for t, after in afters.items():
            likely = self._likelihood(s, a, t)
            low, high = (np.asarray(part).ravel() for part in after.success_bounds())
            for sign, bound, which in ((1.0, low, "at most"), (-1.0, high, "at least")):
                mean_gap, half = self._gaps(likely, bound, 2 * len(afters))
                excess = sign * mean_gap - half
                if (excess > 0.0).any():
                    k = int(np.argmax(excess))
                    of = self._at(*self.drawn.entries.where(k)[:2])
                    where = f"after {self._at(s, a, t)}: {of}"
                    expected = f"{which} {self._weighted(likely, k):.6g}"
                    self.findings.add("bounds", where, expected, f"{bound[k]:.6g}")

    def _gaps(
        self, likely: FloatArray, claimed: FloatArray, tests: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return the mean [K] of likelihood · (claimed − P) over the worlds, and its half-width."""
        gaps = likely[:, None] * (claimed - self.drawn.chance)
        log_limit = self.findings.log_inverse_alpha(tests * gaps.shape[1] * (MAX_PAIRS + 1))
        return gaps.mean(axis=0), slack(gaps, log_limit, 2.0)

    def _weighted(self, likely: FloatArray, k: int) -> float:
        """Return the mean probability of entry `k` over the worlds, with weights `likely` [N]."""
        return float((likely @ self.drawn.chance[:, k]) / likely.sum())

    def _likelihood(self, s: int, a: int, t: int) -> FloatArray:
        """Return the probability [N] of a transition in each drawn world."""
        mean, chance, row = self.mean, self.drawn.chance, s * self.mean.actions + a
        if isinstance(mean, Moves):
            works: FloatArray = chance[:, row]
            if int(mean.dest[s, a]) == s:
                return np.ones(len(works))
            return works if t == int(mean.dest[s, a]) else 1.0 - works
        is_it = (self.drawn.entries.row == row) & (self.drawn.entries.target == t)
        likely: FloatArray = chance[:, np.flatnonzero(is_it)].sum(axis=1)
        return likely

    def _check_counts(self, s: int, a: int, afters: dict[int, Any]) -> None:
        """Report counts and visits that are wrong after an update."""
        counts = counts_of(self.belief)
        if not counts or counts["counts"].dtype.kind not in "iu":
            return  # it does not count
        where = self._at(s, a)
        for name, old in counts.items():
            for t, after in afters.items():
                new, expected, given = np.asarray(getattr(after, name)), None, ""
                if new.shape != old.shape:
                    expected, given = f"shape {old.shape}", f"{new.shape}"
                elif name == "visited" and not (new[s] and new[t]):
                    expected, given = f"states {s} and {t}", "not both"
                elif name == "counts" and not new[s, a] > old[s, a]:
                    expected, given = "one more", f"{new[s, a]:g}"
                if expected is not None:
                    self.findings.add("counts", f"{name} after {where}", expected, given)
                    return


def _dense(model: Model) -> FloatArray:
    """Return all rows [S·A, S] of a model."""
    return np.asarray(model.sparse().transitions.toarray(), np.float64)
