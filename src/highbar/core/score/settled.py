"""The trials of a run → its scenarios, each with what describes it and what its trials say together.

Scenarios whose descriptions weigh the same and whose trials say the same have one `Key`: sums are made once for all of
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

from msgspec import Struct

from highbar.columns import BY_NAME
from highbar.core.score.asked import PLACES
from highbar.core.score.measures import TrialMeasure, measures_for, scaled
from highbar.core.score.scenario import ScoredScenario, score_scenario
from highbar.core.score.scores import Described, Scores, is_chosen
from highbar.core.score.trial import Trial
from highbar.model import Percentile, Term, Where
from highbar.model.requests import Request

ONE = Fraction(1)
_WEIGHT = BY_NAME["weight"].scale
_TOKENS = PLACES["tokens_used"]


class ScenarioKind(Struct, frozen=True, eq=False):
    """Scenarios that add the same to every sum, but for the numbers of columns."""

    scenario: ScoredScenario
    wheres: frozenset[Where]  # the filters that select them
    weight: Fraction  # by the policy and by their own column


class Settled:
    """All scenarios of a run, for one request."""

    def __init__(self, scores: Scores, request: Request) -> None:
        self.scores, self.request = scores, request
        self.columns = scores.asked.columns
        self.trials: list[Trial] = scores.trials()
        self.measures: Mapping[str, TrialMeasure] = _measures(scores, request)
        self.ids = list(scores.ids)
        self.descriptions = list(scores.descriptions)  # those of rows, then those that several trials make together
        self._scored: dict[Any, ScoredScenario] = {}
        self._keys: dict[Any, int] = {}
        self.keys: list[ScenarioKind] = []
        self._weighed: dict[int, tuple[frozenset[Where], Fraction]] = {}
        if len(scores) == len(self.ids) and not scores.asked.suite:
            self.positions: Sequence[tuple[int, ...]] = list(zip(range(len(scores))))
            self.description: Sequence[int] = scores.description  # of each scenario, among `descriptions`
            self.key: list[int] = self._keys_of_single_trials()
        else:
            self.positions = self._positions()
            self.description = self._describe()
            self.key = [self._key(place) for place in range(len(self.ids))]

    # --- scenarios ---------------------------------------------------------------------------

    @cached_property
    def repeated(self) -> bool:
        """Whether a scenario may have several trials."""
        return any("trial" in part.columns for part in self.scores.parts)

    @cached_property
    def clustered(self) -> bool:
        """Whether scenarios may be in clusters, and so not independent."""
        return any("cluster" in part.columns for part in self.scores.parts) or any(
            "cluster" in fields for fields in self.scores.asked.suite.values()
        )

    @cached_property
    def wheres(self) -> tuple[Where, ...]:
        """The filters of the request."""
        request = self.request
        items: list[Term | Percentile] = [*request.terms, *request.percentiles]
        found = [item.where for item in items]
        found += [where for wanted in request.undecided for _, where in wanted.parts]
        return tuple(dict.fromkeys(filter(None, found)))

    def _positions(self) -> list[tuple[int, ...]]:
        """The trials of each scenario, in the order in which they came."""
        found: list[list[int]] = [[] for _ in self.ids]
        for at, place in enumerate(self.scores.scenario):
            found[place].append(at)
        return list(map(tuple, found))

    def _describe(self) -> list[int]:
        """What describes each scenario: a column that one of its trials lacks is that of the others, or the suite's."""
        scores, suite = self.scores, self.scores.asked.suite
        columns = ("category", "capability", "cluster", "weight", *self.columns)
        filled: dict[Any, int] = {}
        found = []
        for id_, positions in zip(self.ids, self.positions, strict=True):
            kinds = frozenset([scores.description[at] for at in positions])
            fields = suite.get(id_)
            if fields is None and len(kinds) == 1:
                found.append(next(iter(kinds)))
                continue
            told = kinds, None if fields is None else tuple(map(fields.get, columns))
            if told not in filled:
                filled[told] = len(self.descriptions)
                several = [scores.descriptions[kind] for kind in sorted(kinds)]
                self.descriptions.append(_together(several, fields or {}, self.columns))
            found.append(filled[told])
        return found

    def described(self, place: int) -> Described:
        """What describes a scenario."""
        return self.descriptions[self.description[place]]

    def _keys_of_single_trials(self) -> list[int]:
        """The key of each scenario, if each has one trial, and no suite demands anything."""
        pairs = list(zip(self.scores.kind, self.description, strict=True))
        known = {pair: self._key_of((pair[0], 0), pair[1]) for pair in dict.fromkeys(pairs)}
        return list(map(known.__getitem__, pairs))

    def _key(self, place: int) -> int:
        kinds = sorted([self.scores.kind[at] for at in self.positions[place]])
        return self._key_of((*kinds, -self.scores.demanded_of(self.ids[place])), self.description[place])

    def _key_of(self, combination: tuple[int, ...], description: int) -> int:
        """The key of scenarios: `combination` has the kinds of their trials and, negative, what the suite demands."""
        scenario = self._scored.get(combination)
        if scenario is None:
            *kinds, demanded = combination
            of = [self.trials[kind] for kind in kinds]
            scenario = self._scored[combination] = score_scenario(of, -demanded, self.measures)
        weighed = self._weighed.get(description)
        if weighed is None:
            weighed = self._weighed[description] = self._weigh(self.descriptions[description])
        key = self._keys.setdefault((combination, weighed), len(self.keys))
        if key == len(self.keys):
            self.keys.append(ScenarioKind(scenario, *weighed))
        return key

    def _weigh(self, described: Described) -> tuple[frozenset[Where], Fraction]:
        values = (*described.values, described.category, described.capability)
        columns = (*self.columns, "category", "capability")
        weights = self.request.weights
        own = ONE if described.weight is None else Fraction(round(described.weight * _WEIGHT), _WEIGHT)
        weight = own * weights.by_category.get(described.category or "", ONE)
        weight *= weights.by_capability.get(described.capability or "", ONE)
        return frozenset(where for where in self.wheres if is_chosen(where, columns, values)), weight

    def scenario(self, place: int) -> ScoredScenario:
        """What the trials of a scenario say together."""
        return self.keys[self.key[place]].scenario

    def unit(self, place: int) -> tuple[str, bool]:
        """The independent unit that a scenario belongs to: its cluster, or itself."""
        cluster = self.described(place).cluster
        return (self.ids[place], False) if cluster is None else (cluster, True)

    def value(self, place: int, column: str) -> str | None:
        """The value of a column by which scenarios are grouped or chosen."""
        return self.described(place).values[self.columns.index(column)]

    def trial(self, at: int) -> Trial:
        """What a trial is worth."""
        return self.trials[self.scores.kind[at]]

    def number(self, at: int) -> int | None:
        """The number of a trial within its scenario."""
        number = self.scores.number[at]
        return number if self.scores.parts and number != -(2**63) else None

    def is_given(self, name: str) -> bool:
        """Whether some scenario of the run has a measure by more than errors, violations and open trials."""
        if name not in self._given:
            parts = (key.scenario.parts[name] for key in self.keys)
            self._given[name] = any(part.trials and not part.lone for part in parts)
        return self._given[name]

    @cached_property
    def _given(self) -> dict[str, bool]:
        return {}

    @cached_property
    def any_undecided(self) -> bool:
        """Whether anything is undecided in any scenario."""
        return any(key.scenario.undecided for key in self.keys)

    @cached_property
    def counts(self) -> Counter[int]:
        """How many scenarios have each key."""
        return Counter(self.key)

    def places(self) -> Iterator[int]:
        """Every scenario."""
        return iter(range(len(self.ids)))

    # --- the numbers of columns --------------------------------------------------------------

    def amounts(self, name: str) -> Sequence[int]:
        """Of each scenario: the sum of its numbers in a measure, in whole multiples of 1/scale."""
        if name not in self._amounts:
            self._amounts[name] = self._sum_numbers(name)
        return self._amounts[name][0]

    def beyond(self, name: str) -> Sequence[bool]:
        """Of each scenario: whether a number of it is beyond the end at which trials without one count."""
        self.amounts(name)
        return self._amounts[name][1]

    @cached_property
    def _amounts(self) -> dict[str, tuple[list[int], list[bool]]]:
        return {}

    def _sum_numbers(self, name: str) -> tuple[list[int], list[bool]]:
        numbers = self.measures[name].numbers
        if numbers is None:
            return [], []
        column = self.scores.numbers[numbers.place]
        whole = numbers.place == _TOKENS
        sums, beyond = [], []
        for place, positions in enumerate(self.positions):
            part = self.scenario(place).parts[name]
            total, over = 0, False
            kinds = None if part.adds is None else dict(zip(self.scenario(place).trials, part.adds, strict=True))
            for at in positions:
                value = column[at]
                if (value < 0 and whole) or value != value:  # noqa: PLR0124 - not a number
                    continue
                amount = value if whole else scaled(value, numbers.scale, up=numbers.up)
                if numbers.beyond is not None:
                    over |= amount < numbers.beyond if numbers.beyond_below else amount > numbers.beyond
                trial = self.trial(at)
                if not (numbers.zero_on_error and trial.error) and (kinds is None or kinds[trial]):
                    total += amount
            sums.append(total)
            beyond.append(over)
        return sums, beyond


def _measures(scores: Scores, request: Request) -> dict[str, TrialMeasure]:
    items: list[Term | Percentile] = [*request.terms, *request.percentiles]
    named = {item.column for item in items}
    named |= {column for wanted in request.undecided for column, _ in wanted.parts}
    extras = [name for name in scores.asked.extras if f"extra:{name}" in named]
    return measures_for(named, extras, request.ends, scores.asked.places)


def _together(several: Sequence[Described], fields: Mapping[str, str], columns: Sequence[str]) -> Described:
    """What some trials of a scenario say of it together; the suite says what none of them does."""

    def any_of(values: Sequence[Any]) -> Any:
        return next((value for value in values if value is not None), None)

    weight = any_of([one.weight for one in several])
    of_values = [any_of(each) for each in zip(*(one.values for one in several), strict=True)]
    return Described(
        any_of([one.category for one in several]) or fields.get("category"),
        any_of([one.capability for one in several]) or fields.get("capability"),
        any_of([one.cluster for one in several]) or fields.get("cluster"),
        float(fields["weight"]) if weight is None and "weight" in fields else weight,
        tuple(fields.get(column) if value is None else value for column, value in zip(columns, of_values, strict=True)),
    )
