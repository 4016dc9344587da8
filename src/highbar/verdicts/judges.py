"""Which results were decided by a judge, how good it is by people's labels, and the corrections for its errors.

`label_sources` says which labels count; with labels of another run, those of this run must agree.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

from msgspec.structs import replace

from highbar import measure
from highbar.gate.evidence import JudgeKnown
from highbar.language.phrases import count
from highbar.load.judged_rows import JudgedRows, judged_rows
from highbar.load.results import Results
from highbar.model import Policy, ResultsFile, Verdict
from highbar.model.judge_quality import JudgeReport, LabelsUsed
from highbar.model.reduction import Reduction
from highbar.store.labels import Labels, read_labels
from highbar.store.run_document import DOCUMENT, JudgeOfRun, read_document
from highbar.verdicts.corrections import Corrections
from highbar.verdicts.judged_parts import ScoredLabel, score_labels, score_parts
from highbar.verdicts.judged_units import ScoredParts
from highbar.verdicts.label_rates import judge_rate, rates_of
from highbar.verdicts.label_sources import MOST_DAYS, UsableLabels, labels_of_this_run, source_of, usable_labels

JUDGE_COLUMNS = frozenset({"judge", "judged"})
"""The columns of rows that a judge decided."""
_UNREADABLE = "the rows are in a table or in Spark, out of reach; check the file itself without --engine spark"
_PARTS = "parts.jsonl"


def judge_evidence(
    policy: Policy, results: Results, sums: Reduction, whole: measure.Measured, today: date
) -> tuple[JudgeKnown, Corrections | None]:
    """What the rows and the labels say about the judge; labels may have expired by `today`.

    Raises InputError if the labels, or a `judged`, are invalid.
    """
    path = None if policy.judge is None else policy.judge.labels
    labels = None if path is None else read_labels(path)
    if not JUDGE_COLUMNS & {*sums.columns}:
        return JudgeKnown(), None
    corrects = policy.judge is not None and policy.judge.correct
    if not results.files:
        unread = Corrections(policy, problem=_UNREADABLE) if corrects else None
        return JudgeKnown(problem=_UNREADABLE), unread
    with tempfile.TemporaryDirectory(prefix="highbar-") as name:
        folder = Path(name)
        # Without a block `judge`, a column `judged` that cannot be read may be the user's own.
        strict = policy.judge is not None
        rows = judged_rows(results.files, policy.select, strict=strict, parts=folder / _PARTS if corrects else None)
        if not rows.trials:
            return JudgeKnown(), None
        usable = usable_labels(rows, labels, today)
        scored = score_labels(policy, usable.trials, folder, labels.file) if labels is not None else ()
        report = _report(policy, results, rows, labels, scored, usable)
        corrections = _corrections(policy, rows, scored, report, whole, folder) if corrects else None
    return JudgeKnown(report, of_behaviors=rows.of_behaviors > 0), corrections


def _report(
    policy: Policy,
    results: Results,
    rows: JudgedRows,
    labels: Labels | None,
    scored: Sequence[ScoredLabel],
    usable: UsableLabels,
) -> JudgeReport:
    used = None
    if labels is not None:
        trials = [one.trial for one in scored]
        keys = {(trial.id, trial.trial) for trial in trials}
        people = {label.by for label in labels.lines if (label.id, label.trial) in keys}
        answered = sum(trial.is_answered for trial in trials)
        source = source_of(rows, scored) if scored else None
        used = LabelsUsed(labels.file, answered, len(people), source, usable.expired)
    report = JudgeReport(
        by=tuple(rows.by),
        trials=rows.trials,
        statements=rows.statements,
        undecided=rows.undecided,
        replayed=rows.replayed,
        elsewhere=rows.elsewhere,
        calibrated=bool(scored),
        why=usable.why,
        labels=used,
        self_consistency=rows.consistency,
    )
    here = used is not None and used.source == "same run"
    strata = [name for name, size in rows.sizes.items() if size] if here else ("passed", "failed")
    rates = rates_of(scored, "passed", float(1 - policy.confidence), strata=strata)
    if rates is not None:
        report = replace(report, sensitivity=judge_rate(rates.sensitivity), specificity=judge_rate(rates.specificity))
    return _with_run(report, results)


def _with_run(report: JudgeReport, results: Results) -> JudgeReport:
    """The report with what the run folders record about their judges."""
    runs = [found for file in results.files if (found := _judge_of_run(file)) is not None]
    if not runs:
        return report
    canaries = [run.canaries for run in runs if run.canaries is not None]
    worst = max(canaries, key=lambda one: (one.failed, -one.p_value), default=None)
    return replace(report, same_model=any(run.same_model for run in runs), canaries=worst)


def _judge_of_run(file: ResultsFile) -> JudgeOfRun | None:
    """What a run folder records about its judge; None for other results."""
    folder = Path(file.original or file.path).parent
    return read_document(folder).judge if file.recorded is not None and (folder / DOCUMENT).is_file() else None


def _corrections(
    policy: Policy,
    rows: JudgedRows,
    scored: Sequence[ScoredLabel],
    report: JudgeReport,
    whole: measure.Measured,
    folder: Path,
) -> Corrections:
    if report.labels is None or not scored:
        return Corrections(policy, problem=f"the judge is not calibrated: {report.why}")
    strata = {key: place.part for key, place in rows.places.items()}
    own = labels_of_this_run(rows, scored)
    parts = ScoredParts(policy.weights, score_parts(policy, folder / _PARTS), own, strata)
    return Corrections(policy, whole, parts, tuple(scored))


def with_judge(found: Verdict, known: JudgeKnown, corrections: Corrections | None) -> Verdict:
    """The verdict with the judge, its notes, and the corrected shares beside the uncorrected ones."""
    notes = (*_judge_notes(known.report), *(() if corrections is None else corrections.notes()))
    found = replace(found, judge=known.report, warnings=(*found.warnings, *notes))
    if corrections is None:
        return found
    values = {
        name: value if value.value is None else replace(value, corrected=corrections.share(name))
        for name, value in found.metrics.items()
    }
    return replace(found, metrics=values)


def _judge_notes(report: JudgeReport | None) -> Iterator[str]:
    """Warnings: the judge is the model under test, it failed its canaries, or labels of it have expired."""
    if report is not None and report.labels is not None and report.labels.expired:
        trials = count(report.labels.expired, "labeled trial")
        yield (
            f"{trials} of another run {'does' if report.labels.expired == 1 else 'do'} not count: labels expire"
            f" {MOST_DAYS} days after their day (`on`), and at once if it is missing or in the future"
        )
    if report is not None and report.same_model:
        yield "the judge is the model under test: models favor answers of their own"
    if report is not None and report.canaries is not None and report.canaries.failed:
        wrong = f"{report.canaries.wrong} of {count(report.canaries.statements, 'statement')} of its canaries wrong"
        yield f"the judge is not believed: it has {wrong}"
