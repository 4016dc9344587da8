"""Results that a judge has judged, and people's labels → how good the judge is, and how its errors affect metrics.

binding            which trials labels are about, if they do not say it
judge_and_people   how the judge compares with people; `people`: how people compare with each other
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from highbar import pipeline
from highbar import policy as policies
from highbar.calibration.binding import BoundLabels, bind
from highbar.calibration.judge_and_people import DRAWN, LabeledWords
from highbar.calibration.people import between_people, disagreements
from highbar.errors import InputError, Problem
from highbar.labeling.drawing import RunToLabel, judged_run
from highbar.labeling.rows import rows_to_label
from highbar.language.phrases import count, some_and_more
from highbar.load import files
from highbar.model import Policy, ResultsFile, Source, Verdict
from highbar.model.calibration import CalibratedMetric, Calibration, LabelsOf
from highbar.model.job import Job, Wants
from highbar.model.judgments import LabeledTrial
from highbar.model.rules import JudgePolicy
from highbar.store.label_form import GIVEN
from highbar.store.labels import read_labels
from highbar.verdicts.judged_parts import ScoredLabel, score_labels

FEW = 100
"""With fewer labeled trials than this the bounds are wide."""
_MAKE = "highbar judge label RESULTS makes labels"


class CalibrationJob(Struct, frozen=True):
    """The results with the judge to calibrate, the labels to do it with, and settings."""

    results: tuple[str, ...]
    labels: str
    policy: str | None = None
    confidence: Fraction | None = None
    input_format: str | None = None


def calibrate(job: CalibrationJob) -> tuple[Calibration, str]:
    """Measure how good a judge is, and the text of a file of the labels that this used.

    Raises InputError if a file cannot be read, or if no label is about these trials.
    """
    policy = policies.choose(job.policy)
    if job.confidence is not None:
        policy = replace(policy, confidence=job.confidence)
    with ExitStack() as stack:
        found = files.find_files(job.results, stack=stack, input_format=job.input_format, subset=True)
        run, judge = judged_run(found), _judge(found)
        bound = bind(read_labels(job.labels), found)
        usable, others = _trials_of_judge(bound.labels.trials, judge)
        if not any(trial.is_complete for trial in usable):
            raise _no_usable_label(job.labels, bound, others)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="highbar-")))
        scored = score_labels(policy, [trial for trial in usable if trial.is_complete], folder, job.labels)
        verdict = _verdict(job, policy, bound, folder)
    made = _CalibrationInputs(job, policy, run, bound, usable, scored, verdict)
    return made.calibration(judge, others), bound.text


def _judge(found: Sequence[ResultsFile]) -> str | None:
    """The judge of the results, as their rows name it; `judged_run` has made sure that there is only one."""
    return next(iter(rows_to_label(found))).judge


def _trials_of_judge(
    trials: Sequence[LabeledTrial], judge: str | None
) -> tuple[tuple[LabeledTrial, ...], tuple[str, ...]]:
    """The labeled trials of this judge, and a note about trials of other judges, which do not count."""
    mine = tuple(trial for trial in trials if trial.sample.judge == judge)
    others = dict.fromkeys(str(trial.sample.judge) for trial in trials if trial.sample.judge != judge)
    lost = len(trials) - len(mine)
    return mine, (f"{count(lost, 'trial')} of another judge: {some_and_more(list(others))}",) if lost else ()


def _no_usable_label(file: str, bound: BoundLabels, others: Sequence[str]) -> InputError:
    problems = [Problem("label.none", text, file) for text in (*bound.unused, *others)][:20]
    whole = Problem(
        "label.none",
        "no label is about a judged trial of these results with an answer to every statement",
        file,
        hint=_MAKE,
    )
    return InputError(whole, *problems)


def _verdict(job: CalibrationJob, policy: Policy, bound: BoundLabels, folder: Path) -> Verdict:
    """The verdict of a check that corrects its metrics by these labels. It has no rules; only the metrics matter."""
    path = folder / "labels.jsonl"
    path.write_text(bound.text, "ascii")
    corrected = replace(policies.without_rules(policy), judge=JudgePolicy(str(path), correct=True), advisory=True)
    wants = Wants(subset=True)
    return pipeline.check(Job(job.results, policy=corrected, input_format=job.input_format, wants=wants))


class _CalibrationInputs(Struct, frozen=True):
    """Everything that a calibration is computed from."""

    job: CalibrationJob
    policy: Policy
    run: RunToLabel
    bound: BoundLabels
    usable: tuple[LabeledTrial, ...]
    scored: tuple[ScoredLabel, ...]
    verdict: Verdict

    def calibration(self, judge: str | None, others: Sequence[str]) -> Calibration:
        """Compute the calibration. `others` are notes about labels that do not count."""
        strata = self._strata()
        words = LabeledWords(self.usable, strata, float(1 - self.policy.confidence))
        labeled = {(trial.id, trial.trial, trial.sample.run) for trial in self.usable}
        labels = [
            label
            for label in self.bound.labels.lines
            if label.sample is not None and (label.id, label.trial, label.sample.run) in labeled
        ]
        complete = sum(trial.is_complete for trial in self.usable)
        return Calibration(
            judge=judge or "a judge without a name",
            results=self.verdict.results,
            labels=Source(self.job.labels, sha256(Path(self.job.labels).read_bytes()).hexdigest()),
            labels_of=self._labels_of(),
            confidence=float(self.policy.confidence),
            trials=complete,
            incomplete=len(self.usable) - complete,
            people=tuple(dict.fromkeys(label.by for label in labels)),
            passes=words.passes(self.scored, strata),
            statements=words.statements(),
            behaviors=words.behaviors(),
            between_people=between_people(labels),
            metrics=tuple(self._metrics()),
            disagreements=tuple(disagreements(self.usable, labels)),
            unused=(*self.bound.unused, *others),
            warnings=tuple(self._warnings(complete)),
        )

    def _labels_of(self) -> LabelsOf:
        if all(trial.sample.stratum == GIVEN for trial in self.usable):
            return "these results, as you say"
        report = self.verdict.judge
        return (report and report.labels and report.labels.source) or "another run"

    def _strata(self) -> frozenset[str]:
        """The strata that must have labels: if the labels are of this run, those that have trials; otherwise both."""
        here = all(trial.sample.run == self.run.digest for trial in self.usable)
        return frozenset(name for name, keys in self.run.strata.items() if keys) if here else DRAWN

    def _metrics(self) -> Iterator[CalibratedMetric]:
        for name, value in self.verdict.metrics.items():
            if value.corrected is not None:
                yield CalibratedMetric(name, value, value.corrected)

    def _warnings(self, complete: int) -> Iterator[str]:
        if self.bound.taken:
            yield (
                f"{count(self.bound.taken, 'label')} do not say which conversation they are about: taken for those of "
                "these results, as a simple random sample. A policy does not count them; --bind NEW.jsonl makes it"
            )
        if complete < FEW:
            yield f"{count(complete, 'labeled trial')}: with {FEW} or more, the bounds are narrower"
