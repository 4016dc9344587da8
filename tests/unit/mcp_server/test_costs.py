"""What a run cost, by the rows of its folder, which the agent itself can write into: what is not clear is not known."""

from __future__ import annotations

from fractions import Fraction

import pytest

from highbar.mcp_server.runs import _cost_of_agent


def cost(tmp_path, *rows):
    (tmp_path / "results.jsonl").write_text("".join(f"{row}\n" for row in rows))
    return _cost_of_agent(tmp_path)


def test_the_costs_of_rows_are_added_exactly_and_an_error_counts_as_the_costliest(tmp_path):
    rows = ('{"cost_usd": 0.1}', '{"cost_usd": 2e-1}', '{"cost_usd": 0}', '{"error": "x"}', '{"unjudged": "not run"}')
    assert cost(tmp_path, *rows) == Fraction(1, 2)


@pytest.mark.parametrize(
    "row",
    [
        "[]",
        "7",
        *(f'{{"cost_usd": {value}}}' for value in ('"1/3"', "[]", "true", "-0.5", "NaN", "Infinity", "1e999999999")),
        '{"cost_usd": 1e-999999999}',
        "{}",
        '{"error": "x"}',
    ],
)
def test_a_row_without_a_clear_cost_makes_the_cost_unknown(tmp_path, row):
    assert cost(tmp_path, '{"cost_usd": 0.1}', row) in (None, Fraction(1, 5) if "error" in row else None)
    assert cost(tmp_path, row) is None
