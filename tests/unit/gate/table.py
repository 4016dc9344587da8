"""Evidence in a table: metrics as they were measured, for rules to look at."""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct, field
from msgspec.structs import replace

from highbar.gate.evidence import Evidence
from highbar.language import formula
from highbar.model import Metric, Name, Value
from highbar.model.comparison import Difference as Change
from highbar.model.recall import Recalled
from highbar.statistics.bounds import Sums, share_bounds

ALPHA = 0.05


class Table(Struct, frozen=True):
    """Values by name and scenarios, the sums of those that are shares, and differences by their two sides in words."""

    values: dict
    shares: dict = field(default_factory=dict)
    differences: dict = field(default_factory=dict)
    spans: dict = field(default_factory=dict)
    unordered: frozenset = frozenset()
    failures: int | None = None
    unjudged: bool = False

    def value(self, name, where=()):
        return self.values[name, where]

    def sums(self, name, where=()):
        return self.shares.get((name, where))

    def failing(self, _name, _where=()):
        return self.failures

    def span(self, left, right):
        return self.spans[formula.unparse(left), formula.unparse(right)]

    def is_monotonic(self, name, where=()):
        return (name, where) not in self.unordered

    def is_unjudged(self, _rule):
        """Whether nothing has a value only because trials were not judged."""
        return self.unjudged

    def difference(self, left, right, better="higher"):
        return replace(self.differences[formula.unparse(left), formula.unparse(right)], better=better)

    def lookup(self, where=()):
        def found(leaf):
            value = self.values[leaf.name, where]
            return formula.Undefined(value.reason) if value.value is None else value.value

        return found


class Span(Struct, frozen=True):
    """The least and the most that something comes to."""

    low: Fraction | None
    high: Fraction | None


class Ids(Struct, frozen=True):
    """What a pattern found."""

    scenarios: int
    failed: int = 0
    examples: tuple = ()
    undecided: int = 0
    undecided_examples: tuple = ()


class Difference(Struct, frozen=True):
    """How results and suite differ."""

    missing: int = 0
    missing_ids: tuple = ()
    extra: int = 0
    extra_ids: tuple = ()
    different: tuple = ()
    excused_ids: tuple = ()
    unlooked: tuple = ()
    unlooked_more: int = 0
    unjudged_ids: tuple = ()
    of_part: bool = False
    not_run: int = 0


class Then(Struct, frozen=True):
    """A baseline: a metric as it was and as it is over the pairs, with the bounds of the difference."""

    base: Value
    head: Value
    low: float | None = None
    high: float | None = None
    pairs: int = 20
    missing: int = 0
    lost: int = 0
    reason: str | None = None
    unordered: tuple = ()
    missing_ids: frozenset = frozenset()
    broken: frozenset = frozenset()
    passed_in_base: tuple = ()
    problem: str | None = None
    ends: tuple = ()
    best: None = None
    runs_in_base: int = 1
    pooled: Recalled = Recalled()

    def difference(self, _metric, _where=()):
        known = self.base.value is not None and self.head.value is not None
        change = self.head.value - self.base.value if known else None
        return Change(
            self.base, self.head, change, self.low, self.high, self.pairs, self.missing, self.lost, self.reason
        )

    def bounds(self, _metric, _where, _share):
        return self.ends

    def base_value(self, _metric, _where=()):
        return self.base

    def is_monotonic(self, metric, where=()):
        return (metric, where) not in self.unordered


def value(number, *, scenarios=20, missing=0, unit="ratio", better="higher", reason=None, low=None, high=None):
    """A metric's value."""
    exact = None if number is None else Fraction(number)
    return Value(exact, scenarios, missing, unit, better, reason, low=low, high=high)


def share(passed, total, *, better="higher", alpha=ALPHA):
    """A share of scenarios with its interval, and the sums behind it."""
    sums = Sums.of([(1, 1)] * passed + [(0, 1)] * (total - passed))
    low, high = share_bounds(sums, alpha)
    return value(Fraction(passed, total), scenarios=total, better=better, low=low, high=high), sums


def metric(name, unit="ratio"):
    """A metric of that name."""
    return Metric(name, "x", Name("x"), unit, "higher")


def evidence(values=None, *, patterns=None, suite=None, shares=None, differences=None):
    """All that a rule may look at. A key is a name, or a name and what `where` lets through."""
    keyed = {key if isinstance(key, tuple) else (key, ()): of for key, of in (values or {}).items()}
    shared = {key if isinstance(key, tuple) else (key, ()): of for key, of in (shares or {}).items()}
    metrics = {name: metric(name, of.unit) for (name, _), of in keyed.items()}
    return Evidence(Table(keyed, shared, differences or {}), metrics, patterns or {}, suite, ALPHA)
