"""The scorers of another tool's file → those that judge: the ones that the tool declares, or that the policy names.

Whether a scorer judges never depends on whether its verdicts are good. An importer reads all records before it makes
the first row. Some tools do not declare the type of a scorer's values: then every scorer with a verdict judges, and a
trial with another value is undecided, so that one odd value cannot remove a judge.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from highbar.importers import Row
from highbar.importers.record import is_number, refuse, refuse_without_judge
from highbar.importers.report import Report
from highbar.importers.verdicts import Verdicts
from highbar.model.judging import ScorerDemand

_Key = TypeVar("_Key")
_NOT_NAMED = "the policy's judged_by names others"


def is_good_enough(demand: ScorerDemand | None, score: float | None) -> bool | None:
    """Whether a score is good enough: by the policy's demand, or exactly 1 without one; None without a score.

    A score above 1 is not good enough without a demand: it is on another scale, on which nobody knows what is good.
    """
    if score is None or demand is None:
        return None if score is None else score == 1
    return demand.holds(score)


def meet_demands(
    demands: Mapping[_Key, ScorerDemand | None], scores: Mapping[_Key, float | None]
) -> tuple[bool | None, list[_Key]]:
    """Whether the scores of all judges are good enough, and the judges without a score.

    One bad score is enough for False. Otherwise, if a judge has no score, None.
    """
    met = {key: is_good_enough(demand, scores.get(key)) for key, demand in demands.items()}
    silent = [key for key, good in met.items() if good is None]
    return False if False in met.values() else None if silent else True, silent


def unjudged_columns(silent: Iterable[str]) -> Row:
    """The columns of a trial that is undecided because these judges have no score."""
    # No labels: with them, Highbar would compare answer and target itself, in place of the judge.
    return {"unjudged": f"judge: no score by {', '.join(silent)}", "expected": None, "predicted": None}


class Scorers:
    """Collects the scorers of one file, decides which of them judge, and then adds their verdicts to each trial.

    >>> report = Report()
    >>> scorers = Scorers("mlflow", report)
    >>> scorers.declare("polite")
    >>> scorers.declare_column("length", "it gives scores")
    >>> scorers.settle()
    >>> report.judges, report.scorers["length"]
    (('polite',), 'a column, does not judge: it gives scores')
    """

    def __init__(self, tool: str, report: Report) -> None:
        self._tool = tool
        self._report = report
        self._demands = {demand.scorer: demand for demand in report.judged_by}
        self._declared: dict[str, None] = {}
        self._columns: dict[str, str] = {}  # other scorers, and why they do not judge
        self._judging: frozenset[str] = frozenset()
        self._verdicts: Counter[str] = Counter()  # number of verdicts of each scorer without a declared type
        self._others: Counter[str] = Counter()  # number of its other values
        self._of_scenario: defaultdict[str, set[str]] = defaultdict(set)

    def declare(self, name: str) -> None:
        """Add a scorer that gives verdicts, by the tool's schema or a threshold in the file."""
        self._declared[name] = None

    def declare_column(self, name: str, reason: str) -> None:
        """Add a scorer that gives scores or labels; `reason` is why they are not verdicts."""
        self._columns.setdefault(name, reason)

    def declare_without_value(self, name: str) -> None:
        """Add a scorer that has no value on some record. If it has no value on any record, it counts as a judge."""
        if name not in self._columns:
            self.declare(name)

    def declare_by_value(self, name: str, reason: str | None) -> None:
        """Add a scorer of undeclared type by one of its values; `reason`: why that is no verdict, None if it is one."""
        if reason is None:
            self._verdicts[name] += 1
            self.declare(name)
        else:
            self._others[name] += 1
            self.declare_column(name, reason)

    def expect(self, scenario: str, name: str) -> None:
        """Expect this scorer on all trials of the scenario, because it has a result for one of them."""
        self._of_scenario[scenario].add(sys.intern(name))

    def settle(self) -> None:
        """Decide who judges, and note it in the report.

        Raises InputError if no scorer judges, or if the policy names a scorer that is absent.
        """
        names = dict.fromkeys((*self._declared, *self._columns))
        unknown = [name for name in self._demands if name not in names]
        if unknown:
            known = ", ".join(sorted(names)) or "none"
            refuse(
                "judge.unknown-scorer",
                f"the policy has this file judged by {', '.join(unknown)}; the scorers in it are: {known}",
            )
        if not self._demands:
            self._settle_without_judge()
        judging = tuple(self._demands or self._declared)
        if not judging and not self._report.answers_only:
            refuse_without_judge(self._tool, names)
        self._judging = frozenset(judging)
        for name in names:
            why = _NOT_NAMED if self._demands else self._columns.get(name, "")
            self._report.add_scorer(name, judges=name in self._judging, why_not=why)
        self._report.judges = judging

    def _settle_without_judge(self) -> None:
        """Warn of scorers with values of two kinds.

        A single value does not show the kind of a scorer: if others judge, it judges too, and its record is undecided.
        """
        asked = f"say in the policy who judges: judged_by: {{ {self._tool.replace('-', '_')}: [ … ] }}"
        with_one_value = [name for name, others in self._others.items() if others == 1 and name not in self._declared]
        for name in with_one_value if self._declared else ():
            self.declare(name)
            message = f"the scorer {name!r} has a single value, which is not a verdict, so that its record is undecided"
            self._report.warn(f"{message}; {asked}", urgent=True)
        for name, verdicts in self._verdicts.items():
            if others := self._others[name]:
                message = f"the scorer {name!r} gives a verdict on {verdicts} of {verdicts + others} records"
                rest = "something else on the others, which are undecided"
                self._report.warn(f"{message} and {rest}; {asked}", urgent=True)

    def judges(self, name: str) -> bool:
        """Whether this scorer judges."""
        return name in self._judging

    @property
    def by_policy(self) -> bool:
        """Whether the policy says who judges; then the tool's own conclusions do not count."""
        return bool(self._demands)

    def add(
        self,
        verdicts: Verdicts,
        name: str,
        *,
        verdict: bool | None,
        score: float | str | None = None,
        judge: str | None = None,
        why: str = "gave no verdict",
    ) -> None:
        """Add the result of one scorer to one trial; `why` is the reason if a judge has no verdict."""
        if name not in self._judging:
            verdicts.add_score(name, score if score is not None or verdict is None else float(verdict))
            return
        met = self._meets_demand(name, verdict=verdict, score=score) if self._demands else verdict
        verdicts.add(name, verdict=met, score=score, judge=judge)
        if met is None:
            verdicts.add_broken(name, why)

    def add_broken(self, verdicts: Verdicts, name: str, reason: str) -> None:
        """Add a scorer that broke on one trial. If the policy names judges, only these count; otherwise all do."""
        if name in self._judging or not self._demands:
            verdicts.add_broken(name, reason)

    def complete(self, verdicts: Verdicts, scenario: str, given: Collection[str] = ()) -> None:
        """Add judges without a result here as broken: the policy's, or those of other trials of the scenario."""
        expected = self._judging if self._demands else self._of_scenario.get(scenario, frozenset()) & self._judging
        for name in sorted(name for name in expected if name not in given and not verdicts.knows(name)):
            verdicts.add_broken(name, "says nothing of this trial")

    def _meets_demand(self, name: str, *, verdict: bool | None, score: float | str | None) -> bool | None:
        """Whether the policy's demand is met: by the scorer's own verdict, or by its score if there is `at_least`."""
        demand = self._demands[name]
        if demand.at_least is None and verdict is not None:
            return verdict
        if isinstance(score, str) or score is None or not is_number(score):
            return None if verdict is None else demand.holds(float(verdict))
        return demand.holds(score)
