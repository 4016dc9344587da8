"""The verdict for a terminal, on one screen: the headline, what did not pass, the failed scenarios, how certain it is.

`-v` shows everything (`text_verbose`). Every color also has a mark or a word, so that the report is readable without
color. Texts from files go through `visible`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import MappingProxyType

from highbar.errors import Problem
from highbar.language.phrases import count
from highbar.model import NO_POLICY, RuleResult, Verdict
from highbar.report import PAGE, Display
from highbar.report.headline import (
    NO_VERDICT,
    UNDECIDED,
    and_more,
    difference_rows,
    evidence,
    headline,
    origin_lines,
    quarantined_ids,
    undecided,
    urgent_notes,
)
from highbar.report.layout import columns, paint, paragraph, problem_lines, text_table, title, titled
from highbar.report.reruns import is_close, rerun_words, second_run_sentence
from highbar.report.titles import DemandResult, demands
from highbar.report.value_words import short_reason
from highbar.report.visible import cut, visible

_MOST_DEMANDS = 20
"""Demands in a list: about as many as a screen shows. --verbose lists all."""
_MOST_SCENARIOS = 10
"""Failed scenarios, the worst first; --verbose lists more."""
_MOST_OF_DIFFERENCE, _MOST_OF_VERBOSE = 40, 1000
"""Lines of a diff: about two screens, and all but those of files that were written anew."""
_MOST_NOTES = 3
"""Notes that are listed; --verbose lists more."""
_LONGEST_REASON, _LONGEST_OF_RULE = 300, 500
"""Characters of a reason: about four lines. That of a rule may be longer, because it ends with what to do."""
COLORS = MappingProxyType({"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow", None: "bold red"})


def render(verdict: Verdict, display: Display = PAGE) -> str:
    """The report, wrapped to the display's width; if it is longer than the screen, the headline is repeated below."""
    head = headline_lines(verdict, display)
    if display.verbose:
        from highbar.report import text_verbose  # few runs show everything

        body = text_verbose.report_lines(verdict, display)
    else:
        body = _lines(verdict, display)
    below = difference_lines(verdict, display)
    lines = [*head, *body, *below]
    is_long = display.height is not None and len(lines) >= display.height and not below
    return "\n".join([*lines, *(["", *head] if is_long else [])]) + "\n"


def headline_lines(verdict: Verdict, display: Display = PAGE) -> list[str]:
    """The headline, wrapped to the display's width, with its first word in color."""
    word, _, rest = headline(verdict).partition(":")
    first, *others = paragraph(f"{word}:{rest}", 0, display)
    return [paint(word, COLORS[verdict.verdict], display) + first.removeprefix(word), *others]


def render_problems(problems: Iterable[Problem], display: Display = PAGE) -> str:
    """All problems, written in place of a verdict; the first line differs from every verdict's headline."""
    return "\n".join([paint(NO_VERDICT, "bold red", display), *problem_lines(problems, display)]) + "\n"


def about_lines(verdict: Verdict, display: Display) -> list[str]:
    """What was judged and by which bar.

    Lines with texts from files are not wrapped, so that no such text can start a line.
    """
    origin = [] if verdict.agent_version is None else [f"agent version {cut(visible(verdict.agent_version), 40)}"]
    if verdict.verdict is not None:  # else the headline and the problems below say that there is no policy
        origin.append(f"policy {visible(verdict.policy.file)}" if verdict.policy else NO_POLICY)
    if verdict.against:
        origin.append(f"and the policy at {visible(verdict.against.ref)} ({verdict.against.commit[:12]})")
    *judged, saved = origin_lines(verdict, visible)
    return [*paragraph(evidence(verdict.counts), 0, display), *filter(None, (saved, ", ".join(origin), *judged))]


def difference_lines(verdict: Verdict, display: Display) -> list[str]:
    """What differs from the bar at the git ref, with the verdict once more below it."""
    heading, rows = difference_rows(verdict, visible, _MOST_OF_VERBOSE if display.verbose else _MOST_OF_DIFFERENCE)
    if not rows:
        return []
    # On one line, whatever its length: the last line is the verdict.
    word, _, rest = headline(verdict).partition(":")
    last = f"{paint(word, COLORS[verdict.verdict], display)}:{rest}"
    return [*title(heading, display), *(f"  {cut(row, _LONGEST_REASON)}" for row in rows), "", last]


def advice_lines(verdict: Verdict, display: Display) -> list[str]:
    """The comparison with the typical thresholds; empty if there is a policy."""
    if not verdict.advice:
        return []
    from highbar.report import advice  # few checks have no policy

    rows = advice.advice_rows(verdict)
    return [*title(advice.HEADING, display), *text_table(("", *advice.COLUMNS), rows, display)]


def failed_lines(verdict: Verdict, most: int, display: Display) -> list[str]:
    """At most `most` failed scenarios: those that a rule requires first, then the worst."""
    if not verdict.counts.failed and not verdict.scenarios_failed:
        return []
    # The sort is stable: among the required scenarios and among the others, the worst stay first.
    scenarios = sorted(verdict.scenarios_failed, key=lambda scenario: not scenario.required)[:most]
    quarantined = quarantined_ids(verdict)
    rows = [
        (
            visible(scenario.id),
            visible(scenario.category or "-"),
            "required" if scenario.required else "quarantined" if scenario.id in quarantined else "",
            cut(visible(scenario.reason), _LONGEST_REASON),
        )
        for scenario in scenarios
    ]
    total = max(verdict.counts.failed, len(verdict.scenarios_failed))
    heading = f"Failed scenarios ({total}), worst first" if total > 1 else "Failed scenario"
    return [*title(heading, display), *columns(_without_empty_columns(rows), 2, display), *rest_line(total, len(rows))]


def undecided_lines(verdict: Verdict, display: Display) -> list[str]:
    """The first undecided scenarios, with the reasons."""
    rows = [(id_, category, cut(reason, _LONGEST_REASON)) for id_, category, reason in undecided(verdict, visible)]
    if not rows:
        return []
    rest = rest_line(len(verdict.scenarios_undecided), len(rows))
    return [*title(UNDECIDED, display), *columns(rows, 2, display), *rest]


def note_lines(noted: Sequence[str], most: int, display: Display) -> list[str]:
    """At most `most` notes, which decide nothing."""
    if not noted:
        return []
    rows = [("-", visible(note)) for note in noted[:most]]
    return [*title("Notes", display), *columns(rows, 2, display), *rest_line(len(noted), most)]


def rest_line(total: int, shown: int) -> list[str]:
    """A line with the number of items that are not shown; no line if all are."""
    text = and_more(total, shown)
    return [f"  {text}"] if text else []


def _without_empty_columns(rows: Sequence[tuple[str, ...]]) -> Sequence[tuple[str, ...]]:
    """The rows without the columns that are empty in all of them."""
    used = [place for place in range(len(rows[0])) if any(row[place] for row in rows)] if rows else []
    return [tuple(row[place] for place in used) for row in rows]


# --- the short report -------------------------------------------------------------------------


def _lines(verdict: Verdict, display: Display) -> list[str]:
    found = demands(verdict)
    missed = [demand for demand in found if demand.rule.outcome != "pass"]
    blocking = [demand for demand in missed if demand.rule.level == "blocking"]
    warning = [demand for demand in missed if demand.rule.level == "warning"]
    closing = paragraph(_closing_sentences(verdict, found, display.report_option), 0, display)
    return [
        *about_lines(verdict, display),
        *problem_lines(verdict.problems, display),
        *(["", *_missed_lines(verdict, blocking, display)] if blocking else []),
        *([*title("Warnings", display), *_missed_lines(verdict, warning, display)] if warning else []),
        *advice_lines(verdict, display),
        *failed_lines(verdict, _MOST_SCENARIOS, display),
        *undecided_lines(verdict, display),
        *note_lines(urgent_notes(verdict), _MOST_NOTES, display),
        *(["", *closing] if closing else []),
    ]


def _missed_lines(verdict: Verdict, found: Sequence[DemandResult], display: Display) -> list[str]:
    """For each missed demand a mark, the title, and the value with its interval or the reason."""
    shown = found[:_MOST_DEMANDS]
    lines = titled(
        [(_mark(demand.rule), demand.title, _reason_words(demand.rule, verdict)) for demand in shown], display
    )
    colors = {"✗": "red", "?": "yellow", "!": "yellow"}
    marked = [paint(line[:1], colors.get(line[:1], "dim"), display) + line[1:] for line in lines]
    return [*marked, *rest_line(len(found), len(shown))]


def _mark(rule: RuleResult) -> str:
    return "!" if rule.level == "warning" else "?" if rule.outcome == "inconclusive" else "✗"


def _reason_words(rule: RuleResult, verdict: Verdict) -> str:
    """The value or the reason, and for a close rule how likely a re-run has another outcome."""
    return "; ".join(filter(None, (short_reason(rule, verdict, _short_text), rerun_words(rule, verdict))))


def _short_text(text: str) -> str:
    return cut(visible(text), _LONGEST_OF_RULE)


def _closing_sentences(verdict: Verdict, found: Sequence[DemandResult], report_option: str) -> str:
    """Sentences on how certain the verdict is, how many blocking demands are met, and how to see more."""
    met = [demand.rule for demand in found if demand.rule.outcome == "pass" and demand.rule.level == "blocking"]
    narrow = sum(is_close(rule) for rule in met)
    are = f"{count(len(met), 'demand')} {'is' if len(met) == 1 else 'are'} met" if met else ""
    of = "" if len(met) == 1 else _all(narrow) if narrow == len(met) else f"{narrow} of them "
    narrowly = f", {of}narrowly" if narrow else ""
    more = f"More: -v, or {report_option} report.html"
    return " ".join(filter(None, (second_run_sentence(verdict), f"{are}{narrowly}." if are else "", more)))


def _all(number: int) -> str:
    return "both " if number == 2 else f"all {number} "
