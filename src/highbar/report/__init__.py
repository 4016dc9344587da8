"""Report: a verdict goes in, text comes out. Pure; nothing is computed, and no file is written here.

`REPORTERS` is the list of formats. To add one: write a module here with `render(verdict, display) -> str` and
`render_problems(problems, display) -> str` that pass every text through one encoder of its own; name it in the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType

from highbar.errors import Problem
from highbar.model import Verdict


@dataclass(frozen=True, slots=True)
class Display:
    """What the reader's screen can do. A file has no color, and the width of a page."""

    width: int = 80
    color: bool = False


PAGE = Display()


@dataclass(frozen=True, slots=True)
class Reporter:
    """A format: the module that renders it, loaded when it is first called, and the file endings that mean it.

    `lists_scenarios` says that it wants `Verdict.scenarios`, which costs the engine a query more.
    """

    module: str
    suffixes: tuple[str, ...]
    details: bool = False  # whether it shows more than a verdict needs
    lists_scenarios: bool = False

    def __call__(self, verdict: Verdict, display: Display = PAGE) -> str:
        """The verdict in this format, as text that ends with a line end."""
        text: str = import_module(self.module).render(verdict, display)
        return text

    def refusal(self, problems: Iterable[Problem], display: Display = PAGE) -> str:
        """What stands in place of a verdict where nothing could be judged: every problem."""
        text: str = import_module(self.module).render_problems(problems, display)
        return text


REPORTERS: Mapping[str, Reporter] = MappingProxyType(
    {
        "text": Reporter("highbar.report.text", (".txt",)),
        "json": Reporter("highbar.report.json", (".json",)),
        "markdown": Reporter("highbar.report.markdown", (".md", ".markdown")),
        "html": Reporter("highbar.report.html", (".html", ".htm"), details=True),
        "junit": Reporter("highbar.report.junit", (".xml",), lists_scenarios=True),
        "openmetrics": Reporter("highbar.report.openmetrics", (".prom", ".om")),
        "csv": Reporter("highbar.report.csv", (".csv",), lists_scenarios=True),
        "github-comment": Reporter("highbar.report.comment", ()),
    }
)


def format_of(file: str) -> str | None:
    """The format that a file's ending means; None where no reporter has that ending."""
    name = file.lower()
    return next((known for known, reporter in REPORTERS.items() if name.endswith(reporter.suffixes)), None)
