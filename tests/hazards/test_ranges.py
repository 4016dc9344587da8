"""A value outside of a declared range, or a ratio outside of 0 to 1, is refused: never 140 % passed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import highbar
from highbar.engine.limits import LARGE_BYTES
from tests.commandline import check, judged, refused


def policy(formula: str, range_: str = "0-100%", **more: Any) -> dict[str, Any]:
    metric = {"name": "rubric", "formula": formula, "range": range_, **more}
    return {"metrics": [metric], "thresholds": {"blocking": {"rubric": {"threshold": ">= 0.5"}}}}


def rows(*values: float | None, **more: Any) -> list[dict[str, Any]]:
    return [{"id": f"S{i}", "passed": True, "rubric_score": value, **more} for i, value in enumerate(values)]


def test_a_formula_whose_value_leaves_its_range_is_refused(tmp_path: Path) -> None:
    done = check(
        tmp_path, rows(*[1] * 7) + [{"id": f"F{i}", "passed": False} for i in range(3)], policy("2 * pass_rate")
    )
    refused(done, "'rubric'", "1.4", "0 to 1", "2 * pass_rate", code="metric.outside-range")


def test_a_formula_below_its_range_is_refused(tmp_path: Path) -> None:
    refused(check(tmp_path, rows(1, 1), policy("pass_rate - 1.5")), "is -0.5, outside of its range")


@pytest.mark.parametrize("formula", ["mean(rubric_score)", "percentile(rubric_score, 95%)"])
def test_a_row_outside_of_the_range_of_its_mean_is_refused_with_its_line(tmp_path: Path, formula: str) -> None:
    values = [0.0] * 98 + [95.0, 0.5]
    refused(
        check(tmp_path, rows(*values), policy(formula)),
        "rubric_score: found 95.0",
        "0 to 1",
        line=99,
        code="row.wrong-value",
    )


@pytest.mark.parametrize(("value", "line"), [(0.5, 1), (5.5, 1), (-1, 1)])
def test_a_range_of_other_numbers_holds_for_rows_too(tmp_path: Path, value: float, line: int) -> None:
    done = check(tmp_path, rows(value, 3), policy("mean(rubric_score)", "1-5"))
    refused(done, "rubric_score: found", "from 1 to 5", line=line)


def test_values_at_the_ends_of_a_range_are_inside(tmp_path: Path) -> None:
    judged(check(tmp_path, rows(0, 1, 1.0, 0.5), policy("mean(rubric_score)")), "pass")


def test_a_range_holds_only_for_the_rows_that_its_metric_is_over(tmp_path: Path) -> None:
    chosen = policy("mean(rubric_score)", where={"category": "happy_path"})
    inside = rows(0.9, category="happy_path")
    outside = [{"id": "E", "passed": True, "category": "edge_case", "rubric_score": 95}]
    judged(check(tmp_path, inside + outside, chosen), "pass")
    bad = [{"id": "H", "passed": True, "category": "happy_path", "rubric_score": 95}]
    refused(check(tmp_path, inside + outside + bad, chosen), "rubric_score: found 95", line=3)


def test_a_row_outside_of_the_range_is_refused_in_every_form(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("id,passed,rubric_score\na,true,0.5\nb,true,95\n", "utf-8")
    table = pa.table({"id": ["a", "b"], "passed": [True, True], "rubric_score": [0.5, 95.0]})
    parquet.write_table(table, tmp_path / "results.parquet")
    for results in (tmp_path / "results.csv", tmp_path / "results.parquet", table, table.to_pandas()):
        with pytest.raises(highbar.InputError, match="rubric_score: found 95"):
            highbar.check(results, policy("mean(rubric_score)"))


def test_a_row_outside_of_the_range_in_a_large_file_is_refused(tmp_path: Path) -> None:
    many = rows(*[0.5] * (LARGE_BYTES // 2000), output="x" * 2000)
    many[-1]["rubric_score"] = 95
    refused(check(tmp_path, many, policy("mean(rubric_score)")), "rubric_score: found 95", line=len(many))


def test_a_composite_above_one_is_refused(tmp_path: Path) -> None:
    composite = {"composite": {"formula": "pass_rate + pass_rate", "pass": "final_score >= 0.5"}}
    refused(check(tmp_path, rows(1, 1), composite), "'final_score' is 2", "0 to 1", code="metric.outside-range")
