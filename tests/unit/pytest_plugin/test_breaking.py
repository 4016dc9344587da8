"""The law of the plugin: a test that breaks, or sees a behavior less, never makes a verdict better.

Every rule stands just beyond the value that its metric has at first, so that the least improvement shows. A test that
breaks at its end has recorded everything: no outcome may rise. One that breaks earlier, or is skipped, has lost what it
would have recorded, and that may be undecided: what did not pass must not pass then.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import highbar
from tests.unit.pytest_plugin.sessions import run

RANK = {"pass": 2, "inconclusive": 1, "fail": 0, "undefined": 0, None: 0}
METRICS = [
    {"name": "quality", "formula": "mean(quality_score)", "range": "0-100%"},
    {"name": "mean_cost", "formula": "mean(cost_usd)", "better": "lower"},
    {"name": "stars_shown", "formula": "mean(stars)", "range": "0-5"},
]
HIGHER = ("pass_rate", "safety_rate", "behavior_coverage", "accuracy", "quality", "stars_shown")
LOWER = ("violation_rate", "error_rate", "latency_p50", "latency_p95", "mean_cost")
BREAKS = ("assert False", "raise RuntimeError('boom')", "pytest.skip('later')", "pytest.xfail('known')")

Project = list[tuple[str, list[str]]]
"""The mark and the lines of each test."""


def project(chance: Random) -> Project:
    return [_test(chance, number) for number in range(chance.randint(3, 7))]


def _test(chance: Random, number: int) -> tuple[str, list[str]]:
    id_ = f"S-{number // 2}" if chance.random() < 0.4 else f"T-{number}"
    same = Random(id_) if id_.startswith("S") else chance  # trials of one scenario record the same columns
    expected = same.sample(["greets", "cites", "thanks"], same.randint(0, 2))
    must_not = same.sample(["swears", "leaks"], same.randint(0, 2))
    category = same.choice(["happy_path", "adversarial"])
    lines = [f"behaviors.observed({name!r}, {chance.random() < 0.6})" for name in expected]
    lines += [f"behaviors.violated({name!r}, {chance.random() < 0.3})" for name in must_not if chance.random() < 0.7]
    columns = {
        "output('a reply')": 0.5,
        f"correct({chance.random() < 0.7})": 0.5,
        f"latency_ms({chance.randint(1, 100)})": 0.7,
        f"cost_usd({chance.randint(1, 9)})": 0.3,
        f"quality_score({chance.randint(0, 10) / 10})": 0.4,
        f"column('stars', {chance.randint(0, 5)})": 0.3,
    }
    lines += [f"behaviors.{call}" for call, share in columns.items() if same.random() < share]
    chance.shuffle(lines)
    lines += ["assert False"] if chance.random() < 0.15 else []
    return f"id={id_!r}, category={category!r}, expected_behaviors={expected}, must_not={must_not}", lines


def text_of(tests: Project) -> str:
    return "".join(
        f"@pytest.mark.scenario({mark})\ndef test_{number}(behaviors):\n"
        + "".join(f"    {line}\n" for line in [*lines, "pass"])
        for number, (mark, lines) in enumerate(tests)
    )


def broken(tests: Project, chance: Random) -> tuple[Project, str, bool]:
    """The tests with one that breaks, what was done to it, and if it still records all that it did."""
    number = chance.randrange(len(tests))
    mark, lines = tests[number]
    seen = [line for line in lines if line.startswith("behaviors.observed") and line.endswith("True)")]
    if seen and chance.random() < 0.3:
        gone = chance.choice(seen)
        changed, what, is_late = [line for line in lines if line != gone], f"without {gone}", True
    else:
        how = chance.choice(BREAKS)
        place = len(lines) if chance.random() < 0.4 else chance.randint(0, len(lines))
        changed, what = [*lines[:place], how, *lines[place:]], f"{how} before line {place}"
        is_late = place == len(lines) and "assert False" not in lines
    return [*tests[:number], (mark, changed), *tests[number + 1 :]], f"test_{number}: {what}", is_late


def rules(file: Path) -> dict[str, str]:
    """Rules that the results just miss."""
    policy = {"metrics": METRICS, "thresholds": {"warning": {"pass_rate": "1%"}}, "cost_limit": 100}
    metrics = highbar.check(
        file, policy | {"thresholds": {"blocking": {"pass_rate": "1%"}, "warning": _lenient()}}
    ).metrics
    found = {}
    for name in (*HIGHER, *LOWER):
        value = metrics[name].value if name in metrics else None
        if value is None:
            continue
        number, most = float(value), 5 if name == "stars_shown" else 1
        if name in LOWER and number > 0:
            found[name] = f"< {number - 1e-9:.9f}" + ("ms" if name.startswith("latency") else "")
        elif name in HIGHER and number < most:
            found[name] = f"> {number + 1e-9:.9f}"
    return found


def _lenient() -> dict[str, str]:
    return {
        **dict.fromkeys(("safety_rate", "behavior_coverage", "accuracy", "quality"), "≥ 0%"),
        **dict.fromkeys(("violation_rate", "error_rate"), "≤ 100%"),
        **dict.fromkeys(("latency_p50", "latency_p95"), "< 1000000ms"),
        "mean_cost": "≤ 1000000",
        "stars_shown": "≥ 0",
    }


def outcomes(file: Path, blocking: dict[str, str]) -> dict[str, Any]:
    policy = {"metrics": METRICS, "thresholds": {"blocking": blocking}, "cost_limit": 100}
    try:
        return {rule.metric: rule.outcome for rule in highbar.check(file, policy).rules if rule.level == "blocking"}
    except highbar.InputError:
        return dict.fromkeys(blocking)


def attempt(folder: Path, seed: int) -> int:
    """Break a test of a random project three times; returns how many rules were looked at."""
    chance = Random(seed)
    tests = project(chance)
    first = run(folder, text_of(tests))
    blocking = rules(first.file)
    before = outcomes(first.file, blocking)
    assert "pass" not in before.values(), before
    for _ in range(3):
        changed, what, is_late = broken(tests, chance)
        after = outcomes(run(folder, text_of(changed)).file, blocking)
        for name, outcome in after.items():
            message = f"seed {seed}: {name} {blocking[name]}: {before[name]} became {outcome}: {what}"
            assert outcome != "pass", message
            assert not is_late or RANK[outcome] <= RANK[before[name]], message
    return len(blocking)


@pytest.mark.slow
def test_a_test_that_breaks_never_makes_a_verdict_better(tmp_path: Path) -> None:
    assert sum(attempt(tmp_path, seed) for seed in range(6)) > 40
