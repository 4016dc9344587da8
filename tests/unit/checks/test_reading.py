"""Checks as a suite writes them: what is refused, all at once, with the path and a hint."""

import math

import pytest

from highbar import checks
from highbar.checks.names import VALUE_CHECKS
from highbar.checks.tree import All, AnyOf, Not, Statement, Texts
from tests.unit.checks.answers import faults, read


@pytest.mark.parametrize(
    ("value", "path", "code", "named", "hint"),
    [
        ({"contians": "x"}, ("contians",), "check.unknown", ("'contians'",), "'contains'"),
        ({"icontains": "x"}, ("icontains",), "check.unknown", ("'icontains'",), "'contains'"),
        ({"llm-rubric": "x"}, ("llm-rubric",), "check.unknown", ("'llm-rubric'",), "'judge'"),
        ({"starts-with": "x"}, ("starts-with",), "check.unknown", ("'starts-with'",), "'starts_with'"),
        ({"latency": 5}, ("latency",), "check.unknown", ("'latency'",), "'latency_ms'"),
        ({"tool_call": "x"}, ("tool_call",), "check.unknown", ("'tool_call'",), "'calls'"),
        ({"zzz": "x"}, ("zzz",), "check.unknown", ("'zzz'",), None),
        ({1: "x"}, ("1",), "check.unknown", ("'1'",), None),
        ({"contains": "x", "within": 1}, ("within",), "suite.misplaced-key", ("'within'",), "`number`"),
        (
            {"contains": "x", "equals": "y", "exact": True},
            ("exact",),
            "suite.misplaced-key",
            ("'exact'", "`contains`", "`equals`"),
            "`all:`",
        ),
        ({"contains": "x", "exact": "yes"}, ("exact",), "suite.wrong-type", ("found 'yes'",), None),
        ({"contains": ""}, ("contains",), "check.constant", (), None),
        ({"contains": " \u00a0"}, ("contains",), "check.constant", (), None),
        ({"contains": ["a", ""]}, ("contains", 1), "check.constant", (), None),
        ({"contains": []}, ("contains",), "suite.wrong-type", (), None),
        ({"contains": 1.5}, ("contains",), "suite.wrong-type", ("found 1.5",), "quote it"),
        ({"contains": None}, ("contains",), "suite.wrong-type", ("found null",), None),
        ({"equals": "..."}, ("equals",), "check.constant", ("'...'", "`equals`"), "`exact: true`"),
        ({"equals": ""}, ("equals",), "check.constant", (), None),
        ({"equals": math.nan}, ("equals",), "suite.wrong-type", ("found NaN",), "quote it"),
        ({"contains": "x" * 10_001}, ("contains",), "suite.too-large", ("10000",), None),
        ({"matches": ".*"}, ("matches",), "check.constant", (), None),
        ({"matches": "x?"}, ("matches",), "check.constant", (), None),
        ({"matches": ["a", "(?s)^.*$"]}, ("matches", 1), "check.constant", (), None),
        ({"matches": "(a"}, ("matches",), "check.bad-pattern", ("(a",), None),
        ({"matches": "\ud800"}, ("matches",), "check.bad-pattern", (), None),
        ({"words": {"at_least": 0}}, ("words", "at_least"), "check.constant", ("0",), None),
        ({"words": 80}, ("words",), "suite.wrong-type", ("found 80",), None),
        ({"words": {"at_most": 0}}, ("words", "at_most"), "suite.wrong-type", ("found 0",), None),
        ({"words": {"at_least": 5, "at_most": 3}}, ("words",), "check.constant", ("5", "3"), None),
        ({"number": "5"}, ("number",), "suite.wrong-type", ("found '5'",), None),
        ({"number": True}, ("number",), "suite.wrong-type", ("found true",), None),
        ({"number": 10**500}, ("number",), "suite.wrong-type", (), None),
        ({"number": 5, "within": -1}, ("within",), "suite.wrong-type", ("found -1",), None),
        ({"is_json": False}, ("is_json",), "suite.wrong-type", (), "`not: {is_json: true}`"),
        ({"is_json": {}}, ("is_json",), "check.bad-schema", (), "`is_json: true`"),
        ({"is_json": {"title": "x"}}, ("is_json",), "check.bad-schema", (), "`is_json: true`"),
        (
            {"is_json": {"properties": {"a": {"requird": []}}}},
            ("is_json", "properties", "a", "requird"),
            "check.bad-schema",
            ("'requird'",),
            "'required'",
        ),
        ({"is_json": {"type": "objct"}}, ("is_json",), "check.bad-schema", (), None),
        ({"is_json": {"$ref": "https://example.com/x"}}, ("is_json",), "check.bad-schema", (), None),
        ({"is_json": {"pattern": "(?=x)"}}, ("is_json",), "check.bad-schema", (), None),
        ({"json": {}}, ("json",), "suite.wrong-type", (), "{/total: {at_least: 1}}"),
        ({"json": {"$.a.b": 1}}, ("json", "$.a.b"), "check.bad-pointer", ("'$.a.b'",), "/a/b"),
        ({"json": {"/a~2": 1}}, ("json", "/a~2"), "check.bad-pointer", (), None),
        ({"json": {1: 1}}, ("json", "1"), "check.bad-pointer", ("'1'",), None),
        ({"json": {"/a": {"b": 1}}}, ("json", "/a", "b"), "check.unknown", ("'b'",), ", ".join(VALUE_CHECKS)),
        ({"json": {"/a": {"at_least": "9"}}}, ("json", "/a", "at_least"), "suite.wrong-type", (), None),
        ({"json": {"/a": {"same_items": 1}}}, ("json", "/a", "same_items"), "suite.wrong-type", ("found 1",), None),
        ({"json": {"/a": {"equals": {1: 2}}}}, ("json", "/a", "equals"), "suite.wrong-type", ("found 1",), "quote it"),
        (
            {"json": {"/a": {"equals": [math.inf]}}},
            ("json", "/a", "equals", 0),
            "suite.wrong-type",
            ("found Infinity",),
            None,
        ),
        ({"calls": ["a", "b"]}, ("calls",), "suite.wrong-type", (), "`any: [{calls: …}, …]`"),
        ({"calls": ""}, ("calls",), "suite.wrong-type", ("found ''",), None),
        ({"calls": "a", "times": 0}, ("times",), "suite.wrong-type", (), "`not: {calls: …}`"),
        ({"calls": "a", "times": {"at_least": 0}}, ("times", "at_least"), "check.constant", ("0",), "leave it out"),
        ({"calls": "a", "arguments": {}}, ("arguments",), "check.constant", (), "`exact: true`"),
        ({"calls": "a", "not_arguments": {}}, ("not_arguments",), "check.constant", (), None),
        ({"calls": "a", "every": True}, ("every",), "suite.missing-key", (), None),
        ({"calls": "a", "exact": True}, ("exact",), "suite.missing-key", (), None),
        ({"calls_in_order": ["a"]}, ("calls_in_order",), "suite.wrong-type", (), "`calls:`"),
        ({"calls_in_order": []}, ("calls_in_order",), "suite.wrong-type", (), "`calls:`"),
        ({"calls_only": "a"}, ("calls_only",), "suite.wrong-type", ("found 'a'",), None),
        ({"latency_ms": -1}, ("latency_ms",), "suite.wrong-type", (), None),
        ({"latency_ms": "5s"}, ("latency_ms",), "suite.wrong-type", (), None),
        ({"python": "module.function"}, ("python",), "suite.wrong-type", ("found 'module.function'",), None),
        ({"judge": " "}, ("judge",), "suite.wrong-type", ("found ' '",), None),
        ({"all": []}, ("all",), "suite.wrong-type", (), None),
        ({"any": {"contains": "x"}}, ("any",), "suite.wrong-type", (), None),
        ({"any": [{"contains": "x"}, {"contians": "y"}]}, ("any", 1, "contians"), "check.unknown", (), "'contains'"),
        ({"not": {"matches": ".*"}}, ("not", "matches"), "check.constant", (), None),
        ({"any": [{"contains": "x"}, {"not": {"contains": "x"}}]}, (), "check.constant", (), None),
        ({}, (), "check.constant", (), None),
        ("", (), "suite.wrong-type", ("found ''",), None),
        ([{"contains": "x"}], (), "suite.wrong-type", (), "`any: […]`"),
        (5, (), "suite.wrong-type", (), None),
        (None, (), "suite.wrong-type", (), None),
    ],
)
def test_a_bad_check_is_a_problem(value, path, code, named, hint):
    (found,) = faults(value)
    assert (found.path, found.code) == (path, code)
    assert [name for name in named if name not in found.text] == []
    assert hint is None or hint in found.hint


def test_a_whole_number_has_as_many_digits_as_the_message_says():
    assert not faults({"number": 10**400 - 1})
    (found,) = faults({"number": 10**400})
    assert (found.code, "400" in found.text) == ("suite.wrong-type", True)


def test_every_problem_is_found_at_once():
    value = {"any": [{"contains": ""}, {"words": 5}], "not": {"calls": 1}, "zzz": 0}
    assert [(found.path, found.code) for found in faults(value)] == [
        (("zzz",), "check.unknown"),
        (("any", 0, "contains"), "check.constant"),
        (("any", 1, "words"), "suite.wrong-type"),
        (("not", "calls"), "suite.wrong-type"),
    ]


@pytest.mark.parametrize("pattern", [r"\bécole", r"(café)\b", r"\b[éa]", r"é+\b", r"\Bé"])
def test_a_word_boundary_beside_a_letter_that_it_does_not_know_is_a_problem(pattern):
    (found,) = faults({"matches": pattern})
    assert (found.code, "ASCII" in found.text) == ("check.bad-pattern", True)


@pytest.mark.parametrize("pattern", [r"\bcafé\s", r"\\bé", r"\bam\b", r"[\bé]"[:3] + "x]"])
def test_other_word_boundaries_are_none(pattern):
    assert not any("ASCII" in found.text for found in faults({"matches": pattern}))


def test_lookahead_is_refused_with_the_reason():
    (found,) = faults({"matches": "a(?=b)"})
    assert (found.code, "lookahead" in found.hint) == ("check.bad-pattern", True)


def test_a_must_not_that_nothing_can_violate_is_a_problem():
    never = {"all": [{"contains": "x"}, {"not": {"contains": "x"}}]}
    assert [(found.path, found.code) for found in faults(never, must_not=True)] == [((), "check.constant")]
    assert faults(never) == ()


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
    (found,) = faults(value)
    assert (len(found.path), found.code, "32" in found.text) == (33, "suite.too-large", True)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    (found,) = faults({"json": {"/a": deep}})
    assert (found.path, "200" in found.text) == (("json", "/a"), True)


def test_a_schema_file_is_found_below_the_folder_of_the_suite_only(tmp_path):
    folder = tmp_path / "suite"
    folder.mkdir()
    (tmp_path / "outside.json").write_text('{"type": "object"}')
    (folder / "good.json").write_text('{"type": "object"}')
    (folder / "bad.json").write_text("{")
    (folder / "link.json").symlink_to(tmp_path / "outside.json")
    assert faults({"is_json": "good.json"}, folder=folder) == ()
    outside = ("../outside.json", str(tmp_path / "outside.json"), "link.json")
    for name in (*outside, "none.json", "bad.json"):
        (found,) = faults({"is_json": name}, folder=folder)
        assert (found.path, found.code) == (("is_json",), "check.bad-schema")
        assert repr(name) in found.text
        assert ("folder" in found.text) == (name in outside)
    assert [found.code for found in faults({"is_json": "a\0b"}, folder=folder)] == ["check.bad-schema"]
    assert [found.code for found in faults({"is_json": "good.json"})] == ["check.bad-schema"]


def test_a_schema_refers_to_no_other_file(tmp_path):
    other = tmp_path / "other.json"
    other.write_text('{"type": "object"}')
    for reference in (other.as_uri(), "other.json", "https://json-schema.org/other"):
        (found,) = faults({"is_json": {"$ref": reference}}, folder=tmp_path)
        assert (found.path, found.code) == (("is_json",), "check.bad-schema")


def test_a_bare_value_under_answer_is_that_value():
    assert checks.read_answer("10").check == Texts("equals", ("10",))
    assert checks.read_answer(["10", 11]).check == Texts("equals", ("10", 11))
    assert checks.read_answer({"contains": "10"}).check == Texts("contains", ("10",))
    assert [problem.path for problem in checks.read_answer(None).problems] == [()]
    assert [problem.path for problem in checks.read_answer(["a", ""]).problems] == [(1,)]


def test_a_statement_under_answer_is_written_as_one():
    assert checks.read_answer({"judge": "It is right."}).check == Statement("It is right.")


def test_any_case_belongs_to_exact_checks():
    (found,) = faults({"contains": "a", "any_case": True})
    assert (found.path, found.code) == (("any_case",), "suite.misplaced-key")
    assert "`exact: true`" in found.text
