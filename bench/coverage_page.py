"""The figures of `bench/coverage.py` as a page of the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from bench.coverage_grid import (
    BOOTSTRAP_REPLICATES,
    COMPOSITE_REPLICATES,
    LIMIT,
    REPLICATES,
    RESAMPLES,
    SCENARIOS,
    SEED,
)
from bench.coverage_methods import Figure

METHODS = ("Highbar", "Wilson", "Wald", "t", "bootstrap")
WORST = 10


def page(figures: Sequence[Figure]) -> str:
    """The whole page, in Markdown."""
    limited = [figure for figure in figures if figure.limited]
    repeated = [figure for figure in figures if figure.family == "repeated trials"]
    worst = sorted(limited, key=lambda figure: -figure.worst)[:WORST]
    apart = [figure for figure in figures if figure.family == "extreme weights" and figure.method == "Highbar"]
    return "\n".join(
        [
            *_opening(limited),
            "",
            "## Our bounds, by what they bound",
            "",
            *_summary((family, _of(limited, family=family)) for family in _distinct(f.family for f in limited)),
            "",
            "## Beside other intervals",
            "",
            "On the points of “repeated trials”. Wald and Wilson take every trial for independent, t and the bootstrap",
            "take scenarios as the units.",
            "",
            *_summary((method, _of(repeated, method=method)) for method in METHODS),
            "",
            "The largest error on either side, by the number of scenarios:",
            "",
            *_by_scenarios(repeated, METHODS),
            "",
            "The composite of accuracy × 0.3 + safety_rate × 0.4 + behavior_coverage × 0.2, likewise. MOVER with the",
            "estimated correlation is narrower, but breaking a trial in one metric alone can lift its lower end:",
            "",
            *_by_scenarios(_of(figures, family="composite of three"), ("Highbar", "MOVER", "delta", "bootstrap")),
            "",
            f"## The {WORST} worst points",
            "",
            *_list(worst),
            "",
            "## Apart: where no limit is promised",
            "",
            "A few scenarios with most of the weight (`check` warns of those), and token efficiency, a ratio of",
            "unbounded sums with heavy tails.",
            "",
            *_list([*apart, *(figure for figure in figures if figure.family == "token efficiency")], method=True),
            "",
        ]
    )


def _opening(limited: Sequence[Figure]) -> list[str]:
    above = [figure for figure in limited if figure.worst > LIMIT]
    held = "None of them is above" if not above else f"{len(above)} of them are above"
    return [
        "# How often the bounds are wrong",
        "",
        "Written by `python bench/coverage.py`, which simulates gates whose truth is known. A false pass is a lower",
        "bound above the truth, a false fail an upper bound below it: each should happen at most 5 % of the time",
        "(confidence 0.95). The grid and its seed were fixed before the first run, and no point was taken out.",
        "",
        f"- {len(limited)} points, seed {SEED}, {REPLICATES:,} replicates each (composites {COMPOSITE_REPLICATES:,}):",
        "  a figure of 5 % is good to about ±0.3 points (±0.6).",
        f"- {BOOTSTRAP_REPLICATES:,} replicates with {RESAMPLES} resamples for the bootstrap.",
        f"- {held} {_percent(LIMIT)}. Every point is in [coverage-points.csv](coverage-points.csv).",
    ]


def _summary(groups: Iterable[tuple[str, Sequence[Figure]]]) -> list[str]:
    columns = (
        "",
        "points",
        "false pass: mean / 95th / max",
        "false fail: mean / 95th / max",
        f"above {_percent(LIMIT)}",
    )
    lines = ["| " + " | ".join([*columns, "mean width"]) + " |", "|---|---|---|---|---|---|"]
    for name, figures in groups:
        above = sum(figure.worst > LIMIT for figure in figures) / len(figures)
        width = float(np.mean([figure.width for figure in figures]))
        passes = _spread([figure.false_pass for figure in figures])
        fails = _spread([figure.false_fail for figure in figures])
        lines.append(f"| {name} | {len(figures)} | {passes} | {fails} | {_percent(above, 0)} of points | {width:.3f} |")
    return lines


def _by_scenarios(figures: Sequence[Figure], methods: Sequence[str]) -> list[str]:
    lines = ["| scenarios | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    for scenarios in SCENARIOS:
        cells = []
        for method in methods:
            mine = [one for one in figures if one.method == method and one.scenarios == scenarios]
            cells.append(
                " / ".join(
                    _percent(max(errors))
                    for errors in zip(*((one.false_pass, one.false_fail) for one in mine), strict=True)
                )
            )
        lines.append(f"| {scenarios} | " + " | ".join(cells) + " |")
    return lines


def _list(figures: Sequence[Figure], *, method: bool = False) -> list[str]:
    lines = ["| what | point | scenarios | false pass | false fail | mean width |", "|---|---|---|---|---|---|"]
    for one in figures:
        what = f"{one.family}, {one.method}" if method and one.method != "Highbar" else one.family
        errors = f"{_percent(one.false_pass)} | {_percent(one.false_fail)}"
        lines.append(f"| {what} | {one.point} | {one.scenarios} | {errors} | {one.width:.3g} |")
    return lines


def _spread(values: Sequence[float]) -> str:
    return " / ".join(map(_percent, (float(np.mean(values)), float(np.quantile(values, 0.95)), max(values))))


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def _of(figures: Iterable[Figure], family: str | None = None, method: str | None = None) -> list[Figure]:
    return [one for one in figures if family in (None, one.family) and method in (None, one.method)]


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
