"""The product against the oracle on generated suites: values, counts, slices, rules, failed scenarios and verdict."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings

import highbar
from tests.commandline import run
from tests.oracle.comparing import as_json, differences
from tests.oracle.files import WRITERS
from tests.oracle.judging import judge
from tests.oracle.policies import policy_of, suite_of
from tests.oracle.suites import SCENARIO_COLUMNS, Row, examples, recorded, rows_of, seeded

pytestmark = pytest.mark.slow

DESCRIPTIVE = {"id", "trial", *SCENARIO_COLUMNS, "expected_behaviors", "must_not", "expected", "agent_version"}
EXITS = {"pass": 0, "fail": 1, "inconclusive": 3}
GENERATED = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def compare(random: Random, *, scenarios: int, cut: float = 0) -> None:
    """One generated suite and policy through the Python API; a part `cut` of the trials was not run."""
    rows = [not_run(row) if random.random() < cut else row for row in rows_of(random, scenarios=scenarios)]
    suite = suite_of(random, rows)
    policy = policy_of(random, rows, suite)
    judged = judge(rows, policy, suite)
    with tempfile.TemporaryDirectory() as folder:
        if suite is not None:
            file = Path(folder, "scenarios.json")
            file.write_text(json.dumps(suite), "utf-8")
            policy = {**policy, "suite": str(file)}
        verdict = highbar.check(rows, policy)
    wrong = differences(as_json(verdict), judged, policy)
    assert not wrong, "\n".join([*wrong, *map(repr, rows), json.dumps(policy, ensure_ascii=False)])


def not_run(row: Row) -> Row:
    """The trial as a run leaves it that was cut short before it."""
    return {column: row[column] for column in row if column in DESCRIPTIVE} | {"unjudged": "not run"}


@settings(max_examples=20, suppress_health_check=GENERATED)
@given(recorded())
def test_small_suites_are_judged_as_the_oracle_judges_them(random):
    compare(random, scenarios=5)


@examples(12)
@given(seeded())
def test_large_suites_are_judged_as_the_oracle_judges_them(random):
    compare(random, scenarios=25)


@pytest.mark.parametrize("cut", [0.5, 1])
@examples(12)
@given(random=seeded())
def test_runs_that_were_cut_short_are_judged_as_the_oracle_judges_them(cut, random):
    compare(random, scenarios=5, cut=cut)


@examples(6)
@given(seeded())
def test_by_the_typical_thresholds_the_oracle_and_the_product_agree(random):
    rows = rows_of(random, scenarios=10)
    verdict = highbar.check(rows, "typical")
    wrong = differences(as_json(verdict), judge(rows, None), None)
    assert not wrong, "\n".join([*wrong, *map(repr, rows)])


@pytest.mark.parametrize("form", sorted(WRITERS))
@examples(2)
@given(random=seeded())
def test_every_file_format_is_judged_alike_on_the_command_line(form, random):
    rows = rows_of(random, scenarios=12, uniform=True)
    policy = policy_of(random, rows)
    judged = judge(rows, policy)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results = WRITERS[form](rows, folder / "results", random)
        (folder / "policy.json").write_text(json.dumps(policy), "utf-8")
        done = run(folder, "check", results.name, "--policy", "policy.json", "--format", "json")
        assert done.exit == EXITS[judged.verdict], done.out + done.err
        wrong = differences(done.json, judged, policy)
        assert not wrong, "\n".join([*wrong, *map(repr, rows), json.dumps(policy, ensure_ascii=False)])


@examples(3)
@given(seeded())
def test_every_file_format_is_judged_alike_by_the_python_interface(random):
    rows = rows_of(random, scenarios=12, uniform=True)
    policy = policy_of(random, rows)
    judged = judge(rows, policy)
    with tempfile.TemporaryDirectory() as folder:
        for form, write in WRITERS.items():
            verdict = highbar.check(write(rows, Path(folder, "results"), random), policy)
            wrong = differences(as_json(verdict), judged, policy)
            assert not wrong, "\n".join([form, *wrong, *map(repr, rows), json.dumps(policy, ensure_ascii=False)])
