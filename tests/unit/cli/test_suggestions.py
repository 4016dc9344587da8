"""A misspelled command or file gets the one that was probably meant."""

from __future__ import annotations

import pytest

from tests.commandline import run

ROW = '{"id": "A", "passed": true}\n'


@pytest.mark.parametrize(
    ("arguments", "problem", "hint"),
    [
        (("chekc", "x"), "there is no command 'chekc'", "did you mean 'check'?"),
        (("zzzzzz",), "there is no command 'zzzzzz'", "highbar --help lists the commands"),
        (("results.jsonl",), "there is no command 'results.jsonl'", "highbar check results.jsonl"),
        (("my results.jsonl",), "there is no command 'my results.jsonl'", "highbar check 'my results.jsonl'"),
        (("baseline", "recrod", "x"), "there is no command 'recrod'", "did you mean 'record'?"),
        (("check", "result.jsonl"), "result.jsonl: no such file", "did you mean 'results.jsonl'?"),
        (
            ("check", "results.jsonl", "--policy", "polcy.yaml"),
            "polcy.yaml: no such file",
            "did you mean 'policy.yaml'?",
        ),
        (("policy", "polcy.yaml"), "polcy.yaml: no such file", "did you mean 'policy.yaml'?"),
    ],
)
def test_what_was_meant_is_suggested(tmp_path, arguments, problem, hint) -> None:
    for name in ("results.jsonl", "my results.jsonl"):
        (tmp_path / name).write_text(ROW)
    (tmp_path / "policy.yaml").write_text("thresholds: { blocking: { pass_rate: 90% } }")
    done = run(tmp_path, *arguments)
    assert (done.exit, done.out) == (2, "")
    assert done.err == f"{problem}\nhint: {hint}\n"


def test_a_name_that_is_near_nothing_gets_no_suggestion(tmp_path) -> None:
    assert run(tmp_path, "check", "nowhere/results.jsonl").err == "nowhere/results.jsonl: no such file\n"
    assert run(tmp_path, "check", "results.jsonl").err == "results.jsonl: no such file\n"


def test_one_rule_is_said_in_the_singular(tmp_path) -> None:
    (tmp_path / "highbar.yaml").write_text("thresholds: { blocking: { pass_rate: 90% } }")
    assert ": 1 rule, 1 blocking" in run(tmp_path, "policy").out
