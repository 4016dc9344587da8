"""Which results were decided by a judge, how good it is by people's labels, and the corrections for its errors.

Only labels that name their conversation count, and only those of the same judge. They are labels of this run if each
of them is of a trial in these rows: the same conversation, and the same question to the same judge.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from highbar import measure
from highbar.gate.evidence import JudgeKnown
from highbar.language.phrases import count, some
from highbar.load.judged_rows import JudgedRows, Stratum, judged_rows
from highbar.load.results import Results
from highbar.model import Policy, ResultsFile, Verdict
from highbar.model.judge_quality import (
    JudgeReport,
    LabelSource,
    LabelsUsed,
)
from highbar.model.judgments import LabeledTrial
from highbar.model.reduction import Reduction
from highbar.store.labels import Labels, read_labels
from highbar.store.run_document import DOCUMENT, JudgeOfRun, read_document
from highbar.verdicts.corrections import Corrections
from highbar.verdicts.judged_parts import ScoredLabel, score_labels, score_parts
from highbar.verdicts.judged_units import ScoredParts
from highbar.verdicts.label_rates import judge_rate, rates_of

JUDGE_COLUMNS = frozenset({"judge", "judged"})
"""The columns of rows that a judge decided."""
_UNREADABLE = "the rows are in a table or in Spark, out of reach; check the file itself without --engine spark"
_PARTS = "parts.jsonl"
_BIND = "highbar judge calibrate RESULTS --labels FILE --bind NEW.jsonl makes them say so"


def judge_evidence(
    policy: Policy, results: Results, sums: Reduction, whole: measure.Measured
) -> tuple[JudgeKnown, Corrections | None]:
    """What the rows and the labels say about the judge. Raises InputError if the labels, or a `judged`, are invalid."""
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
        usable, why = _usable(rows, labels)
        scored = score_labels(policy, usable, folder, labels.file) if labels is not None else ()
        report = _report(policy, results, rows, labels, scored, why)
        corrections = _corrections(policy, rows, scored, report, whole, folder) if corrects else None
    return JudgeKnown(report), corrections


def _usable(rows: JudgedRows, labels: Labels | None) -> tuple[tuple[LabeledTrial, ...], str | None]:
    """The labeled trials of the judge of these rows; if there are none, also why."""
    if labels is None:
        return (), "the policy names no labels; highbar judge label RESULTS makes some"
    if rows.elsewhere:
        return (), f"{count(rows.elsewhere, 'trial')} name a judge, but not what it said (no column `judged`)"
    if len(rows.by) != 1:
        found = f"the trials rest on {len(rows.by)} judges ({some(list(rows.by))})" if rows.by else "no row names it"
        return (), f"{found}; labels are of one"
    (judge,) = rows.by
    known = _each_once(trial for trial in labels.complete if trial.sample.judge == judge)
    other = [trial.id for trial in known if not rows.agrees(trial)]
    if other:
        return (), f"{labels.file} says that the judge said something else than these rows do, of {some(other)}"
    if any(trial.is_answered for trial in known):
        return known, None
    if labels.complete and not known:
        others = dict.fromkeys(str(trial.sample.judge) for trial in labels.complete)
        return (), f"{labels.file} has labels of another judge: {some(list(others))}"
    if labels.unbound and not labels.trials:
        return (), f"the labels in {labels.file} do not say which conversation they are about; {_BIND}"
    return (), f"{labels.file} has no trial of which every statement has an answer"


def _each_once(trials: Iterable[LabeledTrial]) -> tuple[LabeledTrial, ...]:
    """The trials without those that were drawn again: the same conversation counts as one measurement."""
    found: dict[tuple[str, int, str], LabeledTrial] = {}
    for trial in trials:
        found.setdefault((trial.id, trial.trial, trial.sample.judged.conversation), trial)
    return tuple(found.values())


def _report(
    policy: Policy,
    results: Results,
    rows: JudgedRows,
    labels: Labels | None,
    scored: Sequence[ScoredLabel],
    why: str | None,
) -> JudgeReport:
    used = None
    if labels is not None:
        trials = [one.trial for one in scored]
        keys = {(trial.id, trial.trial) for trial in trials}
        people = {label.by for label in labels.lines if (label.id, label.trial) in keys}
        answered = sum(trial.is_answered for trial in trials)
        used = LabelsUsed(labels.file, answered, len(people), _source(rows, trials) if trials else None)
    report = JudgeReport(
        by=tuple(rows.by),
        trials=rows.trials,
        statements=rows.statements,
        undecided=rows.undecided,
        replayed=rows.replayed,
        elsewhere=rows.elsewhere,
        calibrated=bool(scored),
        why=why,
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


def _source(rows: JudgedRows, trials: Sequence[LabeledTrial]) -> LabelSource:
    """Whether the labels are of this run, of another, or mixed; by digests, never assumed."""
    sizes = rows.sizes
    here = [_is_here(rows, sizes, trial) for trial in trials]
    if not any(here):
        return "another run"
    return "same run" if all(here) else "mixed"


def _is_here(rows: JudgedRows, sizes: Mapping[Stratum, int], trial: LabeledTrial) -> bool:
    """Whether a labeled trial was drawn at random from these rows."""
    place = rows.places.get((trial.id, trial.trial))
    judged, sample = trial.sample.judged, trial.sample
    if place is None or (place.conversation, place.digest) != (judged.conversation, judged.digest):
        return False
    return sample.drawn > 0 and (sample.stratum, sample.of) == (place.stratum, sizes[place.stratum])


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
    here = report.labels.source == "same run"
    strata = {key: place.part for key, place in rows.places.items()} if here else {}
    parts = ScoredParts(policy.weights, score_parts(policy, folder / _PARTS), tuple(scored), strata)
    return Corrections(policy, whole, parts, "post-stratified" if here else "rogan-gladen")


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
    """Warnings: the judge is the model under test, or it failed its canaries."""
    if report is not None and report.same_model:
        yield "the judge is the model under test: models favor answers of their own"
    if report is not None and report.canaries is not None and report.canaries.failed:
        wrong = f"{report.canaries.wrong} of {count(report.canaries.statements, 'statement')} of its canaries wrong"
        yield f"the judge is not believed: it has {wrong}"
