"""The judge's side of a suite: `judge`, `judges`, `canaries`, and the statements that they are asked."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from highbar import suite
from highbar.errors import InputError
from highbar.suite import Judge, Suite
from highbar.suite.judges import is_same_model, judged_trials, statement_texts
from highbar.suite.limits import MOST_STATEMENTS
from tests.commandline import run

KIND = "The reply is kind."
MODEL = {"model": "m", "base_url": "https://host/v1"}
SCENARIO = {"id": "A", "input": "hi", "expected_behaviors": ["kind"]}
CANARY = {"input": "hi", "output": "Hello!", "behaviors": {"kind": True}}


def suite_of(**keys: Any) -> dict[str, Any]:
    return {"behaviors": {"kind": KIND}, "scenarios": [SCENARIO], **keys}


def read(**keys: Any) -> Suite:
    return suite.read_values(suite_of(**keys))


def refused(code: str, /, **keys: Any) -> str:
    """The text of the one problem of a suite with these keys, which has this code."""
    with pytest.raises(InputError) as error:
        read(**keys)
    assert [problem.code for problem in error.value.problems] == [code]
    return str(error.value)


def judges(number: int) -> list[dict[str, Any]]:
    return [{**MODEL, "model": f"m{index}"} for index in range(number)]


# --- judge and judges ------------------------------------------------------------------------


def test_a_judge_has_the_defaults_of_a_run_for_its_calls() -> None:
    judge = read(judge=MODEL).judge
    assert judge == Judge("m", "https://host/v1", concurrency="auto", timeout=Fraction(60), retries=4)
    given = read(judge={**MODEL, "concurrency": 2, "timeout": "5s", "retries": 0}).judge
    assert given is not None
    assert (given.concurrency, given.timeout, given.retries) == (2, 5, 0)


def test_a_python_judge_has_calls_too_but_no_model() -> None:
    judge = read(judge={"python": "a:b", "timeout": "5s", "concurrency": 2, "retries": 1}).judge
    assert judge == Judge(python="a:b", timeout=Fraction(5), concurrency=2, retries=1)
    assert "'model'" in refused("suite.misplaced-key", judge={"python": "a:b", "model": "m"})


@pytest.mark.parametrize(
    ("key", "value", "code", "named"),
    [
        ("concurrency", 0, "suite.wrong-type", "found 0"),
        ("timeout", 60, "suite.wrong-type", "found 60"),
        ("timeout", "0s", "suite.wrong-type", "found '0s'"),
        ("retries", -1, "suite.wrong-type", "found -1"),
        ("key", "sk-123", "suite.key-in-file", "${JUDGE_KEY}"),
    ],
)
def test_settings_of_a_judge_that_cannot_be_are_refused(key: str, value: Any, code: str, named: str) -> None:
    text = refused(code, judge={**MODEL, key: value})
    assert text.startswith(f"judge.{key}: ")
    assert named in text


@pytest.mark.parametrize("number", [2, 3, 9])
def test_several_judges_are_read_in_their_order(number: int) -> None:
    found = read(judges=judges(number))
    assert [judge.model for judge in found.judges] == [f"m{index}" for index in range(number)]
    assert found.judge == found.judges[0]


@pytest.mark.parametrize("given", [[], judges(1), judges(10), MODEL, "m"])
def test_several_judges_are_two_to_nine(given: Any) -> None:
    assert "2 to 9" in refused("suite.wrong-type", judges=given)


def test_judge_and_judges_exclude_each_other() -> None:
    assert "'judges' beside 'judge'" in refused("suite.conflict", judge=MODEL, judges=judges(2))


def test_a_judge_that_is_listed_twice_would_vote_twice() -> None:
    said = refused("suite.listed-twice", judges=[MODEL, {**MODEL, "model": "n"}, {**MODEL, "timeout": "5s"}])
    assert said.startswith("judges[2]: ")
    assert len(read(judges=[{**MODEL, "temperature": 0}, MODEL]).judges) == 2


@pytest.mark.parametrize(
    ("first", "second", "format_"),
    [
        ("https://h/v1", "https://h/v1/", "openai"),
        ("https://h/v1", "https://h/v1//?", "openai"),
        ("https://h/v1", "https://H:443/v1/chat/completions", "openai"),
        ("http://h:80", "http://h", "openai"),
        ("https://h/v1?a=b", "https://h/v1/?a=b", "openai"),
        ("https://h", "https://h/v1", "anthropic"),
        ("https://h", "https://h/v1/messages", "anthropic"),
    ],
)
def test_a_judge_at_the_same_address_is_the_same_however_it_is_written(first: str, second: str, format_: str) -> None:
    listed = [{**MODEL, "base_url": address, "format": format_} for address in (first, second)]
    other = {**MODEL, "base_url": "https://other/v1"}
    assert refused("suite.listed-twice", judges=[*listed, other]).startswith("judges[1]: ")


def test_judges_at_different_addresses_are_different() -> None:
    addresses = (
        "https://h/v1",
        "http://h/v1",
        "https://h/V1",
        "https://h",
        "https://h/v1?a=b",
        "${HOST}/v1",
        "${H}/v1",
    )
    assert len(read(judges=[{**MODEL, "base_url": address} for address in addresses]).judges) == len(addresses)


def test_each_of_several_judges_needs_its_own_key() -> None:
    found = read(judges=[{**MODEL, "key": "${K1}"}, {**MODEL, "model": "n", "base_url": "${HOST}/v1"}])
    assert [(one.name, one.path) for one in found.variables] == [
        ("K1", ("judges", 0, "key")),
        ("HOST", ("judges", 1, "base_url")),
    ]
    assert len(suite.unmet_needs(found, {"K1": "k"}, agent=False)) == 1
    assert suite.unmet_needs(found, {}, agent=False, judge=False) == ()


# --- canaries --------------------------------------------------------------------------------


def test_a_canary_is_a_conversation_with_what_is_known_of_it() -> None:
    (canary,) = read(judge=MODEL, canaries=[CANARY]).canaries
    assert canary.id == "canary-1"
    assert canary.messages == ({"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello!"})
    assert canary.statements == {"kind": KIND}
    assert canary.observed == {"kind": True}


def test_a_canary_may_define_its_statement_and_be_a_whole_conversation() -> None:
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [{"name": "greet", "arguments": {}}]},
    ]
    own = {"rude": {"judge": "The reply is rude.", "observed": False}}
    whole, ended = read(
        canaries=[
            {"id": "C1", "messages": messages, "behaviors": own},
            {"messages": messages[:1], "output": "Go away.", "behaviors": own},
        ]
    ).canaries
    assert whole.messages == tuple(messages)
    assert (whole.id, whole.statements, whole.observed) == ("C1", {"rude": "The reply is rude."}, {"rude": False})
    assert ended.messages[-1] == {"role": "assistant", "content": "Go away."}


@pytest.mark.parametrize(
    ("canary", "code", "named"),
    [
        ({"output": "x", "behaviors": {"kind": True}}, "suite.canary", "input"),
        ({"input": "x", "behaviors": {"kind": True}}, "suite.canary", "output"),
        ({"input": "x", "output": "y"}, "suite.canary", "behaviors"),
        ({**CANARY, "messages": []}, "suite.canary", "'messages' beside 'input'"),
        ({"messages": [{"role": "user", "content": "x"}], "behaviors": {"kind": True}}, "suite.canary", "output"),
        ({"turns": ["x"], "output": "y", "behaviors": {"kind": True}}, "suite.canary", "'turns'"),
        ({**CANARY, "behaviour": {}}, "suite.unknown-key", "'behaviors'"),
        ({**CANARY, "output": ""}, "suite.wrong-type", "[0].output: "),
        ({**CANARY, "id": "a\x1b"}, "suite.bad-id", r"'a\x1b'"),
        ({**CANARY, "behaviors": {}}, "suite.canary", "[0].behaviors: "),
        ({**CANARY, "behaviors": ["kind"]}, "suite.wrong-type", "[0].behaviors: "),
        ({**CANARY, "behaviors": {"kind": "yes"}}, "suite.wrong-type", "behaviors.kind: found 'yes'"),
        ({**CANARY, "behaviors": {"kind": None}}, "suite.wrong-type", "behaviors.kind: found null"),
        ({**CANARY, "behaviors": {"kidn": True}}, "suite.undefined-behavior", "'kind'"),
        ({**CANARY, "behaviors": {"sings": True}}, "suite.undefined-behavior", "'sings'"),
        ({**CANARY, "behaviors": {"refuses": True}}, "suite.canary", "'refuses'"),
        ({**CANARY, "behaviors": {"both": True}}, "suite.canary", "'both'"),
        ({**CANARY, "behaviors": {"own": {"judge": "It is."}}}, "suite.wrong-type", "behaviors.own: found null"),
        (
            {**CANARY, "behaviors": {"own": {"observed": True}}},
            "suite.wrong-type",
            "behaviors.own: found a mapping (observed)",
        ),
        ({**CANARY, "behaviors": {"own": {"judge": "", "observed": True}}}, "suite.wrong-type", "own.judge: found ''"),
        ("an answer", "suite.wrong-type", "'an answer'"),
    ],
)
def test_a_canary_that_tests_nothing_is_refused(canary: Any, code: str, named: str) -> None:
    behaviors = {"kind": KIND, "both": {"all": [KIND, "It is short."]}}
    text = refused(code, behaviors=behaviors, canaries=[canary])
    assert text.startswith("canaries[0]")
    assert named in text


@pytest.mark.parametrize("given", [[], {}, "x", None, [CANARY] * 1001])
def test_canaries_are_a_list_of_bounded_length(given: Any) -> None:
    assert "1 to 1000" in refused("suite.wrong-type", canaries=given)


def test_the_ids_of_canaries_differ() -> None:
    assert "'canary-2'" in refused("suite.listed-twice", canaries=[{**CANARY, "id": "canary-2"}, CANARY])


def test_a_problem_of_a_canary_has_its_line(tmp_path: Path) -> None:
    text = """
behaviors: {kind: The reply is kind.}
canaries:
  - {input: hi, output: Hello!, behaviors: {kind: true}}
  - {input: hi, output: Go away., behaviors: {knd: false}}
scenarios: [{id: A, input: hi, answer: x}]
"""
    (tmp_path / "suite.yaml").write_text(text, "utf-8")
    with pytest.raises(InputError) as error:
        suite.read(tmp_path / "suite.yaml")
    (problem,) = error.value.problems
    assert (problem.line, problem.code) == (5, "suite.undefined-behavior")
    assert problem.message.startswith("canaries[1].behaviors.knd: ")


def test_canaries_without_a_judge_keep_a_suite_from_being_run() -> None:
    found = read(canaries=[CANARY], scenarios=[{"id": "A", "input": "hi", "answer": "x"}])
    (problem,) = suite.unmet_needs(found, {}, agent=False)
    assert problem.code == "judge.missing"
    assert suite.unmet_needs(found, {}, agent=False, judge=False) == ()


# --- what digests depend on ------------------------------------------------------------------


def test_the_judge_changes_no_digest_and_canaries_only_that_of_the_suite() -> None:
    plain, judged, tested = read(), read(judge=MODEL), read(judges=judges(2), canaries=[CANARY])
    other = read(canaries=[{**CANARY, "behaviors": {"kind": False}}])
    assert plain.digest == judged.digest
    assert len({plain.digest, tested.digest, other.digest}) == 3
    assert len({one.scenarios["A"].digest for one in (plain, judged, tested, other)}) == 1


@pytest.mark.parametrize(
    "keys",
    [
        {"behaviors": {"kind": "The reply is very kind."}},
        {"behaviors": {"kind": {"judge": KIND, "contains": "x"}}},
        {"scenarios": [{**SCENARIO, "expected_behaviors": {"kind": "The reply is short."}}]},
        {"scenarios": [{**SCENARIO, "answer": {"judge": "It is right."}}]},
    ],
)
def test_a_statement_changes_the_digest_of_its_scenarios(keys: dict[str, Any]) -> None:
    assert read(**keys).scenarios["A"].digest != read().scenarios["A"].digest


# --- statements ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "code", "named"),
    [
        ("", "suite.wrong-type", "found ''"),
        ("refuses", "suite.wrong-type", '{contains: "refuses"}'),
        (" höflich ", "suite.wrong-type", '{contains: " höflich "}'),
        ("x " * 1001, "suite.too-large", "2000"),
        ({"judge": "x " * 1001}, "suite.too-large", "2000"),
    ],
)
def test_a_text_that_is_no_statement_is_refused(statement: Any, code: str, named: str) -> None:
    assert named in refused(code, behaviors={"kind": statement})


@pytest.mark.parametrize("statement", ["Kind.", "回答很友善", {"judge": "kind"}, "x " * 1000])
def test_short_and_long_statements_are_read(statement: Any) -> None:
    assert statement_texts(read(behaviors={"kind": statement}))


def test_a_scenario_has_no_more_statements_than_a_judge_is_asked_at_once() -> None:
    def with_statements(number: int) -> list[dict[str, Any]]:
        return [{**SCENARIO, "expected_behaviors": {f"b{i}": f"It has part {i}." for i in range(number)}}]

    assert len(statement_texts(read(scenarios=with_statements(MOST_STATEMENTS)))) == MOST_STATEMENTS
    assert refused("suite.too-large", scenarios=with_statements(MOST_STATEMENTS + 1)).startswith("A: 51 ")
    twice = [{**SCENARIO, "expected_behaviors": {f"b{i}": KIND for i in range(MOST_STATEMENTS + 1)}}]
    assert statement_texts(read(scenarios=twice)) == (KIND,)


def test_trials_are_counted_if_one_of_their_checks_is_a_statement() -> None:
    found = read(
        run={"trials": 3},
        scenarios=[
            SCENARIO,
            {"id": "B", "input": "hi", "answer": {"judge": "It is right."}},
            {"id": "C", "input": "hi", "must_not": {"rude": {"any": ["It is rude.", {"contains": "x"}]}}, "trials": 5},
            {"id": "D", "input": "hi", "answer": "x"},
        ],
    )
    assert judged_trials(found) == 11
    assert set(statement_texts(found)) == {KIND, "It is right.", "It is rude."}


def test_no_scenario_has_a_column_that_says_how_it_was_judged() -> None:
    assert "'judged'" in refused("suite.bad-column", scenarios=[{**SCENARIO, "judged": "x"}])


# --- in words --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "judge", "same"),
    [
        ({"http": "https://a/", "model": "m"}, MODEL, True),
        ({"http": "https://a/", "model": "Vendor/M "}, MODEL, True),
        ({"http": "https://a/", "body": {"model": "m", "q": "{input}"}, "output": "/o"}, MODEL, True),
        ({"http": "https://a/", "model": "m2"}, MODEL, False),
        ({"http": "https://a/"}, MODEL, False),
        ({"python": "a:b"}, MODEL, False),
        ({"http": "https://a/", "model": "m"}, {"python": "a:b"}, False),
    ],
)
def test_a_judge_that_is_the_model_under_test_is_recognized(agent: Any, judge: Any, same: bool) -> None:
    found = read(agent=agent, judge=judge)
    assert is_same_model(found) is same
    assert is_same_model(read(agent=agent, judges=[{**MODEL, "model": "other"}, judge])) is same
    assert not is_same_model(read(agent=agent))


def said(folder: Path, text: str) -> str:
    (folder / "suite.yaml").write_text(text, "utf-8")
    done = run(folder, "suite", "suite.yaml")
    assert (done.exit, done.err) == (0, "")
    return " ".join(done.out.split())


STATEMENTS = (
    "behaviors: {kind: The reply is kind.}\nscenarios: [{id: A, input: a, expected_behaviors: [kind], trials: 4}]"
)
ONE = "judge: {model: m, base_url: 'https://host/v1'}\n"
TWO = "judges: [{model: m, base_url: 'https://host/v1'}, {python: 'a:b'}]\n"
ASKED = "agent: {http: 'https://a/', model: m}\n"
GOOD = "{input: a, output: Hello!, behaviors: {kind: true}}"
BAD = "{input: a, output: Go away., behaviors: {kind: false}}"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (ONE, "judge m at https://host/v1. 1 statement in 4 trials: 4 calls."),
        (TWO, "judges 2 judges, of which the majority counts: m at https://host/v1, Python function a:b."),
        (TWO, "1 statement in 4 trials: 8 calls."),
        (TWO, "Without a majority nobody can tell"),
        (ONE + f"canaries: [{GOOD}, {BAD}]\n", "1 statement in 4 trials, and 2 canaries: 6 calls."),
        (ONE + f"canaries: [{GOOD}, {BAD}]\n", "2 known answers with 2 statements, by which the judge is tested"),
        (ONE + f"canaries: [{GOOD}]\n", "All of them are true, so a judge that always says so passes: add one that is"),
        (ONE + f"canaries: [{BAD}]\n", "All of them are false, so a judge that always says so passes: add one that is"),
        (ASKED + ONE, "This is the model under test"),
        ("", "1 statement in 4 trials, and no judge"),
    ],
)
def test_who_judges_what_is_said(tmp_path: Path, text: str, wanted: str) -> None:
    assert wanted in said(tmp_path, text + STATEMENTS)


def test_nothing_is_said_of_canaries_of_both_kinds_or_of_another_model(tmp_path: Path) -> None:
    text = said(tmp_path, ASKED.replace("m}", "n}") + ONE + f"canaries: [{GOOD}, {BAD}]\n" + STATEMENTS)
    assert "All of them" not in text
    assert "under test" not in text
    assert "majority" not in text


def test_a_judge_without_a_statement_is_not_asked(tmp_path: Path) -> None:
    assert "No scenario has a statement" in said(tmp_path, ONE + "scenarios: [{id: A, input: a, answer: x}]")
