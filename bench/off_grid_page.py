"""The table of `bench/off_grid.py` as a page of the documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

OPENING = """# Off the grid: bounds that were too narrow, and what holds now

An audit looked for rules whose bounds are wrong more often than the promised 5 %, and found the families below.
`python bench/off_grid.py` simulates each as a rule with `evidence: confident` judges it. A false pass is a pass of an
agent whose true value is exactly at the threshold; a false fail is the opposite. `before` is the bound used until then.
The points were fixed before the first run, the seed of this table after the bounds were repaired.
"""

NOTES = """
The bounds of today are in [Confidence](confidence.md#which-bound-is-used-and-when-there-is-none) and
[Is it better?](comparing.md#the-difference-and-its-bounds)

For each family, the table shows the point with the largest error before and the one with the largest error now;
[off_grid.json](../../bench/tables/off_grid.json) has all of them.
"""
HEAD = ("family", "point", "scenarios", "before: false pass / fail", "now: false pass / fail", "inconclusive", "width")


def page(table: Mapping[str, Any]) -> str:
    """The whole page, in Markdown."""
    lines = [
        OPENING,
        f"Seed {table['seed']}, {table['replicates']:,} runs for most points (slow ones at least a quarter of that):",
        f"a figure of 5 % is accurate to about ±0.7 points (±1.4). Required: none above {100 * table['limit']:.1f} %.",
        NOTES,
        f"| {' | '.join(HEAD)}, times that before |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in _worst(table["points"]):
        before = f"{_percent(one['before_pass'])} / {_percent(one['before_fail'])}"
        now = f"{_percent(one['false_pass'])} / {_percent(one['false_fail'])}"
        width = "–" if one["width"] is None else f"{one['width']:.2f}"
        lines.append(
            f"| {one['family']} | {one['point']} | {one['scenarios']} | {before} | {now}"
            f" | {100 * one['inconclusive']:.0f} % | {width} |"
        )
    lines += [
        "",
        "## The worst slice",
        "",
        "Reports move the rate of each slice toward the common rate as far as chance explains the difference. All",
        "slices here are equally good; the worst of them is shown, on average, as:",
        "",
        "| slices | truth | as counted | adjusted, before | adjusted, now |",
        "|---|---|---|---|---|",
    ]
    for one in table["slices"]:
        shown = " | ".join(f"{one[name]:.3f}" for name in ("truth", "raw", "before", "now"))
        lines.append(f"| {one['point']} | {shown} |")
    return "\n".join(lines) + "\n"


def _worst(points: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Of each family, the point with the largest error before and the one with the largest now."""
    kept = []
    for family in dict.fromkeys(one["family"] for one in points):
        mine = [one for one in points if one["family"] == family]
        chosen = [
            max(mine, key=lambda one: max(one["before_pass"], one["before_fail"])),
            max(mine, key=lambda one: max(one["false_pass"], one["false_fail"])),
        ]
        kept += [one for one in mine if one in chosen]
    return kept


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
