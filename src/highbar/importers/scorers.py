"""The scorers of a file of another tool → who of them judges: those that the tool declares, or that the policy lists.

Whether a scorer judges never depends on how it judged: an importer looks at all records before it makes the first row.
Files of some tools do not declare what type of value a scorer gives. There every scorer with a verdict judges, and a
trial on which it says something else is undecided, so that no odd value takes a judge away.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Collection

from highbar.importers.record import is_number, refuse, refuse_without_judge
from highbar.importers.report import Report
from highbar.importers.verdicts import Verdicts

_ELSEWHERE = "the policy's judged_by names others"


class Scorers:
    """Gathers the scorers of one file, settles who judges, and then hears them, trial by trial.

    >>> report = Report()
    >>> scorers = Scorers("mlflow", report)
    >>> scorers.declare("polite")
    >>> scorers.mention("length", "it gives scores")
    >>> scorers.settle()
    >>> report.judges, report.scorers["length"]
    (('polite',), 'a column, does not judge: it gives scores')
    """

    def __init__(self, tool: str, report: Report) -> None:
        self._tool = tool
        self._report = report
        self._demands = {demand.scorer: demand for demand in report.judged_by}
        self._declared: dict[str, None] = {}
        self._mentioned: dict[str, str] = {}
        self._judging: frozenset[str] = frozenset()
        self._verdicts: Counter[str] = Counter()  # of scorers without a declared type: how many verdicts they give
        self._others: Counter[str] = Counter()  # and how many other values
        self._of_scenario: defaultdict[str, set[str]] = defaultdict(set)

    def declare(self, name: str) -> None:
        """A scorer that gives verdicts, by the tool's own schema or a threshold in the file."""
        self._declared[name] = None

    def mention(self, name: str, reason: str) -> None:
        """A scorer that gives scores or labels; `reason` is why they are no verdicts."""
        self._mentioned.setdefault(name, reason)

    def hold(self, name: str) -> None:
        """A scorer that said nothing at all on some record: if it did so on all, it counts as a judge."""
        if name not in self._mentioned:
            self.declare(name)

    def weigh(self, name: str, reason: str | None) -> None:
        """One value of a scorer whose type the file does not declare: a verdict, or `reason` is why it is none."""
        if reason is None:
            self._verdicts[name] += 1
            self.declare(name)
        else:
            self._others[name] += 1
            self.mention(name, reason)

    def spoke(self, scenario: str, name: str) -> None:
        """This scorer said something about a trial of the scenario, so it owes that on all of its trials."""
        self._of_scenario[scenario].add(sys.intern(name))

    def settle(self) -> None:
        """Tell the report who judges and what becomes of the others. Raises InputError if nobody does."""
        names = dict.fromkeys((*self._declared, *self._mentioned))
        unknown = [name for name in self._demands if name not in names]
        if unknown:
            known = ", ".join(sorted(names)) or "none"
            refuse(f"the policy has this file judged by {', '.join(unknown)}; the scorers in it are: {known}")
        if not self._demands:
            self._settle_undeclared()
        judging = tuple(self._demands or self._declared)
        if not judging:
            refuse_without_judge(self._tool, names)
        self._judging = frozenset(judging)
        for name in names:
            why = _ELSEWHERE if self._demands else self._mentioned.get(name, "")
            self._report.scorers[name] = "judges" if name in self._judging else f"a column, does not judge: {why}"
        self._report.judges = judging

    def _settle_undeclared(self) -> None:
        """Say which scorers give values of two kinds. A single value does not show a kind: beside a judge it is one."""
        asked = f"say in the policy who judges: judged_by: {{ {self._tool.replace('-', '_')}: [ … ] }}"
        lone = [name for name, others in self._others.items() if others == 1 and name not in self._declared]
        for name in lone if self._declared else ():
            self.declare(name)
            told = f"the scorer {name!r} has a single value, which is no verdict, so that its record is undecided"
            self._report.warn(f"{told}; {asked}", urgent=True)
        for name, verdicts in self._verdicts.items():
            if others := self._others[name]:
                told = f"the scorer {name!r} gives a verdict on {verdicts} of {verdicts + others} records"
                rest = "something else on the others, which are undecided"
                self._report.warn(f"{told} and {rest}; {asked}", urgent=True)

    def judges(self, name: str) -> bool:
        """Whether this scorer judges."""
        return name in self._judging

    @property
    def by_policy(self) -> bool:
        """Whether the policy says who judges; what the tool itself makes of its scorers then counts for nothing."""
        return bool(self._demands)

    def hear(
        self,
        verdicts: Verdicts,
        name: str,
        *,
        verdict: bool | None,
        score: float | str | None = None,
        judge: str | None = None,
        silence: str = "gave no verdict",
    ) -> None:
        """What one scorer said of one trial; `silence` is what to say of a judge that gave no verdict."""
        if name not in self._judging:
            verdicts.add_score(name, score if score is not None or verdict is None else float(verdict))
            return
        held = self._held(name, verdict=verdict, score=score) if self._demands else verdict
        verdicts.add(name, verdict=held, score=score, judge=judge)
        if held is None:
            verdicts.add_broken(name, silence)

    def hear_broken(self, verdicts: Verdicts, name: str, reason: str) -> None:
        """A scorer that broke on one trial. If the policy does not say who judges, any scorer that breaks counts."""
        if name in self._judging or not self._demands:
            verdicts.add_broken(name, reason)

    def complete(self, verdicts: Verdicts, scenario: str, heard: Collection[str] = ()) -> None:
        """Note the judges who said nothing of this trial: the policy's, or those of other trials of the scenario."""
        owed = self._judging if self._demands else self._of_scenario.get(scenario, frozenset()) & self._judging
        for name in sorted(name for name in owed if name not in heard and not verdicts.knows(name)):
            verdicts.add_broken(name, "says nothing of this trial")

    def _held(self, name: str, *, verdict: bool | None, score: float | str | None) -> bool | None:
        """Whether the policy's demand holds: by the scorer's own verdict, or by its score if `at_least` is given."""
        demand = self._demands[name]
        if demand.at_least is None and verdict is not None:
            return verdict
        if isinstance(score, str) or score is None or not is_number(score):
            return None if verdict is None else demand.holds(float(verdict))
        return demand.holds(score)
