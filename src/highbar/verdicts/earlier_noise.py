"""What earlier runs of the same scenarios say about the noise of their trials, for a suite that is all there is.

The history has only how many trials of a scenario passed, so it says nothing about other judgments. The noise is that
of the agent as it was. As far as the scenarios of this run disagree with their earlier trials by more, that counts: an
agent that has become noisier does not look as steady as it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from highbar.changes.record_sums import is_selected
from highbar.changes.scored_run import ScoredRun
from highbar.measure.parts import counts_scenarios
from highbar.model import Ratio
from highbar.model.recall import Recalled, Trials
from highbar.model.records import ScenarioRecord
from highbar.statistics.trials import TrialNoise, disagreement, earlier_noise

_NEVER_RUN: Trials = (0, 0)
_UNKNOWN = 0.5  # for a scenario without earlier trials: so it disagrees by the most that noise can


class EarlierNoise:
    """The noise of the trials of one run's scenarios, from its history."""

    def __init__(self, recalled: Recalled, run: ScoredRun) -> None:
        self._run = run
        self._pooled = {record.id: _pooled(recalled, record.id) for record in run.records}
        best = run.best or run.records
        self._disagreement = {
            worst.id: max(self._disagrees(worst), self._disagrees(at_best))
            for worst, at_best in zip(run.records, best, strict=True)
        }

    def __call__(self, ratio: Ratio) -> TrialNoise | None:
        """The noise behind a share, at least as much as this run shows; None if the history does not tell."""
        chosen = self._chosen(ratio)
        known = None if chosen is None else self.before(ratio)
        if chosen is None or known is None:
            return None
        return known.at_least(self.disagreements(chosen)[-1])

    def before(self, ratio: Ratio) -> TrialNoise | None:
        """The noise behind a share, as it is known before this run; None if the history does not tell."""
        chosen = self._chosen(ratio)
        return earlier_noise([self._pooled[one.id] for one in chosen]) if chosen else None

    def disagreements(self, records: Sequence[ScenarioRecord]) -> tuple[float, ...]:
        """After each of these scenarios, the noise that would explain how they and their earlier trials disagree."""
        found, total = [], 0.0
        for place, record in enumerate(records, 1):
            total += self._disagreement[record.id]
            found.append(total / place)
        return tuple(found)

    def _chosen(self, ratio: Ratio) -> list[ScenarioRecord] | None:
        """The scenarios of a share of passed trials; None for any other share, or if there are none."""
        (above, _), (below, _) = ratio.z[0], ratio.d[0]
        is_plain = len(ratio.z) == len(ratio.d) == 1 and (above.column, above.of) == ("passed", "sum")
        if not is_plain or above.weighted or below.weighted or not counts_scenarios(below):
            return None
        return [record for record in self._run.records if is_selected(record, above.where)] or None

    def _disagrees(self, record: ScenarioRecord) -> float:
        passed, trials = self._pooled[record.id]
        now = record.passed / record.trials
        return disagreement(passed / trials if trials else _UNKNOWN, now)


def earlier_noise_of(recalled: Recalled, run: ScoredRun) -> EarlierNoise | None:
    """The noise by the history, for a suite that is all there is; None if it is of no use.

    Fail closed: a history that cannot be read whole, or that may be of another agent, says nothing. The records that
    are damaged may be those that show the noise.
    """
    if recalled.problem is not None or recalled.damaged or recalled.no_excuse or not run.records:
        return None
    return EarlierNoise(recalled, run)


def _pooled(recalled: Recalled, id_: str) -> Trials:
    found = [one.get(id_, _NEVER_RUN) for one in recalled.runs]
    return sum(passed for passed, _ in found), sum(trials for _, trials in found)
