"""Who judges in an Inspect AI log, and what the values of its scorers mean.

A scorer judges if the task declares the metric `accuracy` for it, or if the policy's `judged_by` names it; the values
that it gave decide nothing about that. Of a score with several values each is a scorer of its own, `scorer.value`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from highbar.importers.naming import score_column
from highbar.importers.record import Record, refuse
from highbar.importers.report import Report
from highbar.model.judging import ScorerDemand

_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_DECLARES = "accuracy"
ALONE = "score"
"""What the only score of an old log is called, which has no name there."""

Metrics = dict[str, set[str]]
"""The names of the metrics that a task declares for each scorer; `scorer.*` stands for every value of a score."""


def declared_metrics(spec: Record, results: Record | None) -> Metrics:
    """The metrics that stand beside the scorers in the header, and those that the log computed of them."""
    found: Metrics = {}
    names: list[str] = []
    for scorer in spec.records("scorers"):
        name = _unique(scorer.text("name") or "", names)
        names.append(name)
        found.setdefault(name, set())
        for part, metrics in _groups(scorer.value("metrics")):
            found.setdefault(f"{name}.{part}" if part else name, set()).update(metrics)
    for score in results.records("scores") if results else []:
        name, scorer_name = score.text("name") or "", score.text("scorer")
        full = name if scorer_name in (None, name) else f"{scorer_name}.{name}"
        found.setdefault(full, set()).update(_bare(metric) for metric in score.record("metrics") or ())
    if results and "scorer" in results:  # as it was written in 2024
        found.setdefault(ALONE, set()).update(_bare(metric) for metric in results.record("metrics") or ())
    whole = {name for name in found if not found[name] and any(other.startswith(f"{name}.") for other in found)}
    return {name: metrics for name, metrics in found.items() if name not in whole}


def _unique(name: str, used: Collection[str]) -> str:
    """Inspect AI calls the second scorer of one name `match1`."""
    names = (f"{name}{count or ''}" for count in range(len(used) + 1))
    return next(one for one in names if one not in used)


def _groups(metrics: object) -> Iterator[tuple[str, list[str]]]:
    """The metrics of the score as a whole, under an empty name, and those of its values."""
    for group in metrics if isinstance(metrics, list) else [metrics]:
        if isinstance(group, dict) and "name" not in group:
            for part, listed in group.items():
                names = [one.get("name") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
                yield part, [_bare(str(name)) for name in names]
        elif isinstance(group, dict):
            yield "", [_bare(str(group["name"]))]


def _bare(metric: str) -> str:
    """`accuracy` of `inspect_ai/accuracy`."""
    return metric.rpartition("/")[2]


def number(value: object) -> float | None:
    """A value as Inspect's metrics read it; None if there is no number in it."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        if value in _GRADES or value.lower() in _WORDS:
            return _GRADES.get(value, _WORDS.get(value.lower()))
        try:
            value = float(value) if value.isascii() else None
        except ValueError:
            return None
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Judges:
    """The scorers that judge, each with what the policy demands of it, if that is why."""

    demands: Mapping[str, ScorerDemand | None]
    columns: Mapping[str, str]  # of each scorer; those that would share one have none

    def say(self, scores: Mapping[str, float | None]) -> tuple[bool | None, str | None]:
        """Whether a sample is correct; if that is not known, why. One that says no is enough to know."""
        said = {name: _holds(demand, scores.get(name)) for name, demand in self.demands.items()}
        if False in said.values():
            return False, None
        silent = [name for name, holds in said.items() if holds is None]
        return (None, f"judge: no score by {', '.join(silent)}") if silent else (True, None)

    def quality(self, scores: Mapping[str, float | None]) -> float | None:
        """The number of the only scorer that judges."""
        return scores.get(next(iter(self.demands))) if len(self.demands) == 1 else None


def _holds(demand: ScorerDemand | None, value: float | None) -> bool | None:
    """An accuracy knows 1 and what is less; what is more is on another scale, of which it is not known what is good."""
    if value is None or demand is None:
        return None if value is None else value == 1
    return demand.holds(value)


def judges(metrics: Metrics, seen: Collection[str], report: Report) -> Judges:
    """Who judges; the report is told what became of every scorer. A log in which nobody does is refused."""
    known = [*(name for name in metrics if not _is_pattern(name, metrics)), *(n for n in seen if n not in metrics)]
    demands = _demanded(known, report) if report.judged_by else _declared(metrics, known)
    exact = list(dict.fromkeys([*known, *demands]))
    for name in exact:
        why = _why_not(name, metrics, policy=bool(report.judged_by))
        report.scorers[name] = "judges" if name in demands else f"a column, does not judge: {why}"
    report.judges = tuple(demands)
    if not demands:
        refuse(_without(exact, metrics), hint=_hint(exact))
    columns = {name: score_column(name) for name in exact}
    shared = {column for column, number_of in Counter(columns.values()).items() if number_of > 1}
    return Judges(demands, {name: column for name, column in columns.items() if column not in shared})


def _demanded(known: Collection[str], report: Report) -> dict[str, ScorerDemand | None]:
    """The scorers that the policy names. One that the log does not know is refused."""
    missing = [demand.scorer for demand in report.judged_by if demand.scorer not in known]
    if missing:
        there = f"there are {', '.join(known)}" if known else "it has none"
        refuse(f"the policy's judged_by names the scorer {missing[0]!r}, which this log does not have; {there}")
    hardest = sorted(report.judged_by, key=lambda demand: demand.least)  # of two for one scorer both must hold
    return {demand.scorer: demand for demand in hardest}


def _declared(metrics: Metrics, known: Collection[str]) -> dict[str, ScorerDemand | None]:
    """The scorers with a declared accuracy. A pattern that fits no value that was seen judges too, and is never met."""
    meant = [name for name, listed in metrics.items() if _DECLARES in listed]
    found: dict[str, ScorerDemand | None] = {}
    for name in meant:
        fitting = [one for one in known if _fits(one, name)] if _is_pattern(name, metrics) else []
        found |= dict.fromkeys(fitting or [name])
    return found


def _is_pattern(name: str, metrics: Metrics) -> bool:
    return name in metrics and "." in name and any(sign in name for sign in "*?[")


def _fits(name: str, pattern: str) -> bool:
    """Whether this is a value of the scorer that the pattern is for, and fits it."""
    scorer, _, part = pattern.partition(".")
    return name != pattern and name.startswith(f"{scorer}.") and fnmatchcase(name[len(scorer) + 1 :], part)


def _why_not(name: str, metrics: Metrics, *, policy: bool) -> str:
    if policy:
        return "judged_by names others"
    listed = sorted(metrics.get(name, set()))
    return f"declared for it: {', '.join(listed)}; not accuracy" if listed else "no metric is declared for it"


def _without(names: Collection[str], metrics: Metrics) -> str:
    """That nobody judges, and who is there."""
    if not names:
        return "nobody judges these samples: the log has no scorer"
    listed = [f"{name} ({', '.join(sorted(metrics.get(name, set()))) or 'no metric'})" for name in names]
    return f"nobody judges these samples: no scorer declares accuracy; there are {', '.join(listed)}"


def _hint(names: Collection[str]) -> str:
    if not names:
        return "`inspect score` adds the scores of a scorer to a log"
    return f"say in the policy who does: judged_by: {{ inspect: [ {{ scorer: {next(iter(names))}, at_least: 1.0 }} ] }}"
