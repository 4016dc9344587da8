"""Sentences that several reports share, above all the headline of the verdict. Decides nothing.

Texts from files go through the `encode` of the calling report; everything else is our own text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from highbar.language.digits import amount
from highbar.language.phrases import count
from highbar.model import Counts, Decision, Outcome, Slice, Verdict
from highbar.model.judging import Judging, Selection
from highbar.report.reruns import second_run_words
from highbar.report.titles import demands
from highbar.report.visible import Encode

if TYPE_CHECKING:  # few results use a judge
    from highbar.model.judge_quality import JudgeReport

WORDS: Mapping[Decision | None, str] = MappingProxyType(
    {"pass": "PASS", "fail": "FAIL", "inconclusive": "INCONCLUSIVE", None: "NO POLICY"}
)
MOST_UNDECIDED = 10
"""Undecided scenarios that a report lists."""
UNDECIDED = "Undecided scenarios"
NO_VERDICT = "NO VERDICT: nothing could be judged"
_MOST_QUARANTINED = 10
"""Quarantined scenarios that a report lists on one line."""


def headline(verdict: Verdict) -> str:
    """`FAIL: 2 of 9 demands are not met, 1 warning; a re-run likely fails too`; contains no text from the results."""
    return f"{WORDS[verdict.verdict]}: {_summary(verdict) if verdict.verdict else _unjudged(verdict)}"


def evidence(counts: Counts) -> str:
    """`50 scenarios, 150 trials, 4 scenarios failed, 1 error, 2 trials undecided`; omits the last three if zero."""
    parts = [count(counts.scenarios, "scenario"), count(counts.trials, "trial")]
    if counts.failed:
        parts.append(f"{count(counts.failed, 'scenario')} failed")
    if counts.errors:
        parts.append(count(counts.errors, "error"))
    if counts.undecided:
        parts.append(f"{count(counts.undecided, 'trial')} undecided")
    return ", ".join(parts)


def undecided(verdict: Verdict, encode: Encode) -> list[tuple[str, str, str]]:
    """The first `MOST_UNDECIDED` undecided scenarios: id, category (`-` if none) and why each is undecided."""
    return [
        (encode(one.id), encode(one.category or "-"), encode(one.reason))
        for one in verdict.scenarios_undecided[:MOST_UNDECIDED]
    ]


def warnings(verdict: Verdict) -> int:
    """The number of warning rules that did not pass, but for those of a ref whose difference was accepted.

    The notes in `verdict.warnings` do not count.
    """
    advice = f"{verdict.against.ref}:" if verdict.against is not None and verdict.against.accepted else None
    missed = (rule.rule for rule in verdict.rules if rule.level == "warning" and rule.outcome != "pass")
    return sum(advice is None or not name.startswith(advice) for name in missed)


def urgent_notes(verdict: Verdict) -> tuple[str, ...]:
    """The notes without those that say that a threshold could be tighter, which are not urgent."""
    slack = tuple(f"{rule.rule}: " for rule in verdict.rules if rule.slack is not None)
    return tuple(note for note in other_notes(verdict) if not note.startswith(slack))


def other_notes(verdict: Verdict) -> tuple[str, ...]:
    """The notes in `verdict.warnings`, except those that the top of the report already shows."""
    shown_above = verdict.against.notes if verdict.against else ()
    return tuple(warning for warning in verdict.warnings if warning not in shown_above)


def bounds_label(verdict: Verdict) -> str:
    """A column heading: `value (95% bounds)`, each bound with that confidence; `value` if no metric has bounds."""
    bounded = any(value.low is not None or value.high is not None for value in verdict.metrics.values())
    return f"value ({amount(verdict.confidence, 'ratio', [verdict.confidence])} bounds)" if bounded else "value"


def slice_sentences(parts: Iterable[Slice], encode: Encode) -> list[str]:
    """A sentence for each slice of one column that is worse than the rest, and for the lowest one if it is not."""
    known = sorted((part for part in parts if part.likely is not None), key=_pass_rate)
    sentences = []
    for part in known:
        if part.worse:
            sentences.append(f"{encode(part.by[1])} has a lower pass rate than the rest, by more than chance explains")
        # If all slices have the same pass rate, none is the lowest.
        elif part is known[0] and _pass_rate(part) < _pass_rate(known[-1]):
            small = "but the gap is small enough to be chance"
            sentences.append(f"{encode(part.by[1])} has the lowest pass rate, {small}")
    return sentences


def _pass_rate(part: Slice) -> Fraction:
    """A sort key: the pass rate, or 2 if it is undefined, so that such slices come last."""
    known = part.metrics.get("pass_rate")
    return Fraction(2) if known is None or known.value is None else known.value


def repetition_sentences(verdict: Verdict) -> list[str]:
    """Sentences on what the repeated trials show and cannot show; none if no scenario was repeated."""
    found = verdict.repetition
    if found is None:
        return []
    sentences = [f"{count(found.flaky, 'scenario')} passed only some of the trials"]
    if found.correlation is not None:
        sentences.append(f"the trials of one scenario agree with a correlation of {found.correlation:.2f}")
    possible = amount(Fraction(found.still_possible), "ratio")
    trials = count(found.fewest, "trial")
    sentences.append(f"passing all of {trials} is no proof: the true pass rate of such a scenario may be {possible}")
    return sentences


def and_more(total: int, shown: int) -> str:
    """`… and 12 more`; empty if all are shown."""
    return f"… and {total - shown} more" if total > shown else ""


def _summary(verdict: Verdict) -> str:
    parts = [
        demands_met(verdict),
        difference_words(verdict),
        second_run_words(verdict),
    ]
    return "; ".join(filter(None, parts))


def demands_met(verdict: Verdict) -> str:
    """How many of the demands are met: `2 of 9 demands are not met, 1 is inconclusive, 1 warning`."""
    found = demands(verdict)
    outcomes = [demand.rule.outcome for demand in found if demand.rule.level == "blocking"]
    warned = sum(demand.rule.outcome != "pass" for demand in found if demand.rule.level == "warning")
    return ", ".join([_met(outcomes), *([count(warned, "warning")] if warned else [])])


def _met(outcomes: list[Outcome]) -> str:
    """How many of the blocking demands are met: `2 of 9 demands are not met, 1 is inconclusive`."""
    total, open_ = len(outcomes), outcomes.count("inconclusive")
    missed = total - open_ - outcomes.count("pass")
    if missed:
        rest = f", {open_} {_are(open_)} inconclusive" if open_ else ""
        return f"{_some(missed, total)} not met{rest}"
    if open_:
        return f"{_some(open_, total)} inconclusive"
    every = {0: "no demand blocks", 1: "the only demand is met", 2: "both demands are met"}
    return every.get(total, f"all {total} demands are met")


def _some(number: int, total: int) -> str:
    """`2 of 9 demands are`, or `the only demand is`."""
    return "the only demand is" if total == 1 else f"{number} of {total} demands {_are(number)}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def evidence_sentence(verdict: Verdict) -> str:
    """A sentence if all or some blocking rules compare the measured value and ignore its interval; else empty."""
    found = [demand.rule.evidence for demand in demands(verdict) if demand.rule.level == "blocking"]
    numbers = [evidence for evidence in found if evidence is not None]
    bare = numbers.count("estimate")
    if not bare:
        return ""
    which = "Values are" if bare == len(numbers) else f"In {bare} of {count(len(numbers), 'demand')} the value is"
    return f"{which} compared as measured, without the interval (evidence: estimate)."


def _unjudged(verdict: Verdict) -> str:
    """The headline without a policy: nothing was judged, and how many typical blocking thresholds would fail."""
    total = len(verdict.advice)
    if not total:
        return "nothing was judged"
    blocking = [rule.outcome for rule in verdict.advice if rule.level == "blocking"]
    open_ = blocking.count("inconclusive")
    missed = sum(outcome != "pass" for outcome in blocking) - open_
    would = f"{missed} of {total}" if missed else "none"
    rest = f", {open_} of {total} would be inconclusive" if open_ else ""
    return f"nothing was judged; of the typical thresholds {would} would fail{rest}"


def difference_words(verdict: Verdict) -> str:
    """`the bar differs from that of the ref`, or that it was accepted; empty if it does not, or no ref was given."""
    against = verdict.against
    if against is None or against.digest is None:
        return ""
    if against.accepted:
        return f"what differs from the bar of the ref was accepted, by which it is {against.verdict}"
    return "the bar differs from that of the ref"


def difference_rows(verdict: Verdict, encode: Encode, most: int) -> tuple[str, list[str]]:
    """A heading, and at most `most` lines of the diff; empty if nothing differs from a ref."""
    against = verdict.against
    if against is None or against.digest is None:
        return "", []
    lines = against.difference.split("\n")
    rest = f"… {count(len(lines) - most, 'more line')}; the digest covers all" if len(lines) > most else ""
    accepted = ", accepted" if against.accepted else ""
    heading = f"Differs from {encode(against.ref)}{accepted} (digest {against.digest})"
    return heading, [*map(encode, lines[:most]), *([rest] if rest else [])]


# --- where a verdict comes from: who judged which rows, what is quarantined, what was not run -


def origin_lines(verdict: Verdict, encode: Encode) -> tuple[str, ...]:
    """Who judged, which rows, the judge, the quarantine and early stopping; a line is empty if it does not apply."""
    return (
        judged_line(verdict.judged_by, encode),
        selection_line(verdict.selection, encode),
        judge_line(verdict.judge, encode),
        quarantine_line(verdict, encode),
        saved_line(verdict),
    )


def judged_line(judged_by: Iterable[Judging], encode: Encode) -> str:
    """`judged by inspect: accuracy at least 0.8 (policy); junit: …`; empty if all rows are in our own format."""
    judges = []
    for one in judged_by:
        names = " and ".join(encode(judge) for judge in one.judges) or "its reader does not say"
        judges.append(f"{encode(one.tool)}: {names}{' (policy)' if one.by_policy else ''}")
    return f"judged by {'; '.join(judges)}" if judges else ""


def selection_line(selection: Selection | None, encode: Encode) -> str:
    """`only rows with tags.model x: 12 rows left out`; empty if there was no selection."""
    if selection is None:
        return ""
    chosen = " and ".join(
        f"{encode(column)} {' or '.join(encode(value) for value in values)}" for column, values in selection.where
    )
    lost = f", {count(selection.scenarios_count, 'scenario')} with them" if selection.scenarios_count else ""
    return f"only rows with {chosen}: {count(selection.rows, 'row')} left out{lost}"


def judge_line(report: JudgeReport | None, encode: Encode) -> str:
    """Which judge judged how much, and whether it is calibrated; empty if no trial was judged by a judge."""
    if report is None:
        return ""
    from highbar.report.judge_words import one_line  # few results use a judge

    return one_line(report, encode)


def quarantine_line(verdict: Verdict, encode: Encode) -> str:
    """`1 scenario quarantined: A-3 (listed in the policy, until 2026-12-01)`; empty if no scenario is quarantined."""
    found = verdict.quarantined
    if not found:
        return ""
    named = []
    for one in found[:_MOST_QUARANTINED]:
        until = f", until {one.until}" if one.until else ""
        named.append(f"{encode(one.id)} ({encode(one.why)}{until})")
    rest = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
    return f"{count(len(found), 'scenario')} quarantined: {'; '.join(named)}{rest}"


def saved_line(verdict: Verdict) -> str:
    """`67 of 200 planned scenarios run, 133 saved`; empty if no rule is sequential.

    An inconclusive verdict says `not run` instead of `saved`, since those scenarios may still be needed.
    """
    run = verdict.sequential
    if run is None:
        return ""
    if run.problem is not None:
        return f"judged once, over all scenarios: {run.problem}"
    repeated = run.planned_trials != run.planned
    trials = f" ({run.ran_trials} of {count(run.planned_trials, 'trial')})" if repeated else ""
    word = "not run" if verdict.verdict == "inconclusive" else "saved"
    saved = f", {run.saved} {word}" if run.saved else ""
    return f"{run.ran} of {count(run.planned, 'planned scenario')} run{trials}{saved}"


def quarantined_ids(verdict: Verdict) -> frozenset[str]:
    """The ids of the scenarios that a report marks as quarantined."""
    return frozenset(one.id for one in verdict.quarantined)
