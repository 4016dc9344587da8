"""Every chance and error rate that a page states stands in a table that a program of `bench/` wrote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bench.measured_pages import CONCEPTS, PAGES, measured, read

from highbar.statistics.planning import enough_to_pass, scenarios_to_pass
from highbar.statistics.tolerance import clusters_to_exclude

DOCS = CONCEPTS.parent


def words(page: Path) -> str:
    return " ".join(page.read_text("utf-8").split())


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_its_table_says(name):
    assert (CONCEPTS / f"{name}.md").read_text("utf-8") == PAGES[name](read(f"{name}.csv"))


def test_the_figures_of_the_ratchet_are_those_of_the_table():
    rows = read("rising-bars.csv")
    said = words(DOCS / "how-to" / "raise-the-bar.md")
    for alike in ("0", "0.6"):
        case = f"estimate, 1 threshold, correlation {alike}"
        found = [measured(rows, "ratchet", case, f"version {version}: fail") for version in (5, 10, 30)]
        for figure in found:
            assert figure in said, (case, figure)
    second = measured(rows, "ratchet", "estimate, 1 threshold, correlation 0", "version 2: fail")
    assert second == "10 %"  # nine in ten second runs pass


def test_with_confidence_the_ratchet_leaves_most_later_runs_inconclusive():
    rows = read("rising-bars.csv")
    for version in (5, 10, 30):
        case = "confident, 1 threshold, correlation 0"
        found = measured(rows, "ratchet", case, f"version {version}: inconclusive")
        assert int(found.removesuffix(" %")) > 50


def test_the_figures_of_new_failures_and_rolling_baselines_are_those_of_the_table():
    rows = read("rising-bars.csv")
    said = words(DOCS / "concepts" / "comparing.md")
    for trials in ("1 trial", "3 trials"):
        case = f"100 scenarios, 5 of them at 0.9, {trials}"
        assert measured(rows, "new_failures", case, "fails") in said
    (rolling,) = [row for row in rows if row["what"] == "rolling baseline"]
    assert f"{100 * float(rolling['share']):.1f} %" in said


def test_the_figures_of_acceptance_numbers_are_exact():
    rows = read("rising-bars.csv")
    said = words(DOCS / "concepts" / "confidence.md")
    for case in ("0 accepted in 59", "0 accepted in 299"):
        assert measured(rows, "acceptance number", case, "fails an agent with 1 % failures") in said
    pairs = re.findall(r"(\d) in (\d+)", words(DOCS / "reference" / "policy.md"))
    assert [(int(k), int(n)) for k, n in pairs] == [(k, clusters_to_exclude(0.05, 0.05, k)) for k in range(4)]


def test_the_sizes_of_a_suite_are_exact():
    said = words(DOCS / "how-to" / "plan-a-suite.md")
    assert f"With {enough_to_pass(0.85, 0.90)} scenarios or more" in said
    assert f"So it does with {scenarios_to_pass(0.85, 0.90)}" in said


def test_what_is_stated_of_a_second_run_is_near_to_what_happens():
    """Within 3 points on average over agents; with a range, within 3 points of it. Latency, see page."""
    for row in read("second-run.csv"):
        if (row["stated_from"], row["stated_to"]) == ("0.00", "1.00"):
            low, high = (float(row["stated"].split(" to ")[end]) for end in (0, -1))
            room = 0.06 if "latency" in row["rule"] else 0.03
            assert low - room <= float(row["real"]) <= high + room, row
