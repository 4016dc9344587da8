"""Report: a verdict, a comparison, a calibration or a plan goes in, text comes out. Pure; writes no file.

`REPORTERS`, `COMPARISONS`, `CALIBRATIONS` and `PLANS` list the formats. To add one, write a module here with
`render(verdict, display) -> str` and `render_problems(problems, display) -> str` that pass every untrusted text through
one encoder of the module, and name it in the table. Another distribution adds a format of the verdict with an entry
point in the group `highbar.reporters` that names such a module.

    headline, titles, reruns              sentences that several reports share: the verdict and where it comes from, a
                                          demand, a second run
    value_words, judge_words              the same about a value and about the judge; also early_words, failures,
                                          advice and progressive
    visible, layout                       harmless text, lines for a terminal
    comparison_*, calibration_*           reports of a comparison and of a calibration; `_words` is what they share
    history_*, plan_text, baseline_text   what other commands print; also schema_results
    github, frames                        what a workflow shows; metrics, rules and scenarios as data frames
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from highbar.errors import InputError, Problem, ReportError
from highbar.model import Verdict
from highbar.removed import removed_format

if TYPE_CHECKING:  # few runs compare, and creating these classes takes time
    from highbar.model.comparison import Comparison

GROUP = "highbar.reporters"
"""The entry point group in which other distributions add formats."""


class Display(Struct, frozen=True):
    """What the reader's screen can show, and how much the reader wants to see. The defaults are those of a file."""

    width: int = 80
    color: bool = False
    height: int | None = None  # in lines; None if nothing scrolls out of sight, as in a file
    verbose: bool = False  # show everything, not only what did not pass
    meta: tuple[tuple[str, str], ...] = ()  # facts about the run from --meta or CI: date, commit, link
    report_option: str = "--output"  # the option that writes a report to a file


PAGE = Display()


class Reporter(Struct, frozen=True):
    """A format: the module and function that render it, and its file endings.

    The module is loaded at the first call. Besides `function` it has one named `{function}_problems`, which renders the
    problems if there is nothing to report; or `problems_from` names the module whose `render_problems` does that.
    `lists_scenarios`: the format needs `Verdict.scenarios`, which costs the engine one more query.
    """

    module: str
    suffixes: tuple[str, ...] = ()
    details: bool = False  # whether it shows Verdict.details, which the verdict itself does not need
    lists_scenarios: bool = False
    function: str = "render"
    problems_from: str = ""

    def __call__(self, found: Any, display: Display = PAGE) -> str:
        """The verdict, comparison, calibration or plan as text that ends with a newline."""
        text: str = getattr(import_module(self.module), self.function)(found, display)
        return text

    def refusal(self, problems: Iterable[Problem], display: Display = PAGE) -> str:
        """A report of all problems, written if nothing could be judged."""
        name = "render_problems" if self.problems_from else f"{self.function}_problems"
        text: str = getattr(import_module(self.problems_from or self.module), name)(problems, display)
        return text


REPORTERS: Mapping[str, Reporter] = MappingProxyType(
    {
        "text": Reporter("highbar.report.text", (".txt",)),
        "json": Reporter("highbar.report.json", (".json",)),
        "markdown": Reporter("highbar.report.markdown", (".md", ".markdown")),
        "html": Reporter("highbar.report.html", (".html", ".htm"), details=True, lists_scenarios=True),
        "junit": Reporter("highbar.report.junit", (".xml",), lists_scenarios=True),
        # Its details are what changed since the baseline.
        "github-comment": Reporter("highbar.report.markdown", details=True, function="render_comment"),
    }
)
COMPARISONS: Mapping[str, Reporter] = MappingProxyType(
    {
        "text": Reporter("highbar.report.comparison_text", problems_from="highbar.report.text"),
        "json": Reporter("highbar.report.json", function="render_comparison"),
        "markdown": Reporter("highbar.report.comparison_markdown", problems_from="highbar.report.markdown"),
        "html": Reporter("highbar.report.comparison_html", details=True, problems_from="highbar.report.html"),
        "junit": Reporter("highbar.report.junit", function="render_comparison", problems_from="highbar.report.junit"),
    }
)
CALIBRATIONS: Mapping[str, Reporter] = MappingProxyType(
    {
        "text": Reporter("highbar.report.calibration_text", problems_from="highbar.report.text"),
        "json": Reporter("highbar.report.json", function="render_calibration"),
        "html": Reporter("highbar.report.calibration_html", problems_from="highbar.report.html"),
    }
)
PLANS: Mapping[str, Reporter] = MappingProxyType(
    {
        "text": Reporter("highbar.report.plan_text"),
        "json": Reporter("highbar.report.json", function="render_plan"),
    }
)


def render(
    found: Verdict | Comparison,
    format: str = "text",  # noqa: A002 - as the command line calls it
    meta: Mapping[str, str] | None = None,
) -> str:
    """A verdict or a comparison as text, in one of the formats that `--format` takes, such as "markdown".

    `meta` has the same keys as `--meta`; HTML shows them.

    Some formats show more than the verdict contains: HTML shows the trials of failed scenarios, and of a comparison
    both outputs of the scenarios that broke or were fixed; HTML and JUnit list all scenarios. For these the results
    are read again. Raises ReportError if they have changed, and InputError if the format does not exist.
    """
    page = Display(meta=tuple((meta or {}).items()))
    if isinstance(found, Verdict):
        chosen = reporter(format)
        return chosen(found.complete(details=chosen.details, scenarios=chosen.lists_scenarios), page)
    if format not in COMPARISONS:
        raise _unknown(format, COMPARISONS, "a format of a comparison")
    chosen = COMPARISONS[format]
    return chosen(found.complete() if chosen.details else found, page)


def report_formats() -> tuple[str, ...]:
    """The names of all formats of a verdict, including those of installed distributions."""
    return tuple(dict.fromkeys((*REPORTERS, *_entry_points())))


def reporter(name: str) -> Reporter:
    """The verdict's format with this name. Raises InputError if it does not exist or its distribution is broken."""
    return REPORTERS[name] if name in REPORTERS else _installed(name)


def format_of(file: str) -> str | None:
    """The name of the format with this file's ending; None if no format has that ending."""
    name = file.lower()
    own = next((known for known, each in REPORTERS.items() if name.endswith(each.suffixes)), None)
    return own or next((known for known in _entry_points() if name.endswith(reporter(known).suffixes)), None)


def _unknown(name: str, known: Iterable[str], what: str = "a format") -> InputError:
    return InputError(
        removed_format(name)
        or Problem("option.unknown-format", f"{name!r} is not {what}", hint=f"wanted one of {', '.join(known)}")
    )


class _Installed(Reporter, frozen=True):
    """A format of another distribution, whose code may fail in any way; `module` is the name of its entry point."""

    def __call__(self, found: Any, display: Display = PAGE) -> str:
        return self._text("render", found, display)

    def refusal(self, problems: Iterable[Problem], display: Display = PAGE) -> str:
        """A report of all problems, written in place of a verdict."""
        return self._text("render_problems", tuple(problems), display)

    def _text(self, function: str, found: object, display: Display) -> str:
        failed = f"the format {self.module!r} of an installed package failed"
        try:
            text = getattr(_load(self.module), function)(found, display)
        except Exception as error:
            raise ReportError(f"{failed}: {type(error).__name__}: {error}") from error
        if not isinstance(text, str):
            raise ReportError(f"{failed}: {function} gave {type(text).__name__}, not text")
        return text


def _installed(name: str) -> Reporter:
    """A format of another distribution, with the optional constants SUFFIXES, DETAILS and LISTS_SCENARIOS."""
    if name not in _entry_points():
        raise _unknown(name, report_formats())
    module = _load(name)
    suffixes = tuple(str(suffix).lower() for suffix in getattr(module, "SUFFIXES", ()))
    return _Installed(
        name, suffixes, bool(getattr(module, "DETAILS", False)), bool(getattr(module, "LISTS_SCENARIOS", False))
    )


def _load(name: str) -> Any:
    """The module of an entry point. Raises InputError if it cannot be loaded or lacks a required function."""
    hint = "repair or remove that package"
    try:
        module = _entry_points()[name].load()
    except Exception as error:
        message = f"the format {name!r} of an installed package cannot be loaded: {type(error).__name__}: {error}"
        raise InputError(Problem("plugin.broken", message, hint=hint)) from error
    for function in ("render", "render_problems"):
        if not callable(getattr(module, function, None)):
            raise InputError(
                Problem("plugin.broken", f"the format {name!r} of an installed package has no {function}", hint=hint)
            )
    return module


@cache
def _entry_points() -> Mapping[str, Any]:
    from importlib.metadata import entry_points  # reading the environment takes longer than most imports

    # An installed package can add a format, but not replace one of ours.
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in REPORTERS}
