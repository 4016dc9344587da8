from __future__ import annotations

import json

import jsonschema
import pytest

from highbar.columns import COLUMNS
from highbar.errors import Problem
from highbar.report import REPORTERS, schema_results
from highbar.store import verdict as verdict_document
from tests.examples import shared
from tests.unit.report.strategies import VERDICTS

VERDICT = jsonschema.Draft202012Validator(verdict_document.schema())
RESULTS = jsonschema.Draft202012Validator(schema_results.schema())


@pytest.mark.parametrize("module", [verdict_document, schema_results])
def test_the_schema_is_one(module):
    jsonschema.Draft202012Validator.check_schema(module.schema())


@shared(VERDICTS)
def test_every_verdict_fits_its_schema(verdict):
    VERDICT.validate(json.loads(REPORTERS["json"](verdict)))


def test_problems_fit_the_schema_too():
    VERDICT.validate(json.loads(REPORTERS["json"].refusal([Problem("results.empty", "no rows")])))


def test_what_is_neither_a_verdict_nor_problems_does_not_fit():
    assert not VERDICT.is_valid({"schema": "highbar/verdict/1", "verdict": None, "problems": []})
    assert not VERDICT.is_valid({"schema": "highbar/verdict/1", "verdict": "pass"})


def test_the_results_schema_has_every_column():
    properties = schema_results.schema()["$defs"]["trial"]["properties"]
    assert list(properties) == [column.name for column in COLUMNS]
    assert all(known["description"] for known in properties.values())


@pytest.mark.parametrize(
    "trial",
    [
        {"id": "A"},
        {"id": "A", "behaviors": ["x"], "must_not": {"y": False}, "violations": 0, "color": "red"},
        {"id": "A", "behaviors": [{"name": "x", "observed": True}], "must_not": [{"name": "y", "violated": False}]},
        {"id": "A", "trial": 2, "quality_score": 1, "latency_ms": 0.5, "tags": {"locale": "de"}, "passed": None},
        [{"id": "A"}, {"id": "B"}],
    ],
)
def test_good_results_fit(trial):
    RESULTS.validate(trial)


@pytest.mark.parametrize(
    "trial",
    [
        {},
        {"id": 1.5},
        {"id": ""},
        {"id": "a\n"},
        {"id": "A", "passed": "yes"},
        {"id": "A", "passed": 1},
        {"id": "A", "quality_score": 95},
        {"id": "A", "latency_ms": "12"},
        {"id": "A", "outcome": "TP"},
        {"id": "A", "weight": 0},
        {"id": "A", "behaviors": [{"name": "x"}]},
        [],
    ],
)
def test_bad_results_do_not_fit(trial):
    assert not RESULTS.is_valid(trial)
