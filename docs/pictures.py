"""Draws the pictures of the documentation: `python docs/pictures.py`. Every point is computed, none drawn by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

from highbar.statistics.binomial import at_least
from highbar.statistics.planning import gate_chances

PICTURE = Path(__file__).parent / "concepts" / "two-gates.svg"
SCENARIOS, THRESHOLD = 50, Fraction(85, 100)
NEEDED = math.ceil(THRESHOLD * SCENARIOS)  # the fewest passes that reach the threshold
LOWEST, HIGHEST = 0.65, 1.0
WIDTH, HEIGHT, GAP = 330, 220, 60
GREEN, RED, GRAY = "#1a7f37", "#cf222e", "#8c959f"


def curve(chance: Callable[[float], float], left: float, color: str) -> str:
    """How likely something is, for each true pass rate."""
    rates = [LOWEST + (HIGHEST - LOWEST) * step / 140 for step in range(141)]
    points = " ".join(f"{x(rate, left):.1f},{y(chance(rate)):.1f}" for rate in rates)
    return f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2.5"/>'


def x(rate: float, left: float) -> float:
    """Where a true pass rate stands."""
    return left + (rate - LOWEST) / (HIGHEST - LOWEST) * WIDTH


def y(chance: float) -> float:
    """Where a chance stands."""
    return 50 + (1 - chance) * HEIGHT


def label(text: str, across: float, down: float, *, anchor: str = "middle", color: str = "#24292f") -> str:
    """A word in the picture."""
    return f'<text x="{across:.1f}" y="{down:.1f}" text-anchor="{anchor}" fill="{color}">{text}</text>'


def axes(left: float, title: str) -> Iterator[str]:
    """The frame of one gate: true pass rate across, chance upward, the threshold dashed."""
    yield label(title, left + WIDTH / 2, 32)
    yield f'<rect x="{left}" y="50" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="{GRAY}"/>'
    for rate in (0.7, 0.8, 0.9, 1.0):
        yield label(f"{rate:.0%}", x(rate, left), 50 + HEIGHT + 18)
    for chance in (0, 0.5, 1):
        yield label(f"{chance:.0%}", left - 6, y(chance) + 4, anchor="end")
    at = x(float(THRESHOLD), left)
    yield f'<line x1="{at:.1f}" y1="50" x2="{at:.1f}" y2="{50 + HEIGHT}" stroke="{GRAY}" stroke-dasharray="4 4"/>'
    yield label("true pass rate of the agent", left + WIDTH / 2, 50 + HEIGHT + 38)


def picture() -> str:
    """Both gates side by side, as SVG."""
    first, second = 50.0, 50.0 + WIDTH + GAP
    parts = [
        *axes(first, "compare the value: pass or fail"),
        curve(lambda rate: at_least(NEEDED, SCENARIOS, rate), first, GREEN),
        curve(lambda rate: 1 - at_least(NEEDED, SCENARIOS, rate), first, RED),
        label("fail", x(0.72, first), y(0.9), color=RED),
        label("pass", x(0.955, first), y(0.88), color=GREEN),
        *axes(second, "compare the interval: pass, fail or inconclusive"),
        curve(lambda rate: gate_chances(SCENARIOS, THRESHOLD, rate).passes, second, GREEN),
        curve(lambda rate: gate_chances(SCENARIOS, THRESHOLD, rate).fails, second, RED),
        curve(lambda rate: gate_chances(SCENARIOS, THRESHOLD, rate).inconclusive, second, GRAY),
        label("fail", x(0.71, second), y(0.88), color=RED),
        label("inconclusive", x(0.85, second), y(0.72), color="#57606a"),
        label("pass", x(0.985, second) - 10, y(0.7), color=GREEN),
    ]
    size = f'width="{second + WIDTH + 20:.0f}" height="{HEIGHT + 110}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">'
    name = f"<title>How likely each outcome is, for {SCENARIOS} scenarios and a threshold of 85 %</title>"
    return "\n".join([head, name, '<rect width="100%" height="100%" fill="#ffffff"/>', *parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture(), "utf-8")
