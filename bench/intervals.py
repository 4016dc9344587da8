"""What the intervals cost: `python bench/intervals.py FILE` reduces by turns with and without the sums they need.

Prints both times, in seconds: the best of several, with the sums of products, and with the plain sums alone.
"""

from __future__ import annotations

import json
import sys
import time

from msgspec.structs import replace

from highbar import measure
from highbar import policy as policies
from highbar.engine.duckdb import DuckDBEngine
from highbar.engine.protocol import Request
from highbar.model import Format, ResultsFile

TURNS = 5


def seconds(file: str, request: Request) -> float:
    """How long one reduction takes, from opening the file on."""
    form: Format = "parquet" if file.endswith(".parquet") else "jsonl"
    start = time.perf_counter()
    engine = DuckDBEngine((ResultsFile(file, file, form),))
    engine.reduce(request)
    engine.close()
    return time.perf_counter() - start


def main(file: str, policy_file: str) -> None:
    """Measures, by turns."""
    policy = policies.choose(policy_file)
    request = measure.needs(policy, ("id", "category"))
    plain = replace(request, ratios=(), crosses=())
    turns = [(seconds(file, request), seconds(file, plain)) for _ in range(TURNS)]
    print(json.dumps([min(with_sums for with_sums, _ in turns), min(without for _, without in turns)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
