"""Where a progressive rule stands: the step that holds now, and what the next ones lack."""

from __future__ import annotations

from fractions import Fraction

import pytest

from highbar.errors import InputError
from highbar.gate.rules import progress
from highbar.model import Goal, Progressive, Stage, Step, Threshold
from highbar.policy import read_dict, resolve_version
from tests.unit.gate.table import value


def at_least(text):
    return Threshold(">=", Fraction(text), "ratio", f">= {text}")


STAGE = Stage(Step("v2.0", at_least("0.85")), Step("v3.0", at_least("0.9")), at_least("0.95"))


def test_the_distance_is_what_the_value_lacks():
    assert progress(STAGE, value("22/25")) == Progressive(
        "v2.0",
        Goal(">= 0.9", met=False, distance=Fraction(2, 100), version="v3.0"),
        Goal(">= 0.95", met=False, distance=Fraction(7, 100)),
    )


def test_what_is_reached_has_no_distance_left():
    found = progress(STAGE, value("91/100"))
    assert (found.next.met, found.next.distance) == (True, 0)
    assert (found.target.met, found.target.distance) == (False, Fraction(4, 100))


def test_a_value_that_only_just_touches_a_strict_threshold_has_not_reached_it():
    above = Threshold(">", Fraction(9, 10), "ratio", "> 0.9")
    found = progress(Stage(Step("v1", at_least("0.5")), Step("v2", above)), value("9/10"))
    assert (found.next.met, found.next.distance) == (False, 0)
    assert found.target is None


def test_an_undefined_value_has_reached_nothing():
    found = progress(STAGE, value(None, reason="nothing to score"))
    assert (found.next.met, found.next.distance) == (False, None)
    assert (found.target.met, found.target.distance) == (False, None)


def test_where_lower_is_better_the_distance_is_how_far_the_value_must_come_down():
    slow, fast = (Threshold("<", Fraction(ms), "ms", f"< {ms}ms") for ms in (5000, 3000))
    found = progress(Stage(Step("v1", slow), Step("v2", fast)), value(4200, unit="ms", better="lower"))
    assert (found.next.met, found.next.distance) == (False, 1200)


@pytest.mark.parametrize("version", ["", " ", "latest", "v", "2.x"])
def test_a_version_that_was_given_and_cannot_be_read_is_an_error_even_where_the_policy_has_one(version):
    steps = {"v1.0": "≥ 80%", "v2.0": "≥ 85%"}
    for other in ({}, {"agent_version": "1.0"}):
        with pytest.raises(InputError, match="cannot be read"):
            resolve_version(read_dict({**other, "progressive": {"accuracy": steps}}), given=version, recorded="1.0")


def test_a_version_that_is_nowhere_is_an_error():
    with pytest.raises(InputError, match="no agent version is known"):
        resolve_version(read_dict({"progressive": {"accuracy": {"v1.0": "≥ 80%"}}}))
    with pytest.raises(InputError, match="cannot be read"):
        resolve_version(read_dict({"progressive": {"accuracy": {"v1.0": "≥ 80%"}}}), recorded="nightly")


@pytest.mark.parametrize(
    ("version", "step", "following"),
    [
        ("v0.9", "v1.0", "v2.0"),
        ("1.0", "v1.0", "v2.0"),
        ("1.10", "v1.0", "v2.0"),
        ("2.0.0-rc.1", "v1.0", "v2.0"),
        ("v2.0", "v2.0", "v3.0"),
        ("10.0", "v3.0", None),
    ],
)
def test_the_stage_is_that_of_the_version_by_number(version, step, following):
    steps = {"v3.0": "≥ 90%", "v1.0": "≥ 80%", "v2.0": "≥ 85%", "target": "≥ 95%"}
    (rule,) = resolve_version(read_dict({"progressive": {"accuracy": steps}}), given=version).rules
    assert rule.stage.step.version == step
    assert (rule.stage.next.version if rule.stage.next else None) == following
    assert rule.stage.target.value == Fraction(95, 100)
