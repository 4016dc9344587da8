"""The same question to the same judge has the same digest, and nothing else has it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from highbar.model.judgments import JudgeAnswer, JudgeQuestion
from highbar.running.judging.identity import conversation_digest, judge_name, prompt_digest, question_digest
from highbar.suite import Judge
from tests.unit.running.judging.judges import question

JUDGE = Judge("m", "https://a.example/v1", "${KEY}")
HERE = Path()
STATEMENTS = [("a", "x"), ("b", "y")]


def with_call(arguments, **keys) -> JudgeQuestion:
    call = {"role": "assistant", "content": None, "tool_calls": [{"name": "f", "arguments": arguments}], **keys}
    return JudgeQuestion({"a": "x"}, (call,))


def test_a_digest_is_of_what_changes_answers():
    first = prompt_digest((JUDGE,), HERE, STATEMENTS)
    assert len(first) == 64
    assert set(first) <= set("0123456789abcdef")
    same = [Judge("m", "https://b.example", "${OTHER}", concurrency=3, timeout=Fraction(1), retries=0)]
    assert {prompt_digest((judge,), HERE, reversed(STATEMENTS)) for judge in same} == {first}
    others = [
        Judge("n", JUDGE.base_url),
        Judge("m", JUDGE.base_url, format="anthropic"),
        Judge("m", JUDGE.base_url, temperature=Fraction(0)),
        Judge("m", JUDGE.base_url, max_tokens=8000),
    ]
    assert len({first, *(prompt_digest((judge,), HERE, STATEMENTS) for judge in others)}) == 5
    assert prompt_digest((JUDGE, JUDGE), HERE, STATEMENTS) != first
    assert prompt_digest((JUDGE,), HERE, STATEMENTS[:1]) != first
    assert prompt_digest((JUDGE,), HERE, [("a", "y"), ("b", "x")]) != first


def test_the_order_of_judges_does_not_matter():
    both = JUDGE, Judge("n", JUDGE.base_url)
    assert prompt_digest(both, HERE, STATEMENTS) == prompt_digest(both[::-1], HERE, STATEMENTS)


def test_a_function_is_the_content_of_its_file(tmp_path):
    judge = Judge(python="own:f")
    (tmp_path / "own.py").write_text("def f(asked): return {}")
    before = question_digest((judge,), tmp_path, question())
    assert question_digest((judge,), tmp_path, question()) == before
    (tmp_path / "own.py").write_text("def f(asked): return {1: 2}")
    assert question_digest((judge,), tmp_path, question()) != before


def test_a_conversation_is_the_same_whoever_judges_it():
    one, other = question("yes"), question("no")
    assert conversation_digest(one) == conversation_digest(question("yes"))
    assert conversation_digest(one) != conversation_digest(other)
    assert conversation_digest(one) != conversation_digest(question("yes", a="other"))
    assert question_digest((JUDGE,), HERE, one) == question_digest((JUDGE,), HERE, question("yes"))
    assert (
        len({question_digest((JUDGE,), HERE, one), question_digest((JUDGE,), HERE, other), conversation_digest(one)})
        == 3
    )


@pytest.mark.parametrize("number", [Decimal("2.0"), 2.0, 2])
def test_a_number_is_the_same_however_it_was_read(number):
    assert conversation_digest(with_call({"a": number, "b": 0.1})) == conversation_digest(
        with_call({"b": Decimal("0.1"), "a": 2})
    )
    assert conversation_digest(with_call({"a": number})) != conversation_digest(with_call({"a": "2"}))
    assert conversation_digest(with_call({"a": True})) != conversation_digest(with_call({"a": 1}))


def test_every_part_of_a_message_counts():
    made = [with_call({}), with_call({"a": 1}), with_call({}, name="x"), with_call({}, content="")]
    assert len({conversation_digest(one) for one in made}) == 4


def test_any_text_has_a_digest():
    assert conversation_digest(question("\ud800 \x00 \U0010ffff"))


def test_the_name_of_a_judge_is_its_model_and_a_part_of_the_digest():
    digest = "0123456789abcdef" * 4
    assert judge_name((JUDGE,), JudgeAnswer(model="m-2026"), digest) == "m-2026 #0123456789ab"
    assert judge_name((JUDGE, JUDGE), JudgeAnswer(), digest) == "m + m #0123456789ab"
    assert judge_name((Judge(python="own:f"),), JudgeAnswer(), digest) == "own:f #0123456789ab"
