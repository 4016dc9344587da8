"""The ranks that bound a percentile of trials which repeat: by sums that the engine adds up, the same as one by one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from highbar.engine import rank_bounds
from highbar.engine.column_readers import Raw
from highbar.engine.duckdb import DuckDBEngine
from highbar.engine.layout import Layout, layout_of
from highbar.engine.protocol import Request
from highbar.engine.sources import SourcePart
from highbar.model import Percentile
from highbar.statistics.bounds import clustered_ranks_of

WANTED = [Percentile("latency_ms", Fraction(share, 100), ()) for share in (50, 95, 99)]


def suite(trials: int, scenarios: int) -> list[dict[str, Any]]:
    """Trials in no order; many have the same value, and some scenarios many trials."""
    source = Random(trials)
    return [
        {
            "id": f"s{int(scenarios * source.random() ** 2)}",
            "by_0": source.choice("ab"),
            "x": float(source.randrange(1 + trials // 4)),
        }
        for _ in range(trials)
    ]


def layout(*columns: str) -> Layout:
    return layout_of([SourcePart({name: Raw(name, "VARCHAR") for name in columns}, ())], Request(()))


@contextmanager
def opened(rows: list[dict[str, Any]]) -> Iterator[DuckDBEngine]:
    engine = DuckDBEngine(table=pa.Table.from_pylist(rows))
    engine.define("trials", "SELECT * FROM results", materialized=False)
    yield engine
    engine.close()


@pytest.mark.parametrize("group_name", ["''", "by_0"])
@pytest.mark.parametrize(("trials", "scenarios"), [(2, 1), (40, 10), (900, 300), (3000, 1000), (20_000, 40)])
def test_the_sums_at_the_ranks_give_what_the_order_one_by_one_gives(
    trials: int, scenarios: int, group_name: str
) -> None:
    rows = suite(trials, scenarios)
    groups: dict[str, list[str]] = {}
    for row in sorted(rows, key=lambda row: (row["x"], row["id"])):
        groups.setdefault(row["by_0"] if group_name == "by_0" else "", []).append(row["id"])
    with opened(rows) as engine:
        found = rank_bounds.clustered_bounds(
            engine,
            layout("id", "trial"),
            WANTED,
            0.05,
            f"SELECT {group_name} AS group_name, x AS number, id FROM trials",  # noqa: S608 - made here
            {name: len(ids) for name, ids in groups.items()},
        )
    assert found == {
        (name, wanted): clustered_ranks_of(ids, wanted.share, 0.05) for name, ids in groups.items() for wanted in WANTED
    }


def test_scenarios_of_one_cluster_count_as_one() -> None:
    rows = [{"id": f"s{i}", "cluster": f"c{i // 10}" if i % 2 else None, "x": float(i)} for i in range(600)]
    units = [row["cluster"] or row["id"] for row in rows]
    with opened(rows) as engine:
        ranked = "SELECT '' AS group_name, x AS number, id, cluster FROM trials"
        found = rank_bounds.clustered_bounds(engine, layout("id", "cluster"), WANTED, 0.05, ranked, {"": 600})
    assert found == {("", wanted): clustered_ranks_of(units, wanted.share, 0.05) for wanted in WANTED}


def test_few_of_the_ranks_are_fetched() -> None:
    rows = suite(40_000, 9000)
    came = 0
    with opened(rows) as engine:
        ask = engine.rows

        def counted(sql: str) -> list[Any]:
            nonlocal came
            found = ask(sql)
            came += len(found)
            return found

        engine.rows = counted  # type: ignore[method-assign]
        ranked = "SELECT '' AS group_name, x AS number, id FROM trials"
        rank_bounds.clustered_bounds(engine, layout("id", "trial"), WANTED, 0.05, ranked, {"": len(rows)})
    assert came < 8 * 200


def test_of_many_trials_the_order_and_what_they_are_worth_give_nearly_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = suite(20_000, 2000)
    groups = {name: sum(row["by_0"] == name for row in rows) for name in "ab"}
    ranked = "SELECT by_0 AS group_name, x AS number, id FROM trials"
    with opened(rows) as engine:
        exact = rank_bounds.clustered_bounds(engine, layout("id", "trial"), WANTED, 0.05, ranked, groups)
        monkeypatch.setattr(rank_bounds, "MOST_IN_ORDER", 5000)
        about = rank_bounds.clustered_bounds(engine, layout("id", "trial"), WANTED, 0.05, ranked, groups)
    assert about.keys() == exact.keys()
    for one, ranks in exact.items():
        assert about[one].low == pytest.approx(ranks.low, rel=0.01)
        assert about[one].high == pytest.approx(ranks.high, rel=0.01)
