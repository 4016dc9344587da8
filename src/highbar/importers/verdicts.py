"""What several judges of another tool said about one trial → the columns that say it here."""

from __future__ import annotations

from collections.abc import Mapping

from highbar.importers.naming import means_correct, score_column
from highbar.importers.report import Report

Row = dict[str, object]


class Verdicts:
    """Gathers the verdicts and scores of one trial. A judge that broke has not seen what it was to see.

    >>> verdicts = Verdicts()
    >>> verdicts.add("polite", verdict=True)
    >>> verdicts.add("Correctness", verdict=False, score=0.25)
    >>> verdicts.columns()["passed"], verdicts.columns()["behaviors"], verdicts.columns()["correctness"]
    (False, ['polite'], 0.25)
    """

    def __init__(self) -> None:
        self._seen: dict[str, bool] = {}
        self._must_not: dict[str, bool] = {}
        self._scores: dict[str, float | str] = {}
        self._repeated: set[str] = set()
        self._judges: set[str] = set()
        self._failed = False
        self._broken = False

    def add(self, name: str, *, verdict: bool | None, score: float | None = None, judge: str | None = None) -> None:
        """What one judge said: a verdict, a score, or both. The same name twice holds only where both hold."""
        if verdict is not None:
            self._seen[name] = verdict and self._seen.get(name, True)
        self.add_score(name, score)
        if judge:
            self._judges.add(judge)

    def add_score(self, name: str, score: float | str | None) -> None:
        """A number or a label that decides nothing. Of two that differ neither is the one, so none is kept."""
        if score is None:
            return
        column = score_column(name)
        if self._scores.get(column, score) != score:
            self._repeated.add(column)
        self._scores[column] = score

    def add_broken(self, name: str) -> None:
        """A judge that was to say something and could not: it counts as not seen, and the trial does not pass."""
        self._seen[name] = False
        self._broken = True

    def forbid(self, name: str, *, happened: bool) -> None:
        """Something that must not happen, and whether it did."""
        self._must_not[name] = happened or self._must_not.get(name, False)

    def fail(self) -> None:
        """The tool says that the trial failed, for a reason that no verdict shows."""
        self._failed = True

    @property
    def judged(self) -> bool:
        """Whether anything says that the trial passed or failed."""
        return bool(self._seen or self._must_not or self._failed)

    @property
    def passed(self) -> bool | None:
        """All that judged it judged it well; None where nothing judged it."""
        if not self.judged:
            return None
        return all(self._seen.values()) and not any(self._must_not.values()) and not self._failed

    def columns(self) -> Row:
        """The columns, without those that have nothing to say."""
        right = [seen for name, seen in self._seen.items() if means_correct(name)]
        scores: Mapping[str, object] = {name: s for name, s in self._scores.items() if name not in self._repeated}
        return {
            "passed": self.passed,
            "correct": all(right) if right else None,
            "expected_behaviors": list(self._seen) or None,
            "behaviors": [name for name, seen in self._seen.items() if seen] if self._seen else None,
            "must_not": self._must_not or None,
            "judge": ", ".join(sorted(self._judges)) or None,
            **scores,
        }

    def count(self, report: Report) -> None:
        """Tell the report what a reader of the rows could not see: who gave no verdict, and what was not kept."""
        if self._broken or not self.judged:
            report.unscored += 1
        if self._repeated:
            report.unread["scores of one name given several times in one record"] += len(self._repeated)
