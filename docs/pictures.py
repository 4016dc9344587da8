"""Draws the pictures of the documentation: `python docs/pictures.py`. Every point is computed, none drawn by hand.

The two runs that cross a boundary are real ones, of `highbar run --until-decided` on a suite of 200 sums. All that was
random in them is the order of their scenarios; it follows from the seed that each run recorded.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

from highbar.running.order import permutation
from highbar.statistics.distributions import at_least
from highbar.statistics.planning import gate_chances
from highbar.statistics.spending import binomial_boundaries

CONCEPTS = Path(__file__).parent / "concepts"
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


def two_gates() -> str:
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
    title = f"How likely each outcome is, for {SCENARIOS} scenarios and a threshold of 85 %"
    return drawing(title, second + WIDTH + 20, HEIGHT + 110, parts)


def drawing(title: str, width: float, height: float, parts: list[str]) -> str:
    """The whole picture as SVG."""
    size = f'width="{width:.0f}" height="{height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">'
    whole = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return "\n".join([head, f"<title>{title}</title>", whole, *parts, "</svg>", ""])


# --- runs that cross a boundary ----------------------------------------------------------------

PLANNED = 200
SEEDS = {0.07: 2745671231, 0.25: 1103214829}
"""Of the run of an agent that gets this share of sums wrong: the seed that its folder recorded."""
CROSSED = {0.07: 103, 0.25: 108}
"""After how many scenarios the run was decided, as its report said."""
LEFT, TOP, ACROSS, DOWN, FARTHEST = 60.0, 40.0, 640.0, 260.0, 16.0


def is_right(id_: str, wrong: float) -> bool:
    """Whether the agent got a sum right: `Q-017` asks for twice 17."""
    return hashlib.sha256(str(int(id_[2:])).encode()).digest()[0] >= 256 * wrong


def path(wrong: float) -> list[float]:
    """How many passes more than 85 % there were after each scenario of a run, up to its crossing."""
    order = permutation([f"Q-{number:03}" for number in range(PLANNED)], SEEDS[wrong])
    passes, above = 0, [0.0]
    for looked, id_ in enumerate(order, 1):
        passes += is_right(id_, wrong)
        above.append(passes - float(THRESHOLD) * looked)
        if binomial_boundaries(THRESHOLD, PLANNED, 0.05).at(looked).decides(passes) is not None:
            break
    if len(above) - 1 != CROSSED[wrong]:
        raise ValueError(f"the run was decided after {CROSSED[wrong]} scenarios, drawn after {len(above) - 1}")
    return above


def boundary(side: int) -> list[tuple[int, float]]:
    """Where a boundary is after each scenario: side 0 decides a pass, side 1 a fail."""
    boundaries = binomial_boundaries(THRESHOLD, PLANNED, 0.05)
    found = ((looked, boundaries.at(looked)[side]) for looked in range(1, PLANNED + 1))
    return [(looked, count - float(THRESHOLD) * looked) for looked, count in found if count is not None]


def line(points: list[tuple[int, float]], color: str, style: str = "") -> str:
    """Points of scenarios and passes above 85 %, joined."""
    joined = " ".join(f"{LEFT + ACROSS * looked / PLANNED:.1f},{height(above):.1f}" for looked, above in points)
    return f'<polyline points="{joined}" fill="none" stroke="{color}" stroke-width="2"{style}/>'


def height(above: float) -> float:
    """Where so many passes more than 85 % stand."""
    return TOP + DOWN / 2 * (1 - above / FARTHEST)


def crossing() -> str:
    """Two runs, each up to the boundary that it crosses."""
    bottom, right = TOP + DOWN, LEFT + ACROSS
    dashes = ' stroke-dasharray="5 4"'
    parts = [
        f'<rect x="{LEFT}" y="{TOP}" width="{ACROSS}" height="{DOWN}" fill="none" stroke="{GRAY}"/>',
        line([(0, 0.0), (PLANNED, 0.0)], GRAY, ' stroke-dasharray="2 4"'),
        *(label(f"{n}", LEFT + ACROSS * n / PLANNED, bottom + 18) for n in range(0, PLANNED + 1, 50)),
        *(label(f"{k:+}", LEFT - 8, height(k) + 4, anchor="end") for k in (-10, -5, 5, 10)),
        label("85 %", LEFT - 8, height(0) + 4, anchor="end"),
        label("passes above or below 85 % of the scenarios so far", LEFT, TOP - 12, anchor="start"),
        label("scenarios, in the recorded order", LEFT + ACROSS / 2, bottom + 38),
        line(boundary(0), GREEN, dashes),
        line(boundary(1), RED, dashes),
        label("pass", right - 10, height(13.5), anchor="end", color=GREEN),
        label("fail", right - 10, height(-14.9), anchor="end", color=RED),
    ]
    for wrong, color in ((0.07, GREEN), (0.25, RED)):
        above = path(wrong)
        end = len(above) - 1
        parts.append(line(list(enumerate(above)), "#24292f"))
        parts.append(
            f'<circle cx="{LEFT + ACROSS * end / PLANNED:.1f}" cy="{height(above[-1]):.1f}" r="5" fill="{color}"/>'
        )
        down = -14 if above[-1] > 0 else 24
        text, across = f"decided after {end} of {PLANNED}", LEFT + ACROSS * end / PLANNED
        parts.append(label(text, across, height(above[-1]) + down, color=color))
    return drawing(f"Two runs of up to {PLANNED} scenarios that cross a boundary", right + 20, bottom + 60, parts)


PICTURES = {CONCEPTS / "two-gates.svg": two_gates, CONCEPTS / "early-stopping.svg": crossing}


if __name__ == "__main__":
    for file, draw in PICTURES.items():
        file.write_text(draw(), "utf-8")
