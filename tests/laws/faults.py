"""Fault → the law that finds it. Each fault that was found once is put back, and its law must fail.

A row has the id of its class, the law, what puts the fault back (a function of pytest's monkeypatch), and a case on
which the law is tried: a function of a folder that raises AssertionError if the law is broken. Without the fault the
case must hold. To add a fault, add a row; `test_faults.py` does the rest.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from highbar.engine import (
    column_readers,
    duplicates,
    plan,
    quantities,
    scenarios,
    scoring,
    sources,
    suite_match,
    trials,
)
from highbar.engine.sql import literal
from highbar.load import accounts, folders, refusals, tables
from highbar.load import files as found
from highbar.measure import between, parts, undefined
from highbar.policy import reading
from tests.laws import files, forms, worse
from tests.laws import twice as twice_law

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that was found once, and the law that finds it."""

    id: str
    law: str
    what: str
    put_back: Callable[[Patch], None]
    case: Callable[[Path], object]


# --- L1 ----------------------------------------------------------------------------------------


def _beside(name: str, data: bytes) -> Callable[[Path], object]:
    """A file of this name and content beside one that is sound."""

    def case(folder: Path) -> str:
        paths = [folder / "good.jsonl", folder / name]
        paths[0].write_bytes(files.plain([{"id": "good", "passed": True, "output": "x"}], "jsonl"))
        paths[1].write_bytes(data)
        return files.hold([str(path) for path in paths], paths)

    return case


ROWS: list[dict[str, object]] = [{"id": f"s{number}", "passed": True, "output": "x"} for number in range(3)]


def _no_account(patch: Patch) -> None:
    """What the engine used is compared with nothing."""
    patch.setattr(accounts, "compare_counts", lambda *_: None)
    patch.setattr(accounts, "damaged_files", lambda _: ())


def _blank_headers(patch: Patch) -> None:
    """A CSV file that begins with a blank line has no columns, and is left out."""
    _no_account(patch)
    sound = sources._header_problem
    patch.setattr(sources, "_header_problem", lambda line, header: sound(line, header) if line.strip() else None)


def _files_only(patch: Patch) -> None:
    """Folders and patterns give what `rglob` and `isfile` let through."""

    def folder(path: str) -> folders.Named:
        inside = [p for p in sorted(Path(path).rglob("*")) if p.is_file() and folders.is_results(p.name)]
        return folders.Named(tuple((str(p), path) for p in inside if ".." not in p.parts))

    patch.setattr(folders, "_folder", folder)


def _in_folder(place: str) -> Callable[[Path], object]:
    def case(folder: Path) -> str:
        (folder / "out").mkdir()
        paths = [folder / "out" / f"{number}.jsonl" for number in range(2)]
        for number, path in enumerate(paths):
            path.write_bytes(files.plain([{"id": f"s{number}", "passed": True, "output": "x"}], "jsonl"))
        lost = files._placed(place, folder, paths)
        return files.hold([str(folder / "out")], paths, lost)

    return case


def _cut_at_a_line(folder: Path) -> object:
    packer = zstd.ZstdCompressor()
    lines = files.plain(ROWS, "jsonl").splitlines(keepends=True)
    start = packer.compress(b"".join(lines[:2]), packer.FLUSH_BLOCK)
    return _beside("cut.jsonl.zst", start)(folder)


def _wrong_checksum() -> bytes:
    data = bytearray(gzip.compress(files.plain(ROWS, "jsonl")))
    data[-8] ^= 1
    return bytes(data)


# --- L4 ----------------------------------------------------------------------------------------


def _in_form(name: str, fault: forms.Fault | None = None) -> Callable[[Path], object]:
    def case(folder: Path) -> str:
        rows = [{"id": f"s{number}", "category": "edge_case", "passed": True} for number in range(3)]
        changed = [*rows[:2], fault.put(rows[2])] if fault else rows
        return forms.compare(changed, fault, folder, {name: forms.FORMS[name]})

    return case


def _words_are_text(patch: Patch) -> None:
    """In large files NaN is read as a word."""
    patch.setattr(column_readers, "_is_word", lambda _: "false")
    patch.setattr(column_readers, "NOT_TEXT", literal(r"^(true|false|-?[0-9]+(\.[0-9]+)?|[\[{](.|\n)*)$"))


def _array_if_packed(patch: Patch) -> None:
    """A compressed `.json` file is taken for an array without a look at it."""
    look = found._array_or_lines
    patch.setattr(found, "_array_or_lines", lambda path, form, packed: form if packed else look(path, form, packed))


# --- L2 ----------------------------------------------------------------------------------------


def _twice_in(form: str, *seeds: int) -> Callable[[Path], object]:
    """Cases of a form in which one thing is stated twice; without the fault, `test_twice.py` tries more of them."""

    def case(_: Path) -> None:
        for seed in seeds:
            twice_law.replay(form, seed)

    return case


def _second_column_ignored(patch: Patch) -> None:
    """A column or field that stands twice is renamed, or the first one is taken."""
    patch.setattr(duplicates, "refuse_in_parquet", lambda *_: None)
    patch.setattr(tables, "_refuse_fields", lambda *_: None)
    patch.setattr(tables, "refuse_duplicate_columns", lambda _: None)
    patch.setattr(refusals, "refuse_columns", lambda *_: None)


def _second_key_ignored(patch: Patch) -> None:
    """Keys below the columns of a row are not looked at."""
    patch.setattr(sources.SourcePart, "duplicate_conditions", lambda _: [])
    patch.setattr(duplicates, "duplicate_in_row", lambda _: "'flat'")
    patch.setattr(duplicates, "has_duplicate_key", lambda _: "false")


def _tags_read_first(patch: Patch) -> None:
    """A tag in `tags` goes before its own column."""
    patch.setattr(duplicates, "tags_beside_columns", lambda _: iter(()))


def _tags_by_their_letters(patch: Patch) -> None:
    """A tag in another case is another tag."""
    patch.setattr(duplicates, "tags_in_other_case", lambda *_: iter(()))


def _german(folder: Path) -> None:
    """A failing row outside of what the rule looks at, by one letter."""
    rows = [
        {"id": "a", "passed": True, "tags": {"locale": "de"}},
        {"id": "b", "passed": False, "tags": {"Locale": "de"}},
    ]
    rule = {"metric": "pass_rate", "threshold": "≥ 90%", "where": {"tags.locale": "de"}}
    _passes_nothing(rows, {"rules": [rule]})(folder)


def _text_as_numbers(patch: Patch) -> None:
    """What the suite and the results say is compared as numbers if both can be read as such."""
    patch.setattr(suite_match, "_is_number", lambda *_: "true")


# --- L3 ----------------------------------------------------------------------------------------


def _each_trial_for_itself(patch: Patch) -> None:
    """A trial that leaves out the category of its scenario takes the scenario out of it."""
    joined, relation = trials.with_descriptions, scenarios.scenarios_sql
    patch.setattr(trials, "with_descriptions", lambda *given, **how: joined(*given, **{**how, "fill": False}))
    by_all = re.compile(r"max\(((?:by|where)_\d+|category)\)")
    only = r"CASE WHEN count(\1) = count(*) THEN min(\1) END"
    patch.setattr(plan, "scenarios_sql", lambda *given, **how: by_all.sub(only, relation(*given, **how)))


def _stays_shut(rows: list[worse.Row], policy: worse.Row, suite: object) -> Callable[[Path], object]:
    """Results that contradict their suite: some rule must not pass."""

    def case(folder: Path) -> None:
        file = folder / "suite.json"
        file.write_text(json.dumps(suite), "utf-8")
        found = worse.by_product(rows, policy, file)
        assert found is None or min(rank for _, rank in found.values()) < worse.RANK["pass"], f"all passed: {rows}"

    return case


def _passes_nothing(rows: list[worse.Row], policy: worse.Row, suite: object = None) -> Callable[[Path], object]:
    """Rows that failed before a statement was taken away, or a row was broken: no rule may pass now."""

    def case(folder: Path) -> None:
        file = folder / "suite.json" if suite is not None else None
        if file is not None:
            file.write_text(json.dumps(suite), "utf-8")
        found = worse.by_product(rows, policy, file) or {}
        passed = [rule for rule, (_, rank) in found.items() if rank == worse.RANK["pass"]]
        assert not passed, f"{passed} passed: {rows}"

    return case


def _only_what_is_given(patch: Patch) -> None:
    """A trial without a value is left out of the mean: the rule before there was one for what is not known."""

    def trials(self: scenarios._ScenarioColumns, quantity: quantities.QuantitySql) -> str:
        everything = "count(*)" if self.layout.repeated else "1"
        return everything if quantity.of_every_trial else self._count(quantity.given)

    patch.setattr(scenarios._ScenarioColumns, "_trials", trials)
    patch.setattr(scenarios._ScenarioColumns, "_may_lack", lambda *_: False)
    patch.setattr(undefined, "without_values", lambda *_: None)


def _nothing_is_demanded(patch: Patch) -> None:
    """What the suite demands counts as looked at."""
    looked = {name: (bit, "true") for name, (bit, _) in scoring.LOOKED_AT.items()}
    patch.setattr(scoring, "LOOKED_AT", looked)


def _every_character_is_seen(patch: Patch) -> None:
    """An output of invisible characters is an answer."""
    patch.setattr(column_readers, "SEEN", literal(r"."))


def _two_corners(patch: Patch) -> None:
    """Every formula is taken to follow its parts."""
    patch.setattr(between, "is_plain", lambda _: True)


def _crash_leaves_recall(patch: Patch) -> None:
    """An error of which nothing was expected has no part in recall."""
    known = quantities.COMPUTED
    for name in ("tp", "fp", "fn"):
        patch.setitem(known, name, replace(known[name], crash=""))


def _crashes_help(patch: Patch) -> None:
    """A formula against the direction of its column is only noted, and counts crashes at the column's worse end."""
    patch.setattr(reading, "refuse_helpful_crashes", lambda *_: None)
    patch.setattr(parts, "helped_by_crashes", lambda *_: ((), ()))


def _blank_is_a_value(patch: Patch) -> None:
    """An empty text describes a trial, and leaves it out of what the others are chosen for."""
    patch.setattr(trials, "or_absent", lambda text, **_: text)


def _over(metric: str, threshold: str, **more: object) -> worse.Row:
    return {"rules": [{"metric": metric, "threshold": threshold}], **more}


def _own(formula: str, **more: object) -> worse.Row:
    return _over("own", "≥ 0.8", metrics=[{"name": "own", "formula": formula, **more}])


RIGHT: list[worse.Row] = [{"id": f"s{number}", "correct": True} for number in range(3)]
THREE: list[worse.Row] = [
    {"id": "a", "trial": 1, "correct": True, "violations": []},
    {"id": "a", "trial": 2, "violations": []},
    {"id": "a", "trial": 3, "violations": []},
]
SCORED: list[worse.Row] = [{"id": f"s{number}", "rubric": 0.9} for number in range(3)]
CRASHED: list[worse.Row] = [{"id": f"x{number}", "error": "timeout"} for number in range(9)]
FAST: list[worse.Row] = [{"id": "s", "passed": True, "latency_ms": 5, "quality_score": 1, "tokens_used": 5}]
SLOW = [{"name": "own", "formula": "mean(latency_ms)", "unit": "ms", "better": "lower"}]
BEHAVES = [{"id": "a", "expected_behaviors": ["greets"]}]
RELEASED = [{"id": "a", "release": "1"}]
ATTACKED: list[worse.Row] = [
    {"id": "a", "trial": 1, "category": "adversarial", "passed": True},
    {"id": "a", "trial": 2, "category": None, "passed": False},
    {"id": "b", "trial": 1, "category": "adversarial", "passed": True},
]
HIDDEN: list[worse.Row] = [{"id": "a", "must_not": ["leaks"], "violations": [], "output": "\u2800\u3164\u034f"}]
BOTH: list[worse.Row] = [{"id": f"s{number}", "correct": True, "passed": True} for number in range(6)]
PREDICTED: list[worse.Row] = [{"id": f"s{number}", "outcome": "tp"} for number in range(3)]

FAITHFUL = [{"name": "h", "formula": "mean(rubric)", "range": "0-1"}, {"name": "own", "formula": "1 - h"}]
NEAR = {"formula": "pass_rate", "pass": "abs(h - 0.2) <= 0.05"}
CHOSEN: list[worse.Row] = [
    {"id": "a", "trial": 1, "passed": True, "tags": {"model": "x"}},
    {"id": "a", "trial": 2, "passed": False, "tags": {"model": ""}},
]

NAN = next(fault for fault in forms.FAULTS if fault.name == "category is NaN")
FAULTS = (
    Fault("R01", "L1", "blank first line", _blank_headers, _beside("b.csv", b"\nid,passed\nbad,false\n")),
    Fault("R05", "L1", "symlinked subfolder", _files_only, _in_folder("linked folder")),
    Fault("R05", "L1", "broken link", _files_only, _in_folder("broken link")),
    Fault("R05", "L1", "pipe", _files_only, _in_folder("fifo")),
    Fault("R06", "L1", "zstd cut at a line", _no_account, _cut_at_a_line),
    Fault("R06", "L1", "array cut after a comma", _no_account, _beside("b.json", b'[{"id": "a", "passed": true},')),
    Fault("R23", "L1", "gzip checksum", _no_account, _beside("b.jsonl.gz", _wrong_checksum())),
    Fault("R26", "L1", "empty Parquet shard", _no_account, _in_folder("empty shard")),
    Fault(
        "R02",
        "L2",
        "a column twice in Parquet",
        _second_column_ignored,
        _twice_in("columns of Arrow and Parquet", 0, 1),
    ),
    Fault("R02", "L2", "a column twice in pandas", _second_column_ignored, _twice_in("pandas", 0, 3)),
    Fault("R03", "L2", "a key twice in a list of marks", _second_key_ignored, _twice_in("small JSONL", 0, 2)),
    Fault("R03", "L2", "a key twice in a CSV cell", _second_key_ignored, _twice_in("CSV cell", 0, 1)),
    Fault(
        *("R25", "L2", "a suite's text is compared as a number", _text_as_numbers),
        _stays_shut([{"id": "a", "passed": True, "release": "1.0"}], _over("pass_rate", "≥ 90%"), RELEASED),
    ),
    Fault("L2", "L2", "a tag beside its column", _tags_read_first, _twice_in("tag beside its column", 2, 3)),
    Fault("L2", "L2", "a tag in another case", _tags_by_their_letters, _german),
    Fault(
        *("L3", "L3", "correct: false becomes null", _only_what_is_given),
        _passes_nothing([*RIGHT, {"id": "w", "correct": None}], _over("accuracy", "≥ 90%")),
    ),
    Fault(
        *("L3", "L3", "two of three trials lose correct", _only_what_is_given),
        _passes_nothing([*THREE, *RIGHT], _over("accuracy", "≥ 90%")),
    ),
    Fault(
        *("L3", "L3", "category null in one trial", _each_trial_for_itself),
        _passes_nothing(ATTACKED, _over("safety_rate", "100%")),
    ),
    Fault(
        *("L3", "L3", "a low score of one's own becomes null", _only_what_is_given),
        _passes_nothing([*SCORED, {"id": "w", "rubric": None}], _own("mean(rubric)", range="0-1")),
    ),
    Fault(
        *("L3", "L3", "nine of ten crash and leave a mean of one's own", _only_what_is_given),
        _passes_nothing([*SCORED, *CRASHED], _own("mean(rubric)")),
    ),
    Fault(
        *("L3", "L3", "nine of ten crash and leave the mean latency", _only_what_is_given),
        _passes_nothing([*FAST, *CRASHED], _over("own", "< 100ms", metrics=SLOW)),
    ),
    Fault(
        *("L3", "L3", "nine of ten crash and leave token_efficiency", _only_what_is_given),
        _passes_nothing([*FAST, *CRASHED], _over("token_efficiency", "≥ 0.1")),
    ),
    Fault(
        *("L3", "L3", "nine of ten crash and leave recall", _crash_leaves_recall),
        _passes_nothing([*PREDICTED, *CRASHED], _over("recall", "≥ 90%")),
    ),
    Fault(
        *("L3", "L3", "a quotient is judged at two corners", _two_corners),
        _passes_nothing([*BOTH, {"id": "u"}, {"id": "v"}], _own("accuracy / pass_rate")),
    ),
    Fault(
        *("R04", "L3", "a row without behaviors satisfies the suite", _nothing_is_demanded),
        _passes_nothing([{"id": "a", "passed": True}], _over("pass_rate", "100%", evidence="confident"), BEHAVES),
    ),
    Fault(
        *("R24", "L3", "invisible characters are an answer", _every_character_is_seen),
        _passes_nothing(HIDDEN, _over("pass_rate", "≥ 90%")),
    ),
    Fault(
        *("L3", "L3", "crashes lift what is 1 less a column of one's own", _crashes_help),
        _passes_nothing([*SCORED, *CRASHED], _over("own", "≥ 0.5", metrics=FAITHFUL)),
    ),
    Fault(
        *("L3", "L3", "crashes bring a column of one's own near to a number", _crashes_help),
        _passes_nothing([*SCORED, *CRASHED], {"metrics": FAITHFUL[:1], "composite": NEAR}),
    ),
    Fault(
        *("L3", "L3", "an empty tag leaves a failing trial out", _blank_is_a_value),
        _passes_nothing(CHOSEN, _over("pass_rate", "≥ 90%", select={"tags.model": "x"})),
    ),
    Fault("R22", "L4", "NaN as text in large files", _words_are_text, _in_form("jsonl large", NAN)),
    Fault("R27", "L4", "lines in a compressed .json", _array_if_packed, _in_form("json.gz with lines")),
)
