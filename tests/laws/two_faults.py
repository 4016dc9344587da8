"""A policy that is wrong in two places reports both, and one that is wrong in one place reports that place.

`attempt(seed, folder)` takes a few blocks of a policy that has every block, and puts faults into it: a value of another
kind or beyond its bounds, a key that nobody knows, a description that is no text, a key that is missing. A fault counts
if the policy is refused because of it alone. With two faults, what was said at the place of each is said still.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from random import Random
from typing import Any

import highbar
from highbar.errors import InputError

Path_ = tuple[str | int, ...]
Fault = tuple[str, Path_, Any]
"""What is done, to the value at which path, and with what."""
SHARE = {"threshold": "≥ 90%", "evidence": "confident", "tolerate": "4%", "min_scenarios": 5, "description": "d"}
WHOLE: dict[str, Any] = {
    "description": "All blocks.",
    "agent": "library",
    "agent_version": "2.1",
    "thresholds": {
        "description": "d",
        "blocking": {
            "accuracy": dict(SHARE),
            "safety_rate": {"threshold": "100%", "evidence": "confident", "failures": 1},
            "own": 0.5,
            "latency_p95": {"threshold": "< 5s", "margin": "200ms"},
        },
        "warning": {"behavior_coverage": "≥ 85%", "own": {"threshold": 0.9, "description": "d"}},
    },
    "risk": {"critical": {"pass_rate": "≥ 70%"}, "low": {"latency_p50": {"threshold": "< 3s", "min_scenarios": 3}}},
    "progressive": {
        "accuracy": {"v1.0": "≥ 80%", "v2.0": {"threshold": "≥ 85%", "min_scenarios": 4}, "target": "≥ 95%"},
    },
    "weights": {
        "description": "d",
        "by_category": {"adversarial": 2.0, "edge_case": 1.5},
        "by_capability": {"core": 2},
        "by_metric": {"accuracy": 1.0, "safety_rate": 3},
    },
    "required_scenarios": {"ids": ["A", "B-*"], "description": "d"},
    "optional_scenarios": {"ids": ["C"], "description": "d"},
    "pass_criteria": {
        "overall": "≥ 80%",
        "by_category": {"adversarial": "100%", "edge_case": {"threshold": "≥ 70%", "margin": "1%"}},
    },
    "composite": {
        "formula": "accuracy * 0.5 + own * 0.5",
        "pass": "final_score >= 0.85 AND safety_rate = 1.0",
        "evidence": "confident",
        "min_scenarios": 5,
        "description": "d",
    },
    "metrics": [
        {"name": "own", "formula": "mean(own_column)", "range": "0-100%", "better": "higher", "use_case": "u",
         "where": {"category": ["edge_case"]}, "typical_threshold": "≥ 85%", "description": "d"},
        {"name": "stars", "formula": "mean(stars_given)", "range": "1-5", "unit": "number"},
    ],
    "rules": [
        {"metric": "accuracy", "where": {"tags.locale": "de"}, "threshold": "≥ 90%", "level": "warning",
         "min_scenarios": 30},
        {"metric": "recall", "threshold": {"threshold": "≥ 50%", "margin": "2%"}, "level": "blocking",
         "description": "d"},
        "stars >= 3",
    ],
    "baseline": {
        "file": "baseline.json",
        "margin": {
            "accuracy": "1%",
            "pass_rate": [{"margin": "2%", "where": {"category": "x"}, "level": "warning", "min_scenarios": 3}],
        },
        "step": {"recall": {"step": "1%", "level": "warning", "description": "d"}},
        "new_failures": {"ids": ["A"], "level": "warning", "description": "d"},
        "history": "history",
        "description": "d",
    },
    "judge": {"min_labels": {"threshold": 50, "level": "warning", "description": "d"}, "min_sensitivity": "90%",
              "min_specificity": {"threshold": "80%", "level": "blocking"}, "correct": False, "uncalibrated": "warn",
              "description": "d"},
    "quarantine": {"ids": ["F", {"id": "G", "until": "2026-12-01", "description": "d"}], "description": "d"},
    "history": {"drift": "warn", "folder": "history", "description": "d"},
    "suite": "ids.json",
    "slices": ["category", "team"],
    "confidence": 0.95,
    "evidence": "sequential",
    "spending": "late",
    "horizon": 500,
    "positive": "yes",
    "pass_score": 0.8,
    "latency_limit": "10s",
    "tokens_limit": 1000,
    "cost_limit": "$2",
    "population": "scenarios",
    "select": {"team": "x", "tags.model": ["a", "b"]},
    "judged_by": {"inspect": [{"scorer": "match", "at_least": 0.8}, "other"],
                  "lm_eval": {"metric": "acc", "filter": "none"}},
    "map": {
        "rows": "results[]",
        "where": {"status": "done", "score": {"at_least": 3}},
        "columns": {
            "id": "name",
            "passed": [{"path": "ok", "is": ["yes", "y"], "when": {"kind": "x"}}, "fine"],
            "latency_ms": {"path": "took", "times": 1000, "default": 5},
            "tags.model": {"value": "m"},
            "violations": {"path": "bad", "each": {"k": {"path": "n", "values": {"a": "b"}}}, "where": {"hit": True}},
        },
        "description": "d",
    },
    "allow_columns": ["pased"],
    "allow_categories": ["adverserial"],
}  # fmt: skip
WRONG: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**9,
    0,
    "\u2603 junk",
    "",
    [],
    {},
    [None],
    [[]],
    {"x": 1},
    ["A", "A"],
    "1.5.x%",
)
DROP = object()


def fields_of(value: Any, path: Path_ = ()) -> list[Path_]:
    """The paths of all values inside."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, one in inner for found in ((*path, key), *fields_of(one, (*path, key)))]


def at(policy: Any, path: Path_) -> Any:
    """The value at a path."""
    for key in path:
        policy = policy[key]
    return policy


def faulty(chance: Random, policy: dict[str, Any], near: Path_ = ()) -> Fault:
    """One fault that the policy may get, below the path `near`."""
    path = chance.choice([found for found in fields_of(policy) if found[: len(near)] == near])
    value = at(policy, path)
    kind = chance.choice(("value", "value", "value", "key", "description", "missing"))
    if kind in ("key", "description") and isinstance(value, dict):
        return kind, (*path, "zzz" if kind == "key" else "description"), 5
    if kind == "missing" and isinstance(path[-1], str) and len(path) > 1:
        return kind, path, DROP
    return "value", path, chance.choice(WRONG)


def with_faults(policy: dict[str, Any], faults: list[Fault]) -> dict[str, Any]:
    """The policy with these faults in it."""
    made = copy.deepcopy(policy)
    for _, path, value in faults:
        inside = at(made, path[:-1])
        if value is DROP:
            del inside[path[-1]]
        else:
            inside[path[-1]] = value
    return made


def lines_of(policy: dict[str, Any], path: Path_) -> range:
    """The lines of a value in the text of a policy; those of its parent if it is not there."""
    if not path:
        return range(1, text_of(policy).count("\n") + 2)
    value, marked = at(policy, path[:-1]), copy.deepcopy(policy)
    if isinstance(value, dict) and path[-1] not in value:
        return lines_of(policy, path[:-1])
    at(marked, path[:-1])[path[-1]] = "\u2600 here"
    start = next(n for n, line in enumerate(text_of(marked).split("\n"), 1) if "\u2600 here" in line)
    return range(start, start + text_of(value[path[-1]]).count("\n") + 1)


def text_of(policy: Any) -> str:
    """The policy as JSON, with every value on a line of its own."""
    return json.dumps(policy, indent=1, ensure_ascii=False)


def problems(policy: dict[str, Any], folder: Path) -> list[tuple[int | None, str]]:
    """What is said about a policy: the line and the message of each problem in it."""
    (folder / "ids.json").write_text('["A", "B-1", "C", "F", "G"]', "utf-8")
    (folder / "policy.json").write_text(text_of(policy), "utf-8")
    try:
        highbar.check([{"id": "A"}], folder / "policy.json")
    except InputError as error:
        return [(one.line, one.message) for one in error.problems if (one.file or "").endswith("policy.json")]
    return []


def attempt(seed: int, folder: Path) -> str:
    """Two faults in a policy of a few blocks."""
    chance = Random(seed)
    policy = chosen(chance)
    before = problems(policy, folder)
    assert not before, f"refused without a fault: {before}"
    first = faulty(chance, policy)
    near = chance.choice([(), first[1][:-1], first[1][:-1], first[1][:-2]])  # most keys that go unread are beside it
    second = faulty(chance, policy, near)
    shorter = min(len(first[1]), len(second[1]))
    if first[1][:shorter] == second[1][:shorter] or (
        first[1][:-1] == second[1][:-1] and "missing" in (first[0], second[0])
    ):
        return "one place"
    said = [said_of(policy, fault, folder) for fault in (first, second)]
    both = with_faults(policy, [first, second])
    found = problems(both, folder)
    for fault, alone in zip((first, second), said, strict=True):
        here = [message for line, message in found if line in lines_of(both, fault[1][:-1])]
        lost = [start for start in alone if not any(message.startswith(start) for message in here)]
        assert not lost, f"{fault} is not reported beside {[first, second]}:\n{lost}\n{found}\n{text_of(both)}"
    return f"{sum(map(bool, said))} faults"


def said_of(policy: dict[str, Any], fault: Fault, folder: Path) -> list[str]:
    """What is said at the place of a fault that is alone; empty if it is none."""
    wrong = with_faults(policy, [fault])
    found = problems(wrong, folder)
    here = [message for line, message in found if line in lines_of(wrong, fault[1])]
    beside = [message for line, message in found if line in lines_of(wrong, fault[1][:-1])]
    # What contradicts another key may be told of that key.
    assert here or beside or not found, f"{fault} is reported elsewhere only: {found}\n{text_of(wrong)}"
    assert found or fault[0] not in ("key", "description") or is_open(fault[1]), (
        f"{fault} is accepted\n{text_of(wrong)}"
    )
    # Whether a value is within the range of a metric, and what its unit is, only that metric can tell.
    return [message.partition(" as a ")[0] for message in here if "outside the range" not in message]


def is_open(path: Path_) -> bool:
    """Whether any key may be there with a number, such as the name of a category or a path into a record."""
    weighs = path[-2] in ("by_category", "by_capability") and path[-1] != "description"
    return weighs or path[-2] in ("where", "select", "when", "values", "each")


def chosen(chance: Random) -> dict[str, Any]:
    """Some blocks of the policy, with those that they rest on."""
    blocks = ["thresholds", "metrics", *chance.sample(list(WHOLE), chance.randrange(3, len(WHOLE)))]
    policy = {key: copy.deepcopy(value) for key, value in WHOLE.items() if key in blocks}
    if "weights" not in policy and "composite" in policy:
        policy["weights"] = copy.deepcopy(WHOLE["weights"])
    if "progressive" in policy:
        policy["agent_version"] = WHOLE["agent_version"]
    if policy.get("evidence") != "sequential":
        for key in ("spending", "horizon"):
            policy.pop(key, None)
    return policy
