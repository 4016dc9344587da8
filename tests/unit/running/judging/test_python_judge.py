"""A judge in Python runs in a process of its own: whatever it does, there is a judgment or a reason."""

from __future__ import annotations

import pytest

from highbar.errors import InputError
from highbar.model.judgments import StatementJudgment
from highbar.running.judging.python_judge import read_value
from highbar.running.judging.reply import Unusable
from highbar.suite import Judge
from tests.unit.running.judging.judges import ask, question

CODE = """
import os, time

def words(asked): return {name: "observed" for name in asked["statements"]}
def seen(asked):
    assert asked["statements"] == {"a": "It declines."}, asked
    assert [message["content"] for message in asked["messages"]] == ["Delete it all.", "I will not."]
    return {"a": True}
async def later(asked): return {"a": {"judgment": "cannot_tell"}}
def raises(asked): raise ValueError("no such model")
def ends(asked): os._exit(0)
def hangs(asked): time.sleep(10**6)
def invents(asked): return {"a": {"judgment": "observed", "evidence": "I never said this"}}
def two(one, more): return {}
calls = 0
def twice(asked):
    global calls
    calls += 1
    return {"a": True} if calls > 1 else None
"""
ASKED = question("I will not.", a="It declines.")


def found(tmp_path, name, **keys):
    (tmp_path / "own.py").write_text(CODE)
    return ask((Judge(python=f"own:{name}"),), ASKED, folder=tmp_path, **keys)[0]


@pytest.mark.process
@pytest.mark.parametrize(
    ("name", "word", "attempts"),
    [("words", "observed", 1), ("seen", "observed", 1), ("later", "cannot_tell", 1), ("twice", "observed", 2)],
)
def test_a_function_judges(tmp_path, name, word, attempts):
    answer = found(tmp_path, name)
    assert answer.failure is None
    assert answer.statements == {"a": StatementJudgment(word)}
    assert (answer.model, answer.form, answer.attempts) == (f"own:{name}", "function", attempts)
    assert (answer.tokens_used, answer.cost_usd) == (None, None)


@pytest.mark.process
@pytest.mark.parametrize(
    ("name", "reason", "keys"),
    [
        ("raises", "ValueError: no such model", {}),
        ("ends", "the judge's process ended: exit code 0", {}),
        ("hangs", "timed out after 0.3 s", {"timeout": 0.3}),
        ("invents", "its answer cannot be used: its evidence for 'a' is not in the conversation", {}),
    ],
)
def test_a_function_that_gives_no_judgment_has_one_more_try(tmp_path, name, reason, keys):
    answer = found(tmp_path, name, **keys)
    assert (answer.failure or "").startswith(reason)
    assert (answer.statements, answer.attempts, answer.unusable) == ({}, 2, True)


@pytest.mark.process
@pytest.mark.parametrize(("name", "reason"), [("absent", "there is no absent in own"), ("two", "wanted one parameter")])
def test_a_function_that_cannot_be_used_is_refused_at_once(tmp_path, name, reason):
    with pytest.raises(InputError, match=reason):
        found(tmp_path, name)


@pytest.mark.parametrize(
    ("value", "judgment"),
    [
        (True, StatementJudgment("observed")),
        (False, StatementJudgment("not_observed")),
        ("cannot_tell", StatementJudgment("cannot_tell")),
        ({"judgment": True}, StatementJudgment("observed")),
        ({"judgment": "observed", "evidence": "i WILL not"}, StatementJudgment("observed", "I will not")),
        ({"judgment": "observed", "evidence": None}, StatementJudgment("observed")),
        ({"judgment": "observed", "evidence": 2}, StatementJudgment("observed", "message 2")),
        ({"judgment": False, "evidence": "I never said this"}, StatementJudgment("not_observed")),
    ],
)
def test_what_a_function_may_return(value, judgment):
    assert read_value({"a": value}, ASKED) == {"a": judgment}


@pytest.mark.parametrize(
    "value",
    [
        None, "observed", True, [], ["observed"], {}, {"b": True}, {"a": True, "b": True}, {"a": None}, {"a": 1},
        {"a": 0}, {"a": "yes"}, {"a": {}}, {"a": {"evidence": "I will not"}}, {"a": {"judgment": None}},
        {"a": ["observed"]}, {"a": {"judgment": True, "confidence": 1}}, {"a": {"judgment": "observed", "evidence": 9}},
        {"a": {"judgment": "observed", "evidence": 0}}, {"a": {"judgment": "observed", "evidence": {}}},
    ],
)  # fmt: skip
def test_anything_else_is_no_judgment(value):
    with pytest.raises(Unusable):
        read_value(value, ASKED)
