"""What the HTML page draws for rules that compare with a baseline."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import run


def write(folder: Path, name: str, passing: int, latency: int) -> None:
    rows = (
        {
            "id": f"S{i:03}",
            "passed": i < passing,
            "latency_ms": latency,
            "category": "edge_case" if i % 2 else "happy_path",
        }
        for i in range(100)
    )
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def page(folder: Path, margin: dict[str, Any], passing: int = 88, latency: int = 105) -> str:
    """The page of a run that is worse than its baseline: 90 of 100 passed there, in 100 ms."""
    write(folder, "base.jsonl", 90, 100)
    write(folder, "head.jsonl", passing, latency)
    (folder / "highbar.yaml").write_text(json.dumps({"baseline": {"file": "baseline.json", "margin": margin}}))
    assert run(folder, "baseline", "record", "base.jsonl", "--date", "2026-11-15").exit == 0
    run(folder, "check", "head.jsonl", "--output", "it.html")
    return (folder / "it.html").read_text("utf-8")


def chart(html: str, row: str) -> tuple[float, float, float, float]:
    """Of the row that has this text: where its threshold and its dot are, and from where to where it is tinted.

    In the unit of the labels at the ends of the axis.
    """
    cells = next(each for each in html.split("<tr") if row in each and 'class="line"' in each)
    svg = cells[cells.index('class="line"') :]
    ends = re.findall(r'class="tick"[^>]*>([+-]?[\d.]+)', svg)
    low, high = float(ends[0]), float(ends[1])

    def number(x: str) -> float:
        return low + (float(x) - 8) / 244 * (high - low)

    bar = re.search(r'd="M([\d.]+) [\d.]+V[\d.]+" class="bar"', svg)
    dot = re.search(r'<circle cx="([\d.]+)"|d="M([\d.]+) [\d.]+l6 6', svg)
    tint = re.search(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"[^>]*class="accepted"', svg)
    assert bar
    assert dot
    assert tint
    left, wide = tint.groups()
    return number(bar[1]), number(dot[1] or dot[2]), number(left), number(str(float(left) + float(wide)))


@pytest.mark.parametrize(
    ("margin", "row", "threshold"),
    [
        ({"pass_rate": "5%"}, "Pass rate is at most 5 points below", -5),
        ({"latency_p50": "20ms"}, "Latency p50 is at most 20 ms above", 20),
        ({"latency_p50": "10% of baseline"}, "Latency p50 is at most 10% above", 10),
        ({"pass_rate": "0%"}, "Pass rate is not below", 0),
        ({"pass_rate": {"margin": "6%", "where": {"category": "edge_case"}}}, "Pass rate of edge_case is at most", -6),
    ],
)
def test_the_threshold_of_a_margin_is_drawn_at_the_margin(tmp_path, margin, row, threshold):
    html = page(tmp_path, margin)
    at, dot, left, right = chart(html, row)
    assert at == pytest.approx(threshold, abs=0.1)
    assert (left if threshold <= 0 else right) == pytest.approx(threshold, abs=0.1)
    assert (left <= dot <= right) == (threshold != 0)  # it passes
    if "edge_case" not in row:  # the table of changes draws the same
        name = next(iter(margin))
        assert chart(html.partition('id="changes"')[2], f"<code>{name}</code>")[0] == pytest.approx(threshold, abs=0.1)


def test_without_a_margin_the_line_is_at_no_change(tmp_path):
    html = page(tmp_path, {"latency_p50": "20ms"})
    assert chart(html.partition('id="changes"')[2], "<code>pass_rate</code>")[0] == pytest.approx(0, abs=0.1)


def test_a_margin_over_several_slices_has_no_chart_rather_than_one_of_the_value_alone(tmp_path):
    both = {"margin": "6%", "where": {"category": ["edge_case", "happy_path"]}}
    html = page(tmp_path, {"pass_rate": both})
    row = next(each for each in html.split("<tr") if "Pass rate of edge_case or happy_path" in each)
    assert '<td class="chart"></td>' in row
