"""Sentences that several reports share, above all the headline of the verdict. Decides nothing.

Texts from files go through the `encode` of the calling report; everything else is our own text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from highbar.language.digits import amount, show
from highbar.language.phrases import count
from highbar.model import Counts, Decision, Outcome, RuleResult, Slice, Value, Verdict
from highbar.model.judging import Judging, Selection
from highbar.report.titles import demands
from highbar.report.visible import Encode

if TYPE_CHECKING:  # few results use a judge
    from highbar.model.judge_quality import JudgeReport

WORDS: Mapping[Decision | None, str] = MappingProxyType(
    {"pass": "PASS", "fail": "FAIL", "inconclusive": "INCONCLUSIVE", None: "NO POLICY"}
)
MOST_UNDECIDED = 10
"""Undecided scenarios that a report lists."""
MOST_QUARANTINED = 10
"""Quarantined scenarios that a report lists on one line."""
MOST_TO_SETTLE = 5000
"""If settling a rule takes more scenarios than this, reports call it too close."""
WORTH_SAYING = 0.05
"""Reports mark a rule as close if a re-run has another outcome with at least this probability."""
UNDECIDED = "Undecided scenarios"
NO_VERDICT = "NO VERDICT: nothing could be judged"
_LIKELY = ((0.01, "almost certain"), (0.05, "very likely"), (0.2, "likely"))  # by the probability of another verdict
_EVEN = 0.5
_ALMOST = 0.99
_ALL = 100


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


def judged_line(judged_by: Iterable[Judging], encode: Encode) -> str:
    """`judged by inspect: accuracy at least 0.8 (policy); junit: …`; empty if all rows are in our own format."""
    judges = []
    for one in judged_by:
        names = " and ".join(encode(judge) for judge in one.judges) or "its reader does not say"
        judges.append(f"{encode(one.tool)}: {names}{' (policy)' if one.by_policy else ''}")
    return f"judged by {'; '.join(judges)}" if judges else ""


def selected(selection: Selection | None, encode: Encode) -> str:
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
    """`1 scenario quarantined: A-3 (listed in the policy, until 2026-12-01)`; empty if none is quarantined."""
    found = verdict.quarantined
    if not found:
        return ""
    named = []
    for one in found[:MOST_QUARANTINED]:
        at_most = "until" if one.since is None else "at the latest until"  # a flaky scenario may become stable earlier
        until = f", {at_most} {one.until}" if one.until else ""
        named.append(f"{encode(one.id)} ({encode(one.why)}{until})")
    rest = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
    return f"{count(len(found), 'scenario')} quarantined: {'; '.join(named)}{rest}"


def quarantined_ids(verdict: Verdict) -> frozenset[str]:
    """The ids of the scenarios that a report marks as quarantined."""
    return frozenset(one.id for one in verdict.quarantined)


def as_judged(rule: RuleResult) -> str:
    """`90.0% as judged`: the uncorrected value, if the rule's value is corrected for the judge's errors; else empty."""
    return "" if rule.raw is None or rule.raw.value is None else f"{show(rule.raw)} as judged"


def corrected(value: Value) -> str:
    """`corrected 78.5% (66.4–87.2)`; `not corrected` if that is undefined; empty if the policy corrects nothing."""
    share = value.corrected
    if share is None or share.value is None:
        return "" if share is None else "not corrected"
    return f"corrected {show(Value(share.value, 0, 0, value.unit, value.better, low=share.low, high=share.high))}"


def counted(value: Value) -> str:
    """`50`, or `50, 2 missing, 1 undecided (at best 94.0%)`: the scenarios behind a value, then `lacks`."""
    return ", ".join(filter(None, (str(value.scenarios), lacks(value))))


def lacks(value: Value) -> str:
    """`2 missing, 1 undecided (at best 94.0%)`, and the value corrected by labels; empty if none of these applies."""
    parts = [f"{value.missing} missing"] * bool(value.missing)
    if value.undecided:
        best = "" if value.best is None else f" (at best {amount(value.best, value.unit)})"
        parts.append(f"{value.undecided} undecided{best}")
    return ", ".join(filter(None, (*parts, corrected(value))))


def undecided(verdict: Verdict, encode: Encode) -> list[tuple[str, str, str]]:
    """The first `MOST_UNDECIDED` undecided scenarios: id, category (`-` if none) and why each is undecided."""
    return [
        (encode(one.id), encode(one.category or "-"), encode(one.reason))
        for one in verdict.scenarios_undecided[:MOST_UNDECIDED]
    ]


def warnings(verdict: Verdict) -> int:
    """The number of warning rules that did not pass; the notes in `verdict.warnings` do not count."""
    return sum(rule.outcome != "pass" for rule in verdict.rules if rule.level == "warning")


def urgent_notes(verdict: Verdict) -> tuple[str, ...]:
    """The notes without those that say that a threshold could be tighter, which are not urgent."""
    slack = tuple(f"{rule.rule}: " for rule in verdict.rules if rule.slack is not None)
    return tuple(note for note in other_notes(verdict) if not note.startswith(slack))


def other_notes(verdict: Verdict) -> tuple[str, ...]:
    """The notes in `verdict.warnings`, except those that the top of the report already shows."""
    shown_above = verdict.against.notes if verdict.against else ()
    return tuple(warning for warning in verdict.warnings if warning not in shown_above)


def how_sure(rule: RuleResult) -> str:
    """For a close rule: how likely a re-run differs, and how large a new run would settle it; else empty."""
    if not (could_change(rule) or rule.outcome == "inconclusive"):
        return ""
    reasons = "; ".join(part for part in (differs(rule), _settling(rule)) if part)
    return f"close: {reasons}" if reasons else ""


def could_change(rule: RuleResult) -> bool:
    """Whether the interval includes the threshold, or a re-run has another outcome with at least `WORTH_SAYING`."""
    return rule.fragile or (rule.second_run or 0.0) >= WORTH_SAYING


def is_clear(rule: RuleResult) -> bool:
    """Whether the whole interval is on one side of the threshold; `highbar plan` calls such a rule settled."""
    return rule.outcome in ("pass", "fail") and not rule.fragile and rule.value is not None


def accepted(rule: RuleResult) -> str:
    """`1 failed, 1 accepted`, if the rule passed although scenarios failed; else empty."""
    if rule.outcome != "pass" or rule.accepted is None:
        return ""
    failed, most = rule.accepted
    return f"{failed} failed, {most} accepted"


def second_run_sentence(verdict: Verdict) -> str:
    """A sentence on how likely a re-run has the same verdict; empty if that is unknown."""
    if verdict.second_run is None or verdict.verdict is None:
        return ""
    low, high = verdict.second_run_low or 0.0, verdict.second_run
    same = _out_of_100(1 - high, 1 - low)
    likely = next((words for most, words in _LIKELY if high < most), None)
    if likely:
        return f"The same verdict is {likely} on a re-run ({same})."
    ends = "would probably end" if low > _EVEN else "may end"
    return f"A re-run of the same scenarios {ends} differently (the same verdict: {same})."


def _again(verdict: Verdict) -> str:
    """The short form for the headline: `a re-run very likely fails too`; empty if that is unknown."""
    if verdict.second_run is None or verdict.verdict is None:
        return ""
    likely = next((words for most, words in _LIKELY if verdict.second_run < most), None)
    if likely:
        ends = {"pass": "passes", "fail": "fails", "inconclusive": "is inconclusive"}[verdict.verdict]
        return f"a re-run {likely.replace('certain', 'certainly')} {ends} too"
    probable = (verdict.second_run_low or 0.0) > _EVEN
    return f"a re-run {'probably ends' if probable else 'may end'} differently"


def _out_of_100(low: float, high: float) -> str:
    """A range of probabilities in plain words: `over 99 in 100`, `3 to 77 in 100`."""
    first, last = round(low * _ALL), round(high * _ALL)
    if low > _ALMOST:
        return "over 99 in 100"
    if last == _ALL:  # before `about`: what is not certain is not 100 in 100
        return f"at least {first} in 100"
    if last - first <= 1:
        return f"about {last} in 100" if last else "under 1 in 100"
    return f"{first} to {last} in 100" if first else f"at most {last} in 100"


def differs(rule: RuleResult) -> str:
    """`a re-run may pass (1–16%)`: how likely a close rule has another outcome on a re-run; empty for other rules."""
    if rule.second_run is None or not could_change(rule):
        return ""
    turned = {"pass": "fail", "fail": "pass"}.get(rule.outcome, "end differently")
    return f"a re-run may {turned} ({chance_cell(rule)})"


def _settling(rule: RuleResult) -> str:
    """How large a new run would settle the rule; empty if unknown.

    It speaks of a new run, because adding scenarios to this one and judging again would pass too often.
    """
    size = settled_by(rule)
    if size is None or rule.value is None or rule.value.value is None:
        return ""
    of_slice = " of this slice" if rule.slice else ""
    if size > MOST_TO_SETTLE:
        return f"too close to call, even with {MOST_TO_SETTLE:,} scenarios{of_slice}"
    stays = f"if the value stays at {amount(rule.value.value, rule.value.unit)}"
    return f"{stays}, a new run with about {count(size, 'scenario')}{of_slice} would settle it"


def settled_by(rule: RuleResult) -> int | None:
    """How many scenarios a new run needs to settle a rule if the value stays the same; None if no number does."""
    if rule.more_scenarios is None or rule.value is None:
        return None
    return rule.value.scenarios + rule.more_scenarios


class Repeatable(Protocol):
    """A rule, or its row in a plan, with the probability that a re-run has another outcome."""

    @property
    def second_run(self) -> float | None:
        """The upper end of that probability."""

    @property
    def second_run_low(self) -> float | None:
        """The lower end."""


def chance_cell(rule: Repeatable) -> str:
    """A table cell with the probability that a re-run of the same agent has another outcome: `5–29%`."""
    if rule.second_run is None:
        return ""
    low, high = (round((end or 0.0) * 100) for end in (rule.second_run_low, rule.second_run))
    if not high:
        return "under 1%"
    return f"{high}%" if low == high else f"{low}–{high}%" if low else f"up to {high}%"


def bounds_label(verdict: Verdict) -> str:
    """A column heading: `value (95% bounds)`, each bound with that confidence; `value` if no metric has bounds."""
    bounded = any(value.low is not None or value.high is not None for value in verdict.metrics.values())
    return f"value ({amount(verdict.confidence, 'ratio', [verdict.confidence])} bounds)" if bounded else "value"


def standing_lines(parts: Iterable[Slice], encode: Encode) -> list[str]:
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


def repeated(verdict: Verdict) -> list[str]:
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


def more(total: int, shown: int) -> str:
    """`… and 12 more`; empty if all are shown."""
    return f"… and {total - shown} more" if total > shown else ""


def _summary(verdict: Verdict) -> str:
    weakened = len(verdict.against.weakened) if verdict.against else 0
    parts = [
        met(verdict),
        f"the bar is weakened in {count(weakened, 'place')}" if weakened else "",
        _again(verdict),
    ]
    return "; ".join(filter(None, parts))


def met(verdict: Verdict) -> str:
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


def compared(verdict: Verdict) -> str:
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
    unsure = f", {open_} of {total} would be inconclusive" if open_ else ""
    return f"nothing was judged; of the typical thresholds {would} would fail{unsure}"


def weakened_rows(verdict: Verdict, encode: Encode) -> tuple[str, list[str]]:
    """A heading, and a sentence for each demand that was stricter at the git ref; empty if no ref was given."""
    against = verdict.against
    if against is None:
        return "", []
    return f"Weakened since {encode(against.ref)}", [encode(each.sentence) for each in against.weakened]
