"""Several judges vote; fewer than all of them are no judge."""

from __future__ import annotations

from contextlib import ExitStack
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.model.judgments import JudgeAnswer, StatementJudgment
from highbar.running.judging.panel import majority_answer
from highbar.running.judging.reply import WORDS
from tests import judge_server as judge
from tests.judge_server import judging
from tests.unit.running.judging.judges import ask, judge_at, question

YES, NO, UNCLEAR = WORDS
ASKED = question("I will not.", a="It declines.")


def answer(word, evidence=None, **keys):
    return JudgeAnswer({"a": StatementJudgment(word, evidence)}, **{"model": "m", **keys})


def vote(*words):
    return majority_answer(ASKED, [answer(word) for word in words], [str(i) for i in range(len(words))]).statements["a"]


@pytest.mark.parametrize(
    ("votes", "word"),
    [
        ((YES, YES, YES), YES),
        ((YES, NO, YES), YES),
        ((NO, NO, YES), NO),
        ((YES, NO, UNCLEAR), UNCLEAR),
        ((YES, UNCLEAR, UNCLEAR), UNCLEAR),
        ((YES, NO), UNCLEAR),
        ((YES, YES, NO, NO), UNCLEAR),
        ((YES, YES, NO, UNCLEAR), UNCLEAR),
        ((YES, YES, NO, UNCLEAR, UNCLEAR), UNCLEAR),
        ((YES, YES, YES, NO, UNCLEAR), YES),
    ],
)
def test_more_than_half_decide_and_else_nobody_can_tell(votes, word):
    found = vote(*votes)
    assert found.judgment == word
    assert found.votes == (() if len(set(votes)) == 1 else votes)


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9))
def test_a_judgment_has_more_than_half_of_the_votes_and_the_order_does_not_matter(votes):
    found = vote(*votes).judgment
    assert found == UNCLEAR or 2 * votes.count(found) > len(votes)
    assert vote(*reversed(votes)).judgment == found


def test_the_evidence_is_of_one_who_was_in_the_majority():
    said = [answer(NO, "x"), answer(YES), answer(YES, "I will not")]
    assert majority_answer(ASKED, said, ["1", "2", "3"]).statements["a"].evidence == "I will not"


def test_one_failure_is_the_failure_of_all():
    failed = JudgeAnswer(failure="HTTP 401", refusal="HTTP 401", tokens_used=5)
    found = majority_answer(ASKED, [answer(YES, tokens_used=7), failed, answer(YES)], ["x", "y", "z"])
    assert (found.statements, found.failure, found.refusal) == ({}, "y: HTTP 401", "HTTP 401")
    assert not found.unusable
    unusable = JudgeAnswer(failure="cut", unusable=True)
    found = majority_answer(ASKED, [unusable, failed], ["x", "y"])
    assert (found.failure, found.unusable) == ("x: cut; y: HTTP 401", True)


def test_tokens_and_cost_are_sums_and_unknown_if_one_is():
    priced = [answer(YES, tokens_used=1, cost_usd=Decimal("0.1")), answer(YES, tokens_used=2, cost_usd=Decimal("0.2"))]
    found = majority_answer(ASKED, priced, ["x", "y"])
    assert (found.tokens_used, found.cost_usd) == (3, Decimal("0.3"))
    found = majority_answer(ASKED, [*priced, answer(YES)], ["x", "y", "z"])
    assert (found.tokens_used, found.cost_usd) == (None, None)


def test_judges_of_both_formats_are_asked_at_once():
    with ExitStack() as stack:
        words = [YES, NO, YES]
        servers = [stack.enter_context(judging([judge.answers({"a": word}, model=word)])) for word in words]
        formats = ["openai", "anthropic", "openai"]
        judges = tuple(judge_at(server, format=wire) for server, wire in zip(servers, formats, strict=True))
        (found,) = ask(judges, ASKED)
    assert found.statements["a"] == StatementJudgment(YES, "message 2", (YES, NO, YES))
    assert (found.model, found.form) == (f"{YES} + {NO} + {YES}", "json_schema + tool")
    assert found.tokens_used == 300
