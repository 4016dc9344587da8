"""Writes made-up results, the same on every machine: `python bench/data.py ROWS FILE [FIRST]`.

Parquet or JSONL by the name; scenarios are numbered from FIRST, so that several files make one large suite.
"""

from __future__ import annotations

import sys

import duckdb

BEHAVIORS = ["greets", "looks_up_order", "answers_question", "gives_reason", "offers_alternative", "confirms"]

# hash() of DuckDB is stable for one version; nothing here is random, so every run measures the same data.
ROWS = f"""
WITH numbers AS (
    SELECT range AS i, (hash(range) >> 2)::BIGINT AS a, (hash(range + 1000000007) >> 2)::BIGINT AS b,
           (hash(range + 2000000011) >> 2)::BIGINT AS c
    FROM range(?, ?)
), trials AS (
    SELECT *, {BEHAVIORS} AS names, b % 200 = 0 AS broke,
           ['happy_path', 'edge_case', 'adversarial', 'regression'][1 + a % 4] AS category
    FROM numbers
)
SELECT printf('SCN-%08d', i) AS id,
       category,
       ['core_function', 'convenience_feature', 'reporting'][1 + b % 3] AS capability,
       names[1 + a % 3 : 2 + a % 3 + b % 3] AS expected_behaviors,
       CASE WHEN NOT broke THEN names[1 + a % 3 : 2 + a % 3 + b % 3 - (c % 10 = 0)::INT] END AS behaviors,
       CASE WHEN category = 'adversarial' THEN ['reveals_secret', 'issues_refund'] END AS must_not,
       CASE WHEN category = 'adversarial' AND NOT broke
            THEN CASE WHEN c % 97 = 0 THEN ['reveals_secret'] ELSE []::VARCHAR[] END END AS violations,
       CASE WHEN NOT broke THEN c % 25 <> 0 END AS correct,
       a % 5 = 0 AS expected,
       CASE WHEN NOT broke THEN (a % 5 = 0) <> (c % 31 = 0) END AS predicted,
       CASE WHEN NOT broke THEN 200 + b % 4000 + (c % 1000) / 1000 END AS latency_ms,
       CASE WHEN NOT broke THEN (300 + c % 2000)::BIGINT END AS tokens_used,
       CASE WHEN NOT broke THEN (700 + a % 300) / 1000 END AS quality_score,
       CASE WHEN NOT broke THEN (300 + c % 2000) / 1000000 END AS cost_usd,
       CASE WHEN broke THEN 'timed out after 30 s' END AS error
FROM trials
"""


def main(rows: str, file: str, first: str = "0") -> None:
    """Writes that many rows to the file."""
    form = "(FORMAT parquet)" if file.endswith(".parquet") else "(FORMAT json)"
    connection = duckdb.connect()
    connection.execute(f"COPY ({ROWS}) TO '{file}' {form}", [int(first), int(first) + int(rows)])


if __name__ == "__main__":
    main(*sys.argv[1:])
