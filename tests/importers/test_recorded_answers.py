"""Tool calls and conversations of other tools' files, for `highbar import` and `highbar grade`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from highbar.importers import importer_named
from highbar.importers.report import Report
from tests.commandline import run

FIXTURES = Path(__file__).parent / "fixtures"


def rows_of(tool: str, path: Path, **keys: bool) -> list[dict[str, Any]]:
    return list(importer_named(tool)(str(path), Report(**keys)))  # type: ignore[arg-type]


def test_a_check_reads_no_calls() -> None:
    rows = rows_of("deepeval", FIXTURES / "deepeval" / "repeated.json")
    assert all("tool_calls" not in row and "messages" not in row for row in rows)


def test_deepeval_has_the_calls_of_its_cases_and_traces() -> None:
    rows = rows_of("deepeval", FIXTURES / "deepeval" / "repeated.json", calls=True)
    called = {row["input"]: row.get("tool_calls") for row in rows if "input" in row}
    assert called["sound"] == [{"name": "tool", "arguments": {"question": "sound"}}]
    assert called["plain"] is None  # nothing says whether there were any


CONVERSATION = [
    {"id": "1", "role": "user", "content": "When?"},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "A moment."}],
        "tool_calls": [{"id": "c", "function": "clock", "arguments": {"zone": "attachment://a"}, "type": "function"}],
    },
    {"role": "tool", "content": "10", "tool_call_id": "c"},
    {"role": "assistant", "content": "At 10 am."},
]


def inspect_log(folder: Path, messages: list[dict[str, Any]], *, scored: bool = True) -> Path:
    sample: dict[str, Any] = {
        "id": "HOURS-1", "epoch": 1, "input": "When?", "target": "", "messages": messages,
        "output": {"completion": "At 10 am."}, "attachments": {"a": "UTC"},
    }  # fmt: skip
    scorers = [{"name": "match", "metrics": [{"name": "accuracy"}]}] if scored else []
    if scored:
        sample["scores"] = {"match": {"value": "I"}}
    log = {
        "version": 2, "status": "success",
        "eval": {"task": "desk", "model": "m", "dataset": {"samples": 1}, "config": {}, "scorers": scorers},
        "results": {"total_samples": 1, "completed_samples": 1, "scores": []},
        "samples": [sample],
    }  # fmt: skip
    path = folder / "log.json"
    path.write_text(json.dumps(log))
    return path


def test_inspect_has_the_conversation_and_its_calls(tmp_path: Path) -> None:
    (row,) = rows_of("inspect", inspect_log(tmp_path, CONVERSATION), calls=True)
    assert row["tool_calls"] == [{"name": "clock", "arguments": {"zone": "UTC"}}]
    assert [(one["role"], one["content"]) for one in row["messages"]] == [
        ("user", "When?"), ("assistant", "A moment."), ("tool", "10"), ("assistant", "At 10 am."),
    ]  # fmt: skip


def test_a_conversation_without_calls_says_that_there_were_none(tmp_path: Path) -> None:
    (row,) = rows_of("inspect", inspect_log(tmp_path, [CONVERSATION[0], CONVERSATION[3]]), calls=True)
    assert row["tool_calls"] == []


@pytest.mark.parametrize("scored", [True, False])
def test_answers_of_inspect_are_graded_whoever_judged_them(tmp_path: Path, *, scored: bool) -> None:
    inspect_log(tmp_path, CONVERSATION, scored=scored)
    suite = {
        "scenarios": [
            {
                "id": "desk/HOURS-1",
                "input": "When?",
                "answer": {"contains": "10 am"},
                "expected_behaviors": {"looks": {"calls": "clock", "arguments": {"zone": "UTC"}}},
                "must_not": {"stalls": {"contains": "a moment"}},
            }
        ]
    }
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    done = run(tmp_path, "grade", "log.json", "--suite", "suite.json", "-o", "new.jsonl")
    assert done.exit == 0, done.err
    row = json.loads((tmp_path / "new.jsonl").read_text())
    assert (row["correct"], row["behaviors"], row["violations"]) == (True, {"looks": True}, ["stalls"])
    assert "passed" not in row


@pytest.mark.parametrize(
    ("output", "calls"),
    [
        ([{"function": {"name": "clock", "arguments": '{"zone": 1}'}}], [{"name": "clock", "arguments": {"zone": 1}}]),
        ({"content": "x", "tool_calls": [{"function": {"name": "clock"}}]}, [{"name": "clock"}]),
        ("At 10 am.", None),
        (["a", "b"], None),
        ([], None),
    ],
)  # fmt: skip
def test_promptfoo_has_the_calls_of_answers_that_consist_of_them(tmp_path: Path, output: Any, calls: Any) -> None:
    result = {
        "success": True, "failureReason": 0, "score": 1, "response": {"output": output}, "vars": {"q": "x"},
        "testCase": {"description": "HOURS-1", "vars": {"q": "x"}}, "provider": {"id": "p"}, "prompt": {"raw": "x"},
        "promptIdx": 0, "testIdx": 0,
    }  # fmt: skip
    stats = {"successes": 1, "failures": 0, "errors": 0}
    path = tmp_path / "out.json"
    path.write_text(json.dumps({"evalId": "e", "results": {"version": 3, "results": [result], "stats": stats}}))
    (row,) = rows_of("promptfoo", path, calls=True, answers_only=True)
    assert row["tool_calls"] == calls


def spans(*attributes: tuple[str, str]) -> dict[str, Any]:
    listed = [{"key": key, "value": {"stringValue": value}} for key, value in attributes]
    span = {
        "traceId": "1" * 32, "spanId": "1" * 16, "name": "invoke_agent desk", "startTimeUnixNano": "1",
        "endTimeUnixNano": "1000001", "attributes": listed,
    }  # fmt: skip
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [span]}]}]}


def messages(*parts: dict[str, Any]) -> str:
    return json.dumps([{"role": "assistant", "parts": [*parts]}])


CALL = {"type": "tool_call", "name": "clock", "arguments": {"zone": "UTC"}}
TEXT = {"type": "text", "content": "At 10 am."}


@pytest.mark.parametrize(
    ("key", "said", "calls"),
    [
        ("pydantic_ai.all_messages", messages(CALL, TEXT), [{"name": "clock", "arguments": {"zone": "UTC"}}]),
        ("pydantic_ai.all_messages", messages(TEXT), []),
        ("gen_ai.output.messages", messages(CALL), [{"name": "clock", "arguments": {"zone": "UTC"}}]),
        ("gen_ai.output.messages", messages(TEXT), None),
    ],
)
def test_spans_have_the_calls_of_their_messages(tmp_path: Path, key: str, said: str, calls: Any) -> None:
    path = tmp_path / "traces.json"
    path.write_text(json.dumps(spans(("gen_ai.operation.name", "invoke_agent"), (key, said))))
    (row,) = rows_of("otel", path, calls=True, answers_only=True)
    assert row.get("tool_calls") == calls


def test_import_shows_the_calls(tmp_path: Path) -> None:
    inspect_log(tmp_path, CONVERSATION)
    done = run(tmp_path, "import", "inspect", "log.json", "--calls")
    assert done.exit == 0, done.err
    assert json.loads(done.out)["tool_calls"] == [{"name": "clock", "arguments": {"zone": "UTC"}}]


def test_import_shows_the_calls_of_a_file_in_which_nobody_judges(tmp_path: Path) -> None:
    said = spans(("gen_ai.operation.name", "invoke_agent"), ("gen_ai.output.messages", messages(CALL)))
    (tmp_path / "traces.json").write_text(json.dumps(said))
    done = run(tmp_path, "import", "otel", "traces.json", "--calls", "-o", "rows.jsonl")
    assert done.exit == 0, done.err
    (row,) = map(json.loads, (tmp_path / "rows.jsonl").read_text().splitlines())
    assert [call["name"] for call in row["tool_calls"]] == ["clock"]
    (tmp_path / "highbar.json").write_text('{"thresholds": {"pass_rate": "50%"}}')
    for file in ("rows.jsonl", "traces.json"):
        done = run(tmp_path, "check", file)
        assert done.exit == 2, done.out
    assert "highbar grade" in done.out + done.err
