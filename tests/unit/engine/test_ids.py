"""Ids that are told apart in turns: every one that stands twice is found, in whichever turn it comes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from highbar.engine import row_checks
from highbar.engine.duckdb import DuckDBEngine


@pytest.mark.parametrize("turns", [1, 2, 5])
@pytest.mark.parametrize("twice", [None, 0, 1, 2, 3, 4, 98])
def test_an_id_that_stands_twice_is_found_in_any_turn(twice: int | None, turns: int) -> None:
    ids = [f"s{place}" for place in range(100)] + ([] if twice is None else [f"s{twice}"])
    engine = DuckDBEngine(table=pa.table({"id": ids}))
    engine.define("trials", "SELECT * FROM results", materialized=False)
    engine.define("scenarios", "SELECT * FROM results", materialized=False)
    if twice is None:
        assert row_checks.refuse_or_warn_of_ids(engine.rows, repeated=False, turns=turns) == ()
    else:
        with pytest.raises(row_checks.DuplicateResults, match=f"scenario 's{twice}' has 2 results"):
            row_checks.refuse_or_warn_of_ids(engine.rows, repeated=False, turns=turns)
    engine.close()
