"""Agents that are functions of this process: `highbar.run(suite, function)`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

import highbar

SCENARIO = {"id": "A", "category": "x", "input": "hello", "tags": {"locale": "en"}, "answer": {"contains": "yes"}}


class Said(StrEnum):
    YES = "yes"


class Liar(str):
    __slots__ = ()

    def strip(self, _characters: str | None = None, /) -> str:
        return "yes"

    def lower(self) -> str:
        return "yes"


def ran(folder: Path, function: Callable[..., Any], **keys: Any) -> list[dict[str, Any]]:
    """The rows of a run of one scenario."""
    suite = {"scenarios": [{**SCENARIO, **keys}]}
    return [dict(row) for row in highbar.run(suite, function, output=folder / "out").rows]


@pytest.mark.parametrize("value", [Said.YES, {"output": Said.YES}])
def test_a_text_of_a_class_of_its_own_is_a_text(tmp_path: Path, value: Any) -> None:
    (row,) = ran(tmp_path, lambda _: value)
    assert (row["output"], row["correct"]) == ("yes", True)


def test_a_text_cannot_lie_about_what_it_is(tmp_path: Path) -> None:
    (row,) = ran(tmp_path, lambda _: Liar("no"))
    assert (row["output"], row["correct"]) == ("no", False)


def test_what_is_no_plain_value_is_a_malformed_reply(tmp_path: Path) -> None:
    (row,) = ran(tmp_path, lambda _: {"output": "yes", "state": object()})
    assert row["error"].startswith("malformed reply: found a object,")
    assert row["output"] == "yes"


def test_a_call_that_is_canceled_from_within_is_an_error_of_the_agent(tmp_path: Path) -> None:
    async def gives_up(_: str) -> str:
        raise asyncio.CancelledError

    (row,) = ran(tmp_path, gives_up)
    assert row["error"].startswith("CancelledError")


def test_a_function_cannot_change_the_suite(tmp_path: Path) -> None:
    def changes(_: str, scenario: dict[str, Any]) -> str:
        scenario["tags"]["locale"] = "de"
        scenario.clear()
        return "yes"

    rows = ran(tmp_path, changes, trials=2)
    assert [row["tags"] for row in rows] == [{"locale": "en"}] * 2


def test_a_function_cannot_change_what_the_next_trial_is_asked(tmp_path: Path) -> None:
    def changes(said: list[dict[str, Any]]) -> str:
        text = str(said[0]["content"][0].pop("text", "nothing"))
        return f"yes {text}"

    messages = [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]
    suite = {"scenarios": [{"id": "A", "messages": messages, "trials": 3, "answer": {"contains": "yes"}}]}
    rows = highbar.run(suite, changes, output=tmp_path / "out").rows
    assert [row["output"] for row in rows] == ["yes hello"] * 3


def test_a_first_parameter_may_have_any_name(tmp_path: Path) -> None:
    def answer(scenario: str) -> str:
        return f"yes {scenario}"

    (row,) = ran(tmp_path, answer)
    assert row["output"] == "yes hello"


def test_a_function_without_a_signature_is_called(tmp_path: Path) -> None:
    (row,) = ran(tmp_path, dict)
    assert row["error"].startswith("ValueError")
