"""Scored trials → the `scenarios` relation: one row per scenario, undecided trials at their worst or at their best.

If one trial of a scenario has a quantity, or the suite demands it, all trials of the scenario have it. So a scenario's
sum adds what the trials with a value have, and what the trials without one count as.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from highbar.engine import scoring
from highbar.engine.layout import Layout
from highbar.engine.quantities import EVERY_TRIAL, MOST_EXPECTED, SCORE_DENOMINATOR, QuantitySql, World

COMMON_DENOMINATOR = 5_342_931_457_063_200
"""The least common multiple of 1 to 40: the denominator if trials expect different numbers of behaviors."""
FINEST = 10**15
"""The denominator if even that is no multiple: over 40 expected behaviors, and not the same number in each trial."""
_UNDECIDED = (
    "is_open OR NOT (is_passed OR is_failed) OR NOT violation_known OR unknown_count > 0"
    " OR (has_answer AND NOT answer_known)"
)
"""SQL: whether a trial is undecided for any quantity, by its own row alone."""


def scenarios_sql(layout: Layout, reason: str, world: World, of: str = "trials") -> str:
    """SQL for the scenarios `of` some trials; `reason` names the column of trials that says why one failed, if any."""
    agreed = ["category", *(f"by_{i}" for i in range(len(layout.slices)))]
    agreed += [layout.flag(where) for where in layout.wheres]
    agreed += layout.optional_columns()
    rows = _ScenarioColumns(layout, world)
    # `max` is any value: trials that disagree in such a column are refused before a sum is used.
    columns = ["id", reason] if reason else ["id"]
    columns += [f"max({name}) AS {name}" if layout.repeated else name for name in agreed]
    columns += [f"{sql} AS {name}" for name, sql in dict(rows.columns()).items()]
    return f"SELECT {', '.join(columns)} FROM {of}{' GROUP BY id' if layout.repeated else ''}"


def trials_of_undecided(layout: Layout) -> str:
    """SQL for the trials of all scenarios in which anything is undecided: all others are the same at their best."""
    if layout.repeated:
        return "SELECT * FROM trials WHERE id IN (SELECT id FROM scenarios WHERE has_undecided)"
    return f"SELECT * FROM trials WHERE {_ScenarioColumns(layout, 'worst').has_undecided()}"


def ends_of(quantity: QuantitySql) -> list[str]:
    """Columns that count the trials without a value, and those whose value is beyond what such a trial counts as."""
    counted = ((f"valueless_{quantity.total}", quantity.valueless), (f"beyond_{quantity.total}", quantity.beyond))
    return [name for name, condition in counted if condition]


def is_undecided(layout: Layout, column: str) -> str:
    """SQL: whether a trial is undecided for a column; over trials that are joined with the facts of their scenarios."""
    quantity = layout.quantities[column]
    if not layout.may_differ and column in ("passed", "violated"):
        return quantity.unknown
    if column == "passed":
        return f"{quantity.unknown} OR (is_passed AND (lacking_bits & scenario_bits) > 0)"
    if column == "violated":
        return (
            f"{quantity.unknown} OR (must_nots_unlisted AND (scenario_bits & {scoring.MUST_NOTS}) > 0)"
            f" OR (violations_unrecorded AND (scenario_bits & {scoring.VIOLATIONS}) > 0)"
        )
    if quantity.of_every_trial:
        return quantity.unknown
    return f"{quantity.unknown} OR (has_{quantity.count} AND {_lacks(quantity)} AND NOT is_error)"


def beside_facts(layout: Layout, columns: Sequence[str], of: str = "trials") -> str:
    """SQL for some trials, joined with the facts about their scenarios that `is_undecided` and percentiles need."""
    rows = _ScenarioColumns(layout, "worst")
    found = {"scenario_bits": rows.bits()} if layout.may_differ else {}
    quantities = [layout.quantities[name] for name in columns]
    found |= {f"has_{one.count}": rows.has(one) for one in quantities if not one.of_every_trial}
    if not found:
        return of
    listed = ", ".join(f"{sql} AS {name}" for name, sql in found.items())
    if not layout.repeated:
        return f"(SELECT *, {listed} FROM {of}) AS beside"
    return f"{of} JOIN (SELECT id, {listed} FROM {of} GROUP BY id) AS facts USING (id)"


def _lacks(quantity: QuantitySql) -> str:
    return f"NOT ({quantity.given} OR {quantity.counts_anyway})"


class _ScenarioColumns(Struct, frozen=True):
    """The columns of a scenario: aggregates over its trials, or the values of its only trial, without grouping."""

    layout: Layout
    world: World

    def columns(self) -> Iterator[tuple[str, str]]:
        """Yield names and SQL; a count that several quantities share comes several times, with the same SQL."""
        yield from ((EVERY_TRIAL, self._every_trial()), ("bad_trials", self._count("bad")))
        yield from (("crashed_trials", self._count("is_error")), ("violating_trials", self._count("is_violated")))
        yield from (("failed_trials", self._count("is_failed")), ("blank_trials", self._count("is_blank")))
        yield SCORE_DENOMINATOR, self._denominator()
        for name, quantity in self.layout.quantities.items():
            yield quantity.count, self._trials(quantity)
            yield quantity.total, self._total(name, quantity)
            if quantity.valueless:
                yield f"valueless_{quantity.total}", self._valueless_trials(quantity)
            if quantity.beyond:
                yield f"beyond_{quantity.total}", self._count(quantity.beyond)
            if self.world == "best":
                yield f"undecided_{quantity.total}", self._undecided_trials(name, quantity)
        yield "has_undecided", self.has_undecided()
        yield "lone", self._lone()

    def has(self, quantity: QuantitySql) -> str:
        """Whether the scenario has the quantity: a trial is given it, or the suite demands it."""
        # A suite's demand counts even if no trial of the scenario answers it: else leaving an answer out would help.
        demanded = f" OR ({self._suite_bits()} & {quantity.bit}) > 0" if self._may_be_demanded(quantity) else ""
        given = " AND ".join(map(self._any, quantity.given_separately or (quantity.given,)))
        return f"({given}{demanded})"

    def bits(self) -> str:
        """SQL for the bits of what any trial of the scenario is judged by, or must be according to the suite."""
        given = "bit_or(given_bits)" if self.layout.repeated else "given_bits"
        return f"({given} | {self._suite_bits()})" if self.layout.demands else given

    def _every_trial(self) -> str:
        return "count(*)" if self.layout.repeated else "1"

    def _any(self, condition: str) -> str:
        return f"bool_or({condition})" if self.layout.repeated else f"({condition})"

    def _count(self, condition: str) -> str:
        return f"count_if({condition})" if self.layout.repeated else f"CAST({condition} AS INTEGER)"

    def _sum(self, amount: str) -> str:
        return f"sum({amount})" if self.layout.repeated else amount

    def _suite_bits(self) -> str:
        return "max(suite_bits)" if self.layout.repeated else "suite_bits"

    def _may_be_demanded(self, quantity: QuantitySql) -> bool:
        return self.layout.demands and bool(quantity.bit)

    def _may_lack(self, quantity: QuantitySql) -> bool:
        """Whether a trial can lack what its scenario has."""
        return not quantity.of_every_trial and (self.layout.repeated or self._may_be_demanded(quantity))

    def _trials(self, quantity: QuantitySql) -> str:
        if quantity.of_every_trial:
            return self._every_trial()
        if not self.layout.repeated:
            return f"CAST({self.has(quantity)} OR {self._counts_anyway(quantity)} AS INTEGER)"
        anyway = f"{self._count(quantity.counts_anyway)} + {self._crashes(quantity)}"
        return f"CASE WHEN {self.has(quantity)} THEN count(*) ELSE {anyway} END"

    def _crashes(self, quantity: QuantitySql) -> str:
        """How many errors count although the scenario is not given the quantity: none if its asks are known."""
        if not (quantity.crash and "error" in self.layout.columns):
            return "0"
        errors = self._count(f"is_error AND NOT ({quantity.given} OR {quantity.counts_anyway})")
        return f"CASE WHEN {self._any('asks_known')} THEN 0 ELSE {errors} END"

    def _counts_anyway(self, quantity: QuantitySql) -> str:
        """Whether the scenario has trials that count although it is not given the quantity."""
        return f"({self._any(quantity.counts_anyway)} OR {self._crashes(quantity)} > 0)"

    def _total(self, name: str, quantity: QuantitySql) -> str:
        if name == "passed":
            at_best = f"({self._every_trial()} - {self._count('is_failed')})"
            return self._passed_trials() if self.world == "worst" else at_best
        amount = self._score() if name == "behavior_score" else self._sum(quantity.amount(self.world))
        if name == "behavior_score" and self.world == "best":
            # An open trial without expectations may have met them all, so at best it adds a whole score.
            amount += f" + {self._denominator()} * {self._count('is_open AND expected_count = 0 AND NOT is_violated')}"
        # Silence about violations is no good news in a scenario whose other trials were checked for them.
        if name == "violated" and self.world == "worst" and self.layout.may_differ:
            return f"{amount} + {self._violations_unrecorded()}"
        if quantity.unit == MOST_EXPECTED:
            return self._behaviors_total(name, quantity)
        crashed = f" + {quantity.crash} * {self._crashes(quantity)}" if quantity.crash not in ("", "0") else ""
        # What trials lack is summed separately: only the scenario as a whole shows whether they lack anything.
        lack = quantity.lack(self.world)
        if lack == "0" or not self._may_lack(quantity):
            return f"{amount}{crashed and f' + CASE WHEN {self.has(quantity)} THEN 0 ELSE {crashed} END'}"
        unit = self._denominator() if quantity.unit == SCORE_DENOMINATOR else "1"
        lacking = f"{unit} * {self._sum(f'if({_lacks(quantity)}, {lack}, 0)')}"
        return f"{amount} + CASE WHEN {self.has(quantity)} THEN {lacking} ELSE 0{crashed} END"

    def _behaviors_total(self, name: str, quantity: QuantitySql) -> str:
        """Behaviors counted one by one: a trial that expects none lacks as many as any trial of its scenario expects.

        If only the suite expects some, it lacks one. If nothing expects any, an open trial counts as one behavior, and
        so does a crashed trial without expectations.
        """
        amount, lack = self._sum(quantity.amount(self.world)), quantity.lack(self.world)
        not_given = self._count("is_open AND expected_count = 0") if self.world == "best" else "0"
        if name == "expected":
            open_ = self._count(f"({quantity.counts_anyway}) AND expected_count = 0")
            not_given = f"({open_} + {self._crashes(quantity)})"
        if not self._may_lack(quantity):
            return f"{amount} + {not_given}"
        most = f"greatest({MOST_EXPECTED}, 1)" if self.layout.repeated else "1"
        lacking = f"{most} * {self._sum(f'if(expected_count = 0, {lack}, 0)')}"
        return f"{amount} + CASE WHEN {self.has(quantity)} THEN {lacking} ELSE {not_given} END"

    def _passed_trials(self) -> str:
        """Trials that passed for certain: not those that lack what another trial of the scenario was judged by."""
        if not self.layout.may_differ:
            return self._count("is_passed")
        if not self.layout.repeated:
            return "CAST(is_passed AND (lacking_bits & suite_bits) = 0 AS INTEGER)"
        # A scenario's bits are known only after the grouping, those that a trial lacks before it. So passed trials are
        # counted by what they lack, and counts whose bits the scenario has are dropped: no second pass over the trials.
        mask = self.layout.bits
        codes = [code for code in range(mask + 1) if code & mask == code]
        counted = (
            f"CASE WHEN ({self.bits()} & {code}) = 0 THEN count_if(is_passed AND (lacking_bits & {mask}) = {code})"
            " ELSE 0 END"
            for code in codes
        )
        return f"({' + '.join(counted)})"

    def _violations_unrecorded(self) -> str:
        """Trials that do not say what was violated, although another trial does, or the suite demands it."""
        return (
            f"(CASE WHEN ({self.bits()} & {scoring.VIOLATIONS}) > 0 THEN {self._count('violations_unrecorded')}"
            f" WHEN ({self.bits()} & {scoring.MUST_NOTS}) > 0 THEN {self._count('must_nots_unlisted')} ELSE 0 END)"
        )

    def _valueless_trials(self, quantity: QuantitySql) -> str:
        """How many trials count in this scenario although they have no value."""
        not_given = self._count(f"({quantity.counts_anyway}) AND {quantity.valueless}")
        if not self.layout.repeated:
            return not_given
        return f"CASE WHEN {self.has(quantity)} THEN {self._count(quantity.valueless)} ELSE {not_given} END"

    def _undecided_trials(self, name: str, quantity: QuantitySql) -> str:
        if name == "passed":
            return f"({self._trials(quantity)} - {self._count('is_failed')} - {self._passed_trials()})"
        unknown = self._count(quantity.unknown)
        if name == "violated" and self.layout.may_differ:
            return f"{unknown} + {self._violations_unrecorded()}"
        if not self._may_lack(quantity):
            return unknown
        lacking = self._count(f"{_lacks(quantity)} AND NOT is_error")
        return f"{unknown} + CASE WHEN {self.has(quantity)} THEN {lacking} ELSE 0 END"

    def has_undecided(self) -> str:
        """Whether anything is undecided in the scenario."""
        found = [self._any(_UNDECIDED)]
        if self.layout.may_differ:
            found.append(f"{self._passed_trials()} < {self._count('is_passed')}")
            found.append(f"{self._violations_unrecorded()} > 0")
        # Quantities with the same count have the same trials: one condition serves all of them.
        may_lack = {one.count: one for one in self.layout.quantities.values() if self._may_lack(one)}
        found += [f"({self.has(one)} AND {self._any(f'{_lacks(one)} AND NOT is_error')})" for one in may_lack.values()]
        return " OR ".join(found)

    def _lone(self) -> str:
        """A bit for each quantity that the scenario has only by errors, violations and open trials.

        Whether those count depends on the other scenarios, so they are summed here and may be ignored later.
        """
        # As bits of one number: a column for each quantity would be a key for each in the profile.
        bits = {
            self.layout.lone_bits[name]: f"NOT {self.has(quantity)} AND {self._counts_anyway(quantity)}"
            for name, quantity in self.layout.quantities.items()
            if not quantity.of_every_trial
        }
        return " + ".join(f"CAST({sql} AS BIGINT) * {bit}" for bit, sql in bits.items()) or "0"

    def _denominator(self) -> str:
        """The denominator of a scenario's behavior_score, summed over its trials."""
        if not self.layout.repeated:
            return "score_expected"
        # A sum of fractions needs a common denominator. Usually the trials of a scenario expect the same behaviors.
        return (
            f"CASE WHEN {_SAME} THEN coalesce(min(score_expected) {_LEVEL}, 1)"
            f" WHEN {_IS_COMMON} THEN {COMMON_DENOMINATOR} ELSE {FINEST} END"
        )

    def _score(self) -> str:
        """The numerator of that behavior_score, over the trials that expect behaviors."""
        seen = "score_observed" if self.world == "worst" else "(score_observed + score_unknown)"
        if not self.layout.repeated:
            return seen
        return (
            f"CASE WHEN {_SAME} THEN sum({seen})"
            f" WHEN {_IS_COMMON} THEN sum({seen} * ({COMMON_DENOMINATOR} // score_expected))"
            f" ELSE sum(CAST(round({seen} * {FINEST} / score_expected) AS BIGINT)) END"
        )


# A violation scores 0 of 1: its denominator does not matter.
_LEVEL = "FILTER (NOT is_violated AND expected_count > 0)"
_SAME = f"coalesce(min(score_expected) {_LEVEL} = max(score_expected) {_LEVEL}, true)"
_IS_COMMON = f"bool_and({COMMON_DENOMINATOR} % score_expected = 0)"
