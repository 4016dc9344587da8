"""The metrics of a verdict are computed when they are looked up, and are a mapping like any other."""

from __future__ import annotations

import copy
import pickle

import pytest

import highbar
from highbar.catalogue import metrics
from highbar.errors import InputError

ROWS = [{"id": "a", "passed": True, "category": "x"}, {"id": "b", "passed": False, "category": "y"}]
POLICY = {"thresholds": {"blocking": {"pass_rate": 50}}, "slices": ["category"]}


def test_the_metrics_of_a_slice_are_those_of_the_policy_in_its_order():
    found = highbar.check(ROWS, POLICY).slices[0].metrics
    assert list(found) == list(metrics())
    assert len(found) == len(metrics())
    assert found["pass_rate"].value == 1
    assert "no_metric" not in found
    with pytest.raises(KeyError, match="no_metric"):
        found["no_metric"]


def test_copies_have_the_values():
    found = highbar.check(ROWS, POLICY).slices[1].metrics
    assert found == dict(found) == copy.deepcopy(found) == pickle.loads(pickle.dumps(found))  # noqa: S301 - made here
    assert repr(found) == repr(dict(found))


def test_a_metric_of_the_policy_that_leaves_its_range_in_a_slice_alone_is_refused_before_it_is_looked_up():
    own = [{"name": "twice", "formula": "2 * pass_rate", "unit": "ratio", "better": "higher"}]
    whole = [{"id": row["id"], "passed": row["passed"]} for row in ROWS]
    assert highbar.check(whole, {**POLICY, "metrics": own}).metrics["twice"].value == 1
    with pytest.raises(InputError) as caught:
        highbar.check(ROWS, {**POLICY, "metrics": own})
    (problem,) = caught.value.problems
    assert problem.code == "metric.outside-range"
    for value in ("'twice'", "2", "0 to 1"):
        assert value in problem.message
