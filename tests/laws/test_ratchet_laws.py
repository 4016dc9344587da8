"""Laws of the ratchet, over every unit and direction: it never lowers, rests at the second time, and stays passable."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from highbar import catalogue, policy
from highbar.bar.ratchet import Climb, propose
from highbar.gate.thresholds import judge_value
from highbar.language.exact import write_decimal
from highbar.model import Demand, Value
from highbar.model.baseline import Baseline
from highbar.model.records import ScenarioRecord
from highbar.policy.editing import PolicyText
from highbar.policy.notes import is_looser

FILE = Path("highbar.yaml")
METRICS = [
    metric
    for name, metric in catalogue.metrics().items()
    if name in {"accuracy", "safety_rate", "error_rate", "latency_p95", "cost_per_pass", "token_efficiency"}
]
MOST = {"ratio": 1, "ms": 20_000, "USD": 5, "per token": 1}


@st.composite
def values(draw, metric):
    """A value with its interval around it, as a baseline keeps it."""
    most = MOST[metric.unit]
    low, number, high = sorted(draw(st.fractions(0, most, max_denominator=10**4)) for _ in range(3))
    ends = [float(low), float(high)]
    if Fraction(ends[0]) > number or Fraction(ends[1]) < number:
        number = Fraction(ends[0])
    ends = [None if draw(st.integers(0, 9)) == 0 else end for end in ends]
    return Value(number, draw(st.integers(1, 999)), 0, metric.unit, metric.better, None, *ends)


@st.composite
def written(draw, metric):
    """A threshold of the metric in some style that a policy may have."""
    sign = draw(st.sampled_from(["", "≥ ", "> "] if metric.better == "higher" else ["", "≤ ", "< "]))
    if metric.unit == "ratio":
        percent = draw(st.integers(1, 999)) * Fraction(1, 10)
        styles = [f"{write_decimal(percent)}%", write_decimal(percent / 100)]
        text = draw(st.sampled_from(styles if metric.better == "higher" or sign else styles[:1]))
    elif metric.unit == "ms":
        text = draw(st.sampled_from(["{}", "{}ms", "{}s"])).format(draw(st.integers(1, 20_000)))
    else:
        text = write_decimal(Fraction(draw(st.integers(1, 10**5)), 10**4))
    return f"'{sign}{text}'"


@st.composite
def cases(draw):
    """A policy with one threshold for each metric, a baseline, and a way to climb."""
    lines = {metric.name: draw(written(metric)) for metric in METRICS}
    blocking = "".join(f"    {name}: {text}  # {text}\n" for name, text in lines.items())
    steps = "progressive:\n  f1: { v1: 50%, v2: 60%, target: 80% }\n"
    recorded = {metric.name: draw(values(metric)) for metric in METRICS}
    recorded["f1"] = draw(values(METRICS[0]))
    climb = Climb(draw(st.sampled_from(["bound", "step"])), draw(st.fractions(Fraction(1, 1000), Fraction(1, 2))))
    baseline = Baseline((ScenarioRecord("A", 1, 1),), recorded, agent_version=draw(st.sampled_from(["1.5", "2.0"])))
    return f"thresholds:\n  blocking:\n{blocking}{steps}".encode(), baseline, climb


def climbed(data, baseline, climb):
    """The proposals, and the bytes with them."""
    text = PolicyText(data)
    found = propose(policy.read(FILE, data), baseline, climb, None, text.written)
    edits = [(text.written(each.place, each.before), each.after) for each in found if each.after]
    return found, text.edited(edits)


@given(cases(), st.sampled_from(["estimate", "confident"]))
def test_the_ratchet_never_lowers_rests_at_the_second_time_and_stays_passable(case, evidence):
    data, baseline, climb = case
    found, after = climbed(data, baseline, climb)
    no_threshold_is_ever_lowered_or_left_its_range(found, after)
    only_thresholds_that_were_raised_differ_in_the_text(data, found, after)
    again, twice = climbed(after, baseline, climb)
    assert twice == after, "the second time changes nothing"
    assert [each for each in again if each.after] == []
    if climb != Climb():
        found, after = climbed(data, baseline, Climb())
    what_is_raised_to_the_bound_still_passes_the_baseline_that_it_came_from(baseline, found, after, evidence)


def no_threshold_is_ever_lowered_or_left_its_range(found, after):
    for proposal in found:
        assert proposal.reason
        assert proposal.after is None or is_looser(proposal.before, proposal.after)
        if proposal.rule.startswith("progressive.") and proposal.after:
            assert proposal.after.value <= Fraction(80, 100)
    policy.read(FILE, after)  # which refuses what is outside the range of its metric


def only_thresholds_that_were_raised_differ_in_the_text(data, found, after):
    before_lines, after_lines = data.decode().split("\n"), after.decode().split("\n")
    changed = {
        number for number, pair in enumerate(zip(before_lines, after_lines, strict=True), 1) if pair[0] != pair[1]
    }
    assert changed == {each.place.line for each in found if each.after}
    comments = [[line.partition("#")[2] for line in lines] for lines in (before_lines, after_lines)]
    assert comments[0] == comments[1]


def what_is_raised_to_the_bound_still_passes_the_baseline_that_it_came_from(baseline, found, after, evidence):
    raised = {each.rule for each in found if each.after}
    for rule in policy.read(FILE, after).rules:
        if rule.name in raised:
            judged = judge_value(rule.metric, baseline.metrics[rule.metric], rule.threshold, Demand(evidence), 0.05)
            ends = (baseline.metrics[rule.metric].low, baseline.metrics[rule.metric].high)
            assert judged.outcome == "pass" or (evidence == "confident" and None in ends), judged
