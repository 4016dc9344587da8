"""Both engines, row by row and sum by sum: the same values, the same refusals."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import pytest
from msgspec.structs import replace
from pyarrow import parquet

import highbar
from highbar import measure, pipeline
from highbar import policy as policies
from highbar.engine import plan
from highbar.engine.duckdb import DuckDBEngine
from highbar.engine.opening import choose_engine
from highbar.engine.spark import SparkEngine
from highbar.engine.spark_session import read_files
from highbar.errors import InputError
from highbar.model import ResultsFile
from highbar.model.job import DUCKDB, EngineChoice, Job
from tests.oracle.comparing import as_json, differences
from tests.oracle.files import WRITERS
from tests.oracle.judging import judge
from tests.oracle.policies import policy_of
from tests.oracle.suites import rows_of
from tests.spark.forms import every_row

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore"),
]

POLICY = {
    "slices": ["category", "tags.l"],
    "rules": [
        {"metric": metric, "threshold": threshold}
        for metric, threshold in (
            ("precision", "≥ 1%"), ("accuracy", "≥ 1%"), ("token_efficiency", "≥ 0.001"), ("cost_per_pass", "≤ 100"),
            ("latency_p95", "< 9s"), ("behavior_coverage_pooled", "≥ 1%"), ("weighted_pass_rate", "≥ 1%"),
        )
    ],
    "metrics": [{"name": "place", "formula": "mean(n)"}],
}  # fmt: skip


SPARK = choose_engine("spark")
PASS_RATE = {"thresholds": {"blocking": {"pass_rate": 50}}}


def differing(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """Where two results differ; floats may in the last digits, since sums are taken in another order."""
    if isinstance(one, msgspec.Struct) and type(one) is type(other):
        for name in one.__struct_fields__:
            yield from differing(getattr(one, name), getattr(other, name), f"{place}.{name}")
    elif isinstance(one, Mapping) and isinstance(other, Mapping) and list(one) == list(other):
        for key in one:
            yield from differing(one[key], other[key], f"{place}[{key}]")
    elif isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        for number, (first, second) in enumerate(zip(one, other, strict=True)):
            yield from differing(first, second, f"{place}[{number}]")
    elif isinstance(one, float) and isinstance(other, float):
        if not math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-300):
            yield f"{place}: {one!r} is not {other!r}"
    elif one != other:
        yield f"{place}: {one!r} is not {other!r}"


def scored(rows: Sequence[Mapping[str, Any]], request: Any, parts: Any, folder: Path) -> dict[int, Any]:
    """By `n`, the columns of a row as DuckDB scores it; None where it refuses to read it at all.

    One query scores all rows. If it is refused, so is each half, until the row is alone: planning costs most.
    """
    file = folder / "some.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    part = replace(parts[0], files=(ResultsFile(str(file), file.name, "jsonl"),))
    with duckdb.connect() as connection:
        try:
            found = connection.execute(plan.make_plan((part,), request).trials.sql)
            names = [column[0] for column in found.description]
            return by_number(names, found.fetchall())
        except duckdb.Error:
            if len(rows) == 1:
                return {rows[0]["n"]: None}
    half = len(rows) // 2
    return {
        **scored(rows[:half], request, parts, folder),
        **scored(rows[half:], request, parts, folder),
    }


def by_number(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[int, Any]:
    """The rows of a query by the value of `n`, which is kept in billionths."""
    named = (dict(zip(names, row, strict=True)) for row in rows)
    return {row["extra_0_scaled"] // 10**9: row for row in named}


@pytest.mark.usefixtures("generated_code")
def test_every_form_of_every_column_is_scored_or_refused_alike(spark: Any, tmp_path: Path) -> None:
    rows = every_row()
    file = tmp_path / "results.jsonl"
    lines = (json.dumps(row, ensure_ascii=number % 2 == 0) + "\n" for number, row in enumerate(rows))
    file.write_text("".join(lines), "utf-8")
    parts = DuckDBEngine((ResultsFile(str(file), file.name, "jsonl"),))._parts
    policy = policies.choose(POLICY)
    request = measure.needs(policy, tuple(parts[0].columns))
    here = scored(rows, request, parts, tmp_path)
    assert set(here) == {row["n"] for row in rows}
    names = list(next(found for found in here.values() if found))
    engine = SparkEngine(read_files(spark, [str(file)], "jsonl"), format_="jsonl")
    engine.define("trials", plan.make_plan(engine._parts, request).trials, materialized=True)
    there = by_number(names, engine.rows(f"SELECT {', '.join(names)} FROM trials"))  # noqa: S608 - names of ours
    engine.close()
    assert set(here) == set(there)
    wrong = []
    for number, found in here.items():
        other = there[number]
        if (found is None or found["bad"]) and other["bad"]:
            continue
        wrong += [f"{rows[number]}: {text}" for text in differing(found, other)]
    assert not wrong, "\n".join(wrong)
    assert sum(found is None or found["bad"] for found in here.values()) > 80


@pytest.mark.parametrize(("seed", "form"), [(1, "jsonl"), (2, "parquet")])  # CSV: every form of every column, above
def test_generated_suites_have_the_same_sums_on_both_engines_and_the_verdict_of_the_oracle(
    spark: Any, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, form: str
) -> None:
    assert spark  # the check finds this session
    if form == "parquet":
        request.getfixturevalue("generated_code")
    random = Random(seed)
    rows = rows_of(random, scenarios=20, uniform=form != "jsonl")
    written = policy_of(random, rows)
    file = str(WRITERS[form](rows, tmp_path / "results", random))
    policy = policies.choose(written)
    here = DuckDBEngine((ResultsFile(file, file, form),))
    there: list[Any] = []
    reduce = SparkEngine.reduce

    def noted(engine: SparkEngine, asked: Any) -> Any:
        there.append((asked, reduce(engine, asked)))
        return there[-1][1]

    monkeypatch.setattr(SparkEngine, "reduce", noted)  # one reduction for both comparisons: it takes long
    verdict = pipeline.check(Job((file,), policy=policy, engine=SPARK))
    ((asked, sums),) = there
    assert asked == measure.needs(policy, here.columns())
    found = list(differing(here.reduce(asked), sums))
    assert not found, "\n".join(found)
    wrong = differences(as_json(verdict), judge(rows, written), written)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("trials", [1, 2])
def test_a_suite_with_demands_is_held_against_the_rows_alike(spark: Any, tmp_path: Path, trials: int) -> None:
    names = ["it's", 'the "end"', "naïve", "back\\slash"]
    suite = [
        {
            "id": f"{name} {i}",
            "category": "edge_case",
            "weight": 1.5,
            "expected_behaviors": names[: i % 3],
            "answer": "x",
        }
        for i, name in enumerate(names * 3)
    ]
    rows = [
        {"id": one["id"], "trial": trial, "correct": True, "behaviors": names, "expected_behaviors": names[:1]}
        for one in suite[1:]
        for trial in range(trials)
    ]
    rows[0] |= {"correct": None, "expected_behaviors": None}
    rows[1] |= {"behaviors": None}
    for row in rows[-trials:]:
        row |= {"category": "other"}
    (tmp_path / "suite.json").write_text(json.dumps(suite), "utf-8")
    (tmp_path / "policy.json").write_text(json.dumps(PASS_RATE | {"suite": "suite.json"}), "utf-8")
    file = tmp_path / "results.jsonl"
    lines = [json.dumps({k: v for k, v in row.items() if trials > 1 or k != "trial"}) for row in rows]
    file.write_text("".join(line + "\n" for line in lines), "utf-8")
    policy = policies.choose(tmp_path / "policy.json")
    here = DuckDBEngine((ResultsFile(str(file), file.name, "jsonl"),))
    there = SparkEngine(read_files(spark, [str(file)], "jsonl"), format_="jsonl")
    request = measure.needs(policy, here.columns())
    at_home = here.reduce(request)
    found = list(differing(at_home, there.reduce(request)))
    there.close()
    assert not found, "\n".join(found)
    assert at_home.suite is not None
    assert at_home.suite.missing_ids == ("it's 0",)
    assert any("category is 'other'" in one for one in at_home.suite.different)
    assert any("expected_behaviors lacks" in one for one in at_home.suite.different)
    assert at_home.undecided


@pytest.mark.parametrize("format_", ["jsonl", "parquet"])
def test_rows_are_chosen_alike_if_some_do_not_say_their_model(spark: Any, tmp_path: Path, format_: str) -> None:
    rows: list[dict[str, Any]] = [
        {"id": f"it's {i}", "trial": trial, "correct": trial < 3, "model": model, "tier": "one"}
        for i in range(4)
        for trial, model in ((1, "x"), (2, "y" if i == 3 else "x"), (3, None if i < 3 else "x"))
    ]
    file = tmp_path / f"results.{format_}"

    def write(rows: list[dict[str, Any]]) -> None:
        if format_ == "parquet":
            parquet_file(file, rows)
            return
        lines = [json.dumps({name: value for name, value in row.items() if value is not None}) for row in rows]
        file.write_text("".join(line + "\n" for line in lines), "utf-8")

    def sums(machine: EngineChoice) -> tuple[object, ...]:
        where = ("model=x", "tier=one")
        verdict = pipeline.check(Job((str(file),), policy=PASS_RATE, engine=machine, where=where))
        assert verdict.selection is not None
        return verdict.counts.trials, verdict.counts.failed, verdict.counts.left_out, verdict.selection

    there, here = SPARK, DUCKDB
    write(rows)
    assert sums(there) == sums(here)
    assert sums(here)[:3] == (11, 4, 1)
    write([*rows, {"id": "it's 3", "trial": 4, "correct": True, "model": None, "tier": "one"}])
    for machine in (there, here):
        with pytest.raises(InputError, match=r"it's 3.*trial 4 has no model"):
            sums(machine)


@pytest.mark.usefixtures("generated_code")
@pytest.mark.parametrize(
    ("rows", "id_"),
    [(60_000, "'s' || range AS id"), (9_000, "'s' || (range // 3) AS id, range % 3 AS trial")],
    ids=["independent", "repeated"],
)
def test_percentiles_are_exact_among_many_values_and_in_many_groups(
    spark: Any, tmp_path: Path, rows: int, id_: str
) -> None:
    file = tmp_path / "many.parquet"
    duckdb.sql(
        f"SELECT {id_}, 'c' || (range // 3 % 7) AS category, true AS passed,"  # noqa: S608 - made here
        " CASE WHEN range % 50 <> 0 THEN (hash(range) % 100000) / 8 END AS latency_ms,"
        f" CASE WHEN range % 50 = 0 THEN 'late' END AS error FROM range({rows})"
    ).write_parquet(str(file))
    policy = {"thresholds": {"blocking": dict.fromkeys(("latency_p50", "latency_p95"), "< 60s")}}
    here = highbar.check(str(file), policy, slices=["category"])
    there = highbar.check(spark.read.parquet(str(file)), policy, slices=["category"])
    for name in ("latency_p50", "latency_p95"):
        assert here.metrics[name] == there.metrics[name]
        assert [part.metrics[name] for part in here.slices] == [part.metrics[name] for part in there.slices]


@pytest.mark.usefixtures("generated_code")
def test_slices_of_more_values_than_are_shown_are_cut_alike(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "many.parquet"
    duckdb.sql(
        "SELECT 's' || range AS id, range % 9 > 0 AS passed, 'u' || (hash(range) % 1213) AS team, range AS latency_ms"
        " FROM range(4000)"
    ).write_parquet(str(file))
    policy = {"thresholds": {"blocking": {"pass_rate": 50}}}
    here = highbar.check(str(file), policy, slices=["team", "category"])
    there = highbar.check(spark.read.parquet(str(file)), policy, slices=["team", "category"])
    assert here.slices == there.slices
    assert here.warnings == there.warnings


@pytest.mark.usefixtures("generated_code")
@pytest.mark.parametrize("id_", ["'s' || range AS id", "'s' || (range // 3) AS id, range % 3 AS trial"])
def test_sums_beyond_64_bits_are_the_same_to_the_last_digit(spark: Any, tmp_path: Path, id_: str) -> None:
    file = tmp_path / "large.parquet"
    duckdb.sql(
        f"SELECT {id_}, range % 9 > 0 AS passed,"  # noqa: S608 - made here
        " CASE range % 3 WHEN 0 THEN 987654321.123456 WHEN 1 THEN 0.1 ELSE 3.3e-7 END AS cost_usd,"
        " CASE range % 2 WHEN 0 THEN 1e15 - range ELSE 0.3 END AS latency_ms,"
        " CASE range % 2 WHEN 0 THEN -1e17 ELSE 0.7 END AS n FROM range(300)"
    ).write_parquet(str(file))
    policy = {
        "thresholds": {"blocking": {"cost_per_pass": "≤ 1000000000"}},
        "metrics": [{"name": f"mean_{name}", "formula": f"mean({name})"} for name in ("latency_ms", "n", "cost_usd")],
    }
    here, there = highbar.check(str(file), policy), highbar.check(spark.read.parquet(str(file)), policy)
    for name in ("cost_per_pass", "mean_latency_ms", "mean_n", "mean_cost_usd"):
        assert here.metrics[name].value is not None
        assert here.metrics[name].value == there.metrics[name].value


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ('{"id": "a", "passed": true}\n{"id": "a", "passed": true}\n', "results.duplicate-trial", "'a'"),
        ('{"id": "a", "passed": "yes"}\n', "results.unreadable", "'a'"),
        ('{"id": "a", "pased": true}\n', "results.unknown-name", "'pased'"),
        ('{"id": "a", "passed": true}\n{"id": "b", "pass\n', "spark.cannot-read", ""),
        ('{"id": "a", "passed": true, "passed": false}\n', "spark.cannot-read", ""),
        ('{"id": "a", "passed": true, "latency_ms": NaN}\n', "spark.cannot-read", ""),
        ('{"id": "a", "passed": true}\n["b"]\n', "spark.cannot-read", ""),
        ('{"id": "a", "passed": true, "tags": {"l": "de", "L": "fr"}}\n', "row.duplicate-key", ""),
        ('{"id": "a", "passed": true, "own": [{"b": {"k": 1, "K": 2}}]}\n', "row.duplicate-key", ""),
        ('{"id": "a", "passed": true, "own": {"k": 1, "k": 2}}\n', "row.duplicate-key", ""),
        ('{"id": "a", "passed": true, "tags": {"l": "de"}, "tags.l": "fr"}\n', "results.unreadable", ""),
        ('{"id": 1, "passed": true, "trial": 1}\n{"id": "1", "passed": true, "trial": 2}\n', "results.mixed-ids", "1"),
        ('{"id": 1.0, "passed": true}\n', "results.unreadable", ""),
    ],
)
def test_rows_that_cannot_be_judged_are_refused(spark: Any, tmp_path: Path, text: str, code: str, named: str) -> None:
    file = tmp_path / "results.jsonl"
    file.write_text(text, "utf-8")
    with pytest.raises(InputError) as refused:
        pipeline.check(Job((str(file),), policy={"thresholds": {"blocking": {"pass_rate": 50}}}, engine=SPARK))
    assert {problem.code for problem in refused.value.problems} == {code}
    assert named in str(refused.value)


@pytest.mark.parametrize("header", ["id,passed,passed", "id,passed,Passed"])
def test_a_column_twice_in_a_table_is_refused(spark: Any, tmp_path: Path, header: str) -> None:
    file = tmp_path / "results.csv"
    file.write_text(f"{header}\na,true,false\n", "utf-8")
    with pytest.raises(InputError) as refused:
        pipeline.check(Job((str(file),), policy={"thresholds": {"blocking": {"pass_rate": 50}}}, engine=SPARK))
    assert {problem.code for problem in refused.value.problems} <= {"row.duplicate-key", "row.other-case"}


def test_ids_that_are_whole_numbers_are_their_digits(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    file.write_text('{"id": 1, "passed": true}\n{"id": "b", "passed": true}\n', "utf-8")
    policy = {"required_scenarios": {"ids": [1, "b"]}}
    verdict = pipeline.check(Job((str(file),), policy=policy, engine=SPARK))
    frame = spark.createDataFrame([(1, True)], "id int, passed boolean")
    assert verdict.verdict == highbar.check(frame, {"required_scenarios": {"ids": [1]}}).verdict == "pass"


@pytest.mark.usefixtures("generated_code")
def test_what_comes_back_does_not_grow_with_the_rows(spark: Any, tmp_path: Path) -> None:
    sizes = []
    for rows in (20_000, 80_000):
        frame = spark.range(rows).selectExpr(
            "concat('s', id) AS id", "id % 9 > 0 AS passed", "id * 1.5D AS latency_ms", "'happy_path' AS category"
        )
        engine = SparkEngine(frame)
        policy = policies.choose({"thresholds": {"blocking": {"pass_rate": 50, "latency_p95": 5000}}})
        came: list[int] = []
        collect = engine.rows
        engine.rows = lambda sql, collect=collect, came=came: came.append(len(found := collect(sql))) or found  # type: ignore[method-assign]
        engine.reduce(replace(measure.needs(policy, engine.columns()), failed_limit=20))
        engine.close()
        sizes.append(sum(came))
    assert sizes[0] == sizes[1] < 100


def parquet_file(file: Path, rows: list[dict[str, Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(rows), file)


def test_a_column_that_only_one_file_has_is_read(spark: Any, tmp_path: Path) -> None:
    parquet_file(tmp_path / "a.parquet", [{"id": "a", "passed": True}])
    parquet_file(tmp_path / "b.parquet", [{"id": "b", "passed": True, "violations": ["leak"]}])
    verdict = pipeline.check(Job((str(tmp_path),), policy=PASS_RATE, engine=SPARK))
    assert (verdict.counts.scenarios, verdict.counts.failed) == (2, 1)


def test_what_a_folder_and_the_file_both_say_is_refused(spark: Any, tmp_path: Path) -> None:
    parquet_file(
        tmp_path / "category=happy_path" / "a.parquet", [{"id": "a", "passed": False, "category": "adversarial"}]
    )
    with pytest.raises(InputError, match="'category'") as refused:
        pipeline.check(Job((str(tmp_path),), policy=PASS_RATE, engine=SPARK))
    assert [problem.code for problem in refused.value.problems] == ["results.folder-column"]


def test_a_folder_gives_a_column_that_the_files_lack(spark: Any, tmp_path: Path) -> None:
    parquet_file(tmp_path / "category=adversarial" / "a.parquet", [{"id": "a", "passed": True}])
    verdict = pipeline.check(Job((str(tmp_path),), policy=PASS_RATE, engine=SPARK))
    assert [part.by for part in verdict.slices] == [("category", "adversarial")]


@pytest.mark.parametrize("text", ["id,passed\na,true,more\n", "id,passed\na\n", "id,passed,passed\na,true,false\n"])
def test_fields_that_do_not_fit_the_header_are_refused(spark: Any, tmp_path: Path, text: str) -> None:
    file = tmp_path / "results.csv"
    file.write_text(text, "utf-8")
    with pytest.raises(InputError):
        pipeline.check(Job((str(file),), policy=PASS_RATE, engine=SPARK))


def test_numbers_that_are_none_are_refused_in_typed_columns_too(spark: Any) -> None:
    for number in ("NaN", "Infinity", "-Infinity"):
        frame = spark.sql(f"SELECT 'a' AS id, true AS passed, CAST('{number}' AS DOUBLE) AS latency_ms")
        with pytest.raises(InputError):
            highbar.check(frame, PASS_RATE)


def test_a_session_that_leaves_out_broken_files_is_refused(spark: Any) -> None:
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    try:
        with pytest.raises(InputError, match="ignoreCorruptFiles") as refused:
            highbar.check(spark.range(1).selectExpr("'a' AS id", "true AS passed"), PASS_RATE)
        assert [problem.code for problem in refused.value.problems] == ["spark.session"]
    finally:
        spark.conf.unset("spark.sql.files.ignoreCorruptFiles")


def test_the_session_is_as_it_was_where_the_rows_are_refused(spark: Any) -> None:
    before = spark.conf.get("spark.sql.codegen.hugeMethodLimit")
    with pytest.raises(InputError) as refused:
        highbar.check(spark.sql("SELECT 'a' AS id, true AS passed, false AS passed"), PASS_RATE)
    assert [problem.code for problem in refused.value.problems] == ["row.duplicate-key"]
    assert spark.conf.get("spark.sql.codegen.hugeMethodLimit") == before != "8000"
