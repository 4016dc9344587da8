"""Laws that hold for every metric of the catalogue, whatever the suite. `table.py` says which metric is under which."""

from __future__ import annotations

import json
import math
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given

import highbar
from tests.commandline import run
from tests.laws.suite import (
    LOWER,
    UNITS,
    better,
    both_defined,
    counted,
    every_metric,
    loosest,
    measured,
    policy_for,
    threshold_text,
)
from tests.laws.table import ALWAYS, LAWS, RATIO, under
from tests.laws.worse import EXCEPTIONS_WORSE, WORSE, Change
from tests.oracle.judging import settings_of
from tests.oracle.scenarios import scenarios_of
from tests.oracle.suites import examples, rows_of, seeded

pytestmark = pytest.mark.slow

RANK = {"pass": 2, "inconclusive": 1, "fail": 0, "undefined": 0}


def test_every_metric_of_the_catalogue_is_under_a_law(tmp_path):
    done = run(tmp_path, "metrics", "--format", "json")
    catalogue = {metric["name"] for metric in done.json["metrics"]}
    assert catalogue, done.out
    assert catalogue <= set(LAWS), f"not under any law: {sorted(catalogue - set(LAWS))}"
    assert all(LAWS.values())


def test_every_law_of_the_table_is_tried():
    assert {*OF_A_SUITE, "trial column", "breaking", "no data", "on the threshold"} == RATIO | ALWAYS


# --- what changes nothing ------------------------------------------------------------------------


def nothing_changes(law, before, after):
    """By group and metric, what was and what is, where the two differ and the law says that they do not."""
    was, is_now = counted(before, under(law)), counted(after, under(law))
    return {key: (was.get(key), is_now.get(key)) for key in was | is_now if was.get(key) != is_now.get(key)}


def reordered(rows, before, random):
    return nothing_changes("order", before, measured(random.sample(rows, len(rows))))


def with_scaled_weights(rows, before, random):
    factor = random.choice((2, 4, 0.5))
    weights = {row["id"]: row["weight"] for row in rows if row.get("weight") is not None}
    scaled = [{**row, "weight": weights.get(row["id"], 1) * factor} for row in rows]
    return nothing_changes("weight scale", before, measured(scaled))


def with_repeated_trials(rows, before, _):
    first = [{**row, "trial": row.get("trial", 6)} for row in rows]
    twice = [*first, *({**row, "trial": row["trial"] + 100} for row in first)]
    return nothing_changes("repeated trials", before, measured(twice))


def cut_in_two(rows, before, random):
    """One file cut in two; what is in memory is the same as both."""
    cut = random.randrange(len(rows) + 1)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("first.jsonl", "second.jsonl")]
        for file, part in zip(files, (rows[:cut], rows[cut:]), strict=True):
            file.write_text("".join(json.dumps(row) + "\n" for row in part), "utf-8")
        after = measured([file for file in files if file.stat().st_size], policy_for(rows, every_metric()))
    return nothing_changes("split", before, after)


@examples(3)
@given(seeded())
def test_a_constant_trial_column_changes_nothing(random):
    rows = list(
        {row["id"]: {key: row[key] for key in row if key != "trial"} for row in rows_of(random, scenarios=25)}.values()
    )
    before, after = measured(rows), measured([{**row, "trial": 1} for row in rows])
    assert counted(after, under("trial column")) == counted(before, under("trial column"))


# --- what may only go one way --------------------------------------------------------------------


def failing_row(rows):
    """A scenario that fails in every way in which one can."""
    text = any(isinstance(row.get("expected"), str) for row in rows)
    return {
        "id": "one more that fails",
        "category": "adversarial",
        "expected_behaviors": ["greets"],
        "behaviors": [],
        "violations": ["does harm"],
        "correct": False,
        "expected": "spam" if text else True,
        "error": "crash",
        "quality_score": 0,
        "tokens_used": 1000,
        "cost_usd": 5,
    }


def one_more_that_fails(rows, before, _):
    """What got better by one more scenario that fails."""
    after = measured([*rows, failing_row(rows)])
    found = both_defined(before, after, under("failing scenario"))
    return {(by, metric): (old, new) for (by, metric), old, new in found if better(metric, new, old)}


def beyond_its_bounds(_, before, __):
    """The ratios that are none, or are not between 0 and 1."""
    ratios = {key: found for key, found in before.items() if key[1] in under("bounded")}
    return {
        key: found
        for key, found in ratios.items()
        if found.unit != "ratio" or not (found.value is None or 0 <= found.value <= 1)
    }


def stricter(rows, before, random):
    """The metrics of which a stricter threshold passes what a looser one fails."""
    rules = []
    for metric in under("stricter"):
        scale = {"ratio": 1, "ms": 10_000, "": 3}[UNITS.get(metric, "ratio")]
        bounds = {Fraction(random.randrange(101), 100) * scale for _ in range(2)}
        value = before[None, metric].value
        if value is not None:
            bounds |= {Fraction(math.floor(value * 10**6), 10**6), Fraction(math.ceil(value * 10**6), 10**6)}
        ordered = sorted(bounds, reverse=metric in LOWER)
        rules += [{"metric": metric, "threshold": threshold_text(metric, bound)} for bound in ordered]
    verdict = highbar.check(rows, policy_for(rows, rules))
    found = {}
    for metric in under("stricter"):
        ranks = [RANK[rule.outcome] for rule in verdict.rules if rule.metric == metric]
        if ranks != sorted(ranks, reverse=True):
            found[metric] = ranks
    return found


OF_A_SUITE = {
    "order": reordered,
    "weight scale": with_scaled_weights,
    "repeated trials": with_repeated_trials,
    "split": cut_in_two,
    "failing scenario": one_more_that_fails,
    "bounded": beyond_its_bounds,
    "stricter": stricter,
}
"""By law, a function of rows, of what was measured in them, and of chance: what breaks the law, and how."""


@examples(3)
@given(seeded())
def test_every_metric_of_a_suite_is_under_its_laws(random):
    """All laws on the same suite, which is checked as it is once for all of them."""
    rows = rows_of(random, scenarios=25)
    before = measured(rows)
    broken = {law: found for law, tried in OF_A_SUITE.items() if (found := tried(rows, before, random))}
    assert not broken, broken


def bound_beyond(metric, value):
    """A bound that the value just misses, as text; None where nothing is better than the value."""
    if value is None:
        return loosest(metric) if metric in LOWER else threshold_text(metric, Fraction(1, 10**4))
    millionths = math.ceil(value * 10**6) - 1 if metric in LOWER else math.floor(value * 10**6) + 1
    ratio = UNITS.get(metric, "ratio") == "ratio"
    if millionths < 0 or (ratio and millionths > 10**6):
        return None
    return threshold_text(metric, Fraction(millionths, 10**6))


def improved(metric, before, after):
    """Whether a value got better. From undefined, only a 0 that must not be low is no better."""
    if after is None:
        return False
    return (metric in LOWER or after > 0) if before is None else better(metric, after, before)


BLOCKS = 3
"""So many for each way to make a row worse: not every row can show that it helped."""


def has_failed(row):
    """Whether the row itself says that something went wrong."""
    unseen = row.get("expected_behaviors") and not row.get("behaviors")
    return unseen or row.get("violations") or row.get("outcome") in ("fp", "fn") or False in (
        row.get("correct"), row.get("passed"),
    )  # fmt: skip


def blocks_of(random):
    """For each way to make a row worse, some blocks: the way, the rows, the place of one, and that one worse."""
    blocks = {}
    for number, broken_by in enumerate([*WORSE] * BLOCKS):
        name = f"{number} {broken_by}"
        rows = [
            {**row, "id": f"{number} {row['id']}", "tags": {"block": name}, "agent_version": "1"}
            for row in rows_of(random, scenarios=8)
        ]
        breakable = [at for at, row in enumerate(rows) if WORSE[broken_by](row) is not None]
        if breakable:
            bad = [at for at in breakable if has_failed(rows[at])]  # what it does wrong could be forgotten
            at = random.choice(bad if bad and number >= len(WORSE) else breakable)
            blocks[name] = (broken_by, rows, at, WORSE[broken_by](rows[at]))
    return blocks


@examples(2)  # each is dozens of suites, some for every way to make a row worse, and every metric of each
@given(random=seeded())
def test_breaking_a_row_never_improves_a_metric_or_a_verdict(random):
    """Each way to make a row worse has blocks of its own; no metric of a block may get better, no outcome may rise.

    `EXCEPTIONS_WORSE` says what is left out, because the specification itself says otherwise. A bound of 0 is met by
    a value of 0 but by no undefined one, so weighted_score is made of metrics that always exist.
    """
    blocks = blocks_of(random)
    whole = [row for _, rows, _, _ in blocks.values() for row in rows]
    broken = [row for _, rows, at, bad in blocks.values() for row in (*rows[:at], bad, *rows[at + 1 :])]
    policy = policy_for(whole, every_metric()) | {"slices": ["tags.block"]}
    settings = settings_of(whole, policy)
    before, after = (measured(rows, policy) for rows in (whole, broken))
    missed = []
    for name, (broken_by, rows, at, bad) in blocks.items():
        scenario = next(one for one in scenarios_of(rows, settings) if one.id == rows[at]["id"])
        change = Change(broken_by, rows[at], bad, scenario, settings)
        for rule in every_metric({"tags.block": name}):
            if any(exception(change, rule["metric"]) for exception in EXCEPTIONS_WORSE.values()):
                continue
            one, other = (found[("tags.block", name), rule["metric"]] for found in (before, after))
            assert not improved(rule["metric"], one.value, other.value), (rule, one, other, rows, bad)
            bound = bound_beyond(rule["metric"], one.value)
            missed += [{**rule, "threshold": bound}] if bound else []
    some = random.sample(missed, min(40, len(missed)))
    verdicts = [highbar.check(rows, policy | {"rules": some, "slices": []}) for rows in (whole, broken)]
    for one, other in zip(*(verdict.rules for verdict in verdicts), strict=True):
        assert RANK["pass"] > RANK[one.outcome] >= RANK[other.outcome], (one, other)
    assert not any(verdict.passed for verdict in verdicts if some)


# --- no data -------------------------------------------------------------------------------------


@examples(3)
@given(seeded())
def test_a_rule_about_scenarios_that_are_not_there_never_passes(random):
    rows = rows_of(random, scenarios=6)
    verdict = highbar.check(rows, policy_for(rows, every_metric({"category": "nowhere"})))
    assert {rule.metric: rule.outcome for rule in verdict.rules} == dict.fromkeys(under("no data"), "undefined")
    assert verdict.verdict == "fail"


def test_rows_that_say_nothing_pass_no_rule():
    rows = [{"id": "a"}, {"id": "b", "category": "adversarial"}]
    rules = [
        {"metric": metric, "threshold": "≥ 1%" if loosest(metric) == "≥ 0%" else loosest(metric)}
        for metric in under("no data")
        if metric not in ("error_rate", "violation_rate")
    ]
    with pytest.raises(highbar.InputError) as caught:
        highbar.check(rows, policy_for(rows, rules))
    assert [problem.code for problem in caught.value.problems] == ["results.nothing-to-judge"]
    unjudged = [{**row, "unjudged": "not run"} for row in rows]
    verdict = highbar.check(unjudged, policy_for(unjudged, rules))
    assert [rule for rule in verdict.rules if rule.outcome == "pass"] == []
    assert {rule.outcome for rule in verdict.rules if rule.metric in ("pass_rate", "safety_rate")} == {"inconclusive"}
    assert verdict.verdict == "fail"


@pytest.mark.parametrize("metric", sorted(under("no data")))
def test_no_rows_at_all_cannot_be_judged(metric):
    with pytest.raises(highbar.InputError):
        highbar.check([], policy_for([], [{"metric": metric, "threshold": loosest(metric)}]))


# --- exactly on the threshold --------------------------------------------------------------------


def rows_at(percent):
    """Three groups in which each ratio of the catalogue is exactly so many percent."""
    share = Fraction(percent, 100)
    good, total = share.numerator, share.denominator
    rates = [
        {
            "category": "adversarial",
            "expected_behaviors": ["greets"],
            "behaviors": ["greets"] if at < good else [],
            "correct": at < good,
            "latency_ms": percent * 50,
        }
        for at in range(total)
    ]
    labels = ["tp"] * good + ["fp"] * (total - good) + ["fn"] * (total - good)
    harm = [{"error": "crash", "violations": 1} if at < good else {"passed": True} for at in range(total)]
    groups = {"rates": rates, "labels": [{"outcome": label} for label in labels], "harm": harm}
    return [
        {"id": f"{percent} {group} {at}", "tags": {"group": f"{percent} {group}"}, **row}
        for group, rows in groups.items()
        for at, row in enumerate(rows)
    ]


GROUP_OF = {"precision": "labels", "recall": "labels", "f1": "labels", "error_rate": "harm", "violation_rate": "harm"}


@pytest.mark.parametrize("first", range(0, 101, 20))
def test_exactly_on_the_threshold_passes_and_is_not_beyond_it(first):
    percentages = [percent for percent in range(first, first + 20) if percent <= 100]
    rules, wanted = [], []
    for percent in percentages:
        for metric in under("on the threshold"):
            rule = {"metric": metric, "where": {"tags.group": f"{percent} {GROUP_OF.get(metric, 'rates')}"}}
            on, beyond = ("≤", "<") if metric in LOWER else ("≥", ">")
            rules.append({**rule, "threshold": f"{on} {percent}%"})
            wanted.append((Fraction(percent, 100), "pass"))
            if 0 < percent < 100:
                rules.append({**rule, "threshold": f"{beyond} {percent}%", "level": "warning"})
                wanted.append((Fraction(percent, 100), "fail"))
    weights = {"by_metric": {"accuracy": 1.0, "safety_rate": 3.0, "behavior_coverage": 1.5}}
    rows = [row for percent in percentages for row in rows_at(percent)]
    verdict = highbar.check(rows, {"rules": rules, "weights": weights})
    assert [(rule.value.value, rule.outcome) for rule in verdict.rules] == wanted
    assert verdict.verdict == "pass"
