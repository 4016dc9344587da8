"""For GitHub Actions: annotations at the policy's lines, a summary page of the run, and outputs of the step.

A workflow command is a line that begins with `::`. Text gets into one only through `encode_property` and
`encode_message`. Outputs contain only the verdict, counts and digests: no text of the agent gets into a step's files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from highbar.errors import Problem
from highbar.model import Verdict
from highbar.report import markdown
from highbar.report.headline import NO_VERDICT, headline, warnings
from highbar.report.reruns import how_sure, is_close
from highbar.report.titles import DemandResult, demands
from highbar.report.visible import cut, visible

if TYPE_CHECKING:  # few runs compare, and creating these classes takes time
    from highbar.model.comparison import Comparison

Located = Callable[[str], str | None]
"""From a file to its path in the repository; None if it is outside."""

MOST_ANNOTATIONS = 10  # of one kind in one step: GitHub shows no more
LARGEST_SUMMARY = 1_048_576  # bytes in one step: GitHub's limit
_LONGEST_SUMMARY = 200_000  # characters; leaves room for what else the step writes
_LONGEST_MESSAGE = 1000
"""Characters of an annotation, which GitHub shows beside the code."""
_LONGEST_TITLE = 200
"""Characters of an annotation's title."""


class Annotation(Struct, frozen=True):
    """A log line that GitHub shows beside the code; `kind` is error or warning."""

    kind: str
    message: str
    title: str = ""
    file: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        found = (
            ("file", self.file),
            ("line", self.line if self.file else None),
            ("col", self.column if self.file else None),
            ("title", cut(visible(self.title), _LONGEST_TITLE) or None),
        )
        properties = ",".join(f"{name}={encode_property(str(value))}" for name, value in found if value is not None)
        return f"::{self.kind}{' ' if properties else ''}{properties}::{encode_message(self.message)}"


def rule_annotations(verdict: Verdict, located: Located) -> str:
    """A line for each problem and each missed demand, at the place of its first rule; no more than GitHub shows."""
    missed = [demand for demand in demands(verdict) if demand.rule.outcome != "pass"]
    errors = _of_problems(verdict.problems, located)  # GitHub counts both kinds of errors together
    errors += [_of_demand(demand, verdict, "error", located) for demand in missed if demand.rule.level == "blocking"]
    warned = [_of_demand(demand, verdict, "warning", located) for demand in missed if demand.rule.level == "warning"]
    return _lines(_cut_to_limit(errors)) + _lines(_cut_to_limit(warned))


def problem_annotations(problems: Iterable[Problem], located: Located) -> str:
    """A line for each problem, written in place of a verdict; no more than GitHub shows."""
    return _lines(_cut_to_limit(_of_problems(problems, located)))


def _of_problems(problems: Iterable[Problem], located: Located) -> list[Annotation]:
    return [
        Annotation(
            "error",
            problem.coded_message + (f" (hint: {problem.hint})" if problem.hint else ""),
            NO_VERDICT,
            located(problem.file) if problem.file else None,
            problem.line,
            problem.column,
        )
        for problem in problems
    ]


def summary(verdict: Verdict) -> str:
    """The summary page: the Markdown report, which may be longer here than in a comment."""
    return markdown.within(verdict, _LONGEST_SUMMARY)


def outputs(verdict: Verdict, exit_code: int) -> Mapping[str, str]:
    """The outputs of the step."""
    counts = verdict.counts
    missed = [rule for rule in verdict.rules if rule.outcome != "pass" and rule.level == "blocking"]
    return {
        "verdict": verdict.verdict or "none",
        "exit_code": str(exit_code),
        "headline": headline(verdict),
        "rules_failed": str(len(missed)),
        "warnings": str(warnings(verdict)),
        "scenarios": str(counts.scenarios),
        "scenarios_failed": str(counts.failed),
        "trials": str(counts.trials),
        "errors": str(counts.errors),
        "undecided": str(counts.undecided),
        "policy_sha256": (verdict.policy.sha256 or "") if verdict.policy else "",
    }


def comparison_outputs(comparison: Comparison, exit_code: int) -> Mapping[str, str]:
    """The outputs of a comparison. The names differ from those of a check, so that neither replaces the other."""
    from highbar.report import comparison_words  # few runs compare

    missed = [rule for rule in comparison.rules if rule.outcome != "pass" and rule.level == "blocking"]
    return {
        "compare_verdict": comparison.verdict or "none",
        "compare_exit_code": str(exit_code),
        "compare_headline": comparison_words.headline(comparison),
        "compare_direction": comparison.direction,
        "compare_rules_failed": str(len(missed)),
        "compare_scenarios": str(comparison.pairs),
        "compare_broken": str(comparison.passes.broken),
        "compare_fixed": str(comparison.passes.fixed),
    }


def refusal_outputs(exit_code: int) -> Mapping[str, str]:
    """The outputs if nothing could be judged; they replace the verdict of an earlier command in the step."""
    return {"verdict": "none", "exit_code": str(exit_code), "headline": NO_VERDICT}


def _of_demand(demand: DemandResult, verdict: Verdict, kind: str, located: Located) -> Annotation:
    rule = demand.rule
    parts = [rule.reason, how_sure(rule, verdict) if is_close(rule) else "", *demand.descriptions, demand.places()]
    return Annotation(
        kind,
        "\n".join(part for part in parts if part),
        demand.title,
        located(rule.place.file) if rule.place.file else None,
        rule.place.line,
        rule.place.column,
    )


def _cut_to_limit(found: list[Annotation]) -> list[Annotation]:
    """As many annotations as GitHub shows; if there are more, the last one says how many."""
    if len(found) <= MOST_ANNOTATIONS:
        return found
    shown = found[: MOST_ANNOTATIONS - 1]
    rest = Annotation(found[0].kind, "the summary of the run has them all", f"… and {len(found) - len(shown)} more")
    return [*shown, rest]


def _lines(found: Iterable[Annotation]) -> str:
    return "".join(f"{annotation}\n" for annotation in found)


def encode_message(text: str) -> str:
    r"""The only encoder for the text after the second `::`.

    >>> encode_message("50%\nnext")
    '50%25%0Anext'
    """
    # Each line is encoded before they are joined, or `visible` would escape the newlines, and `%0A` become `%250A`.
    lines = (cut(visible(line), _LONGEST_MESSAGE) for line in text.split("\n"))
    return "%0A".join(line.replace("%", "%25") for line in lines)


def encode_property(text: str) -> str:
    """The only encoder for the value of a property.

    >>> encode_property("a: b, c")
    'a%3A b%2C c'
    """
    return visible(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
