"""Suites of results as hypothesis draws them: every form of every column, and every way to leave one out.

All is chosen by a `Random` that hypothesis hands out: one whose every choice it records, and so can shrink, for small
suites; a seeded one for large suites, where recording would take longer than the check itself.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st

Row = dict[str, Any]

IDS = (
    *("SEC-001", "SEC-002", "CORE-001", "EDGE-001", "PERF-001", "a", "A", "a ", " b", "ü", "u\u0308", "東京/1", "🙂"),
    *("'; DROP TABLE t; --", '"quoted"', "a,b;c", "[x]", "x*", "1", "001", "1.0", "null", "true", "NaN", "=1+1"),
    *("x%_y", "\\", "-", "a:b", "{}", "#", "${x}", "SEC-01", "long " * 40 + "id", "a\u200b", "\u202ecba", "x\u2028y"),
    *("'", "''", '"', "a\u00a0b", "\ufffd", "\U0010ffff", "ß", "ẞ", "İ", "../x", "a\\nb", "{x}", "<b>", "0", "-0"),
)
CATEGORIES = ("happy_path", "adversarial", "edge_case", "regression", "billing", "Grüße 東京")
CAPABILITIES = ("core_function", "convenience_feature", "refunds; fast")
LOCALES = ("de", "fr", "pt-BR")
TEAMS = ("blue", "red team", "Δ")
EXPECTED = ("greets", "cites source", "asks; then waits", "naïve", 'says "no"')
FORBIDDEN = ("leaks_secret", "swears", "greets", "[draws]")
LABELS = ("spam", "ham", "Spam", "nötig")
VERSIONS = ("2.1.0", "v1.10", "0.9")
LATENCIES = (0, 1, 12.5, 250, 999.75, 4999, 5000, 5000.5, 60000)
WEIGHTS = (1, 2, 0.5, 0.25, 3, 1.5)

COLUMNS = (
    *("expected_behaviors", "behaviors", "must_not", "violations", "passed", "correct", "labels", "latency_ms"),
    "answer_checked",
    *("tokens_used", "quality_score", "cost_usd", "error", "unjudged", "input", "output", "note"),
    *("rubric", "stars", "doubt"),
)
# What a blank trial may have: nothing that anyone found out about the answer.
UNJUDGING = (
    "expected_behaviors",
    "answer_checked",
    "latency_ms",
    "tokens_used",
    "cost_usd",
    "unjudged",
    "input",
    "output",
    "note",
)
SCENARIO_COLUMNS = ("category", "capability", "weight", "cluster", "tags", "team", "batch", "suite", "judge")
FORMS = ("list", "mapping", "entries")


@dataclass(frozen=True)
class Shape:
    """What is chosen once for a whole suite: its columns, and, where it is uniform, the one form of each."""

    columns: frozenset[str]
    labels: str
    errors: tuple[str, ...]
    behaviors_form: str | None = None
    must_not_form: str | None = None
    violations_form: str | None = None

    @property
    def uniform(self) -> bool:
        """Whether each column has one form throughout."""
        return self.behaviors_form is not None


def shape_of(random: Random, *, uniform: bool) -> Shape:
    """Most columns, one way to label."""
    columns = frozenset(column for column in COLUMNS + SCENARIO_COLUMNS if random.randrange(4))
    errors = ("",) * random.choice((30, 3)) + ("timeout", "☠ crash\nhere")
    if not uniform:
        return Shape(columns, random.choice(("bool", "text", "outcome", "both")), errors)
    forms = (random.choice(FORMS), random.choice(FORMS), random.choice(("names", "count")))
    return Shape(columns, random.choice(("bool", "text", "outcome")), errors, *forms)


def few(random: Random, names: Sequence[str], most: int) -> list[str]:
    """Up to `most` names, some perhaps twice."""
    return [random.choice(names) for _ in range(random.randrange(most + 1))]


def in_form(held: dict[str, bool | None], form: str, flag: str) -> Any:
    """What holds and what does not, in one of the three forms; a plain list names only what holds."""
    if form == "list":
        return [name for name, holds in held.items() if holds]
    return held if form == "mapping" else [{"name": name, flag: holds} for name, holds in held.items()]


def null_in(form: str) -> bool | None:
    """A mark that says nothing, in the one form that allows it."""
    return None if form == "mapping" else False


def behaviors(random: Random, shape: Shape) -> Any:
    """What was seen: expected things, other things, seldom forbidden ones; in a list sometimes twice."""
    seen = few(random, EXPECTED, 5) + random.choice(([], [], [], ["swears"], ["hums"]))
    form = shape.behaviors_form or random.choice(FORMS)
    if form == "list":
        return seen
    unseen = dict.fromkeys(few(random, EXPECTED + FORBIDDEN, 2), random.choice((False, False, null_in(form))))
    return in_form(unseen | dict.fromkeys(seen, True), form, "observed")


def must_not(random: Random, shape: Shape) -> Any:
    """What must not happen; in the forms that can say so, it seldom has."""
    names = few(random, FORBIDDEN, 2)
    form = shape.must_not_form or random.choice(FORMS)
    marks = {name: random.choice((False, False, False, False, True, null_in(form))) for name in names}
    return names if form == "list" else in_form(marks, form, "violated")


def violations(random: Random, shape: Shape) -> Any:
    """What did happen of it, by name or as a count."""
    form = shape.violations_form or random.choice(("names", "count"))
    return random.choice(([], [], [], ["swears"], ["a; b", "c"]) if form == "names" else (0, 0, 0, 1, 3))


def labels(random: Random, shape: Shape) -> Row:
    """`outcome`, or `expected` and `predicted`; each may be absent."""
    kind = random.choice(("bool", "outcome")) if shape.labels == "both" else shape.labels
    if shape.labels == "both" and not random.randrange(3):  # says it twice, perhaps not the same
        return labels(random, replace(shape, labels="bool")) | labels(random, replace(shape, labels="outcome"))
    if kind == "outcome":
        return {"outcome": random.choice(("tp", "tp", "tn", "fp", "fn", None))}
    choices = (True, True, False, None) if kind == "bool" else (LABELS[0], *LABELS, None)
    expected = random.choice(choices)
    return {"expected": expected, "predicted": random.choice((expected, *choices))}


PLAIN: dict[str, tuple[Any, ...]] = {
    "passed": (True, True, True, False),
    "correct": (True, True, True, False),
    "answer_checked": (True, False),
    "latency_ms": LATENCIES,
    "tokens_used": (1, 0, 7, 100, 1234),
    "quality_score": (1, 0, 0.25, 0.5, 0.9),
    "cost_usd": (0.125, 0, 0.01, 2),
    "rubric": (1, 0, 0.25, 0.9, 0.6),
    "stars": (5, 1, 3, 4.5),
    "doubt": (0, 7, 2.5, 100),
    "unjudged": ("", "", "", "judge failed", "not run"),
    "input": ("hi", "", "${x}"),
    "output": ("No.", "Never.", "", " \t\n", "\u00a0", "<b>x</b>\n::error::"),
    "note": ("three", 3, True, None, 0.5, [1], {"k": "v"}),
}
FORMED = {"behaviors": behaviors, "must_not": must_not, "violations": violations}


def value(random: Random, column: str, shape: Shape) -> Any:
    """One value of one column of a trial."""
    if column in FORMED:
        return FORMED[column](random, shape)
    if column == "error":
        return random.choice(shape.errors)
    if column == "expected_behaviors":
        return few(random, EXPECTED, 3)
    if column == "note" and shape.uniform:
        return random.choice(("three", "3", "x;y"))
    return random.choice(PLAIN[column])


def trial_row(random: Random, shape: Shape) -> Row:
    """The columns of one trial that may differ between the trials of a scenario; a null may stand for an absent one."""
    if "error" in shape.columns and random.choice(shape.errors) and random.randrange(2):
        return {"error": "crashed before anything"}
    judged_by_caller = random.randrange(4) == 3
    row: Row = {}
    for column in UNJUDGING if not random.randrange(15) else COLUMNS:
        if column not in shape.columns or not random.randrange(5) or (column == "passed" and not judged_by_caller):
            continue
        row |= labels(random, shape) if column == "labels" else {column: value(random, column, shape)}
        if not random.randrange(12):
            row[column if column != "labels" else "predicted"] = None
    return row


def scenario_row(random: Random, shape: Shape) -> Row:
    """The columns on which all trials of a scenario agree."""
    values: Row = {
        "category": random.choice(CATEGORIES),
        "capability": random.choice(CAPABILITIES),
        "weight": random.choice(WEIGHTS),
        "cluster": random.choice(("t1", "t2")),
        "tags": random.choice(({"locale": "de"}, {"locale": "fr", "tier": "gold"}, {"locale": "pt-BR"}, {})),
        "team": random.choice(TEAMS),
        "batch": random.choice((1, 2, 10)),
        "suite": "nightly",
        "judge": random.choice(("rules", "model-1")),
    }
    kept = {column: values[column] for column in SCENARIO_COLUMNS if column in shape.columns and random.randrange(7)}
    return {column: kept[column] if random.randrange(10) else None for column in kept}


def trial_numbers(random: Random, least: int, most: int) -> list[int | None]:
    """Distinct numbers, in any order; a single trial often has none, and one of several may have none."""
    numbers: list[int | None] = list(random.sample(range(6), least + random.randrange(most - least + 1)))
    if random.randrange(10) < (6 if len(numbers) == 1 else 1):
        numbers[0] = None
    return numbers


def rows_of(random: Random, *, scenarios: int, uniform: bool = False) -> list[Row]:
    """The rows of one check: up to so many scenarios, each with a few trials or all with one."""
    shape = shape_of(random, uniform=uniform)
    version = random.choice((None, None, *VERSIONS))
    least, most = random.choice(((1, 1), (1, 2), (2, 3), (1, 4), (3, 3)))
    rows = []
    for name in random.sample(IDS, min(random.randrange(scenarios) + 1, len(IDS))):
        shared = scenario_row(random, shape)
        for number in trial_numbers(random, least, most):
            said = {column: shared[column] for column in shared if random.randrange(10)}
            row = {"id": name, **said, **trial_row(random, shape)}
            if number is not None:
                row["trial"] = number
            if version is not None:
                row["agent_version"] = version
            rows.append(row)
    # Results that say nothing about any rule are refused; this row says something.
    judged: Row = {"id": "JUDGED", "correct": True, "violations": 0 if shape.violations_form == "count" else []}
    rows.append(judged | ({} if version is None else {"agent_version": version}))
    random.shuffle(rows)
    return rows


def recorded() -> st.SearchStrategy[Random]:
    """For small suites: every choice is recorded, so that a failing example becomes a small one."""
    return st.randoms(use_true_random=False)


class Seeded(Random):
    """Shows the seed it was made from, with which a failure can be repeated."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._made_from = seed

    def __repr__(self) -> str:
        return f"Seeded({self._made_from}) # again: scripts/laws --seed {self._made_from} -k NAME_OF_THE_TEST"


def seeded() -> st.SearchStrategy[Random]:
    """For large suites: fast, and the same for the same seed; HIGHBAR_SEED is the only one that is tried."""
    only = os.environ.get("HIGHBAR_SEED")
    return (st.just(int(only)) if only else st.integers(0, 2**32 - 1)).map(Seeded)


def examples(count: int) -> settings:
    """So many seeds, without shrinking: a smaller seed is no smaller suite. scripts/laws tries HIGHBAR_LAWS of them.

    `scripts/test` tries the same ones every time, `scripts/laws` others every time.
    """
    tried = int(os.environ.get("HIGHBAR_LAWS", count))
    return settings(max_examples=tried, phases=(Phase.explicit, Phase.reuse, Phase.generate))
