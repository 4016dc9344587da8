"""Sentences and table cells that the reports of a calibration share. Texts from files go through `encode`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from highbar.language.digits import amount, show
from highbar.language.phrases import count
from highbar.model import Value
from highbar.model.calibration import CalibratedMetric, CalibratedWord, Calibration, ReaderDisagreement
from highbar.model.judge_quality import JudgeRate
from highbar.report.visible import Encode, cut

RATES = ("", "labels", "sensitivity", "specificity")
RATES_EXPLAINED = (
    "Sensitivity: of what people pass, or observe, the share that the judge does. Specificity: the same of what they "
    "fail, or do not observe. A label stands for the trials like it that were not drawn, too."
)
AGREEMENT = ("", "agreement", "constant judge", "base rate", "kappa", "cannot tell")
AGREEMENT_EXPLAINED = (
    "Constant judge: one that always says what people say more often. Base rate: what people pass, or observe. Cannot "
    "tell: the judge, people."
)
_OF = {
    "same run": "of these results, by digests",
    "another run": "of another run, by digests",
    "mixed": "some of these results and some of another run, by digests",
    "these results, as you say": "taken for those of these results, because you say so",
}
_JUDGED = {"observed": "observed", "not_observed": "not observed", "cannot_tell": "cannot tell"}
_LONGEST = 300


def headline(calibration: Calibration, encode: Encode) -> str:
    """`JUDGE: judge-1: sensitivity 94.1% (85.0–98.2), specificity 80.0% (50.1–95.9) for whole trials`."""
    name = encode(cut(calibration.judge, _LONGEST))
    passes = calibration.passes
    if passes.sensitivity is None and passes.specificity is None:
        return f"JUDGE: {name}: these labels do not show how often it is right about trials"
    rates = f"sensitivity {rate(passes.sensitivity)}, specificity {rate(passes.specificity)}"
    return f"JUDGE: {name}: {rates} for whole trials"


def about_labels(calibration: Calibration, encode: Encode) -> str:
    """How many trials were labeled by how many people, of which results, and in which file."""
    who = "1 person" if len(calibration.people) == 1 else f"{len(calibration.people)} people"
    parts = [f"{count(calibration.trials, 'trial')} labeled by {who}", _OF[calibration.labels_of]]
    parts += [f"{calibration.incomplete} more without every answer"] if calibration.incomplete else []
    return f"{', '.join(parts)}: {encode(calibration.labels.file)}"


def rate(found: JudgeRate | None) -> str:
    """`94.1% (85.0–98.2)`; `not known` if it is None."""
    if found is None:
        return "not known"
    return show(Value(found.value, 0, 0, "ratio", "higher", low=found.low, high=found.high))


def share(found: float) -> str:
    """A share of 0 to 1 as a percentage: `94.1%`."""
    return amount(Fraction(f"{found:.12g}"), "ratio")


def rate_cells(word: CalibratedWord, encode: Encode) -> tuple[str, ...]:
    """A row of the table `RATES`: how often the judge is right."""
    return encode(cut(word.name, _LONGEST)), str(word.labels), rate(word.sensitivity), rate(word.specificity)


def agreement_cells(word: CalibratedWord, encode: Encode) -> tuple[str, ...]:
    """A row of the table `AGREEMENT`: how far the judge agrees with people, and how far a constant judge would."""
    name, unsure = encode(cut(word.name, _LONGEST)), f"{word.judge_cannot_tell}, {word.people_cannot_tell}"
    found = word.agreement
    if found is None:
        return name, "-", "-", "-", "-", unsure
    kappa = "-" if found.kappa is None else f"{found.kappa:.2f}"
    return name, share(found.share), share(found.constant), share(found.base_rate), kappa, unsure


def all_words(calibration: Calibration) -> Sequence[CalibratedWord]:
    """What the tables have a row for: whole trials, all statements, then each behavior if there are several."""
    several = calibration.behaviors if len(calibration.behaviors) > 1 else ()
    return calibration.passes, calibration.statements, *several


def metric_cells(metric: CalibratedMetric) -> tuple[str, str, str]:
    """A row for a metric: its name, its value as judged, and its value corrected to what people would say."""
    found = metric.corrected
    if found.value is None:
        return metric.name, show(metric.raw), f"not corrected: {found.reason}"
    value = Value(found.value, 0, 0, metric.raw.unit, metric.raw.better, low=found.low, high=found.high)
    return metric.name, show(metric.raw), f"{show(value)}, {found.method}"


def sides(one: ReaderDisagreement, encode: Encode) -> str:
    """`people: observed (ann, ben); judge: not observed`."""
    words = {True: "observed", False: "not observed", None: "cannot tell"}
    by: dict[bool | None, list[str]] = {}
    for name, observed in one.people:
        by.setdefault(observed, []).append(encode(cut(name, _LONGEST)))
    people = ", ".join(f"{words[observed]} ({', '.join(names)})" for observed, names in by.items())
    return f"people: {people}; judge: {_JUDGED[one.judgment]}"


def people_lines(calibration: Calibration, encode: Encode) -> list[str]:
    """Sentences on how far people agree with each other; empty if no statement was labeled by two people."""
    found = calibration.between_people
    if found is None:
        return []
    alpha = "not defined" if found.alpha is None else f"{found.alpha:.2f}"
    lines = [f"{count(found.statements, 'statement')} labeled by at least two; Krippendorff's alpha {alpha}"]
    for pair in found.pairs:
        first, second = encode(cut(pair.first, _LONGEST)), encode(cut(pair.second, _LONGEST))
        lines.append(f"{first} and {second}: the same in {share(pair.share)} of {count(pair.statements, 'statement')}")
    return lines
