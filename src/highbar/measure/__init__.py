"""Sums in, metrics out: every value exact, with the count it rests on, or undefined with a reason."""

from highbar.measure.values import Measured, Needs, needs

__all__ = ["Measured", "Needs", "needs"]
