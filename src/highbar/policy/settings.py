"""Reads the policy's plain settings, weights and filters on scenarios (`where`), and the demands beside a threshold.

Demands are its level, and how much evidence there must be. A policy may have some of them for all rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import TypeVar, get_args

from highbar.catalogue import metrics, near_category, sliceable
from highbar.columns import COLUMN_NAMES, SLICEABLE, UNBOUNDED
from highbar.language.spelling import near_miss
from highbar.language.threshold import (
    ThresholdError,
    read_dollars,
    read_duration,
    read_margin,
    read_positive,
    read_share,
)
from highbar.model import Better, Demand, EvidenceKind, Level, Metric, Name, Place, Policy, SpendingKind, Weights, Where
from highbar.policy.cursor import Cursor, read_description
from highbar.policy.limits import MOST_FAILURES, MOST_HORIZON, MOST_TRIALS

T = TypeVar("T")
AS_RECORDED = "as_recorded"
"""The value of `trials` by which a scenario has as many as are there."""
WEIGHT_KEYS = ("by_category", "by_capability", "by_metric", "description")
LIMITS = {column.name: column.limit.key for column in UNBOUNDED if column.limit}
"""For each column, the setting that says what a trial without a value counts as."""
_LOWEST_CONFIDENCE = Fraction(1, 2)
_FINEST = 10**20
"""The largest denominator of a pass_score: its product with the behaviors of a trial must fit into 128 bits."""
LEVELS: tuple[Level, ...] = get_args(Level)
EVIDENCE: tuple[EvidenceKind, ...] = get_args(EvidenceKind)
SPENDING: tuple[SpendingKind, ...] = get_args(SpendingKind)
SEQUENTIAL_KEYS = ("spending", "horizon")
"""The keys that only a sequential rule may have."""
LARGEST_SEED = 2**63 - 1
"""As of an option of the run: what the journal and readers of JSON hold exactly."""


def read_settings(top: Mapping[str, Cursor]) -> tuple[Policy, Demand]:
    """The settings of a policy, as one without rules and metrics, and the evidence that every rule demands by default.

    Missing or invalid ones keep their default.
    """
    columns, limits = _names(top.get("allow_columns")), _limits(top)
    read: dict[str, object] = {
        "description": _optional(top, "description", Cursor.text),
        "agent": _optional(top, "agent", _agent),
        "agent_version": _optional(top, "agent_version", lambda cursor: cursor.scalar("a version, such as 2.1.0")),
    }
    demand = read_evidence(top)
    read |= {
        "evidence": demand.evidence,
        "confidence": _optional(top, "confidence", _confidence),
        "seed": _optional(top, "seed", lambda cursor: cursor.whole_number(0, LARGEST_SEED)),
        "population": _optional(top, "population", lambda cursor: cursor.choice("scenarios", "suite")),
        "answers": _optional(top, "answers", lambda cursor: cursor.choice("vary", "fixed")),
        "positive": _optional(top, "positive", _positive),
        "pass_score": _optional(top, "pass_score", _pass_score),
        "trials": _optional(top, "trials", _trials),
        "latency_limit": limits.get("latency_ms"),
        "limits": limits,
        "allow_columns": columns,
        "allow_categories": _names(top.get("allow_categories")),
        "slices": _slices(top.get("slices"), columns),
    }
    if read["answers"] == "fixed" and read["population"] != "suite":
        top["answers"].refuse(
            "policy.no-effect", "answers: fixed has no effect without population: suite", "write both, or neither"
        )
    known = {key: value for key, value in read.items() if value is not None}
    return Policy((), {}, **known), demand  # type: ignore[arg-type]


def _agent(cursor: Cursor) -> str | None:
    """The name of the agent. How to run it is in the suite."""
    if cursor.node.kind == "mapping":
        cursor.refuse(
            "policy.wrong-type",
            "found a mapping, wanted the name of the agent",
            "how an agent is run goes into the suite file",
        )
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
        cursor.refuse(
            "policy.out-of-range",
            f"found {cursor.node.text}, wanted a share above 0.5 and below 1",
            "write 0.95 or 95%",
        )
        return None
    return value


def _pass_score(cursor: Cursor) -> Fraction | None:
    value = cursor.number(read_share, "a share, such as 0.8")
    if value == 0:
        cursor.refuse(
            "policy.out-of-range", "found 0, wanted a share above 0: every trial would pass", "write 0.8 or 80%"
        )
        return None
    if value is not None and value.denominator > _FINEST:
        cursor.refuse(
            "policy.out-of-range", f"found {cursor.node.text}, wanted at most 20 decimal places", "write 0.8 or 80%"
        )
        return None
    return value


def _trials(cursor: Cursor) -> int | str | None:
    """How many trials each scenario was to have, or that nothing says it."""
    if cursor.is_kind("text") and cursor.node.text == AS_RECORDED:
        return AS_RECORDED
    return cursor.whole_number(1, MOST_TRIALS, f"write {AS_RECORDED} if nothing says how many there were to be")


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
        cursor.refuse("select.column", f"scenarios cannot be chosen by '{column}', {wanted}", hint)
        return False
    name = column.partition(".")[0]
    missed = None if name in allowed or column in allowed else near_miss(name, COLUMN_NAMES)
    if missed:
        hint = f"did you mean '{missed}'? If not, add it to allow_columns"
        cursor.refuse("policy.misspelled", f"'{column}' is nearly the column '{missed}'", hint)
    return not missed


def check_category(cursor: Cursor, category: str, allowed: frozenset[str], at: Place | None = None) -> bool:
    """Whether `category` is no near miss of a usual category; if it is, notes a problem at `at` or `cursor`."""
    missed = None if category in allowed else near_category(category)
    if missed:
        hint = f"did you mean '{missed}'? If not, add it to allow_categories"
        cursor.refuse("policy.misspelled", f"'{category}' is nearly the category '{missed}'", hint, at)
    return not missed


def read_where(cursor: Cursor | None, settings: Policy) -> Where:
    """`{column: value or values}` as a Where, sorted by column."""
    if cursor is None:
        return ()
    entries = cursor.entries(keep_description=True)
    if not entries and cursor.is_kind("mapping"):
        cursor.refuse("policy.empty-value", "found no column", "leave it out to mean every scenario")
    return tuple(
        sorted(
            (column, values)
            for column, value in entries.items()
            if check_column(value, column, settings.allow_columns) and (values := _values(value, column, settings))
        )
    )


def _values(cursor: Cursor, column: str, settings: Policy) -> tuple[str, ...]:
    if cursor.is_kind("list"):
        found = cursor.texts()
        if not cursor.node.items:
            cursor.refuse("policy.empty-value", "found no value", f"leave '{column}' out to mean every scenario")
    else:
        text = cursor.text()
        found = [] if text is None else [(text, cursor)]
    if column == "category":
        found = [(text, at) for text, at in found if check_category(at, text, settings.allow_categories)]
    return tuple(text for text, _ in found)


def read_weights(cursor: Cursor | None, settings: Policy) -> Weights:
    """The weights of categories, capabilities and metrics, each a number above 0."""
    if cursor is None:
        return Weights()
    # A number directly below `weights` is most likely that of a metric, as in `weights = {"accuracy": 0.4}`.
    numbers = (key.text for key, value in cursor.node.entries if value.kind == "number")
    fields = cursor.fields(WEIGHT_KEYS, lambda: dict.fromkeys(numbers, "put the weights of metrics under by_metric"))
    read_description(fields)
    by_category = _weight_table(fields.get("by_category"))
    for key, _ in fields["by_category"].node.entries if "by_category" in fields else ():
        check_category(fields["by_category"], key.text, settings.allow_categories, key.place(cursor.file))
    by_metric = _weight_table(fields.get("by_metric"), of_metrics=True)
    return Weights(by_category, _weight_table(fields.get("by_capability")), by_metric)


def _weight_table(cursor: Cursor | None, *, of_metrics: bool = False) -> dict[str, Fraction]:
    if cursor is None:
        return {}
    entries = cursor.metrics() if of_metrics else cursor.entries()
    read = {name: entry.number(read_positive, "a number above 0") for name, entry in entries.items()}
    if not read and cursor.is_kind("mapping"):
        cursor.refuse("policy.empty-value", "found no weight")
    return {name: weight for name, weight in read.items() if weight is not None}


def read_evidence(fields: Mapping[str, Cursor], outer: Demand | None = None) -> Demand:
    """The demand with the kind of evidence in these keys; absent ones come from `outer`, that of the whole policy.

    A key without effect on a rule is a problem. Those of the policy (`outer` is None) are checked after its rules,
    which tell whether they have an effect.
    """
    base = outer or Demand()
    word = fields["evidence"].choice(*EVIDENCE) if "evidence" in fields else None
    is_unknown = "evidence" in fields and word is None
    # What has an effect only with some kind of evidence is not refused beside one that cannot be read.
    evidence = "confident" if is_unknown else next((kind for kind in EVIDENCE if kind == word), base.evidence)
    if outer is not None and evidence != "sequential" and not is_unknown:
        for key in SEQUENTIAL_KEYS:
            if key in fields:
                refuse_without_effect(fields[key], key)
        return Demand(evidence)
    spread = fields["spending"].choice(*SPENDING) if "spending" in fields else None
    spending = next((kind for kind in SPENDING if kind == spread), base.spending)
    horizon = fields["horizon"].whole_number(1, MOST_HORIZON) if "horizon" in fields else base.horizon
    return Demand(evidence, spending=spending, horizon=horizon)


def refuse_without_effect(cursor: Cursor, key: str) -> None:
    """Note a key that only a sequential rule may have."""
    cursor.refuse(
        "policy.no-effect", f"{key} has an effect only with sequential", f"add `evidence: sequential`, or remove {key}"
    )


def read_level(fields: Mapping[str, Cursor]) -> Level:
    """The level of a rule; blocking if it is absent, or after noting that it is unknown."""
    word = fields["level"].choice(*LEVELS) if "level" in fields else None
    return "warning" if word == "warning" else "blocking"


def attempt_for(cursor: Cursor, metric: Metric | None, read: Callable[[Metric], T]) -> T | None:
    """What `read` makes of a text about a metric. If the metric is not known, the text must suit some metric."""
    if metric is not None:
        return cursor.attempt(lambda: read(metric))
    *others, last = (
        *metrics().values(),
        *(Metric("it", "", Name("it"), "number", better) for better in get_args(Better)),
    )
    for one in others:
        with suppress(ThresholdError):
            read(one)
            return None
    cursor.attempt(lambda: read(last))
    return None


def read_threshold_margin(cursor: Cursor, metric: Metric | None) -> Fraction | None:
    """How much worse than its threshold a metric may be, in its unit."""
    text = cursor.scalar("a margin")
    margin = None if text is None else attempt_for(cursor, metric, lambda known: read_margin(text, known))
    if margin and margin.relative:
        cursor.refuse(
            "policy.wrong-type", "a threshold's margin cannot be of the baseline", "give it in the metric's unit"
        )
        return None
    return margin.value if margin else None


def read_tolerate(cursor: Cursor) -> Fraction | None:
    """The failure rate that a threshold of 100 % must exclude."""
    value = cursor.number(read_share, "a share, such as 5%")
    if value is not None and not 0 < value < 1:
        cursor.refuse(
            "policy.out-of-range", f"found {cursor.node.text}, wanted a share above 0 and below 1", "write 5% or 0.05"
        )
        return None
    return value


def read_failures(cursor: Cursor, evidence: str | None) -> int | None:
    """An acceptance number. With `evidence: estimate` it has no effect, so it is refused there."""
    value = cursor.whole_number(0, MOST_FAILURES, "demand a rate below 100% instead")
    if value is not None and evidence == "estimate":
        cursor.refuse(
            "policy.no-effect",
            "failures has no effect by the estimate",
            "add `evidence: confident`, or remove failures",
        )
        return None
    return value
