"""The verdict in two or three sentences: what failed, the worst scenario with a quote, and how certain that is."""

from __future__ import annotations

from highbar.language.phrases import count
from highbar.model import FailedScenario, Verdict
from highbar.model.details import ScenarioDetail
from highbar.report.html.markup import EMPTY, Markup, element, join, to_markup
from highbar.report.html.parts import code
from highbar.report.reruns import second_run_sentence
from highbar.report.titles import demands
from highbar.report.visible import cut

_MOST_TITLES = 3
"""Demands that the lead names; the list below has all."""
_LONGEST_QUOTE = 160
"""Characters that the lead quotes of a reason or a reply: about one line."""


def lead(verdict: Verdict) -> Markup:
    """The sentences at the top of the page; empty if nothing was judged."""
    if verdict.verdict is None:
        return EMPTY
    sentences = [part for part in (_demands(verdict), _worst(verdict), to_markup(second_run_sentence(verdict))) if part]
    return element("p", *(part for each in sentences for part in (each, " ")), class_="lead") if sentences else EMPTY


def _demands(verdict: Verdict) -> Markup:
    """`Not met: Safety rate is 100%; Accuracy is at least 95%; and 2 more.`, or `9 demands are met.` if all are."""
    blocking = [each for each in demands(verdict, to_markup) if each.rule.level == "blocking"]
    missed = [each.title for each in blocking if each.rule.outcome != "pass"]
    if not blocking:
        return Markup("No demand blocks.")
    if not missed:
        return Markup(f"{count(len(blocking), 'demand')} {'is' if len(blocking) == 1 else 'are'} met.")
    rest = [f"and {len(missed) - _MOST_TITLES} more"] if len(missed) > _MOST_TITLES else []
    return Markup(f"Not met: {'; '.join([*missed[:_MOST_TITLES], *rest])}.")


def _worst(verdict: Verdict) -> Markup:
    """A sentence on the worst failed scenario, a required one if any: why it failed, and what the agent replied."""
    if not verdict.scenarios_failed:
        return EMPTY
    worst = min(verdict.scenarios_failed, key=lambda scenario: not scenario.required)  # the list has the worst first
    quote = _reply(verdict, worst)
    replied = join(", where the agent replied ", element("q", quote)) if quote else EMPTY
    return join(
        "The worst failure is ", code(worst.id), " (", to_markup(cut(worst.reason, _LONGEST_QUOTE)), ")", replied, "."
    )


def _reply(verdict: Verdict, worst: FailedScenario) -> str:
    details = verdict.details.rows.scenarios if verdict.details else ()
    detail: ScenarioDetail | None = next((each for each in details if each.scenario.id == worst.id), None)
    outputs = (trial.output for trial in detail.trials if not trial.passed) if detail else ()
    text = next((output.text for output in outputs if output and output.text.strip()), "")
    return cut(" ".join(text.split()), _LONGEST_QUOTE).removesuffix(".")
