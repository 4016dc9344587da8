"""promptfoo results (`-o results.json`, export versions 1 to 4, and `-o results.jsonl`) → rows: one per result.

The results of one test with several providers or prompts are trials of one scenario, with different tags.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from highbar.errors import InputError
from highbar.importers import Row, signs
from highbar.importers.limits import HEAD, LARGEST_VALUE, MOST_NAMED
from highbar.importers.naming import Trials
from highbar.importers.promptfoo_plan import PlannedResults, has_ended
from highbar.importers.promptfoo_rows import Result
from highbar.importers.reading import json
from highbar.importers.record import Record, as_object, refuse
from highbar.importers.report import Report
from highbar.importers.row_buffer import RowBuffer
from highbar.language.promptfoo_names import id_of_test
from highbar.language.tool_names import shorten

NEWEST = 4
"""The newest version of the export that this importer knows."""

_ARRAYS = frozenset({"results", "results.results", "data.results", "data.results.results"})
_OTHER_FORMS = {
    "CSV": signs.PROMPTFOO_TABLE,
    "XML": signs.PROMPTFOO_XML,
    "YAML": signs.PROMPTFOO_YAML,
    "HTML": signs.PROMPTFOO_HTML,
    "database": signs.SQLITE,
}
_DOCUMENT_KEYS = ("results", "data")
_AROUND = frozenset(
    {"version", "results.version", "stats", "results.stats", "results.prompts", "_resultsLoaded", "metadata"}
    | {"runtimeOptions"}
)
_START = 4096
_SUCCESS = "success"
_GO_ON = "finish it with `promptfoo eval --resume`, then export it again"
_FILTERED = "a run that was filtered on purpose is read if promptfoo 0.120.10 or newer wrote it"
_WRITE_AGAIN = "write it again with `promptfoo eval -o FILE`; nothing may be left out of it"


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one export. They are buffered, because only the last result shows which tests share a name."""
    with RowBuffer() as buffer, Path(path).open("rb") as stream:
        _refuse_other_forms(stream)
        file = _PromptfooFile(report)
        suite = (_read_lines if _is_lines(stream) else _read_document)(stream, buffer, file)
        file.settle_judges()
        several = file.has_variants()
        trials = Trials()
        for row, test in buffer:
            row["id"] = file.name_of(test)
            row["trial"] = trials.number(row["id"])
            row["suite"] = suite
            # The variants of a test are not independent of each other.
            if several and row["cluster"] is None:
                row["cluster"] = row["id"]
            yield row


def _refuse_other_forms(stream: IO[bytes]) -> None:
    """Refuse forms that do not distinguish must-nots from other assertions, or errors from failures."""
    start = stream.read(HEAD)
    stream.seek(0)
    for form, sign in _OTHER_FORMS.items():
        if re.search(sign, start, re.DOTALL):
            hint = "write JSON: `promptfoo eval -o results.json`, or `promptfoo export eval latest -o results.json`"
            refuse("import.lossy-form", f"promptfoo's {form} does not say what was asserted", hint=hint)


def _is_lines(stream: IO[bytes]) -> bool:
    """Whether this is JSONL, by its first line: a whole object that is not the whole document."""
    line = stream.readline(LARGEST_VALUE)
    stream.seek(0)
    if not line.rstrip().endswith(b"}") or len(line.strip()) == 1:
        return False
    try:
        return json.members(line).keys().isdisjoint(_DOCUMENT_KEYS)
    except InputError:  # a line that is not sound: the message about it is better if it is the right form
        return b'"results"' not in line[:_START]


def _read_lines(stream: IO[bytes], buffer: RowBuffer, file: _PromptfooFile) -> str | None:
    """Put the results of a JSONL file into the buffer. Returns None: such a file does not name its suite."""
    for number, line in json.numbered_lines(stream):
        file.report.records += 1
        _put(Result(json.decode_value(line, number), f"line {number}", file.report, success_judges=False), buffer, file)
    return None


def _read_document(stream: IO[bytes], buffer: RowBuffer, file: _PromptfooFile) -> str | None:
    """Put the results of a JSON document into the buffer, and return the name of its suite."""
    around: dict[str, Any] = {}
    report = file.report
    for place, text in json.json_parts(stream, _ARRAYS):
        key = place.removeprefix("data.")
        if key in ("results[]", "results.results[]"):
            report.records += 1
            # Version 1 does not record its assertions, so that only its `success` can judge.
            success_judges = key == "results[]"
            _put(
                Result(json.decode_value(text), f"result {report.records}", report, success_judges=success_judges),
                buffer,
                file,
            )
        elif key in _AROUND:
            around[key] = json.decode_value(text)
        elif key == "config" and not json.is_null(text):
            around[key] = {name: json.decode_value(value) for name, value in json.members(text).items()}
    document = Record(around, "the file")
    _refuse_incomplete(document, file)
    config = document.record("config")
    return config.text("description") if config else None


def _put(result: Result, buffer: RowBuffer, file: _PromptfooFile) -> None:
    buffer.put(result.row(), file.add(result))


def _refuse_incomplete(document: Record, file: _PromptfooFile) -> None:
    report = file.report
    versions = [document.whole(key) or 0 for key in ("version", "results.version")]
    if max(versions) > NEWEST:
        report.warn(f"export version {max(versions)} is newer than {NEWEST}; what it shares with that is read")
    if document.flag("_resultsLoaded") is False and not report.records:
        refuse(
            "import.incomplete",
            "the results were not loaded when this file was written",
            hint="write it with `promptfoo eval -o FILE`",
        )
    stats = document.record("results.stats") or document.record("stats")
    if stats is not None:
        _refuse_other_totals(stats, file)
    _refuse_unfinished(document, stats, file)


def _refuse_unfinished(document: Record, stats: Record | None, file: _PromptfooFile) -> None:
    """Refuse a file without some of the results that its run planned. A filtered run, which ended, gets a note."""
    found, rows, prompts = file.report.records, file.rows, document.value("results.prompts")
    ran = len(prompts) if isinstance(prompts, list) and prompts else max(rows.values(), default=0)
    config, options = as_object(document.value("config")), as_object(document.value("runtimeOptions"))
    plan = PlannedResults(config, options, expands=file.expands)
    planned, whole = (plan.results(ran or plan.columns), plan.results(max(ran, plan.columns))) if config else (0, 0)
    ended = has_ended(stats, as_object(document.value("metadata")).get("promptfooVersion"))
    if ended is False and planned != found:
        of = f" of {planned}" if planned > found else ""
        refuse(
            "import.incomplete",
            f"this run was interrupted: the file holds {found}{of} results, and no duration of the run",
            hint=_GO_ON,
        )
    if ended is None and planned > found:
        refuse(
            "import.incomplete",
            f"the file holds {found} results, and its configuration plans {planned}",
            hint=f"{_GO_ON}; {_FILTERED}",
        )
    _refuse_copies(file, plan.repetitions if config else None)
    for number in range(1 + max(rows, default=-1)):
        if rows[number] < ran:
            refuse(
                "import.incomplete", f"test {number} of this run has {rows[number]} of {ran} results", hint=_WRITE_AGAIN
            )
    if whole > found:
        message = f"this run was filtered: its configuration plans {whole} results, and the file holds {found}"
        file.report.warn(message, urgent=True)


def _refuse_copies(file: _PromptfooFile, most: int | None) -> None:
    """Refuse a file with a result that is there twice, or with more results of a test than were planned."""
    if file.copied:
        refuse(
            "import.duplicate",
            "test {} of this run has two results in column {}".format(*file.copied),
            hint=_WRITE_AGAIN,
        )
    (name, _, column), number = next(iter(file.repeated.most_common(1)), (("", "", 0), 0))
    if most is not None and number > most:
        message = f"the test {name!r} has {number} results in column {column}, and the configuration plans {most}"
        refuse("import.duplicate", message, hint=_WRITE_AGAIN)


def _refuse_other_totals(stats: Record, file: _PromptfooFile) -> None:
    """Refuse a file whose statistics do not match its results. The oldest versions count errors as failures."""
    counted = {key: number for key in ("successes", "failures", "errors") if (number := stats.whole(key)) is not None}
    found = dict(file.ended)
    if "errors" not in counted:
        found["failures"] += found.pop("errors")
    if counted and sum(counted.values()) != sum(found.values()):
        listed, declared = sum(found.values()), sum(counted.values())
        refuse(
            "import.contradiction",
            f"the file holds {listed} results, and its own statistics count {declared}",
            hint=_WRITE_AGAIN,
        )
    for key, number in counted.items():
        if number != found[key]:
            refuse(
                "import.contradiction",
                f"the file holds {found[key]} {key}, and its own statistics count {number}",
                hint=_WRITE_AGAIN,
            )


class _PromptfooFile:
    """What is known only after all results: the tests that share a name, the providers and prompts, and the judges."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._numbers: Counter[int | None] = Counter()
        self._cells: set[tuple[int, int]] = set()
        self.copied: tuple[int, int] | None = None  # the first place that two results have
        self.repeated: Counter[tuple[str, str, int]] = Counter()  # results of one test in one column
        self.expands = True  # whether promptfoo makes a test of each text in the list of a variable
        self.ended = {"successes": 0, "failures": 0, "errors": 0}  # results, as promptfoo counts them
        self._success_judges = False
        self._asserted: set[str] = set()
        self._scored: set[str] = set()
        self._tests: defaultdict[str, set[str]] = defaultdict(set)
        self._columns: dict[str, dict[str, None]] = {"provider": {}, "prompt": {}}

    def add(self, result: Result) -> tuple[str, str]:
        """Add a result, and return the name of its test and a digest of the test's variables and assertions."""
        test = result.test()
        self._tests[test[0]].add(test[1])
        for name, value in result.column.items():
            self._columns[name][value] = None
        self.ended[result.ended] += 1
        self._numbers[result.number] += 1
        if result.cell is not None:
            self.copied = self.copied or (result.cell if result.cell in self._cells else None)
            self._cells.add(result.cell)
            self.repeated[*test, result.cell[1]] += 1
        self.expands = self.expands and not result.has_list
        self._success_judges = self._success_judges or result.success_judges
        result.add_labels(self._asserted)
        self._scored.update(result.named)
        return test

    @property
    def rows(self) -> Counter[int]:
        """The number of results by test and repetition; empty unless all tests ran in the same columns."""
        known = Counter({number: count for number, count in self._numbers.items() if number is not None})
        return known if len(known) == len(self._numbers) else Counter()

    def name_of(self, test: tuple[str, str]) -> str:
        """The id of a test: its name, with the digest if another test has the same name."""
        return id_of_test(test, alone=len(self._tests[test[0]]) == 1)

    def has_variants(self) -> bool:
        """Whether there are several providers or prompts; if so, warns that their results are pooled."""
        several = {name: [value for value in values if value] for name, values in self._columns.items()}
        listed = [
            f"{len(values)} {name}s ({', '.join(shorten(value) for value in values[:MOST_NAMED])}"
            f"{' …' if len(values) > MOST_NAMED else ''})"
            for name, values in several.items()
            if len(values) > 1
        ]
        if listed:
            chosen = next(name for name, values in several.items() if len(values) > 1)
            pooled = f"the results of {' and '.join(listed)} are pooled: a test counts once over all of them"
            self.report.warn(f"{pooled}; `--where tags.{chosen}=NAME` picks one")
        return any(len(values) > 1 for values in self._columns.values())

    def settle_judges(self) -> None:
        """Note in the report who judges. Refuses a file without a judge, or without one that the policy names."""
        report, demanded = self.report, [demand.scorer for demand in self.report.judged_by]
        known = self._asserted | self._scored
        for name in demanded:
            if name not in known:
                refuse(
                    "judge.unknown-scorer",
                    f"the policy has this file judged by {name!r}, which is not in it; its scorers are "
                    f"{', '.join(repr(one) for one in sorted(known)) or 'none'}",
                )
        if report.records and not (self._asserted or self._success_judges or report.answers_only):
            names = f"; its scores are {', '.join(sorted(self._scored))}" if self._scored else ""
            refuse(
                "judge.undeclared",
                f"nothing in this file judges: no test has an assertion{names}",
                hint="give the tests an `assert`",
            )
        report.judges = tuple(demanded) or (_SUCCESS,)
        if not demanded:
            report.scorers[_SUCCESS] = "judges"
        for name in sorted(known):
            if demanded:
                role = "judges" if name in demanded else "a column, does not judge: not in judged_by"
            else:
                role = "judges, as part of success" if name in self._asserted else "a column, does not judge"
            report.scorers[name] = role
