"""How likely each number of passes is, updated unit by unit."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

Step = Callable[[int, int, list[float]], list[float]]
"""(draw, lowest count, probabilities of the counts from the lowest on) → their probabilities after this draw."""


def independent(rate: Fraction) -> Step:
    """Every unit passes with this probability."""
    hit, miss = float(rate), float(1 - rate)

    def step(_draw: int, _lowest: int, masses: list[float]) -> list[float]:
        return _shifted([mass * miss for mass in masses], [mass * hit for mass in masses])

    return step


def drawn(passes: int, units: int) -> Step:
    """`passes` of the units pass, drawn without replacement; all probabilities are 0 if that is impossible."""
    possible = 0 <= passes <= units

    def step(draw: int, lowest: int, masses: list[float]) -> list[float]:
        left = units - draw + 1
        if not possible:
            return _shifted([0.0] * len(masses), [0.0] * len(masses))
        # Clamped only for counts that no draw can have: their probability is 0.
        rising = [min(max(passes - count, 0), left) for count in range(lowest, lowest + len(masses))]
        return _shifted(
            [mass * ((left - rise) / left) for mass, rise in zip(masses, rising, strict=True)],
            [mass * (rise / left) for mass, rise in zip(masses, rising, strict=True)],
        )

    return step


def _shifted(stays: list[float], rises: list[float]) -> list[float]:
    """The probabilities after a draw, from the part that stays at its count and the part that rises to the next one."""
    return [stay + rise for stay, rise in zip([*stays, 0.0], [0.0, *rises], strict=True)] if stays else []
