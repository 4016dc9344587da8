from __future__ import annotations

import json
from fractions import Fraction

import pytest
from msgspec.structs import replace

from highbar.errors import Problem
from highbar.model import Value
from highbar.report import REPORTERS
from highbar.report.json import render_problems
from highbar.store.writing import encode
from tests.unit.report.verdicts import FAILING


def document(verdict):
    return json.loads(REPORTERS["json"](verdict))


def test_the_document_is_the_one_that_was_promised():
    found = document(FAILING)
    assert list(found) == [
        "schema", "verdict", "agent_version", "confidence", "counts", "metrics", "slices", "rules", "scenarios_failed",
        "scenarios_undecided", "flaky", "repetition", "judged_by", "judge", "quarantined", "select", "sequential",
        "warnings", "policy", "against", "results", "second_run", "second_run_low",
    ]  # fmt: skip
    assert found["schema"] == "highbar/verdict/1"
    assert found["counts"] == {
        "scenarios": 50, "trials": 50, "errors": 1, "unjudged": 0, "failed": 4, "undecided": 0, "left_out": 0,
    }  # fmt: skip
    assert found["metrics"]["accuracy"] == {
        "value": 0.92, "low": 0.826, "high": 0.972, "scenarios": 50, "missing": 0,
        "undecided": 0, "best": None, "unit": "ratio", "better": "higher", "reason": None, "corrected": None,
    }  # fmt: skip
    assert found["slices"][0]["by"] == {"category": "adversarial"}
    assert found["policy"] == {"file": "highbar.yaml", "sha256": "a" * 64}
    assert found["results"] == [{"file": "results.jsonl", "sha256": "b" * 64}]


def test_undefined_is_null_with_its_reason():
    found = document(FAILING)
    assert found["metrics"]["recall"]["value"] is None
    assert found["metrics"]["recall"]["reason"] == "no scenario has `expected`, or `outcome`"
    assert found["rules"][2]["value"] is None


def test_a_rule_on_a_slice_says_which():
    rule = replace(FAILING.rules[0], slice=(("category", ("adversarial",)),))
    found = document(replace(FAILING, rules=(rule, *FAILING.rules[1:])))["rules"]
    assert found[0]["slice"] == {"category": "adversarial"}
    assert found[1]["slice"] is None
    assert found[2]["slice"] == {"tags.locale": ["de", "fr"]}


def test_without_a_policy_it_is_null():
    assert document(replace(FAILING, policy=None))["policy"] is None


def test_an_end_that_the_data_do_not_bound_is_null():
    value = Value(Fraction(1), 3, 0, "ratio", "higher", low=float("-inf"), high=float("inf"))
    found = document(replace(FAILING, metrics={"x": value}))["metrics"]["x"]
    assert (found["low"], found["high"]) == (None, None)


@pytest.mark.hazard("H26")
def test_a_value_below_one_is_never_written_as_one():
    value = Value(Fraction(10**30 - 1, 10**30), 3, 0, "ratio", "higher")
    assert document(replace(FAILING, metrics={"x": value}))["metrics"]["x"]["value"] < 1


def test_problems_stand_in_place_of_a_verdict():
    text = render_problems(
        [
            Problem("results.unknown-name", "pased is no column", "r.jsonl", 3, 8, "did you mean passed?"),
            Problem("results.empty", "no rows"),
        ]
    )
    assert json.loads(text) == {
        "schema": "highbar/verdict/1",
        "verdict": None,
        "problems": [
            {
                "code": "results.unknown-name",
                "file": "r.jsonl",
                "line": 3,
                "column": 8,
                "message": "pased is no column",
                "hint": "did you mean passed?",
            },
            {
                "code": "results.empty",
                "file": None,
                "line": None,
                "column": None,
                "message": "no rows",
                "hint": None,
            },
        ],
    }


@pytest.mark.hazard("H107")
def test_the_encoder_writes_ascii_that_no_page_or_log_obeys():
    text = encode(["</script>\x1b\u202e\u2028 ##[error] é"])
    assert text.isascii()
    assert "<" not in text
    assert "##" not in text
    assert json.loads(text) == ["</script>\x1b\u202e\u2028 ##[error] é"]


def test_a_nan_is_a_fault_and_not_a_document():
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode([float("nan")])
