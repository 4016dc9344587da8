"""Every folder beside this file is a case; `README.md` here says how to add one."""

from __future__ import annotations

import json
import math
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.commandline import run
from tests.golden.guide import FORMS, METRICS

HERE = Path(__file__).resolve().parent
CASES = sorted(folder for folder in HERE.iterdir() if (folder / "expected.json").exists())
FRAGMENTS = {"reason", "message", "hint", "warnings"}
KEYS = {"exit", "verdict", "counts", "metrics", "rules", "no_other_rules", "scenarios_failed", "warnings", "problems"}
KEYS |= {"scenarios_undecided"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_case_comes_out_as_expected(case: Path, tmp_path: Path) -> None:
    expected = json.loads((case / "expected.json").read_text("utf-8"))
    folder = tmp_path / "case"
    shutil.copytree(case, folder, ignore=shutil.ignore_patterns("expected.json", "README.md", "args.txt"))
    done = run(folder, *arguments(case))

    assert done.exit == expected["exit"], f"exit {done.exit}\n{done.out}\n{done.err}"
    actual = done.json
    if expected.pop("no_other_rules", False):
        assert {rule["rule"] for rule in actual["rules"]} == set(expected["rules"])
    differences = list(mismatches(expected, by_name(actual) | {"exit": done.exit}))
    assert not differences, "\n".join([*differences, done.out])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_case_is_complete(case: Path) -> None:
    expected = json.loads((case / "expected.json").read_text("utf-8"))
    assert {"exit"} <= set(expected) <= KEYS
    assert len(list(case.glob("results.*"))) == 1
    assert len(list(case.glob("policy.*"))) <= 1
    assert (case / "README.md").read_text("utf-8").strip()


def test_every_folder_is_a_case() -> None:
    folders = {folder for folder in HERE.iterdir() if folder.is_dir() and folder.name != "__pycache__"}
    assert folders == set(CASES)


@pytest.mark.parametrize("wanted", FORMS, ids=lambda wanted: next(iter(wanted)))
def test_every_form_that_the_guide_shows_is_a_case(wanted: dict[str, Any]) -> None:
    policies = [yaml.safe_load(file.read_text("utf-8")) for case in CASES for file in case.glob("policy.*")]
    assert any(holds(policy, wanted) for policy in policies)


@pytest.mark.parametrize(("name", "facts"), METRICS.items(), ids=METRICS)
def test_every_metric_that_the_guide_defines_is_a_case(name: str, facts: dict[str, str]) -> None:
    policies = [yaml.safe_load(file.read_text("utf-8")) for case in CASES for file in case.glob("policy.*")]
    assert any(holds(metric, {"name": name, **facts}) for policy in policies for metric in policy.get("metrics", ()))


def holds(found: Any, wanted: Any) -> bool:
    """If everything wanted is there; formulas are compared without their spaces."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(key in found and holds(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, str) and isinstance(found, str):
        return "".join(found.split()) == "".join(wanted.split())
    return bool(found == wanted)


def arguments(case: Path) -> list[str]:
    """`check`, the results, the policy if there is one, JSON, and the case's own arguments."""
    results = next(case.glob("results.*")).name
    policy = [part for file in case.glob("policy.*") for part in ("--policy", file.name)]
    extra = (case / "args.txt").read_text("utf-8").splitlines() if (case / "args.txt").exists() else []
    return ["check", results, *policy, "--format", "json", *extra]


def by_name(verdict: dict[str, Any]) -> dict[str, Any]:
    """The verdict with its rules as a mapping from their names, which are unique."""
    rules = {rule["rule"]: rule for rule in verdict.get("rules", ())}
    assert len(rules) == len(verdict.get("rules", ())), "two rules have one name"
    return verdict | {"rules": rules}


def mismatches(expected: Any, actual: Any, place: str = "") -> list[str]:
    """Where `actual` lacks something of `expected`: objects and lists as subsets, texts of `FRAGMENTS` as parts."""
    here = f"{place or 'verdict'}: wanted {expected!r}, found {actual!r}"
    if isinstance(expected, dict) and isinstance(actual, dict):
        lacking = [f"{place}.{key} is not there" for key in expected if key not in actual]
        return lacking + [
            found
            for key, value in expected.items()
            if key in actual
            for found in mismatches(value, actual[key], f"{place}.{key}".strip("."))
        ]
    if isinstance(expected, dict | list) != isinstance(actual, dict | list):
        return [here]
    if isinstance(expected, list):
        return [
            f"{place}: nothing matches {item!r} in {actual!r}"
            for item in expected
            if all(mismatches(item, candidate, place) for candidate in actual)
        ]
    return [] if same(expected, actual, place.rsplit(".", maxsplit=1)[-1]) else [here]


def same(expected: Any, actual: Any, key: str) -> bool:
    """Whether two plain values are one; a value such as `"19/20"` is the number it says."""
    if key in FRAGMENTS and isinstance(expected, str):
        return isinstance(actual, str) and expected.casefold() in actual.casefold()
    if key in ("value", "best") and isinstance(expected, str):
        expected = float(Fraction(expected))
    if isinstance(expected, float) or isinstance(actual, float):
        number = isinstance(actual, int | float) and not isinstance(actual, bool)
        return number and expected is not None and math.isclose(expected, actual, rel_tol=1e-12)
    return type(expected) is type(actual) and bool(expected == actual)
