"""Who judges in an Inspect AI log, and what the values of its scorers mean.

Whether a scorer judges does not depend on its values: it does if the task declares the metric `accuracy` for it, or if
the policy's `judged_by` names it. Each value of a score with several values is a scorer of its own, `scorer.value`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from highbar.importers.naming import score_columns
from highbar.importers.record import Record, as_object, is_number, refuse
from highbar.importers.report import Report
from highbar.model.judging import ScorerDemand

_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_JUDGING_METRIC = "accuracy"
ONLY_SCORE = "score"
"""Our name for the only score of an old log, which does not name it."""

Metrics = dict[str, set[str]]
"""The declared metrics by scorer; `scorer.*` means every value of a score."""


def declared_metrics(spec: Record, results: Record | None) -> Metrics:
    """The metrics that the header declares for each scorer, and those in the results of the log."""
    found: Metrics = {}
    names: list[str] = []
    for scorer in spec.records("scorers"):
        name = _unique_name(scorer.text("name") or "", names)
        names.append(name)
        found.setdefault(name, set())
        for part, metrics in _groups(scorer.value("metrics")):
            found.setdefault(f"{name}.{part}" if part else name, set()).update(metrics)
    for score in results.records("scores") if results else []:
        name, scorer_name = score.text("name") or "", score.text("scorer")
        full = name if scorer_name in (None, name) else f"{scorer_name}.{name}"
        computed = score.part("metrics")
        found.setdefault(full, set()).update(_measured(name, as_object(computed.value(name))) for name in computed)
    if results and "scorer" in results:  # as it was written in 2024
        found.setdefault(ONLY_SCORE, set()).update(_metric_name(metric) for metric in results.record("metrics") or ())
    whole = {name for name in found if not found[name] and any(other.startswith(f"{name}.") for other in found)}
    return {name: metrics for name, metrics in found.items() if name not in whole}


def silent_scorers(spec: Record, results: Record, seen: Collection[str]) -> list[str]:
    """The declared scorers without a score and without a result, while others scored: the run had `--no-score`."""
    if not seen or "scores" not in results:
        return []
    scored = {score.text(key) for score in results.records("scores") for key in ("name", "scorer")}
    names: list[str] = []
    for scorer in spec.records("scorers"):
        names.append(_unique_name(scorer.text("name") or "", names))
    return [name for name in names if name not in scored and not any(_is_of(one, name) for one in seen)]


def _is_of(name: str, scorer: str) -> bool:
    """Whether this is the scorer, or one of the values that it gives."""
    return name == scorer or name.startswith(f"{scorer}.")


def _unique_name(name: str, used: Collection[str]) -> str:
    """The name of a scorer: Inspect AI calls a second `match` `match1`."""
    names = (f"{name}{count or ''}" for count in range(len(used) + 1))
    return next(one for one in names if one not in used)


def _groups(metrics: object) -> Iterator[tuple[str, list[str]]]:
    """The metrics of the whole score, with an empty name, and those of its values."""
    for group in metrics if isinstance(metrics, list) else [metrics]:
        if isinstance(group, dict) and "name" not in group:
            for part, listed in group.items():
                named = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
                yield part, [_measured(str(one.get("name")), one) for one in named]
        elif isinstance(group, dict):
            yield "", [_measured(str(group["name"]), group)]


def _measured(name: str, metric: dict[str, Any]) -> str:
    """The metric that is computed: `grouped(accuracy())` is a `grouped` with the metric accuracy for each group.

    >>> _measured("inspect_ai/grouped", {"options": {"metric": {"name": "accuracy"}, "group_key": "kind"}})
    'accuracy'
    """
    inner = (as_object(as_object(metric.get(key)).get("metric")).get("name") for key in ("options", "params"))
    return _metric_name(next((one for one in inner if isinstance(one, str)), name))


def _metric_name(metric: str) -> str:
    """`inspect_ai/accuracy` → `accuracy`."""
    return metric.rpartition("/")[2]


def score_number(value: object) -> float | None:
    """A value as a number, as Inspect's own metrics read it; None if it is not a number."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        if value in _GRADES or value.lower() in _WORDS:
            return _GRADES.get(value, _WORDS.get(value.lower()))
        try:
            value = float(value) if value.isascii() else None
        except ValueError:
            return None
    return float(value) if isinstance(value, int | float) and is_number(value) else None


class Judges(NamedTuple):
    """The scorers that judge, each with the policy's demand, if the policy names it."""

    demands: Mapping[str, ScorerDemand | None]
    columns: Mapping[str, str]  # by scorer; without scorers that would share a column

    def quality(self, scores: Mapping[str, float | None]) -> float | None:
        """The score of the only judge; None if there are several."""
        return scores.get(next(iter(self.demands))) if len(self.demands) == 1 else None


def settle_judges(metrics: Metrics, seen: Collection[str], silent: Collection[str], report: Report) -> Judges:
    """Decide who judges, and note every scorer in the report. Refuses a log without a judge.

    The `silent` scorers never scored, and judge only if the policy names them.
    """
    known = [*(name for name in metrics if not _is_pattern(name, metrics)), *(n for n in seen if n not in metrics)]
    heard = {name: listed for name, listed in metrics.items() if not any(_is_of(name, one) for one in silent)}
    demands = _policy_judges(known, report) if report.judged_by else _declared_judges(heard, known)
    exact = list(dict.fromkeys([*known, *demands]))
    for name in exact:
        is_heard = name in heard or name not in metrics
        why = _why_not(name, metrics, policy=bool(report.judged_by)) if is_heard else "it never scored"
        report.add_scorer(name, judges=name in demands, why_not=why)
    report.judges = tuple(demands)
    if not demands and not report.answers_only:
        names = [name for name in exact if name in heard or name not in metrics]
        refuse("judge.undeclared", _no_judge_message(names, metrics), hint=_hint(names))
    columns, _ = score_columns({name: name for name in exact})
    return Judges(demands, columns)


def _policy_judges(known: Collection[str], report: Report) -> dict[str, ScorerDemand | None]:
    """The scorers that the policy names. Refuses a log without one of them."""
    missing = [demand.scorer for demand in report.judged_by if demand.scorer not in known]
    if missing:
        there = f"there are {', '.join(known)}" if known else "it has none"
        refuse(
            "judge.unknown-scorer",
            f"the policy's judged_by names the scorer {missing[0]!r}, which this log does not have; {there}",
        )
    return {demand.scorer: demand for demand in report.judged_by}


def _declared_judges(metrics: Metrics, known: Collection[str]) -> dict[str, ScorerDemand | None]:
    """The scorers with a declared accuracy.

    A pattern that matches no value stays a judge without scores, so that the samples are undecided, not passed.
    """
    declared = [name for name, listed in metrics.items() if _JUDGING_METRIC in listed]
    found: dict[str, ScorerDemand | None] = {}
    for name in declared:
        fitting = [one for one in known if _is_value_of(one, name)] if _is_pattern(name, metrics) else []
        found |= dict.fromkeys(fitting or [name])
    return found


def _is_pattern(name: str, metrics: Metrics) -> bool:
    return name in metrics and "." in name and any(sign in name for sign in "*?[")


def _is_value_of(name: str, pattern: str) -> bool:
    """Whether this is a value of the pattern's scorer and matches the pattern."""
    scorer, _, part = pattern.partition(".")
    return name != pattern and name.startswith(f"{scorer}.") and fnmatchcase(name[len(scorer) + 1 :], part)


def _why_not(name: str, metrics: Metrics, *, policy: bool) -> str:
    if policy:
        return "judged_by names others"
    listed = sorted(metrics.get(name, set()))
    return f"declared for it: {', '.join(listed)}; not accuracy" if listed else "no metric is declared for it"


def _no_judge_message(names: Collection[str], metrics: Metrics) -> str:
    """The message that no scorer judges, with the names of the scorers."""
    if not names:
        return "nobody judges these samples: the log has no scorer"
    listed = [f"{name} ({', '.join(sorted(metrics.get(name, set()))) or 'no metric'})" for name in names]
    return f"nobody judges these samples: no scorer declares accuracy; there are {', '.join(listed)}"


def _hint(names: Collection[str]) -> str:
    if not names:
        return "`inspect score` adds the scores of a scorer to a log"
    return (
        f"name the judge in the policy: judged_by: {{ inspect: [ {{ scorer: {next(iter(names))}, at_least: 1.0 }} ] }}"
    )
