from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from highbar.errors import InputError
from highbar.model import Source, Value
from highbar.model.baseline import Baseline, RecordedRule, Scoring
from highbar.model.records import ScenarioRecord
from highbar.store.baseline_reading import AMOUNTS, SHARES, is_baseline, parse_baseline, read_baseline
from highbar.store.baseline_text import render

shares = st.fractions(0, 1)
amounts = st.fractions(0, 10**12)
texts = st.text(min_size=1, max_size=20)
values = st.dictionaries(st.sampled_from(sorted(SHARES)), shares, max_size=4).flatmap(
    lambda first: st.dictionaries(st.sampled_from(sorted(AMOUNTS)), amounts, max_size=4).map(lambda more: first | more)
)
ends = st.none() | st.floats(-1e6, 1e6).map(lambda end: float(f"{end:.12g}") + 0.0)  # no end is a negative zero


@st.composite
def scenario(draw: st.DrawFn) -> ScenarioRecord:
    trials = draw(st.integers(1, 5))
    ranks = st.lists(st.none() | amounts, min_size=1, max_size=5).map(tuple)
    return ScenarioRecord(
        id=draw(texts),
        trials=trials,
        passed=draw(st.integers(0, trials)),
        columns=draw(st.dictionaries(texts, texts, max_size=3)),
        values=draw(values),
        ranks=draw(st.dictionaries(st.sampled_from(["latency_ms", "extra:own"]), ranks, max_size=2)),
        weight=draw(st.fractions(Fraction(1, 1000), 100)),
        cluster=draw(st.none() | texts),
        lone=draw(st.frozensets(st.sampled_from(["correct", "behavior_score"]))),
        valueless=draw(st.frozensets(st.sampled_from(["cost_usd", "extra:own"]))),
    )


measured = st.builds(
    Value,
    value=st.none() | st.fractions(),
    scenarios=st.integers(0, 10**6),
    missing=st.integers(0, 10**6),
    unit=st.sampled_from(["ratio", "ms", "USD", "per token", "number"]),
    better=st.sampled_from(["higher", "lower"]),
    reason=st.none() | texts,
    low=ends,
    high=ends,
)
wheres = st.dictionaries(texts, st.lists(texts, min_size=1, max_size=2).map(tuple), max_size=2).map(
    lambda found: tuple(sorted(found.items()))
)
sources = st.builds(Source, texts, st.none() | texts)
baselines = st.builds(
    Baseline,
    scenarios=st.lists(scenario(), min_size=1, max_size=5, unique_by=lambda one: one.id).map(
        lambda listed: tuple(sorted(listed, key=lambda one: one.id))
    ),
    metrics=st.dictionaries(texts, measured, max_size=3),
    rules=st.lists(st.builds(RecordedRule, texts, texts, wheres, st.none() | texts, measured), max_size=3).map(tuple),
    verdict=st.sampled_from(["pass", "fail", "inconclusive"]),
    agent_version=st.none() | texts,
    date=st.none() | texts,
    forced=st.none() | texts,
    scoring=st.builds(Scoring, st.fractions(Fraction(1, 100), 1), st.none() | texts),
    judges=st.lists(texts, max_size=2).map(tuple),
    suites=st.lists(texts, max_size=2).map(tuple),
    policy=st.none() | sources,
    suite=st.none() | sources,
    results=st.lists(sources, max_size=2).map(tuple),
)


@pytest.mark.slow
@given(baselines)
def test_what_is_written_is_read_again_to_the_last_digit(baseline):
    text = render(baseline)
    found = parse_baseline(text.encode(), "baseline.json")
    assert replace(found, file=None, sha256=None) == baseline
    assert render(found) == text
    assert text.isascii()


SMALL = Baseline(
    scenarios=(
        ScenarioRecord("A", 1, 1, {"category": "adversarial"}, {"behavior_score": Fraction(2, 3)}),
        ScenarioRecord("B", 3, 2),
    ),
    metrics={"pass_rate": Value(Fraction(5, 6), 2, 0, "ratio", "higher", low=0.2, high=1.0)},
    date="2026-11-15",
)


def test_a_scenario_is_one_line_and_numbers_are_exact():
    text = render(SMALL)
    assert '    "A": {"columns": {"category": "adversarial"}, "trials": 1, "passed": 1,' in text
    assert '"values": {"behavior_score": "2/3"}}' in text
    assert '"value": "5/6", "low": 0.2, "high": 1.0' in text


def test_a_baseline_is_known_by_its_first_bytes(tmp_path: Path):
    (tmp_path / "baseline.json").write_text(render(SMALL))
    (tmp_path / "results.jsonl").write_text('{"id": "A", "passed": true}\n')
    assert is_baseline(str(tmp_path / "baseline.json"))
    assert not is_baseline(str(tmp_path / "results.jsonl"))
    assert not is_baseline(str(tmp_path / "absent.json"))
    assert read_baseline(tmp_path / "baseline.json").scenarios == SMALL.scenarios


def bent(**changes: object) -> bytes:
    document = json.loads(render(SMALL))
    document.update(changes)
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (render(SMALL).encode()[:-40], "not JSON"),
        (render(SMALL).replace('"passed": 1', '"passed": 2').encode(), "at most 1"),
        (render(SMALL).replace('"passed": 1', '"passed": NaN').encode(), "NaN"),
        (render(SMALL).replace('"passed": 1', '"passed": 1e999999').encode(), "plain digits"),
        (render(SMALL).replace('"passed": 1', '"passed": true').encode(), "wanted a number"),
        (render(SMALL).replace('"2/3"', '"3/2"').encode(), "behavior_score"),
        (render(SMALL).replace('"2/3"', '"2/0"').encode(), "behavior_score"),
        (render(SMALL).replace('"B"', '"A"').encode(), "twice"),
        (bent(schema="highbar/baseline/2"), "highbar/baseline/1"),
        (bent(scenarios={}), "at least one"),
        (bent(extra=1), "extra"),
        (bent(metrics=[]), "an object"),
        (bent(verdict="yes"), "pass or fail"),
        (b"[]", "an object"),
        (b"[" * 100_000, "baseline"),
        (b"\xff", "baseline"),
    ],
)
def test_a_file_that_was_bent_is_refused(data: bytes, said: str):
    with pytest.raises(InputError) as refused:
        parse_baseline(data, "baseline.json")
    assert said in str(refused.value)
    assert all(problem.file == "baseline.json" for problem in refused.value.problems)


def test_a_scenario_that_is_there_twice_is_refused_in_no_time():
    """Comparing every key with every other one would take an hour."""
    rows = ", ".join(f'"S{number}": 1' for number in range(100_000))
    with pytest.raises(InputError, match="the key 'S99999' is there twice"):
        parse_baseline(f'{{"scenarios": {{{rows}, "S99999": 1}}}}'.encode(), "baseline.json")
