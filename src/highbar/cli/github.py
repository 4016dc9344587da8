"""Report to GitHub Actions: annotations go to the log, the summary and the outputs to the files of the step.

Annotations go to standard error, which the runner reads too: standard output has only the requested report.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from highbar.cli import streams
from highbar.cli.outputs import Output
from highbar.errors import Problem, ReportError
from highbar.model import Verdict
from highbar.report import github, markdown
from highbar.report.headline import headline

if TYPE_CHECKING:  # few runs compare
    from highbar.model.comparison import Comparison

_PLAIN = re.compile(r"[A-Za-z0-9_.-]*")


def report_verdict(verdict: Verdict, exit_code: int, outputs: Sequence[Output]) -> None:
    """Write annotations, summary and outputs of a verdict. Raises ReportError if a step file cannot be written."""
    streams.send_commands(github.rule_annotations(verdict, _located))
    short = f"## {headline(verdict)}\n"
    _report(github.summary(verdict), short, github.outputs(verdict, exit_code), outputs)


def report_problems(problems: Iterable[Problem], exit_code: int, outputs: Sequence[Output]) -> None:
    """The same as `report_verdict`, if nothing could be judged."""
    _report_problems(list(problems), github.refusal_outputs(exit_code), outputs)


def report_comparison(comparison: Comparison, exit_code: int, outputs: Sequence[Output]) -> None:
    """The same as `report_verdict`, for a comparison."""
    from highbar.report import comparison_markdown, comparison_words  # few runs compare

    streams.send_commands(github.rule_annotations(comparison_words.as_verdict(comparison), _located))
    values = github.comparison_outputs(comparison, exit_code)
    _report(comparison_markdown.render(comparison), f"## {values['compare_headline']}\n", values, outputs)


def report_no_comparison(problems: Iterable[Problem], exit_code: int, outputs: Sequence[Output]) -> None:
    """The same as `report_verdict`, if nothing could be compared."""
    values = {f"compare_{name}": value for name, value in github.refusal_outputs(exit_code).items()}
    _report_problems(list(problems), values, outputs)


def _report_problems(problems: Sequence[Problem], values: Mapping[str, str], outputs: Sequence[Output]) -> None:
    streams.send_commands(github.problem_annotations(problems, _located))
    text = markdown.render_problems(problems)
    _report(text, text.partition("\n")[0] + "\n", values, outputs)


def _report(summary: str, short: str, values: Mapping[str, str], written: Sequence[Output]) -> None:
    page, step = os.environ.get("GITHUB_STEP_SUMMARY"), os.environ.get("GITHUB_OUTPUT")
    # If --output already wrote a report to this page, the summary would repeat it.
    if page and os.path.realpath(page) not in {os.path.realpath(output.file) for output in written}:
        _append(page, _fitting(page, summary, short))
    if step:
        _append(step, "".join(_assignment(name, value) for name, value in values.items()))


def _fitting(page: str, summary: str, short: str) -> str:
    """The summary, its heading alone, or nothing, whichever fits: GitHub drops a page that is too large."""
    taken = 0
    with suppress(OSError):  # the page does not exist yet; if it cannot be written, _append reports it
        taken = Path(page).stat().st_size
    fits = taken + len(summary.encode()) <= github.LARGEST_SUMMARY
    return summary if fits else short if taken + len(short.encode()) <= github.LARGEST_SUMMARY else ""


def _assignment(name: str, value: str) -> str:
    """A line `name=value`; other values use a heredoc with a random delimiter, so that no output can end it."""
    if _PLAIN.fullmatch(value):
        return f"{name}={value}\n"
    line = f"highbar_{secrets.token_hex(16)}"
    return f"{name}<<{line}\n{value}\n{line}\n"


def _append(file: str, text: str) -> None:
    try:
        with Path(file).open("a", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except OSError as error:
        raise ReportError(f"{file} could not be written: {error.strerror or error}") from error


def _located(file: str) -> str | None:
    """A file's path relative to the root of the checkout, as annotations name it; None if it is outside."""
    root = os.path.realpath(os.environ.get("GITHUB_WORKSPACE") or ".")
    path = os.path.relpath(os.path.realpath(file), root)
    return None if path == os.pardir or path.startswith(f"{os.pardir}{os.sep}") else path.replace(os.sep, "/")
