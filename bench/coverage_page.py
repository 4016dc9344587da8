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
WORST = 3


def page(figures: Sequence[Figure]) -> str:
    """The whole page, in Markdown."""
    limited = [figure for figure in figures if figure.limited]
    repeated = [figure for figure in figures if figure.family == "repeated trials"]
    tokens = _of(figures, family="token efficiency")
    apart = [figure for figure in figures if figure.family == "extreme weights" and figure.method == "Highbar"]
    return "\n".join(
        [
            *_opening(limited),
            "",
            "## Highbar's bounds, by metric",
            "",
            *_summary((family, _of(limited, family=family)) for family in _distinct(f.family for f in limited)),
            "",
            "## Compared with other intervals",
            "",
            "For the points of “repeated trials”. Wald and Wilson treat every trial as independent; t and the",
            "bootstrap treat scenarios as the units.",
            "",
            *_summary((method, _of(repeated, method=method)) for method in METHODS),
            "",
            "The largest error on either side, by the number of scenarios:",
            "",
            *_by_scenarios(repeated, METHODS),
            "",
            "The same for the composite accuracy × 0.3 + safety_rate × 0.4 + behavior_coverage × 0.2. MOVER with the",
            "estimated correlation is narrower, but breaking a trial in one metric can raise its lower end:",
            "",
            *_by_scenarios(_of(figures, family="composite of three"), ("Highbar", "MOVER", "delta", "bootstrap")),
            "",
            f"## The {WORST} worst points",
            "",
            *_list(_worst(limited)),
            "",
            "## Without a promise",
            "",
            "A few scenarios with most of the weight (`check` warns about those), and token efficiency, a ratio of",
            "unbounded sums with heavy tails. The worst points:",
            "",
            *_list([*_worst(apart), *_worst(tokens)], method=True),
            "",
        ]
    )


def _opening(limited: Sequence[Figure]) -> list[str]:
    above = [figure for figure in limited if figure.worst > LIMIT]
    held = "None of them is above" if not above else f"{len(above)} of them are above"
    return [
        "# How often the bounds are wrong",
        "",
        "`python bench/coverage.py` simulates gates whose true value is known. A false pass is a lower bound above the",
        "truth, a false fail an upper bound below it: each should happen at most 5 % of the time (confidence 0.95).",
        "The grid and its seed were fixed before the first run, and no point was removed.",
        "",
        f"- {len(limited)} points, seed {SEED}, {REPLICATES:,} replicates each (composites {COMPOSITE_REPLICATES:,}):",
        "  a figure of 5 % is accurate to about ±0.3 points (±0.6).",
        f"- {BOOTSTRAP_REPLICATES:,} replicates with {RESAMPLES} resamples for the bootstrap.",
        f"- {held} {_percent(LIMIT)}. Every point is in [coverage-points.csv](coverage-points.csv).",
    ]


def _worst(figures: Sequence[Figure]) -> list[Figure]:
    return sorted(figures, key=lambda figure: -figure.worst)[:WORST]


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
