"""What metrics are measured on: the sums, ranks and ratios of some scenarios.

An engine computes them from rows, a comparison from two recorded runs; metrics do not depend on which.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Protocol

from highbar.model import Percentile, Ratio, Term
from highbar.statistics.bounds import Sums
from highbar.statistics.composite import CrossSums
from highbar.statistics.ratio import ThirdSums


class AnyTotal(Protocol):
    """A sum, and the number of scenarios that have a value."""

    @property
    def value(self) -> Fraction:
        """The sum."""

    @property
    def scenarios(self) -> int:
        """How many scenarios have a value."""

    @property
    def undecided(self) -> int:
        """How many trials are undecided."""

    @property
    def valueless(self) -> int:
        """How many scenarios have a trial without a value, in a column without bounds."""

    @property
    def beyond(self) -> int:
        """How many scenarios have a value beyond the end at which such a trial counts."""


class AnyRank(Protocol):
    """The value at a percentile's rank, its bounds, and what it rests on."""

    @property
    def value(self) -> Fraction | None:
        """The value at the rank."""

    @property
    def low(self) -> Fraction | None:
        """The lower bound, if there is one."""

    @property
    def high(self) -> Fraction | None:
        """The upper bound, if there is one."""

    @property
    def trials(self) -> int:
        """How many trials are ranked."""

    @property
    def errors(self) -> int:
        """How many of them never completed."""

    @property
    def scenarios(self) -> int:
        """How many scenarios they are of."""

    @property
    def undecided(self) -> int:
        """How many of the trials have no value of their own."""

    @property
    def fewest(self) -> int:
        """The fewest trials of a scenario that is ranked."""

    @property
    def most(self) -> int:
        """The most trials of such a scenario."""


class AnyRatioTotals(Protocol):
    """The sums of one ratio."""

    @property
    def sums(self) -> Sums:
        """Over scenarios, or clusters of them."""

    @property
    def largest(self) -> float:
        """The largest part of one of them in the lower sum."""

    @property
    def trials(self) -> float:
        """How many equal trials theirs are worth."""

    @property
    def thirds(self) -> ThirdSums | None:
        """The sums of three factors, of a ratio of sums without bounds."""

    @property
    def imperfect(self) -> int | None:
        """How many units have an upper sum below the lower one."""

    @property
    def nonzero(self) -> int | None:
        """How many units have an upper sum above 0."""


class AnyGroup(Protocol):
    """The sums of some scenarios."""

    @property
    def totals(self) -> Mapping[Term, AnyTotal]:
        """Of each term."""

    @property
    def ranks(self) -> Mapping[Percentile, AnyRank]:
        """Of each percentile."""

    @property
    def ratios(self) -> Mapping[Ratio, AnyRatioTotals]:
        """Of each ratio."""

    @property
    def crosses(self) -> Mapping[tuple[Ratio, Ratio], CrossSums]:
        """Of each pair of ratios that some formula combines."""
