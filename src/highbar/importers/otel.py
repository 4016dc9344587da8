"""OpenTelemetry in OTLP JSON → rows: one per span that evaluations judge, and one per agent run that none judged.

A run that crashed gets no evaluation, so a file of evaluations alone has only the runs that went well. Where the spans
are in the file too, the others are rows as well: those of the same name as a judged one, and `invoke_agent` spans.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping

from highbar.importers import Row
from highbar.importers.naming import Trials, as_text, tags
from highbar.importers.reading.otlp import Attributes, Item, attributes, items, number
from highbar.importers.record import Record, refuse
from highbar.importers.report import Report
from highbar.importers.verdicts import Verdicts
from highbar.importers.writing import identifier

EVENT = "gen_ai.evaluation.result"
_NAMES = ("highbar.id", "test.case.name")
_DESCRIBED = ("category", "capability", "cluster")
_SUITE = "test.suite.name"
_FOUND_BY = (*_NAMES, *_DESCRIBED, *(f"highbar.{name}" for name in _DESCRIBED), _SUITE)
_READ = (
    "gen_ai.evaluation.name",
    "gen_ai.evaluation.score.value",
    "gen_ai.evaluation.score.label",
    "gen_ai.response.id",
)
_CONVENTIONS = ("gen_ai.", "error.", "event.")
_LABELS = {"pass": True, "passed": True, "correct": True, "relevant": True}
_LABELS |= dict.fromkeys(("fail", "failed", "incorrect", "not_relevant", "irrelevant"), False)
_USAGE = ("gen_ai.usage", "gen_ai.aggregated_usage")
_ERROR = (2, "STATUS_CODE_ERROR")
_LONGEST_ID = 80

Evaluation = tuple[str, float | None, str | None, bool]
"""The evaluator's name, its score, its label, and whether it broke."""


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one file. It is read twice: for the evaluations, and for the runs."""
    survey = _Survey(path, report)
    trials = Trials()
    written: set[str] = set()
    for item in items(path):
        if item.kind == "span" and (run := survey.run(item)) and run not in written:
            written.add(run)
            yield _row(run, item, survey, trials, report)
    for run in survey.evaluations:
        if run not in written:
            yield _row(run, None, survey, trials, report)
    if survey.evaluations and not survey.spans:
        report.warn("there are no spans in this file: runs that crashed before they were judged are missing")
    if not survey.evaluations and not written:
        refuse(f"there is no {EVENT} event and no invoke_agent span in this file")


class _Survey:
    """What is known of the file before the first row: the evaluations of each span, and how spans hang together."""

    def __init__(self, path: str, report: Report) -> None:
        self.evaluations: dict[str, list[Evaluation]] = {}
        self.resources: dict[str, Attributes] = {}
        self.spans = 0
        self._said: dict[str, Attributes] = {}  # what tells a scenario, on an event or a span
        self._parents: dict[str, str] = {}
        self._agents: set[str] = set()
        self._names: dict[str, str] = {}
        responses: dict[str, str] = {}
        for item in items(path):
            if item.kind == "span":
                self._add_span(item, responses, report)
            elif _event_name(item) == EVENT:
                self._add(_judged_by(item), item.attributes, item.resource, report)
            else:
                report.records += 1
                report.leave_out("log records that are no evaluation")
        # An evaluation that names the response it judges belongs to the span that has that response.
        for response, span in responses.items():
            found = self.evaluations.pop(f"response {response}", None)
            if found is not None:
                self.evaluations.setdefault(span, []).extend(found)
                self._said.setdefault(span, {}).update(self._said.pop(f"response {response}", {}))
        self._judged_names = {self._names[judged] for judged in self.evaluations if judged in self._names}
        self._around_judged = {above for judged in self.evaluations for above in self.above(judged)}

    def _add_span(self, item: Item, responses: dict[str, str], report: Report) -> None:
        key, parent = _key(item.record, "spanId"), _key(item.record, "parentSpanId")
        if key is None:
            refuse(f"{item.record.place}: found no traceId and spanId, wanted both")
        self.spans += 1
        if item.record.text("name") == EVENT:
            self._add(parent or key, item.attributes, item.resource, report)
            return
        for event in item.record.records("events"):
            if event.text("name") == EVENT:
                self._add(key, attributes(event), item.resource, report)
        self._names[key] = sys.intern(item.record.text("name") or "")
        if parent is not None:
            self._parents[key] = parent
        if item.attributes.get("gen_ai.operation.name") == "invoke_agent":
            self._agents.add(key)
        response = item.attributes.get("gen_ai.response.id")
        if isinstance(response, str):
            responses[response] = key
        told = {name: item.attributes[name] for name in _FOUND_BY if name in item.attributes}
        if told:
            self._said[key] = {**told, **self._said.get(key, {})}

    def _add(self, judged: str, found: Attributes, resource: Attributes, report: Report) -> None:
        report.records += 1
        known = self.evaluations.setdefault(judged, [])
        known.append(_evaluation(found))
        self.resources[judged] = resource
        report.unread.update(name for name in found if name.startswith("gen_ai.") and name not in _READ)
        own = {name: value for name, value in found.items() if not name.startswith(_CONVENTIONS)}
        if own:
            self._said[judged] = {**own, **self._said.get(judged, {})}

    def above(self, key: str) -> Iterator[str]:
        """The spans around a span, the nearest first."""
        seen = {key}
        while (parent := self._parents.get(key)) is not None and parent not in seen:
            seen.add(parent)
            yield parent
            key = parent

    def run(self, item: Item) -> str | None:
        """The key of a span that is a row: judged, or a run like those that are and apart from them."""
        key = _key(item.record, "spanId") or ""
        if key in self.evaluations:
            return key
        name = item.record.text("name")
        if name == EVENT or not (key in self._agents or name in self._judged_names):
            return None
        inside = any(above in self._agents or above in self.evaluations for above in self.above(key))
        return None if inside or key in self._around_judged else key

    def describe(self, key: str) -> Attributes:
        """What the evaluations, the span and the spans around it say of the scenario; the nearest word counts."""
        found: Attributes = {}
        for place in (key, *self.above(key)):
            found = {**self._said.get(place, {}), **found}
        return found


def _event_name(item: Item) -> object:
    return item.record.text("eventName") or item.attributes.get("event.name")


def _key(record: Record, span: str) -> str | None:
    trace, own = record.text("traceId"), record.text(span)
    return f"{trace}/{own}".lower() if trace and own and own.strip("0") else None


def _judged_by(item: Item) -> str:
    """What a log event judges: the span it was emitted in, or the response that it names."""
    key = _key(item.record, "spanId")
    if key is not None:
        return key
    response = item.attributes.get("gen_ai.response.id")
    if not isinstance(response, str) or not response:
        refuse(
            f"{item.record.place}: this evaluation has no traceId and spanId and no gen_ai.response.id,"
            " so what it judges cannot be told",
            hint="emit it in the context of the span that it judges",
        )
    return f"response {response}"


def _evaluation(found: Attributes) -> Evaluation:
    name, label = found.get("gen_ai.evaluation.name"), found.get("gen_ai.evaluation.score.label")
    score = number(found.get("gen_ai.evaluation.score.value"))
    text = label if isinstance(label, str) else None
    broken = "error.type" in found or (score is None and text is None)
    return name if isinstance(name, str) and name else "evaluation", score, text, broken


def _row(run: str, item: Item | None, survey: _Survey, trials: Trials, report: Report) -> Row:
    evaluations = survey.evaluations.get(run, [])
    if evaluations:
        report.merged += len(evaluations) - 1
    else:
        report.records += 1
    verdicts = _verdicts(evaluations)
    found = survey.describe(run)
    error = _error(item) if item else None
    if error is None or evaluations:
        verdicts.count(report)
    resource = item.resource if item else survey.resources[run]
    scenario = _scenario(run, found, item, report)
    # Who emits an evaluation may be another service; only the span is the agent's own.
    version = item.resource.get("service.version") if item else None
    return {
        "id": scenario,
        "trial": trials.number(scenario),
        **{name: _text(found.get(f"highbar.{name}", found.get(name))) for name in _DESCRIBED},
        **verdicts.columns(),
        "error": error,
        **(_of_span(item) if item else {}),
        "suite": _text(found.get(_SUITE)),
        "agent_version": version if isinstance(version, str) else None,
        "tags": tags({"service": resource.get("service.name"), **found}, skip=_FOUND_BY),
    }


def _verdicts(evaluations: list[Evaluation]) -> Verdicts:
    verdicts = Verdicts()
    for name, score, label, broken in evaluations:
        if broken:
            verdicts.add_broken(name)
            continue
        verdict = _LABELS.get(label.strip().lower().replace(" ", "_")) if label else None
        verdicts.add(name, verdict=verdict, score=score)
        if label and verdict is None:
            verdicts.add_score(name if score is None else f"{name} label", label)
    return verdicts


def _scenario(run: str, found: Attributes, item: Item | None, report: Report) -> str:
    """What names the scenario: an attribute, else what the agent was asked, else the span, new in every run."""
    for name in _NAMES:
        if isinstance(found.get(name), str) and found[name]:
            return identifier(str(found[name]))
    asked = _asked(item.attributes) if item else None
    if asked and len(asked) <= _LONGEST_ID:
        return identifier(asked)
    if asked:
        mark = hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        return identifier(f"{asked[: _LONGEST_ID - 10]}…#{mark}")
    report.warn(f"scenarios without the attribute {_NAMES[1]} are called by their span, another name in every run")
    return identifier(run)


def _of_span(item: Item) -> Row:
    start, end = (_nanoseconds(item.record, key) for key in ("startTimeUnixNano", "endTimeUnixNano"))
    if start is not None and end is not None and end < start:
        refuse(f"{item.record.place}: the span ends before it starts: {start}, {end}")
    return {
        "latency_ms": None if start is None or end is None else (end - start) / 1_000_000,
        "tokens_used": _tokens(item.attributes),
        "input": _asked(item.attributes),
        "output": _answered(item.attributes),
    }


def _nanoseconds(span: Record, key: str) -> int | None:
    value = span.value(key)
    if isinstance(value, str) and value.isdecimal():
        return int(value[:20]) or None
    return value or None if isinstance(value, int) and not isinstance(value, bool) else None


def _tokens(found: Attributes) -> int | None:
    for usage in _USAGE:
        counts = [found.get(f"{usage}.{side}_tokens") for side in ("input", "output")]
        whole = [count for count in counts if isinstance(count, int) and not isinstance(count, bool)]
        if len(whole) == len(counts):
            return sum(whole)
    return None


def _error(item: Item) -> str | None:
    status = item.record.record("status") or Record({}, item.record.place)
    if status.value("code") not in _ERROR:
        return None
    events = (attributes(event) for event in item.record.records("events") if event.text("name") == "exception")
    told = [_text(event.get("exception.message")) for event in events]
    return (
        status.text("message") or next(filter(None, told), None) or _text(item.attributes.get("error.type")) or "error"
    )


def _asked(found: Attributes) -> str | None:
    """The first thing that the user said."""
    messages = _messages(found, "gen_ai.input.messages") or _messages(found, "pydantic_ai.all_messages")
    return next((_said(message) for message in messages if message.get("role") == "user"), None)


def _answered(found: Attributes) -> str | None:
    """The last thing that the agent said."""
    messages = _messages(found, "gen_ai.output.messages") or _messages(found, "pydantic_ai.all_messages")
    last = next((_said(message) for message in reversed(messages) if message.get("role") == "assistant"), None)
    return last or _text(found.get("final_result"))


def _messages(found: Attributes, key: str) -> list[Mapping[str, object]]:
    """Messages as the conventions have them, JSON in a text; content is optional there, so what is odd is not read."""
    value = found.get(key)
    try:
        decoded = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return []
    return [message for message in decoded if isinstance(message, dict)] if isinstance(decoded, list) else []


def _said(message: Mapping[str, object]) -> str | None:
    parts = message.get("parts")
    if not isinstance(parts, list):
        return as_text(message.get("content")) or None
    texts = [part.get("content") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str)) or None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
