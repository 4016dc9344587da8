"""The verdict as one self-contained page, and as a small table for notebooks.

`markup` escapes, `charts` draws. The page is read from a disk or as an artifact of CI: it fetches nothing. Without
JavaScript everything is there but what a failed scenario opens to.
"""

from __future__ import annotations

from collections.abc import Iterable

from highbar.errors import Problem
from highbar.model import NO_POLICY, Verdict
from highbar.report import PAGE, Display
from highbar.report.headline import NO_VERDICT, WORDS, headline
from highbar.report.html.compact import compact
from highbar.report.html.markup import EMPTY, Markup, element, join
from highbar.report.html.metrics import latencies, metrics, scores
from highbar.report.html.page import page
from highbar.report.html.parts import code, icon, plural
from highbar.report.html.record import noted, record, steps
from highbar.report.html.rules import rules
from highbar.report.html.scenarios import failed, flaky
from highbar.report.html.slices import slices
from highbar.report.visible import cut, visible

__all__ = ["compact", "render", "render_problems"]


def render(verdict: Verdict, _display: Display = PAGE) -> str:
    """The whole page; the display does not matter."""
    sections = {
        "rules": ("Rules", rules(verdict)),
        "failed": ("Failed scenarios", failed(verdict)),
        "metrics": ("Metrics", metrics(verdict)),
        "slices": ("Slices", slices(verdict)),
        "score": ("Score", scores(verdict)),
        "latency": ("Latency", latencies(verdict)),
        "flaky": ("Repeated trials", flaky(verdict)),
        "steps": ("Progressive thresholds", steps(verdict)),
        "notes": ("Notes", noted(verdict)),
        "judged": ("What was judged", record(verdict)),
    }
    links = [element("a", name, href=f"#{anchor}") for anchor, (name, section) in sections.items() if section]
    version = "" if verdict.agent_version is None else f" · {cut(visible(verdict.agent_version), 40)}"
    scripted = bool(verdict.details and verdict.details.rows.scenarios)
    main = element("main", *(section for _, section in sections.values()))
    contents = element("nav", *links, class_="contents", aria_label="Contents")
    return page(
        f"{WORDS[verdict.verdict]}{version} · Highbar",
        verdict.verdict,
        [_banner(verdict, contents), main],
        scripted=scripted,
    )


def render_problems(problems: Iterable[Problem], _display: Display = PAGE) -> str:
    """A page that no verdict has, with every problem that kept one from being made."""
    word, _, rest = NO_VERDICT.partition(": ")
    head = element(
        "header", element("h1", element("b", icon("unsure"), word), element("span", rest)), class_="banner none"
    )
    listed = element("ul", *(element("li", *_problem(problem)) for problem in problems), class_="problems", id="rules")
    return page(f"{word} · Highbar", "", [head, element("main", element("section", listed))], scripted=False)


def _problem(problem: Problem) -> tuple[Markup, ...]:
    place = ":".join(str(part) for part in (problem.file, problem.line, problem.column) if part is not None)
    hint = element("p", element("b", "hint: "), problem.hint) if problem.hint else EMPTY
    return element("p", code(place) if place else EMPTY, " ", problem.message), hint


def _banner(verdict: Verdict, contents: Markup) -> Markup:
    """The verdict, legible at once, what it was about, and how much evidence there was."""
    word, _, rest = headline(verdict).partition(": ")
    kind = {"pass": "pass", "fail": "fail"}.get(verdict.verdict, "unsure")
    about = (
        [element("span", "agent version ", code(verdict.agent_version))] if verdict.agent_version is not None else []
    )
    about.append(element("span", "policy ", code(verdict.policy.file)) if verdict.policy else element("b", NO_POLICY))
    title = element("h1", element("b", icon(kind), word), element("span", rest))
    return element(
        "header",
        title,
        element("p", *about, class_="about"),
        _counts(verdict),
        contents,
        class_=f"banner {kind}",
        data_verdict=verdict.verdict,
    )


def _counts(verdict: Verdict) -> Markup:
    counts = verdict.counts
    shown = [
        (counts.scenarios, "scenario"),
        (counts.trials, "trial"),
        (counts.failed, "failed scenario"),
        (counts.errors, "error"),
        (counts.unjudged, "unjudged trial"),
    ]
    # What there is none of is left out, but for failures: that there are none is what the reader looks for.
    kept = [(number, noun) for place, (number, noun) in enumerate(shown) if number or place <= 2]
    tiles = [
        element("li", element("b", str(number)), join(plural(number, noun).removeprefix(str(number))))
        for number, noun in kept
    ]
    return element("ul", *tiles, class_="counts")
