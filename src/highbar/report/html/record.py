"""What was judged: files with their digests, versions, notes, and the text of the policy."""

from __future__ import annotations

from collections.abc import Iterable

from highbar.errors import Problem
from highbar.language.digits import amount
from highbar.model import NO_POLICY, Against, Source, Verdict
from highbar.report import advice, headline, progressive
from highbar.report.html.markup import EMPTY, Markup, element, join, to_markup
from highbar.report.html.parts import code, folded, list_section, named_section, table

_MOST_LINES = 500
"""Lines of a diff on the page; the JSON report has more."""


def progressive_section(verdict: Verdict) -> Markup:
    """The progress of the progressive rules."""
    rows = [tuple(Markup(cell) for cell in row) for row in progressive.progressive_rows(verdict, code)]
    if not rows:
        return EMPTY
    listed = table(("rule", *progressive.COLUMNS), rows, "steps")
    return folded(progressive.HEADING, "steps", listed)


def difference_section(verdict: Verdict) -> Markup:
    """What differs from the bar at the git ref."""
    title, lines = headline.difference_rows(verdict, to_markup, _MOST_LINES)
    if not lines:
        return EMPTY
    shown = element("pre", Markup("\n".join(lines)), class_="policy", tabindex=0)
    return named_section(Markup(title), "differs", shown)


def advice_section(verdict: Verdict) -> Markup:
    """Why nothing was judged, and the comparison with the typical thresholds; empty if there is a verdict."""
    if verdict.verdict is not None:
        return EMPTY
    listed = table(("metric", *advice.COLUMNS), advice.advice_rows(verdict), "steps") if verdict.advice else EMPTY
    return named_section(advice.HEADING, "advice", problem_list(verdict.problems), listed)


def problem_list(problems: Iterable[Problem]) -> Markup:
    """A list of all problems, each with its place and hint."""
    return element("ul", *(element("li", *_problem(problem)) for problem in problems), class_="problems")


def _problem(problem: Problem) -> tuple[Markup, ...]:
    place = problem.place_text
    hint = element("p", element("b", "hint: "), problem.hint) if problem.hint else EMPTY
    return element("p", code(place) if place else EMPTY, " ", problem.coded_message), hint


def notes_section(verdict: Verdict) -> Markup:
    """The notes of the verdict, except those shown at the top."""
    return list_section("Notes", "notes", headline.other_notes(verdict))


def judge_section(verdict: Verdict) -> Markup:
    """The facts about the judge; empty if no trial was judged by a judge."""
    if verdict.judge is None:
        return EMPTY
    from highbar.report.judge_words import judge_details  # few results use a judge

    facts = [(name, Markup(text)) for name, text in judge_details(verdict.judge, code)]
    listed = element("dl", *(join(element("dt", name), element("dd", text)) for name, text in facts), class_="record")
    return folded("The judge", "judge", listed)


def record_section(verdict: Verdict) -> Markup:
    """What is needed to reproduce the verdict: versions, policy, results with digests, confidence."""
    confidence = amount(verdict.confidence, "ratio", [verdict.confidence])
    version = verdict.details.version if verdict.details else None
    entries = [
        ("Agent version", code(verdict.agent_version) if verdict.agent_version is not None else join("not recorded")),
        ("Policy", _source(verdict.policy) if verdict.policy else join(NO_POLICY)),
        *([("Also judged by", _at_ref(verdict.against))] if verdict.against else []),
        *(("Results", _source(source)) for source in verdict.results),
        ("Confidence", join(f"{confidence} for each end of an interval")),
        *([("Highbar", join(version))] if version else []),
    ]
    listed = element("dl", *(join(element("dt", name), element("dd", text)) for name, text in entries), class_="record")
    return folded("What was judged", "judged", listed, _policy(verdict))


def _at_ref(against: Against) -> Markup:
    return join("the policy at ", code(against.ref), f" ({against.commit[:12]}), by which it is ", against.verdict)


def _source(source: Source) -> Markup:
    digest = (
        join(element("br"), element("span", f"sha256 {source.sha256}", class_="digest")) if source.sha256 else EMPTY
    )
    return join(code(source.file), digest)


def _policy(verdict: Verdict) -> Markup:
    """The policy's text with an id for each line, so that a rule can link to its line."""
    text = verdict.details.policy_text if verdict.details else None
    if not text:
        return EMPTY
    numbered = [
        element("span", line, Markup("\n"), id=f"policy-{number}")
        for number, line in enumerate(text.rstrip("\n").split("\n"), 1)
    ]
    return element("details", element("summary", "The policy"), element("pre", *numbered, class_="policy", tabindex=0))
