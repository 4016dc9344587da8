"""Where a query ends in a limit, one task cuts it: else the first rows of every task would come to the driver."""

from __future__ import annotations

import pytest

from highbar.engine.protocol import Query
from highbar.engine.spark_sql import translate


@pytest.mark.parametrize(
    ("sql", "ends_in_a_limit"),
    [
        ("SELECT * FROM profile LIMIT 201", True),
        ("SELECT id_ FROM (SELECT id_ FROM scenarios ORDER BY id_ LIMIT 1000)", True),
        ("SELECT a FROM (SELECT b FROM (SELECT c FROM trials LIMIT 5))", True),
        ("SELECT value FROM profile JOIN (SELECT value FROM profile LIMIT 3) AS largest USING (value)", False),
        ("SELECT id FROM (SELECT id FROM trials LIMIT 5) ORDER BY id", False),
        ("SELECT count(*) FROM trials WHERE id = ' LIMIT 5'", False),
    ],
)
def test_only_a_limit_at_the_end_is_cut_by_one_task(sql: str, ends_in_a_limit: bool) -> None:
    assert translate(Query(sql), {})[1] == ends_in_a_limit
