"""The judge of the results, in words: one line for every report, and all details for longer reports.

The name of the judge comes from files, so it goes through the `encode` of the calling report. Computes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from highbar.language.digits import show
from highbar.language.phrases import count
from highbar.model import Value
from highbar.report.visible import Encode, cut

if TYPE_CHECKING:  # few results use a judge
    from highbar.model.judge_quality import JudgeRate, JudgeReport

_MOST_NAMED = 3
"""Judges that the line names; it counts the others."""
_LONGEST_NAME = 100
"""Characters of a name on the line."""
_SOURCES = {"same run": "of this run", "another run": "of another run", "mixed": "some of them of another run"}


def one_line(report: JudgeReport, encode: Encode) -> str:
    """`judged by judge-1 #0123456789ab: 120 trials, 300 statements, 2 undecided; not calibrated`."""
    names = ", ".join(encode(cut(name, _LONGEST_NAME)) for name in report.by[:_MOST_NAMED]) or "a judge without a name"
    more = f" and {len(report.by) - _MOST_NAMED} more" if len(report.by) > _MOST_NAMED else ""
    parts = [count(report.trials, "trial"), count(report.statements, "statement")]
    parts += [f"{report.undecided} undecided"] if report.undecided else []
    parts += [f"{report.replayed} judged earlier"] if report.replayed else []
    labels = count(report.labels.trials, "labeled trial") if report.labels is not None else ""
    known = f"calibrated with {labels}" if report.calibrated else "not calibrated"
    itself = "; it is the model under test" if report.same_model else ""
    return f"judged by {names}{more}: {', '.join(parts)}; {known}{itself}"


def judge_details(report: JudgeReport, encode: Encode) -> list[tuple[str, str]]:
    """All facts about the judge, as pairs of a name and a text."""
    facts = [("judge", ", ".join(encode(name) for name in report.by)), ("calibrated", _calibrated(report, encode))]
    facts += [("sensitivity", _rate(report.sensitivity))] if report.sensitivity else []
    facts += [("specificity", _rate(report.specificity))] if report.specificity else []
    if report.elsewhere:
        facts.append(("graded elsewhere", f"{count(report.elsewhere, 'trial')} without what the judge said"))
    if report.self_consistency is not None:
        same, of = report.self_consistency.same, report.self_consistency.of
        facts.append(("self-consistency", f"the same answer in {same} of {count(of, 'pair')} of the same question"))
    if report.canaries is not None:
        believed = "; it is not believed" if report.canaries.failed else ""
        wrong = f"{report.canaries.wrong} of {count(report.canaries.statements, 'statement')} wrong"
        facts.append(("canaries", f"{wrong} (p {report.canaries.p_value:.2g}){believed}"))
    return facts


def _calibrated(report: JudgeReport, encode: Encode) -> str:
    if report.labels is None or not report.calibrated:
        return f"no: {encode(report.why)}" if report.why else "no"
    who = f"{count(report.labels.trials, 'trial')} labeled by {_people(report.labels.people)}"
    where = _SOURCES.get(report.labels.source or "", "")
    return ", ".join(filter(None, (who, where, encode(report.labels.file))))


def _people(number: int) -> str:
    return "1 person" if number == 1 else f"{number} people"


def _rate(rate: JudgeRate) -> str:
    return show(Value(rate.value, 0, 0, "ratio", "higher", low=rate.low, high=rate.high))
