"""What metrics are measured on: the sums, ranks and ratios of some scenarios, as any engine gives them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Protocol

from highbar.measure import intervals
from highbar.model import Percentile, Ratio, Term
from highbar.statistics.composite import CrossSums


class Total(Protocol):
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


class Rank(intervals.Rank, Protocol):
    """The value at a percentile's rank, and what it rests on."""

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


class RatioTotals(intervals.RatioTotals, Protocol):
    """The sums of one ratio, and how many of its units are not perfect, if that was counted."""

    @property
    def imperfect(self) -> int | None:
        """How many units have an upper sum below the lower one."""

    @property
    def nonzero(self) -> int | None:
        """How many units have an upper sum above 0."""


class Group(Protocol):
    """The sums of some scenarios."""

    @property
    def totals(self) -> Mapping[Term, Total]:
        """Of each term."""

    @property
    def ranks(self) -> Mapping[Percentile, Rank]:
        """Of each percentile."""

    @property
    def ratios(self) -> Mapping[Ratio, RatioTotals]:
        """Of each ratio."""

    @property
    def crosses(self) -> Mapping[tuple[Ratio, Ratio], CrossSums]:
        """Of each pair of ratios that some formula combines."""
