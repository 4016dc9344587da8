"""What the engine makes of rows: each trial counted once, and ids that two demands name."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import pytest

import highbar
from highbar.engine import duckdb as engine
from highbar.engine.limits import MOST_SLICES
from tests.golden.judged import EACH, judge, verdict_of

PASS_RATE = {"thresholds": {"blocking": {"pass_rate": 50}}}


def test_a_violated_error_that_asks_for_nothing_counts_once():
    rows = [
        {"id": "a", "trial": 1, "violations": 3, "error": "crash"},
        {"id": "a", "trial": 2, "expected_behaviors": ["x"], "behaviors": ["x"]},
    ]
    found = highbar.check(rows, PASS_RATE).metrics
    assert found["behavior_coverage"].value == Fraction(1, 2)
    assert found["weighted_behavior_coverage"].value == Fraction(1, 2)


def test_a_violated_error_that_asks_for_nothing_is_wrong_and_scores_nothing_where_others_have_both():
    rows = [
        {"id": "a", "trial": 1, "violations": 3, "error": "crash"},
        {"id": "a", "trial": 2, "error": "crash"},
        {"id": "a", "trial": 3, "expected_behaviors": ["x"], "behaviors": ["x"], "correct": True},
    ]
    found = highbar.check(rows, PASS_RATE).metrics
    assert found["behavior_coverage"].value == Fraction(1, 3)
    assert found["accuracy"].value == Fraction(1, 3)


def test_a_violated_error_alone_has_neither_a_score_nor_an_answer():
    rows = [{"id": "a", "trial": 1, "violations": 3, "error": "crash"}]
    found = highbar.check(rows, PASS_RATE).metrics
    assert found["behavior_coverage"].value is None
    assert found["accuracy"].value is None


BOTH = {"required_scenarios": {"ids": ["SEC-*"]}, "optional_scenarios": {"ids": ["*-001"]}}


def test_an_id_that_is_required_and_optional_counts_as_required_and_is_noted():
    rows = [{"id": "SEC-001", "passed": False}, {"id": "SEC-002", "passed": True}, {"id": "X-001", "passed": True}]
    verdict = highbar.check(rows, BOTH)
    assert verdict.verdict == "fail"
    assert verdict.warnings == ("SEC-001 is required and optional by the policy's patterns: it counts as required",)


def test_a_required_scenario_that_failed_is_counted_in_numbers():
    verdict = highbar.check([{"id": "A", "passed": False}], {"required_scenarios": {"ids": ["A", "A*"]}})
    assert {rule.reason for rule in verdict.rules} == {"A did not pass"}


def test_ids_of_two_patterns_that_share_none_are_not_noted():
    rows = [{"id": "SEC-002", "passed": True}, {"id": "X-001", "passed": True}]
    assert highbar.check(rows, BOTH).warnings == ()


def test_many_ids_that_are_required_and_optional_are_counted(tmp_path):
    rows = [{"id": f"SEC-{n}-001", "passed": True} for n in range(7)]
    (note,) = highbar.check(rows, BOTH).warnings
    assert note.startswith("SEC-0-001, SEC-1-001, SEC-2-001, SEC-3-001, SEC-4-001 and 2 more are required and optional")


def test_the_absence_of_a_required_scenario_is_not_excused_by_an_optional_pattern(tmp_path):
    (tmp_path / "suite.txt").write_text("SEC-001\nSEC-002\n")
    (tmp_path / "highbar.yaml").write_text(
        'suite: suite.txt\nrequired_scenarios: { ids: ["SEC-*"] }\noptional_scenarios: { ids: ["*-001"] }\n'
    )
    verdict = highbar.check([{"id": "SEC-002", "passed": True}], tmp_path / "highbar.yaml")
    assert verdict.verdict == "fail"
    (suite,) = (rule for rule in verdict.rules if rule.rule == "suite")
    assert suite.outcome == "fail"
    assert suite.reason.endswith(": SEC-001")


def test_an_engine_that_cannot_be_set_up_is_not_the_fault_of_the_results(monkeypatch):
    def broken(*_, **__):
        raise duckdb.InvalidInputException("unrecognized configuration property")

    monkeypatch.setattr(duckdb, "connect", broken)
    with pytest.raises(engine.EngineError, match="unrecognized configuration property"):
        highbar.check([{"id": "a", "passed": True}], PASS_RATE)


class Failing:
    """A connection on which every relation that is made raises."""

    def __init__(self, connection, fault):
        self.connection, self.fault = connection, fault

    def execute(self, sql, *more):
        if sql.startswith("CREATE"):
            raise self.fault("something is wrong inside")
        return self.connection.execute(sql, *more)

    def close(self):
        self.connection.close()


@pytest.mark.parametrize("fault", [duckdb.InternalException, duckdb.OutOfMemoryException, duckdb.CatalogException])
def test_an_engine_that_fails_on_sound_results_is_not_their_fault(monkeypatch, fault):
    sound = duckdb.connect
    monkeypatch.setattr(duckdb, "connect", lambda *a, **k: Failing(sound(*a, **k), fault))
    with pytest.raises(fault):
        highbar.check([{"id": "a", "passed": True}], PASS_RATE)


@pytest.mark.parametrize("case", EACH)
def test_how_small_files_are_planned_changes_nothing(case, monkeypatch):
    as_small = verdict_of(case)
    monkeypatch.setattr(engine, "SMALL_BYTES", 0)
    assert judge(case) == as_small


@pytest.mark.parametrize("more", [{}, {"cluster": "c"}], ids=["independent", "clustered"])
def test_only_the_largest_values_of_a_slice_are_measured(more):
    large = [{"id": f"{name}-{i}", "team": name, "passed": i > 0} for name in ("y", "z") for i in range(2)]
    small = [{"id": f"s-{i:04}", "team": f"t{i:04}", "passed": True} for i in range(MOST_SLICES)]
    rows = [{**row, "category": "a", **more} for row in (*large, *small, {"id": "none", "passed": False})]
    found = highbar.check(rows, PASS_RATE, slices=["team", "category"])
    sizes = {part.by: part.scenarios for part in found.slices}
    assert sizes == {
        **{("team", f"t{i:04}"): 1 for i in range(MOST_SLICES - 2)},  # of those of one size the first
        ("team", "y"): 2,
        ("team", "z"): 2,
        ("category", "a"): len(rows),
    }
    assert list(sizes) == sorted(sizes, key=lambda by: (by[0] != "team", by))
    assert found.slices[-2].metrics["pass_rate"].value == Fraction(1, 2)
    assert f"the slice team has more than {MOST_SLICES} values; only the largest are shown" in found.warnings
