"""One sample of an Inspect AI log → a row and its scores."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any

from highbar.columns import SCENARIO_TEXTS
from highbar.importers import Row
from highbar.importers.limits import LONGEST_TAG
from highbar.importers.naming import short_label
from highbar.importers.reading import json
from highbar.importers.reading.json import Bytes
from highbar.importers.record import Record, refuse
from highbar.importers.report import Report
from highbar.importers.tool_calls import calls_of_messages, chat_messages
from highbar.language.tool_names import flat_tags

_REFERENCE = "attachment://"
_EVENT = ("event", "role", "timestamp", "completed", "working_start", "working_time")
_NO_JUDGE_TIME = "there are no events that say how long the judge took: latency_ms counts its time too"


class EvalSample:
    """One sample of a log; its parts are decoded when they are used."""

    def __init__(self, parts: dict[str, Bytes], report: Report) -> None:
        self._parts = parts
        self._report = report
        id_ = self._value("id")
        if isinstance(id_, bool) or not isinstance(id_, str | int) or id_ == "":
            refuse("import.wrong-value", f"sample {report.records}: id: found {id_!r}, wanted text or a whole number")
        top = Record({"epoch": self._value("epoch")}, f"sample {id_}")
        self.key = (str(id_), top.whole("epoch") or 1)
        self.place = f"sample {id_}, epoch {self.key[1]}"
        self._answer: str | None = None
        self.invalidated = not json.is_null(parts.get("invalidation"))  # by somebody, after the run
        self.crashed = not json.is_null(parts.get("error"))
        self.halted = not json.is_null(parts.get("limit"))  # in a summary the limit is text, not an object

    def _value(self, key: str) -> Any:
        text = self._parts.get(key)
        return None if text is None else json.decode_value(text)

    def _record(self, key: str) -> Record:
        value = self._value(key)
        return Record({} if value is None else value, f"{self.place}: {key}")

    def scores(self) -> Iterator[tuple[str, object]]:
        """Each score with the name of its scorer; each of several values is a score of its own, `scorer.value`."""
        text = self._parts.get("scores")
        if json.is_null(text):
            text = b'{"score":%b}' % bytes(self._parts["score"]) if "score" in self._parts else b"{}"
        for name, score in json.members(text or b"{}").items():
            parts = json.members(score)
            value = json.decode_value(parts.get("value", b"null"))
            self._answer = self._answer or short_label(json.decode_value(parts.get("answer", b"null")))
            if len(bytes(parts.get("history", b"[]")).strip()) > 2:
                self._report.warn("scores were edited after the run; the edited values count")
            if isinstance(value, dict):
                yield from ((f"{name}.{key}", part) for key, part in value.items())
            else:
                yield name, value

    @property
    def limit(self) -> str | None:
        """The kind of limit that halted the sample."""
        return (self._record("limit").text("type") or "unknown") if self.halted else None

    def row(self, judges: Collection[str]) -> Row:
        """The row without its scores. Call `scores` first: one of them may have the answer.

        `judges` are the roles of models whose time and tokens are not the agent's.
        """
        metadata = self._metadata()
        usage = self._usage("model_usage")
        by_judges = [one for role, one in self._usage("role_usage").items() if role in judges]
        return {
            "id": self.key[0],
            "trial": self.key[1],
            "error": self._error(),
            "input": _question(self._value("input")),
            "output": self._output(),
            "expected": short_label(self._value("target")),
            "predicted": self._answer,
            "latency_ms": self._latency(judges),
            "tokens_used": self._without_judges("total_tokens", usage.values(), by_judges),
            "cost_usd": self._without_judges("total_cost", usage.values(), by_judges),
            **{name: metadata[name] for name in SCENARIO_TEXTS if isinstance(metadata.get(name), str)},
            "tags": {**(flat_tags(metadata, SCENARIO_TEXTS) or {}), **self._run_tags()},
            **(self._conversation() if self._report.calls else {}),
        }

    def _conversation(self) -> Row:
        """The messages and their calls. Inspect stores long texts as attachments, with references in their place."""
        messages = self._value("messages")
        if not isinstance(messages, list) or not messages:
            return {}
        attachments = self._value("attachments")
        whole = _with_attachments(messages, attachments if isinstance(attachments, dict) else {})
        conversation = chat_messages([message for message in whole if isinstance(message, dict)], _text_of)
        return {"messages": conversation, "tool_calls": calls_of_messages(conversation)}

    def _usage(self, key: str) -> dict[str, Record]:
        place = f"{self.place}: {key}"
        return {str(name): Record(one, place) for name, one in self._record(key).values.items()}

    def _without_judges(self, key: str, models: Collection[Record], judges: Collection[Record]) -> float | None:
        """The sum over all models minus that of the judging roles; None if there are no counts."""
        read = Record.whole if key == "total_tokens" else Record.number
        counts = [count for one in models if (count := read(one, key)) is not None]
        if not counts:
            return None
        rest = sum(counts) - sum(read(one, key) or 0 for one in judges)
        if rest < 0:
            refuse(
                "import.contradiction", f"{self.place}: role_usage: the judges used more {key} than all models together"
            )
        return rest

    def _latency(self, judges: Collection[str]) -> float | None:
        """The time that the agent worked, without waiting for rate limits; the whole time if the log has only that."""
        times = Record({key: self._value(key) for key in ("working_time", "total_time")}, self.place)
        worked, total = times.number("working_time"), times.number("total_time")
        seconds = total if worked is None else worked
        if seconds is None or not judges:
            return None if seconds is None else seconds * 1000
        return max(0.0, seconds - self._judging_seconds(judges, working=worked is not None)) * 1000

    def _judging_seconds(self, judges: Collection[str], *, working: bool) -> float:
        """How many seconds the judging models worked; overlapping times count once."""
        events = self._parts.get("events")
        if events is None or json.is_null(events):
            self._report.warn(_NO_JUDGE_TIME)
            return 0
        found = [_span(json.members(text), judges, working=working) for text in json.items(events)]
        total, reached = 0.0, float("-inf")
        for start, end in sorted(span for span in found if span):
            total += max(0.0, end - max(start, reached))
            reached = max(reached, end)
        return total

    def _metadata(self) -> dict[str, object]:
        """The metadata that can become tags: short and not nested."""
        text = self._parts.get("metadata")
        if text is None or json.is_null(text):
            return {}
        members = json.members(text)
        short = {key: json.decode_value(value) for key, value in members.items() if len(value) <= LONGEST_TAG}
        flat = {key: value for key, value in short.items() if not isinstance(value, dict | list)}
        if len(flat) < len(members):
            self._report.unread["metadata that is long or nested"] += len(members) - len(flat)
        return flat

    def _run_tags(self) -> dict[str, str]:
        """The limit that halted the sample, and the number of retries after an error."""
        retries = self._value("error_retries")
        if retries:
            self._report.warn("samples were run again after an error; only their last attempt counts")
        found = {"limit": self.limit, "retries": str(len(retries)) if isinstance(retries, list) and retries else None}
        return {key: value for key, value in found.items() if value}

    def _error(self) -> str | None:
        """Why the sample has no valid result: it was invalidated, crashed, or met a limit; None if it has one."""
        if self.invalidated:
            return f"invalidated: {self._record('invalidation').text('reason') or 'no reason given'}"
        if self.crashed:
            error = self._value("error")
            message = error if isinstance(error, str) else Record(error, f"{self.place}: error").text("message")
            return message or "an error without a message"
        if self.limit:
            return f"stopped at its {self.limit} limit: {self._record('limit').text('reason') or 'no reason given'}"
        return None

    def _output(self) -> str | None:
        text = self._parts.get("output")
        if text is None or json.is_null(text):
            return None
        output = json.members(text)
        if "completion" in output:
            return _text_of(json.decode_value(output["completion"]))
        choices = json.decode_value(output.get("choices", b"[]"))
        first = choices[0] if isinstance(choices, list) and choices else None
        message = first.get("message") if isinstance(first, dict) else None
        return _text_of(message.get("content")) if isinstance(message, dict) else None


def _span(event: dict[str, Bytes], judges: Collection[str], *, working: bool) -> tuple[float, float] | None:
    """The start and end of a call to a judging model, if `working` in working time; None for any other event."""
    values = {key: json.decode_value(event[key]) for key in _EVENT if key in event}
    role, start, end = values.get("role"), values.get("timestamp"), values.get("completed")
    if values.get("event") != "model" or not isinstance(role, str) or role not in judges:
        return None
    began, took = values.get("working_start"), values.get("working_time")
    if working and isinstance(began, float | int) and isinstance(took, float | int):
        return began, began + took
    if not isinstance(start, str) or not isinstance(end, str):
        return None
    try:
        started, ended = datetime.fromisoformat(start), datetime.fromisoformat(end)
        if (started.tzinfo is None) != (ended.tzinfo is None):  # nobody knows how long it took
            return None
        return started.timestamp(), ended.timestamp()
    except (ValueError, OverflowError):
        return None


def _question(value: object) -> str | None:
    """The input as text; for a conversation, the last message of the user."""
    if not isinstance(value, list):
        return _text_of(value)
    messages = [message for message in value if isinstance(message, dict) and message.get("role") == "user"]
    return _text_of(messages[-1].get("content")) if messages else None


def _with_attachments(value: Any, attachments: dict[str, Any]) -> Any:
    """The value with every reference replaced by the text of its attachment."""
    if isinstance(value, str):
        return attachments.get(value.removeprefix(_REFERENCE), value) if value.startswith(_REFERENCE) else value
    if isinstance(value, dict):
        return {key: _with_attachments(inner, attachments) for key, inner in value.items()}
    return [_with_attachments(inner, attachments) for inner in value] if isinstance(value, list) else value


def _text_of(content: object) -> str | None:
    """The text of a message, which may be a list of parts."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))
