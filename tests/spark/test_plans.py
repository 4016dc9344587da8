"""What Spark does with skewed data, and how its plans look: the page docs/how-to/spark.md says the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from bench.run import POLICY as EVERYTHING
from bench.spark_data import made

import highbar
from highbar import measure
from highbar import policy as policies
from highbar.engine.protocol import Query
from highbar.engine.spark import SparkEngine

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore"),
]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "spark.md"
POLICY = {"slices": ["category"], "thresholds": {"blocking": {"pass_rate": 50, "latency_p95": 5000}}}
SINGLE = (
    "SELECT 's' || range AS id, 'c' || (range % 3) AS category, range % 9 > 0 AS passed, range * 1e0 AS latency_ms"
    " FROM range(20000)"
)
SKEWED = (
    "SELECT CASE WHEN range % 2 = 0 THEN 'half' ELSE 's' || (range % 500) END AS id, range AS trial,"
    " range % 9 > 0 AS passed, CASE WHEN range < 0 THEN '' END AS customer FROM range(4000)"
)
MANY = "SELECT 's' || range AS id, range % 9 > 0 AS passed, 'u' || range AS customer FROM range(20000)"
COLLECTS = re.compile(r"collect_(list|set)|Window|SortMergeJoin|CartesianProduct", re.IGNORECASE)


def frame_of(spark: Any, folder: Path, sql: str) -> tuple[Any, str]:
    """The rows of a query of DuckDB's, as a frame and as a file."""
    file = folder / "rows.parquet"
    duckdb.connect().execute(f"COPY ({sql}) TO '{file}' (FORMAT parquet)")
    return spark.read.parquet(str(file)), str(file)


def asked(frame: Any) -> list[tuple[str, str]]:
    """What a check asks of Spark: the queries whose rows come back, and their plans."""
    engine = SparkEngine(frame)
    found: list[tuple[str, str]] = []
    make, collect, answered = engine._frame, engine.rows, [False]

    def noted(sql: str) -> Any:
        made = make(sql)
        if answered[0]:
            found.append((sql, made._jdf.queryExecution().executedPlan().toString()))
        return made

    def rows(query: str | Query) -> list[Any]:
        answered[0] = True
        try:
            return collect(query)
        finally:
            answered[0] = False

    engine._frame, engine.rows = noted, rows  # type: ignore[method-assign]
    policy = policies.choose(POLICY)
    engine.reduce(measure.needs(policy, engine.columns()))
    engine.close()
    return found


def shuffles(plan: str) -> int:
    """How often rows move between workers."""
    return len(re.findall(r"(?<!Broadcast)Exchange (?:hash|range|Single|Round)", plan, re.IGNORECASE))


def test_the_page_says_how_many_queries_and_shuffles_a_check_has(spark: Any, tmp_path: Path) -> None:
    frame, _ = frame_of(spark, tmp_path, SINGLE)
    queries = asked(frame)
    counted = [shuffles(plan) for _, plan in queries]
    told = f"{len(counted)} queries read the rows, with {sum(counted)} shuffles"
    assert told in PAGE.read_text("utf-8"), [(sql[:40], shuffles(plan)) for sql, plan in queries]


@pytest.mark.usefixtures("generated_code")
@pytest.mark.xfail(strict=True, reason="the words of reasons, for at most 1,000 scenarios, take 8,284 bytes")
def test_no_method_is_longer_than_java_compiles(spark: Any) -> None:
    debug: Any = getattr(spark._jvm, "org.apache.spark.sql.execution.debug.package$")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    engine = SparkEngine(made(spark, 10))
    sizes: list[int] = []
    make = engine._frame

    def noted(sql: str) -> Any:
        frame = make(sql)
        stages = getattr(debug, "MODULE$").codegenStringSeq(frame._jdf.queryExecution().executedPlan())
        sizes.extend(stages.apply(place)._3().maxMethodCodeSize() for place in range(stages.size()))
        return frame

    try:
        engine._frame = noted  # type: ignore[method-assign]
        policy = policies.choose(EVERYTHING)
        engine.reduce(measure.needs(policy, engine.columns()))
    finally:
        engine.close()
        spark.conf.unset("spark.sql.adaptive.enabled")
    assert 2000 < max(sizes) < 8000


def test_no_task_holds_the_trials_of_a_scenario(spark: Any, tmp_path: Path) -> None:
    frame, _ = frame_of(spark, tmp_path, SKEWED)
    found = asked(frame)
    assert len(found) > 3
    others = [(sql, plan) for sql, plan in found if "ROW_NUMBER()" not in sql]  # of a thousand scenarios, three reasons
    assert len(others) == len(found) - 1
    assert not [word[0] for _, plan in others if (word := COLLECTS.search(plan))]


@pytest.mark.usefixtures("generated_code")
@pytest.mark.parametrize("sql", [SKEWED, MANY])
def test_one_scenario_with_half_of_all_trials_or_twenty_thousand_slices_change_nothing(
    spark: Any, tmp_path: Path, sql: str
) -> None:
    frame, file = frame_of(spark, tmp_path, sql)
    policy = {"thresholds": {"blocking": {"pass_rate": 50}}, "slices": ["customer"]}
    here, there = highbar.check(file, policy), highbar.check(frame, policy)
    assert here.metrics["pass_rate"] == there.metrics["pass_rate"]
    assert here.slices == there.slices
    assert here.warnings == there.warnings
    assert here.scenarios_failed == there.scenarios_failed
