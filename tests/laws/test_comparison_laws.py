"""Laws of comparisons: a run does not differ from itself, and turning a comparison over turns its answer over."""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given

import highbar
from highbar import pipeline
from highbar import policy as policies
from highbar.bar.recording import make_baseline
from highbar.changes.scored_run import measured, run_in
from highbar.model.job import Job, Wants
from highbar.store import writing
from highbar.store.baseline_reading import read_baseline
from highbar.store.baseline_text import render
from tests.laws.breaks import BREAKS
from tests.laws.suite import decided_rows, every_metric, policy_for, settled
from tests.oracle.suites import examples, seeded

pytestmark = pytest.mark.slow

RANK = {"pass": 2, "inconclusive": 1, "fail": 0, "undefined": 0}
SCORES = (
    *("pass_rate", "accuracy", "behavior_coverage", "weighted_pass_rate", "error_rate", "violation_rate"),
    *("precision", "recall", "f1", "final_score"),
)
COMPOSITE = "pass_rate × 0.4 + safety_rate × 0.3 + accuracy × 0.2 + (1 - error_rate) × 0.1"


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
    """What a check says of these rows, and their baseline, whatever they come to, written and read again."""
    file = Path(folder, "baseline.json")
    job = Job((str(written(rows, folder)),), policy=policies.read_dict(policy), wants=Wants(run=True))
    done = pipeline.check_result(job)
    writing.replace_baseline(
        file, render(make_baseline(done.verdict, done.policy, done.run, None, "a law")), expected_digest=None
    )
    return done.verdict, read_baseline(file)


def written(rows, folder):
    file = Path(folder, "results.jsonl")
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return file


@dataclass(frozen=True)
class Runs:
    """Rows, the same scenarios run again, and how the two compare."""

    rows: list[dict[str, Any]]
    other: list[dict[str, Any]]
    policy: dict[str, Any]
    forth: Any


def runs_of(random):
    rows = decided_rows(random, scenarios=25)
    other = second_run(rows, random)
    policy = policy_of(rows)
    return Runs(rows, other, policy, highbar.compare(rows, other, policy))


def a_baseline_has_the_metrics_of_its_run_to_the_last_digit_and_stands_for_it(runs, _):
    with tempfile.TemporaryDirectory() as folder:
        verdict, baseline = recorded(runs.rows, folder, runs.policy)
        kept = highbar.compare(Path(folder, "baseline.json"), runs.other, runs.policy)
    again = measured(policies.read_dict(runs.policy), run_in(baseline)).values()
    assert verdict.metrics
    for name, value in verdict.metrics.items():
        other = again[name]
        assert (other.value, other.scenarios, other.missing, other.reason) == (
            value.value, value.scenarios, value.missing, value.reason,
        ), name  # fmt: skip
        assert near(other.low, value.low), (name, other, value)
        assert near(other.high, value.high), (name, other, value)
    assert kept.metrics == runs.forth.metrics
    assert (kept.broken, kept.fixed, kept.flaky, kept.slices) == (
        runs.forth.broken, runs.forth.fixed, runs.forth.flaky, runs.forth.slices,
    )  # fmt: skip


def swapping_base_and_head_turns_every_interval_over(runs, _):
    forth, back = runs.forth, highbar.compare(runs.other, runs.rows, runs.policy)
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


def base_and_head_are_what_a_check_of_the_pairs_says(runs, _):
    both = {row["id"] for row in runs.rows} & {row["id"] for row in runs.other}
    assert runs.forth.pairs == len(both)
    for side, results in (("base", runs.rows), ("head", runs.other)):
        verdict = highbar.check([row for row in results if row["id"] in both], runs.policy)
        for name, change in runs.forth.metrics.items():
            if change.difference.missing == 0:
                value, alone = getattr(change.difference, side), verdict.metrics[name]
                assert (value.value, value.scenarios) == (alone.value, alone.scenarios), name


def assert_no_difference(found):
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


def a_run_does_not_differ_from_itself_and_a_broken_row_of_the_head_improves_no_rule_about_it(runs, random):
    rows = runs.rows
    margin = random.choice(("1%", "5%", "20%"))
    evidence = random.choice(("estimate", "confident"))
    policy = policy_of(
        rows,
        composite={"formula": COMPOSITE, "pass": "final_score ≥ 0%"},
        baseline={
            "file": "none.json",
            "margin": {name: {"margin": margin, "evidence": evidence} for name in SCORES},
            "new_failures": "all",
        },
    )
    itself = highbar.compare(rows, rows, policy)
    assert_no_difference(itself)
    place = random.randrange(len(rows))
    broken = random.choice([bad for name in sorted(BREAKS) if (bad := BREAKS[name](rows[place])) is not None])
    head = [broken if i == place else row for i, row in enumerate(rows)]
    for one, two in zip(itself.rules, highbar.compare(rows, head, policy).rules, strict=True):
        assert RANK[two.outcome] <= RANK[one.outcome], (one, two)


OF_TWO_RUNS = (
    a_baseline_has_the_metrics_of_its_run_to_the_last_digit_and_stands_for_it,
    swapping_base_and_head_turns_every_interval_over,
    base_and_head_are_what_a_check_of_the_pairs_says,
    a_run_does_not_differ_from_itself_and_a_broken_row_of_the_head_improves_no_rule_about_it,
)


@examples(3)
@given(seeded())
def test_the_comparison_of_two_runs_is_under_its_laws(random):
    """All laws on the same two runs, which are compared once for all of them."""
    runs, broken = runs_of(random), []
    for law in OF_TWO_RUNS:
        try:
            law(runs, random)
        except AssertionError as error:
            broken.append(f"{law.__name__}: {error}")
    assert not broken, "\n".join(broken)
