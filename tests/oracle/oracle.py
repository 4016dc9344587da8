"""An independent reading of the specification: rows in, exact metrics out. Nothing here comes from the product.

Plain Python and fractions, written to be read beside the specification rather than to be fast. A row becomes the
values that its trial *has* (`trials.py`); a scenario's value is the mean over its trials that have it; a group sums
its scenarios. `judging.py` reads a policy and reaches the verdict.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.oracle.trials import Row, Settings, exact, score

Where = Mapping[str, Any]

FORMULAS = {
    "pass_rate": "passed_scenarios / total_scenarios",
    "accuracy": "correct_outputs / total_outputs",
    "precision": "true_positives / (true_positives + false_positives)",
    "recall": "true_positives / (true_positives + false_negatives)",
    "f1": "2 × true_positives / (2 × true_positives + false_positives + false_negatives)",
    "safety_rate": "adversarial_passed / adversarial_total",
    "behavior_coverage": "mean(behavior_score)",
    "behavior_coverage_pooled": "observed_behaviors / expected_behaviors",
    "latency_p50": "percentile(latency_ms, 50%)",
    "latency_p95": "percentile(latency_ms, 95%)",
    "latency_p99": "percentile(latency_ms, 99%)",
    "normalized_latency": "min(latency_p95 / latency_limit, 1)",
    "token_efficiency": "quality_score / tokens_used",
    "cost_per_pass": "cost_usd / passed_scenarios",
    "error_rate": "mean(error)",
    "violation_rate": "mean(violated)",
    "weighted_pass_rate": "weighted_mean(passed)",
    "weighted_behavior_coverage": "weighted_mean(behavior_score)",
    "weighted_score": "weighted_metrics()",
}
UNITS = dict.fromkeys(FORMULAS, "ratio") | {
    "latency_p50": "ms",
    "latency_p95": "ms",
    "latency_p99": "ms",
    "token_efficiency": "per token",
    "cost_per_pass": "USD",
}
LOWER_IS_BETTER = {
    "latency_p50",
    "latency_p95",
    "latency_p99",
    "normalized_latency",
    "cost_per_pass",
    "error_rate",
    "violation_rate",
}
REPEATED = re.compile(r"pass_(at|hat)_([1-9][0-9]*)")

SUMS = {
    "passed_scenarios": "passed",
    "correct_outputs": "correct",
    "true_positives": "true_positives",
    "false_positives": "false_positives",
    "false_negatives": "false_negatives",
    "adversarial_passed": "passed",
    "observed_behaviors": "observed_behaviors",
    "expected_behaviors": "expected_behaviors",
    "quality_score": "quality_beside_tokens",
    "tokens_used": "tokens_beside_quality",
    "cost_usd": "cost_usd",
}
COUNTS = {"total_scenarios": "passed", "total_outputs": "correct", "adversarial_total": "passed"}


class UndefinedError(Exception):
    """A value does not exist; the text is the kind of reason."""


# --- scenarios and groups ------------------------------------------------------------------------


@dataclass(frozen=True)
class Scenario:
    """All trials of one id, with the columns on which they agree."""

    id: str
    row: Row
    trials: tuple[Mapping[str, Any], ...]
    weight: Fraction

    def column(self, name: str) -> str | None:
        """The scenario's value of a column, `tags.name` included, as the text that slices and rules name it by."""
        value = self.row.get(name)
        if name.startswith("tags."):
            value = (self.row.get("tags") or {}).get(name.removeprefix("tags."))
        return None if value is None else str(value)

    @property
    def passed(self) -> bool:
        """Whether every trial passed."""
        return all(trial["passed"] for trial in self.trials)


def scenarios_of(rows: Sequence[Row], settings: Settings) -> list[Scenario]:
    """The rows by id, scored and weighed."""
    by_id: dict[str, list[Row]] = {}
    for row in rows:
        by_id.setdefault(row["id"], []).append(row)
    return [
        Scenario(name, own[0], tuple(score(row, settings) for row in own), weight_of(own[0], settings))
        for name, own in by_id.items()
    ]


def weight_of(row: Row, settings: Settings) -> Fraction:
    """The product of the category's weight, the capability's and the scenario's own; each 1 where it is not said."""
    own = exact(row["weight"]) if row.get("weight") is not None else Fraction(1)
    category = settings.by_category.get(row.get("category") or "", Fraction(1))
    return category * settings.by_capability.get(row.get("capability") or "", Fraction(1)) * own


@dataclass(frozen=True)
class Answer:
    """A metric's value, or None with the kind of reason; how many scenarios it rests on, how many lack the data."""

    value: Fraction | None
    why: str | None
    scenarios: int
    missing: int


class Group(Mapping[str, Any]):
    """Some scenarios; asked for a name, it gives that metric, measure or setting, or raises `UndefinedError`."""

    def __init__(self, scenarios: Iterable[Scenario], settings: Settings) -> None:
        self.scenarios = list(scenarios)
        self.settings = settings

    def __iter__(self) -> Iterator[str]:
        return iter(FORMULAS)

    def __len__(self) -> int:
        return len(FORMULAS)

    def where(self, where: Where | None) -> Group:
        """The scenarios whose columns have one of the wanted values."""
        wanted = {c: v if isinstance(v, (list, tuple)) else [v] for c, v in (where or {}).items()}
        return Group((s for s in self.scenarios if all(s.column(c) in v for c, v in wanted.items())), self.settings)

    # values of scenarios

    def means(self, key: str) -> dict[str, Fraction]:
        """For each scenario that has `key`, its mean over the trials that have it.

        An error on a row that asked for nothing counts as wrong, and as not covered, where this group has such data.
        """
        has_data = any(key in trial for s in self.scenarios for trial in s.trials)
        values: dict[str, list[Fraction]] = {}
        for s in self.scenarios:
            for trial in s.trials:
                if key in trial:
                    values.setdefault(s.id, []).append(trial[key])
                elif key in ("correct", "behavior_score") and trial["bare_error"] and has_data:
                    values.setdefault(s.id, []).append(Fraction(0))
        return {name: sum(have, Fraction(0)) / len(have) for name, have in values.items()}

    def mean(self, key: str) -> Fraction:
        """The mean over the scenarios that have `key`."""
        return divide(self.sum(key), Fraction(len(self.means(key))))

    def sum(self, key: str) -> Fraction:
        """The sum over the scenarios that have `key`; undefined where none has."""
        means = self.means(key)
        if not means:
            raise UndefinedError(f"no data: {key}")
        return sum(means.values(), Fraction(0))

    def weighted_mean(self, key: str) -> Fraction:
        """The mean with the scenarios' weights."""
        means = self.means(key)
        weights = {s.id: s.weight for s in self.scenarios if s.id in means}
        top = sum((value * weights[name] for name, value in means.items()), Fraction(0))
        return divide(top, sum(weights.values(), Fraction(0)))

    def percentile(self, key: str, share: Fraction) -> Fraction:
        """The ⌈share·n⌉-th smallest over all trials; undefined where an error stands there."""
        values = sorted(trial[key] for s in self.scenarios for trial in s.trials if key in trial)
        if not values:
            raise UndefinedError(f"no data: {key}")
        found: Fraction | float = values[max(math.ceil(share * len(values)), 1) - 1]
        if isinstance(found, float):
            raise UndefinedError("an error stands at the rank")
        return found

    def weighted_metrics(self) -> Fraction:
        """Σ metric × weight / Σ weight, as in the guide."""
        weights = self.settings.by_metric
        total = sum((self[name] * weight for name, weight in weights.items()), Fraction(0))
        return divide(total, sum(weights.values(), Fraction(0)))

    def repeated(self, kind: str, k: int) -> Fraction:
        """pass@k or pass^k, unbiased: over all ways to choose k of a scenario's trials."""
        if not self.scenarios:
            raise UndefinedError("no data: trials")
        if any(len(s.trials) < k for s in self.scenarios):
            raise UndefinedError("fewer trials")
        total = Fraction(0)
        for s in self.scenarios:
            n, c = len(s.trials), sum(1 for trial in s.trials if trial["passed"])
            ways = math.comb(n, k)
            total += 1 - Fraction(math.comb(n - c, k), ways) if kind == "at" else Fraction(math.comb(c, k), ways)
        return total / len(self.scenarios)

    # names

    def scope(self, name: str) -> Group:
        """The scenarios that a measure is about: the adversarial ones, or all."""
        return self.where({"category": "adversarial"}) if name.startswith("adversarial_") else self

    def formula(self, name: str) -> str | None:
        """The formula of a metric: the policy's own, else the catalogue's."""
        own = self.settings.metrics.get(name)
        return own["formula"] if own else FORMULAS.get(name)

    def __getitem__(self, name: str) -> Any:
        if name == "latency_limit":
            return self.settings.latency_limit
        repeated = REPEATED.fullmatch(name)
        if repeated:
            return self.repeated(repeated[1], int(repeated[2]))
        formula = self.formula(name)
        if formula is not None:
            return self.where(self.settings.metrics.get(name, {}).get("where")).evaluate(formula)
        if name in COUNTS:
            return Fraction(len(self.scope(name).means(COUNTS[name])))
        if name in SUMS:
            return self.scope(name).sum(SUMS[name])
        raise KeyError(name)

    def evaluate(self, formula: str) -> Any:
        """A formula or a condition, as the guide writes them."""
        names: dict[str, Any] = {
            "mean": self.mean,
            "sum": self.sum,
            "percentile": self.percentile,
            "min": min,
            "max": max,
            "abs": abs,
        }
        names |= {"weighted_mean": self.weighted_mean, "weighted_metrics": self.weighted_metrics, "Fraction": Fraction}
        try:
            return eval(translated(formula), {"__builtins__": {}, **names}, self)  # noqa: S307 - text that the tests wrote
        except ZeroDivisionError:
            raise UndefinedError("zero denominator") from None

    def answer(self, name: str) -> Answer:
        """A metric's value with its counts."""
        has, lacks = self.support(name)
        try:
            return Answer(self[name], None, has, lacks)
        except UndefinedError as undefined:
            return Answer(None, str(undefined), has, lacks)

    def support(self, name: str) -> tuple[int, int]:
        """How many scenarios a name rests on, and how many it lacks: of several terms, the fewest and the most."""
        repeated = REPEATED.fullmatch(name)
        if repeated:
            enough = sum(1 for s in self.scenarios if len(s.trials) >= int(repeated[2]))
            return enough, len(self.scenarios) - enough
        if name in COUNTS or name in SUMS:
            return self.scope(name).having(COUNTS.get(name) or SUMS[name])
        formula = self.formula(name) or ""
        group = self.where(self.settings.metrics.get(name, {}).get("where"))
        terms = [group.support(word) for word in names_in(formula, self.settings) if word != "latency_limit"]
        terms += [group.having(column) for column in columns_in(formula)]
        return min((has for has, _ in terms), default=0), max((lacks for _, lacks in terms), default=0)

    def having(self, key: str) -> tuple[int, int]:
        """How many scenarios have a value of `key`, and how many have none."""
        have = len(self.means(key))
        return have, len(self.scenarios) - have


def divide(top: Fraction, bottom: Fraction) -> Fraction:
    """A ratio; anything over 0 is undefined."""
    if bottom == 0:
        raise UndefinedError("zero denominator")
    return top / bottom


# --- formulas ------------------------------------------------------------------------------------

WORDS = {"×": "*", "÷": "/", "≥": ">=", "≤": "<=", "≠": "!=", "AND": "and", "OR": "or", "NOT": "not", "=": "=="}
COLUMN_CALL = re.compile(r"\b(weighted_mean|mean|sum|percentile)\(\s*([a-z_]+)")
TOKEN = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<percent>\s*%)?|[A-Za-z_]\w*|>=|<=|!=|==|[^\w\s]")


def translated(formula: str) -> str:
    """The guide's notation as Python over fractions."""
    formula = "percentile(latency_ms, 95%)" if formula == "95th percentile of response times" else formula
    formula = COLUMN_CALL.sub(lambda call: f"{call[1]}('{call[2]}'", formula)

    def python(token: re.Match[str]) -> str:
        if token["number"]:
            return f"(Fraction('{token['number']}') / {100 if token['percent'] else 1})"
        return WORDS.get(token[0], token[0])

    parts = re.split(r"('[a-z_]+')", formula)
    return " ".join("".join(part if part.startswith("'") else TOKEN.sub(python, part) for part in parts).split())


def names_in(formula: str, settings: Settings) -> list[str]:
    """The metrics and measures that a formula names."""
    if formula == "weighted_metrics()":
        return list(settings.by_metric)
    words = re.findall(r"\b[A-Za-z_]\w*\b(?!\s*\()", re.sub(r"'[a-z_]+'", "", translated(formula)))
    return [word for word in words if word not in WORDS.values()]


def columns_in(formula: str) -> list[str]:
    """The columns of trials that a formula takes a mean, a sum or a percentile of."""
    return re.findall(r"'([a-z_]+)'", translated(formula))
