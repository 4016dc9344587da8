"""Earlier judgments in rows, which are used again instead of asking the judge."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from highbar.model.judgments import JudgedStatement, JudgedTrial, JudgeQuestion
from highbar.running.judging.rejudging import EarlierJudgments

JUDGED = JudgedTrial(statements={"kind": JudgedStatement("It is kind.", "observed")}, digest="d", conversation="c")
QUESTION = JudgeQuestion({"kind": "It is kind."}, ())


@pytest.mark.parametrize("column", [msgspec.to_builtins(JUDGED), json.dumps(msgspec.to_builtins(JUDGED))])
def test_a_judgment_is_found_as_an_object_and_as_json_text(column: Any) -> None:
    known = EarlierJudgments()
    known.add_row({"judged": column, "judge": "some-model #0123"})
    found = known.take("d", QUESTION)
    assert found is not None
    assert (found.model, found.statements["kind"].judgment) == ("some-model", "observed")


@pytest.mark.parametrize("column", [None, 7, "", "x", "[1]", "[" * 100_000, {"statements": 1}, "{}"])
def test_a_column_of_another_program_is_no_judgment(column: Any) -> None:
    known = EarlierJudgments()
    known.add_row({"judged": column})
    assert known.take("d", QUESTION) is None
