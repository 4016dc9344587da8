"""The table of `bench/off_grid.py` as a page of the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OPENING = """# Off the grid: bounds that broke, and what holds now

Written by `python bench/off_grid.py` from bench/tables/off_grid.json. An audit looked for gates whose bounds are
wrong more often than the 5 % that they promise, and found the families below. Each is simulated as a rule with
`evidence: confident` judges it: a false pass is a pass of an agent whose true value is exactly at the threshold, a
false fail likewise; a run that stays inconclusive because no bound is known to hold is neither, and is counted in its
own column. `before` is the bound that was used until then. The points were fixed before the first run. The bounds were
repaired twice with another seed; the seed of this table was fixed afterwards, before its first run.
"""

NOTES = """
- **Unequal trials**, `population: suite`: trials count as Σw / max(w/m), so that none weighs more than one.
- **pass^k and pass@k**, `population: suite`: each k trials count as one, and no trial counts twice.
- **Weights**: the bound supposes that an unseen failure weighs as much as the heaviest scenario. Besides, rules on
  weighted metrics stay inconclusive if the weights leave the worth of fewer than 40 scenarios, or if one scenario
  carries more than 10 %. Whether heavier scenarios were *seen* to fail more often decides nothing: the false passes
  are runs in which they were not, and breaking a light scenario could switch such a guard off. Reports warn of it.
- **Breakage**: Tango's score interval for one trial on either side (if all changes go one way, the wider of it and of
  Bonett and Price's), else the wider of Bonett and Price's interval and of the bound of a share.
- **Costs and tokens**: a rule needs `cost_limit` or `tokens_limit`, and then has a bound that assumes nothing else
  about the costs. Without one it stays inconclusive; the interval that is shown is corrected for skewness (Hall), and
  wrong as often as the table says.
- **Trial counts**: the bound of a percentile supposes that an unseen scenario has as many trials as any; besides, it
  stays inconclusive if scenarios differ more than threefold in their trials.
"""
HEAD = ("family", "point", "scenarios", "before: false pass / fail", "now: false pass / fail", "inconclusive", "width")


def page(table: Mapping[str, Any]) -> str:
    """The whole page, in Markdown."""
    lines = [
        OPENING,
        f"Seed {table['seed']}, {table['replicates']:,} runs for most points (at least a quarter for slow ones):",
        f"a figure of 5 % is good to about ±0.7 points (±1.4). Required: none above {100 * table['limit']:.1f} %.",
        NOTES,
        f"| {' | '.join(HEAD)}, times that before |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in table["points"]:
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
        "Reports show the rate of each slice drawn to the common one as far as chance explains the difference. All",
        "slices here are equally good; the worst of them is shown, on average, as:",
        "",
        "| slices | truth | as counted | drawn, before | drawn, now |",
        "|---|---|---|---|---|",
    ]
    for one in table["slices"]:
        shown = " | ".join(f"{one[name]:.3f}" for name in ("truth", "raw", "before", "now"))
        lines.append(f"| {one['point']} | {shown} |")
    return "\n".join(lines) + "\n"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
