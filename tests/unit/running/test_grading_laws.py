"""Laws of grading: every planned trial has one row that every reader takes, and less said is never more seen."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import highbar
from highbar import suite as suites
from highbar.model.answer import ToolCall
from highbar.running.calls import Reply
from highbar.running.grading import Grader, says_failed
from highbar.running.records import TrialEnded, TurnEnd, decode, encode
from highbar.running.rows import line

CHECKS = st.sampled_from(
    [
        {"contains": "open"}, {"contains": ["a", "b"]}, {"contains_all": ["a", "b"]}, {"equals": "yes"},
        {"starts_with": "a"}, {"matches": "[a-z]+"}, {"words": {"at_most": 3}}, {"number": 10}, {"is_json": True},
        {"json": {"/a": {"equals": 1}}}, {"calls": "search"}, {"calls": "search", "arguments": {"a": 1}},
        {"calls_only": ["search"]}, {"state": {"/a": {"equals": 1}}}, {"tokens_used": 10}, {"latency_ms": 10},
        {"python": "m:f"}, {"not": {"contains": "a"}}, {"any": [{"contains": "a"}, {"python": "m:f"}]},
    ]
)  # fmt: skip
NAMES = st.sampled_from(["greets", "Greets2", "refers", "größe", "a b", "x\u2028y"])
TEXT = st.one_of(
    st.text(max_size=12), st.sampled_from(["yes", "open a b 10", '{"a": 1}', "\u2028\x00\x1b[2J", "A" * 600])
)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.one_of(st.booleans(), st.integers(-(10**30), 10**30), NUMBERS, TEXT)
JSON = st.recursive(
    st.none() | SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=6,
)
REPLIES = st.builds(
    Reply,
    output=st.none() | TEXT,
    tool_calls=st.lists(
        st.builds(ToolCall, name=st.sampled_from(["search", "other"]), arguments=JSON), max_size=2
    ).map(tuple),
    state=JSON,
    messages=st.lists(st.fixed_dictionaries({"role": st.just("tool"), "content": JSON}), max_size=1).map(tuple),
    tokens_used=st.none() | st.integers(0, 10**15),
    cost_usd=st.none() | st.decimals(0, 10**9, allow_nan=False, places=9),
    tags=st.dictionaries(st.sampled_from(["locale", "Locale", "model", " "]), TEXT, max_size=2),
)  # fmt: skip
TURN_ENDS = st.builds(TurnEnd, reply=REPLIES, latency_ms=st.none() | st.floats(0, 1e6))
UNHURRIED = [HealthCheck.too_slow, HealthCheck.data_too_large]
many = settings(suppress_health_check=UNHURRIED)
few = settings(suppress_health_check=UNHURRIED, max_examples=25)


@st.composite
def scenarios(draw: Any) -> list[dict[str, Any]]:
    found = []
    for index in range(draw(st.integers(1, 3))):
        names = draw(st.lists(NAMES, unique=True, max_size=3))
        half = draw(st.integers(0, len(names)))
        one: dict[str, Any] = {
            "id": f"S-{index}",
            "own": draw(SCALARS),
            "tags": {"locale": "de"},
        }
        one |= draw(st.sampled_from([{"input": "?"}, {"turns": ["a", "b"]}]))
        one["expected_behaviors"] = {name: draw(CHECKS) for name in names[:half]}
        one["must_not"] = {name: draw(CHECKS) for name in names[half:]}
        one |= draw(st.sampled_from([{"expected": "yes"}, {"answer": {"contains": "a"}}, {"expected": True}]))
        found.append(one)
    return found


@st.composite
def endings(draw: Any) -> TrialEnded | None:
    outcome = draw(st.sampled_from(["answered", "answered", "error", "infrastructure", None]))
    if outcome is None:
        return None
    turns = tuple(draw(st.lists(TURN_ENDS, min_size=outcome == "answered", max_size=2)))
    return TrialEnded("", 1, "", outcome, turns, draw(st.none() | TEXT), draw(st.integers(1, 5)))


def function(name: str) -> Any:
    def raises(answer: Any) -> bool:
        raise RuntimeError("no")

    return raises


@pytest.mark.slow
@few
@given(st.data(), scenarios())
def test_every_trial_has_one_row_that_every_reader_takes(tmp_path_factory, data, suite):
    read = suites.read_values({"suite": "s", "scenarios": suite})
    grader = Grader(read, function, agent_version="1.0")
    file = tmp_path_factory.mktemp("law") / "results.jsonl"
    endings_ = {(one.id, trial): data.draw(endings()) for one in read.scenarios.values() for trial in (1, 2)}
    rows = {key: grader.row(ended, read.scenarios[key[0]], key[1]) for key, ended in endings_.items()}
    file.write_bytes(b"".join(line(row) for row in rows.values()))
    verdict = highbar.check(file, {"thresholds": {"blocking": {"pass_rate": "≥ 100%"}}}, list_scenarios=True)
    assert verdict.counts.trials == len(rows)
    assert verdict.counts.errors == sum("error" in row for row in rows.values())
    bad = {key[0] for key, row in rows.items() if "error" in row or "unjudged" in row or says_failed(row)}
    assert {one.id for one in verdict.scenarios if one.passed} <= {one["id"] for one in suite} - bad


@pytest.mark.slow
@many
@given(st.data(), scenarios(), st.lists(TURN_ENDS, min_size=1, max_size=2))
def test_an_error_is_never_better_than_the_same_answer(data, suite, turns):
    read = suites.read_values({"suite": "s", "scenarios": suite})
    grader = Grader(read, function)
    scenario = read.scenarios[suite[0]["id"]]
    answered = grader.row(TrialEnded("", 1, "", "answered", tuple(turns)), scenario, 1)
    error = grader.row(TrialEnded("", 1, "", "error", tuple(turns), data.draw(st.none() | TEXT)), scenario, 1)
    assert error["error"].strip()
    assert says_failed(error)
    assert "behaviors" not in error
    assert not error.get("correct")
    assert set(answered.get("violations", ())) <= set(error.get("violations", ()))


@given(
    st.lists(st.sampled_from(["open", "Open", " ", "\n", "at", "10", "0", "we "]), max_size=12).map("".join),
    st.integers(0, 20),
    st.integers(0, 20),
)
def test_a_part_of_a_reply_never_has_a_text_that_the_whole_does_not_contain(text, start, end):
    check = {"contains": "open at 10", "part": True}
    read = suites.read_values([{"id": "a", "input": "?", "expected_behaviors": {"opens": check}}])

    def observed(output: str) -> bool:
        row = Grader(read).row(TrialEnded("", 1, "", "answered", (TurnEnd(Reply(output)),)), read.scenarios["a"], 1)
        return row.get("behaviors") == {"opens": True}

    assert observed(text) or not observed(text[start : start + end])


@pytest.mark.slow
@many
@given(scenarios(), TURN_ENDS)
def test_a_row_is_the_same_after_the_answer_went_through_the_journal(suite, turn):
    read = suites.read_values({"suite": "s", "scenarios": suite})
    reply = replace(turn.reply, cost_usd=Decimal("0.1"))
    ended = TrialEnded("S-0", 1, "", "answered", (TurnEnd(reply, turn.latency_ms),))
    again = decode(encode(ended))
    grader = Grader(read, function)
    assert line(grader.row(ended, read.scenarios["S-0"], 1)) == line(grader.row(again, read.scenarios["S-0"], 1))
