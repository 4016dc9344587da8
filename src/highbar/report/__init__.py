"""Report: a verdict, a comparison, a calibration or a plan goes in, text comes out. Pure; writes no file.

`REPORTERS`, `COMPARISONS`, `CALIBRATIONS` and `PLANS` are the lists of formats. To add one: write a module here with
`render(verdict, display) -> str` and `render_problems(problems, display) -> str` that pass every text through one
encoder of its own, and name it in the table. Another distribution adds a format of the verdict by an entry point in the
group `highbar.reporters` that names such a module.
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

if TYPE_CHECKING:  # few runs compare, and its classes take time to make
    from highbar.model.comparison import Comparison

GROUP = "highbar.reporters"
"""The group of entry points by which other distributions add formats."""


class Display(Struct, frozen=True):
    """What the reader's screen can do, and how much they want to see. A file has no color, and the width of a page."""

    width: int = 80
    color: bool = False
    height: int | None = None  # lines; None if nothing scrolls out of sight
    verbose: bool = False  # everything, and not only what did not pass
    meta: tuple[tuple[str, str], ...] = ()  # what the caller says about the run: date, commit, link
    report_option: str = "--output"  # the option that writes a report to a file


PAGE = Display()


class Reporter(Struct, frozen=True):
    """A format: the module and its function that render it, and the file endings that mean it.

    The module is loaded at the first call. Beside `function` it has one with `_problems` added to the name, for what is
    written if there is nothing to report. `lists_scenarios` asks for `Verdict.scenarios`, which costs the engine one
    more query. `checks_meta`: its module has a function `meta_problems`, because the format needs to know more
    than results say.
    """

    module: str
    suffixes: tuple[str, ...] = ()
    details: bool = False  # whether it shows more than a verdict needs
    lists_scenarios: bool = False
    function: str = "render"
    checks_meta: bool = False

    def __call__(self, found: Any, display: Display = PAGE) -> str:
        """The verdict, comparison or plan in this format, as text that ends with a line end."""
        text: str = getattr(import_module(self.module), self.function)(found, display)
        return text

    def refusal(self, problems: Iterable[Problem], display: Display = PAGE) -> str:
        """Every problem, in place of a report on something that could not be judged."""
        text: str = getattr(import_module(self.module), f"{self.function}_problems")(problems, display)
        return text

    def meta_problems(self, meta: Mapping[str, str]) -> list[Problem]:
        """What this format misses, or does not know, in what the caller says about the run."""
        if not self.checks_meta:
            return []
        problems: list[Problem] = import_module(self.module).meta_problems(meta)
        return problems


REPORTERS: Mapping[str, Reporter] = MappingProxyType(
    {
        "text": Reporter("highbar.report.text", (".txt",)),
        "json": Reporter("highbar.report.json", (".json",)),
        "markdown": Reporter("highbar.report.markdown", (".md", ".markdown")),
        "html": Reporter("highbar.report.html", (".html", ".htm"), details=True, lists_scenarios=True),
        "junit": Reporter("highbar.report.junit", (".xml",), lists_scenarios=True),
        "openmetrics": Reporter("highbar.report.openmetrics", (".prom", ".om")),
        "csv": Reporter("highbar.report.csv", (".csv",), lists_scenarios=True),
        "every-eval-ever": Reporter("highbar.report.every_eval_ever", checks_meta=True),
        "github-comment": Reporter("highbar.report.comment", details=True),  # for what changed since the baseline
    }
)
COMPARISONS: Mapping[str, Reporter] = MappingProxyType(
    {
        "text": Reporter("highbar.report.comparison_text"),
        "json": Reporter("highbar.report.json", function="render_comparison"),
        "markdown": Reporter("highbar.report.comparison_markdown"),
        "html": Reporter("highbar.report.comparison_html", details=True),
        "junit": Reporter("highbar.report.junit", function="render_comparison"),
    }
)
CALIBRATIONS: Mapping[str, Reporter] = MappingProxyType(
    {
        "text": Reporter("highbar.report.calibration_text"),
        "json": Reporter("highbar.report.json", function="render_calibration"),
        "html": Reporter("highbar.report.calibration_html"),
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

    `meta` is what `--meta` says: shown in HTML, and required by "every-eval-ever".

    Some formats show more than a verdict needs: HTML the trials of failed scenarios, JUnit and CSV all scenarios. HTML
    shows both outputs of the scenarios that broke or were fixed. For these the results are read again. Raises
    ReportError if they have changed, InputError if there is no such format, or if `meta` lacks what it needs.
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
    """The formats of a verdict, those of installed distributions included."""
    return tuple(dict.fromkeys((*REPORTERS, *_entry_points())))


def format_named(text: str) -> str:
    """The name of a format as it is listed: every_eval_ever, which is what the tool calls itself, means ours."""
    return listed if (listed := text.replace("_", "-")) in REPORTERS else text


def reporter(name: str) -> Reporter:
    """The format of a verdict of this name. Raises InputError if there is none, or if its distribution is broken."""
    return REPORTERS[name] if name in REPORTERS else _installed(name)


def format_of(file: str) -> str | None:
    """The format that a file's ending means; None if no reporter has that ending."""
    name = file.lower()
    own = next((known for known, each in REPORTERS.items() if name.endswith(each.suffixes)), None)
    return own or next((known for known in _entry_points() if name.endswith(reporter(known).suffixes)), None)


def _unknown(name: str, known: Iterable[str], what: str = "a format") -> InputError:
    return InputError(Problem(f"{name!r} is not {what}", hint=f"wanted one of {', '.join(known)}"))


class _Installed(Reporter, frozen=True):
    """A format of another distribution, whose code may fail in any way."""

    def __call__(self, found: Any, display: Display = PAGE) -> str:
        return self._text("render", found, display)

    def refusal(self, problems: Iterable[Problem], display: Display = PAGE) -> str:
        """Every problem, in place of a verdict."""
        return self._text("render_problems", tuple(problems), display)

    def _text(self, function: str, found: object, display: Display) -> str:
        blame = f"the format {self.module!r} of an installed package failed"
        try:
            text = getattr(_loaded(self.module), function)(found, display)
        except Exception as error:
            raise ReportError(f"{blame}: {type(error).__name__}: {error}") from error
        if not isinstance(text, str):
            raise ReportError(f"{blame}: {function} gave {type(text).__name__}, not text")
        return text


def _installed(name: str) -> Reporter:
    """A format of another distribution; its module says what it wants in SUFFIXES, DETAILS and LISTS_SCENARIOS."""
    if name not in _entry_points():
        raise _unknown(name, report_formats())
    module = _loaded(name)
    suffixes = tuple(str(suffix).lower() for suffix in getattr(module, "SUFFIXES", ()))
    return _Installed(
        name, suffixes, bool(getattr(module, "DETAILS", False)), bool(getattr(module, "LISTS_SCENARIOS", False))
    )


def _loaded(name: str) -> Any:
    """The module that an entry point names. Raises InputError if it cannot be loaded, or lacks a function."""
    hint = "repair or remove that package"
    try:
        module = _entry_points()[name].load()
    except Exception as error:
        message = f"the format {name!r} of an installed package cannot be loaded: {type(error).__name__}: {error}"
        raise InputError(Problem(message, hint=hint)) from error
    for function in ("render", "render_problems"):
        if not callable(getattr(module, function, None)):
            raise InputError(Problem(f"the format {name!r} of an installed package has no {function}", hint=hint))
    return module


@cache
def _entry_points() -> Mapping[str, Any]:
    from importlib.metadata import entry_points  # reading the environment takes longer than most imports

    return {point.name: point for point in entry_points(group=GROUP) if point.name not in REPORTERS}
