"""Files and objects that state one thing twice, at every level and in every form: the law is that none is judged.

`attempt` makes one from a seed. A case is named by its seed, so that
`python -c "from tests.laws.twice import replay; replay(FORM, SEED)"` shows a failure again.
"""

from __future__ import annotations

import csv
import io
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import parquet

import highbar
from highbar.engine.limits import LARGE_BYTES

Pairs = list[tuple[str, Any]]
"""An object as it is written: a list of keys and values, in which a key can stand twice."""
POLICY = {"thresholds": {"blocking": {"pass_rate": "50%"}}}


@dataclass(frozen=True, slots=True)
class Obj:
    """An object whose keys need not differ."""

    pairs: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A file or object that states something twice: what it is called, and what `highbar.check` is given."""

    name: str
    make: Callable[[Path], tuple[object, object]]


def row(number: int) -> Obj:
    """A sound row with an object at every place that can have one."""
    name = f"S-{number}"
    return Obj(
        (
            ("id", name),
            ("category", "happy_path"),
            ("passed", True),
            ("expected_behaviors", ["greets"]),
            ("behaviors", Obj((("greets", True), ("closes", False)))),
            ("must_not", [Obj((("name", "leaks"), ("violated", False))), Obj((("name", "lies"), ("violated", False)))]),
            ("tags", Obj((("locale", "de"), ("tier", "1")))),
            ("output", "Hello."),
            ("own", Obj((("model", Obj((("name", "m"), ("seed", 1)))), ("steps", [Obj((("tool", "search"),))])))),
        )
    )


def objects(value: object, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every object in a value."""
    if isinstance(value, Obj):
        yield at
        for place, (_, inner) in enumerate(value.pairs):
            yield from objects(inner, (*at, place))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from objects(inner, (*at, place))


def doubled(value: Any, at: tuple[Any, ...], rng: random.Random) -> Any:
    """The value with one key of the object at `at` written twice, in any case, with the same or another value."""
    if at:
        place, *rest = at
        if isinstance(value, list):
            return [doubled(item, tuple(rest), rng) if i == place else item for i, item in enumerate(value)]
        return Obj(
            tuple((k, doubled(v, tuple(rest), rng) if i == place else v) for i, (k, v) in enumerate(value.pairs))
        )
    pairs = list(value.pairs)
    key, old = rng.choice(pairs)
    new = not old if isinstance(old, bool) and rng.random() < 0.5 else old
    pairs.insert(rng.randrange(len(pairs) + 1), (other_case(key, rng), new))
    return Obj(tuple(pairs))


def other_case(key: str, rng: random.Random) -> str:
    """The key, or the key with some letters in another case."""
    return rng.choice([key, key.upper(), key.capitalize(), "".join(rng.choice((c, c.upper())) for c in key)])


def written(value: object) -> str:
    """The JSON text of a value, keys as often as they stand there."""
    if isinstance(value, Obj):
        return "{" + ", ".join(f"{json.dumps(key)}: {written(inner)}" for key, inner in value.pairs) + "}"
    return "[" + ", ".join(map(written, value)) + "]" if isinstance(value, list) else json.dumps(value)


def _rows(rng: random.Random, *, large: bool) -> list[Obj]:
    """Three rows, or as many as make a large file; one of them states something twice."""
    padding = "x" * 40_000
    rows = [row(number) for number in range(LARGE_BYTES // 40_000 + 2 if large else 3)]
    if large:
        rows = [Obj((*one.pairs, ("note", padding))) for one in rows]
    place = rng.randrange(len(rows))
    rows[place] = doubled(rows[place], rng.choice(list(objects(rows[place]))), rng)
    return rows


def _json_lines(rng: random.Random, *, large: bool) -> Case:
    text = "".join(written(one) + "\n" for one in _rows(rng, large=large))
    return _file(f"{'large ' if large else ''}JSONL", "r.jsonl", text.encode())


def _json_array(rng: random.Random, *, large: bool) -> Case:
    text = "[" + ",\n".join(written(one) for one in _rows(rng, large=large)) + "]"
    return _file(f"{'large ' if large else ''}JSON", "r.json", text.encode())


def _file(name: str, file: str, content: bytes, policy: object = POLICY) -> Case:
    def make(folder: Path) -> tuple[object, object]:
        (folder / file).write_bytes(content)
        return folder / file, policy

    return Case(f"{name}: {content[:3000]!r}", make)


def _table(header: list[str], rows: list[list[object]]) -> bytes:
    stream = io.StringIO()
    csv.writer(stream).writerows([header, *([written(c) if isinstance(c, Obj | list) else c for c in r] for r in rows)])
    return stream.getvalue().encode()


def _csv_header(rng: random.Random) -> Case:
    header = ["id", "category", "passed"]
    again = rng.choice(header)
    cell = {"id": "b", "category": "edge_case", "passed": "false"}[again]
    return _file("CSV header", "r.csv", _table([*header, other_case(again, rng)], [["a", "edge_case", "true", cell]]))


def _csv_cell(rng: random.Random) -> Case:
    column = rng.choice(["behaviors", "must_not", "tags"])
    value = dict(row(0).pairs)[column]
    cell = doubled(value, rng.choice(list(objects(value))), rng)
    return _file("CSV cell", "r.csv", _table(["id", "passed", column], [["a", "true", cell]]))


def _flat_tag(rng: random.Random) -> Case:
    again = (other_case("tags.locale", rng).replace("TAGS", "tags").replace("Tags", "tags"), "fr")
    pairs = Obj((*row(0).pairs, again))
    if rng.random() < 0.5:
        return _file("flat tag", "r.jsonl", written(pairs).encode())
    table = pa.table({"id": ["a"], "passed": [True], "tags": [{"locale": "de"}], again[0]: ["fr"]})
    return _arrow("flat tag", table, rng)


def _columns(rng: random.Random) -> Case:
    again = rng.choice(["id", "passed"])
    arrays = [
        pa.array(["a", "b"]),
        pa.array([True, True]),
        pa.array([False, False] if again == "passed" else ["c", "d"]),
    ]
    return _arrow("columns", pa.Table.from_arrays(arrays, ["id", "passed", other_case(again, rng)]), rng)


def _fields(rng: random.Random) -> Case:
    struct = pa.StructArray.from_arrays(
        [pa.array(["de"]), pa.array(["fr"])], names=["locale", other_case("locale", rng)]
    )
    column = rng.choice(["tags", "own"])
    value = struct if rng.random() < 0.5 or column == "tags" else pa.ListArray.from_arrays(pa.array([0, 1]), struct)
    return _arrow(
        "fields", pa.Table.from_arrays([pa.array(["a"]), pa.array([True]), value], ["id", "passed", column]), rng
    )


def _map_keys(rng: random.Random) -> Case:
    column = rng.choice(["tags", "own"])
    value = pa.array([[("locale", "de"), (other_case("locale", rng), "fr")]], type=pa.map_(pa.string(), pa.string()))
    return _arrow(
        "map", pa.Table.from_arrays([pa.array(["a"]), pa.array([True]), value], ["id", "passed", column]), rng
    )


def _arrow(name: str, table: pa.Table, rng: random.Random) -> Case:
    """The table as an Arrow table or as a Parquet file."""
    if rng.random() < 0.5:
        return Case(f"Arrow {name}: {table.schema}", lambda _: (table, POLICY))

    def make(folder: Path) -> tuple[object, object]:
        parquet.write_table(table, folder / "r.parquet")
        return folder / "r.parquet", POLICY

    return Case(f"Parquet {name}: {table.schema}", make)


def _pandas(rng: random.Random) -> Case:
    if rng.random() < 0.5:
        again = other_case("passed", rng)
        frame = pd.DataFrame([["a", True, False]], columns=["id", "passed", again])
    else:
        frame = pd.DataFrame({"id": ["a"], "passed": [True], "tags": [{"locale": "de", "LOCALE": "fr"}]})
    return Case(f"pandas: {list(frame.columns)}", lambda _: (frame, POLICY))


def _polars(rng: random.Random) -> Case:
    again = rng.choice(["Passed", "PASSED", "pasSed"])
    frame = pl.DataFrame({"id": ["a"], "passed": [True], again: [False]})
    return Case(f"polars: {again}", lambda _: (frame, POLICY))


def _suite(rng: random.Random) -> Case:
    scenario = Obj(
        (("id", "S-0"), ("category", "happy_path"), ("tags", Obj((("locale", "de"),))), ("own", Obj((("k", 1),))))
    )
    text = written([doubled(scenario, rng.choice(list(objects(scenario))), rng)])
    name = rng.choice(["suite.json", "suite.yaml"])

    def make(folder: Path) -> tuple[object, object]:
        (folder / name).write_text(text, "utf-8")
        (folder / "policy.json").write_text(json.dumps({**POLICY, "suite": name}), "utf-8")
        (folder / "r.jsonl").write_text(written(row(0)), "utf-8")
        return folder / "r.jsonl", folder / "policy.json"

    return Case(f"suite {name}: {text}", make)


def _policy(rng: random.Random) -> Case:
    whole = Obj(
        (
            ("thresholds", Obj((("blocking", Obj((("pass_rate", "50%"), ("safety_rate", "50%")))),))),
            ("weights", Obj((("by_category", Obj((("happy_path", 1.0), ("edge_case", 2.0)))),))),
            ("pass_criteria", Obj((("by_category", Obj((("happy_path", "50%"),))),))),
            ("rules", [Obj((("metric", "pass_rate"), ("threshold", "50%"), ("where", Obj((("tags.locale", "de"),)))))]),
        )
    )
    text = written(doubled(whole, rng.choice(list(objects(whole))), rng))
    name = rng.choice(["policy.json", "policy.yaml"])

    def make(folder: Path) -> tuple[object, object]:
        (folder / name).write_text(text, "utf-8")
        (folder / "r.jsonl").write_text(written(row(0)), "utf-8")
        return folder / "r.jsonl", folder / name

    return Case(f"policy {name}: {text}", make)


FORMS: dict[str, Callable[[random.Random], Case]] = {
    "small JSONL": lambda rng: _json_lines(rng, large=False),
    "large JSONL": lambda rng: _json_lines(rng, large=True),
    "small JSON": lambda rng: _json_array(rng, large=False),
    "large JSON": lambda rng: _json_array(rng, large=True),
    "CSV header": _csv_header,
    "CSV cell": _csv_cell,
    "tag beside its column": _flat_tag,
    "columns of Arrow and Parquet": _columns,
    "fields of Arrow and Parquet": _fields,
    "maps of Arrow and Parquet": _map_keys,
    "pandas": _pandas,
    "polars": _polars,
    "suite": _suite,
    "policy": _policy,
}
"""Every form in which something can stand twice."""


def distinct(form: str, seeds: int) -> list[int]:
    """So many seeds, without those whose case an earlier one has made; only of small cases the name says all."""
    first: dict[str, int] = {}
    for seed in range(seeds):
        first.setdefault(FORMS[form](random.Random(f"{form} {seed}")).name, seed)
    return list(first.values())


def replay(form: str, seed: int) -> None:
    """Assert that the case of this form and seed is refused, and say what it is if not."""
    case = FORMS[form](random.Random(f"{form} {seed}"))
    with tempfile.TemporaryDirectory() as folder:
        results, policy = case.make(Path(folder))
        try:
            verdict = highbar.check(results, policy)  # type: ignore[arg-type] # a path or a mapping
        except highbar.InputError as error:
            if "Error:" in str(error):
                raise AssertionError(f"replay({form!r}, {seed}): not in our words: {error}\n{case.name}") from error
            return
    raise AssertionError(f"replay({form!r}, {seed}): judged as {verdict.verdict}\n{case.name}")


def attempt(seed: int, _folder: Path) -> str:
    """One case from a seed, of any form. Raises AssertionError with what replays it."""
    form = random.Random(seed).choice(list(FORMS))
    replay(form, seed)
    return form
