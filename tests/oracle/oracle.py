"""An independent reading of the specification: rows in, exact metrics out. Nothing here comes from the product.

Plain Python and fractions, written to be read beside the specification rather than to be fast. A row says some things
and leaves others open (`trials.py`); what one trial of a scenario has, all have (`scenarios.py`); a group adds up its
scenarios, once with undecided trials at their worst and once at their best. `judging.py` reads a policy and reaches
the verdict.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

from tests.oracle.formulas import FORMULAS, calls_in, columns_in, names_in, translated
from tests.oracle.scenarios import Scenario
from tests.oracle.trials import CELLS, RATE_UNKNOWN, Column, Ends, Settings, Trial, known, once

Where = Mapping[str, Any]
End = Literal["worst", "best"]

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
PAIR = {"quality_beside_tokens": "quality_score", "tokens_beside_quality": "tokens_used"}
COUNTS = {"total_scenarios": "passed", "total_outputs": "correct", "adversarial_total": "passed"}


def lower_is_better(name: str, settings: Settings) -> bool:
    """The direction of a metric: its own, or that of the catalogue."""
    own = settings.metrics.get(name, {})
    return bool(own.get("better", "lower" if name in LOWER_IS_BETTER else "higher") == "lower")


class UndefinedError(Exception):
    """A value does not exist; the text is the kind of reason."""


class NotJudgedError(UndefinedError):
    """A value does not exist, and only because trials say `unjudged`: nothing else lacks it."""


# --- groups of scenarios -------------------------------------------------------------------------

CRASHED = "an error without the value"
UNKNOWN = "an undecided trial without the value"
Part = Ends | str
"""What one trial adds to a measure: its value at both ends, or one of the two kinds of a number that is not there."""

RATES = {"passed", "error", "violated", "correct", "behavior_score", "observed_behaviors", "expected_behaviors"}
RATES |= {"true_positives", "false_positives", "false_negatives"}


@dataclass(frozen=True)
class Answer:
    """A metric's value at its worst, or None with the kind of reason; and what it rests on.

    `best` is None where it is undefined, and where no trial is undecided.
    """

    value: Fraction | None
    why: str | None
    scenarios: int
    missing: int
    undecided: int = 0
    best: Fraction | None = None


class Group(Mapping[str, Any]):
    """Some scenarios, with undecided trials at one end.

    Asked for a name, it gives that metric, measure or setting, or raises `UndefinedError`.
    """

    def __init__(
        self,
        scenarios: Iterable[Scenario],
        settings: Settings,
        end: End = "worst",
        turned: frozenset[str] = frozenset(),
    ) -> None:
        self.scenarios = list(scenarios)
        self.settings = settings
        self.end = end
        self.turned = turned  # measures that are at the other end

    def end_of(self, key: str) -> End:
        """The end at which undecided trials count in a measure."""
        if key not in self.turned:
            return self.end
        return "best" if self.end == "worst" else "worst"

    def __iter__(self) -> Iterator[str]:
        return iter(FORMULAS)

    def __len__(self) -> int:
        return len(FORMULAS)

    def where(self, where: Where | None) -> Group:
        """The scenarios whose columns have one of the wanted values."""
        if not where:
            return self
        wanted = tuple((c, tuple(v) if isinstance(v, (list, tuple)) else (v,)) for c, v in where.items())
        return self._chosen(wanted)

    @once
    def _chosen(self, wanted: tuple[tuple[str, tuple[Any, ...]], ...]) -> Group:
        chosen = (s for s in self.scenarios if all(s.column(c) in v for c, v in wanted))
        return Group(chosen, self.settings, self.end, self.turned)

    @cached_property
    def at_best(self) -> Group:
        """The same scenarios with undecided trials at their best."""
        return Group(self.scenarios, self.settings, "best")

    # what the trials add to a measure

    @once
    def parts(self, key: str) -> dict[str, list[Part]]:
        """For each scenario that has part in a measure, what those of its trials add that have.

        Nothing takes part if no scenario here is given the measure by its columns or by the suite's demands:
        what errors, violations and blank trials would add gives it to no group.
        """
        one = self.rate_part if key in RATES else self.number_part
        if not any(self.gives(s, key) for s in self.scenarios):
            return {}
        found = {s.id: [part for trial in s.trials if (part := one(s, trial, key)) is not None] for s in self.scenarios}
        return {name: parts for name, parts in found.items() if parts}

    def gives(self, scenario: Scenario, key: str) -> bool:
        """Whether a scenario is given a measure; quality and tokens, divided by each other, only together."""
        if key in RATES:
            return scenario.gives(key)
        if key in PAIR:
            return all(scenario.has_number(column) for column in PAIR.values())
        return scenario.has_number(key)

    def rate_part(self, scenario: Scenario, trial: Trial, key: str) -> Part | None:
        """What a trial adds to a rate or a count."""
        return scenario.measure(trial, key)

    def number_part(self, scenario: Scenario, trial: Trial, key: str) -> Part | None:
        """What a trial adds to a number: its scenario records one, or it crashed, or nobody judged it."""
        column = PAIR.get(key, key)
        if not (self.gives(scenario, key) or trial.error or trial.blank or trial.unjudged):
            return None
        recorded = trial.number(column)
        if column == "quality_score":
            return known(0) if trial.error else RATE_UNKNOWN if recorded is None else known(recorded)
        if recorded is not None:
            return known(recorded)
        return CRASHED if trial.error else UNKNOWN

    # values of scenarios

    def means(self, key: str) -> dict[str, Fraction]:
        """For each scenario that has part in a measure, its mean over the trials that have, at this end."""
        parts = self.parts(key)
        if not parts:
            raise self.nothing(key)
        bound = self.bound_for(key, [part for of_one in parts.values() for part in of_one])
        values = {name: [self.at_end(key, part, bound) for part in of_one] for name, of_one in parts.items()}
        return {name: sum(have, Fraction(0)) / len(have) for name, have in values.items()}

    def bound_for(self, key: str, parts: list[Part]) -> Ends | None:
        """The worse and the better end at which numbers count that are not there; undefined if there is none.

        A limit is none if a number that was recorded is beyond it.
        """
        if not any(isinstance(part, str) for part in parts):
            return None
        column = PAIR.get(key, key)
        own, limit = self.settings.own_columns.get(column), self.settings.limits.get(column)
        if own is not None and own.ends is not None:
            return own.ends
        recorded = [trial.number(column) for s in self.scenarios for trial in s.trials]
        if limit is None or any(number > limit for number in recorded if number is not None):
            raise self.lacking(f"no bound for {column}", key)
        return Ends(limit, Fraction(0))

    def at_end(self, key: str, part: Part, bound: Ends | None) -> Fraction:
        """A part at this group's end. A crash is known and bad: at the worse end in either case."""
        if isinstance(part, Ends):
            return getattr(part, self.end_of(key))  # type: ignore[no-any-return]
        assert bound is not None
        return bound.worst if part == CRASHED else getattr(bound, self.end_of(key))

    def mean(self, key: str) -> Fraction:
        """The mean over the scenarios that have part."""
        means = self.means(key)
        return sum(means.values(), Fraction(0)) / len(means)

    def sum(self, key: str) -> Fraction:
        """The sum over the scenarios that have part."""
        return sum(self.means(key).values(), Fraction(0))

    def weighted_mean(self, key: str) -> Fraction:
        """The mean with the scenarios' weights."""
        means = self.means(key)
        weights = {s.id: s.weight for s in self.scenarios if s.id in means}
        top = sum((value * weights[name] for name, value in means.items()), Fraction(0))
        return divide(top, sum(weights.values(), Fraction(0)))

    def percentile(self, key: str, share: Fraction) -> Fraction:
        """The ⌈share·n⌉-th smallest over all trials; undefined where an error stands there.

        Errors rank beyond every number on the bad side, whatever they recorded. So do undecided trials at their worst,
        if the column has no range; at their best they count 0, or the better end of the range.
        """
        parts = self.parts(key)
        own = self.settings.own_columns.get(key)
        worst = -math.inf if own is not None and not own.lower else math.inf
        end = self.end_of(key)
        ends = self.unknown_in_a_percentile(own, worst, end)
        values: list[Fraction | float] = []
        for s in self.scenarios:
            if s.id not in parts:
                continue
            for trial in s.trials:
                part = self.number_part(s, trial, key)
                if part is not None:
                    number = getattr(part, end, None)
                    values.append(worst if trial.error else ends if number is None else number)
        if not values:
            raise self.nothing(key)
        found = sorted(values)[max(math.ceil(share * len(values)), 1) - 1]
        if isinstance(found, float):
            raise self.lacking("an error stands at the rank", key)
        return found

    def nothing(self, key: str) -> UndefinedError:
        """Why a measure has no data: because no trial here was judged, or because those that were do not say it."""
        trials = [trial for s in self.scenarios for trial in s.trials]
        is_open = bool(trials) and all(trial.unjudged and not trial.error for trial in trials)
        return (NotJudgedError if is_open else UndefinedError)(f"no data: {key}")

    def lacking(self, why: str, key: str) -> UndefinedError:
        """Why numbers that are not there leave a measure undefined: trials were not judged, or crashed."""
        trials = [trial for s in self.scenarios for trial in s.trials]
        unjudged = sum(1 for trial in trials if trial.unjudged)
        is_open = 0 < self.having(key)[2] <= unjudged and not any(trial.error for trial in trials)
        return (NotJudgedError if is_open else UndefinedError)(why)

    def is_not_judged(self, formula: str) -> bool:
        """Whether some measure in a formula has no value, and each of these only because trials were not judged."""
        return set(self.kinds_of_absence(formula)) == {NotJudgedError}

    def kinds_of_absence(self, formula: str) -> Iterator[type[UndefinedError]]:
        """Of each measure without a value that a formula comes down to, the kind of reason."""
        for name in names_in(formula, self.settings):
            inner = None if REPEATED.fullmatch(name) else self.formula(name)
            if inner is not None:
                yield from self.where(self.settings.metrics.get(name, {}).get("where")).kinds_of_absence(inner)
            else:
                yield from self.kind_of_absence(lambda name=name: self[name])  # type: ignore[misc]
        for call in calls_in(formula):
            yield from self.kind_of_absence(lambda call=call: self.evaluate(call))  # type: ignore[misc]

    @staticmethod
    def kind_of_absence(value: Callable[[], Any]) -> Iterator[type[UndefinedError]]:
        """The kind of reason why there is no value; nothing if there is one."""
        try:
            value()
        except UndefinedError as absent:
            yield type(absent)

    def unknown_in_a_percentile(self, own: Column | None, worst: float, end: End) -> Fraction | float:
        """Where an undecided trial without the number ranks at an end."""
        if own is None:
            return worst if end == "worst" else Fraction(0)
        if own.ends is None:
            return worst if end == "worst" else -worst
        return getattr(own.ends, end)  # type: ignore[no-any-return]

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
            n, c = len(s.trials), sum(getattr(s.measure(trial, "passed"), self.end_of("passed")) for trial in s.trials)
            ways = math.comb(n, k)
            total += (
                1 - Fraction(math.comb(int(n - c), k), ways) if kind == "at" else Fraction(math.comb(int(c), k), ways)
            )
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
            return Fraction(len(self.scope(name).parts(COUNTS[name])))
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
        self.refuse_uneven(formula)
        names |= {"weighted_mean": self.weighted_mean, "weighted_metrics": self.weighted_metrics, "Fraction": Fraction}
        try:
            return eval(translated(formula), {"__builtins__": {}, **names}, self)  # noqa: S307 - text that the tests wrote
        except ZeroDivisionError:
            raise UndefinedError("zero denominator") from None

    def refuse_uneven(self, formula: str) -> None:
        """A sum of a column without bounds means nothing beside parts that count scenarios which lack it."""
        keys = {
            SUMS.get(name) or COUNTS[name]: name
            for name in names_in(formula, self.settings)
            if name in {**SUMS, **COUNTS}
        }
        summed = re.findall(r"\bsum\(\s*'?([a-z_]+)", translated(formula))
        resting = {key: self.scope(name).having(key)[0] for key, name in keys.items()}
        resting |= {column: self.having(column)[0] for column in summed}
        unbounded = {"cost_usd", "latency_ms", "tokens_used", *self.settings.own_columns}
        if any(0 < has < max(resting.values()) for key, has in resting.items() if key in unbounded):
            raise UndefinedError("uneven")

    @once
    def answer(self, name: str) -> Answer:
        """A metric's value with its counts."""
        has, lacks, undecided = self.support(name)
        value, why = self.value(name)
        if not undecided:
            return Answer(value, why, has, lacks)
        best, _ = self.at_best.value(name)
        if value is not None and best is not None and name in self.settings.metrics:
            # A formula may fall where its parts rise: its measures are put at either end, each by itself.
            between = [found for group in self.mixed(name) if (found := group.value(name)[0]) is not None]
            ends = min(value, best, *between), max(value, best, *between)
            value, best = reversed(ends) if lower_is_better(name, self.settings) else ends
        return Answer(value, why, has, lacks, undecided, best)

    def mixed(self, formula: str) -> Iterator[Group]:
        """The same scenarios with every choice of the measures in a formula at the other end."""
        keys = sorted(self.keys_in(formula))
        for many in range(1, len(keys)):
            for turned in combinations(keys, many):
                yield Group(self.scenarios, self.settings, self.end, frozenset(turned))

    def keys_in(self, formula: str) -> set[str]:
        """The measures that a formula comes down to."""
        found = set(columns_in(formula))
        for name in names_in(formula, self.settings):
            inner = self.formula(name)
            if inner is not None:
                found |= self.keys_in(inner)
            elif name in SUMS:
                found.add(SUMS[name])
            elif REPEATED.fullmatch(name):
                found.add("passed")
        return found

    @once
    def value(self, name: str) -> tuple[Fraction | None, str | None]:
        """A metric at this group's end, or None and why."""
        try:
            return self[name], None
        except UndefinedError as undefined:
            return None, str(undefined)

    @once
    def support(self, name: str) -> tuple[int, int, int]:
        """How many scenarios a name rests on, how many it lacks, and how many trials are undecided for it.

        Of several terms: the fewest, the most, and the most.
        """
        repeated = REPEATED.fullmatch(name)
        if repeated:
            enough = sum(1 for s in self.scenarios if len(s.trials) >= int(repeated[2]))
            return enough, len(self.scenarios) - enough, self.having("passed")[2]
        if name in COUNTS or name in SUMS:
            has, lacks, undecided = self.scope(name).having(COUNTS.get(name) or SUMS[name])
            return has, lacks, 0 if name in COUNTS else undecided  # how many there are is known
        formula = self.formula(name) or ""
        group = self.where(self.settings.metrics.get(name, {}).get("where"))
        terms = [group.support(word) for word in names_in(formula, self.settings) if word != "latency_limit"]
        terms += [group.having(column) for column in columns_in(formula)]
        has, lacks, undecided = zip(*terms, strict=True)
        return min(has), max(lacks), max(undecided)

    @once
    def having(self, key: str) -> tuple[int, int, int]:
        """How many scenarios have part in `key`, how many have none, and how many trials are undecided for it."""
        parts = self.parts(key)
        undecided = [
            trial for s in self.scenarios for trial in s.trials if s.id in parts and self.is_open(s, trial, key)
        ]
        return len(parts), len(self.scenarios) - len(parts), len(undecided)

    def is_open(self, scenario: Scenario, trial: Trial, key: str) -> bool:
        """Whether a trial is undecided for `key`; the cells of a prediction are one question, and so is a pair."""
        one = self.rate_part if key in RATES else self.number_part
        found = [one(scenario, trial, each) for each in next((keys for keys in (CELLS, PAIR) if key in keys), (key,))]
        return any(part == UNKNOWN or getattr(part, "undecided", False) for part in found)


def divide(top: Fraction, bottom: Fraction) -> Fraction:
    """A ratio; anything over 0 is undefined."""
    if bottom == 0:
        raise UndefinedError("zero denominator")
    return top / bottom
