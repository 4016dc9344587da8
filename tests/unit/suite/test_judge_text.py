"""Judges that are named by a text, as `--judge` has it, or by values of Python."""

from __future__ import annotations

import pytest

from highbar.errors import InputError
from highbar.suite import Judge
from highbar.suite.judge_text import read_judge_text, read_judge_values


@pytest.mark.parametrize(
    ("text", "judge"),
    [
        ("some-model@https://host/v1", Judge("some-model", "https://host/v1")),
        (" openai:some-model@https://host/v1 ", Judge("some-model", "https://host/v1")),
        ("anthropic:some-model@https://host", Judge("some-model", "https://host", format="anthropic")),
        ("llama3:8b@http://127.0.0.1:11434/v1", Judge("llama3:8b", "http://127.0.0.1:11434/v1")),
        ("meta/llama@2024@https://host/v1?a=b@c", Judge("meta/llama@2024", "https://host/v1?a=b@c")),
        ("m@${JUDGE_HOST}/v1", Judge("m", "${JUDGE_HOST}/v1")),
        ("python:package.judging:judge", Judge(python="package.judging:judge")),
    ],
)
def test_each_kind_has_its_form(text: str, judge: Judge) -> None:
    assert read_judge_text(text, {}) == judge


def test_the_key_is_the_one_of_the_environment_and_never_in_the_settings() -> None:
    found = read_judge_text("m@https://host/v1", {"JUDGE_KEY": "secret"})
    assert found.key == "${JUDGE_KEY}"
    assert read_judge_text("m@https://host/v1", {"JUDGE_KEY": ""}).key is None
    assert read_judge_text("python:a:b", {"JUDGE_KEY": "secret"}).key is None


@pytest.mark.parametrize(
    ("text", "codes", "value"),
    [
        ("", "judge.unreadable", " MODEL@https://host/v1"),
        ("some-model", "judge.unreadable", " MODEL@https://host/v1"),
        ("openai:some_model", "judge.unreadable", " MODEL@https://host/v1"),
        ("https://host/v1", "judge.unreadable", " MODEL@https://host/v1"),
        ("judging:judge", "judge.unreadable", "python:judging:judge"),
        ("@https://host/v1", "suite.wrong-type", "the judge: model: "),
        ("openai:@https://host/v1", "suite.wrong-type", "the judge: model: "),
        ("m@ftp://host/v1", "judge.unreadable", "'m@ftp://host/v1'"),
        ("m@https://", "suite.wrong-type", "base_url: found 'https://'"),
        ("m@https://user:secret@host/v1", "suite.key-in-file", "${AGENT_PASSWORD}"),
        ("m@https://host/${a b}", "suite.wrong-type agent.bad-body", "'${a b}'"),
        ("python:judging", "suite.wrong-type", "python: found 'judging'"),
    ],
)
def test_everything_else_is_refused_with_a_hint(text: str, codes: str, value: str) -> None:
    with pytest.raises(InputError) as refused:
        read_judge_text(text, {})
    assert [problem.code for problem in refused.value.problems] == codes.split()
    assert value in str(refused.value)
    assert "secret" not in str(refused.value)


def test_values_of_python_are_read_as_a_suites_block() -> None:
    block = {"model": "m", "base_url": "https://host/v1", "key": "${K}", "retries": 2, "concurrency": 3}
    assert read_judge_values(block) == Judge("m", "https://host/v1", "${K}", retries=2, concurrency=3)
    with pytest.raises(InputError, match="base_url") as refused:
        read_judge_values({"model": "m"})
    assert [problem.code for problem in refused.value.problems] == ["suite.missing-key"]
