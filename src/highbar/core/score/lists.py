"""Scenarios by name: those that failed, those that are undecided, all of them, and those that ids of a policy name."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

from highbar.columns import BY_NAME
from highbar.core.score import reasons
from highbar.core.score.choosing import Reread
from highbar.core.score.limits import MOST_EXAMPLES, MOST_FLAKY, MOST_UNDECIDED_LISTED, MOST_UNDECIDED_NAMED
from highbar.core.score.measures import SCORE
from highbar.core.score.scenario import is_undecided_for
from highbar.core.score.settled import Settled
from highbar.model import FailedScenario, FlakyScenario, ScenarioResult, Trial, Undecided, UndecidedScenario
from highbar.model.reduction import Matched, RepetitionSums
from highbar.policy.scenario_ids import is_pattern, matches

_SCALE = BY_NAME["latency_ms"].scale


class Lists:
    """The scenarios of a run by name; `reread` gives the rows of some trials again."""

    def __init__(self, settled: Settled, reread: Reread) -> None:
        self.settled, self.reread = settled, reread
        self.request = settled.request
        self._reasons: dict[int, str | None] = {}

    def matches_any(self, patterns: Sequence[str]) -> Callable[[str], bool]:
        """A function that tells whether an id matches any of the patterns."""
        ids = {text for text in patterns if not is_pattern(text)}
        others = [text for text in patterns if is_pattern(text)]
        return lambda id_: id_ in ids or any(matches(pattern, id_) for pattern in others)

    @cached_property
    def is_required(self) -> Callable[[str], bool]:
        """Whether a rule demands that a scenario passes."""
        return self.matches_any(self.request.required)

    def failed(self) -> tuple[int, tuple[FailedScenario, ...]]:
        """How many scenarios failed, and the gravest of them."""
        settled = self.settled
        grave = [place for place in settled.places() if settled.scenario(place).failed]
        listed = heapq.nsmallest(self.request.failed_limit, grave, key=self._gravity)
        self._read_reasons(listed)
        return len(grave), tuple(self._failed(place) for place in listed)

    def _gravity(self, place: int) -> tuple[Any, ...]:
        scenario, id_ = self.settled.scenario(place), self.settled.ids[place]
        return (
            not self.is_required(id_),
            not scenario.violated,
            not scenario.errors,
            scenario.passed / len(scenario.trials),
            float(scenario.parts[SCORE].worst),
            id_,  # last, so that the list does not depend on the order of the rows
        )

    def _failed(self, place: int) -> FailedScenario:
        settled, id_ = self.settled, self.settled.ids[place]
        positions = settled.positions[place]
        passed = sum(settled.trial(at).passed for at in positions)
        reason = self._reason(place) or ""
        return FailedScenario(
            id_,
            settled.described(place).category,
            reason if len(positions) == 1 else f"{passed} of {len(positions)} trials passed; {reason}",
            len(positions),
            passed,
            required=self.is_required(id_),
        )

    def _reason(self, place: int) -> str | None:
        return reasons.together(self._reasons.get(at) for at in self.settled.positions[place])

    def _read_reasons(self, places: Collection[int]) -> None:
        """Read the rows of all trials of some scenarios that did not pass, and note why."""
        settled = self.settled
        wanted = [
            at
            for place in places
            for at in settled.positions[place]
            if at not in self._reasons and not settled.trial(at).passed
        ]
        for at, row in self.reread(wanted).items():
            self._reasons[at] = reasons.reason(row, settled.trial(at))

    def undecided(self) -> tuple[UndecidedScenario, ...]:
        """The scenarios of which no trial failed and not every trial passed, the required ones first."""
        settled = self.settled
        found = []
        for place in settled.places():
            scenario = settled.scenario(place)
            if not scenario.failed and not scenario.all_passed:
                found.append((not self.is_required(settled.ids[place]), settled.ids[place], place))
        found = heapq.nsmallest(MOST_UNDECIDED_LISTED, found)
        self._read_reasons([place for *_, place in found])
        return tuple(
            UndecidedScenario(
                id_,
                settled.described(place).category,
                self._reason(place) or reasons.LACKS,
                len(settled.positions[place]),
                settled.scenario(place).passed,
                required=not optional,
            )
            for optional, id_, place in found
        )

    def every(self) -> tuple[ScenarioResult, ...]:
        """At most `scenario_limit` scenarios: the failed first, then the undecided, each by id."""
        settled = self.settled

        def order(place: int) -> tuple[bool, bool, str]:
            scenario = settled.scenario(place)
            return not scenario.failed, scenario.all_passed, settled.ids[place]

        listed = heapq.nsmallest(self.request.scenario_limit, settled.places(), key=order)
        self._read_reasons(listed)
        return tuple(map(self._result, listed))

    def _result(self, place: int) -> ScenarioResult:
        settled, id_ = self.settled, self.settled.ids[place]
        scenario = settled.scenario(place)
        n = len(scenario.trials)
        return ScenarioResult(
            id_,
            settled.described(place).category,
            n,
            scenario.passed,
            scenario.errors,
            scenario.violated,
            self._reason(place),
            self.is_required(id_),
            self._duration(place),
            n - scenario.passed - scenario.failed,
        )

    def _duration(self, place: int) -> Fraction | None:
        """The sum of the latencies of the trials that completed; None if none is known."""
        settled = self.settled
        latency = settled.scores.numbers[0]
        known = [latency[at] for at in settled.positions[place] if not settled.trial(at).error]
        # Whole numbers: a sum of floats depends on the order of the rows, and a report must not.
        whole = [round(value * _SCALE) for value in known if value == value]  # noqa: PLR0124 - not a number
        return Fraction(sum(whole), _SCALE) if whole else None

    def undecided_trials(self, wanted: Undecided) -> tuple[Trial, ...]:
        """The first trials that are undecided for a question."""
        settled, found = self.settled, []
        parts = [(column, where) for column, where in wanted.parts if column in settled.measures]
        if not parts:
            return ()
        for place in settled.places():
            key = settled.keys[settled.key[place]]
            if not key.scenario.undecided:
                continue
            asked = [column for column, where in parts if not where or where in key.wheres]
            if not asked or (wanted.pattern is not None and not self.matches_any([wanted.pattern])(settled.ids[place])):
                continue
            for at in settled.positions[place]:
                trial = settled.trial(at)
                if any(is_undecided_for(one, settled.measures[one], trial, key.scenario) for one in asked):
                    found.append((settled.ids[place], settled.number(at) if settled.repeated else None))
        found.sort(key=lambda one: (one[0], one[1] is None, one[1] or 0))
        return tuple(found[:MOST_UNDECIDED_NAMED])

    def patterns(self) -> dict[str, Matched]:
        """What each id or pattern of the request matches."""
        wanted = dict.fromkeys((*self.request.required, *self.request.optional))
        return {text: self._matched(text) for text in wanted}

    def _matched(self, pattern: str) -> Matched:
        settled = self.settled
        if is_pattern(pattern):
            places = [place for place in settled.places() if matches(pattern, settled.ids[place])]
        else:
            place = settled.scores.ids.get(pattern)
            places = [] if place is None else [place]
        failed = [place for place in places if settled.scenario(place).failed]
        undecided = [place for place in places if not (one := settled.scenario(place)).failed and not one.all_passed]
        return Matched(len(places), len(failed), self._first(failed), len(undecided), self._first(undecided))

    def _first(self, places: Sequence[int]) -> tuple[str, ...]:
        return tuple(heapq.nsmallest(MOST_EXAMPLES, [self.settled.ids[place] for place in places]))

    def repetition(self) -> RepetitionSums:
        """Sums over the pass rates of scenarios, and those that passed some trials and failed others."""
        settled = self.settled
        freedom = flaky = 0
        within = rate = squares = inverse = Fraction(0)
        for at, count in settled.counts.items():
            scenario = settled.keys[at].scenario
            n, c = len(scenario.trials), scenario.passed
            freedom += (n - 1) * count
            within += count * (c - Fraction(c * c, n))
            rate += count * Fraction(c, n)
            squares += count * Fraction(c * c, n * n)
            inverse += Fraction(count, n)
            flaky += count * (c > 0 and scenario.failed > 0)
        unsteady = (
            [place for place in settled.places() if (one := settled.scenario(place)).passed and one.failed]
            if flaky
            else []
        )

        def order(place: int) -> tuple[float, str]:
            scenario = settled.scenario(place)
            return abs(scenario.passed / len(scenario.trials) - 0.5), settled.ids[place]

        return RepetitionSums(
            fewest=min(len(key.scenario.trials) for key in settled.keys),
            freedom=freedom,
            within=within,
            rate=rate,
            rate_squares=squares,
            inverse_trials=inverse,
            flaky=flaky,
            scenarios_flaky=tuple(
                FlakyScenario(settled.ids[place], len(settled.positions[place]), settled.scenario(place).passed)
                for place in heapq.nsmallest(MOST_FLAKY, unsteady, key=order)
            ),
        )
