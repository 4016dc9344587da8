"""Which runner wrote a JUnit report, and what only that runner counts, leaves out or names in a way of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum

from highbar.language.tool_names import scenario_id

_JEST_SUITE = ("name", "errors", "failures", "skipped", "timestamp", "time", "tests")
"""The attributes of a suite as jest-junit orders them; no other runner is known to do so."""
_HOOK, _FILE = "Test execution failure: could be caused by test hooks", "Test suite failed to run"
_NODE_SUITE = frozenset({"name", "time", "disabled", "errors", "tests", "failures", "skipped", "hostname"})
_NODE_CLASS = "test"
_REPETITION = re.compile(
    r"(?P<test>[^\[]*)\[((?P<case>.*)-)?(?P<number>[1-9][0-9]{0,8})-(?P<of>[1-9][0-9]{0,8})\]", re.DOTALL
)


class Writer(Enum):
    """A runner whose reports have something of their own; OTHER for all of which nothing is known."""

    PYTEST = "pytest"
    JEST = "jest"
    MOCHA = "mocha"
    GO = "gotestsum"
    OTHER = ""


def writer_of(root: Mapping[str, str], suite: Mapping[str, str], properties: Iterable[tuple[str, str]]) -> Writer:
    """Who wrote a suite, by the attributes of the outermost tag and of the suite, and by the suite's properties."""
    if root.get("name") == "pytest tests" or suite.get("name") == "pytest":
        return Writer.PYTEST
    if root.get("name") == "jest tests" or tuple(suite) == _JEST_SUITE:
        return Writer.JEST
    if root.get("name") == "Mocha Tests":
        return Writer.MOCHA
    return Writer.GO if any(name == "go.version" for name, _ in properties) else Writer.OTHER


def is_of_node(tag: str, attributes: Mapping[str, str]) -> bool:
    """Whether a tag in an outermost tag without attributes is one of node's reporter, which names itself nowhere."""
    if tag == "testcase":
        return attributes.get("classname") == _NODE_CLASS
    return tag == "testsuite" and attributes.keys() - {"timestamp"} == _NODE_SUITE


def class_name(attributes: Mapping[str, str], suites: list[str], *, is_node: bool) -> str:
    """The class of a test case; without one, the suite that it is in.

    Node 20 and 22 call the class of every test "test"; node 24 gives the names of the suites around it.
    """
    name = attributes.get("classname") or attributes.get("class") or ""
    if is_node and name in ("", _NODE_CLASS):
        return ".".join(suites) or _NODE_CLASS
    return name or (suites[-1] if suites else "")


def is_breakage_of_jest(attributes: Mapping[str, str]) -> bool:
    """Whether jest-junit made up a test case that failed because a hook or a test file broke, and counts it nowhere."""
    return _HOOK in attributes.get("name", "") or attributes.get("classname") == _FILE


def repetitions(scenarios: Iterable[str]) -> dict[str, str]:
    """The test that each repetition of pytest-repeat repeats: `test` for `test[1-3]`, `test[a]` for `test[a-1-3]`.

    A parametrized test may have such a name as well. So of a function either all scenarios are repetitions, each from
    1 to K of the same K, or none is one.

    >>> repetitions(["t[1-2]", "t[2-2]", "u[1-2]", "v[a-1-2]", "v[a-2-2]"])
    {'t[1-2]': 't', 't[2-2]': 't', 'v[a-1-2]': 'v[a]', 'v[a-2-2]': 'v[a]'}
    """
    functions: dict[str, list[str]] = {}
    known = set(scenarios)
    for scenario in sorted(known):
        functions.setdefault(scenario.partition("[")[0], []).append(scenario)
    found: dict[str, str] = {}
    for names in functions.values():
        found.update(_of_one_function(names, known))
    return found


def _of_one_function(names: list[str], known: set[str]) -> dict[str, str]:
    parts = {name: match for name in names if (match := _REPETITION.fullmatch(name))}
    bases = {name: _base(match) for name, match in parts.items()}
    numbers: dict[str, set[int]] = {}
    for name, match in parts.items():
        numbers.setdefault(bases[name], set()).add(int(match["number"]))
    times = {int(match["of"]) for match in parts.values()}
    if len(parts) < len(names) or len(times) != 1 or known & set(numbers):
        return {}
    (most,) = times
    is_whole = all(len(found) == most == max(found) for found in numbers.values())
    return bases if is_whole and most > 1 else {}


def _base(match: re.Match[str]) -> str:
    return scenario_id(match["test"] if match["case"] is None else f"{match['test']}[{match['case']}]")
