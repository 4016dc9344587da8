"""The worst scenarios of many rows: the gravest alone where they are enough, and never another list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace
from pyarrow import parquet

from highbar import measure
from highbar import policy as policies
from highbar.engine import reducing
from highbar.engine.duckdb import DuckDBEngine
from highbar.engine.protocol import as_query
from highbar.model import FailedScenario, ResultsFile

GRAVE = ({"error": "timed out"}, {"violations": ["leaks"]})
OTHER = ({"behaviors": []}, {"behaviors": ["b"], "correct": False}, {"behaviors": ["a", "b"]})


def suite(kinds: str) -> list[dict[str, Any]]:
    """A scenario for each letter: g is a grave failure, o another one or none."""
    common = {"expected_behaviors": ["a", "b"], "behaviors": ["a"], "violations": [], "error": None, "correct": True}
    return [
        {
            "id": f"s{7 * place % len(kinds):03}",
            **common,
            **(GRAVE if kind == "g" else OTHER)[place % (2 + (kind == "o"))],
        }
        for place, kind in enumerate(kinds)
    ]


def failed(file: Path, *, many: bool, required: list[str], limit: int) -> tuple[tuple[FailedScenario, ...], list[str]]:
    """The failed scenarios, and what was asked."""
    engine = DuckDBEngine([ResultsFile(str(file), file.name, "parquet")])
    policy = policies.choose({"thresholds": {"blocking": {"pass_rate": 50}}})
    asked: list[str] = []
    define, rows = engine.define, engine.rows
    engine.define = lambda name, query, *, materialized: (
        asked.append(as_query(query).sql) or define(name, query, materialized=materialized)
    )  # type: ignore[method-assign,func-returns-value]
    engine.rows = lambda query: asked.append(as_query(query).sql) or rows(query)  # type: ignore[method-assign,func-returns-value]
    request = measure.needs(policy, engine.columns())
    request = replace(request, failed_limit=limit, required=tuple(required))
    found = reducing.Reducer(engine, engine._parts, many=many).reduce(request)
    engine.close()
    return found.scenarios_failed, asked


@pytest.mark.parametrize("required", [[], ["s003", "s01*"]])
@pytest.mark.parametrize("limit", [1, 5, 40, 1000])
@pytest.mark.parametrize(
    ("kinds", "grave_alone"),
    [("go" * 60, True), ("o" * 100 + "g" * 3, False), ("g" * 20 + "o" * 100, True), ("o" * 90, False)],
    ids=["many", "few", "deceiving", "none"],
)
def test_a_first_look_changes_nothing_in_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kinds: str, grave_alone: bool, limit: int, required: list[str]
) -> None:
    monkeypatch.setattr(reducing, "SOME_ROWS", 10)
    file = tmp_path / "rows.parquet"
    parquet.write_table(pa.Table.from_pylist(suite(kinds)), file)
    plain, _ = failed(file, many=False, required=required, limit=limit)
    looked, asked = failed(file, many=True, required=required, limit=limit)
    assert looked == plain
    assert len(plain) > 0
    if limit == 5 and not required:
        assert any("failed_trials > 0 AND (violating_trials > 0" in sql for sql in asked) == grave_alone
