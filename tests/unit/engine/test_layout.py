"""What the results cannot give is left out of the SQL: that changes no verdict."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

import highbar
from highbar import policy as policies
from highbar.columns import COLUMN_NAMES
from highbar.engine import scoring
from highbar.engine.column_readers import Raw
from highbar.engine.layout import narrow_request
from highbar.engine.sources import SourcePart
from highbar.measure.needs import needs
from highbar.model import Verdict

Row = dict[str, Any]
POLICY = {
    "thresholds": {"blocking": {"pass_rate": 80, "behavior_coverage": 50}, "warning": {"latency_p95": 5000}},
    "pass_criteria": {"by_category": {"adversarial": "100%"}},
    "metrics": [{"name": "mean_cost", "formula": "mean(cost_usd)"}, {"name": "own", "formula": "mean(own_number)"}],
}
CASES: dict[str, list[Row]] = {
    "own judgment": [{"passed": True}, {"passed": False}],
    "answers": [{"correct": True}, {"correct": False}, {"error": "crash"}],
    "labels": [{"expected": "a", "predicted": "a"}, {"expected": "a"}, {"expected": "b", "predicted": "a"}],
    "predictions alone": [{"predicted": "a", "passed": True}, {"predicted": True, "passed": False}],
    "outcomes": [{"outcome": "tp"}, {"outcome": "fn"}, {"outcome": "fp", "error": "crash"}],
    "behaviors": [
        {"expected_behaviors": ["a", "b"], "behaviors": ["a"]},
        {"expected_behaviors": ["a", "a"], "behaviors": {"a": True}},
        {"expected_behaviors": ["a"]},
    ],
    "behaviors that nobody expected": [{"behaviors": ["a"]}, {"behaviors": [], "passed": False}],
    "must-nots": [
        {"must_not": ["x"], "violations": [], "output": "fine"},
        {"must_not": ["x"], "violations": ["x"]},
        {"must_not": {"x": True}},
        {"must_not": ["x"]},
        {"must_not": ["x"], "violations": [], "output": " "},
    ],
    "must-nots that were looked for": [{"must_not": ["x"], "behaviors": ["x"]}, {"must_not": ["x"], "behaviors": []}],
    "violations alone": [{"violations": 2}, {"violations": 0}, {"violations": 0, "passed": True}],
    "unjudged": [{"passed": True}, {"unjudged": "not run: budget"}, {"unjudged": "judge: no answer", "error": "x"}],
    "blank": [{"passed": True}, {"latency_ms": 3}, {"latency_ms": 9, "error": "a\n  at b"}],
    "numbers": [
        {"quality_score": 0.5, "tokens_used": 10, "cost_usd": 0.25, "own_number": 2},
        {"quality_score": 1.0, "error": "crash"},
        {"tokens_used": 3},
    ],
}


def trials(case: str, more: Row) -> list[Row]:
    """Each row of a case in two categories; the last one again as another trial, if there are trials."""
    rows = [
        {"id": f"{category}-{place}", "category": category, **row, **more}
        for place, row in enumerate(CASES[case])
        for category in ("adversarial", "edge_case")
    ]
    return [*rows, {**rows[0], **CASES[case][-1], "trial": 2}] if "trial" in more else rows


def without_input(verdict: Verdict) -> Verdict:
    return replace(verdict, results=())


@pytest.mark.parametrize("more", [{}, {"trial": 1, "cluster": "c"}], ids=["alone", "together"])
@pytest.mark.parametrize("case", CASES)
def test_a_column_that_is_null_everywhere_changes_nothing(case, more):
    rows = trials(case, more)
    # Weights, clusters and trials have sums of their own, that round in another order; and an `output` that is null is
    # blank, while results without that column say nothing about outputs.
    nulls = dict.fromkeys((COLUMN_NAMES | {"own_number"}) - {"weight", "cluster", "trial", "output"})
    found = highbar.check(rows, POLICY)
    assert without_input(highbar.check([{**nulls, **row} for row in rows], POLICY)) == without_input(found)


def parts(*columns: str) -> list[SourcePart]:
    return [SourcePart({name: Raw(name, "JSON") for name in columns}, ())]


def test_only_what_the_columns_can_give_is_asked_for():
    policy = policies.read_dict({"thresholds": {"blocking": {"pass_rate": 80}}})
    wanted = needs(policy, ("id", "passed"))
    found = narrow_request(wanted, parts("id", "passed"))
    assert {term.column for term in found.terms} == {"passed", "scenario", "error", "violated", "unjudged"}
    assert found.percentiles == ()
    assert narrow_request(wanted, parts("id", *COLUMN_NAMES)) == wanted


@pytest.mark.parametrize(("absent", "simpler"), scoring.WITHOUT)
def test_every_simpler_form_is_of_an_expression_that_there_is(absent, simpler):
    known = scoring.evidence_columns(None, 0) | scoring.answer_columns()
    assert simpler.keys() <= known.keys()
    assert absent <= COLUMN_NAMES
    assert scoring.simplify(known, COLUMN_NAMES) == known
