"""A verdict that is saved and read back: the same bytes again, or a refusal with the line."""

from __future__ import annotations

import json
import math
import tempfile
from fractions import Fraction
from pathlib import Path
from random import Random

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import highbar
from highbar.errors import InputError, Problem, ReportError
from highbar.language.digits import as_float
from highbar.model import RuleResult, Value
from highbar.model.judging import Judging, Selection
from highbar.report import REPORTERS
from highbar.store import verdict as document
from highbar.store.forms import EXACT, Context
from tests.golden.judged import EACH, verdict_of
from tests.oracle.policies import policy_of, suite_of
from tests.oracle.suites import examples, rows_of, seeded
from tests.unit.report.strategies import PROBLEMS, TEXTS, VERDICTS, rule_results
from tests.unit.report.verdicts import FAILING

SCHEMA = jsonschema.Draft202012Validator(document.schema())
REJUDGED = tuple(name for name in REPORTERS if name != "json")


def bytes_of(verdict: highbar.Verdict) -> bytes:
    return REPORTERS["json"](verdict).encode()


def returned(verdict: highbar.Verdict) -> highbar.Verdict:
    """The verdict after a way through a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "verdict.json")
        verdict.save(path)
        assert path.read_bytes() == bytes_of(verdict)
        assert [file.name for file in Path(folder).iterdir()] == ["verdict.json"]
        return highbar.read_verdict(path)


def refused(tmp_path: Path, text: str | bytes) -> tuple[Problem, ...]:
    path = tmp_path / "verdict.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as caught:
        highbar.read_verdict(path)
    assert all(problem.file == str(path) for problem in caught.value.problems[:1])
    return caught.value.problems


def agreeing(verdict: highbar.Verdict) -> highbar.Verdict:
    """The verdict, failed if it has no rule, a blocking one that did not pass, or did not pass at the ref."""
    bad = not verdict.rules or any(rule.level == "blocking" and rule.outcome != "pass" for rule in verdict.rules)
    bad = bad or (verdict.against is not None and verdict.against.verdict != "pass")
    return replace(verdict, verdict="fail") if bad else verdict


CHOSEN = st.builds(
    Selection,
    st.sampled_from([(), (("tags.model", ("x",)),), (("category", ("a", "b")), ("tags.\x1b", ("\n",)))]),
    st.integers(0, 9),
    st.just(()),
    st.integers(0, 9),
)
FULLER = st.builds(
    replace,
    VERDICTS,
    judged_by=st.lists(st.builds(Judging, TEXTS, st.lists(TEXTS, max_size=2).map(tuple), st.booleans())).map(tuple),
    selection=st.none() | CHOSEN,
    second_run=st.none() | st.floats(0, 1),
    second_run_low=st.none() | st.floats(0, 1),
    confidence=st.fractions(0, 1),
)


@pytest.mark.slow
@given(FULLER.map(agreeing))
def test_hostile_texts_come_back_as_the_same_bytes(verdict):
    again = returned(verdict)
    assert bytes_of(again) == bytes_of(verdict)
    SCHEMA.validate(document.write(again))


@pytest.mark.slow
@given(VERDICTS, st.lists(rule_results(), max_size=3).map(tuple), PROBLEMS.map(tuple))
def test_a_verdict_without_a_policy_comes_back_with_its_advice(verdict, advice, problems):
    verdict = replace(verdict, verdict=None, rules=(), policy=None, advice=advice, problems=problems)
    again = returned(verdict)
    assert bytes_of(again) == bytes_of(verdict)
    assert (again.verdict, again.problems, len(again.advice)) == (None, problems, len(advice))


@pytest.mark.parametrize("case", EACH)
def test_a_golden_verdict_comes_back_and_looks_the_same_in_every_format(case):
    verdict = verdict_of(case)
    if verdict is None:  # a case that is refused has no verdict to save
        return
    verdict = replace(verdict, read_again=None)
    again = returned(verdict)
    assert bytes_of(again) == bytes_of(verdict)
    for name in REJUDGED:
        assert highbar.render(again, name) == highbar.render(verdict, name)


@pytest.mark.slow
@examples(6)
@given(seeded())
def test_what_the_oracle_generates_comes_back_as_the_same_bytes(random: Random):
    rows = rows_of(random, scenarios=8)
    suite = suite_of(random, rows)
    policy = policy_of(random, rows, suite)
    with tempfile.TemporaryDirectory() as folder:
        if suite is not None:
            file = Path(folder, "scenarios.json")
            file.write_text(json.dumps(suite), "utf-8")
            policy = {**policy, "suite": str(file)}
        verdict = highbar.check(rows, policy)
    assert bytes_of(returned(verdict)) == bytes_of(verdict)


DECIMALS = st.builds(lambda digits, places: Fraction(digits, 10**places), st.integers(0, 10**25), st.integers(0, 25))


@given(DECIMALS | st.fractions(), st.lists(DECIMALS, max_size=4), st.booleans())
def test_a_number_is_read_so_that_it_is_written_the_same(value, bounds, on_one):
    bounds = (*bounds, value) if on_one else tuple(bounds)
    number = as_float(value, bounds)
    found = EXACT.read(json.loads(json.dumps(number)), Context(here=bounds))
    assert as_float(found, bounds) == number


def test_a_value_on_a_threshold_of_many_digits_stays_on_it():
    bar = Fraction("0.90000000000000000001")
    rule = RuleResult(
        "r", "blocking", "pass", "because", metric="x", threshold=">= 0.90000000000000000001",
        value=Value(bar, 3, 0, "ratio", "higher"),
    )  # fmt: skip
    verdict = replace(FAILING, rules=(rule,), metrics={"x": rule.value})
    again = returned(verdict)
    assert again.metrics["x"].value == again.rules[0].value.value == bar
    assert bytes_of(again) == bytes_of(verdict)


def test_saving_replaces_the_file_whole_and_a_failure_leaves_it(tmp_path):
    path = tmp_path / "verdict.json"
    path.write_text("old")
    FAILING.save(str(path))
    assert highbar.read_verdict(str(path)).verdict == FAILING.verdict
    with pytest.raises(ReportError, match="could not be written"):
        FAILING.save(tmp_path / "no" / "such" / "folder.json")
    with pytest.raises(ReportError, match="could not be written"):
        FAILING.save(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["verdict.json"]


DOCUMENT = REPORTERS["json"](FAILING)


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


@pytest.mark.parametrize(
    ("before", "after", "part", "code", "place", "value"),
    [
        (
            '"level": "blocking"',
            '"level": "blokking"',
            "blokking",
            "document.damaged",
            "rules[0].level",
            "'blokking'",
        ),
        (
            '"scenarios": 50',
            '"scenarios": -1',
            '"scenarios": -1',
            "document.damaged",
            "counts.scenarios",
            "-1",
        ),
        (
            '"scenarios": 50',
            '"scenarios": true',
            '"scenarios": true',
            "document.damaged",
            "counts.scenarios",
            "true",
        ),
        (
            '"scenarios": 50',
            '"scenarios": 50.5',
            '"scenarios": 50.5',
            "document.damaged",
            "counts.scenarios",
            "50.5",
        ),
        ('"confidence": 0.95', '"confidence": "0.95"', '"confidence"', "document.damaged", "confidence", "'0.95'"),
        (
            '"verdict": "fail"',
            '"verdict": "PASS"',
            '"PASS"',
            "document.damaged",
            "verdict",
            "'PASS'",
        ),
        ('"unit": "ratio"', '"unit": "%"', '"%"', "document.damaged", "metrics.pass_rate.unit", "'%'"),
        ('"better": "higher"', '"bettr": "higher"', None, "document.damaged", "metrics.pass_rate.better", ""),
        ('"errors": 1', '"errors": 1e400', "1e400", "document.damaged", "counts.errors", "inf"),
    ],
)
def test_a_damaged_document_is_refused_with_its_line(tmp_path, before, after, part, code, place, value):
    assert before in DOCUMENT
    text = DOCUMENT.replace(before, after, 1)
    problem = refused(tmp_path, text)[0]
    assert (problem.code, problem.message.split(": ")[0]) == (code, place)
    assert value in problem.message
    assert problem.line == (line_of(text, part) if part else problem.line)
    assert problem.line
    assert problem.hint


def test_a_number_beyond_every_float_is_refused(tmp_path):
    content = json.loads(DOCUMENT)
    content["metrics"]["pass_rate"]["value"] = 10**400
    (problem, *_) = refused(tmp_path, json.dumps(content, indent=2))
    assert (problem.code, problem.message.split(": ")[0]) == ("document.damaged", "metrics.pass_rate.value")
    assert "±1e308" in problem.message


@pytest.mark.parametrize(
    ("text", "line", "code", "value"),
    [
        ("", 1, "document.damaged", ""),
        (DOCUMENT[:2000], None, "document.damaged", ""),
        (b"\xff\xfe{}", None, "document.damaged", ""),
        ("[]", 1, "document.other-schema", "highbar/verdict/1"),
        ("7", 1, "document.other-schema", "7"),
        ('{\n"a": 1}', 1, "document.other-schema", "null"),
        ('{\n"schema": "highbar/baseline/1"}', 2, "document.other-schema", "'highbar/baseline/1'"),
        ('{\n"schema": "highbar/verdict/2"}', 2, "document.other-schema", "'highbar/verdict/2'"),
        ('{\n"schema": ["highbar/verdict/1"]}', 2, "document.other-schema", "list"),
        (
            DOCUMENT.replace('"errors": 1', '"errors": NaN', 1),
            line_of(DOCUMENT, '"errors": 1'),
            "document.damaged",
            "NaN",
        ),
        ('{"schema": "highbar/verdict/1",\n"schema": "highbar/verdict/1"}', 2, "document.damaged", "'schema'"),
        ("[" * 100_000, None, "document.damaged", ""),
    ],
)
def test_a_foreign_document_is_refused(tmp_path, text, line, code, value):
    (problem,) = refused(tmp_path, text)
    assert problem.code == code
    assert value in problem.message
    assert line is None or problem.line == line


def test_a_document_of_a_newer_version_says_what_to_do(tmp_path):
    (problem,) = refused(tmp_path, DOCUMENT.replace("highbar/verdict/1", "highbar/verdict/12"))
    assert (problem.code, problem.line) == ("document.other-schema", 2)
    assert "highbar/verdict/12" in problem.message
    assert problem.hint.endswith("highbar/verdict/1")


def test_a_file_that_is_not_there_is_refused(tmp_path):
    for path in (tmp_path / "absent.json", "a\0b"):
        with pytest.raises(InputError) as caught:
            highbar.read_verdict(path)
        assert [(problem.code, problem.file) for problem in caught.value.problems] == [("file.unreadable", str(path))]


def test_a_document_of_problems_gives_the_problems(tmp_path):
    text = REPORTERS["json"].refusal([Problem("results.empty", "no rows", "results.jsonl", hint="record some")])
    first, second = refused(tmp_path, text)
    assert (first.code, first.message.split(": ")[0]) == ("document.damaged", "verdict")
    assert second == Problem("results.empty", "no rows", "results.jsonl", hint="record some")


@pytest.mark.parametrize(
    ("key", "value", "code", "place", "named"),
    [
        ("results", [{"file": "r.jsonl", "sha256": "abc"}], "document.damaged", "results[0].sha256", "'abc'"),
        ("slices", [{}], "document.damaged", "slices[0].by", ""),
        (
            "select",
            {"where": {"a": [1]}, "rows_left_out": 0, "scenarios_left_out": 0},
            "document.damaged",
            "select.where.a[0]",
            "1",
        ),
    ],
)
def test_the_reader_is_as_strict_as_the_schema(tmp_path, key, value, code, place, named):
    content = {**json.loads(DOCUMENT), key: value}
    assert not SCHEMA.is_valid(content)
    problem = refused(tmp_path, json.dumps(content, indent=2))[0]
    assert (problem.code, problem.message.split(": ")[0]) == (code, place)
    assert named in problem.message


def test_a_document_without_a_policy_has_no_rules(tmp_path):
    content = json.loads(DOCUMENT) | {"verdict": None, "policy": None, "advice": [], "problems": []}
    assert not SCHEMA.is_valid(content)
    (problem,) = refused(tmp_path, json.dumps(content))
    assert (problem.code, problem.message.split(": ")[0]) == ("document.damaged", "rules")


def test_further_fields_pass_as_the_schema_promises(tmp_path):
    content = {**json.loads(DOCUMENT), "later": {"more": 1}}
    path = tmp_path / "verdict.json"
    path.write_text(json.dumps(content))  # and spacing does not matter
    assert bytes_of(highbar.read_verdict(path)).decode() == DOCUMENT


def test_a_document_of_a_quarantine_that_the_history_chose_is_still_read(tmp_path):
    """Earlier versions wrote the day on which it began."""
    chosen = {"id": "A", "why": "flaky", "since": "2026-11-02", "until": "2026-12-02"}
    path = tmp_path / "verdict.json"
    path.write_text(json.dumps({**document.write(FAILING), "quarantined": [chosen]}))
    (found,) = highbar.read_verdict(path).quarantined
    assert (found.id, found.why, found.until) == ("A", "flaky", "2026-12-02")


@given(st.data())
def test_any_damage_is_refused_or_read_as_a_document_that_the_schema_allows(data):
    """One value of a real document replaced by another. The owner of a file can edit it; nothing crashes."""
    content = json.loads(DOCUMENT)
    place, key = data.draw(st.sampled_from(list(places(content))))
    place[key] = data.draw(st.sampled_from([None, True, -1, 0.5, math.pi, "x", "pass", [], {}, ["x"], {"x": "y"}]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "verdict.json")
        path.write_text(json.dumps(content), "utf-8")
        try:
            again = document.write(highbar.read_verdict(path))
        except InputError:
            return
    SCHEMA.validate(again)


def places(value):
    """Every place of a document that holds a value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        yield value, key
        yield from places(inner)
