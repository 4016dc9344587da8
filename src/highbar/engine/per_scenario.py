"""Scored trials → the `scenarios` relation: one row per scenario, undecided trials at their worst or at their best.

A measure that one trial of a scenario has, or that the suite demands of it, all of its trials have. So a scenario's sum
is that of the trials that have it, and what those come to that lack it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from highbar.engine import scoring
from highbar.engine.layout import Layout, Measure, World

COMMON_DENOMINATOR = 5_342_931_457_063_200
"""The least common multiple of 1 to 40: trials of one scenario that expect different numbers of behaviors meet here."""
FINEST = 10**15
"""Where even that is not a multiple (more than 40 expected behaviors, and not the same number in each trial)."""
_UNDECIDED = "open OR NOT (p OR f) OR NOT v_known OR k_open > 0"
"""Whether a trial by itself is undecided for any measure."""


def relation(layout: Layout, reason: Sequence[str], world: World, of: str = "trials") -> str:
    """SQL for the scenarios `of` some trials; `reason` has the columns of these that say why one failed."""
    agreed = ["category", *(f"by_{i}" for i in range(len(layout.slices)))]
    agreed += [f"w_{i}" for i in range(len(layout.wheres))]
    agreed += ["wi"] * (len(layout.weights) > 1) + ["own"] * layout.own_weight + ["cluster"] * layout.clustered
    rows = _Rows(layout, world)
    columns = ["id", *reason, *(f"max({name}) AS {name}" if layout.repeated else name for name in agreed)]
    columns += [f"{sql} AS {name}" for name, sql in dict(rows.columns()).items()]
    return f"SELECT {', '.join(columns)} FROM {of}{' GROUP BY id' * layout.repeated}"


def unsettled(layout: Layout) -> str:
    """SQL for the trials of all scenarios in which anything is undecided: all others are the same at their best."""
    if layout.repeated:
        return "SELECT * FROM trials WHERE id IN (SELECT id FROM scenarios WHERE is_open)"
    return f"SELECT * FROM trials WHERE {_Rows(layout, 'worst').open()}"


def ends_of(measure: Measure) -> list[str]:
    """Columns that count the trials without a value, and those whose value is beyond the end that stands for it."""
    return [f"none_{measure.total}"] * bool(measure.valueless) + [f"above_{measure.total}"] * bool(measure.above)


def undecided(layout: Layout, column: str) -> str:
    """Whether a trial is undecided for a column; over trials beside what `facts` says of their scenarios."""
    measure = layout.measures[column]
    if not layout.may_differ and column in ("passed", "violated"):
        return measure.unknown
    if column == "passed":
        return f"{measure.unknown} OR (p AND (lacking & scenario_bits) > 0)"
    if column == "violated":
        return (
            f"{measure.unknown} OR (unlisted AND (scenario_bits & {scoring.MUST_NOTS}) > 0)"
            f" OR (unsaid AND (scenario_bits & {scoring.VIOLATIONS}) > 0)"
        )
    if measure.trials == "n":
        return measure.unknown
    return f"{measure.unknown} OR (has_{measure.trials} AND {_lacks(measure)} AND NOT e)"


def beside_facts(layout: Layout, columns: Sequence[str], of: str = "trials") -> str:
    """SQL for some trials beside what `undecided` needs to know of their scenarios."""
    rows = _Rows(layout, "worst")
    found = {"scenario_bits": rows.bits()} if layout.may_differ else {}
    found |= {f"has_{m.trials}": rows.has(m) for m in (layout.measures[name] for name in columns) if m.trials != "n"}
    if not found:
        return of
    listed = ", ".join(f"{sql} AS {name}" for name, sql in found.items())
    if not layout.repeated:
        return f"(SELECT *, {listed} FROM {of}) AS beside"
    return f"{of} JOIN (SELECT id, {listed} FROM {of} GROUP BY id) AS facts USING (id)"


def _lacks(measure: Measure) -> str:
    return f"NOT ({measure.given} OR {measure.alone})"


@dataclass(frozen=True, slots=True)
class _Rows:
    """The columns of a scenario: of all its trials together, or of its one trial, which needs no grouping."""

    layout: Layout
    world: World

    def columns(self) -> Iterator[tuple[str, str]]:
        """Names and SQL."""
        yield from (("n", "count(*)" if self.layout.repeated else "1"), ("n_bad", self._count("bad")))
        yield from (("errors", self._count("e")), ("violated", self._count("v")), ("kf", self._count("f")))
        yield "blanks", self._count("blank")
        yield "s_den", self._denominator()
        for name, measure in self.layout.measures.items():
            yield measure.trials, self._trials(measure)
            yield measure.total, self._total(name, measure)
            if measure.valueless:
                yield f"none_{measure.total}", self._without_value(measure)
            if measure.above:
                yield f"above_{measure.total}", self._count(measure.above)
            if self.world == "best":
                yield f"u_{measure.total}", self._undecided(name, measure)
        yield "is_open", self.open()
        yield "lone", self._lone()

    def has(self, measure: Measure) -> str:
        """Whether the scenario has the measure: a trial is given it, or the suite demands it."""
        demanded = f" OR ({self._suite_bits()} & {measure.bit}) > 0" if self._may_be_demanded(measure) else ""
        given = " AND ".join(map(self._any, measure.apart or (measure.given,)))
        return f"({given}{demanded})"

    def bits(self) -> str:
        """What the scenario is judged by in any of its trials, or must be by its suite."""
        given = "bit_or(given)" if self.layout.repeated else "given"
        return f"({given} | {self._suite_bits()})" if self.layout.demands else given

    def _any(self, condition: str) -> str:
        return f"bool_or({condition})" if self.layout.repeated else f"({condition})"

    def _count(self, condition: str) -> str:
        return f"count_if({condition})" if self.layout.repeated else f"CAST({condition} AS INTEGER)"

    def _sum(self, amount: str) -> str:
        return f"sum({amount})" if self.layout.repeated else amount

    def _suite_bits(self) -> str:
        return "max(suite_bits)" if self.layout.repeated else "suite_bits"

    def _may_be_demanded(self, measure: Measure) -> bool:
        return self.layout.demands and bool(measure.bit)

    def _may_lack(self, measure: Measure) -> bool:
        """Whether a trial can lack what its scenario has."""
        return measure.trials != "n" and (self.layout.repeated or self._may_be_demanded(measure))

    def _trials(self, measure: Measure) -> str:
        if measure.trials == "n":
            return "count(*)" if self.layout.repeated else "1"
        if not self.layout.repeated:
            return f"CAST({self.has(measure)} OR {measure.alone} AS INTEGER)"
        return f"CASE WHEN {self.has(measure)} THEN count(*) ELSE {self._count(measure.alone)} END"

    def _total(self, name: str, measure: Measure) -> str:
        if name == "passed":
            return self._passed() if self.world == "worst" else f"({self._trials(measure)} - {self._count('f')})"
        amount = self._score() if name == "behavior_score" else self._sum(measure.amount(self.world))
        if name == "behavior_score" and self.world == "best":
            amount += f" + {self._denominator()} * {self._count('open AND m = 0 AND NOT v')}"
        if name == "violated" and self.world == "worst" and self.layout.may_differ:
            return f"{amount} + {self._unsaid()}"
        if measure.unit == "max(m)":
            return self._pooled(name, measure)
        lack = measure.lack(self.world)
        if lack == "0" or not self._may_lack(measure):
            return amount
        unit = self._denominator() if measure.unit == "s_den" else "1"
        lacking = f"{unit} * {self._sum(f'if({_lacks(measure)}, {lack}, 0)')}"
        return f"{amount} + CASE WHEN {self.has(measure)} THEN {lacking} ELSE 0 END"

    def _pooled(self, name: str, measure: Measure) -> str:
        """Behaviors counted one by one: a trial that expects none lacks as many as another of its scenario expects.

        Where only the suite expects some, it lacks at least one. Without either, an open trial counts as one, and so
        does an error that nothing was expected of.
        """
        amount, lack = self._sum(measure.amount(self.world)), measure.lack(self.world)
        alone = self._count("open AND m = 0") if self.world == "best" else "0"
        if name == "expected":
            alone = self._count("(open OR bare) AND m = 0")
        if not self._may_lack(measure):
            return f"{amount} + {alone}"
        most = "greatest(max(m), 1)" if self.layout.repeated else "1"
        lacking = f"{most} * {self._sum(f'if(m = 0, {lack}, 0)')}"
        return f"{amount} + CASE WHEN {self.has(measure)} THEN {lacking} ELSE {alone} END"

    def _passed(self) -> str:
        """Trials that surely passed: one that lacks what another trial was judged by did not."""
        if not self.layout.may_differ:
            return self._count("p")
        if not self.layout.repeated:
            return "CAST(p AND (lacking & suite_bits) = 0 AS INTEGER)"
        mask = self.layout.bits
        codes = [code for code in range(mask + 1) if code & mask == code]
        counted = (
            f"CASE WHEN ({self.bits()} & {code}) = 0 THEN count_if(p AND (lacking & {mask}) = {code}) ELSE 0 END"
            for code in codes
        )
        return f"({' + '.join(counted)})"

    def _unsaid(self) -> str:
        """Trials that do not say what was violated, though another trial, or the suite, has it."""
        return (
            f"(CASE WHEN ({self.bits()} & {scoring.VIOLATIONS}) > 0 THEN {self._count('unsaid')}"
            f" WHEN ({self.bits()} & {scoring.MUST_NOTS}) > 0 THEN {self._count('unlisted')} ELSE 0 END)"
        )

    def _without_value(self, measure: Measure) -> str:
        """How many trials count here and have no value."""
        alone = self._count(f"({measure.alone}) AND {measure.valueless}")
        if not self.layout.repeated:
            return alone
        return f"CASE WHEN {self.has(measure)} THEN {self._count(measure.valueless)} ELSE {alone} END"

    def _undecided(self, name: str, measure: Measure) -> str:
        if name == "passed":
            return f"({self._trials(measure)} - {self._count('f')} - {self._passed()})"
        unknown = self._count(measure.unknown)
        if name == "violated" and self.layout.may_differ:
            return f"{unknown} + {self._unsaid()}"
        if not self._may_lack(measure):
            return unknown
        lacking = self._count(f"{_lacks(measure)} AND NOT e")
        return f"{unknown} + CASE WHEN {self.has(measure)} THEN {lacking} ELSE 0 END"

    def open(self) -> str:
        """Whether anything at all is undecided here."""
        found = [self._any(_UNDECIDED)]
        if self.layout.may_differ:
            found.append(f"{self._passed()} < {self._count('p')}")
            found.append(f"{self._unsaid()} > 0")
        may_lack = {measure.trials: measure for measure in self.layout.measures.values() if self._may_lack(measure)}
        found += [f"({self.has(one)} AND {self._any(f'{_lacks(one)} AND NOT e')})" for one in may_lack.values()]
        return " OR ".join(found)

    def _lone(self) -> str:
        """A bit for each measure that the scenario has only by what errors, violations and open trials come to."""
        bits = {
            self.layout.lone_bit(name): f"NOT {self.has(measure)} AND {self._any(measure.alone)}"
            for name, measure in self.layout.measures.items()
            if measure.trials != "n"
        }
        return " + ".join(f"CAST({sql} AS BIGINT) * {bit}" for bit, sql in bits.items()) or "0"

    def _denominator(self) -> str:
        """The denominator of a scenario's behavior_score, summed over its trials."""
        if not self.layout.repeated:
            return "s_m"
        return (
            f"CASE WHEN {_SAME} THEN coalesce(min(s_m) {_LEVEL}, 1)"
            f" WHEN {_DIVIDES} THEN {COMMON_DENOMINATOR} ELSE {FINEST} END"
        )

    def _score(self) -> str:
        """Its numerator, over the trials that expect behaviors."""
        seen = "s_k" if self.world == "worst" else "(s_k + s_open)"
        if not self.layout.repeated:
            return seen
        return (
            f"CASE WHEN {_SAME} THEN sum({seen}) WHEN {_DIVIDES} THEN sum({seen} * ({COMMON_DENOMINATOR} // s_m))"
            f" ELSE sum(CAST(round({seen} * {FINEST} / s_m) AS BIGINT)) END"
        )


_LEVEL = "FILTER (NOT v AND m > 0)"
_SAME = f"coalesce(min(s_m) {_LEVEL} = max(s_m) {_LEVEL}, true)"
_DIVIDES = f"bool_and({COMMON_DENOMINATOR} % s_m = 0)"
