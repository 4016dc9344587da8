"""OpenMetrics through the reference parser, and as GitLab reads it."""

from __future__ import annotations

import re
import shlex
from fractions import Fraction

import pytest
from msgspec.structs import replace
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from highbar.model import RuleResult, Slice, Value
from highbar.report import REPORTERS
from highbar.report.visible import visible
from tests.examples import shared
from tests.unit.report.strategies import PROBLEMS, VERDICTS
from tests.unit.report.verdicts import FAILING

RENDER = REPORTERS["openmetrics"]


def samples(text):
    """Every sample that the reference parser finds: name, labels and value."""
    return [
        (sample.name, sample.labels, sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]


def values(text, name, **labels):
    return [value for found, own, value in samples(text) if found == name and labels.items() <= own.items()]


def read_as_gitlab_does(text):
    """Lines without what follows a `#`, split as a shell does: the first word is the name, the second the value."""
    lines = (shlex.split(re.sub("#.*$", "", line)) for line in text.splitlines())
    return {words[0]: words[1] for words in lines if len(words) > 1}


@shared(VERDICTS)
@pytest.mark.hazard("H118")
def test_both_readers_find_every_sample_whatever_the_texts_are(verdict):
    text = RENDER(verdict)
    found = samples(text)
    assert len(read_as_gitlab_does(text)) == len(found)
    states = {own["highbar_verdict"]: value for name, own, value in found if name == "highbar_verdict"}
    assert states == {"pass": 0, "fail": 0, "inconclusive": 0, "none": 0} | {verdict.verdict: 1}
    held = {
        (own["rule"], own["level"], own["highbar_rule_outcome"])
        for name, own, value in found
        if name == "highbar_rule_outcome" and value == 1
    }
    # Two rules of one name cannot be told apart; a policy has none.
    names = {(rule.rule, rule.level) for rule in verdict.rules}
    assert {(rule, level) for rule, level, _ in held} == {(shown(rule), level) for rule, level in names}
    assert not [value for _, _, value in found if value != value]  # noqa: PLR0124 - NaN


def shown(text):
    """As a label holds it: GitLab would cut the line at a `#`."""
    return visible(text).replace("#", r"\x23")


def test_a_metric_has_its_value_its_interval_and_its_counts():
    text = RENDER(FAILING)
    for name, value in [("value", 0.92), ("low", 0.826), ("high", 0.972), ("scenarios", 50), ("missing", 0)]:
        assert values(text, f"highbar_metric_{name}", metric="accuracy", unit="ratio") == [value]


def test_what_is_undefined_has_no_sample_but_its_count():
    text = RENDER(FAILING)
    assert values(text, "highbar_metric_value", metric="precision") == []
    assert values(text, "highbar_metric_scenarios", metric="precision") == [0]
    assert values(text, "highbar_rule_value", rule="rules[0]") == []
    assert values(text, "highbar_rule_outcome", rule="rules[0]", highbar_rule_outcome="undefined") == [1]


def test_a_slice_has_a_family_of_its_own():
    text = RENDER(FAILING)
    assert values(text, "highbar_slice_value", column="tags.locale", slice="de", metric="accuracy") == [0.96]
    assert len(values(text, "highbar_metric_value", metric="accuracy")) == 1


def test_a_rule_has_its_threshold_as_a_number():
    text = RENDER(FAILING)
    labels = {"rule": "thresholds.blocking.safety_rate", "level": "blocking", "metric": "safety_rate"}
    assert values(text, "highbar_rule_threshold", **labels, operator=">=") == [1.0]
    assert values(text, "highbar_rule_value", **labels) == [0.9]
    assert values(text, "highbar_rule_threshold", rule="thresholds.warning.latency_p95", operator="<=") == [5000]
    assert values(text, "highbar_rule_threshold", rule="required_scenarios.SEC-002") == []
    assert values(text, "highbar_rule_threshold", where="tags.locale: de or fr") == [0.85]


def test_a_threshold_that_is_a_condition_has_no_number():
    rule = RuleResult("composite.pass", "blocking", "pass", "so", "final_score", threshold="final_score >= 0.85 AND x")
    assert values(RENDER(replace(FAILING, rules=(rule,))), "highbar_rule_threshold") == []


def test_the_counts_and_what_was_judged_are_there():
    text = RENDER(FAILING)
    assert values(text, "highbar_scenarios") == [50]
    assert values(text, "highbar_scenarios_failed") == [4]
    assert values(text, "highbar_confidence") == [0.95]
    assert values(text, "highbar_info", agent_version="2.1.0", policy="highbar.yaml", policy_sha256="a" * 64) == [1]


@pytest.mark.parametrize("text", ["C#", 'say "x"', "back\\slash", "line\nend", "a=b,c{d}", "# TYPE x gauge", "'"])
def test_a_label_reads_back_in_both_readers(text):
    part = Slice(("tags.x", text), 1, {"pass_rate": Value(Fraction(1, 2), 2, 0, "ratio", "higher")})
    written = RENDER(replace(FAILING, slices=(part,)))
    assert values(written, "highbar_slice_value", slice=shown(text)) == [0.5]
    (name,) = [name for name in read_as_gitlab_does(written) if name.startswith("highbar_slice_value")]
    assert f"slice={shown(text)}" in name.replace("\\\\", "\\")


@pytest.mark.parametrize(
    ("one", "other"),
    [("a#b", r"a\x23b"), ("line\nend", r"line\nend"), ("\u202e", r"\u202e"), ("::a", r"\x3a:a"), ("#", r"\x5cx23")],
)
def test_texts_that_would_look_alike_keep_a_sample_each(one, other):
    parts = [
        Slice(("tags.x", text), 1, {"pass_rate": Value(Fraction(place, 2), 2, 0, "ratio", "higher")})
        for place, text in enumerate((one, other, other.replace("\\", r"\x5c")))
    ]
    written = RENDER(replace(FAILING, slices=tuple(parts)))
    assert values(written, "highbar_slice_value", column="tags.x") == [0, 0.5, 1]
    assert len([name for name in read_as_gitlab_does(written) if name.startswith("highbar_slice_value")]) == 3


def test_gitlab_shows_the_value_of_each_sample():
    shown_there = read_as_gitlab_does(RENDER(FAILING))
    assert shown_there["highbar_metric_value{metric=accuracy,unit=ratio}"] == "0.92"
    assert shown_there["highbar_verdict{highbar_verdict=fail}"] == "1"


@shared(PROBLEMS)
def test_where_nothing_could_be_judged_no_verdict_holds(problems):
    text = RENDER.refusal(problems)
    assert values(text, "highbar_verdict", highbar_verdict="none") == [1]
    assert values(text, "highbar_verdict", highbar_verdict="pass") == [0]
    assert values(text, "highbar_problems") == [len(problems)]
