"""The schema for editors knows what the reader knows."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from highbar import suite
from highbar.checks.names import CHECKS, MODIFIERS, VALUE_CHECKS
from highbar.errors import InputError
from highbar.suite.canaries import CANARY_KEYS
from highbar.suite.decoding import decode
from highbar.suite.identity import SCENARIO_KEYS, TOP_KEYS, WRITTEN_BY_A_RUN
from highbar.suite.judge_settings import JUDGE_KEYS
from highbar.suite.schema import schema
from highbar.suite.settings import AGENT_KEYS, RUN_KEYS
from tests.commandline import run
from tests.unit.suite.test_reading import LIBRARY

VALIDATOR = jsonschema.Draft202012Validator(schema())


def test_it_is_a_schema_and_the_command_line_prints_it(tmp_path):
    jsonschema.Draft202012Validator.check_schema(schema())
    assert json.loads(run(tmp_path, "schema", "suite").out) == schema()


def test_it_has_the_keys_of_the_reader():
    file = schema()["else"]["properties"]
    definitions = schema()["$defs"]
    assert set(file) == set(TOP_KEYS)
    assert {key for kind in file["agent"]["anyOf"] for key in kind["properties"]} == set(AGENT_KEYS)
    assert {key for kind in definitions["judge"]["anyOf"] for key in kind["properties"]} == set(JUDGE_KEYS)
    assert file["judges"]["items"] == file["judge"]
    assert set(file["canaries"]["items"]["properties"]) == set(CANARY_KEYS)
    assert set(file["run"]["properties"]) == set(RUN_KEYS)
    assert set(definitions["scenario"]["properties"]) == {*SCENARIO_KEYS, *WRITTEN_BY_A_RUN}
    only_in_values = {key for taken in VALUE_CHECKS.values() for key in taken} - {
        key for taken in CHECKS.values() for key in taken
    }
    assert set(definitions["mapping"]["properties"]) == {*CHECKS, *MODIFIERS} - only_in_values


def test_the_example_fits():
    VALIDATOR.validate(decode(LIBRARY, "yaml"))


# --- every shape: the reader and the schema take the same ones --------------------------------

WRONG = st.sampled_from([None, True, [], {}, [None], "", [[1]], {"x": 1}, -1])
CHECK = st.sampled_from(
    [
        {"contains": "x"}, {"contains": ["x", 5]}, {"contains": []}, {"equals": True}, {"equals": ["a", 1.5]},
        {"matches": "a"}, {"matches": 5}, {"words": {"at_most": 5}}, {"words": {}}, {"words": 5}, {"number": 1.5},
        {"number": "x"}, {"is_json": True}, {"is_json": False}, {"json": {"/a": 1}}, {"json": {}}, {"json": {"a": 1}},
        {"calls": "t"}, {"calls": "t", "arguments": {"a": 1}}, {"calls": "t", "times": 2}, {"calls": "t", "times": 0},
        {"calls": ["t"]}, {"calls_in_order": ["a", "b"]}, {"calls_in_order": ["a"]}, {"calls_only": []},
        {"latency_ms": 5}, {"latency_ms": {"at_most": 5}}, {"latency_ms": -1}, {"python": "a:b"}, {"python": "a"},
        {"judge": "It is kind."}, {"judge": ""}, {"judge": "kind"}, "kind", "很友善",
        {"judge": "a" * 2001}, {"all": [{"contains": "x"}, "Kind."]}, {"any": []},
        {"not": {"contains": "x"}}, {"not": []}, "It is kind.", "", 5, ["x"], {}, {"contians": "x"},
        {"contains": "x", "exact": True}, {"contains": "x", "exact": 1}, {"exact": True},
        {"contains": "x", "exact": True, "any_case": True}, {"is_json": True, "whole": True}, {"whole": True},
        {"words": {"at_most": 5}, "part": True},
        {"contains": "x", "matches": "y"}, {"contains": "x", "matches": "y", "exact": True},
        {"number": 5, "within": "1%"}, {"number": 5, "within": 0.5}, {"number": 5, "within": "x"},
        {"contains": "x", "reply": 1}, {"contains": "x", "reply": "any"}, {"contains": "x", "reply": 0},
    ]
)  # fmt: skip
NAMES = st.sampled_from([["refuses"], [], ["refuses", "refuses"], "refuses", [5.5, True], [""]])


def some_of(entries: dict[str, Any], most: int = 4) -> Any:
    slots = {key: st.one_of(values, values, values, values, WRONG) for key, values in entries.items()}
    return st.lists(st.sampled_from(list(slots)), max_size=most, unique=True).flatmap(
        lambda keys: st.fixed_dictionaries({key: slots[key] for key in keys})
    )


TIMES = st.sampled_from(["60s", "2 m", "1.5h", "500ms", 60, "60", "s"])
SCENARIO = some_of(
    {
        "input": st.sampled_from(["hi", 5, 1.5]),
        "turns": st.sampled_from([["a"], ["a", 1], "a"]),
        "answer": st.one_of(CHECK, st.sampled_from([5, True, "x", ["a", "b"], 1.5])),
        "expected": st.sampled_from(["spam", False, 1]),
        "expected_behaviors": st.one_of(NAMES, st.dictionaries(st.just("kind"), CHECK)),
        "must_not": st.one_of(st.sampled_from([["admits_not_knowing"], []]), st.dictionaries(st.just("rude"), CHECK)),
        "predict": st.sampled_from([{"json": "/label"}, {"json": "label"}, {"json": "/a", "x": 1}]),
        "trials": st.sampled_from([1, 10, 0, "3", 2.5]),
        "timeout": TIMES,
        "weight": st.sampled_from([1, 0.5, 0, "2"]),
        "cluster": st.sampled_from(["c", 5]),
        "category": st.sampled_from(["edge_case", "mine", 5]),
        "tags": st.sampled_from([{"locale": "de"}, {"n": 1}, {"n": [1]}]),
        "passed": st.just(True),
        "difficulty": st.sampled_from(["easy", 5, [1], {"a": 1}]),
    }
).map(lambda found: {"id": "A", **found})
ADDRESS = st.sampled_from(["https://x.test/v1", "${HOST}/v1", "x.test", "http://"])
AGENT = some_of(
    {
        "python": st.sampled_from(["a:b", "a.b:c.d", "a", "a:"]),
        "http": ADDRESS,
        "command": st.sampled_from([["./a", "--b"], [], "./a"]),
        "format": st.sampled_from(["openai", "anthropic", "json", "x"]),
        "model": st.just("m"),
        "key": st.sampled_from(["${KEY}", "secret"]),
        "body": st.just({"q": "{input}"}),
        "output": st.sampled_from(["/reply", "", "reply"]),
        "version": st.sampled_from(["1", 1.5]),
        "reports_behaviors": st.booleans(),
        "reports_quality": st.booleans(),
        "max_reply": st.sampled_from(["16 MiB", "1kB", 5]),
        "typo": st.just(1),
    },
    most=2,
)
JUDGE = some_of(
    {
        "model": st.just("m"), "base_url": ADDRESS, "key": st.just("${KEY}"), "python": st.just("a:b"),
        "format": st.sampled_from(["openai", "json"]), "temperature": st.sampled_from([0, 0.5, 3]),
        "max_tokens": st.sampled_from([5, 0]), "concurrency": st.sampled_from(["auto", 4, 0, "x"]), "timeout": TIMES,
        "retries": st.sampled_from([0, 4, -1]),
    },
    most=2,
)  # fmt: skip
JUDGE_PANEL = st.lists(st.integers(0, 20), max_size=10, unique=True).map(
    lambda numbers: [{"model": f"m{number}", "base_url": "https://x.test"} for number in numbers]
)
CANARY = some_of(
    {
        "id": st.sampled_from(["a", 5, 1.5]), "input": st.just("hi"), "output": st.sampled_from(["hello", 5]),
        "messages": st.sampled_from([[{"role": "assistant", "content": "hello"}], [{"role": "robot"}], [5]]),
        "behaviors": st.sampled_from(
            [
                {"kind": True}, {"kind": "yes"}, {"own": {"judge": "It is kind.", "observed": False}},
                {"own": {"judge": "It is kind."}}, {"own": {"judge": "kind", "observed": True}},
                {"kind": {"observed": True}},
            ]
        ),
        "turns": st.just(["hi"]),
    }
)  # fmt: skip
RUN = some_of(
    {
        "trials": st.sampled_from([1, 0]), "concurrency": st.sampled_from(["auto", 4, 0, "x"]), "timeout": TIMES,
        "trial_timeout": TIMES, "retries": st.sampled_from([0, 4, -1]), "max_time": TIMES,
        "budget": st.sampled_from(["$5", "5 usd", "$ 0.50", "5 USD", "5$", 5, "5 eur"]),
    }
)  # fmt: skip
FILE = some_of(
    {
        "suite": st.sampled_from(["x", 5]), "description": st.just("x"), "agent": AGENT, "judge": JUDGE, "run": RUN,
        "judges": JUDGE_PANEL,
        "behaviors": st.dictionaries(st.just("own"), CHECK), "scenario": st.just([]),
        "defaults": some_of({"trials": st.just(2), "weight": st.just(1), "tags": st.just({"a": "b"})}),
    }
)  # fmt: skip
SUITES = st.one_of(
    st.tuples(FILE, st.lists(SCENARIO, max_size=1)).map(lambda both: {**both[0], "scenarios": both[1]}),
    st.tuples(FILE, SCENARIO).map(lambda both: {**both[0], "scenarios": [both[1]]}),
    st.lists(SCENARIO, max_size=1),
    st.lists(st.sampled_from(["A", 7, {"id": "B", "category": "edge_case"}, 1.5, None, [], {"x": 1}]), max_size=1),
    FILE,
    WRONG,
)


def takes(read: Any, *arguments: Any) -> bool:
    try:
        read(*arguments)
    except (InputError, jsonschema.ValidationError):
        return False
    return True


GOOD = {"id": "G", "input": "hi", "answer": "x"}
REST = {"scenarios": [GOOD]}
AGENTS = [
    {"python": "a:b"}, {"command": ["./a"]}, {"http": "https://x.test"}, {},
    {"http": "https://x.test", "body": ["{messages}"], "output": "/a"},
]  # fmt: skip
JUDGES = [{"model": "m", "base_url": "https://x.test"}, {"python": "a:b"}, {}]
CANARIES = [
    {"input": "hi", "output": "hello", "behaviors": {"kind": True}}, {"behaviors": {"kind": True}},
    {"messages": [{"role": "assistant", "content": "hello"}], "behaviors": {"kind": True}}, {},
]  # fmt: skip
PARTS = {
    "scenario": SCENARIO.map(lambda found: [{"answer": "x", **found}]),
    "check": CHECK.map(lambda check: [{"id": "A", "input": "hi", "expected_behaviors": {"kind": check}}]),
    "answer": CHECK.map(lambda check: [{"id": "A", "input": "hi", "answer": check}]),
    "agent": st.tuples(st.sampled_from(AGENTS), AGENT).map(lambda both: {"agent": {**both[0], **both[1]}, **REST}),
    "judge": st.tuples(st.sampled_from(JUDGES), JUDGE).map(lambda both: {"judge": {**both[0], **both[1]}, **REST}),
    "judges": JUDGE_PANEL.map(lambda judges: {"judges": judges, **REST}),
    "canaries": st.lists(
        st.tuples(st.sampled_from(CANARIES), CANARY).map(lambda both: {**both[0], **both[1]}), max_size=1
    ).map(lambda canaries: {"behaviors": {"kind": "It is kind."}, "canaries": canaries, **REST}),
    "run": RUN.map(lambda run: {"run": run, "scenarios": [GOOD]}),
    "file": FILE.map(lambda file: {**file, "scenarios": [GOOD]}),
    "all": SUITES,
}


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_the_reader_and_the_schema_take_the_same_shapes(part, data):
    content = data.draw(PARTS[part])
    read = takes(suite.read_values, content)
    assert read == takes(VALIDATOR.validate, content), f"the reader {'takes' if read else 'refuses'} {content}"


def test_exact_numbers_fit_the_schema():
    VALIDATOR.validate({"scenarios": [{"id": "A", "input": "x", "answer": {"number": float(Decimal("1.5"))}}]})


@pytest.mark.parametrize("text", ["- A\n- {id: B, input: x}\n", "scenarios: [A]\n"])
def test_a_scenario_without_a_check_fits_only_a_plan(text):
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(decode(text, "yaml"))
