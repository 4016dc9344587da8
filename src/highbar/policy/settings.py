"""Reads the policy's plain settings, weights and filters on scenarios (`where`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Literal

from msgspec import Struct, field

from highbar.catalogue import CATEGORIES, sliceable
from highbar.columns import COLUMN_NAMES, SLICEABLE, UNBOUNDED
from highbar.language.spelling import near_miss
from highbar.language.threshold import read_dollars, read_duration, read_positive, read_share
from highbar.model import Place, Weights, Where
from highbar.policy.cursor import Cursor
from highbar.policy.demands import Weighing, read_weighing

WEIGHT_KEYS = ("by_category", "by_capability", "by_metric", "description")
LIMITS = {column.name: column.limit.key for column in UNBOUNDED if column.limit}
"""For each column, the setting that says what a trial without a value counts as."""
_LOWEST_CONFIDENCE = Fraction(1, 2)
_FINEST = 10**20
"""The largest denominator of a pass_score: its product with the behaviors of a trial must fit into 128 bits."""


class Settings(Struct, frozen=True):
    """The top-level settings of a policy, apart from its rules."""

    description: str | None = None
    agent: str | None = None
    agent_version: str | None = None
    weighing: Weighing = Weighing()
    confidence: Fraction = Fraction(95, 100)
    population: Literal["scenarios", "suite"] = "scenarios"
    positive: str | None = None
    pass_score: Fraction = Fraction(1)
    latency_limit: Fraction = Fraction(5000)
    limits: Mapping[str, Fraction] = field(default_factory=dict)  # by column, only those in the policy
    allow_columns: frozenset[str] = frozenset()
    allow_categories: frozenset[str] = frozenset()
    slices: tuple[str, ...] = ()


def read_settings(top: Mapping[str, Cursor]) -> Settings:
    """The settings of a policy; missing or invalid ones keep their default."""
    columns, limits = _names(top.get("allow_columns")), _limits(top)
    read: dict[str, object] = {
        "description": _optional(top, "description", Cursor.text),
        "agent": _optional(top, "agent", _agent),
        "agent_version": _optional(top, "agent_version", lambda cursor: cursor.scalar("a version, such as 2.1.0")),
        "weighing": read_weighing(top),
        "confidence": _optional(top, "confidence", _confidence),
        "population": _optional(top, "population", lambda cursor: cursor.choice("scenarios", "suite")),
        "positive": _optional(top, "positive", _positive),
        "pass_score": _optional(top, "pass_score", _pass_score),
        "latency_limit": limits.get("latency_ms"),
        "limits": limits,
        "allow_columns": columns,
        "allow_categories": _names(top.get("allow_categories")),
        "slices": _slices(top.get("slices"), columns),
    }
    return Settings(**{key: value for key, value in read.items() if value is not None})  # type: ignore[arg-type]


def _agent(cursor: Cursor) -> str | None:
    """The name of the agent. How to run it is in the suite."""
    if cursor.node.kind == "mapping":
        cursor.refuse("found a mapping, wanted the name of the agent", "how an agent is run goes into the suite file")
        return None
    return cursor.text()


def _limits(top: Mapping[str, Cursor]) -> dict[str, Fraction]:
    """For each column that the policy has a limit for, what a trial without a value counts as."""
    read = {column: _limit(top, key) for column, key in LIMITS.items()}
    return {column: value for column, value in read.items() if value is not None}


def _limit(top: Mapping[str, Cursor], key: str) -> Fraction | None:
    if key not in top:
        return None
    if key == "latency_limit":
        return top[key].number(read_duration, "a time")
    if key == "cost_limit":
        return top[key].number(read_dollars, "an amount of US dollars")
    return top[key].number(read_positive, "a number above 0")


def _optional(top: Mapping[str, Cursor], key: str, read: Callable[[Cursor], object]) -> object:
    return read(top[key]) if key in top else None


def _confidence(cursor: Cursor) -> Fraction | None:
    value = cursor.number(read_share, "a share, such as 0.95")
    if value is not None and not _LOWEST_CONFIDENCE < value < 1:
        cursor.refuse(f"found {cursor.node.text}, wanted a share above 0.5 and below 1", "write 0.95 or 95%")
        return None
    return value


def _pass_score(cursor: Cursor) -> Fraction | None:
    value = cursor.number(read_share, "a share, such as 0.8")
    if value == 0:
        cursor.refuse("found 0, wanted a share above 0: every trial would pass", "write 0.8 or 80%")
        return None
    if value is not None and value.denominator > _FINEST:
        cursor.refuse(f"found {cursor.node.text}, wanted at most 20 decimal places", "write 0.8 or 80%")
        return None
    return value


def _positive(cursor: Cursor) -> str | None:
    return cursor.node.text.lower() if cursor.is_kind("boolean") else cursor.text()


def _names(cursor: Cursor | None) -> frozenset[str]:
    return frozenset(text for text, _ in cursor.texts()) if cursor else frozenset()


def _slices(cursor: Cursor | None, allowed: frozenset[str]) -> tuple[str, ...]:
    if cursor is None:
        return ()
    return tuple(text for text, item in cursor.texts() if check_column(item, text, allowed))


def check_column(cursor: Cursor, column: str, allowed: frozenset[str]) -> bool:
    """Whether `column` can select scenarios; if not, notes a problem at `cursor`."""
    if not sliceable(column):
        wanted = f"wanted {', '.join(sorted(SLICEABLE))}, tags.NAME, or a column of your own"
        hint = "name one of them: tags.locale" if column == "tags" else None
        cursor.refuse(f"scenarios cannot be chosen by '{column}', {wanted}", hint)
        return False
    name = column.partition(".")[0]
    missed = None if name in allowed or column in allowed else near_miss(name, COLUMN_NAMES)
    if missed:
        hint = f"did you mean '{missed}'? If not, add it to allow_columns"
        cursor.refuse(f"'{column}' is nearly the column '{missed}'", hint)
    return not missed


def check_category(cursor: Cursor, category: str, allowed: frozenset[str], at: Place | None = None) -> bool:
    """Whether `category` is no near miss of a usual category; if it is, notes a problem at `at` or `cursor`."""
    missed = None if category in allowed else near_miss(category, CATEGORIES)
    if missed:
        hint = f"did you mean '{missed}'? If not, add it to allow_categories"
        cursor.refuse(f"'{category}' is nearly the category '{missed}'", hint, at)
    return not missed


def read_where(cursor: Cursor | None, settings: Settings) -> Where:
    """`{column: value or values}` as a Where, sorted by column."""
    if cursor is None:
        return ()
    entries = cursor.entries(keep_description=True)
    if not entries and cursor.is_kind("mapping"):
        cursor.refuse("found no column", "leave it out to mean every scenario")
    return tuple(
        sorted(
            (column, values)
            for column, value in entries.items()
            if check_column(value, column, settings.allow_columns) and (values := _values(value, column, settings))
        )
    )


def _values(cursor: Cursor, column: str, settings: Settings) -> tuple[str, ...]:
    if cursor.is_kind("list"):
        found = cursor.texts()
        if not cursor.node.items:
            cursor.refuse("found no value", f"leave '{column}' out to mean every scenario")
    else:
        text = cursor.text()
        found = [] if text is None else [(text, cursor)]
    if column == "category":
        found = [(text, at) for text, at in found if check_category(at, text, settings.allow_categories)]
    return tuple(text for text, _ in found)


def read_weights(cursor: Cursor | None, settings: Settings) -> Weights:
    """The weights of categories, capabilities and metrics, each a number above 0."""
    if cursor is None:
        return Weights()
    # A number directly below `weights` is most likely that of a metric, as in `weights = {"accuracy": 0.4}`.
    numbers = (key.text for key, value in cursor.node.entries if value.kind == "number")
    fields = cursor.fields(WEIGHT_KEYS, lambda: dict.fromkeys(numbers, "put the weights of metrics under by_metric"))
    by_category = _weight_table(fields.get("by_category"))
    for category in by_category:
        at = fields["by_category"].key_place(category)
        check_category(fields["by_category"], category, settings.allow_categories, at)
    by_metric = _weight_table(fields.get("by_metric"), of_metrics=True)
    return Weights(by_category, _weight_table(fields.get("by_capability")), by_metric)


def _weight_table(cursor: Cursor | None, *, of_metrics: bool = False) -> dict[str, Fraction]:
    if cursor is None:
        return {}
    entries = cursor.metrics() if of_metrics else cursor.entries()
    read = {name: entry.number(read_positive, "a number above 0") for name, entry in entries.items()}
    if not read and cursor.is_kind("mapping"):
        cursor.refuse("found no weight")
    return {name: weight for name, weight in read.items() if weight is not None}
