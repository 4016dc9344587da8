"""A file of another tool → rows with our columns: one module and one entry in `IMPORTERS` per tool.

The module has one public function, `read(path, report)`. It yields the rows, counts in the report what became of every
record, and computes nothing from the tool's own totals. It refuses a file with `record.refuse`. Parts of a large
importer are in modules whose names start with the tool's name (`inspect_header`).

    reading/             untrusted files: JSON, zip, XML, OTLP; json_records: the records in a JSON file
    record               access to the values of a record, closed lists of words, and refusals
    scorers, verdicts    who judges, and the verdicts on one trial → columns
    naming, tool_calls   ids, labels and tool calls
    row_buffer, writing  rows that wait for the end of a file, and rows → JSONL
    report               the counts of an import, and their words
    signs, folder_check  how the files of a tool begin, and what the files of a folder say about each other
    mapping              any file, by a mapping; scopes, path_watch: its records, and paths that none of them has

A plugin adds a tool with an entry point in the group `highbar.importers`: the name of the format, and a module with the
same function. To recognize its files without `--input-format`, an entry point of the same name in the group
`highbar.recognizers` names a function `recognizes(name, head)`, which is called without loading the importer. Without
that entry point, the module's own `recognizes` is called, if it has one.
"""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct

from highbar.columns import COLUMN_NAMES
from highbar.errors import InputError, Problem
from highbar.importers import signs
from highbar.importers.limits import HEAD, LARGEST_HEAD
from highbar.importers.report import Report

Row = dict[str, object]
Read = Callable[[str, Report], Iterator[Row]]
"""The function of an importer: the path of a file and a report to fill in → the rows, one at a time."""

GROUP = "highbar.importers"
RECOGNIZERS = "highbar.recognizers"
_SHARED = {
    "category", "cluster", "correct", "error", "expected", "input", "judge", "outcome", "output", "predicted", "suite",
    "tags", "trial", "weight",
}  # fmt: skip
"""Our columns whose names also occur in files of other tools."""
_OURS = COLUMN_NAMES - _SHARED
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]', re.DOTALL)
_GZIP = 31  # for zlib: expect the header of gzip


class Importer(Struct, frozen=True):
    """A tool whose files can be read: its name, its title in messages, its module, and how its files are recognized."""

    name: str
    title: str
    module: str
    signs: tuple[tuple[str, bytes], ...] = ()  # how the file's name ends, and a pattern for its first bytes

    def recognizes(self, name: str, head: bytes) -> bool:
        """Whether a file with this name and these first bytes belongs to the tool."""
        patterns = (pattern for ending, pattern in self.signs if name.lower().endswith(ending))
        return any(re.search(pattern, head, re.DOTALL) for pattern in patterns)

    @property
    def read(self) -> Read:
        """The function that reads the tool's files. Loads the module."""
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
            (".csv", signs.PROMPTFOO_TABLE),  # this and the following are refused with a hint to JSON
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
    Importer(
        "every-eval-ever",
        "Every Eval Ever samples",
        f"{__name__}.every_eval_ever",
        ((".jsonl", signs.EVERY_EVAL_EVER_LINE), (".json", signs.EVERY_EVAL_EVER)),
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
            (".csv", signs.MLFLOW_TABLE),  # refused with a hint to JSON
        ),
    ),
    Importer(
        "otel",
        "OpenTelemetry (OTLP JSON)",
        f"{__name__}.otel",
        ((".json", signs.OTEL), (".jsonl", signs.OTEL), (".ndjson", signs.OTEL)),
    ),
    Importer(
        "agentskills",
        "gradings of an Agent Skill",
        f"{__name__}.agentskills",
        (("grading.json", signs.AGENTSKILLS), ("benchmark.json", signs.AGENTSKILLS_BENCHMARK)),
    ),
    Importer("map", "results by a mapping", f"{__name__}.mapping"),
    Importer("junit", "JUnit XML", f"{__name__}.junit", ((".xml", signs.JUNIT),)),
)
"""All tools, in the order in which their signs are tried."""


def format_names() -> tuple[str, ...]:
    """The formats of `--input-format` and `highbar import`, including those of plugins."""
    return tuple(dict.fromkeys((*(importer.name for importer in IMPORTERS), *_entry_points())))


def importer_named(name: str) -> Read:
    """The function that reads a format. Raises InputError if the format does not exist."""
    for importer in IMPORTERS:
        if importer.name == name:
            return importer.read
    if name in _entry_points():
        read: Read = _load(name).read
        return read
    raise InputError(
        Problem("option.unknown-format", f"unknown format {name!r}", hint=f"wanted one of {', '.join(format_names())}")
    )


def format_title(name: str) -> str:
    """The name of a format in messages."""
    return next((importer.title for importer in IMPORTERS if importer.name == name), name)


def recognize(path: str, name: str | None = None) -> str | None:
    """The format of a file by its name and first bytes; None if no tool recognizes it.

    `name` is what messages call it, if not its path. Raises InputError if the file cannot be read.
    """
    name = path if name is None else name
    head = _start_of(path, name, HEAD)
    own = next((importer.name for importer in IMPORTERS if importer.recognizes(name, head)), None)
    return own or _plugin_format(path, name, head)


def _start_of(path: str, name: str, size: int) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            return stream.read(size)
    except OSError as error:
        raise InputError(Problem("file.unreadable", f"cannot be read: {error.strerror}", file=name)) from error


def _plugin_format(path: str, name: str, head: bytes) -> str | None:
    """The format of the first plugin that recognizes the file, or None.

    No plugin is called for our own rows: that would run foreign code, and take longer than the check.
    """
    # The cheapest question first. A long text may precede the columns that only our own rows have, but to read that
    # much of a file, and to unpack it, takes long.
    if _is_ours(name, head) or not _entry_points() or _is_ours(name, _start_of(path, name, LARGEST_HEAD)):
        return None
    for format_name in _entry_points():
        recognizes = _recognizer(format_name)
        if recognizes is not None and _recognizes(recognizes, format_name, name, head):
            return format_name
    return None


def _recognizer(format_name: str) -> Callable[[str, bytes], bool] | None:
    """The function that recognizes a plugin's format. The importer is loaded only if that has no entry point."""
    if format_name in _entry_points(RECOGNIZERS):
        recognizes: Callable[[str, bytes], bool] = _load(format_name, RECOGNIZERS)
        return recognizes
    return getattr(_load(format_name), "recognizes", None)


def _recognizes(recognizes: Callable[[str, bytes], bool], format_name: str, name: str, head: bytes) -> bool:
    """Whether the plugin recognizes the file. Raises InputError if the plugin raises."""
    try:
        return recognizes(name, head)
    except Exception as error:
        message = f"the format {format_name!r} of an installed package failed on it: {type(error).__name__}: {error}"
        raise InputError(
            Problem("plugin.broken", message, file=name, hint="name the format: --input-format")
        ) from error


def _load(name: str, group: str = GROUP) -> Any:
    """The object of a plugin's entry point. Raises InputError if the package is broken."""
    try:
        return _entry_points(group)[name]()
    except Exception as error:
        message = f"the format {name!r} of an installed package cannot be loaded: {type(error).__name__}: {error}"
        raise InputError(Problem("plugin.broken", message, hint="repair or remove that package")) from error


@cache
def _entry_points(group: str = GROUP) -> dict[str, Callable[[], Any]]:
    from importlib.metadata import entry_points  # reading the environment takes longer than most imports

    return {point.name: point.load for point in entry_points(group=group)}


def _is_ours(name: str, head: bytes) -> bool:
    """Whether the first row has `id` or another column that only our own rows have; always for Parquet and zstd."""
    lowered = name.lower()
    if lowered.endswith((".parquet", ".jsonl.zst", ".ndjson.zst", ".json.zst", ".csv.zst")):
        return True
    if lowered.endswith(".gz"):
        lowered, head = lowered.removesuffix(".gz"), _unpacked(head)
    text = head.decode("utf-8-sig", "replace").lstrip()
    names = _header(text) if lowered.endswith(".csv") else _keys(text)
    return bool(names & _OURS)


def _unpacked(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(_GZIP).decompress(head, LARGEST_HEAD)
    except zlib.error:
        return b""


def _header(text: str) -> set[str]:
    try:
        return {cell.strip() for cell in next(csv.reader(text.splitlines()[:1]), [])}
    except csv.Error:
        return set()


def _keys(text: str) -> set[str]:
    """The keys of the first object of a JSON text, which may be in an array, and may be cut off."""
    found: set[str] = set()
    depth, string = 0, ""
    for place in _TOKEN.finditer(text.lstrip("[ \t\r\n")):
        mark = place[0]
        if mark == ":" and depth == 1:
            found.add(string.strip('"'))
        depth += (mark in "{[") - (mark in "}]")
        string = mark
        if depth <= 0:
            break
    return found
