"""All that a rule may look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from highbar import formula
from highbar.model import Expression, Metric, Value, Where
from highbar.statistics.bounds import Sums


class Measured(Protocol):
    """The metrics of the whole, over any scenarios."""

    def value(self, name: str, where: Where = ()) -> Value:
        """The value of one metric."""

    def sums(self, name: str, where: Where = ()) -> Sums | None:
        """The sums behind a metric that is a share; None for any other."""

    def difference(self, left: Expression, right: Expression) -> Value:
        """One expression less another, with its interval."""

    def lookup(self, where: Where = ()) -> formula.Lookup:
        """What the names of a formula are worth."""


class Matched(Protocol):
    """What a pattern of ids found."""

    @property
    def scenarios(self) -> int:
        """How many scenarios match."""

    @property
    def failed(self) -> int:
        """How many of them did not pass every trial."""

    @property
    def examples(self) -> tuple[str, ...]:
        """The ids of some of those."""


class SuiteMatch(Protocol):
    """How the results differ from the suite."""

    @property
    def missing(self) -> int:
        """How many scenarios of the suite have no result."""

    @property
    def missing_ids(self) -> tuple[str, ...]:
        """Some of them."""

    @property
    def extra(self) -> int:
        """How many scenarios of the results are not in the suite."""

    @property
    def extra_ids(self) -> tuple[str, ...]:
        """Some of them."""

    @property
    def excused_ids(self) -> tuple[str, ...]:
        """The scenarios of the suite that have no result and are optional."""

    @property
    def different(self) -> tuple[str, ...]:
        """Where a column that the suite fixes is another in the results, in words."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The metrics, what was found of the named scenarios and of the suite, and the one-sided error that is accepted."""

    measured: Measured
    metrics: Mapping[str, Metric]
    patterns: Mapping[str, Matched]
    suite: SuiteMatch | None
    alpha: float = 0.05
