"""A rule that undecided trials leave certain has its outcome whatever they come to.

`attempt(seed, folder)` makes the rows of a run, takes some of them away as a run does that has not got so far, and
judges them by rules of every kind. Then it gives those trials other answers, any of them, and judges again: a rule that
was not open has the outcome that it had, and so has the verdict if it was decided. This is what lets a run stop early.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import highbar
from highbar.gate import still_open

Row = dict[str, Any]
COMPLETIONS = 3
CATEGORIES = ("happy_path", "edge_case", "adversarial")
RATES = ("pass_rate", "accuracy", "behavior_coverage", "recall", "f1", "weighted_pass_rate")
RATIOS = ("error_rate", "violation_rate")


def attempt(seed: int, _: Path) -> str:
    """One run that has not got so far, and what it may come to."""
    chance = Random(seed)
    scenarios = [scenario(chance, place) for place in range(chance.randint(4, 24))]
    policy = policy_for(chance, scenarios)
    share = chance.choice((0.1, 0.3, 0.7))
    known = {number: answered(chance, one) for number, one in enumerate(scenarios) if chance.random() > share}
    rows = [known.get(number) or {**one, "unjudged": "not run: not yet"} for number, one in enumerate(scenarios)]
    partial = highbar.check(rows, policy)
    certain = {one.rule: one.outcome for one in partial.rules if not one.open}
    is_decided = not still_open(partial.rules)
    quality = chance.choice((0.0, 0.5, 1.0))
    for _ in range(COMPLETIONS):
        whole = [known.get(number) or answered(chance, one, quality) for number, one in enumerate(scenarios)]
        after = highbar.check(whole, policy)
        outcomes = {one.rule: one.outcome for one in after.rules}
        assert certain == {name: outcomes[name] for name in certain}, (policy, rows, whole)
        assert not is_decided or after.verdict == partial.verdict, (policy, rows, whole)
    open_rules = len(partial.rules) - len(certain)
    return f"{partial.verdict if is_decided else 'open'}, {'some' if open_rules else 'no'} rules open"


def scenario(chance: Random, place: int) -> Row:
    """What a row has before anything was run."""
    return {
        "id": f"s{place // 2}" if place % 5 == 1 else f"t{place}",
        "trial": place,
        "category": CATEGORIES[(place // 2) % 3 if place % 5 == 1 else chance.randrange(3)],
        "expected_behaviors": ["greets", "asks"],
        "must_not": ["leaks"],
        "expected": chance.choice(("spam", "ham")),
    }


def answered(chance: Random, row: Row, quality: float = 0.8) -> Row:
    """The row of a trial that was run."""
    if chance.random() < 0.05:
        return {**row, "error": "boom", "correct": False}
    good = [chance.random() < quality for _ in range(4)]
    return {
        **row,
        "behaviors": {"greets": good[0], "asks": good[1]},
        "violations": [] if good[2] or chance.random() < 0.7 else ["leaks"],
        "predicted": row["expected"] if good[3] else "eggs",
        "latency_ms": chance.randint(1, 100),
        "output": "yes",
    }


def policy_for(chance: Random, scenarios: list[Row]) -> Row:
    """Rules of several kinds, with bounds at which such a run may pass or fail."""
    for one in scenarios:  # the trials of a scenario agree
        first = next(other for other in scenarios if other["id"] == one["id"])
        one.update({name: first[name] for name in ("category", "expected")})
    percent = [f"≥ {chance.choice((20, 40, 60, 80, 100))}%" for _ in range(9)]
    evidence = chance.choice(("estimate", "estimate", "confident"))
    return {
        "evidence": evidence,
        "positive": "spam",
        "population": chance.choice(("scenarios", "suite")),
        "weights": {"by_category": {"adversarial": chance.choice((1.0, 2.0))}},
        "thresholds": {
            "blocking": {name: chance.choice(percent) for name in chance.sample(RATES, 2)},
            "warning": {name: f"≤ {chance.choice((0, 20, 60))}%" for name in RATIOS} | {"latency_p50": "< 60ms"},
        },
        "required_scenarios": {"ids": [chance.choice(scenarios)["id"]]},
        "optional_scenarios": {"ids": ["nothing"]},
        "pass_criteria": {"by_category": {scenarios[0]["category"]: chance.choice(percent)}},
        "composite": {
            "formula": "accuracy × 0.6 + (1 - error_rate) × 0.4",
            "pass": f"final_score ≥ 0.{chance.randint(1, 9)} AND pass_rate - accuracy < 0.{chance.randint(1, 9)}",
        },
    }
