"""The block `map`: what it takes, what it refuses, and that the schema for editors knows both."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import jsonschema
import pytest

from highbar.errors import InputError
from highbar.model.mapping import Check, Feed, Walk
from highbar.policy import mapping, read_dict
from highbar.policy.paths import PathError, read_path, read_records_path
from highbar.policy.schema import schema

RULES: dict[str, Any] = {"thresholds": {"blocking": {"pass_rate": "85%"}}}


def problems(block: object) -> list[str]:
    with pytest.raises(InputError) as caught:
        read_dict({**RULES, "map": block})
    return [problem.message for problem in caught.value.problems]


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
    ("block", "message"),
    [
        ([], "map: found a list, wanted a mapping (key: value)"),
        ({"columns": {"passed": "ok"}}, "map.columns: found no id"),
        ({"rows": "results[]"}, "map: found no columns"),
        ({"colums": {"id": "a"}}, "map: unknown key 'colums'"),
        ({"rows": "results", "columns": {"id": "a"}}, "map.rows: 'results' must end in [] (a list of records) or {}"),
        ({"columns": {"id": "a", "pased": "b"}}, "map.columns.pased: unknown column 'pased'"),
        ({"columns": {"id": 3}}, "map.columns.id: found a number '3', wanted a path"),
        ({"columns": {"id": []}}, "map.columns.id: found an empty list"),
        ({"columns": {"id": "a"}, "where": {}}, "map.where: found nothing"),
        ({"columns": {"id": "a"}, "where": {"x": {"iss": 1}}}, "unknown key 'iss'"),
        ({"columns": {"id": "a"}, "where": {"x..y": 1}}, "'x..y' cannot be read"),
        (columns({"path": "a", "value": 1}), "wanted either path or value"),
        (columns({}), "wanted either path or value"),
        (columns({"value": 1, "times": 2}), "a constant takes no other key than when"),
        (columns({"path": "a", "is": 1, "at_least": 2}), "found is and at_least, wanted one of them"),
        (columns({"path": "a", "is": 1, "times": 2}), "times and as do not go with is"),
        (columns({"path": "a", "where": {"b": 1}}), "where chooses elements, so it needs each"),
        (columns({"path": "a", "exists": True, "default": 1}), "default does not go with exists or each"),
        (columns({"path": "a", "at_least": "3"}), "at_least: found text '3', wanted a number"),
        (columns({"path": "a", "exists": "yes"}), "exists: found text 'yes', wanted true or false"),
        (columns({"path": "a", "as": "float"}), "as: found text 'float', wanted text or number or boolean"),
        (columns({"path": "a", "times": 0}), "wanted a number above 0"),
        (columns({"path": "a", "values": {}}), "values: found nothing"),
        (columns({"path": "a", "default": None}), "default: found nothing"),
        (columns({"path": "a", "is": [None]}), "is[0]: found nothing"),
        (columns({"value": "x", "when": {"a": {"is": 1, "at_least": 2}}}), "wanted one condition"),
        (columns({"value": "x", "when": {"a": {}}}), "found no condition"),
        (columns({"value": 1e300}), "cannot read"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(block: object, message: str) -> None:
    assert any(message in problem for problem in problems(block)), problems(block)


def test_feeds_in_feeds_end_somewhere() -> None:
    feed: object = "a"
    for _ in range(7):
        feed = {"path": "a", "each": {"b": feed}}
    assert any("nested deeper than is read" in problem for problem in problems(columns(feed)))


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
