"""Scores the judged rows by part, and each labeled trial twice: with the judge's answers and with people's.

The engine scores them like the results, so that what passes is decided in one place. Each labeled trial gets an id of
its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from highbar import catalogue, measure
from highbar import policy as policies
from highbar.changes.scored_run import ScoredRun, run_of
from highbar.engine.opening import reduce
from highbar.language import formula
from highbar.load.judged_rows import PARTS, RowPart, line, named_part, part_named
from highbar.load.results import open_results
from highbar.model import Policy
from highbar.model.job import SILENT, Job, Wants
from highbar.model.judgments import LabeledTrial
from highbar.model.records import ScenarioRecord

SCORE = "behavior_score"
"""The column of a trial that a judge can decide and that is not yes or no, but a share."""
JUDGED_COLUMNS = ("passed", "violated", "correct", SCORE)
"""The columns of a trial that a judge can decide."""
_WANTS = Wants(run=True, subset=True)
_LEAST = "pass_rate"
"""The metric that is always measured, because a policy must have one."""


class ScoredPart(Struct, frozen=True):
    """The trials of one scenario in one part of the rows, with undecided ones at their worst and at their best."""

    part: RowPart
    worst: ScenarioRecord
    best: ScenarioRecord


class ScoredLabel(Struct, frozen=True):
    """One labeled trial, scored twice: for each column, the result by the judge and by people, from 0 to 1.

    A column that is undecided on either side is left out.
    """

    trial: LabeledTrial
    values: Mapping[str, tuple[Fraction, Fraction]]
    columns: Mapping[str, str]
    is_error: bool


def score_parts(policy: Policy, path: Path) -> tuple[ScoredPart, ...]:
    """The scored rows of a file that was written by part, for each scenario and part."""
    fixed = policy.suite.scenarios if policy.suite else {}
    described = {named_part(part, id_): columns for part in PARTS for id_, columns in fixed.items()}
    found = []
    for worst, best in _ends(_score(_scoring(policy, described), path)):
        part, id_ = part_named(worst.id)
        found.append(ScoredPart(part, replace(worst, id=id_), replace(best, id=id_)))
    return tuple(found)


def score_labels(policy: Policy, trials: Sequence[LabeledTrial], folder: Path, file: str) -> tuple[ScoredLabel, ...]:
    """Labeled trials, scored by the judge's answers and by people's. `file` is the name of their file in messages."""
    if not trials:
        return ()
    rows: dict[str, Mapping[str, Any]] = {}
    described = {}
    for number, trial in enumerate(trials):
        for side, row in (("judge", trial.as_judged), ("people", trial.as_labeled)):
            rows[f"{side} {number}"] = row
            if policy.suite and trial.id in policy.suite.scenarios:
                described[f"{side} {number}"] = policy.suite.scenarios[trial.id]
    path = folder / "labels.jsonl"
    path.write_bytes(b"".join(line(_row_with_id(row, id_)) for id_, row in rows.items()))
    scored = {ends[0].id: ends for ends in _ends(_score(_scoring(policy, described), path, file))}
    return tuple(_score_label(one, scored[f"judge {n}"], scored[f"people {n}"]) for n, one in enumerate(trials))


def _row_with_id(row: Mapping[str, Any], id_: str) -> dict[str, Any]:
    """The row as one of a suite of labels: it is no longer a trial, and no row of the run that wrote it."""
    return {**{name: value for name, value in row.items() if name not in ("trial", "highbar_run")}, "id": id_}


def _scoring(policy: Policy, described: Mapping[str, Mapping[str, str]]) -> Policy:
    """The policy for scoring rows under other ids; `described` has the suite's columns for those ids.

    It selects no rows: they were selected before, under the ids of their scenarios.
    """
    builtin = catalogue.metrics()
    scored = policies.without_rules(policy)
    # Only the policy's own metrics, which can make a column a judgment, and what they are computed from. Sums for the
    # others would not be used.
    names = [name for name, one in policy.metrics.items() if one is not builtin.get(name) or name == _LEAST]
    for name in names:
        inside = formula.names(policy.metrics[name].expression) & policy.metrics.keys()
        names += sorted(inside.difference(names))
    metrics = {name: policy.metrics[name] for name in names}
    suite = replace(policy.suite, scenarios=described) if policy.suite else None
    metrics = metrics or {_LEAST: builtin[_LEAST]}
    return replace(scored, metrics=metrics, suite=suite, select=(), mapping=None, judged_by={})


def _score(policy: Policy, path: Path, file: str | None = None) -> ScoredRun:
    job = Job((str(path),), wants=_WANTS, names={str(path): file} if file else {}, input_format="jsonl")
    with open_results(job, policy, SILENT) as found:
        sums = reduce(found, lambda columns: measure.needs(policy, columns, _WANTS))
        return run_of(policy, sums, found)


def _ends(run: ScoredRun) -> Iterator[tuple[ScenarioRecord, ScenarioRecord]]:
    """Each scenario with undecided trials at their worst and at their best."""
    return zip(run.records, run.best or run.records, strict=True)


def _score_label(
    trial: LabeledTrial,
    judged: tuple[ScenarioRecord, ScenarioRecord],
    labeled: tuple[ScenarioRecord, ScenarioRecord],
) -> ScoredLabel:
    values = {}
    for column in JUDGED_COLUMNS:
        by_judge, by_people = _decided_value(judged, column), _decided_value(labeled, column)
        if by_judge is not None and by_people is not None:
            values[column] = by_judge, by_people
    return ScoredLabel(trial, values, judged[0].columns, is_error=bool(judged[0].values.get("error")))


def _decided_value(ends: tuple[ScenarioRecord, ScenarioRecord], column: str) -> Fraction | None:
    """The column of a single trial, from 0 to 1; None if it is undecided or was not checked."""
    found = {trial_value(record, column) for record in ends}
    return found.pop() if len(found) == 1 else None


def trial_value(record: ScenarioRecord, column: str) -> Fraction | None:
    """The share of a scenario's trials for which the column is true, or its mean; None if it was not checked."""
    if column == "passed":
        return Fraction(record.passed, record.trials)
    return record.values.get(column, Fraction(0) if column == "violated" else None)
