"""What a trial adds to each quantity, at worst and at best, as SQL over `trials`: a table with one entry per quantity.

The last section has what one scenario then adds to a sum: its mean over the trials that have the quantity.

Quantities that are computed from judgments are listed here. Those of a measured column follow from its row in
`columns.py`: whether it has bounds, its scale, and which direction is better.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from math import comb, prod
from typing import Any, Literal

from msgspec import Struct

from highbar.columns import BY_NAME, EXTRA, EXTRA_SCALE, MEASURED, QUANTITIES, SHARES, Column, sum_scale
from highbar.engine import scoring
from highbar.model import Ends, Ratio

NO_ENDS = Ends()
EVERY_TRIAL = "trial_count"
"""The column that counts all trials of a scenario."""


World = Literal["worst", "best"]
"""How undecided trials count: every check is made at the worst, and again at the best if there are any."""


class QuantitySql(Struct, frozen=True):
    """A number that a trial may have, as SQL over `trials`, and the names of its sums over a scenario.

    `count` is the column that counts the trials with the number, `total` the one that sums it up.

    Example: `correct`, and three trials of one scenario. The first says `correct: true`: it is `given` an answer, and
    so the scenario has one, and all its trials count. The second says nothing about an answer: it lacks what its
    scenario has, and counts `lack_worst` or `lack_best`, each times `unit`, SQL over a scenario. The third crashed: it
    has the number anyway (`counts_anyway`), as errors, violations and unjudged trials do, also if no trial of its
    scenario is given it but other scenarios have it. `worst` and `best` are whole numbers, 0 for any other trial.
    """

    count: str
    total: str
    given: str
    counts_anyway: str
    worst: str
    best: str
    lack_worst: str = "0"
    lack_best: str = "0"
    unit: str = "1"
    unknown: str = "false"  # whether a trial that is given it, or counts anyway, is undecided
    # What an error adds to a scenario that is not given it; empty: nothing but what `counts_anyway` says. It adds
    # nothing if it is known what the scenario asks for: a crash leaves alone what nobody asked.
    crash: str = ""
    bit: int = 0  # the bit of the suite's demand for it, 0 if a suite cannot demand it
    # If there are any, the scenario has the number if each of these is given by some trial, not all by the same one.
    given_separately: tuple[str, ...] = ()
    valueless: str = ""  # in a column without bounds: whether a trial that has it has no value of its own
    beyond: str = ""  # whether a trial's value is beyond the end at which trials without a value count
    read_from: tuple[tuple[str, ...], ...] = ()  # without a result column from each group, no trial is given it

    @property
    def of_every_trial(self) -> bool:
        """Whether every trial has the number."""
        return self.count == EVERY_TRIAL

    def amount(self, world: World) -> str:
        """The amount of a trial that has the number."""
        return self.worst if world == "worst" else self.best

    def lack(self, world: World) -> str:
        """The amount of a trial that lacks it, in a scenario that has it."""
        return self.lack_worst if world == "worst" else self.lack_best

    def can_be_given(self, columns: Collection[str], *, demanded: bool) -> bool:
        """Whether any trial of results with these columns can be given it; `demanded`: whether a suite has demands.

        If no trial can, no scenario has it, whatever errors and open trials count as.
        """
        return all(any(name in columns for name in one_of) for one_of in self.read_from) or (demanded and self.bit > 0)


def is_mean_of_trials(ratio: Ratio) -> bool:
    """Whether every scenario adds the mean of its trials, each from 0 to 1, times its weight."""
    if len(ratio.z) > 1 or len(ratio.d) > 1:
        return False
    (above, _), (below, _) = ratio.z[0], ratio.d[0]
    return above.of == "sum" and above.column in SHARES and (below.of == "count" or below.column == "scenario")


def scaled_name(column: str) -> str:
    """The column of `trials` that has the values of a measured column as whole multiples of 1/scale."""
    return f"{column}_scaled"


def known_name(column: str) -> str:
    """The column of `trials` that tells whether a trial has a value of its own in a bounded column."""
    return f"{column}_known"


def total_name(quantity: str) -> str:
    """The column of `scenarios` with the sum of a quantity: trials if it counts them, else an amount."""
    counted = quantity in QUANTITIES and QUANTITIES[quantity].kind == "counted"
    return f"{quantity}_trials" if counted else f"{quantity}_sum"


def _integer(condition: str) -> str:
    return f"CAST({condition} AS INTEGER)"


_NO_ANSWER = "(is_open AND NOT has_answer)"
_NO_OUTCOME = "(is_open AND NOT has_outcome)"
_NO_SCORE = "(is_open AND expected_count = 0 AND NOT is_violated)"
_CRASHED = "(is_error AND is_unjudged AND NOT has_outcome)"  # wrong, as it is in accuracy
_OUTCOME_UNKNOWN = f"(has_outcome AND NOT outcome_known) OR {_NO_OUTCOME}"
# An error beside `unjudged` counts like the open trial that it was before: an error never helps.
_OPEN = "is_open OR (is_error AND is_unjudged)"
_BEHAVIORS = (("expected_behaviors",),)
SCORE_DENOMINATOR = "score_denominator"
"""The column of `scenarios` with the denominator of its behavior_score."""
MOST_EXPECTED = "max(expected_count)"
"""A `unit`: the largest number of behaviors that any trial of the scenario expects."""


def _of_every_trial(quantity: str, worst: str, best: str, unknown: str = "false") -> QuantitySql:
    return QuantitySql(
        EVERY_TRIAL, total_name(quantity), "true", "false", _integer(worst), _integer(best), unknown=unknown
    )


def _outcome(quantity: str, worst: str, best: str, *, lack_worst: str, lack_best: str, crash: str = "0") -> QuantitySql:
    return QuantitySql(
        "outcome_count",
        total_name(quantity),
        "has_outcome",
        _OPEN,
        _integer(worst),
        _integer(best),
        lack_worst,
        lack_best,
        unknown=_OUTCOME_UNKNOWN,
        crash=crash,
        read_from=(("outcome", "expected"),),
    )


COMPUTED = {
    "passed": _of_every_trial("passed", "is_passed", "NOT is_failed", "NOT is_passed AND NOT is_failed"),
    "error": _of_every_trial("error", "is_error OR is_lost", "is_error", "is_lost"),
    "violated": _of_every_trial("violated", "NOT violation_known OR is_violated", "is_violated", "NOT violation_known"),
    "unjudged": _of_every_trial("unjudged", "is_unjudged", "is_unjudged", "is_unjudged AND NOT is_error"),
    "correct": QuantitySql(
        "answer_count", total_name("correct"), "has_answer", _OPEN, _integer("is_correct"),
        _integer(f"is_correct OR (has_answer AND NOT answer_known) OR {_NO_ANSWER}"),
        lack_best=_integer("NOT is_error"), unknown=f"(has_answer AND NOT answer_known) OR {_NO_ANSWER}",
        crash="0", bit=scoring.ANSWER, read_from=(("correct", "outcome", "expected", "answer_checked"),),
    ),
    # An unknown prediction counts against both at worst: as a false positive in precision, a false negative in recall.
    "tp": _outcome("tp", "tp", f"tp OR (fn AND NOT outcome_known) OR {_NO_OUTCOME}",
                   lack_worst="0", lack_best=_integer("NOT is_error")),
    "fp": _outcome("fp", f"fp OR {_NO_OUTCOME}", "fp AND outcome_known",
                   lack_worst=_integer("NOT is_error"), lack_best="0"),
    "fn": _outcome("fn", f"fn OR {_NO_OUTCOME} OR {_CRASHED}", f"(fn AND outcome_known) OR {_CRASHED}",
                   lack_worst="1", lack_best=_integer("is_error"), crash="1"),
    "observed": QuantitySql(
        "behavior_count", total_name("observed"), "expected_count > 0", _OPEN,
        "observed_count", "observed_count + unknown_count", lack_best=_integer("NOT is_error"), unit=MOST_EXPECTED,
        unknown="unknown_count > 0 OR (is_open AND expected_count = 0)", crash="0",
        bit=scoring.BEHAVIORS, read_from=_BEHAVIORS,
    ),
    "expected": QuantitySql(
        "behavior_count", total_name("expected"), "expected_count > 0", _OPEN,
        "expected_count", "expected_count", lack_worst="1", lack_best="1", unit=MOST_EXPECTED, crash="1",
        bit=scoring.BEHAVIORS, read_from=_BEHAVIORS,
    ),
    "behavior_score": QuantitySql(
        "score_count", total_name("behavior_score"), "expected_count > 0", f"is_violated OR {_OPEN}",
        "score_observed", "score_observed + score_unknown", lack_best=_integer("NOT is_error"),
        unit=SCORE_DENOMINATOR, unknown=f"score_unknown > 0 OR {_NO_SCORE}", crash="0", bit=scoring.BEHAVIORS,
        read_from=_BEHAVIORS,
    ),
}  # fmt: skip
"""The quantities that are computed from judgments, as SQL over the columns that `scoring.py` adds."""

ALWAYS = ("passed", "error", "violated", "unjudged", "correct", "behavior_score")
"""The quantities that every check needs."""


def _unbounded(name: str, scale: int, ends: Ends, read_from: str) -> QuantitySql:
    """The sums of a column without bounds: trials without a value count at the end that the policy gives."""
    value = scaled_name(name)
    worst, best = (str(int((end or 0) * scale)) for end in (ends.worst, ends.best))
    is_known = ends.worst is not None and ends.best is not None
    # An error counts at the worse end even at best: it is known to be bad, not undecided.
    return QuantitySql(
        f"{name}_count",
        f"{name}_sum",
        f"{value} IS NOT NULL",
        "is_error OR is_open",
        f"CASE WHEN {value} IS NOT NULL THEN {value} WHEN is_error OR is_open THEN {worst} ELSE 0 END",
        (f"CASE WHEN {value} IS NOT NULL THEN {value} WHEN is_error THEN {worst} WHEN is_open THEN {best} ELSE 0 END"),
        worst,
        best,
        unknown=f"is_open AND {value} IS NULL",
        valueless=f"{value} IS NULL",
        beyond=f"{value} {'<' if ends.higher else '>'} {worst}" if is_known else "",
        read_from=((read_from,),),
    )


def _bounded(column: Column) -> QuantitySql:
    """The sums of a column from 0 to 1: a crashed trial counts 0, an undecided one as 0 at worst and 1 at best."""
    value, one = scaled_name(column.name), str(column.scale)
    return QuantitySql(
        f"{column.name}_count",
        total_name(column.name),
        known_name(column.name),
        "is_error OR is_open",
        f"coalesce({value}, 0)",
        f"coalesce({value}, if(is_open, {one}, 0))",
        lack_best=one,
        unknown=f"is_open AND NOT {known_name(column.name)}",
        read_from=((column.name,),),
    )


QUALITY, TOKENS = BY_NAME["quality_score"], BY_NAME["tokens_used"]
_BOTH = f"({known_name(QUALITY.name)} AND {scaled_name(TOKENS.name)} IS NOT NULL AND NOT is_error)"
_PAIR = (known_name(QUALITY.name), f"{scaled_name(TOKENS.name)} IS NOT NULL")
_BOTH_COLUMNS = ((QUALITY.name,), (TOKENS.name,))


def _quality_both() -> QuantitySql:
    """The quality of trials that have tokens too."""
    quality, one = scaled_name(QUALITY.name), str(QUALITY.scale)
    return QuantitySql(
        "both_count",
        total_name("quality_both"),
        _BOTH,
        "is_error OR is_open",
        f"if({_BOTH} OR is_open, coalesce({quality}, 0), 0)",
        f"if({_BOTH} OR is_open, coalesce({quality}, {one}), 0)",
        f"coalesce({quality}, 0)",
        f"coalesce({quality}, {one})",
        unknown=f"is_open AND NOT {_BOTH}",
        given_separately=_PAIR,
        read_from=_BOTH_COLUMNS,
    )


def _tokens_both(ends: Ends) -> QuantitySql:
    """The tokens of trials that have a quality too; the tokens of a crashed trial count although it has no quality."""
    tokens, worst = scaled_name(TOKENS.name), str(int(ends.worst or 0))
    counts = f"{_BOTH} OR is_error OR is_open"
    return QuantitySql(
        "both_count",
        total_name("tokens_both"),
        _BOTH,
        "is_error OR is_open",
        f"CASE WHEN {counts} THEN coalesce({tokens}, {worst}) ELSE 0 END",
        f"CASE WHEN {counts} THEN coalesce({tokens}, if(is_error, {worst}, 0)) ELSE 0 END",
        f"coalesce({tokens}, {worst})",
        f"coalesce({tokens}, 0)",
        unknown=f"is_open AND {tokens} IS NULL",
        valueless=f"{tokens} IS NULL",
        given_separately=_PAIR,
        beyond=f"{tokens} > {worst}" if ends.worst is not None else "",
        read_from=_BOTH_COLUMNS,
    )


def request_quantities(
    named: Collection[str], extras: Sequence[str], ends: Mapping[str, Ends]
) -> dict[str, QuantitySql]:
    """The quantities that a request names, and those that every check needs."""
    found = {name: quantity for name, quantity in COMPUTED.items() if name in named or name in ALWAYS}
    if "quality_both" in named:
        found["quality_both"] = _quality_both()
    if "tokens_both" in named:
        found["tokens_both"] = _tokens_both(ends.get(TOKENS.name, NO_ENDS))
    for column in MEASURED:
        if column.name in named:
            unbounded = _unbounded(column.name, column.scale, ends.get(column.name, NO_ENDS), column.name)
            found[column.name] = _bounded(column) if column.bounded else unbounded
    for i, name in enumerate(extras):
        found[f"{EXTRA}{name}"] = _unbounded(f"extra_{i}", EXTRA_SCALE, ends.get(f"{EXTRA}{name}", NO_ENDS), name)
    return found


# --- what a scenario adds to a sum -----------------------------------------------------------

Row = Mapping[str, Any]


class Contribution(Struct, frozen=True):
    """A scenario's mean of a quantity: its column `total`, divided by the columns in `divisors` and by `scale`.

    `count` is the column with the number of its trials that have the quantity. A scenario without any has no value.
    Profiles, records and the sums of products all take it from here, so that they cannot disagree about a denominator.
    """

    count: str
    total: str
    divisors: tuple[str, ...]
    scale: int

    def denominator(self, row: Row) -> int:
        """The number by which the total of a scenario is divided."""
        return int(prod(row[name] for name in self.divisors)) * self.scale

    def exact(self, row: Row) -> Fraction | None:
        """The mean in one scenario; None if it has no such trial."""
        # Spark has some whole numbers in doubles.
        return Fraction(int(row[self.total]), self.denominator(row)) if row[self.count] else None

    @property
    def sql(self) -> str:
        """SQL for the mean as a double, for scenarios that have such a trial."""
        # Divided by one product: a quotient of quotients would round twice.
        divisors = " * ".join([*self.divisors, f"{self.scale}e0"])
        return f"(CAST({self.total} AS DOUBLE) / ({divisors}))"


def contribution(quantities: Mapping[str, QuantitySql], quantity: str) -> Contribution:
    """How a scenario's value of a quantity is computed."""
    one = quantities[quantity]
    # A behavior score is a fraction in each trial already; the trials of a scenario share one denominator.
    divisors = (SCORE_DENOMINATOR,) if one.unit == SCORE_DENOMINATOR else ()
    return Contribution(one.count, one.total, (one.count, *divisors), sum_scale(quantity))


def tries(quantity: str) -> int:
    """The K of pass_at_K or pass_hat_K."""
    return int(quantity.rpartition("_")[2])


def pass_k_value(quantity: str, trials: int, passed: int) -> Fraction | None:
    """Unbiased pass@k = 1 - C(n-c, k) / C(n, k) or pass^k = C(c, k) / C(n, k), c of n trials passed; None if n < k."""
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
