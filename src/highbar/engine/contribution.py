"""What one scenario adds to a sum: defined once, exact for a row of counts, and as a double in SQL.

A scenario's value of a quantity is its sum over the trials that have it, divided by their number. Profiles, records
and the sums of products all take it from here, so that they cannot disagree about a denominator.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import comb, prod
from typing import Any

from msgspec import Struct

from highbar.columns import scale
from highbar.engine.layout import Layout
from highbar.engine.quantities import EVERY_TRIAL, SCORE_DENOMINATOR

Row = Mapping[str, Any]


class Contribution(Struct, frozen=True):
    """A scenario's mean of a quantity: its column `total`, divided by the columns in `divisors` and by `scale`.

    `count` is the column with the number of its trials that have the quantity. A scenario without one has no value.
    """

    count: str
    total: str
    divisors: tuple[str, ...]
    scale: int

    def denominator(self, row: Row) -> int:
        """By what the total of a scenario is divided."""
        return int(prod(row[name] for name in self.divisors)) * self.scale

    def exact(self, row: Row) -> Fraction | None:
        """The mean in one scenario; None if it has no such trial."""
        # Spark has some whole numbers in doubles.
        return Fraction(int(row[self.total]), self.denominator(row)) if row[self.count] else None

    @property
    def sql(self) -> str:
        """The same as a double, for scenarios that have such a trial."""
        # Divided by one product: a quotient of quotients would round twice.
        divisors = " * ".join([*self.divisors, f"{self.scale}e0"])
        return f"(CAST({self.total} AS DOUBLE) / ({divisors}))"


def contribution(layout: Layout, quantity: str) -> Contribution:
    """How a scenario's value of a quantity is computed."""
    one = layout.quantities[quantity]
    # A behavior score is a fraction in each trial already; the trials of a scenario share one denominator.
    divisors = (SCORE_DENOMINATOR,) if one.unit == SCORE_DENOMINATOR else ()
    return Contribution(one.count, one.total, (one.count, *divisors), scale(quantity))


def tries(quantity: str) -> int:
    """The K of pass_at_K or pass_hat_K."""
    return int(quantity.rpartition("_")[2])


def pass_k_value(quantity: str, trials: int, passed: int) -> Fraction | None:
    """Unbiased pass@k or pass^k of one scenario; None if it has fewer than k trials."""
    k = tries(quantity)
    if trials < k:
        return None
    if quantity.startswith("pass_at_"):
        return 1 - Fraction(comb(trials - passed, k), comb(trials, k))
    return Fraction(comb(passed, k), comb(trials, k))


def pass_k_sql(quantity: str) -> str:
    """The same in SQL as a product of k quotients; 0 if the scenario has fewer than k trials."""
    k, at_least_one = tries(quantity), quantity.startswith("pass_at_")
    hits = f"({EVERY_TRIAL} - passed_trials)" if at_least_one else "passed_trials"
    product = " * ".join(f"(greatest({hits} - {j}, 0) / ({EVERY_TRIAL} - {j}e0))" for j in range(k))
    share = f"(1e0 - {product})" if at_least_one else product
    return f"(CASE WHEN {EVERY_TRIAL} >= {k} THEN {share} ELSE 0e0 END)"
