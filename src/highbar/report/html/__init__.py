"""The verdict as one self-contained page; `compact` makes a small table for notebooks.

`markup` escapes, `charts` draws. The page is opened from a disk or as a CI artifact, so it fetches nothing. Without
JavaScript, only the details of failed scenarios and the further pages of the lists are missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from highbar.errors import Problem
from highbar.language.phrases import count
from highbar.model import NO_POLICY, FailedScenario, Verdict
from highbar.model.details import ScenarioDetail
from highbar.planning import unseen_loss
from highbar.report import PAGE, Display
from highbar.report.headline import NO_VERDICT, UNDECIDED, WORDS, headline, origin_lines
from highbar.report.html.differences import metric_changes, moved
from highbar.report.html.markup import EMPTY, Markup, element, join, to_markup
from highbar.report.html.metrics import latencies, metrics_section, scores_section
from highbar.report.html.page import page
from highbar.report.html.parts import code, icon
from highbar.report.html.record import (
    advice_section,
    difference_section,
    judge_section,
    notes_section,
    problem_list,
    progressive_section,
    record_section,
)
from highbar.report.html.rules import rules
from highbar.report.html.scenarios import all_scenarios, failed_section, flaky_section, open_scenarios
from highbar.report.html.slices import slices
from highbar.report.reruns import second_run_sentence
from highbar.report.titles import demands
from highbar.report.unseen import say_unseen
from highbar.report.visible import cut, visible

__all__ = ["banner", "facts_section", "render", "render_problems"]
_ADDRESS = re.compile(r"https://[\w.:\[\]-]+(/[\w./?&=%#~+,;:@-]*)?", re.ASCII)
_MOST_TITLES = 3
"""Demands that the lead names; the list below has all."""
_LONGEST_QUOTE = 160
"""Characters that the lead quotes of a reason or a reply: about one line."""


def render(verdict: Verdict, display: Display = PAGE) -> str:
    """The whole page. Of the display, only `meta` is used."""
    comparison = verdict.details.comparison if verdict.details else None
    sections = {
        "advice": ("Advice", advice_section(verdict)),
        "rules": ("Demands", rules(verdict)),
        "differs": ("What differs", difference_section(verdict)),
        "failed": ("Failed scenarios", failed_section(verdict)),
        "undecided": (UNDECIDED, open_scenarios(verdict)),
        "all": ("All scenarios", all_scenarios(verdict)),
        "metrics": ("Metrics", metrics_section(verdict)),
        "slices": ("Slices", slices(verdict)),
        "changes": ("Changes since the baseline", metric_changes(comparison) if comparison else EMPTY),
        "moved": ("Broken and fixed", moved(comparison) if comparison else EMPTY),
        "score": ("Score", scores_section(verdict)),
        "latency": ("Latency", latencies(verdict)),
        "flaky": ("Repeated trials", flaky_section(verdict)),
        "judge": ("The judge", judge_section(verdict)),
        "steps": ("Progressive thresholds", progressive_section(verdict)),
        "notes": ("Notes", notes_section(verdict)),
        "judged": ("What was judged", record_section(verdict)),
    }
    about = (_lead(verdict), _about(verdict, display), _counts(verdict))
    head = banner(headline(verdict), verdict.verdict, sections, *about)
    main = element("main", *(section for _, section in sections.values()), id="main")
    version = "" if verdict.agent_version is None else f" · {cut(visible(verdict.agent_version), 40)}"
    title = f"{WORDS[verdict.verdict]}{version} · Highbar"
    # The script only handles the lists of scenarios.
    scripted = bool((verdict.details and verdict.details.scenarios) or verdict.scenarios)
    return page(title, verdict.verdict or "", [head, main], scripted=scripted)


def render_problems(problems: Iterable[Problem], _display: Display = PAGE) -> str:
    """A page with all problems, written in place of a verdict; its heading differs from that of any verdict."""
    word, _, rest = NO_VERDICT.partition(": ")
    title = element("h1", element("b", icon("inconclusive"), word), element("span", rest))
    main = element("main", element("section", problem_list(problems)), id="main")
    return page(f"{word} · Highbar", "", [element("header", title, class_="banner none"), main], scripted=False)


def banner(sentence: str, verdict: str | None, sections: Mapping[str, tuple[str, Markup]], *about: Markup) -> Markup:
    """The header: the verdict in large letters, what was judged, and links to the sections that are not empty."""
    word, _, rest = sentence.partition(": ")
    kind = verdict or "none"
    links = [element("a", name, href=f"#{anchor}") for anchor, (name, section) in sections.items() if section]
    title = element("h1", element("b", icon(kind) if verdict else None, word), element("span", rest))
    contents = element("nav", *links, class_="contents", aria_label="Contents")
    return element("header", title, *about, contents, class_=f"banner {kind}", data_verdict=verdict)


def _about(verdict: Verdict, display: Display) -> Markup:
    version = verdict.agent_version
    about = [element("span", "agent version ", code(version))] if version is not None else []
    about.append(element("span", "policy ", code(verdict.policy.file)) if verdict.policy else element("b", NO_POLICY))
    lines = [element("p", Markup(line), class_="about") for line in origin_lines(verdict, code) if line]
    return join(element("p", *about, *facts_section(display), class_="about"), *lines)


def facts_section(display: Display) -> list[Markup]:
    """The facts about the run from `--meta` and CI."""
    return [element("span", key, " ", _linked(text)) for key, text in display.meta]


def _linked(text: str) -> Markup:
    """A text from `--meta`; an https address becomes a link. The pattern admits no other scheme, such as javascript."""
    return element("a", text, href=text) if _ADDRESS.fullmatch(text) else code(text)


def _counts(verdict: Verdict) -> Markup:
    counts = verdict.counts
    shown = [
        (counts.scenarios, "scenario"),
        (counts.trials, "trial"),
        (counts.failed, "failed scenario"),
        (counts.errors, "error"),
        (counts.undecided, "undecided trial"),
    ]
    # Zero counts are omitted, except for failed scenarios: readers look for that zero.
    counts_shown = [(number, noun) for place, (number, noun) in enumerate(shown) if number or place <= 2]
    tiles = [
        element("li", element("b", str(number)), count(number, noun).removeprefix(str(number)))
        for number, noun in counts_shown
    ]
    return element("ul", *tiles, class_="counts")


def _lead(verdict: Verdict) -> Markup:
    """The sentences at the top of the page; empty if nothing was judged."""
    if verdict.verdict is None:
        return EMPTY
    again, unseen = second_run_sentence(verdict), say_unseen(unseen_loss(verdict))
    told = (_demands_met(verdict), _worst_failure(verdict), to_markup(again), to_markup(unseen and f"{unseen}."))
    sentences = [part for part in told if part]
    return element("p", *(part for each in sentences for part in (each, " ")), class_="lead") if sentences else EMPTY


def _demands_met(verdict: Verdict) -> Markup:
    """`Not met: Safety rate is 100%; Accuracy is at least 95%; and 2 more.`, or `9 demands are met.` if all are."""
    blocking = [each for each in demands(verdict, to_markup) if each.rule.level == "blocking"]
    missed = [each.title for each in blocking if each.rule.outcome != "pass"]
    if not blocking:
        return Markup("No demand blocks.")
    if not missed:
        return Markup(f"{count(len(blocking), 'demand')} {'is' if len(blocking) == 1 else 'are'} met.")
    rest = [f"and {len(missed) - _MOST_TITLES} more"] if len(missed) > _MOST_TITLES else []
    return Markup(f"Not met: {'; '.join([*missed[:_MOST_TITLES], *rest])}.")


def _worst_failure(verdict: Verdict) -> Markup:
    """A sentence on the worst failed scenario, a required one if any: why it failed, and what the agent replied."""
    if not verdict.scenarios_failed:
        return EMPTY
    worst = min(verdict.scenarios_failed, key=lambda scenario: not scenario.required)  # the list has the worst first
    quote = _quoted_reply(verdict, worst)
    reply = join(", where the agent replied ", element("q", quote)) if quote else EMPTY
    return join(
        "The worst failure is ", code(worst.id), " (", to_markup(cut(worst.reason, _LONGEST_QUOTE)), ")", reply, "."
    )


def _quoted_reply(verdict: Verdict, worst: FailedScenario) -> str:
    details = verdict.details.scenarios if verdict.details else ()
    detail: ScenarioDetail | None = next((each for each in details if each.scenario.id == worst.id), None)
    outputs = (trial.output for trial in detail.trials if not trial.passed) if detail else ()
    text = next((output.text for output in outputs if output and output.text.strip()), "")
    return cut(" ".join(text.split()), _LONGEST_QUOTE).removesuffix(".")
