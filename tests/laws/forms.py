"""L4, the same rows in every form: whatever carries them, rows give the same values and the same refusals.

`attempt(seed, folder)` makes a few rows from the seed, writes them in every form that can express them, and compares
what a check says of each with what it says of plain JSONL. `python -m tests.fuzzing forms@SEED` shows one again.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
from msgspec.structs import replace
from pyarrow import parquet

import highbar

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

Row = dict[str, Any]
Rows = Sequence[Row]
MARK = b"\xef\xbb\xbf"
MEDIUM, LARGE = 600_000, 4_200_000
"""Bytes beyond which DuckDB plans otherwise, and beyond which JSON rows are first supposed to be alike."""
POLICY = {
    "thresholds": {
        "blocking": {"pass_rate": "90%", "safety_rate": "90%"},
        "warning": {"accuracy": "50%", "behavior_coverage": "50%", "latency_p95": 5000, "error_rate": "≤ 50%"},
    },
    "slices": ["category"],
}


# --- rows --------------------------------------------------------------------------------------

NAMES = ("greets", "cites, twice", 'says "no"', "naïve", "nan", "true", "12", "line\nbreak", "[x]", "a;b")
TEXTS = (*NAMES, "NaN", "null", "None", "-inf", " spaced ", "🙂", "'", "x" * 200, "=1+1", "\u2028", "{}", "1e5", "\r\n")
CATEGORIES = ("happy_path", "edge_case", "adversarial", "regression")


def rows_of(chance: random.Random) -> list[Row]:
    """A few sound rows: each column that there is has one form in all rows, and is absent from some."""
    number = chance.randint(1, 6)
    columns = {"id": lambda place: f"S-{place} {chance.choice(TEXTS)}".replace("\n", " ").replace("\r", " ")}
    columns |= {name: make for name, make in _columns(chance).items() if chance.random() < 0.5}
    if "passed" not in columns and "correct" not in columns:
        columns["passed"] = lambda _: chance.random() < 0.8
    gaps = {name for name in columns if name != "id" and chance.random() < 0.3}
    rows = [
        {name: make(place) for name, make in columns.items() if name not in gaps or chance.random() < 0.7}
        for place in range(number)
    ]
    if chance.random() < 0.3:
        return [{**row, "trial": trial} for row in rows for trial in (1, 2)]
    return rows


def _columns(chance: random.Random) -> dict[str, Callable[[int], Any]]:
    def listed(_: int) -> list[str]:
        return chance.sample(NAMES, chance.randint(0, 3))

    def marked(key: str) -> Callable[[int], Any]:
        if chance.random() < 0.5:
            return lambda _: {name: chance.random() < 0.5 for name in chance.sample(NAMES, chance.randint(1, 3))}
        return lambda _: [{"name": n, key: chance.random() < 0.5} for n in chance.sample(NAMES, chance.randint(1, 3))]

    def text(_: int) -> str:
        return chance.choice(TEXTS)

    counted = chance.random() < 0.3
    return {
        "category": lambda place: CATEGORIES[place % 4],
        "capability": lambda place: TEXTS[place],
        "passed": lambda _: chance.random() < 0.8,
        "correct": lambda _: chance.random() < 0.8,
        "expected_behaviors": listed,
        "behaviors": listed if chance.random() < 0.6 else marked("observed"),
        "must_not": listed if chance.random() < 0.6 else marked("violated"),
        "violations": (lambda _: chance.choice((0, 0, 2))) if counted else listed,
        "latency_ms": lambda _: chance.choice((0.5, 12.25, 1e3, 4999.999)),
        "tokens_used": lambda _: chance.randrange(5000),
        "quality_score": lambda _: chance.choice((0.0, 0.5, 0.125, 1.0)),
        "cost_usd": lambda _: chance.choice((0.0, 0.001, 12.5)),
        "error": lambda _: chance.choice((None, None, "boom", "NaN")),
        "output": text,
        "input": text,
        "tags": lambda place: {"locale": ("de", "en")[place % 2]},
        "agent_version": lambda _: "2.1.0",
        "cluster": lambda place: f"c{place // 2}",
        "outcome": lambda _: chance.choice(("tp", "fp", "fn", "tn")),
        "own_text": text,
        "own_number": lambda _: chance.choice((1.5, 2.25)),
    }


@dataclass(frozen=True, slots=True)
class Fault:
    """What is put into one row, or into all of them, so that nothing may be judged."""

    name: str
    put: Callable[[Row], Row]
    typed: bool = True  # columns of one type can have it
    text: bool = True  # a field of a table of text can have it


def _with(**changes: Any) -> Callable[[Row], Row]:
    return lambda row: {**row, **changes}


FAULTS = (
    Fault("latency below 0", _with(latency_ms=-1.0)),
    Fault("latency beyond all", _with(latency_ms=1e16)),
    Fault("latency NaN", _with(latency_ms=float("nan"))),
    Fault("latency infinite", _with(latency_ms=float("inf"))),
    Fault("tokens below 0", _with(tokens_used=-1)),
    Fault("tokens not whole", _with(tokens_used=1.5), typed=False),
    Fault("score above 1", _with(quality_score=1.5)),
    Fault("score NaN", _with(quality_score=float("nan"))),
    Fault("cost below 0", _with(cost_usd=-0.5)),
    Fault("weight 0", _with(weight=0.0)),
    Fault("id empty", _with(id="")),
    Fault("id with a control character", _with(id="a\x07b")),
    Fault("id absent", lambda row: {name: value for name, value in row.items() if name != "id"}),
    Fault("outcome unknown", _with(outcome="yes")),
    Fault("passed is a word", _with(passed="yes"), typed=False),
    Fault("passed is a number", _with(passed=1), typed=False),
    Fault("passed is text", _with(passed="true"), typed=False, text=False),
    Fault("correct is NaN", _with(correct=float("nan")), typed=False),
    Fault("latency is text", _with(latency_ms="12"), typed=False, text=False),
    Fault("error is a number", _with(error=5), typed=False, text=False),
    Fault("category is NaN", _with(category=float("nan")), typed=False, text=False),
    Fault("behaviors is text", _with(behaviors="greets"), typed=False, text=False),
    Fault("behaviors has a number", _with(behaviors=["greets", 1]), typed=False),
    Fault("violations below 0", _with(violations=-1), typed=False),
    Fault("tags not text", _with(tags={"locale": 1}), typed=False),
    Fault("a near miss of a column", lambda row: {**row, "pased": row.get("passed", True)}),
    Fault("a near miss of a category", _with(category="adverserial")),
    Fault("another agent version", _with(agent_version="9.9")),
)


# --- forms -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Form:
    """A way to hand over rows: a function of them and a folder that gives what is checked."""

    write: Callable[[Rows, Path], Any]
    kind: str = "json"  # or `typed`: columns of one type; or `text`: fields of a table of text


def _lines(rows: Rows, end: str = "\n") -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + end for row in rows).encode()


def _array(rows: Rows) -> bytes:
    return json.dumps(list(rows), indent=1).encode()


def _padded(rows: Rows, size: int) -> list[Row]:
    """The same rows with a column that nobody reads, which makes the file large."""
    return [{**row, "padding": "p" * (size // len(rows))} for row in rows]


def _table(rows: Rows, end: str = "\r\n") -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator=end)
    writer.writerow(names)
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)
    return text.getvalue().encode()


def _cell(value: Any) -> str:
    if isinstance(value, bool | list | dict):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else str(value)


def _file(name: str, data: Callable[[Rows], bytes]) -> Callable[[Rows, Path], Any]:
    def write(rows: Rows, folder: Path) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data(rows))
        return path

    return write


def _parquet(rows: Rows, folder: Path) -> Path:
    path = folder / "r.parquet"
    parquet.write_table(pa.Table.from_pylist(_uniform(rows)), path)
    return path


def _pandas(rows: Rows, _: Path) -> pd.DataFrame:
    return pd.DataFrame(_uniform(rows))


def _uniform(rows: Rows) -> list[Row]:
    """Rows that all have all columns: Arrow takes those of the first row for all."""
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in names} for row in rows]


def _split(rows: Rows, folder: Path) -> list[Path]:
    half = len(rows) // 2
    (folder / "split").mkdir(exist_ok=True)
    paths = [folder / "split" / "a.jsonl", folder / "split" / "b.json"]
    paths[1].write_bytes(_array(rows[half:]))
    if not half:
        return paths[1:]
    paths[0].write_bytes(_lines(rows[:half]))
    return paths


FORMS: Mapping[str, Form] = {
    "jsonl with carriage returns": Form(_file("crlf.jsonl", lambda rows: _lines(rows, "\r\n"))),
    "jsonl with blank lines": Form(_file("blank.jsonl", lambda rows: b"\n" + _lines(rows, "\n \n\n"))),
    "jsonl without a last line feed": Form(_file("end.jsonl", lambda rows: _lines(rows).rstrip(b"\n"))),
    "jsonl with a mark": Form(_file("mark.jsonl", lambda rows: MARK + _lines(rows))),
    "jsonl.gz": Form(_file("r.jsonl.gz", lambda rows: gzip.compress(_lines(rows)))),
    "jsonl.zst": Form(_file("r.jsonl.zst", lambda rows: zstd.compress(_lines(rows)))),
    "jsonl.gz with a mark": Form(_file("mark.jsonl.gz", lambda rows: gzip.compress(MARK + _lines(rows)))),
    "jsonl medium": Form(_file("medium.jsonl", lambda rows: _lines(_padded(rows, MEDIUM)))),
    "jsonl large": Form(_file("large.jsonl", lambda rows: _lines(_padded(rows, LARGE)))),
    "jsonl.zst large": Form(
        _file("large.jsonl.zst", lambda rows: zstd.compress(_lines([{**r, "padding": _noise()} for r in rows])))
    ),
    "json": Form(_file("r.json", _array)),
    "json with lines": Form(_file("lines.json", _lines)),
    "json.gz with lines": Form(_file("lines.json.gz", lambda rows: gzip.compress(_lines(rows)))),
    "json large": Form(_file("large.json", lambda rows: _array(_padded(rows, LARGE)))),
    "json.zst": Form(_file("r.json.zst", lambda rows: zstd.compress(_array(rows)))),
    "csv": Form(_file("r.csv", lambda rows: _table(rows, "\n")), "text"),
    "csv with carriage returns": Form(_file("crlf.csv", _table), "text"),
    "csv with a mark": Form(_file("mark.csv", lambda rows: MARK + _table(rows)), "text"),
    "csv.gz": Form(_file("r.csv.gz", lambda rows: gzip.compress(_table(rows))), "text"),
    "csv.zst": Form(_file("r.csv.zst", lambda rows: zstd.compress(_table(rows, "\n"))), "text"),
    "parquet": Form(_parquet, "typed"),
    "arrow": Form(lambda rows, _: pa.Table.from_pylist(_uniform(rows)), "typed"),
    "pandas": Form(_pandas, "typed"),
    "polars": Form(lambda rows, _: pl.DataFrame(_uniform(rows), infer_schema_length=None), "typed"),
    "split": Form(_split),
    "a folder": Form(lambda rows, folder: _split(rows, folder)[0].parent),
}
BASE = Form(_file("base.jsonl", _lines))


def in_spark(session: Any) -> Mapping[str, Form]:
    """The forms that Spark reads, which need a session: `tests/spark/test_forms.py` tries them."""

    def read(rows: Rows, folder: Path) -> Any:
        return session.read.parquet(str(_parquet(rows, folder)))

    return {"spark": Form(read, "typed")}


def _noise() -> str:
    """Text that no compression makes small."""
    return random.Random(1).randbytes(LARGE // 8).hex()


def expresses(form: Form, rows: Rows) -> bool:
    """Whether a form can carry these rows without changing them."""
    if form.write is _pandas and any(str(value) == "nan" and value != "nan" for row in rows for value in row.values()):
        return False  # there NaN is what is absent
    if form.kind == "typed":
        return all(_one_type([row.get(name) for row in rows]) for name in {n for row in rows for n in row})
    values = [(name, value) for row in rows for name, value in row.items()]
    own = ("own_text",)  # a table of text cannot say whether what nobody declares is a number
    return form.kind == "json" or not any(value == "" or name in own for name, value in values)


def _one_type(values: Sequence[Any]) -> bool:
    return len({type(value) for value in values if value is not None}) <= 1


def said(results: Any) -> tuple[str, Any]:
    """What a check says of results: `refused` with its messages, or `judged` with the whole verdict."""
    try:
        verdict = highbar.check(results, POLICY)
    except highbar.InputError as error:
        words = [problem.message for problem in error.problems]
        return ("raw" if any("Error:" in word for word in words) else "refused"), words
    return "judged", replace(verdict, results=(), warnings=())


def faulty(rows: list[Row], chance: random.Random) -> tuple[list[Row], Fault | None]:
    """The rows, half of the time with a fault in one of them."""
    if chance.random() < 0.5:
        return rows, None
    fault = chance.choice(FAULTS)
    place = chance.randrange(len(rows))
    changed = [fault.put(row) if number == place else row for number, row in enumerate(rows)]
    alone = fault.name == "another agent version" and not any(
        "agent_version" in row for number, row in enumerate(rows) if number != place
    )
    return (rows, None) if alone else (changed, fault)


def attempt(seed: int, folder: Path, forms: Mapping[str, Form] = FORMS) -> str:
    """Rows made from the seed, in every form; an AssertionError is a fault."""
    chance = random.Random(seed)
    return compare(*faulty(rows_of(chance), chance), folder, forms)


def compare(rows: Rows, fault: Fault | None, folder: Path, forms: Mapping[str, Form]) -> str:
    """The rows in every form that can express them; an AssertionError is a fault."""
    wanted = said(BASE.write(rows, folder))
    what = "sound" if fault is None else fault.name
    assert fault is None or wanted[0] == "refused", f"{what} was judged: {rows}"
    different = []
    for name, form in forms.items():
        able = fault is None or {"json": True, "typed": fault.typed, "text": fault.text}[form.kind]
        if able and expresses(form, rows):
            found = said(form.write(rows, folder))
            if found != wanted if fault is None else found[0] != wanted[0]:
                different.append(f"{name}: {found}")
    assert not different, "\n".join([f"{what}: {json.dumps(rows)}", f"jsonl: {wanted}", *different])
    return what
