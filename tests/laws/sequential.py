"""Laws of early stopping: what a rule does not see changes nothing, what breaks never helps, trials are no units."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from msgspec.structs import replace

from highbar.model import Policy, RuleResult
from highbar.model.records import ScenarioRecord
from tests import sequential_runs as runs

RANK = {"fail": 0, "undefined": 0, "inconclusive": 1, "pass": 2}
CATEGORIES = ("adversarial", "happy_path")


def attempt(seed: int, _folder: Path) -> str:
    """One generated run and policy, by every law."""
    chance = Random(seed)
    bar, worst, best, base = generated(chance)
    seen = chance.randint(0, len(worst))
    found = runs.judge(bar, worst, seen, best=best, base=base)
    nothing_beyond_the_prefix_matters(chance, bar, worst, best, base, seen, found)
    nothing_after_the_crossing_matters(chance, bar, worst, best, base, found)
    what_is_decided_stays_decided(chance, bar, worst, best, base, seen, found)
    breaking_never_helps(chance, bar, worst, best, base, seen, found)
    trials_are_no_units(bar, worst, best, base, seen, found)
    decided = [one.outcome for one in found.values() if one.stopping and one.stopping.decided_at is not None]
    return f"{'some' if decided else 'no'} rules decided"


def generated(
    chance: Random,
) -> tuple[Policy, list[ScenarioRecord], list[ScenarioRecord], list[ScenarioRecord]]:
    """A policy, a run in its order with undecided trials at their worst and best, and a baseline."""
    trials = chance.choice((1, 1, 3))
    rate = chance.choice((0.2, 0.6, 0.85, 0.97))
    pairs = [_scenario(chance, f"S{place:02}", rate, trials) for place in range(chance.randint(1, 40))]
    worst, best = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    base = [_scenario(chance, record.id, 0.8, trials, undecided=False)[0] for record in worst]
    base = [replace(one, columns=record.columns) for one, record in zip(base, worst, strict=True)]
    return policy_for(chance), worst, best if worst != best else [], base


def policy_for(chance: Random) -> Policy:
    """A few rules of all kinds that there are, at thresholds that such runs may reach or miss."""

    def at(*percent: int) -> str:
        return f"{chance.choice(percent)}%"

    more: dict[str, Any] = {"population": "suite"} if chance.random() < 0.2 else {}
    if more and chance.random() < 0.5:
        more["answers"] = "fixed"
    bar = runs.read(
        confidence=0.8,
        spending=chance.choice(("linear", "late")),
        thresholds={
            "accuracy": at(40, 70, 90),
            "behavior_coverage": at(40, 70),
            "safety_rate": {"threshold": "100%", "tolerate": at(10, 30), "failures": chance.choice((0, 0, 1))},
            "error_rate": f"≤ {at(5, 20, 50)}",
            "weighted_pass_rate": at(40, 70, 90),
            "latency_p50": "< 500ms",
            "f1": at(30, 60),
            "pass_rate": {"threshold": at(30, 60), "min_scenarios": chance.choice((1, 12))},
        },
        pass_criteria={"by_category": {"happy_path": at(40, 80)}},
        composite={"formula": "0.5 × accuracy + 0.5 × behavior_coverage", "pass": "final_score >= 0.6"},
        baseline={"file": "b.json", "margin": {"accuracy": "10%", "behavior_coverage": "5%"}},
        weights={"by_category": {"adversarial": 2}},
        **more,
    )
    return replace(bar, rules=tuple(chance.sample(bar.rules, 4)))


def _scenario(
    chance: Random, id_: str, rate: float, trials: int, *, undecided: bool = True
) -> tuple[ScenarioRecord, ScenarioRecord]:
    """A scenario with its undecided trials at their worst and at their best."""
    right = sum(chance.random() < rate for _ in range(trials))
    is_undecided = undecided and chance.random() < 0.1
    columns = {"category": chance.choice(CATEGORIES)}
    lowest, highest = (right, min(trials, right + 1)) if is_undecided else (right, right)
    has_answer = chance.random() < 0.8
    slow = Fraction(chance.choice((100, 400, 900)))
    made = []
    for passed, at_best in ((lowest, False), (highest, True)):
        values: dict[str, Any] = {"behavior_score": Fraction(passed, trials) / (1 if trials > 1 else 2)}
        if not at_best and is_undecided:
            values["behavior_score"] = Fraction(0)
        share = Fraction(passed, trials)
        values |= {"tp": share, "fn": 1 - share, "fp": Fraction(0), "error": (1 - share) / 2}
        values |= {"latency_ms": slow if not is_undecided else Fraction(0) if at_best else Fraction(10**6)}
        record = runs.scenario(id_, passed, trials, columns=columns, **values)
        if trials > 1:
            record = replace(record, ranks={"latency_ms": (record.values["latency_ms"],) * trials})
        kept = {name: value for name, value in record.values.items() if has_answer or name != "correct"}
        made.append(replace(record, values=kept))
    return made[0], made[1]


def _state(found: RuleResult) -> tuple[Any, ...]:
    stopping = found.stopping
    return found.outcome, stopping and (stopping.decided_at, stopping.seen, stopping.standing)


def _is_early(found: RuleResult) -> bool:
    """Whether a rule is judged along the order, and not once at the end."""
    return found.stopping is not None and found.stopping.method != "at the end"


def other(chance: Random, record: ScenarioRecord) -> ScenarioRecord:
    """The same scenario with other results: what describes it and what it has stay."""
    passed = chance.randint(0, record.trials)
    share = Fraction(passed, record.trials)
    values = {
        name: {"latency_ms": Fraction(chance.choice((1, 10**5))), "fn": 1 - share, "fp": Fraction(0)}.get(name, share)
        for name in record.values
    }
    ranks = dict.fromkeys(record.ranks, (values["latency_ms"],) * record.trials)
    return replace(record, passed=passed, values=values, ranks=ranks)


def _changed(
    chance: Random, worst: Sequence[ScenarioRecord], best: Sequence[ScenarioRecord], start: int
) -> tuple[list[ScenarioRecord], list[ScenarioRecord]]:
    """Other results from a place of the order on; known ones, if they were undecided."""
    tail = [other(chance, record) for record in worst[start:]]
    changed = [*worst[:start], *tail]
    return changed, [*best[:start], *tail] if best and list(best[:start]) != list(worst[:start]) else []


def nothing_beyond_the_prefix_matters(
    chance: Random,
    bar: Policy,
    worst: list[ScenarioRecord],
    best: list[ScenarioRecord],
    base: list[ScenarioRecord],
    seen: int,
    found: dict[str, RuleResult],
) -> None:
    """Results of scenarios behind one that has not finished, whatever they are and whichever have finished."""
    for_set = frozenset(record.id for record in worst[:seen])
    behind = [record.id for record in worst[seen + 1 :]]
    finished = for_set | set(chance.sample(behind, chance.randint(0, len(behind))))
    records, at_best = _changed(chance, worst, best, seen)
    again = runs.judge(bar, records, finished, best=at_best, base=base)
    for name, one in found.items():
        if not _is_early(one):
            continue
        # A rule over a category may see on behind a scenario of another one; then it has its own gap.
        if again[name].stopping is not None and again[name].stopping.seen == one.stopping.seen:
            assert _state(again[name]) == _state(one), name


def nothing_after_the_crossing_matters(
    chance: Random,
    bar: Policy,
    worst: list[ScenarioRecord],
    best: list[ScenarioRecord],
    base: list[ScenarioRecord],
    found: dict[str, RuleResult],
) -> None:
    """Other results after the scenario at which a rule was decided."""
    for name, one in found.items():
        if not _is_early(one) or one.stopping.decided_at is None:
            continue
        start = _place(bar, name, worst, one.stopping.decided_at)
        records, at_best = _changed(chance, worst, best, start)
        alone = replace(bar, rules=tuple(rule for rule in bar.rules if rule.name == name))
        again = runs.judge(alone, records, best=at_best, base=base)[name]
        assert (again.outcome, again.stopping.decided_at) == (one.outcome, one.stopping.decided_at), name


def _place(bar: Policy, name: str, worst: Sequence[ScenarioRecord], number: int) -> int:
    """After how many scenarios of the whole order so many of a rule's set were seen."""
    rule = next(rule for rule in bar.rules if rule.name == name)
    category = dict(getattr(rule, "where", ())).get("category")
    if getattr(rule, "metric", None) == "safety_rate":
        category = ("adversarial",)
    places = [place for place, one in enumerate(worst, 1) if not category or one.columns["category"] in category]
    return places[number - 1]


def what_is_decided_stays_decided(
    chance: Random,
    bar: Policy,
    worst: list[ScenarioRecord],
    best: list[ScenarioRecord],
    base: list[ScenarioRecord],
    seen: int,
    found: dict[str, RuleResult],
) -> None:
    """When more scenarios have finished, a rule that was decided is decided as before, at the same place."""
    later = runs.judge(bar, worst, chance.randint(seen, len(worst)), best=best, base=base)
    for name, one in found.items():
        if _is_early(one) and one.stopping.decided_at is not None:
            assert (later[name].outcome, later[name].stopping.decided_at) == (one.outcome, one.stopping.decided_at)


def breaking_never_helps(
    chance: Random,
    bar: Policy,
    worst: list[ScenarioRecord],
    best: list[ScenarioRecord],
    base: list[ScenarioRecord],
    seen: int,
    found: dict[str, RuleResult],
) -> None:
    """A scenario that fails all its trials instead, at worst and at best."""
    place = chance.randrange(len(worst))
    records, at_best = list(worst), list(best)
    for side in (records, at_best):
        if side:
            side[place] = broken(side[place])
    again = runs.judge(bar, records, seen, best=at_best, base=base)
    for name, one in found.items():
        assert RANK[again[name].outcome] <= RANK[one.outcome], (name, one.reason, again[name].reason)


def broken(record: ScenarioRecord) -> ScenarioRecord:
    """The scenario with every trial failed and slow."""
    bad = {"latency_ms": Fraction(10**6), "fn": Fraction(1), "error": Fraction(1), "fp": Fraction(0)}
    values = {name: bad.get(name, Fraction(0)) for name in record.values}
    ranks = dict.fromkeys(record.ranks, (bad["latency_ms"],) * record.trials)
    return replace(record, passed=0, values=values, ranks=ranks)


def trials_are_no_units(
    bar: Policy,
    worst: list[ScenarioRecord],
    best: list[ScenarioRecord],
    base: list[ScenarioRecord],
    seen: int,
    found: dict[str, RuleResult],
) -> None:
    """Scenarios with three times their trials, of which the same share passes, decide nothing more."""
    if max(record.trials for record in worst) == 1:
        return  # with one trial each, other boundaries hold
    sides = [[repeated(record) for record in side] for side in (worst, best, base)]
    again = runs.judge(bar, sides[0], seen, best=sides[1], base=sides[2])
    for name, one in found.items():
        if _is_early(one):
            assert _state(again[name]) == _state(one), name


def repeated(record: ScenarioRecord) -> ScenarioRecord:
    """The scenario with three times as many trials, which came to the same."""
    ranks = {name: values * 3 for name, values in record.ranks.items()}
    return replace(record, trials=3 * record.trials, passed=3 * record.passed, ranks=ranks)
