"""What the page about the judge says was measured is what the table beside it holds."""

from __future__ import annotations

import pytest
from bench.judge_page import LIMIT, OURS, PAGE, TABLES, column, page, read, read_from
from bench.judge_runs import judge_points


def test_the_page_is_what_its_table_says() -> None:
    assert PAGE.read_text("utf-8") == page(read()), "run python bench/judge_page.py"


def test_every_point_of_the_grid_was_measured_with_both_kinds_of_labels() -> None:
    points = list(judge_points())
    rows = read()
    for source in ("same run", "another run"):
        assert [int(row["labels"]) for row in rows if row["labels_of"] == source] == [point.labels for point in points]


def test_no_bound_of_ours_is_wrong_more_often_than_promised() -> None:
    for row in read():
        for method in OURS:
            for figure in ("false_pass", "false_fail"):
                assert float(row[column(method, figure)] or 0) <= LIMIT, row


@pytest.mark.parametrize(("name", "before"), [("old_labels", "alone"), ("judged_coverage", "raw")])
def test_nor_with_a_judge_that_changed_or_a_score_although_the_uncorrected_are(name: str, before: str) -> None:
    rows = read_from(TABLES / f"{name}.csv")
    for word in ("passes", "fails"):
        assert max(float(row[word]) for row in rows) <= LIMIT
        assert max(float(row[f"{before}_{word}"]) for row in rows) > 2 * LIMIT


def test_what_was_measured_beside_it_does_not_keep_the_level() -> None:
    rows = [row for row in read() if row["labels_of"] == "same run"]
    for method in ("independent labels", "PPI", "PPI++", "raw judge"):
        assert max(float(row[column(method, "false_fail")]) for row in rows) > 2 * LIMIT
