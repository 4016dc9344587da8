"""Sums in, metrics out: every value exact, with the count it rests on, or undefined with a reason."""

from highbar.measure.values import Measured, needs

__all__ = ["Measured", "needs"]
