"""Laws of comparisons: a run does not differ from itself, and turning a comparison over turns its answer over."""

from __future__ import annotations

import json
import math
import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given

import highbar
from highbar import pipeline
from highbar import policy as policies
from highbar.bar.recording import made
from highbar.changes.run import measured, run_in
from highbar.model.job import Job, Wants
from highbar.store import replacing
from highbar.store.baseline_reading import read_baseline
from highbar.store.baseline_text import render
from tests.laws.breaks import BREAKS
from tests.laws.suite import decided_rows, every_metric, policy_for, settled
from tests.oracle.suites import examples, seeded

pytestmark = pytest.mark.slow

RANK = {"pass": 2, "inconclusive": 1, "fail": 0, "undefined": 0}
SCORES = ("pass_rate", "accuracy", "behavior_coverage", "weighted_pass_rate", "error_rate", "violation_rate")


def policy_of(rows, **more):
    return {**policy_for(rows, every_metric()), **more}


def second_run(rows, random: Random):
    """The same scenarios, run again: some come out differently, and a few have no result or are new."""
    found = []
    for row in rows:
        chance = random.randrange(6)
        broken = random.choice(sorted(BREAKS.values(), key=str))(row) if chance == 0 else None
        moved = {**row, "latency_ms": row["latency_ms"] * 1.5} if chance == 1 and row.get("latency_ms") else row
        found.append(broken or moved)
    left_out = {random.choice(rows)["id"]} if random.randrange(3) == 0 else set()
    kept = [row for row in found if row["id"] not in left_out]
    return settled(kept or found)


def near(one, other):
    return (one is None and other is None) or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def recorded(rows, folder, policy):
    """The baseline of these rows, whatever they come to, written and read again."""
    file = Path(folder, "baseline.json")
    job = Job((str(written(rows, folder)),), policy=policies.read_dict(policy), wants=Wants(run=True))
    done = pipeline.checked(job)
    replacing.write(file, render(made(done.verdict, done.policy, done.run, None, "a law")), seen=None)
    return read_baseline(file)


def written(rows, folder):
    file = Path(folder, "results.jsonl")
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return file


@examples(3)
@given(seeded())
def test_a_baseline_has_the_metrics_of_its_run_to_the_last_digit(random):
    rows = decided_rows(random, scenarios=25)
    policy = policy_of(rows)
    verdict = highbar.check(rows, policy)
    with tempfile.TemporaryDirectory() as folder:
        baseline = recorded(rows, folder, policy)
    again = measured(policies.read_dict(policy), run_in(baseline)).values()
    for name, value in verdict.metrics.items():
        other = again[name]
        assert (other.value, other.scenarios, other.missing, other.reason) == (
            value.value, value.scenarios, value.missing, value.reason,
        ), name  # fmt: skip
        assert near(other.low, value.low), (name, other, value)
        assert near(other.high, value.high), (name, other, value)


@examples(3)
@given(seeded())
def test_a_run_does_not_differ_from_itself(random):
    rows = decided_rows(random, scenarios=25)
    found = highbar.compare(rows, rows, policy_of(rows))
    assert (found.broken, found.fixed, found.only_in_base, found.only_in_head) == ((), (), (), ())
    assert found.passes.p_value == 1
    for name, change in found.metrics.items():
        difference = change.difference
        assert difference.value in (0, None), name
        assert difference.base == difference.head
        assert change.outcome in ("cannot_tell", "within_margin"), (name, change)
        assert difference.low is None or difference.low <= 0
        assert difference.high is None or difference.high >= 0
    assert not any(part.stands_out for part in found.slices)


@examples(3)
@given(seeded())
def test_swapping_base_and_head_turns_every_interval_over(random):
    rows = decided_rows(random, scenarios=25)
    other = second_run(rows, random)
    policy = policy_of(rows)
    forth, back = highbar.compare(rows, other, policy), highbar.compare(other, rows, policy)
    assert (forth.broken, forth.fixed, forth.flaky) == (back.fixed, back.broken, back.flaky)
    assert (forth.only_in_base, forth.only_in_head) == (back.only_in_head, back.only_in_base)
    groups = [(forth.metrics, back.metrics)]
    groups += [(one.metrics, two.metrics) for one, two in zip(forth.slices, back.slices, strict=True)]
    turned = {"better": "worse", "worse": "better"}
    for there, here in groups:
        for name, change in there.items():
            one, two = change.difference, here[name].difference
            assert (one.base, one.head, one.pairs) == (two.head, two.base, two.pairs)
            if one.value is None:
                assert two.value is None
                continue
            assert one.value == -two.value
            assert near(one.low, None if two.high is None else -two.high), (name, one, two)
            assert near(one.high, None if two.low is None else -two.low), (name, one, two)
            assert turned.get(change.outcome, "same") == turned.get(turned.get(here[name].outcome), "same")
            if one.factor:
                assert near(one.factor.low, 1 / two.factor.high)


@examples(3)
@given(seeded())
def test_a_baseline_stands_for_its_run(random):
    rows = decided_rows(random, scenarios=25)
    other = second_run(rows, random)
    policy = policy_of(rows)
    with tempfile.TemporaryDirectory() as folder:
        recorded(rows, folder, policy)
        kept = highbar.compare(Path(folder, "baseline.json"), other, policy)
    whole = highbar.compare(rows, other, policy)
    assert kept.metrics == whole.metrics
    assert (kept.broken, kept.fixed, kept.flaky, kept.slices) == (
        whole.broken, whole.fixed, whole.flaky, whole.slices,
    )  # fmt: skip


@examples(3)
@given(seeded())
def test_base_and_head_are_what_a_check_of_the_pairs_says(random):
    rows = decided_rows(random, scenarios=25)
    other = second_run(rows, random)
    policy = policy_of(rows)
    both = {row["id"] for row in rows} & {row["id"] for row in other}
    found = highbar.compare(rows, other, policy)
    assert found.pairs == len(both)
    for side, results in (("base", rows), ("head", other)):
        verdict = highbar.check([row for row in results if row["id"] in both], policy)
        for name, change in found.metrics.items():
            if change.difference.missing == 0:
                value, alone = getattr(change.difference, side), verdict.metrics[name]
                assert (value.value, value.scenarios) == (alone.value, alone.scenarios), name


@examples(3)
@given(seeded())
def test_breaking_a_row_of_the_head_never_improves_a_rule_about_the_baseline(random):
    rows = decided_rows(random, scenarios=25)
    margin = random.choice(("1%", "5%", "20%"))
    evidence = random.choice(("estimate", "confident"))
    policy = policy_of(
        rows,
        baseline={
            "file": "none.json",
            "margin": {name: {"margin": margin, "evidence": evidence} for name in SCORES},
            "new_failures": "all",
        },
    )
    place = random.randrange(len(rows))
    broken = BREAKS[random.choice(sorted(BREAKS))](rows[place])
    if broken is None:
        return
    head = [broken if i == place else row for i, row in enumerate(rows)]
    before, after = (highbar.compare(rows, one, policy).rules for one in (rows, head))
    for one, two in zip(before, after, strict=True):
        assert RANK[two.outcome] <= RANK[one.outcome], (one, two)
