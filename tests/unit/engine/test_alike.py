"""Large JSON files are first supposed to have rows that are all alike. One that is not is found, wherever it stands."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

import highbar
from highbar.engine import duckdb as engine
from highbar.engine.limits import LARGE_BYTES

POLICY = {"thresholds": {"blocking": {"pass_rate": 50, "behavior_coverage": 50}}, "slices": ["category"]}
NAMES = ("greets", "cites_policy", "closes", 'says "bye"', "naïve")


def row(number):
    return {
        "id": f"S-{number:05d}",
        "category": ("happy_path", "edge_case")[number % 2],
        "expected_behaviors": list(NAMES[:3]),
        "behaviors": list(NAMES[: 1 + number % 5]),
        "must_not": ["leaks"],
        "violations": [],
        "passed": number % 7 != 0,
        "correct": number % 5 != 0,
        "latency_ms": 100.5 + number,
        "tokens_used": 100 + number % 50,
        "quality_score": 0.5,
        "error": None,
        "note": "x" * 2000,
    }


LARGE = 100_000
"""What counts as large here, but for one test: what is done depends on nothing else, and smaller files are faster."""
COUNT = LARGE // 2200  # long rows: the size counts
LAST = COUNT - 1


@pytest.fixture(autouse=True)
def large(monkeypatch):
    monkeypatch.setattr(engine, "LARGE_BYTES", LARGE)
    monkeypatch.setattr(engine, "SMALL_BYTES", LARGE // 10)


def lines_beyond(size):
    written = [json.dumps(row(number)) for number in range(size // 2200)]
    assert sum(map(len, written)) > size
    return written


@pytest.fixture(scope="module")
def lines():
    return lines_beyond(LARGE)


def checked(folder, lines):
    path = folder / "results.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return highbar.check(path, POLICY)


def refused(folder, lines):
    with pytest.raises(highbar.InputError) as caught:
        checked(folder, lines)
    return caught.value.problems[0]


def with_last(lines, **changes):
    return [*lines[:-1], json.dumps({**row(len(lines) - 1), **changes})]


@pytest.mark.parametrize("size", [LARGE, LARGE_BYTES])
def test_rows_that_are_alike_give_what_rows_that_are_not_give(tmp_path, monkeypatch, size):
    monkeypatch.setattr(engine, "LARGE_BYTES", size)
    lines = lines_beyond(size)
    alike = checked(tmp_path, lines)
    other = checked(tmp_path, with_last(lines, one_more="key"))
    assert replace(alike, results=()) == replace(other, results=())
    assert alike.counts.scenarios == len(lines)
    assert alike.scenarios_failed == other.scenarios_failed != ()


def test_names_are_shown_as_they_are_in_the_results(tmp_path, lines):
    verdict = checked(tmp_path, with_last(lines, violations=['says "bye"']))
    assert verdict.scenarios_failed[0].reason.startswith('violated: says "bye"')


@pytest.mark.parametrize(
    ("changes", "code", "column", "value"),
    [
        ({"passed": 1}, "row.wrong-type", "passed", "1"),
        ({"passed": "true"}, "row.wrong-type", "passed", "'true'"),
        ({"latency_ms": "12"}, "row.wrong-type", "latency_ms", "'12'"),
        ({"tokens_used": 1.5}, "row.wrong-type", "tokens_used", "1.5"),
        ({"quality_score": 95}, "row.wrong-value", "quality_score", "95"),
        ({"id": 12.5}, "row.wrong-type", "id", "12.5"),
        ({"behaviors": ["greets", 1]}, "row.wrong-type", "behaviors", "list of 2"),
        ({"violations": [None]}, "row.wrong-type", "violations", "list of 1"),
        ({"category": 3}, "row.wrong-type", "category", "3"),
        ({"note": float("nan")}, "row.not-finite", "", "NaN"),
    ],
)
def test_a_last_row_of_another_type_is_refused_with_its_line(tmp_path, lines, changes, code, column, value):
    problem = refused(tmp_path, with_last(lines, **changes))
    assert (problem.code, problem.line) == (code, COUNT)
    assert problem.message.startswith(f"{column}: " if column else value)
    assert value in problem.message


def test_a_misspelled_key_in_the_last_row_is_refused(tmp_path, lines):
    last = row(LAST)
    last["pased"] = last.pop("passed")
    problem = refused(tmp_path, [*lines[:-1], json.dumps(last)])
    assert (problem.code, problem.line) == ("results.unknown-name", COUNT)
    assert "'pased'" in problem.message


def test_a_trailing_comma_in_the_last_row_is_refused(tmp_path, lines):
    problem = refused(tmp_path, [*lines[:-1], lines[-1].removesuffix("}") + ",}"])
    assert problem.line == COUNT


@pytest.mark.parametrize("blanks", ["", " ", "  ", "\t", " \t ", "\r"], ids=repr)
@pytest.mark.parametrize("bracket", ["]", "}"])
def test_a_trailing_comma_is_refused_whatever_blanks_follow_it(tmp_path, lines, bracket, blanks):
    head, _, tail = lines[-1].rpartition(bracket)
    assert refused(tmp_path, [*lines[:-1], f"{head},{blanks}{bracket}{tail}"]).line == COUNT


def test_text_that_looks_like_a_trailing_comma_is_text(tmp_path, lines):
    assert checked(tmp_path, with_last(lines, note="a, ] and b, }")).counts.scenarios == COUNT


def test_other_forms_of_behaviors_in_the_last_row_are_read(tmp_path, lines):
    verdict = checked(tmp_path, with_last(lines, behaviors=dict.fromkeys(NAMES[:3], True), passed=True))
    assert f"S-{LAST:05d}" not in {scenario.id for scenario in verdict.scenarios_failed}


def test_a_line_that_is_cut_off_is_refused(tmp_path, lines):
    problem = refused(tmp_path, [*lines[:-1], lines[-1][:100]])
    assert problem.line == COUNT


def test_a_first_line_that_is_blank_says_nothing_of_the_rows(tmp_path, lines):
    assert checked(tmp_path, ["", *lines]).counts.scenarios == COUNT


@pytest.mark.parametrize("first", ['["id", "passed"]', '[["id", 1], ["passed", 2]]', "12", '"ab"', "{", '{"id": "a"}x'])
def test_a_first_line_that_is_no_object_is_refused(tmp_path, lines, first):
    assert refused(tmp_path, [first, *lines]).line == 1


def test_a_first_row_with_a_key_twice_is_refused(tmp_path, lines):
    problem = refused(tmp_path, [lines[0].removesuffix("}") + ', "passed": true}', *lines[1:]])
    assert problem.line == 1
