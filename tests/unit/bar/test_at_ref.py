"""Two bars at once: the worse verdict wins, whichever of the two it is of."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from highbar import pipeline
from highbar.bar import at_ref
from highbar.engine.duckdb import DuckDBEngine
from highbar.errors import InputError
from highbar.model.job import Job
from tests.repository import commit, put, rows

pytestmark = pytest.mark.process

BARS = {
    "pass": {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}},
    "inconclusive": {"thresholds": {"blocking": {"pass_rate": {"threshold": "≥ 50%", "min_scenarios": 50}}}},
    "fail": {"thresholds": {"blocking": {"pass_rate": "≥ 90%"}}},
}
JOB = Job(("results.jsonl",))
WORSE = ["pass", "inconclusive", "fail"]
RESULTS = rows(*[True] * 8, *[False] * 2)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def make(before, now):
        put(tmp_path, {"highbar.json": now})
        commit(tmp_path, {"highbar.json": before})
        put(tmp_path, {"highbar.json": now, "results.jsonl": RESULTS})

    return make


@pytest.mark.parametrize("now", WORSE)
@pytest.mark.parametrize("before", WORSE)
def test_the_worse_verdict_wins(repository, before, now):
    repository(BARS[before], BARS[now])
    assert pipeline.check(JOB).verdict == now
    found = at_ref.check_against_ref(JOB, "main")
    assert found.verdict == max(before, now, key=WORSE.index)
    assert found.against.verdict == before
    assert len(found.rules) == (1 if before == now else 2)


def test_a_higher_bar_is_not_a_weaker_one(repository):
    repository(BARS["pass"], BARS["fail"])
    assert at_ref.check_against_ref(JOB, "main").against.verdict == "pass"


def test_standard_input_is_judged_by_both(repository):
    repository(BARS["fail"], BARS["pass"])
    read = at_ref.check_against_ref(Job(("-",), input_format="jsonl", stdin=io.BytesIO(RESULTS.encode())), "main")
    assert (read.verdict, read.counts.scenarios) == ("fail", 10)


def test_the_commit_is_the_one_that_the_ref_had(repository, tmp_path):
    repository(BARS["fail"], BARS["pass"])
    first = at_ref.check_against_ref(JOB, "main").against.commit
    commit(tmp_path, {"highbar.json": BARS["pass"]})
    assert at_ref.check_against_ref(JOB, first).verdict == "fail"
    assert at_ref.check_against_ref(JOB, "main~1").against.commit == first
    assert at_ref.check_against_ref(JOB, "HEAD").verdict == "pass"


def test_problems_of_the_bar_at_the_ref_say_so(repository):
    repository({**BARS["pass"], "allow_columns": []}, {**BARS["pass"], "allow_columns": ["pased"]})
    lines = [line.replace('"passed"', '"pased": 1, "passed"') for line in RESULTS.splitlines()]
    Path("results.jsonl").write_text("\n".join(lines) + "\n")
    assert pipeline.check(JOB).verdict == "pass"
    with pytest.raises(InputError) as refused:
        at_ref.check_against_ref(JOB, "main")
    (problem,) = refused.value.problems
    assert problem.message == "by the policy at main: unknown column 'pased'"


def test_no_copy_is_left_behind(repository, tmp_path, monkeypatch):
    elsewhere = tmp_path / "temporary"
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    repository(BARS["fail"], BARS["pass"])
    at_ref.check_against_ref(JOB, "main")
    assert list(elsewhere.iterdir()) == []


def reductions(monkeypatch):
    """The requests that reach the engine from here on."""
    requests = []
    reduce = DuckDBEngine.reduce

    def noted(engine, request):
        requests.append(request)
        return reduce(engine, request)

    monkeypatch.setattr(DuckDBEngine, "reduce", noted)
    return requests


@pytest.mark.parametrize("before", WORSE)
def test_rows_are_reduced_once_if_both_policies_score_alike(repository, monkeypatch, before):
    repository(BARS[before], BARS["pass"])
    requests = reductions(monkeypatch)
    assert at_ref.check_against_ref(JOB, "main").against.verdict == before
    assert len(requests) == 1


def test_one_reduction_has_the_sums_of_both_policies(repository, monkeypatch):
    slow = {"rules": [{"metric": "pass_rate", "where": {"category": "a"}, "threshold": "≥ 95%"}]}
    fast = {"rules": [{"metric": "pass_rate", "where": {"category": "b"}, "threshold": "≥ 95%"}]}
    repository(slow, fast)
    lines = [{"id": f"S{i}", "passed": i % 3 > 0, "category": "ab"[i % 2]} for i in range(30)]
    Path("results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    requests = reductions(monkeypatch)
    found = at_ref.check_against_ref(JOB, "main")
    assert len(requests) == 1
    alone = pipeline.check(replace(JOB, policy=slow))
    assert len(requests) == 2
    assert found.rules[-1].rule == "main:rules[0]"
    assert (found.rules[-1].value, found.rules[-1].reason) == (alone.rules[0].value, alone.rules[0].reason)


@pytest.mark.parametrize(
    "other",
    [{"pass_score": "50%"}, {"confidence": 0.9}, {"slices": ["tags.x"]}, {"weights": {"by_category": {"a": 2}}}],
    ids=lambda other: next(iter(other)),
)
def test_rows_are_reduced_twice_if_the_policies_score_otherwise(repository, monkeypatch, other):
    repository({**BARS["pass"], **other}, BARS["pass"])
    requests = reductions(monkeypatch)
    at_ref.check_against_ref(JOB, "main")
    assert len(requests) == 2


def test_a_rule_that_demands_less_evidence_is_another_rule_even_if_it_reads_the_same(repository):
    strict = {"thresholds": {"blocking": {"pass_rate": {"threshold": "≥ 50%", "min_scenarios": 9}}}}
    loose = {"thresholds": {"blocking": {"pass_rate": {"threshold": "≥ 50%", "min_scenarios": 2}}}}
    repository(strict, loose)
    names = [rule.rule for rule in at_ref.check_against_ref(JOB, "main").rules]
    assert names == ["thresholds.blocking.pass_rate", "main:thresholds.blocking.pass_rate"]
