"""What several judges of another tool said about one trial → the columns that say it here."""

from __future__ import annotations

from collections.abc import Mapping

from highbar.importers.naming import means_correct, score_column
from highbar.importers.report import Report

Row = dict[str, object]


class Verdicts:
    """Gathers the verdicts and scores of one trial. A judge that broke leaves the trial undecided.

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

    def add_broken(self, name: str, reason: str) -> None:
        """A judge that was to say something and did not, and why: for no fault of the agent, the trial is undecided."""
        self._broken.setdefault(name, reason)

    def forbid(self, name: str, *, happened: bool | None) -> None:
        """Something that must not happen, and whether it did; None, beside a broken judge, if nobody can say."""
        self._must_not[name] = self._must_not.get(name) or happened

    def fail(self) -> None:
        """The tool says that the trial failed, for a reason that no verdict shows."""
        self._failed = True

    def knows(self, name: str) -> bool:
        """Whether this judge gave a verdict, or is known not to have given one."""
        return name in self._seen or name in self._broken

    @property
    def judged(self) -> bool:
        """Whether anything says that the trial passed or failed."""
        return bool(self._seen or self._must_not or self._failed)

    @property
    def broken(self) -> bool:
        """Whether a judge did not say what it was to say."""
        return bool(self._broken)

    @property
    def passed(self) -> bool | None:
        """Whether all that judged it judged it well; None if nothing judged it, or a judge that it rests on broke."""
        bad = self._failed or not all(self._seen.values()) or any(self._must_not.values())
        return False if bad else None if self._broken or not self.judged else True

    def columns(self) -> Row:
        """The columns, without those that have nothing to say."""
        scores: Mapping[str, object] = {name: s for name, s in self._scores.items() if name not in self._repeated}
        return {
            "passed": self.passed,
            "correct": self._correct(),
            "expected_behaviors": list(dict.fromkeys((*self._seen, *self._broken))) or None,
            "behaviors": self._behaviors(),
            **self._must_nots(),
            "unjudged": "; ".join(f"judge: {name}: {reason}" for name, reason in self._broken.items()) or None,
            "judge": ", ".join(sorted(self._judges)) or None,
            **scores,
        }

    def _correct(self) -> bool | None:
        """Whether the answer was right by all judges of that; None if nobody said, or one who was to say it did not."""
        right = [seen for name, seen in self._seen.items() if means_correct(name)]
        if not all(right):
            return False
        return None if not right or any(map(means_correct, self._broken)) else True

    def _behaviors(self) -> list[str] | dict[str, bool] | None:
        """What was seen. Beside a judge that broke, what was looked for and not seen is named as well."""
        if not self._seen:
            return None
        return dict(self._seen) if self._broken else [name for name, seen in self._seen.items() if seen]

    def _must_nots(self) -> Row:
        """The mapping that says what happened or, if that is not known of all of them, a list, and what did happen."""
        if None not in self._must_not.values():
            return {"must_not": self._must_not or None}
        happened = [name for name, did in self._must_not.items() if did]
        return {"must_not": list(self._must_not), "violations": happened or None}

    def count(self, report: Report) -> None:
        """Tell the report what a reader of the rows could not see: who gave no verdict, and what was not kept."""
        if self._broken or not self.judged:
            report.unscored += 1
        if self._repeated:
            report.unread["scores of one name given several times in one record"] += len(self._repeated)
