"""The block `map`: what it takes, what it refuses, and that the schema for editors knows both."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import jsonschema
import pytest

from highbar.errors import InputError, Problem
from highbar.model.mapping import Check, Feed, Walk
from highbar.policy import mapping, read_dict
from highbar.policy.paths import PathError, read_path, read_records_path
from highbar.policy.schema import schema

RULES: dict[str, Any] = {"thresholds": {"blocking": {"pass_rate": "85%"}}}


def problems(block: object) -> list[Problem]:
    with pytest.raises(InputError) as caught:
        read_dict({**RULES, "map": block})
    return list(caught.value.problems)


def columns(feed: object) -> dict[str, object]:
    return {"columns": {"id": "name", "passed": feed}}


@pytest.mark.parametrize(
    ("text", "base", "steps"),
    [
        ("name", "record", ("name",)),
        ("usage.total tokens", "record", ("usage", "total tokens")),
        ("checks[].name", "record", ("checks", Walk.EACH, "name")),
        ("[0]", "record", (0,)),
        ("steps[-1]", "record", ("steps", -1)),
        ('"a.b".c', "record", ("a.b", "c")),
        ("checks.@keys", "record", ("checks", Walk.KEYS)),
        ("^.name", "outer", ("name",)),
        ("$.model", "document", ("model",)),
        ("$[0].x", "document", (0, "x")),
        ("@key", "key", ()),
        ("@repeat", "repeat", ()),
        ("MLFLOW_latency", "record", ("MLFLOW_latency",)),
        ("größe", "record", ("größe",)),
    ],
)
def test_a_path_is_read(text: str, base: str, steps: tuple[object, ...]) -> None:
    path = read_path(text)
    assert (path.base, path.steps) == (base, steps)


@pytest.mark.parametrize(
    "text", ["", "a..b", ".a", "a.", "a[", "a[x]", "a]b", '"a', "@other", "a.@other", "^name", "a{}"]
)
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(PathError):
        read_path(text)


def test_rows_lead_to_the_records() -> None:
    assert read_records_path("results[]") == ((("results",), "[]"),)
    assert read_records_path("a.b[].runs[]") == ((("a", "b"), "[]"), (("runs",), "[]"))
    assert read_records_path("by_id{}") == ((("by_id",), "{}"),)
    assert read_records_path("[]") == (((), "[]"),)
    for text in ("results", "", "a[0].b[]", "a[]b"):
        with pytest.raises(PathError):
            read_records_path(text)


def test_a_mapping_is_read_whole() -> None:
    block = {
        "description": "our runner's report",
        "rows": "results[]",
        "where": {"type": "result"},
        "columns": {"id": "name", "passed": {"path": "grade", "at_least": 3.5}, "tags.team": {"value": "search"}},
    }
    found = read_dict({**RULES, "map": block}).mapping
    assert found is not None
    feeds = dict(found.columns)
    assert feeds["passed"] == (Feed(read_path("grade"), check=Check("at_least", (Fraction(7, 2),))),)
    assert feeds["tags.team"] == (Feed(value="search"),)
    assert read_dict(RULES).mapping is None


@pytest.mark.parametrize(
    ("block", "code", "place", "value"),
    [
        ([], "policy.wrong-type", "map", ""),
        ({"columns": {"passed": "ok"}}, "map.incomplete", "map.columns", ""),
        ({"rows": "results[]"}, "map.incomplete", "map", ""),
        ({"colums": {"id": "a"}}, "policy.unknown-key", "map", "'colums'"),
        ({"rows": "results", "columns": {"id": "a"}}, "map.bad-path", "map.rows", "'results'"),
        ({"columns": {"id": "a", "pased": "b"}}, "map.unknown-column", "map.columns.pased", "'pased'"),
        ({"columns": {"id": 3}}, "policy.wrong-type", "map.columns.id", "'3'"),
        ({"columns": {"id": []}}, "map.incomplete", "map.columns.id", ""),
        ({"columns": {"id": "a"}, "where": {}}, "map.incomplete", "map.where", ""),
        ({"columns": {"id": "a"}, "where": {"x": {"iss": 1}}}, "policy.unknown-key", "map.where.x", "'iss'"),
        ({"columns": {"id": "a"}, "where": {"x..y": 1}}, "map.bad-path", "map.where.x..y", "'x..y'"),
        (columns({"path": "a", "value": 1}), "map.contradiction", "map.columns.passed", "path or value"),
        (columns({}), "map.contradiction", "map.columns.passed", "path or value"),
        (columns({"value": 1, "times": 2}), "map.contradiction", "map.columns.passed", "when"),
        (columns({"path": "a", "is": 1, "at_least": 2}), "map.contradiction", "map.columns.passed", "is and at_least"),
        (columns({"path": "a", "is": 1, "times": 2}), "map.contradiction", "map.columns.passed", "times and as"),
        (columns({"path": "a", "where": {"b": 1}}), "map.contradiction", "map.columns.passed", "each"),
        (columns({"path": "a", "exists": True, "default": 1}), "map.contradiction", "map.columns.passed", "default"),
        (columns({"path": "a", "at_least": "3"}), "policy.wrong-type", "map.columns.passed.at_least", "'3'"),
        (columns({"path": "a", "exists": "yes"}), "policy.wrong-type", "map.columns.passed.exists", "'yes'"),
        (columns({"path": "a", "as": "float"}), "policy.wrong-type", "map.columns.passed.as", "'float'"),
        (columns({"path": "a", "times": 0}), "threshold.unreadable", "map.columns.passed.times", "found 0"),
        (columns({"path": "a", "values": {}}), "map.incomplete", "map.columns.passed.values", ""),
        (columns({"path": "a", "default": None}), "policy.wrong-type", "map.columns.passed.default", ""),
        (columns({"path": "a", "is": [None]}), "policy.wrong-type", "map.columns.passed.is[0]", ""),
        (
            columns({"value": "x", "when": {"a": {"is": 1, "at_least": 2}}}),
            "map.incomplete",
            "map.columns.passed.when.a",
            "",
        ),
        (columns({"value": "x", "when": {"a": {}}}), "map.incomplete", "map.columns.passed.when.a", ""),
        (columns({"value": 1e300}), "policy.wrong-type", "map.columns.passed.value", "1E+300"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(block: object, code: str, place: str, value: str) -> None:
    found = problems(block)[0]
    assert (found.code, found.message.split(": ")[0]) == (code, place)
    assert value in found.message


def test_feeds_in_feeds_end_somewhere() -> None:
    feed: object = "a"
    for _ in range(7):
        feed = {"path": "a", "each": {"b": feed}}
    assert "file.too-deep" in [problem.code for problem in problems(columns(feed))]


def test_numbers_below_zero_can_be_compared_with() -> None:
    found = read_dict({**RULES, "map": columns({"path": "a", "at_least": -1.5})}).mapping
    assert found is not None
    assert dict(found.columns)["passed"][0].check == Check("at_least", (Fraction(-3, 2),))


def test_every_problem_is_said_at_once() -> None:
    block = {"rows": "x", "columns": {"pased": "a", "passed": {"path": "a..b", "as": "float"}}}
    assert len(problems(block)) == 5


def test_a_column_that_only_looks_misspelled_can_be_allowed() -> None:
    block = {"columns": {"id": "a", "pased": "b"}}
    assert read_dict({**RULES, "allow_columns": ["pased"], "map": block}).mapping is not None


def test_the_schema_has_the_keys_of_the_reader() -> None:
    found = schema()
    assert set(found["properties"]["map"]["properties"]) == set(mapping.MAP_KEYS)
    assert set(found["$defs"]["feed"]["anyOf"][1]["properties"]) == set(mapping.FEED_KEYS)


@pytest.mark.parametrize(
    ("block", "fits"),
    [
        ({"rows": "results[]", "columns": {"id": "name", "passed": {"path": "s", "is": ["ok", "fine"]}}}, True),
        ({"columns": {"id": ["a", {"value": "x", "when": {"b": {"exists": True}}}]}}, True),
        ({"columns": {"passed": "ok"}}, False),
        ({"columns": {"id": 3}}, False),
        ({"columns": {"id": {"pth": "a"}}}, False),
        ({"columns": {"id": "a"}, "where": {"x": {"iss": 1}}}, False),
    ],
)
def test_the_schema_takes_and_refuses_what_the_reader_does(block: object, fits: bool) -> None:
    validator = jsonschema.Draft202012Validator(schema())
    assert validator.is_valid({**RULES, "map": block}) is fits
    if fits:
        assert read_dict({**RULES, "map": block}).mapping is not None
