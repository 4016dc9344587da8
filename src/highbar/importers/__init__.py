"""Another tool's file in, rows with the canonical columns out: one module per tool, one line per tool in `IMPORTERS`.

A module has one function, `read(path, report)`, that yields the rows and counts in the report what became of every
record of the file; it takes nothing from the tool's own totals. It refuses a file by `record.refuse`. An outsider's
package adds its tool with an entry point in the group `highbar.importers`: the name of the format, and a module with
the same function. If its files are to be known without `--input-format`, an entry point of the same name in the group
`highbar.recognizers` names a function `recognizes(name, head)`: it is asked without the reader being loaded. A module
that has `recognizes` itself, and no such entry point, is loaded to be asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from highbar.errors import InputError, Problem
from highbar.importers import signs
from highbar.importers.ours import is_ours
from highbar.importers.report import Report

Row = dict[str, object]
Read = Callable[[str, Report], Iterator[Row]]
"""What an importer is: the path of a file and a report to fill in, the rows out, one at a time."""

GROUP = "highbar.importers"
RECOGNIZERS = "highbar.recognizers"
HEAD = 64 * 1024
"""How many bytes at the start of a file are looked at to know its format."""


@dataclass(frozen=True, slots=True)
class Importer:
    """A tool whose files can be read: what to call it, where its module is, and the signs by which a file is known."""

    name: str
    title: str
    module: str
    signs: tuple[tuple[str, bytes], ...] = ()  # an ending of the file's name, and a pattern in its first bytes

    def recognizes(self, name: str, head: bytes) -> bool:
        """Whether a file of this name with these first bytes is one of the tool's."""
        patterns = (pattern for ending, pattern in self.signs if name.lower().endswith(ending))
        return any(re.search(pattern, head, re.DOTALL) for pattern in patterns)

    @property
    def read(self) -> Read:
        """The function that reads its files; its module is loaded now."""
        read: Read = import_module(self.module).read
        return read


IMPORTERS: tuple[Importer, ...] = (
    Importer("inspect", "Inspect AI log", f"{__name__}.inspect", ((".eval", b""), (".json", signs.INSPECT))),
    Importer(
        "promptfoo",
        "promptfoo results",
        f"{__name__}.promptfoo",
        (
            (".json", signs.PROMPTFOO),
            (".jsonl", signs.PROMPTFOO_LINE),
            (".csv", signs.PROMPTFOO_TABLE),  # these are refused, with a word about JSON
            (".xml", signs.PROMPTFOO_XML),
            (".yaml", signs.PROMPTFOO_YAML),
            (".yml", signs.PROMPTFOO_YAML),
            (".html", signs.PROMPTFOO_HTML),
            ("promptfoo.db", signs.SQLITE),
        ),
    ),
    Importer(
        "lm-eval",
        "lm-evaluation-harness samples",
        f"{__name__}.lm_eval",
        ((".jsonl", signs.LM_EVAL_LINE), (".json", signs.LM_EVAL)),
    ),
    Importer("deepeval", "DeepEval test run", f"{__name__}.deepeval", ((".json", signs.DEEPEVAL),)),
    Importer(
        "pydantic-evals", "pydantic-evals report", f"{__name__}.pydantic_evals", ((".json", signs.PYDANTIC_EVALS),)
    ),
    Importer("tau-bench", "tau-bench trajectories", f"{__name__}.tau_bench", ((".json", signs.TAU_BENCH),)),
    Importer(
        "mlflow",
        "MLflow evaluation table",
        f"{__name__}.mlflow",
        (
            (".json", signs.MLFLOW),
            *((".json", sign) for sign in (signs.MLFLOW_COLUMNS, signs.MLFLOW_INDEX, signs.MLFLOW_SCHEMA)),
            (".jsonl", signs.MLFLOW_LINE),
            (".json", signs.MLFLOW_LINE),
            (".csv", signs.MLFLOW_TABLE),  # refused, with a word about JSON
        ),
    ),
    Importer(
        "otel",
        "OpenTelemetry (OTLP JSON)",
        f"{__name__}.otel",
        ((".json", signs.OTEL), (".jsonl", signs.OTEL), (".ndjson", signs.OTEL)),
    ),
    Importer("map", "results by a mapping", f"{__name__}.mapping"),
    Importer("junit", "JUnit XML", f"{__name__}.junit", ((".xml", signs.JUNIT),)),
)
"""Every tool that is known, in the order in which a file is tried."""


def names() -> tuple[str, ...]:
    """What `--input-format` and `highbar import` take, outsiders' formats included."""
    return tuple(dict.fromkeys((*(importer.name for importer in IMPORTERS), *_entry_points())))


def named(name: str) -> Read:
    """The reader of a format, by name. Raises InputError where there is none."""
    for importer in IMPORTERS:
        if importer.name == name:
            return importer.read
    if name in _entry_points():
        read: Read = _loaded(name).read
        return read
    raise InputError(Problem(f"unknown format {name!r}", hint=f"wanted one of {', '.join(names())}"))


def title(name: str) -> str:
    """What messages call the files of a format."""
    return next((importer.title for importer in IMPORTERS if importer.name == name), name)


def recognize(name: str, head: bytes, start: Callable[[], bytes] | None = None) -> str | None:
    """The format of a file by its name and first bytes; None if no tool claims it.

    `start` reads more of the file, to know a row of ours whose columns come after a long text.
    """
    own = next((importer.name for importer in IMPORTERS if importer.recognizes(name, head)), None)
    return own or _recognized_by_outsiders(name, head, start or (lambda: head))


def _recognized_by_outsiders(name: str, head: bytes, start: Callable[[], bytes]) -> str | None:
    """No outsider is asked about rows of ours: that would run other people's code, and take longer than a check."""
    if is_ours(name, head) or not _entry_points() or is_ours(name, start()):
        return None
    for format_name in _entry_points():
        claims = _claims(format_name)
        if claims is not None and _asked(claims, format_name, name, head):
            return format_name
    return None


def _claims(format_name: str) -> Callable[[str, bytes], bool] | None:
    """What says whether a file is of an outsider's format; its reader is loaded only if nothing lighter is named."""
    if format_name in _entry_points(RECOGNIZERS):
        claims: Callable[[str, bytes], bool] = _loaded(format_name, RECOGNIZERS)
        return claims
    return getattr(_loaded(format_name), "recognizes", None)


def _asked(claims: Callable[[str, bytes], bool], format_name: str, name: str, head: bytes) -> bool:
    """Whether an outsider claims the file. Raises InputError where it cannot say."""
    try:
        return claims(name, head)
    except Exception as error:
        told = f"the format {format_name!r} of an installed package failed on it: {type(error).__name__}: {error}"
        raise InputError(Problem(told, file=name, hint="name the format: --input-format")) from error


def _loaded(name: str, group: str = GROUP) -> Any:
    """What an outsider's entry point names. Raises InputError if the package that brings it is broken."""
    try:
        return _entry_points(group)[name]()
    except Exception as error:
        told = f"the format {name!r} of an installed package cannot be loaded: {type(error).__name__}: {error}"
        raise InputError(Problem(told, hint="repair or remove that package")) from error


@cache
def _entry_points(group: str = GROUP) -> dict[str, Callable[[], Any]]:
    from importlib.metadata import entry_points  # reading the environment takes longer than most imports

    return {point.name: point.load for point in entry_points(group=group)}
