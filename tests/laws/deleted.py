"""Deleting rows never makes a PASS where something says how many there were to be.

`attempt(seed, folder)` makes results of several trials from the seed, and a policy that does not pass, or passes. The
number of trials is said by the policy, a suite, a baseline or the other side of a comparison. Then any rows are
deleted: of bad trials, of one scenario, at random. What did not pass must not pass; where it passed, it may.

Let through: beside a baseline all scenarios lack the same number of trials. That is another plan, and a note says so.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import highbar
from tests.commandline import run

Row = dict[str, Any]

SAID_BY = ("policy", "suite", "baseline", "comparison", "comparison of a baseline")
HIGH = ("pass_rate", "accuracy", "safety_rate", "pass_at_2", "pass_hat_2", "behavior_coverage", "weighted_pass_rate")
LOW = {"violation_rate": "%", "error_rate": "%", "latency_p50": "ms", "latency_p95": "ms", "cost_per_pass": ""}
LEVELS = ("blocking", "blocking", "warning")


def attempt(seed: int, folder: Path) -> str:
    """One suite from the seed, before and after rows are deleted; an AssertionError is a fault."""
    chance = random.Random(seed)
    said_by = chance.choice(SAID_BY)
    rows = _rows(chance)
    policy = _policy(chance)
    base = None
    if said_by == "policy":
        policy["trials"] = max(row["trial"] for row in rows)
    elif said_by == "suite":
        policy["suite"] = str(_suite(chance, rows, folder))
    else:
        margin = chance.choice(({"pass_rate": "2%"}, {"accuracy": "2%"}, {"latency_p50": "2% of baseline"}))
        policy["baseline"] = {"file": "baseline.json", "margin": margin}
        if chance.random() < 0.5:
            policy["baseline"]["new_failures"] = "all"
        base = _base(chance, rows, policy, folder, recorded=said_by != "comparison")
    whole = said_by != "policy"  # a policy does not say which scenarios there were to be
    left = _without_some(chance, rows, whole=whole)
    if base is not None and _equally_fewer(rows, left):
        return f"{said_by}: another plan"
    before, after = (_verdict(one, policy, base, compared=said_by.startswith("comparison")) for one in (rows, left))
    assert after != "pass" or before == "pass", (
        f"{said_by}: {before} before, pass without {len(rows) - len(left)} of {len(rows)} rows; {json.dumps(policy)}"
    )
    return f"{said_by}: {before}, then {after}"


def _equally_fewer(rows: Sequence[Row], left: Sequence[Row]) -> bool:
    before, after = (Counter(row["id"] for row in one) for one in (rows, left))
    return set(before) == set(after) and len(set(after.values())) == 1


def _rows(chance: random.Random) -> list[Row]:
    trials = chance.randint(2, 5)
    share = chance.choice((0.5, 0.8, 0.95))
    with_errors, with_costs = chance.random() < 0.3, chance.random() < 0.5
    rows = []
    for place in range(chance.randint(1, 12)):
        column = "safety" if chance.random() < 0.3 else "usual"
        for trial in range(1, trials + 1):
            good = chance.random() < share
            row: Row = {"id": f"S{place}", "trial": trial, "category": column, "passed": good, "correct": good}
            row |= {"must_not": ["leak"], "violations": [] if good or chance.random() < 0.5 else ["leak"]}
            row |= {"expected_behaviors": ["a"], "behaviors": {"a": good}}
            row["latency_ms"] = chance.choice((100, 200, 900)) + (0 if good else 500)
            if with_errors and not good and chance.random() < 0.5:
                row["error"] = "crashed"
            if with_costs:
                row["cost_usd"] = 0.01 * chance.randint(1, 9)
            rows.append(row)
    return rows


def _policy(chance: random.Random) -> dict[str, Any]:
    thresholds: dict[str, dict[str, str]] = {}
    for _ in range(chance.randint(1, 3)):
        if chance.random() < 0.7:
            name, threshold = chance.choice(HIGH), f">= {chance.choice((50, 70, 80, 90, 95, 100))}%"
        else:
            name, unit = chance.choice(list(LOW.items()))
            threshold = (
                f"<= {chance.choice({'%': (0, 5, 20, 50), 'ms': (150, 300, 1000), '': (0.02, 0.1)}[unit])}{unit}"
            )
        thresholds.setdefault(chance.choice(LEVELS), {})[name] = threshold
    policy: dict[str, Any] = {"thresholds": thresholds}
    if chance.random() < 0.4:
        policy["evidence"] = "confident"
    return policy


def _suite(chance: random.Random, rows: Sequence[Row], folder: Path) -> Path:
    trials = max(row["trial"] for row in rows)
    ids = list(dict.fromkeys(row["id"] for row in rows))
    scenarios = [{"id": id_} for id_ in ids]
    suite: Any = {chance.choice(("trials", "defaults", "run")): trials, "scenarios": scenarios}
    for key in ("defaults", "run"):
        if key in suite:
            suite[key] = {"trials": trials}
    if chance.random() < 0.3:
        suite = [{"id": id_, "trials": trials} for id_ in ids]
    path = folder / "suite.json"
    path.write_text(json.dumps(suite), "utf-8")
    return path


def _base(chance: random.Random, rows: Sequence[Row], policy: dict[str, Any], folder: Path, *, recorded: bool) -> str:
    """The path of earlier results of the same trials, a little worse or better, or of a baseline made of them."""
    before = [{**row, "passed": good, "correct": good} for row in rows for good in [chance.random() < 0.8]]
    path = folder / "before.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in before), "utf-8")
    if not recorded:
        return str(path)
    (folder / "highbar.json").write_text(json.dumps(policy), "utf-8")
    options = ("--policy", "highbar.json", "--output", "baseline.json", "--force", "a test")
    done = run(folder, "baseline", "record", "before.jsonl", *options)
    assert done.exit == 0, done.err
    policy["baseline"]["file"] = str(folder / "baseline.json")
    return policy["baseline"]["file"]


def _without_some(chance: random.Random, rows: Sequence[Row], *, whole: bool) -> list[Row]:
    """The rows without some; `whole`: all trials of a scenario may be gone."""
    bad = [row for row in rows if not row["passed"]]
    kinds = {
        "bad": bad,
        "bad or slow": [row for row in rows if not row["passed"] or row["latency_ms"] > 200],
        "random": list(rows),
        "of one": [row for row in rows if row["id"] == rows[0]["id"]],
    }
    found = kinds[chance.choice(list(kinds))] or list(rows)
    gone = {(row["id"], row["trial"]) for row in chance.sample(found, chance.randint(1, len(found)))}
    left = [row for row in rows if (row["id"], row["trial"]) not in gone]
    if not whole:
        there = {row["id"] for row in left}
        first = {row["id"]: row for row in reversed(rows)}
        left += [row for id_, row in first.items() if id_ not in there]
    return left or [rows[0]]


def _verdict(rows: Sequence[Row], policy: Mapping[str, Any], base: str | None, *, compared: bool) -> str:
    try:
        if compared:
            assert base is not None
            return str(highbar.compare(base, rows, policy).verdict)
        return str(highbar.check(rows, policy, baseline=base).verdict)
    except highbar.InputError:
        return "refused"
