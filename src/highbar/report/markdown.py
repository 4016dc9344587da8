"""The verdict as Markdown, for a pull request comment or a job summary: what matters first, everything else folded.

Every text from a file is in a code span, so that it cannot close an element, load an image, mention a user or refer to
an issue. Inputs and outputs of scenarios are omitted, since more people read a comment than a results file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from highbar.errors import Problem
from highbar.language.digits import Bounds, amount, bounds_by_metric, rule_bounds, show
from highbar.model import NO_POLICY, FailedScenario, Slice, Verdict
from highbar.report import PAGE, Display, advice, progressive
from highbar.report.early_words import at_stopping
from highbar.report.headline import (
    NO_VERDICT,
    UNDECIDED,
    and_more,
    bounds_label,
    difference_rows,
    difference_words,
    evidence,
    evidence_sentence,
    headline,
    origin_lines,
    other_notes,
    quarantined_ids,
    repetition_sentences,
    slice_sentences,
    undecided,
)
from highbar.report.reruns import how_sure, is_close, second_run_sentence
from highbar.report.titles import DemandResult, demands, metric_words, missed_first
from highbar.report.value_words import scenarios_cell, short_reason
from highbar.report.visible import Encode, cut, visible

LONGEST = 65_536  # characters that a GitHub comment may have
_LONGEST_TEXT = 300
"""Characters of a text from a file: about three lines."""
_LONGEST_REASON = 500
"""Characters of a rule's reason, which ends with what to do."""
_ROOM_FOR_A_COUNT = 40
_MOST_BYTES = 2500  # of the part that is not folded
_TRIES = ((90, 10), (60, 10), (40, 10), (40, 6), (30, 3))  # characters of a cell and rows of a table, until it fits
_FOLDED = "<details><summary>All demands, metrics, slices and notes</summary>"
_UNFOLD = "</details>"
_SCENARIO = ("scenario", "category", "trials passed", "why")
MARKER = "<!-- highbar -->"
"""The hidden first line of a comment. Whoever posts it replaces their own last comment that begins with this line."""
CUT_HERE = "The report is cut here: a comment holds no more. The JSON report has everything."
_BACKTICKS = re.compile(r"`+")
_PIPE = re.compile(r"(\\?)\|")


class _Section(Struct, frozen=True):
    """A heading, the first lines of a table, and rows; `total` counts also the rows that are not here."""

    heading: str
    opening: tuple[str, ...]
    rows: tuple[str, ...]
    total: int


def code_span(text: str, longest: int = _LONGEST_TEXT) -> str:
    """The only encoder of this format: `text` as a code span that is safe inside a table cell, too."""
    # Escaped even in code, so that no text looks like the hidden line by which our comment is found (MARKER).
    shown = cut(visible(text), longest).replace("<!--", r"\x3c!--")
    # A bare `|` ends a table cell even in code, and renderers disagree about `\\|`.
    shown = _PIPE.sub(lambda match: r"\x5c\x7c" if match[1] else r"\|", shown)
    if not shown.strip():
        return "(blank)"
    fence = "`" * (max((len(run) for run in _BACKTICKS.findall(shown)), default=0) + 1)
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def render(verdict: Verdict, _display: Display = PAGE) -> str:
    """The report, cut between rows if it is too long for a comment; the verdict always stays."""
    return within(verdict, LONGEST)


def within(verdict: Verdict, longest: int) -> str:
    """The report in at most `longest` characters: what a reader must see, and everything else folded."""
    top = _top(verdict)
    # 12 more characters are enough for the blank lines between these parts and the final newline.
    room = longest - len(top) - len(_FOLDED) - len(_UNFOLD) - len(CUT_HERE) - 12
    parts: list[str] = []
    for section in (section for section in _sections(verdict) if section.rows):
        text = _fit(section, room)
        parts.append(text or CUT_HERE)
        if not text:
            break
        room -= len(text) + 2
    else:  # no section was cut
        changes = _changes(verdict)
        parts += [changes] if changes and len(changes) + 2 <= room else []
    return "\n\n".join([top, *([_FOLDED, *parts, _UNFOLD] if parts else [])]) + "\n"


def _sections(verdict: Verdict) -> Iterator[_Section]:
    """The folded sections; if the report is too long, the last ones are cut."""
    bounds = bounds_by_metric(verdict.rules or verdict.advice)
    if _needs_no_more(verdict):
        yield _Section("### Evidence", (), (_about(verdict),), 1)
    yield _rules(verdict, bounds)
    yield _table(
        f"### {progressive.HEADING}", ("rule", *progressive.COLUMNS), progressive.progressive_rows(verdict, code_span)
    )
    yield _metrics(verdict, bounds)
    yield _table("### Failed scenarios", _SCENARIO, _failed_rows(verdict, code_span), verdict.counts.failed)
    yield _undecided_scenarios(verdict)
    yield from _slices(verdict, bounds)
    yield _list("### Repeated trials", repetition_sentences(verdict))
    yield _list("### Notes", [code_span(note) for note in other_notes(verdict)])


def _changes(verdict: Verdict) -> str:
    """The comparison with the baseline, with headings one level lower; empty if there is no baseline."""
    compared = verdict.details.comparison if verdict.details else None
    if compared is None:
        return ""
    from highbar.report import comparison_markdown, comparison_words  # only if there is a baseline

    # Without the comparison's own first heading: its headline is repeated below ours.
    text = re.sub("^###", "####", comparison_markdown.render(compared).partition("\n\n")[2], flags=re.MULTILINE)
    return f"### All changes since the baseline\n\n{comparison_words.headline(compared)}\n\n{text.rstrip()}"


# --- not folded -------------------------------------------------------------------------------


def _needs_no_more(verdict: Verdict) -> bool:
    """Whether the headline is enough: the verdict is a pass, with or without warnings, and the bar does not differ."""
    return verdict.verdict == "pass" and not difference_words(verdict)


def _top(verdict: Verdict) -> str:
    """The headline, what changed, what is not met and which scenarios failed.

    The first of `_TRIES` that fits into `_MOST_BYTES` is used, or the last one if none fits.
    """
    heading = f"## {headline(verdict)}"
    if _needs_no_more(verdict):
        return heading
    text = heading
    for longest, most in _TRIES:
        sections = filter(None, _top_sections(verdict, longest, most))
        text = "\n\n".join([heading, *sections])
        if len(text.encode()) <= _MOST_BYTES:
            break
    return text


def _top_sections(verdict: Verdict, longest: int, most: int) -> Iterator[str]:
    """The sections that are not folded, with at most `longest` characters in a cell and `most` rows in a table."""

    def short(text: str) -> str:
        return code_span(text, longest)

    why = tuple(_problem(problem, short) for problem in verdict.problems)
    rows = advice.advice_rows(verdict)
    differs, lines = difference_rows(verdict, short, 2 * most)
    missed = [demand for demand in demands(verdict, short) if demand.rule.outcome != "pass"]
    blocking = [demand for demand in missed if demand.rule.level == "blocking"]
    sections = (
        _Section("### Why", (), why, len(why)),
        _table(f"### {advice.HEADING}", ("metric", *advice.COLUMNS), rows),
        _table(
            "### Not met",
            ("demand", "why"),
            [(one.title, short_reason(one.rule, verdict, short)) for one in blocking[:most]],
            len(blocking),
        ),
        _table("### Failed scenarios", _SCENARIO, _failed_rows(verdict, short)[:most], verdict.counts.failed),
    )
    listed = _list(f"### {differs}", lines)
    yield _about(verdict, short)
    yield _changes_since(verdict, short, most)
    for section in sections:
        if section.rows:
            yield _lines(section, section.rows[:most])
    if lines:
        yield _lines(listed, listed.rows)


def _changes_since(verdict: Verdict, short: Encode, most: int) -> str:
    """The scenarios that broke or were fixed since the baseline, and the metrics that are better or worse."""
    compared = verdict.details.comparison if verdict.details else None
    if compared is None:
        return ""
    lines = []
    for word, ids in (("broken", compared.broken), ("fixed", compared.fixed)):
        if ids:
            rest = and_more(len(ids), most)
            lines.append(f"- {len(ids)} {word}: {', '.join(short(id_) for id_ in ids[:most])} {rest}".rstrip())
    moved = [
        f"- {metric_words(name, short)} {change.outcome}: {amount(base, unit)} → {amount(head, unit)}"
        for name, change in compared.metrics.items()
        for base, head, unit in (
            (change.difference.base.value, change.difference.head.value, change.difference.head.unit),
        )
        if change.outcome in ("better", "worse") and base is not None and head is not None
    ]
    lines += moved[:most]
    return "\n".join(["### Since the baseline", "", *(lines or ["- nothing changed for certain"])])


def _lines(section: _Section, rows: Sequence[str]) -> str:
    rest = and_more(section.total, len(rows))
    return "\n".join([section.heading, "", *section.opening, *rows, *(["", rest] if rest else [])])


# --- folded -----------------------------------------------------------------------------------


def render_problems(problems: Iterable[Problem], _display: Display = PAGE) -> str:
    """A list of all problems, written in place of a verdict, under a heading that no verdict has."""
    rows = tuple(_problem(problem) for problem in problems)
    section = _Section(f"## {NO_VERDICT}", (), rows, len(rows))
    return _fit(section, LONGEST - 1) + "\n"


def render_comment(verdict: Verdict, _display: Display = PAGE) -> str:
    """A pull request comment that each run replaces, within GitHub's limit: the marker, then the report.

    The agent's texts cannot forge the marker: they are in code spans, in which `<!--` is escaped.
    """
    return f"{MARKER}\n{within(verdict, LONGEST - len(MARKER) - 1)}"


def render_comment_problems(problems: Iterable[Problem], display: Display = PAGE) -> str:
    """The marker and all problems, written in place of a verdict."""
    return f"{MARKER}\n{render_problems(problems, display)[: LONGEST - len(MARKER) - 1]}"


def _problem(problem: Problem, short: Encode = code_span) -> str:
    place = problem.place_text
    hint = f" (hint: {short(problem.hint)})" if problem.hint else ""
    return f"- {short(place) + ' ' if place else ''}{short(problem.coded_message)}{hint}"


def _fit(section: _Section, room: int) -> str:
    """The section with as many rows as fit, and the number of the others; empty if no row fits."""
    head = [section.heading, "", *section.opening]
    left = room - sum(len(line) + 1 for line in head) - _ROOM_FOR_A_COUNT
    shown: list[str] = []
    for row in section.rows:
        left -= len(row) + 1
        if left < 0:
            break
        shown.append(row)
    rest = and_more(section.total, len(shown))
    return "\n".join([*head, *shown, *(["", rest] if rest else [])]) if shown else ""


def _about(verdict: Verdict, short: Encode = code_span) -> str:
    parts = [evidence(verdict.counts)]
    if verdict.agent_version is not None:
        parts.append(f"agent version {short(verdict.agent_version)}")
    parts.append(f"policy {short(verdict.policy.file)}" if verdict.policy else f"**{NO_POLICY}**")
    if verdict.against:
        parts.append(f"and the policy at {short(verdict.against.ref)} ({verdict.against.commit[:12]})")
    about = (", ".join(parts), *origin_lines(verdict, short))
    again = " ".join(filter(None, (second_run_sentence(verdict), evidence_sentence(verdict))))
    return "  \n".join(filter(None, about)) + (f"\n\n{again}" if again else "")


def _table(heading: str, names: Sequence[str], rows: Iterable[Sequence[str]], total: int = 0) -> _Section:
    lines = tuple(_row(row) for row in rows)
    return _Section(heading, (_row(names), _row(["---"] * len(names))), lines, max(total, len(lines)))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _rules(verdict: Verdict, bounds: Bounds) -> _Section:
    """Every demand: those that are not met first, blocking ones before warnings."""
    found = sorted(demands(verdict, code_span), key=missed_first)
    return _table(
        "### Demands",
        ("outcome", "demand", "value", "scenarios", "why"),
        [_row_of(one, verdict, bounds) for one in found],
    )


def _row_of(demand: DemandResult, verdict: Verdict, bounds: Bounds) -> Sequence[str]:
    rule = demand.rule
    value, marks = rule.value, rule_bounds(rule, bounds)
    outcome = rule.outcome if rule.outcome == "pass" else f"**{rule.outcome}**"
    return (
        outcome if rule.level == "blocking" else f"{outcome} (warning)",
        f"{demand.title}<br><sub>{demand.places(code_span)}</sub>",
        ", ".join(filter(None, (show(value, marks), at_stopping(rule)))) if value else "",
        scenarios_cell(value, marks) if value else "",
        code_span(rule.reason, _LONGEST_REASON) + (f" {how_sure(rule, verdict)}" if is_close(rule) else ""),
    )


def _metrics(verdict: Verdict, bounds: Bounds) -> _Section:
    rows = (
        (
            code_span(name),
            show(value, bounds.get(name, ())),
            scenarios_cell(value, bounds.get(name, ())),
            code_span(value.reason) if value.reason else "",
        )
        for name, value in verdict.metrics.items()
    )
    return _table("### Metrics", ("metric", bounds_label(verdict), "scenarios", "note"), rows)


def _slices(verdict: Verdict, bounds: Bounds) -> list[_Section]:
    """For each column a table of its slices, and sentences on which of them are worse."""
    ruled = {rule.metric for rule in verdict.rules} | {"pass_rate"}
    sections: list[_Section] = []
    for column in dict.fromkeys(part.by[0] for part in verdict.slices):
        parts = [part for part in verdict.slices if part.by[0] == column]
        sections.append(_slice_table(column, parts, ruled, bounds))
        sections.append(_list(f"#### The lowest of {code_span(column)}", slice_sentences(parts, code_span)))
    return sections


def _slice_table(column: str, parts: Sequence[Slice], ruled: set[str | None], bounds: Bounds) -> _Section:
    names = [name for name in parts[0].metrics if name in ruled]
    rows = (
        (
            code_span(part.by[1]),
            str(part.scenarios),
            *(show(part.metrics[name], bounds.get(name, ())) if name in part.metrics else "" for name in names),
        )
        for part in parts
    )
    return _table(f"### By {code_span(column)}", ("value", "scenarios", *(code_span(name) for name in names)), rows)


def _mark(scenario: FailedScenario, quarantined: frozenset[str]) -> str:
    return " **required**" if scenario.required else " **quarantined**" if scenario.id in quarantined else ""


def _failed_rows(verdict: Verdict, short: Encode) -> list[Sequence[str]]:
    quarantined = quarantined_ids(verdict)
    return [
        (
            short(scenario.id) + _mark(scenario, quarantined),
            short(scenario.category) if scenario.category else "",
            f"{scenario.passed_trials} of {scenario.trials}",
            short(scenario.reason),
        )
        for scenario in sorted(verdict.scenarios_failed, key=lambda scenario: not scenario.required)
    ]


def _undecided_scenarios(verdict: Verdict) -> _Section:
    # `undecided` writes `-` for a missing category, as a terminal needs; here the cell stays empty.
    rows = [
        (id_, "" if category == code_span("-") else category, why)
        for id_, category, why in undecided(verdict, code_span)
    ]
    return _table(f"### {UNDECIDED}", ("scenario", "category", "why"), rows, len(verdict.scenarios_undecided))


def _list(heading: str, items: Sequence[str]) -> _Section:
    return _Section(heading, (), tuple(f"- {item}" for item in items), len(items))
