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
    ("before", "after", "part", "message"),
    [
        (
            '"level": "blocking"',
            '"level": "blokking"',
            "blokking",
            "rules[0].level: found 'blokking', wanted blocking or warning",
        ),
        (
            '"scenarios": 50',
            '"scenarios": -1',
            '"scenarios": -1',
            "counts.scenarios: found -1, wanted a whole number from 0 on",
        ),
        (
            '"scenarios": 50',
            '"scenarios": true',
            '"scenarios": true',
            "counts.scenarios: found true, wanted a whole number",
        ),
        (
            '"scenarios": 50',
            '"scenarios": 50.5',
            '"scenarios": 50.5',
            "counts.scenarios: found 50.5, wanted a whole number",
        ),
        ('"confidence": 0.95', '"confidence": "0.95"', '"confidence"', "confidence: found '0.95', wanted a number"),
        (
            '"verdict": "fail"',
            '"verdict": "PASS"',
            '"PASS"',
            "verdict: found 'PASS', wanted pass or fail or inconclusive",
        ),
        ('"unit": "ratio"', '"unit": "%"', '"%"', ".unit: found '%', wanted ratio or ms"),
        ('"better": "higher"', '"bettr": "higher"', None, ".better: is missing"),
        ('"errors": 1', '"errors": 1e400', "1e400", "counts.errors: found inf, wanted a whole number"),
    ],
)
def test_a_damaged_document_is_refused_with_its_line(tmp_path, before, after, part, message):
    assert before in DOCUMENT
    text = DOCUMENT.replace(before, after, 1)
    problem = refused(tmp_path, text)[0]
    assert message in problem.message
    assert problem.line == (line_of(text, part) if part else problem.line)
    assert problem.line
    assert problem.hint


def test_a_number_beyond_every_float_is_refused(tmp_path):
    content = json.loads(DOCUMENT)
    content["metrics"]["pass_rate"]["value"] = 10**400
    (problem, *_) = refused(tmp_path, json.dumps(content, indent=2))
    assert "wanted a number within ±1e308" in problem.message


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "not JSON"),
        (DOCUMENT[:2000], None, "not JSON"),
        (b"\xff\xfe{}", None, "not UTF-8"),
        ("[]", 1, "found a list, wanted a document of schema highbar/verdict/1"),
        ("7", 1, "found 7, wanted"),
        ('{\n"a": 1}', 1, "found null, wanted a document of schema"),
        ('{\n"schema": "highbar/baseline/1"}', 2, "found 'highbar/baseline/1', wanted"),
        ('{\n"schema": "highbar/verdict/2"}', 2, "which a newer version of Highbar wrote"),
        ('{\n"schema": ["highbar/verdict/1"]}', 2, "found a list, wanted"),
        (DOCUMENT.replace('"errors": 1', '"errors": NaN', 1), line_of(DOCUMENT, '"errors": 1'), "found the number NaN"),
        ('{"schema": "highbar/verdict/1",\n"schema": "highbar/verdict/1"}', 2, "the key 'schema' is there twice"),
        ("[" * 100_000, None, "not a document of Highbar"),
    ],
)
def test_a_foreign_document_is_refused(tmp_path, text, line, message):
    (problem,) = refused(tmp_path, text)
    assert message in problem.message
    assert line is None or problem.line == line


def test_a_document_of_a_newer_version_says_what_to_do(tmp_path):
    (problem,) = refused(tmp_path, DOCUMENT.replace("highbar/verdict/1", "highbar/verdict/12"))
    assert (problem.line, problem.hint) == (2, "update Highbar: this version reads highbar/verdict/1")


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        highbar.read_verdict(tmp_path / "absent.json")
    with pytest.raises(InputError, match="cannot be read"):
        highbar.read_verdict("a\0b")


def test_a_document_of_problems_gives_the_problems(tmp_path):
    text = REPORTERS["json"].refusal([Problem("results.empty", "no rows", "results.jsonl", hint="record some")])
    first, second = refused(tmp_path, text)
    assert "holds no verdict" in first.message
    assert second == Problem("results.empty", "no rows", "results.jsonl", hint="record some")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("results", [{"file": "r.jsonl", "sha256": "abc"}], "results[0].sha256: found 'abc', wanted 64 hexadecimal"),
        ("slices", [{}], "slices[0].by: is missing"),
        ("select", {"where": {"a": [1]}, "rows_left_out": 0, "scenarios_left_out": 0}, "select.where.a[0]: found 1"),
    ],
)
def test_the_reader_is_as_strict_as_the_schema(tmp_path, key, value, message):
    content = {**json.loads(DOCUMENT), key: value}
    assert not SCHEMA.is_valid(content)
    assert message in refused(tmp_path, json.dumps(content, indent=2))[0].message


def test_a_document_without_a_policy_has_no_rules(tmp_path):
    content = json.loads(DOCUMENT) | {"verdict": None, "policy": None, "advice": [], "problems": []}
    assert not SCHEMA.is_valid(content)
    (problem,) = refused(tmp_path, json.dumps(content))
    assert "rules: found a list of" in problem.message


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
