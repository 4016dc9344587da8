"""The verdicts and scores of one trial by the scorers of another tool → our columns."""

from __future__ import annotations

from collections.abc import Mapping

from highbar.importers import Row
from highbar.importers.report import Report
from highbar.language.tool_names import means_correct, score_column

_UNKNOWN = "could not be evaluated"


class Verdicts:
    """Collects the verdicts and scores of one trial. A judge that broke leaves the trial undecided.

    >>> verdicts = Verdicts()
    >>> verdicts.add("polite", verdict=True)
    >>> verdicts.add("Correctness", verdict=False, score=0.25)
    >>> verdicts.columns()["passed"], verdicts.columns()["behaviors"], verdicts.columns()["correctness"]
    (False, ['polite'], 0.25)
    >>> verdicts.add_broken("safe", "the judge timed out")
    >>> verdicts.columns()["behaviors"], verdicts.columns()["unjudged"]
    ({'polite': True, 'Correctness': False}, 'judge: safe: the judge timed out')
    """

    def __init__(self) -> None:
        self._seen: dict[str, bool] = {}
        self._must_not: dict[str, bool | None] = {}
        self._scores: dict[str, float | str] = {}
        self._repeated: set[str] = set()
        self._judges: set[str] = set()
        self._broken: dict[str, str] = {}
        self._failed = False

    def add(
        self, name: str, *, verdict: bool | None, score: float | str | None = None, judge: str | None = None
    ) -> None:
        """Add a verdict, a score, or both. Two verdicts of the same name are good only if both are."""
        if verdict is not None:
            self._seen[name] = verdict and self._seen.get(name, True)
        self.add_score(name, score)
        if judge:
            self._judges.add(judge)

    def add_score(self, name: str, score: float | str | None) -> None:
        """Add a number or a label that decides nothing. If two of one name differ, the column stays empty."""
        if score is None:
            return
        column = score_column(name)
        if self._scores.get(column, score) != score:
            self._repeated.add(column)
        self._scores[column] = score

    def add_broken(self, name: str, reason: str) -> None:
        """Add a judge without a verdict, and the reason. It is not the agent's fault, so the trial is undecided."""
        self._broken.setdefault(name, reason)

    def add_must_not(self, name: str, *, happened: bool | None) -> None:
        """Add a must-not, and whether it happened. If that is unknown, None: the trial is undecided.

        Of two of one name the worse counts: that it happened, then that nobody knows.
        """
        both = (self._must_not.get(name, False), happened)
        self._must_not[name] = True if True in both else None if None in both else False

    def fail(self) -> None:
        """Note that the tool says that the trial failed, for a reason that no verdict shows."""
        self._failed = True

    def knows(self, name: str) -> bool:
        """Whether this judge has a verdict or is known to be broken."""
        return name in self._seen or name in self._broken

    @property
    def judged(self) -> bool:
        """Whether anything says that the trial passed or failed."""
        return bool(self._seen or self._must_not or self._failed)

    @property
    def broken(self) -> bool:
        """Whether a judge broke, or it is unknown whether a must-not happened."""
        return bool(self._undecided())

    def _undecided(self) -> dict[str, str]:
        """What leaves the trial undecided, and why."""
        unknown = dict.fromkeys((name for name, did in self._must_not.items() if did is None), _UNKNOWN)
        return {**unknown, **self._broken}

    @property
    def passed(self) -> bool | None:
        """Whether all verdicts are good; None if there are no verdicts, or if a judge broke and no verdict is bad."""
        bad = self._failed or not all(self._seen.values()) or any(self._must_not.values())
        return False if bad else None if self.broken or not self.judged else True

    def columns(self) -> Row:
        """The columns of the row; None for those without a value."""
        scores: Mapping[str, object] = {name: s for name, s in self._scores.items() if name not in self._repeated}
        return {
            "passed": self.passed,
            "correct": self._correct(),
            "expected_behaviors": list(dict.fromkeys((*self._seen, *self._broken))) or None,
            "behaviors": self._behaviors(),
            **self._must_nots(),
            "unjudged": "; ".join(f"judge: {name}: {reason}" for name, reason in self._undecided().items()) or None,
            "judge": ", ".join(sorted(self._judges)) or None,
            **scores,
        }

    def _correct(self) -> bool | None:
        """Whether all judges of correctness say yes; None if there are none, or if one broke and no verdict is bad."""
        right = [seen for name, seen in self._seen.items() if means_correct(name)]
        if not all(right):
            return False
        return None if not right or any(map(means_correct, self._broken)) else True

    def _behaviors(self) -> list[str] | dict[str, bool] | None:
        """The behaviors that were seen. If a judge broke, also those that were not seen: all others are unknown."""
        if not self._seen:
            return None
        return dict(self._seen) if self._broken else [name for name, seen in self._seen.items() if seen]

    def _must_nots(self) -> Row:
        """Each must-not and whether it happened; if one is unknown, the list of all and the list of violations."""
        if None not in self._must_not.values():
            return {"must_not": self._must_not or None}
        happened = [name for name, did in self._must_not.items() if did]
        return {"must_not": list(self._must_not), "violations": happened or None}

    def count(self, report: Report) -> None:
        """Count in the report what the row does not show: an undecided trial, and scores without a column."""
        if self.broken or not self.judged:
            report.unscored += 1
        if self._repeated:
            report.unread["scores of one name given several times in one record"] += len(self._repeated)
