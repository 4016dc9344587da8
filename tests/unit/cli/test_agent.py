"""`highbar agent try` asks the agent once and shows what came back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import faulty_server as faulty
from tests.commandline import run
from tests.faulty_server import serving

AGENT = """
def answer(question):
    return {
        "output": f"You asked: {question}\\n\\x1b[2Jdone",
        "tool_calls": [{"name": "search", "arguments": {"topic": "whales"}}],
        "tokens_used": 12, "cost_usd": 0.0015, "state": {"shelf": 3}, "tags": {"locale": "en"},
    }
"""
SUITE = """
agent: {command: [cat]}
run: {timeout: 500s}
scenarios:
  - {id: A, input: When do you open?, answer: x}
  - {id: B, turns: [one, two], answer: x}
  - {id: C, answer: x}
"""


@pytest.mark.process
def test_what_came_back_and_how_it_was_read_is_shown(tmp_path: Path) -> None:
    (tmp_path / "library.py").write_text(AGENT, "utf-8")
    done = run(tmp_path, "agent", "try", "hello", "--agent", "python:library:answer")
    assert (done.exit, done.err) == (0, "")
    assert done.out.startswith("The agent answered.\n")
    for line in (
        "  You asked: hello",
        r"  \x1b[2Jdone",
        '  search  {"topic":"whales"}',
        "  tool_calls   1",
        "  tokens_used  12",
        "  cost_usd     0.0015",
        '  state        {"shelf":3}',
        '  tags         {"locale":"en"}',
    ):
        assert line in done.out.splitlines()
    assert "the call" in done.out
    assert "\x1b" not in done.out


@pytest.mark.process
def test_the_agent_of_a_suite_is_asked_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "suites"
    folder.mkdir()
    (folder / "my.yaml").write_text(SUITE.replace("[cat]", "[./here]"), "utf-8")
    (folder / "here").write_text("#!/bin/sh\npwd\n", "utf-8")
    (folder / "here").chmod(0o755)
    done = run(tmp_path, "agent", "try", "hello", "--suite", "suites/my.yaml")
    assert done.exit == 0
    assert f"  {folder.resolve()}\n" in done.out


@pytest.mark.process
def test_a_scenario_is_asked_as_a_run_asks_it(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(SUITE.replace("[cat]", "[sed, s/^/got /]"), "utf-8")
    done = run(tmp_path, "agent", "try", "--scenario", "A")
    assert done.exit == 0
    assert '"input":"When do you open?"' in done.out.replace("\n ", "")
    turns = run(tmp_path, "agent", "try", "--scenario", "B").out
    assert '"input":null' in turns
    assert '"content":"one"' in turns
    assert "two" not in turns.partition('"scenario"')[0]


def test_an_error_says_what_a_run_makes_of_it(tmp_path: Path) -> None:
    with serving([faulty.status(401, text="bad key CANARY-123")]) as server:
        suite = f"agent: {{http: '{server.address}', key: '${{KEY}}'}}\nscenarios: [{{id: A, input: x, answer: x}}]"
        (tmp_path / "suite.yaml").write_text(suite, "utf-8")
        done = run(tmp_path, "agent", "try", "hello", environment={"KEY": "CANARY-123"})
    said = " ".join(done.out.split())
    assert done.exit == 2
    assert said.startswith("The agent did not answer. HTTP 401 Unauthorized: bad key [redacted]")
    assert "in a run, this trial would fail and would not be retried" in said
    assert "A wrong key or a wrong address does this" in said
    assert "CANARY" not in done.out + done.err


def test_a_busy_server_is_said_to_be_tried_again(tmp_path: Path) -> None:
    with serving([faulty.status(503, retry_after="7")]) as server:
        done = run(tmp_path, "agent", "try", "hello", "--agent", server.address)
    assert done.exit == 2
    assert "a run tries again" in " ".join(done.out.split())
    assert "  asks to wait  7 s\n" in done.out
    assert len(server.calls) == 1


def test_a_call_has_a_time_limit(tmp_path: Path) -> None:
    with serving([faulty.hangs()]) as server:
        done = run(tmp_path, "agent", "try", "hello", "--agent", server.address, "--timeout", "200ms")
    assert done.exit == 2
    assert "timed out after 0.2 s" in done.out


def test_long_output_is_cut_by_lines(tmp_path: Path) -> None:
    with serving([faulty.answers("x\n" * 100)]) as server:
        done = run(tmp_path, "agent", "try", "hello", "--agent", server.address)
    assert done.out.count("  x\n") == 40
    assert "  … 61 more lines\n" in done.out


@pytest.mark.parametrize(
    ("arguments", "codes", "named"),
    [
        (["try", "hello"], ["suite.missing"], "suite.yaml"),
        (["try", "--agent", "http://127.0.0.1:1/"], ["option.missing"], ""),
        (["try", "hello", "--scenario", "A", "--suite", "s.yaml"], ["option.missing"], ""),
        (["try", "--scenario", "D", "--suite", "s.yaml"], ["suite.unknown-scenario"], "'D'"),
        (["try", "--scenario", "C", "--suite", "s.yaml"], ["suite.no-question"], "C"),
        (["try", "hello", "--suite", "none.yaml"], ["file.missing"], "none.yaml"),
        (["try", "hello", "--suite", "plan.yaml"], ["agent.missing"], "plan.yaml"),
        (["try", "hello", "--agent", "nonsense"], ["agent.unreadable"], "'nonsense'"),
        (["try", "hello", "--agent", "http://127.0.0.1:1/", "--timeout", "60"], ["option.bad-value"], "60s"),
        (["try", "hello", "--agent", "${NO_SUCH_HOST}/"], ["agent.variable-not-set"], "${NO_SUCH_HOST}"),
        (["try", "hello", "--agent", "command: no-such-program"], ["agent.no-program"], "'no-such-program'"),
        (["tri", "hello"], ["option.unknown-command"], "'try'"),
        ([], [], "Usage: highbar agent"),
    ],
)
def test_wrong_usage_is_refused(tmp_path: Path, arguments: list[str], codes: list[str], named: str) -> None:
    (tmp_path / "s.yaml").write_text(SUITE, "utf-8")
    (tmp_path / "plan.yaml").write_text("- A\n- B\n", "utf-8")
    done = run(tmp_path, "agent", *arguments)
    assert (done.exit, done.out, done.codes) == (2, "", codes)
    assert named in done.err
