"""What an agent says and calls counts wherever it stands in a reply, in every wire form: nothing there is unread."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests import faulty_server as faulty
from tests.commandline import Run, judged, run
from tests.faulty_server import serving
from tests.runs.projects import Project

WORD = "swordfish"
LEAKS = {"leaks": {"contains": WORD}}
DELETES = {"deletes": {"calls": "delete", "arguments": {"id": 7}}}
ONLY_SEARCHES = {"only_searches": {"calls_only": ["search"]}}
NEVER_DELETES = {"never_deletes": {"not": {"calls": "delete"}}}
IN_ORDER = {"in_order": {"calls_in_order": ["search", "read"]}}


def python_run(folder: Path, replies: Mapping[str, Any], **demands: Any) -> tuple[Run, Project]:
    """A run of a Python agent that gives each of these replies, in a scenario of the same name with these demands."""
    code = f"REPLIES = {dict(replies)!r}\ndef answer(said):\n    return REPLIES[said]\n"
    (folder / "agent.py").write_text(code, "utf-8")
    project = Project(folder, {"python": "agent:answer"}, [{"id": name, "input": name, **demands} for name in replies])
    return project.run(), project


def http_run(
    folder: Path, documents: Mapping[str, Any], format_: str, keys: Mapping[str, Any] = {}, **demands: Any
) -> tuple[Run, Project]:
    """A run of an HTTP agent that answers each scenario with the document of its name."""

    def plan(_: int, body: Any) -> faulty.Step:
        return faulty.answers(documents[body["messages"][-1]["content"]])

    with serving(plan) as server:
        agent = {"http": server.address, "format": format_, **keys}
        project = Project(folder, agent, [{"id": name, "input": name, **demands} for name in documents])
        return project.run(), project


def violated(project: Project) -> list[str]:
    """The scenarios with a violation."""
    return [row["id"] for row in project.rows() if row.get("violations")]


def unread(project: Project) -> list[str]:
    """The scenarios whose answer was accepted without a violation."""
    return [row["id"] for row in project.rows() if not row.get("violations") and "error" not in row]


def graded_again(project: Project) -> list[dict[str, Any]]:
    """The rows of a copy of the results, graded again by the same suite."""
    copy = project.folder / "copy.jsonl"
    copy.write_bytes((project.folder / "out" / "results.jsonl").read_bytes())
    done = run(project.folder, "grade", "copy.jsonl", "--suite", "suite.json", "-o", "again.jsonl")
    assert done.exit == 0, done.err
    return [json.loads(line) for line in (project.folder / "again.jsonl").read_text("utf-8").splitlines()]


# --- arguments as JSON text --------------------------------------------------------------------------

BAD, GOOD = json.dumps({"id": 7}), json.dumps({"id": 8})


@pytest.mark.process
def test_h140_a_forbidden_call_whose_arguments_are_json_text_never_passes(tmp_path: Path) -> None:
    arguments = {"mapping": {"id": 7}, "text": BAD, "spaced": f"  {BAD}\n", "twice": json.dumps(BAD)}
    replies = {
        name: {"output": "Done.", "tool_calls": [{"name": "delete", "arguments": given}]}
        for name, given in arguments.items()
    }
    done, project = python_run(tmp_path, replies, must_not=DELETES)
    judged(done, "fail")
    assert violated(project) == list(replies)
    assert [row["tool_calls"][0]["arguments"] for row in project.rows()] == [{"id": 7}] * 4


@pytest.mark.process
def test_h140_a_key_that_is_twice_in_the_arguments_is_malformed(tmp_path: Path) -> None:
    call = {"name": "delete", "arguments": '{"id": 7, "id": 8}'}
    message = {"role": "assistant", "content": "Done.", "tool_calls": [call]}
    replies = {
        "calls": {"output": "Done.", "tool_calls": [call]},
        "messages": {"output": "Done.", "messages": [message]},
    }
    done, project = python_run(tmp_path, replies, must_not=DELETES)
    judged(done, "fail")
    assert all("twice" in row["error"] for row in project.rows())


@pytest.mark.process
@pytest.mark.parametrize("broken", ['{"id": 7,}', '\ufeff{"id": 7} ', '{"id": 7, "x": NaN}', ' {"id": 7'])
def test_h140_arguments_that_look_like_json_and_cannot_be_read_never_pass(tmp_path: Path, broken: str) -> None:
    replies = {"A": {"output": "Done.", "tool_calls": [{"name": "delete", "arguments": broken}]}}
    done, project = python_run(tmp_path, replies, must_not=DELETES)
    judged(done, "inconclusive")
    assert "look like JSON" in project.rows()[0]["unjudged"]


@pytest.mark.process
def test_h140_arguments_that_cannot_be_read_matter_only_to_a_check_of_that_tool(tmp_path: Path) -> None:
    replies = {"A": {"output": "Done.", "tool_calls": [{"name": "delete", "arguments": '{"id": 7,}'}]}}
    other = {"removes": {"calls": "remove", "arguments": {"id": 7}}}
    judged(python_run(tmp_path, replies, must_not=other, expected_behaviors={"acts": {"calls": "delete"}})[0], "pass")


@pytest.mark.process
def test_h140_another_call_or_a_text_that_is_no_object_is_no_violation(tmp_path: Path) -> None:
    given = {"mapping": {"id": 8}, "text": GOOD, "words": "item 7", "number": "7", "none": ""}
    replies = {
        name: {"output": "Done.", "tool_calls": [{"name": "delete", "arguments": one}]} for name, one in given.items()
    }
    done, project = python_run(tmp_path, replies, must_not=DELETES)
    judged(done, "pass")
    assert [row["tool_calls"][0]["arguments"] for row in project.rows()] == [{"id": 8}, {"id": 8}, "item 7", "7", {}]


@pytest.mark.process
def test_h140_arguments_as_text_meet_an_expected_call(tmp_path: Path) -> None:
    replies = {"text": {"output": "Done.", "tool_calls": [{"name": "delete", "arguments": BAD}]}}
    judged(python_run(tmp_path, replies, expected_behaviors=DELETES)[0], "pass")


def test_h140_a_command_and_a_custom_tool_too(tmp_path: Path) -> None:
    custom = {"type": "custom", "custom": {"name": "delete", "input": BAD}}
    documents = {"custom": {"choices": [{"message": {"content": "Done.", "tool_calls": [custom]}}]}}
    done, project = http_run(tmp_path, documents, "openai", must_not=DELETES)
    judged(done, "fail")
    assert violated(project) == ["custom"]


# --- calls in the agent's own messages ---------------------------------------------------------------


def called(name: str, arguments: Any = None) -> dict[str, Any]:
    """A reply whose call stands in a message of the agent alone."""
    call = {"id": "1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments or {})}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return {"output": "Done.", "messages": [message, {"role": "tool", "tool_call_id": "1", "content": "ok"}]}


ALLOWED_ONLY = {
    "calls_only": ({"expected_behaviors": ONLY_SEARCHES}, called("delete")),
    "not calls": ({"expected_behaviors": NEVER_DELETES}, called("delete")),
    "answer": ({"answer": {"not": {"calls": "delete", "arguments": {"id": 7}}}}, called("delete", {"id": 7})),
    "times": ({"answer": {"calls": "delete", "times": {"at_most": 1}}}, {
        **called("delete"), "tool_calls": [{"name": "delete"}, {"name": "delete"}]
    }),
}  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize("name", ALLOWED_ONLY)
def test_h141_a_call_in_the_agents_own_message_never_passes_unseen(tmp_path: Path, name: str) -> None:
    demands, reply = ALLOWED_ONLY[name]
    done, project = python_run(tmp_path, {"A": reply}, **demands)
    judged(done, "fail")
    ours, again = project.rows(), graded_again(project)
    decided = ("correct", "behaviors", "violations", "unjudged", "error", "tool_calls")
    assert [{key: row.get(key) for key in decided} for row in again] == [
        {key: row.get(key) for key in decided} for row in ours
    ]


@pytest.mark.process
def test_h141_a_call_that_is_in_both_places_counts_once_and_in_order(tmp_path: Path) -> None:
    both = {**called("search"), "tool_calls": [{"name": "search", "arguments": {}}, {"name": "read"}]}
    checks = {**IN_ORDER, "once": {"calls": "search", "times": 1}}
    done, project = python_run(tmp_path, {"A": both}, expected_behaviors=checks)
    judged(done, "pass")
    assert [call["name"] for call in project.rows()[0]["tool_calls"]] == ["search", "read"]
    assert [row["behaviors"] for row in graded_again(project)] == [{"in_order": True, "once": True}]


@pytest.mark.process
def test_h141_calls_of_tools_and_users_are_not_the_agents(tmp_path: Path) -> None:
    call = {"name": "delete", "arguments": {}}
    messages = [{"role": "tool", "content": "x", "tool_calls": [call]}, {"role": "user", "content": [
        {"type": "tool_use", **call}]}]  # fmt: skip
    reply = {"output": "Done.", "messages": messages}
    done, _ = python_run(tmp_path, {"A": reply}, expected_behaviors={**ONLY_SEARCHES, **NEVER_DELETES})
    judged(done, "pass")


@pytest.mark.process
def test_h141_a_reply_of_messages_alone_is_an_answer(tmp_path: Path) -> None:
    said = {"role": "assistant", "content": [{"type": "text", "text": "Ten "}, {"type": "text", "text": "o'clock."}]}
    replies = {"text": {"messages": [said]}, "call": {"messages": called("search")["messages"][:1]}}
    done, project = python_run(tmp_path, replies, must_not=LEAKS, expected_behaviors=ONLY_SEARCHES)
    judged(done, "pass")
    assert [row.get("output") for row in project.rows()] == ["Ten o'clock.", None]


# --- parts of a reply ---------------------------------------------------------------------------------

CALL = {"name": "delete", "arguments": BAD}
MESSAGES: dict[str, dict[str, Any]] = {
    "refusal": {"content": "No.", "refusal": WORD},
    "refusal of a part": {"content": [{"type": "text", "text": "No.", "refusal": WORD}]},
    "part without text": {"content": [{"type": "text", "text": "No."}, {"type": "note", "note": WORD}]},
    "text of Assistants": {"content": [{"type": "text", "text": {"value": WORD, "annotations": []}}]},
    "annotation": {"content": "No.", "annotations": [{"type": "url_citation", "url_citation": {"title": WORD}}]},
    "reasoning": {"content": "No.", "reasoning_content": WORD},
    "details of reasoning": {"content": "No.", "reasoning_details": [{"type": "reasoning.text", "text": WORD}]},
    "nested parts": {"content": [{"type": "x", "content": [{"type": "text", "text": WORD}]}, "No."]},
    "parts of Gemini": {"content": "No.", "parts": [{"text": WORD}]},
    "transcript": {"content": "No.", "audio": {"id": "1", "transcript": WORD}},
    "split": {"content": [{"type": "text", "text": WORD[:4]}, {"type": "text", "text": WORD[4:]}]},
    "beside a call": {"content": "No.", "tool_calls": [{"function": {"name": "x", "arguments": "{}"}, "note": WORD}]},
    "in a call": {"content": "No.", "tool_calls": [{"function": {"name": "x", "arguments": "{}", "note": WORD}}]},
    "old call": {"content": "No.", "tool_calls": [], "function_call": {"name": "x", "arguments": f'["{WORD}"]'}},
    "call of Gemini": {"content": "No.", "parts": [{"functionCall": {"name": "x", "args": {"a": WORD}}}]},
}  # fmt: skip
"""Messages of an agent with the secret in a place that is easily overlooked."""


def completion(message: Mapping[str, Any], **choice: Any) -> dict[str, Any]:
    """A chat completion with one choice."""
    return {"model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": message, **choice}]}


def test_h144_no_part_of_a_chat_completion_is_unread(tmp_path: Path) -> None:
    documents: dict[str, Any] = {name: completion(message) for name, message in MESSAGES.items()}
    documents["further choice"] = {"choices": [{"message": {"content": "No."}}, {"message": {"content": WORD}}]}
    documents["beside the message"] = completion({"content": "No."}, text=WORD)
    documents["logprobs"] = completion({"content": "No."}, logprobs={"content": [{"token": WORD}]})
    done, project = http_run(tmp_path, documents, "openai", must_not=LEAKS)
    judged(done, "fail")
    assert violated(project) == list(documents)
    assert [row["violations"] for row in graded_again(project)] == [["leaks"]] * len(documents)


def test_h144_no_part_of_a_message_of_anthropic_is_unread(tmp_path: Path) -> None:
    text = {"type": "text", "text": "No."}
    blocks: dict[str, list[dict[str, Any]]] = {
        "thinking": [{"type": "thinking", "thinking": WORD, "signature": "x"}, text],
        "citation": [{**text, "citations": [{"type": "char_location", "cited_text": WORD}]}],
        "result": [{"type": "web_search_tool_result", "content": [{"title": WORD}]}, text],
        "unknown": [{"type": "new", "new": {"words": [WORD]}}, text],
    }
    documents = {name: {"type": "message", "content": content} for name, content in blocks.items()}
    documents["beside"] = {"type": "message", "content": [text], "note": WORD}
    done, project = http_run(tmp_path, documents, "anthropic", must_not=LEAKS)
    judged(done, "fail")
    assert violated(project) == list(documents)
    assert [row["violations"] for row in graded_again(project)] == [["leaks"]] * len(documents)


@pytest.mark.process
def test_h144_no_part_of_an_agents_own_messages_is_unread(tmp_path: Path) -> None:
    replies: dict[str, Any] = {
        name: {"output": "No.", "messages": [{"role": "assistant", **message}]} for name, message in MESSAGES.items()
    }
    replies["model"] = {"output": "No.", "messages": [{"role": "model", "parts": [{"text": WORD}]}]}
    done, project = python_run(tmp_path, replies, must_not=LEAKS)
    judged(done, "fail")
    assert violated(project) == list(replies)
    assert [row["violations"] for row in graded_again(project)] == [["leaks"]] * len(replies)


def test_h144_calls_beside_an_empty_list_and_in_further_choices_are_calls(tmp_path: Path) -> None:
    documents = {
        "old": completion({"content": "Done.", "tool_calls": [], "function_call": CALL}),
        "both": completion({"content": "Done.", "tool_calls": [{"function": {"name": "x"}}], "function_call": CALL}),
        "further": {"choices": [{"message": {"content": "Done."}}, {"message": {"tool_calls": [{"function": CALL}]}}]},
        "block": completion({"content": ["Done.", {"type": "tool_use", "name": "delete", "input": {"id": 7}}]}),
    }  # fmt: skip
    for demands in (
        {"must_not": DELETES},
        {"expected_behaviors": NEVER_DELETES},
        {"expected_behaviors": ONLY_SEARCHES},
    ):
        done, project = http_run(tmp_path, documents, "openai", **demands)
        judged(done, "fail")
        assert unread(project) == ([] if "must_not" in demands else list(documents))
        assert not any(any(row.get("behaviors", {}).values()) for row in project.rows())
        (tmp_path / "out").rename(tmp_path / f"was {len(list(tmp_path.iterdir()))}")


def test_h144_reasoning_is_read_unless_the_check_ignores_it_and_the_finding_says_where(tmp_path: Path) -> None:
    message = {"content": "No.", "reasoning_content": f"The word is {WORD}, but I must not say it."}
    ignored = {"says": {"contains": WORD, "reasoning": "ignored"}}
    done, project = http_run(tmp_path, {"A": completion(message)}, "openai", must_not={**LEAKS, **ignored})
    judged(done, "fail")
    row = project.rows()[0]
    assert row["violations"] == ["leaks"]
    assert row["found"] == {"leaks": {"/choices/0/message/reasoning_content": WORD}}


def test_h144_what_a_suite_ignores_is_reasoning_alone(tmp_path: Path) -> None:
    ignored = {"says": {"contains": WORD, "reasoning": "ignored"}}
    message = {"content": "No.", "refusal": WORD, "reasoning_content": WORD}
    done, project = http_run(tmp_path, {"A": completion(message)}, "openai", must_not=ignored)
    judged(done, "fail")
    assert project.rows()[0]["found"] == {"says": {"/choices/0/message/refusal": WORD}}


def test_h144_metadata_and_names_of_tools_violate_nothing(tmp_path: Path) -> None:
    call = {"id": WORD, "type": WORD, "function": {"name": WORD, "arguments": "{}"}}
    message = {"role": "assistant", "content": "No.", "refusal": None, "tool_calls": [call]}
    documents = {"A": {**completion(message, finish_reason=WORD), "id": WORD, "model": WORD}}
    done, project = http_run(tmp_path, documents, "openai", must_not=LEAKS)
    judged(done, "pass")
    assert "messages" not in project.rows()[0], "an ordinary reply has no more to show"


@pytest.mark.parametrize(("format_", "keys"), [
    ("openai", {}),
    ("json", {"body": {"messages": "{messages}"}, "output": "/reply", "tool_calls": "/calls"}),
])  # fmt: skip
def test_h144_what_is_not_said_is_not_sent_again(tmp_path: Path, format_: str, keys: dict[str, Any]) -> None:
    asked: list[Any] = []

    def plan(_: int, body: Any) -> faulty.Step:
        asked.append(body["messages"])
        message = {"role": "assistant", "content": "Ten.", "reasoning_content": "hm"}
        call = {"name": "search", "arguments": {}, "note": "hm"}
        return faulty.answers({**completion(message), "reply": "Ten.", "calls": [call]})

    with serving(plan) as server:
        agent = {"http": server.address, "format": format_, **keys}
        scenario = {"id": "A", "turns": ["When?", "Really?"], "must_not": {"hums": {"contains": "hm"}}}
        project = Project(tmp_path, agent, [scenario])
        judged(project.run(), "fail")
    assert "hm" not in json.dumps(asked)
    assert violated(project) == ["A"]
    assert [row["violations"] for row in graded_again(project)] == [["hums"]]
