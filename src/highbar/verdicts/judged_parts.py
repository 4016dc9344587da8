"""Rows that rest on a judge, part by part, and labelled trials as the judge and as people have them: all scored.

The engine scores them as it scores the results: what passes is decided in one place. Labelled trials are scored with
an id of their own each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from highbar import measure
from highbar import policy as policies
from highbar.changes.run import ScoredRun, run_of
from highbar.engine.opening import reduce
from highbar.load.judged_rows import RowPart, line
from highbar.load.results import results
from highbar.model import Policy, Where
from highbar.model.job import SILENT, Job, Wants
from highbar.model.judgments import LabelledTrial
from highbar.model.records import ScenarioRecord

COLUMNS = ("passed", "violated", "correct")
"""What a trial is or is not, and a judge can decide."""
_WANTS = Wants(run=True, subset=True)


class ScoredLabel(Struct, frozen=True):
    """One labelled trial, scored twice. By column: what the judge made of it, and what people did; 0 or 1.

    A column that either leaves open is not there.
    """

    trial: LabelledTrial
    values: Mapping[str, tuple[int, int]]
    columns: Mapping[str, str]
    is_error: bool

    def is_selected(self, where: Where) -> bool:
        """Whether the scenario is among those that count."""
        return all(self.columns.get(column) in values for column, values in where)


def score_parts(policy: Policy, parts: Mapping[RowPart, Path]) -> dict[RowPart, ScoredRun]:
    """Each part of the rows, scenario by scenario."""
    scoring = _scoring(policy)
    return {part: _scored(scoring, path) for part, path in parts.items()}


def score_labels(policy: Policy, trials: Sequence[LabelledTrial], folder: Path, file: str) -> tuple[ScoredLabel, ...]:
    """Labelled trials as the judge and as people have them. `file` is what messages call their file."""
    if not trials:
        return ()
    ids = [f"label {number}" for number in range(len(trials))]
    fixed = policy.suite.scenarios if policy.suite else {}
    described = {id_: fixed[one.id] for id_, one in zip(ids, trials, strict=True) if one.id in fixed}
    suite = replace(policy.suite, scenarios=described) if policy.suite and described else None
    scoring = replace(_scoring(policy), suite=suite, select=())
    judged, labelled = (
        _by_id(_written(scoring, zip(ids, rows, strict=True), folder / name, file))
        for name, rows in (
            ("judged.jsonl", [one.as_judged for one in trials]),
            ("labelled.jsonl", [one.as_labelled for one in trials]),
        )
    )
    return tuple(_label(one, judged[id_], labelled[id_]) for id_, one in zip(ids, trials, strict=True))


def _scoring(policy: Policy) -> Policy:
    """The policy as it scores a part of rows of ours."""
    return replace(policies.without_rules(policy), mapping=None, judged_by={})


def _written(policy: Policy, rows: Iterable[tuple[str, Mapping[str, Any]]], path: Path, file: str) -> ScoredRun:
    alone = ({name: value for name, value in row.items() if name != "trial"} | {"id": id_} for id_, row in rows)
    path.write_bytes(b"".join(line(row) for row in alone))
    return _scored(policy, path, file)


def _scored(policy: Policy, path: Path, file: str | None = None) -> ScoredRun:
    job = Job((str(path),), wants=_WANTS, names={str(path): file} if file else {}, input_format="jsonl")
    with results(job, policy, SILENT) as found:
        sums = reduce(found, lambda columns: measure.needs(policy, columns, _WANTS))
        return run_of(policy, sums, found)


def _by_id(run: ScoredRun) -> dict[str, tuple[ScenarioRecord, ScenarioRecord]]:
    """Each scenario with undecided trials at their worst and at their best."""
    return {worst.id: (worst, best) for worst, best in zip(run.records, run.best or run.records, strict=True)}


def _label(
    trial: LabelledTrial,
    judged: tuple[ScenarioRecord, ScenarioRecord],
    labelled: tuple[ScenarioRecord, ScenarioRecord],
) -> ScoredLabel:
    values = {}
    for column in COLUMNS:
        by_judge, by_people = _decided(judged, column), _decided(labelled, column)
        if by_judge is not None and by_people is not None:
            values[column] = by_judge, by_people
    return ScoredLabel(trial, values, judged[0].columns, is_error=bool(judged[0].values.get("error")))


def _decided(ends: tuple[ScenarioRecord, ScenarioRecord], column: str) -> int | None:
    """Whether one trial has it; None if that is not known, or if nobody looked."""
    found = {trial_value(record, column) for record in ends}
    value = found.pop() if len(found) == 1 else None
    return None if value is None else int(value)


def trial_value(record: ScenarioRecord, column: str) -> Fraction | None:
    """The share of a scenario's trials that have it; None if nobody looked."""
    if column == "passed":
        return Fraction(record.passed, record.trials)
    return record.values.get(column, Fraction(0) if column == "violated" else None)
