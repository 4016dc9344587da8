"""Sums in, metrics out: every value exact, with its interval and the count it rests on, or undefined with a reason."""

from highbar.measure.spread import repetition, standings, weight_warnings
from highbar.measure.values import Measured, Needs, needs

__all__ = ["Measured", "Needs", "needs", "repetition", "standings", "weight_warnings"]
