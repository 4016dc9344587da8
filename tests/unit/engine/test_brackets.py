"""Values at ranks, found by counting near them: the same as with all values in memory, however bad the first guess."""

from __future__ import annotations

from math import inf
from random import Random

import duckdb
import pytest

from highbar.engine import brackets
from highbar.engine.ranks import values_by_quantile, values_one_by_one

GUESSES = [
    brackets.BY_RESERVOIR,
    brackets.Approximation("reservoir_quantile(number, {shares}, 50)", slack=0.0),
    brackets.Approximation("list_transform(quantile_disc(number, {shares}), lambda x: x + 1)", slack=0.01),
    brackets.Approximation("quantile_disc(number, {shares})", slack=0.0, of_sample=True),
]


BOTH = "unnest(['', CASE WHEN by_0 = 'slice 0' THEN '0:' || by_0 END])"


def numbers(kind: str, count: int) -> list[float]:
    random = Random(kind)
    draw = {
        "spread": lambda: random.uniform(0, 1e4),
        "ties": lambda: float(random.randrange(5)),
        "one": lambda: 7.0,
        "errors": lambda: random.choice([inf, random.random()]),
    }[kind]
    return [draw() for _ in range(count)]


@pytest.mark.parametrize("kind", ["spread", "ties", "one", "errors"])
@pytest.mark.parametrize("about", GUESSES, ids=["sample", "poor sample", "off by one", "part"])
@pytest.mark.parametrize("count", [1, 2, 101, 3000])
def test_counting_near_a_rank_finds_what_sorting_finds(
    kind: str, about: brackets.Approximation, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(brackets, "ALL_INSIDE", 100)
    monkeypatch.setattr(brackets, "SAMPLED", 200)
    connection = duckdb.connect(":memory:")
    connection.execute("CREATE TABLE trials (by_0 VARCHAR, x DOUBLE)")
    rows = [(f"slice {place % 3}", number) for place, number in enumerate(numbers(kind, count))]
    columns = [[name for name, _ in rows], [number for _, number in rows]]
    connection.execute("INSERT INTO trials SELECT unnest(?::VARCHAR[]), unnest(?::DOUBLE[])", columns)

    def asked(sql: str) -> list[tuple[object, ...]]:
        return connection.execute(sql).fetchall()

    for group_name, groups in (
        ("''", [""]),
        ("'0:' || by_0", sorted({f"0:{name}" for name, _ in rows})),
        (BOTH, ["", "0:slice 0"]),
    ):
        each = f"SELECT {group_name} AS group_name, x AS number, rowid AS id FROM trials"  # noqa: S608 - made here
        ranked = f"SELECT * FROM ({each}) WHERE group_name IS NOT NULL"  # noqa: S608
        sizes = {group: sum(group in ("", f"0:{name}") for name, _ in rows) for group in groups}
        wanted = {group: sorted({1, -(-size // 2), -(-99 * size // 100), size}) for group, size in sizes.items()}
        found = brackets.values_at(asked, ranked, wanted, sizes, about)
        assert found == values_by_quantile(asked, ranked, wanted, sizes)
        assert found == values_one_by_one(asked, ranked, wanted, sizes)
