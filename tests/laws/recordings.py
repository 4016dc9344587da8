"""What a pytest test does not record never helps: delete one recording call, and no rule passes that did not before.

The projects and the rules, which stand just beyond the values of their metrics, are those of the law about tests that
break. A call is deleted if the mark of its test demands what it records, or if another trial of the scenario records
the same column: what nobody asks for, a test need not record.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.unit.pytest_plugin.sessions import run
from tests.unit.pytest_plugin.test_breaking import Project, outcomes, project, rules, text_of

MOST_TRIED = 5
"""Calls of one project that are deleted, each alone."""
DEMANDED = ("behaviors.observed", "behaviors.violated", "behaviors.predicted")


def labeled(tests: Project, chance: Random) -> Project:
    """The tests; some of them also demand and predict a label."""
    found = []
    for mark, lines in tests:
        if "id='T" in mark and not any("correct" in line for line in lines) and chance.random() < 0.5:
            label = chance.choice(["refund", "other"])
            found.append((f"{mark}, expected='refund'", [f"behaviors.predicted({label!r})", *lines]))
        else:
            found.append((mark, lines))
    return found


def _name(line: str) -> str:
    return line.partition("(")[0]


def deletions(tests: Project) -> Iterator[tuple[str, Project]]:
    """Each recording call, and the tests without it."""
    for number, (mark, lines) in enumerate(tests):
        trials = [more for other, (same, more) in enumerate(tests) if same == mark and other != number]
        demanded = {*DEMANDED, *(_name(line) for more in trials for line in more)}
        for place, line in enumerate(lines):
            if line.startswith("behaviors.") and _name(line) in demanded:
                left = (mark, [*lines[:place], *lines[place + 1 :]])
                yield f"test_{number} without {line}", [*tests[:number], left, *tests[number + 1 :]]


def attempt(seed: int, folder: Path) -> str:
    """One project without some of its recording calls, each alone. Raises AssertionError if a rule passes then."""
    chance = Random(seed)
    tests = labeled(project(chance), chance)
    file = run(folder, text_of(tests)).file
    blocking = rules(file)
    before = outcomes(file, blocking)
    found = list(deletions(tests))
    for what, changed in chance.sample(found, min(MOST_TRIED, len(found))):
        after = outcomes(run(folder, text_of(changed)).file, blocking)
        better = [name for name, outcome in after.items() if outcome == "pass" != before[name]]
        assert not better, f"seed {seed}: {better} of {blocking} pass: {what}"
    return f"{len(tests)} tests"
