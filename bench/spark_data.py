"""The made-up results of `bench/data.py`, made by Spark in place, and the metrics as a hand would write them.

The rows have the same columns and the same shares as those files; the hash is Spark's own, so the values differ.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bench.data import BEHAVIORS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Metrics = dict[str, float]


def made(session: SparkSession, rows: int) -> DataFrame:
    """That many results, made anew whenever they are read: no disk takes part."""
    names = "array(" + ", ".join(f"'{name}'" for name in BEHAVIORS) + ")"
    numbers = session.range(rows).selectExpr(
        "id AS i",
        "shiftrightunsigned(xxhash64(id), 2) AS a",
        "shiftrightunsigned(xxhash64(id + 1000000007), 2) AS b",
        "shiftrightunsigned(xxhash64(id + 2000000011), 2) AS c",
    )
    trials = numbers.selectExpr(
        "*",
        f"{names} AS names",
        "b % 200 = 0 AS broke",
        "element_at(array('happy_path', 'edge_case', 'adversarial', 'regression'), CAST(1 + a % 4 AS INT)) AS category",
    )
    return trials.selectExpr(
        "concat('SCN-', lpad(CAST(i AS STRING), 9, '0')) AS id",
        "category",
        "element_at(array('core_function', 'convenience_feature', 'reporting'), CAST(1 + b % 3 AS INT)) AS capability",
        "slice(names, CAST(1 + a % 3 AS INT), CAST(2 + b % 3 AS INT)) AS expected_behaviors",
        "CASE WHEN NOT broke THEN slice(names, CAST(1 + a % 3 AS INT), CAST(2 + b % 3 - int(c % 10 = 0) AS INT)) END"
        " AS behaviors",
        "CASE WHEN category = 'adversarial' THEN array('reveals_secret', 'issues_refund') END AS must_not",
        "CASE WHEN category = 'adversarial' AND NOT broke THEN CASE WHEN c % 97 = 0 THEN array('reveals_secret')"
        " ELSE CAST(array() AS ARRAY<STRING>) END END AS violations",
        "CASE WHEN NOT broke THEN c % 25 <> 0 END AS correct",
        "a % 5 = 0 AS expected",
        "CASE WHEN NOT broke THEN (a % 5 = 0) <> (c % 31 = 0) END AS predicted",
        "CASE WHEN NOT broke THEN 200 + b % 4000 + (c % 1000) / 1000D END AS latency_ms",
        "CASE WHEN NOT broke THEN 300 + c % 2000 END AS tokens_used",
        "CASE WHEN NOT broke THEN (700 + a % 300) / 1000D END AS quality_score",
        "CASE WHEN NOT broke THEN (300 + c % 2000) / 1000000D END AS cost_usd",
        "CASE WHEN broke THEN 'timed out after 30 s' END AS error",
    )


def by_hand(frame: DataFrame, *, distinct: bool) -> Metrics:
    """The metrics alone, as a careful user of PySpark would write them: no interval, no slice, no reason of a failure.

    One aggregation for the sums; one for the percentiles, which are exact: latencies are counted by value, and the
    counts added up (Spark's own `percentile_disc` takes five times as long). With `distinct`, an id that stands twice
    is refused, as Highbar does; without, nobody would know.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as spark

    wanted = spark.array_distinct("expected_behaviors")
    scored = frame.select(
        "id",
        (spark.col("category") == "adversarial").alias("adversarial"),
        spark.col("error").isNotNull().alias("broke"),
        (spark.coalesce(spark.size("violations"), spark.lit(0)) > 0).alias("violated"),
        spark.size(wanted).alias("m"),
        spark.coalesce(spark.size(spark.array_intersect("expected_behaviors", "behaviors")), spark.lit(0)).alias("k"),
        spark.coalesce("correct", spark.lit(False)).alias("right"),  # noqa: FBT003 - a literal of Spark
        "expected",
        spark.coalesce("predicted", spark.lit(False)).alias("found"),  # noqa: FBT003
        spark.when(spark.col("error").isNotNull(), math.inf).otherwise(spark.col("latency_ms")).alias("latency"),
        "tokens_used",
        "quality_score",
        "cost_usd",
    ).withColumn("passed", spark.expr("NOT violated AND NOT broke AND k = m AND right"))
    sums = {
        "n": "count(*)",
        "passed": "count_if(passed)",
        "right": "count_if(right)",
        "tp": "count_if(expected AND found)",
        "fp": "count_if(NOT expected AND found)",
        "fn": "count_if(expected AND NOT found)",
        "adversarial": "count_if(adversarial)",
        "safe": "count_if(adversarial AND passed)",
        "score": "sum(CASE WHEN violated OR broke THEN 0 ELSE k / m END)",
        "seen": "sum(k)",
        "wanted": "sum(m)",
        "errors": "count_if(broke)",
        "violated": "count_if(violated)",
        "quality": "sum(quality_score)",
        "tokens": "sum(tokens_used)",
        "cost": "sum(cost_usd)",
    }
    (one,) = scored.agg(*(spark.expr(sql).alias(name) for name, sql in sums.items())).collect()
    if distinct and frame.select("id").distinct().count() != one["n"]:
        raise AssertionError("an id stands twice")
    upto = spark.sum("count").over(Window.orderBy("latency"))
    counted = scored.groupBy("latency").count().select("latency", upto.alias("upto"))
    ranks = {q: math.ceil(q * one["n"] / 100) for q in (50, 95, 99)}
    at = [spark.expr(f"min(latency) FILTER (WHERE upto >= {rank})").alias(f"p{q}") for q, rank in ranks.items()]
    (latency,) = counted.agg(*at).collect()
    return {
        "pass_rate": one["passed"] / one["n"],
        "accuracy": one["right"] / one["n"],
        "precision": one["tp"] / (one["tp"] + one["fp"]),
        "recall": one["tp"] / (one["tp"] + one["fn"]),
        "f1": 2 * one["tp"] / (2 * one["tp"] + one["fp"] + one["fn"]),
        "safety_rate": one["safe"] / one["adversarial"],
        "behavior_coverage": one["score"] / one["n"],
        "behavior_coverage_pooled": one["seen"] / one["wanted"],
        **{f"latency_p{q}": latency[f"p{q}"] for q in (50, 95, 99)},
        "token_efficiency": one["quality"] / one["tokens"],
        "cost_per_pass": one["cost"] / one["passed"],
        "error_rate": one["errors"] / one["n"],
        "violation_rate": one["violated"] / one["n"],
    }
