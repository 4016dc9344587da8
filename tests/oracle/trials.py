"""One row as the specification reads it: what it says, and what it leaves open. Nothing here comes from the product.

Whether a trial passed, was right or violated something can be known, or *undecided*: then it has a worst and a best
value (`Ends`). What the other trials of the scenario add is in `scenarios.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

Row = Mapping[str, Any]

LIMITS = {"latency_ms": "latency_limit", "tokens_used": "tokens_limit", "cost_usd": "cost_limit"}


def once(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of an object that never changes: computed once for the same arguments."""

    @functools.wraps(method)
    def found(self: Any, *arguments: Any) -> Any:
        known = self.__dict__.setdefault(f"_{method.__name__}", {})
        if arguments not in known:
            known[arguments] = method(self, *arguments)
        return known[arguments]

    return found


class Ends(NamedTuple):
    """A value with undecided trials at their worst, and at their best."""

    worst: Fraction
    best: Fraction

    @property
    def undecided(self) -> bool:
        """Whether it is not known."""
        return self.worst != self.best


@functools.cache
def known(value: object) -> Ends:
    """A value that is known: both ends are it."""
    number = Fraction(value)  # type: ignore[arg-type]
    return Ends(number, number)


RATE_UNKNOWN = Ends(Fraction(0), Fraction(1))
HARM_UNKNOWN = Ends(Fraction(1), Fraction(0))
CELLS = ("true_positives", "false_positives", "false_negatives")
CELLS_UNKNOWN = dict(zip(CELLS, (RATE_UNKNOWN, HARM_UNKNOWN, HARM_UNKNOWN), strict=True))
POSITIVE_UNKNOWN = dict(zip(CELLS, (RATE_UNKNOWN, known(0), HARM_UNKNOWN), strict=True))
NEGATIVE_UNKNOWN = dict(zip(CELLS, (known(0), HARM_UNKNOWN, known(0)), strict=True))


def exact(number: Any) -> Fraction:
    """The number as it is written: 0.1 is one tenth."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


@dataclass(frozen=True)
class Column:
    """A number column of the caller's own: the ends of its range, if a metric declares one, and its good direction."""

    range: tuple[Fraction, Fraction] | None = None
    lower: bool = False

    @property
    def ends(self) -> Ends | None:
        """The worse end and the better one."""
        if self.range is None:
            return None
        return Ends(*(reversed(self.range) if self.lower else self.range))


@dataclass(frozen=True)
class Settings:
    """What of a policy changes how a trial is scored or a metric computed."""

    positive: Any = None
    pass_score: Fraction = Fraction(1)
    latency_limit: Fraction = Fraction(5000)
    limits: Mapping[str, Fraction] = field(default_factory=dict)
    by_category: Mapping[str, Fraction] = field(default_factory=dict)
    by_capability: Mapping[str, Fraction] = field(default_factory=dict)
    by_metric: Mapping[str, Fraction] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    own_columns: Mapping[str, Column] = field(default_factory=dict)
    output_column: bool = False
    labels: frozenset[str] = frozenset()  # the texts that some row expects; only with `positive`


# --- the three forms of behaviors and must_not -----------------------------------------------------


def marks(entries: Any, flag: str) -> Iterator[tuple[str, bool | None]]:
    """(name, mark) in any of the three forms; the mark is None where nothing is said."""
    if isinstance(entries, Mapping):
        yield from entries.items()
        return
    for entry in entries or ():
        yield (entry, None) if isinstance(entry, str) else (entry["name"], entry.get(flag))


def observed_names(behaviors: Any) -> set[str]:
    """What was seen: a plain list names it, the other forms mark it."""
    plain = {entry for entry in behaviors or () if isinstance(entry, str)} if not isinstance(behaviors, Mapping) else ()
    return {name for name, seen in marks(behaviors, "observed") if seen or name in plain}


def unobserved_names(behaviors: Any) -> set[str]:
    """What the marks say was not seen."""
    return {name for name, seen in marks(behaviors, "observed") if seen is False}


def unmarked_names(behaviors: Any) -> set[str]:
    """Names with a null in place of a mark; a plain list has none."""
    plain = isinstance(behaviors, list) and any(isinstance(entry, str) for entry in behaviors)
    return set() if plain else {name for name, seen in marks(behaviors, "observed") if seen is None}


def forbidden_names(must_not: Any) -> set[str]:
    """What must not happen."""
    return {name for name, _ in marks(must_not, "violated")}


def marked_names(must_not: Any, mark: bool) -> set[str]:
    """What `must_not` itself says has happened, or has not; a plain list says neither."""
    return {name for name, happened in marks(must_not, "violated") if happened is mark}


# --- what one row says -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Trial:
    """One row, read by itself."""

    row: Row
    settings: Settings

    def says(self, *columns: str) -> bool:
        """Whether the row has a value in one of these columns; null is absent."""
        return any(self.row.get(column) is not None for column in columns)

    @cached_property
    def error(self) -> bool:
        """The agent crashed or timed out; an empty text is none."""
        return bool(self.row.get("error"))

    @cached_property
    def unjudged(self) -> bool:
        """The row says that nobody judged it."""
        return bool(self.row.get("unjudged"))

    @cached_property
    def expected_behaviors(self) -> set[str]:
        """What should be seen."""
        return set(self.row.get("expected_behaviors") or ())

    @cached_property
    def must_not(self) -> set[str]:
        """What must not happen."""
        return forbidden_names(self.row.get("must_not"))

    @cached_property
    def violated(self) -> bool:
        """Anything in `violations`, a marked must-not, or a behavior that is both observed and forbidden."""
        happened = marked_names(self.row.get("must_not"), mark=True)
        return bool(self.row.get("violations") or happened or observed_names(self.row.get("behaviors")) & self.must_not)

    @cached_property
    def must_not_known(self) -> bool:
        """Whether the row says what became of all that must not happen.

        `violations` says it, and so do marks on all of them. So does `behaviors`, unless it leaves one of them open by
        a null, or nobody judged the row: then what it does not name is open too.
        """
        if self.says("violations") or self.must_nots_marked:
            return True
        behaviors = self.row.get("behaviors")
        return behaviors is not None and not self.unjudged and not unmarked_names(behaviors) & self.must_not

    @cached_property
    def must_nots_marked(self) -> bool:
        """Whether `must_not` is in a form that says what happened, of each name."""
        must_not = self.row.get("must_not")
        marked = marked_names(must_not, mark=True) | marked_names(must_not, mark=False)
        return bool(self.must_not) and self.must_not <= marked

    @cached_property
    def blank(self) -> bool:
        """Nothing but descriptions, demands that nobody looked at, latency, tokens, cost and texts."""
        return self.silent and not self.error and not self.violated

    @cached_property
    def silent(self) -> bool:
        """Whether no column says how it went, but for an error."""
        judgments = ("passed", "correct", "outcome", "expected", "behaviors", "violations", "quality_score")
        own = self.says(*self.settings.own_columns)
        return not (self.says(*judgments) or self.must_nots_marked or own)

    @cached_property
    def shows_what_is_asked(self) -> bool:
        """Whether the row shows what its scenario asks for: a run of ours wrote it, or it was answered and judged."""
        return self.says("highbar_run") or not (self.error or self.unjudged or self.silent)

    @cached_property
    def answered(self) -> bool:
        """Whether the agent said something; where no row has an `output`, that is not the question."""
        return not self.settings.output_column or bool((self.row.get("output") or "").strip())

    # measures that the row's own columns give; None where they do not

    @cached_property
    def behaviors_observed(self) -> Ends | None:
        """How many expected behaviors were observed. An absent `behaviors` says nothing; an error observed nothing."""
        expected = self.expected_behaviors
        if not expected:
            return None
        if self.error:
            return known(0)
        if not self.says("behaviors"):
            return Ends(Fraction(0), Fraction(len(expected)))
        seen = observed_names(self.row["behaviors"]) & expected
        not_seen = unobserved_names(self.row["behaviors"]) & expected
        open_ = expected - seen - not_seen if self.unjudged else ()
        return Ends(Fraction(len(seen)), Fraction(len(seen) + len(open_)))

    @cached_property
    def behavior_score(self) -> Ends | None:
        """Distinct expected behaviors observed ÷ distinct expected behaviors; 0 if violated."""
        observed = self.behaviors_observed
        if self.violated:
            return known(0)
        return observed and Ends(*(count / len(self.expected_behaviors) for count in observed))

    @cached_property
    def correct(self) -> Ends | None:
        """Whether the answer was right. An error is a wrong answer; no prediction is one too, unless unjudged."""
        checked = bool(self.row.get("answer_checked"))
        if not checked and not self.says("correct", "outcome", "expected"):
            return None
        if self.error:
            return known(0)
        if self.says("correct", "outcome"):
            return known(all(self.statements))
        if checked:
            return RATE_UNKNOWN
        if self.unjudged and not self.says("predicted"):
            return RATE_UNKNOWN
        return known(same_label(self.row.get("predicted"), self.row["expected"]))

    @cached_property
    def statements(self) -> list[bool]:
        """Whether the answer was right, by each of `correct`, `outcome` and two labels that says it."""
        outcome, agree = self.row.get("outcome"), self.labels_agree
        said = [self.row.get("correct"), None if outcome is None else outcome in ("tp", "tn"), agree]
        return [bool(one) for one in said if one is not None]

    @cached_property
    def labels_agree(self) -> bool | None:
        """Whether the labels are equal; None if the row does not have two. Free text is no label."""
        two = self.row.get("expected"), self.row.get("predicted")
        texts = self.settings.labels | {self.settings.positive}
        if all(isinstance(one, bool) for one in two) or (
            self.settings.positive is not None and all(isinstance(one, str) and one in texts for one in two)
        ):
            return two[0] == two[1]
        return None

    @cached_property
    def contradicts(self) -> bool:
        """Whether `correct`, `outcome` and the labels do not agree. A wrong answer may well have the right label."""
        outcome, correct = self.row.get("outcome"), self.row.get("correct")
        if outcome is None:
            return correct is True and self.labels_agree is False
        return len(set(self.statements)) > 1 or self.other_outcome(outcome)

    def other_outcome(self, outcome: str) -> bool:
        """Whether both labels are positive and the outcome is negative, or the other way around."""
        positive = self.settings.positive if self.settings.positive is not None else True
        wanted = same_label(self.row.get("expected"), positive)
        return self.labels_agree is True and outcome == ("tn" if wanted else "tp")

    @cached_property
    def cells(self) -> Mapping[str, Ends] | None:
        """tp, fp and fn. An error finds no positive, and takes back no false alarm."""
        outcome, expected = self.row.get("outcome"), self.row.get("expected")
        if outcome == "tp" and (not all(self.statements) or self.other_outcome(outcome)):
            outcome = "fn"
        elif outcome == "tn" and not all(self.statements):
            outcome = "fp"
        if outcome is None:
            if not has_label(expected, self.settings):
                return None
            positive = self.settings.positive if self.settings.positive is not None else True
            wanted, found = same_label(expected, positive), same_label(self.row.get("predicted"), positive)
            if self.unjudged and not self.error and not self.says("predicted"):
                return POSITIVE_UNKNOWN if wanted else NEGATIVE_UNKNOWN
            outcome = ("tp" if found else "fn") if wanted else ("fp" if found else "tn")
        outcome = "fn" if outcome == "tp" and self.error else outcome
        return {cell: known(outcome == short) for cell, short in zip(CELLS, ("tp", "fp", "fn"), strict=True)}

    @once
    def number(self, column: str) -> Fraction | None:
        """The value of a number column, as recorded."""
        return exact(self.row[column]) if self.says(column) else None


def same_label(one: Any, other: Any) -> bool:
    """Equal, and of one type."""
    return type(one) is type(other) and one == other


def has_label(expected: Any, settings: Settings) -> bool:
    """Whether an expected label can be positive or not: a boolean, or any with the policy's `positive`."""
    return expected is not None and (settings.positive is not None or isinstance(expected, bool))
