"""Checks as a suite writes them: what is refused, all at once, with the path and a hint."""

import math

import pytest

from highbar import checks
from highbar.checks.names import VALUE_CHECKS
from highbar.checks.tree import All, AnyOf, Not, Statement, Texts
from tests.unit.checks.answers import problems, read


@pytest.mark.parametrize(
    ("value", "path", "said", "hint"),
    [
        ({"contians": "x"}, ("contians",), "unknown check 'contians'", "did you mean 'contains'?"),
        ({"icontains": "x"}, ("icontains",), "unknown check 'icontains'", "did you mean 'contains'?"),
        ({"llm-rubric": "x"}, ("llm-rubric",), "unknown check 'llm-rubric'", "did you mean 'judge'?"),
        ({"starts-with": "x"}, ("starts-with",), "unknown check 'starts-with'", "did you mean 'starts_with'?"),
        ({"latency": 5}, ("latency",), "unknown check 'latency'", "did you mean 'latency_ms'?"),
        ({"tool_call": "x"}, ("tool_call",), "unknown check 'tool_call'", "did you mean 'calls'?"),
        ({"zzz": "x"}, ("zzz",), "unknown check 'zzz'", None),
        ({1: "x"}, ("1",), "unknown check '1'", None),
        (
            {"contains": "x", "within": 1},
            ("within",),
            "'within' belongs to none of the checks beside it",
            "it belongs to `number`",
        ),
        (
            {"contains": "x", "equals": "y", "exact": True},
            ("exact",),
            "'exact' could belong to `contains` and `equals`",
            "write them as two checks under `all:`",
        ),
        ({"contains": "x", "exact": "yes"}, ("exact",), "found 'yes', wanted true or false", None),
        ({"contains": ""}, ("contains",), "an empty text is in every reply: this check always holds", None),
        ({"contains": " \u00a0"}, ("contains",), "an empty text is in every reply: this check always holds", None),
        ({"contains": ["a", ""]}, ("contains", 1), "an empty text is in every reply: this check always holds", None),
        ({"contains": []}, ("contains",), "found an empty list, wanted a text, or a list of at least one", None),
        ({"contains": 1.5}, ("contains",), "found 1.5, wanted a text", "quote it"),
        ({"contains": None}, ("contains",), "found null, wanted a text, or a list of texts", None),
        ({"equals": "..."}, ("equals",), "'...' is only punctuation, which `equals` ignores", "add `exact: true`"),
        ({"equals": ""}, ("equals",), "an empty text", None),
        ({"equals": math.nan}, ("equals",), "found NaN, wanted a text", "quote it"),
        ({"contains": "x" * 10_001}, ("contains",), "the text has more than 10000 characters", None),
        ({"matches": ".*"}, ("matches",), "this pattern matches every text: the check always holds", None),
        ({"matches": "x?"}, ("matches",), "this pattern matches every text: the check always holds", None),
        (
            {"matches": ["a", "(?s)^.*$"]},
            ("matches", 1),
            "this pattern matches every text: the check always holds",
            None,
        ),
        ({"matches": "(a"}, ("matches",), "the pattern cannot be read: missing ): (a", None),
        ({"matches": "\ud800"}, ("matches",), "the pattern cannot be read: it contains a lone surrogate", None),
        (
            {"words": {"at_least": 0}},
            ("words", "at_least"),
            "every reply has at least 0 words: this check always holds",
            None,
        ),
        ({"words": 80}, ("words",), "found 80, wanted {at_least: …}, {at_most: …}, or both", None),
        ({"words": {"at_most": 0}}, ("words", "at_most"), "found 0, wanted a whole number, 1 or more", None),
        (
            {"words": {"at_least": 5, "at_most": 3}},
            ("words",),
            "at least 5 and at most 3: this check never holds",
            None,
        ),
        ({"number": "5"}, ("number",), "found '5', wanted a number of at most 400 digits", None),
        ({"number": True}, ("number",), "found true, wanted a number of at most 400 digits", None),
        ({"number": 10**500}, ("number",), None, None),
        (
            {"number": 5, "within": -1},
            ("within",),
            "found -1, wanted a number, 0 or more, or a percentage such as 1%",
            None,
        ),
        ({"is_json": False}, ("is_json",), None, "for the opposite, write `not: {is_json: true}`"),
        ({"is_json": {}}, ("is_json",), "this schema accepts every value", "write `is_json: true`"),
        ({"is_json": {"title": "x"}}, ("is_json",), "this schema accepts every value", "write `is_json: true`"),
        (
            {"is_json": {"properties": {"a": {"requird": []}}}},
            ("is_json", "properties", "a", "requird"),
            "unknown JSON Schema keyword 'requird'",
            "did you mean 'required'?",
        ),
        ({"is_json": {"type": "objct"}}, ("is_json",), None, None),
        ({"is_json": {"$ref": "https://example.com/x"}}, ("is_json",), None, None),
        ({"is_json": {"pattern": "(?=x)"}}, ("is_json",), None, None),
        ({"json": {}}, ("json",), None, "for example {/total: {at_least: 1}}"),
        ({"json": {"$.a.b": 1}}, ("json", "$.a.b"), "a JSON pointer starts with /, found '$.a.b'", "write /a/b"),
        ({"json": {"/a~2": 1}}, ("json", "/a~2"), None, None),
        ({"json": {1: 1}}, ("json", "1"), "a JSON pointer is text, found '1'", None),
        (
            {"json": {"/a": {"b": 1}}},
            ("json", "/a", "b"),
            "unknown check 'b'",
            f"to compare with a mapping, write `equals: {{…}}`; checks are {', '.join(VALUE_CHECKS)}",
        ),
        ({"json": {"/a": {"at_least": "9"}}}, ("json", "/a", "at_least"), None, None),
        ({"json": {"/a": {"same_items": 1}}}, ("json", "/a", "same_items"), "found 1, wanted a list", None),
        ({"json": {"/a": {"equals": {1: 2}}}}, ("json", "/a", "equals"), "found 1, wanted a text as a key", "quote it"),
        (
            {"json": {"/a": {"equals": [math.inf]}}},
            ("json", "/a", "equals", 0),
            "found Infinity, wanted a JSON value",
            None,
        ),
        ({"calls": ["a", "b"]}, ("calls",), None, "write `any: [{calls: …}, …]`, or `calls_in_order:`"),
        ({"calls": ""}, ("calls",), "found '', wanted the name of a tool", None),
        ({"calls": "a", "times": 0}, ("times",), None, "for no call, write `not: {calls: …}`"),
        (
            {"calls": "a", "times": {"at_least": 0}},
            ("times", "at_least"),
            "every tool is called at least 0 times",
            "leave it out",
        ),
        ({"calls": "a", "arguments": {}}, ("arguments",), None, "for a call without arguments, add `exact: true`"),
        (
            {"calls": "a", "not_arguments": {}},
            ("not_arguments",),
            "no arguments are named, so every call matches",
            None,
        ),
        ({"calls": "a", "every": True}, ("every",), None, None),
        ({"calls": "a", "exact": True}, ("exact",), None, None),
        ({"calls_in_order": ["a"]}, ("calls_in_order",), None, "for one tool, write `calls:`"),
        ({"calls_in_order": []}, ("calls_in_order",), None, "for one tool, write `calls:`"),
        ({"calls_only": "a"}, ("calls_only",), "found 'a', wanted a list of tools", None),
        ({"latency_ms": -1}, ("latency_ms",), None, None),
        ({"latency_ms": "5s"}, ("latency_ms",), None, None),
        ({"python": "module.function"}, ("python",), "found 'module.function', wanted module:function", None),
        ({"judge": " "}, ("judge",), "found ' ', wanted a statement in plain words", None),
        ({"all": []}, ("all",), "found an empty list, wanted a list of at least one check", None),
        ({"any": {"contains": "x"}}, ("any",), None, None),
        ({"any": [{"contains": "x"}, {"contians": "y"}]}, ("any", 1, "contians"), None, "did you mean 'contains'?"),
        ({"not": {"matches": ".*"}}, ("not", "matches"), None, None),
        ({"any": [{"contains": "x"}, {"not": {"contains": "x"}}]}, (), "this check always holds", None),
        ({}, (), "an empty mapping checks nothing", None),
        ("", (), "found '', wanted a statement in plain words", None),
        ([{"contains": "x"}], (), "found a list of 1, wanted a check", "write `any: […]` or `all: […]`"),
        (5, (), None, None),
        (None, (), None, None),
    ],
)
def test_a_bad_check_is_a_problem(value, path, said, hint):
    ((found_path, found, found_hint),) = problems(value)
    assert found_path == path
    assert said is None or found == said
    assert hint is None or found_hint == hint


def test_a_whole_number_has_as_many_digits_as_the_message_says():
    assert not problems({"number": 10**400 - 1})
    assert problems({"number": 10**400})


def test_every_problem_is_found_at_once():
    value = {"any": [{"contains": ""}, {"words": 5}], "not": {"calls": 1}, "zzz": 0}
    assert [path for path, _, _ in problems(value)] == [
        ("zzz",),
        ("any", 0, "contains"),
        ("any", 1, "words"),
        ("not", "calls"),
    ]


@pytest.mark.parametrize("pattern", [r"\bécole", r"(café)\b", r"\b[éa]", r"é+\b", r"\Bé"])
def test_a_word_boundary_beside_a_letter_that_it_does_not_know_is_a_problem(pattern):
    assert "knows letters of ASCII only" in problems({"matches": pattern})[0][1]


@pytest.mark.parametrize("pattern", [r"\bcafé\s", r"\\bé", r"\bam\b", r"[\bé]"[:3] + "x]"])
def test_other_word_boundaries_are_none(pattern):
    assert not any("ASCII" in text for _, text, _ in problems({"matches": pattern}))


def test_lookahead_is_refused_with_the_reason():
    ((_, _, hint),) = problems({"matches": "a(?=b)"})
    assert "lookahead" in hint


def test_a_must_not_that_nothing_can_violate_is_a_problem():
    never = {"all": [{"contains": "x"}, {"not": {"contains": "x"}}]}
    assert problems(never, must_not=True) == [((), "this check never holds, so nothing could violate it", None)]
    assert problems(never) == []


def test_several_names_must_all_hold():
    check = read({"contains": "a", "calls": "b", "arguments": {"c": 1}, "part": True})
    assert isinstance(check, All)
    assert isinstance(check.checks[0], Texts)
    assert check.checks[0].part


def test_checks_combine():
    check = read({"any": [{"not": {"contains": "x"}}, "The reply is kind."]})
    assert isinstance(check, AnyOf)
    assert isinstance(check.checks[0], Not)
    assert check.checks[1] == Statement("The reply is kind.")
    assert checks.statements(check) == ("The reply is kind.",)


def test_checks_are_nested_only_so_deep():
    value = {"contains": "x"}
    for _ in range(100_000):
        value = {"not": value}
    ((path, said, _),) = problems(value)
    assert len(path) == 33
    assert said == "checks are nested deeper than 32 levels"
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert "nested deeper" in problems({"json": {"/a": deep}})[0][1]


def test_a_schema_file_is_found_below_the_folder_of_the_suite_only(tmp_path):
    folder = tmp_path / "suite"
    folder.mkdir()
    (tmp_path / "outside.json").write_text('{"type": "object"}')
    (folder / "good.json").write_text('{"type": "object"}')
    (folder / "bad.json").write_text("{")
    (folder / "link.json").symlink_to(tmp_path / "outside.json")
    assert problems({"is_json": "good.json"}, folder=folder) == []
    for name in ("../outside.json", str(tmp_path / "outside.json"), "link.json"):
        assert "is not below the suite's folder" in problems({"is_json": name}, folder=folder)[0][1]
    assert "does not exist" in problems({"is_json": "none.json"}, folder=folder)[0][1]
    assert "is not JSON" in problems({"is_json": "bad.json"}, folder=folder)[0][1]
    assert "embedded null" in problems({"is_json": "a\0b"}, folder=folder)[0][1]
    assert "has none" in problems({"is_json": "good.json"})[0][1]


def test_a_schema_refers_to_no_other_file(tmp_path):
    other = tmp_path / "other.json"
    other.write_text('{"type": "object"}')
    for reference in (other.as_uri(), "other.json", "https://json-schema.org/other"):
        ((path, text, _),) = problems({"is_json": {"$ref": reference}}, folder=tmp_path)
        assert path == ("is_json",)
        assert text.startswith("not a valid JSON Schema: ")


def test_a_bare_value_under_answer_is_that_value():
    assert checks.read_answer("10").check == Texts("equals", ("10",))
    assert checks.read_answer(["10", 11]).check == Texts("equals", ("10", 11))
    assert checks.read_answer({"contains": "10"}).check == Texts("contains", ("10",))
    assert [problem.path for problem in checks.read_answer(None).problems] == [()]
    assert [problem.path for problem in checks.read_answer(["a", ""]).problems] == [(1,)]


def test_a_statement_under_answer_is_written_as_one():
    assert checks.read_answer({"judge": "It is right."}).check == Statement("It is right.")


def test_any_case_belongs_to_exact_checks():
    (found,) = problems({"contains": "a", "any_case": True})
    assert found[:2] == (("any_case",), "case never counts without `exact: true`")
