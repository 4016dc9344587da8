"""Generated suites and policies → the sums of the SQL engine and of the row core, and where they differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from highbar.errors import InputError, Problem
from highbar.model.reduction import Group, RatioTotals
from tests.oracle.suites import rows_of

BLOCKING = {"pass_rate": "80%", "accuracy": "90%", "safety_rate": "100%"}
WARNING = {
    "behavior_coverage": "85%", "latency_p95": 5000, "error_rate": "< 10%", "violation_rate": "< 5%",
    "precision": "80%", "recall": "80%", "f1": "70%", "behavior_coverage_pooled": "80%", "token_efficiency": "0.001",
}  # fmt: skip
CHOICES: tuple[tuple[float, dict[str, Any]], ...] = (
    (0.3, {"required_scenarios": {"ids": ["SEC-001", "SEC-0*"]}}),
    (0.3, {"optional_scenarios": {"ids": ["EDGE-001", "P*"]}}),
    (0.4, {"evidence": "confident"}),
    (0.3, {"population": "suite"}),
    (0.3, {"positive": "spam"}),
    (0.3, {"pass_score": 0.75}),
    (0.3, {"latency_limit": "4s"}),
    (0.3, {"tokens_limit": 500}),
    (0.3, {"cost_limit": 0.5}),
    (0.1, {"trials": 1}),
    (0.1, {"trials": 3}),
    (0.1, {"trials": "as_recorded"}),
    (0.1, {"select": {"tags.locale": "de"}}),
    (0.2, {"pass_criteria": {"overall": "80%", "by_category": {"adversarial": "100%", "happy_path": "90%"}}}),
    (0.25, {"suite": "suite.json"}),
)
"""Keys of a policy, each with how often it is there."""
WEIGHTS = {
    "by_category": {"adversarial": 2.0, "edge_case": 1.5},
    "by_capability": {"core_function": 2.0},
    "by_metric": {"accuracy": 1.0, "pass_rate": 3.0},
}
METRICS = [
    {"name": "rub", "formula": "mean(rubric)", "better": "higher"},
    {"name": "st", "formula": "mean(stars)"},
    {"name": "dp", "formula": "percentile(doubt, 90%)", "better": "lower"},
]
RULES = [
    {"metric": "accuracy", "where": {"tags.locale": "de"}, "threshold": ">= 50%"},
    {"metric": "latency_p50", "where": {"category": "adversarial"}, "threshold": "< 5s"},
    {"metric": "pass_rate", "where": {"team": "blue"}, "threshold": ">= 10%"},
]
SLICES = ("category", "capability", "tags.locale", "team", "batch", "cluster")


def policy_of(random: Random) -> dict[str, Any]:
    """A policy with some of the keys that decide what is summed, and how a trial is scored."""
    blocking, warning = dict(BLOCKING), dict(WARNING)
    found: dict[str, Any] = {"thresholds": {"blocking": blocking, "warning": warning}}
    for share, keys in CHOICES:
        if random.random() < share:
            found |= keys
    if random.random() < 0.5:
        found["weights"] = WEIGHTS
        warning["weighted_score"] = "80%"
    if random.random() < 0.4:
        found["slices"] = random.sample(SLICES, 3)
    if random.random() < 0.4:
        found["rules"] = RULES
    if random.random() < 0.3:
        found["metrics"] = METRICS
    if random.random() < 0.2:
        blocking |= {"pass_at_2": "50%"}
        warning |= {"pass_hat_2": "50%"}
    return found


def write_case(seed: int, folder: Path) -> Path:
    """Write results, a policy and perhaps a suite; return the path of the results."""
    random = Random(seed)
    rows = rows_of(random, scenarios=random.choice([1, 3, 8, 20, 40]), uniform=random.random() < 0.5)
    if random.random() < 0.8:
        rows = [{name: value for name, value in row.items() if name != "agent_version"} for row in rows]
    suite = [_in_suite(random, row) for row in {row["id"]: row for row in rows}.values() if random.random() < 0.8]
    results = folder / "results.jsonl"
    results.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    (folder / "suite.json").write_text(json.dumps(suite if random.random() < 0.5 else {"scenarios": suite}), "utf-8")
    (folder / "highbar.json").write_text(json.dumps(policy_of(random)), "utf-8")
    return results


def _in_suite(random: Random, row: Mapping[str, Any]) -> dict[str, Any]:
    one: dict[str, Any] = {"id": row["id"], "category": row.get("category") or "happy_path"}
    demands = {"expected_behaviors": ["greets"], "must_not": ["swears"], "capability": "core_function"}
    return one | {name: value for name, value in demands.items() if random.random() < 0.2}


def refusal(error: InputError) -> list[tuple[object, ...]]:
    """What a refusal says."""
    return [
        (one.code, one.file and Path(one.file).name, one.line, one.message, _comparable(one)) for one in error.problems
    ]


def _comparable(problem: Problem) -> str | None:
    """The hint; which columns of the user's own rows can be chosen by is all that the core lists in another way."""
    return None if problem.code == "select.nothing" and "has a value" in problem.message else problem.hint


def differences(left: Any, right: Any, path: str = "") -> Iterator[str]:
    """Where two sums differ, but for the last digits of floats."""
    if isinstance(left, Group) and isinstance(right, Group):
        yield from _of_groups(left, right, path)
    elif isinstance(left, msgspec.Struct) and type(left) is type(right):
        for name in left.__struct_fields__:
            # Those who read the sums of first trials ask for their values alone.
            if not (path.endswith(".uneven.first") and name == "suite"):
                yield from differences(getattr(left, name), getattr(right, name), f"{path}.{name}")
    elif isinstance(left, Mapping):
        yield from _of_mappings(left, right, path)
    elif isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
        for place, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from differences(one, other, f"{path}[{place}]")
    elif left != right and not _nearly(left, right):
        yield f"{path}: {left!r} and {right!r}"


def _of_mappings(left: Mapping[Any, Any], right: Mapping[Any, Any], path: str) -> Iterator[str]:
    if left.keys() != right.keys():
        yield f"{path}: keys {left.keys() ^ right.keys()}"
    for key in left.keys() & right.keys():
        yield from differences(left[key], right[key], f"{path}[{key}]")


def _nearly(left: Any, right: Any) -> bool:
    numbers = isinstance(left, int | float | Fraction) and isinstance(right, int | float | Fraction)
    return numbers and (isinstance(left, float) or isinstance(right, float)) and abs(left - right) <= 1e-9 * abs(left)


def _of_groups(left: Group, right: Group, path: str) -> Iterator[str]:
    for name in ("by", "scenarios", "trials", "totals", "ranks"):
        yield from differences(getattr(left, name), getattr(right, name), f"{path}.{name}")
    defined = [
        ratio
        for ratio in left.ratios
        if all(left.totals[term].scenarios for term, _ in (*ratio.z, *ratio.d)) and _counts_alike(ratio)
    ]
    for ratio in defined:
        yield from _of_ratios(left.ratios[ratio], right.ratios[ratio], f"{path}.ratios[{ratio}]")
    for pair in left.crosses:
        if set(pair) <= set(defined):
            yield from differences(left.crosses[pair], right.crosses[pair], f"{path}.crosses[{pair}]")


def _counts_alike(ratio: Any) -> bool:
    """Whether both engines sum the same products of a ratio.

    Where the lower sum counts the scenarios that have another column than the upper one, or enough trials, the engine
    takes a scenario without it for one with it; the core does not.
    """
    lower, upper = {term.column for term, _ in ratio.d}, {term.column for term, _ in ratio.z}
    counted = any(term.of == "count" for term, _ in ratio.d)
    return not counted or (lower == upper and not any(name.startswith("pass_") for name in lower))


def _of_ratios(left: RatioTotals, right: RatioTotals, path: str) -> Iterator[str]:
    yield from differences(left.sums, right.sums, f"{path}.sums")
    yield from differences(left.largest, right.largest, f"{path}.largest")
    for name in ("trials", "thirds", "imperfect", "nonzero", "noise"):  # the engine also has some that nobody asked for
        one, other = getattr(left, name), getattr(right, name)
        if one and other:
            yield from differences(one, other, f"{path}.{name}")
