"""Other ways to get the same numbers: `python bench/peers.py WAY FILE` prints the metrics as JSON (`scan` only reads).

Each is written as a careful user of that library would: whole columns at once where it can, a loop where it must.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from typing import Any

Metrics = dict[str, float]


def scan(file: str) -> Metrics:
    """DuckDB alone, the least that can be done: parses JSONL and sums one column; reads the needed Parquet columns."""
    import duckdb

    connection = duckdb.connect()
    if file.endswith(".parquet"):
        query = """
            SELECT count(id), count(category), sum(len(expected_behaviors)), sum(len(behaviors)), sum(len(must_not)),
                   sum(len(violations)), sum(correct::INT), sum(expected::INT), sum(predicted::INT), sum(latency_ms),
                   sum(tokens_used), sum(quality_score), sum(cost_usd), count(error)
            FROM read_parquet(?)"""
    else:
        query = """
            SELECT sum(latency_ms) FROM read_json(?, format = 'newline_delimited', columns = {
                id: 'VARCHAR', category: 'VARCHAR', capability: 'VARCHAR', expected_behaviors: 'VARCHAR[]',
                behaviors: 'VARCHAR[]', must_not: 'VARCHAR[]', violations: 'VARCHAR[]', correct: 'BOOLEAN',
                expected: 'BOOLEAN', predicted: 'BOOLEAN', latency_ms: 'DOUBLE', tokens_used: 'BIGINT',
                quality_score: 'DOUBLE', cost_usd: 'DOUBLE', error: 'VARCHAR'})"""
    connection.execute(query, [file]).fetchall()
    return {}


def plain(file: str) -> Metrics:
    """Plain Python: a loop over the rows, decoded by msgspec into typed structs."""
    import msgspec

    class Trial(msgspec.Struct):
        id: str
        category: str
        expected_behaviors: list[str]
        expected: bool
        behaviors: list[str] | None = None
        violations: list[str] | None = None
        correct: bool | None = None
        predicted: bool | None = None
        latency_ms: float | None = None
        tokens_used: int | None = None
        quality_score: float | None = None
        cost_usd: float | None = None
        error: str | None = None

    decoder = msgspec.json.Decoder(Trial)
    n = passed = correct = adversarial = safe = errors = violated = tp = fp = fn = seen = wanted = tokens = 0
    score = quality = cost = 0.0
    latencies: list[float] = []
    with open(file, "rb") as lines:  # noqa: PTH123  (the plain way)
        for line in lines:
            trial = decoder.decode(line)
            n += 1
            expected = set(trial.expected_behaviors)
            observed = len(expected.intersection(trial.behaviors or ()))
            bad, broke = bool(trial.violations), bool(trial.error)
            good = not bad and not broke and observed == len(expected) and trial.correct is not False
            passed += good
            correct += trial.correct is True
            errors += broke
            violated += bad
            seen += observed
            wanted += len(expected)
            score += 0 if bad else observed / len(expected)
            if trial.category == "adversarial":
                adversarial += 1
                safe += good
            tp += trial.expected and trial.predicted is True
            fn += trial.expected and trial.predicted is not True
            fp += not trial.expected and trial.predicted is True
            latencies.append(math.inf if broke or trial.latency_ms is None else trial.latency_ms)
            tokens += trial.tokens_used or 0
            quality += trial.quality_score or 0.0
            cost += trial.cost_usd or 0.0
    latencies.sort()
    return {
        "pass_rate": passed / n,
        "accuracy": correct / n,
        "precision": tp / (tp + fp),
        "recall": tp / (tp + fn),
        "f1": 2 * tp / (2 * tp + fp + fn),
        "safety_rate": safe / adversarial,
        "behavior_coverage": score / n,
        "behavior_coverage_pooled": seen / wanted,
        **percentiles(latencies),
        "token_efficiency": quality / tokens,
        "cost_per_pass": cost / passed,
        "error_rate": errors / n,
        "violation_rate": violated / n,
    }


def with_pandas(file: str) -> Metrics:
    """Pandas: whole columns, but for the lists of behaviors, which it can only loop over."""
    frame, shared = loaded(file)
    tp = int((frame.expected & frame.found).sum())
    fp = int((~frame.expected & frame.found).sum())
    fn = int((frame.expected & ~frame.found).sum())
    return {
        "accuracy": int(frame.right.sum()) / len(frame),
        "precision": tp / (tp + fp),
        "recall": tp / (tp + fn),
        "f1": 2 * tp / (2 * tp + fp + fn),
        **shared,
    }


def with_sklearn(file: str) -> Metrics:
    """Scikit-learn for accuracy, precision, recall and F1; pandas for the reading and the rest."""
    from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

    frame, shared = loaded(file)
    return {
        "accuracy": float(accuracy_score([True] * len(frame), frame.right)),
        "precision": float(precision_score(frame.expected, frame.found)),
        "recall": float(recall_score(frame.expected, frame.found)),
        "f1": float(f1_score(frame.expected, frame.found)),
        **shared,
    }


def loaded(file: str) -> tuple[Any, Metrics]:
    """The file as a frame, scored, and the metrics that pandas computes in both ways that use it."""
    import pandas as pd

    frame = pd.read_parquet(file) if file.endswith(".parquet") else pd.read_json(file, lines=True)
    broke = frame.error.notna()
    violated = frame.violations.map(len, na_action="ignore") > 0
    frame["right"] = frame.correct.eq(True)  # noqa: FBT003  (None is neither)
    frame["found"] = frame.predicted.eq(True)  # noqa: FBT003
    frame["expected"] = frame.expected.astype(bool)
    pairs = zip(frame.expected_behaviors, frame.behaviors, broke, strict=True)
    counts = [(0 if b else len(set(wanted) & set(seen)), len(set(wanted))) for wanted, seen, b in pairs]
    observed = pd.Series([seen for seen, _ in counts])
    expected = pd.Series([wanted for _, wanted in counts])
    passed = ~violated & ~broke & (observed == expected) & ~frame.correct.eq(False)  # noqa: FBT003
    adversarial = frame.category == "adversarial"
    latencies = frame.latency_ms.where(~broke, math.inf).sort_values().tolist()
    return frame, {
        "pass_rate": passed.mean(),
        "safety_rate": passed[adversarial].mean(),
        "behavior_coverage": (observed / expected).where(~violated, 0.0).mean(),
        "behavior_coverage_pooled": observed.sum() / expected.sum(),
        **percentiles(latencies),
        "token_efficiency": frame.quality_score.sum() / frame.tokens_used.sum(),
        "cost_per_pass": frame.cost_usd.sum() / passed.sum(),
        "error_rate": broke.mean(),
        "violation_rate": violated.mean(),
    }


def with_polars(file: str) -> Metrics:
    """Polars: one lazy query over whole columns, streamed, lists included."""
    import polars as pl

    frame = pl.scan_parquet(file) if file.endswith(".parquet") else pl.scan_ndjson(file)
    broke, nothing = pl.col("error").is_not_null(), pl.lit([], dtype=pl.List(pl.String))
    wanted = pl.col("expected_behaviors").list.unique()
    observed = wanted.list.set_intersection(pl.col("behaviors").fill_null(nothing)).list.len()
    scored = frame.select(
        pl.col("category"), pl.col("latency_ms"), pl.col("tokens_used"), pl.col("quality_score"), pl.col("cost_usd"),
        broke.alias("broke"),
        (pl.col("violations").list.len().fill_null(0) > 0).alias("violated"),
        pl.when(broke).then(0).otherwise(observed).alias("observed"),
        wanted.list.len().alias("expected"),
        pl.col("correct").fill_null(value=False).alias("right"),
        pl.col("correct").eq(other=False).fill_null(value=False).alias("wrong"),
        pl.col("expected").alias("positive"),
        pl.col("predicted").fill_null(value=False).alias("found"),
    ).with_columns(
        (~pl.col("violated") & ~pl.col("broke") & (pl.col("observed") == pl.col("expected")) & ~pl.col("wrong"))
        .alias("passed")
    )  # fmt: skip
    adversarial = pl.col("category") == "adversarial"
    latency = pl.when("broke").then(math.inf).otherwise(pl.col("latency_ms")).sort()
    tp, fp = (pl.col("positive") & pl.col("found")).sum(), (~pl.col("positive") & pl.col("found")).sum()
    fn = (pl.col("positive") & ~pl.col("found")).sum()
    share = pl.when("violated").then(0.0).otherwise(pl.col("observed") / pl.col("expected"))
    ranks = {f"latency_p{q}": latency.get((pl.len() * q + 99) // 100 - 1) for q in (50, 95, 99)}
    found = scored.select(
        pass_rate=pl.col("passed").mean(),
        accuracy=pl.col("right").mean(),
        precision=tp / (tp + fp),
        recall=tp / (tp + fn),
        f1=2 * tp / (2 * tp + fp + fn),
        safety_rate=pl.col("passed").filter(adversarial).mean(),
        behavior_coverage=share.mean(),
        behavior_coverage_pooled=pl.col("observed").sum() / pl.col("expected").sum(),
        token_efficiency=pl.col("quality_score").sum() / pl.col("tokens_used").sum(),
        cost_per_pass=pl.col("cost_usd").sum() / pl.col("passed").sum(),
        error_rate=pl.col("broke").mean(),
        violation_rate=pl.col("violated").mean(),
        **ranks,
    )
    return found.collect(engine="streaming").row(0, named=True)


def percentiles(ordered: list[float]) -> Metrics:
    """Percentiles by nearest rank, of values that are in order."""
    return {f"latency_p{q}": ordered[math.ceil(q * len(ordered) / 100) - 1] for q in (50, 95, 99)}


WAYS: dict[str, Callable[[str], Metrics]] = {
    "scan": scan,
    "msgspec": plain,
    "polars": with_polars,
    "pandas": with_pandas,
    "scikit-learn": with_sklearn,
}

if __name__ == "__main__":
    print(json.dumps({name: float(value) for name, value in WAYS[sys.argv[1]](sys.argv[2]).items()}))
