"""OpenTelemetry in OTLP JSON → rows: one per span that evaluations judge, and one per agent run without an evaluation.

A run that crashed has no evaluation, so a file that has only evaluations lacks the crashed runs. If the file has spans
too, runs without an evaluation are rows as well: spans with the name of a judged span, and `invoke_agent` spans.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from highbar.columns import SCENARIO_TEXTS
from highbar.importers import Row
from highbar.importers.limits import MEMORY, MOST_NAMED
from highbar.importers.naming import Trials, question_id
from highbar.importers.otel_spans import dropped_count, span_calls, span_columns, span_error, span_question, text_of
from highbar.importers.reading.otlp import Attributes, Interest, Item, scan, span_key
from highbar.importers.reading.otlp_chosen import chosen_spans
from highbar.importers.reading.otlp_numbers import number_value
from highbar.importers.record import refuse
from highbar.importers.report import Report
from highbar.importers.scorers import Scorers
from highbar.importers.verdicts import Verdicts
from highbar.language.phrases import some
from highbar.language.tool_names import flat_tags, scenario_id

EVENT = "gen_ai.evaluation.result"
_NAMES = ("highbar.id", "test.case.name")
_SUITE = "test.suite.name"
_FOUND_BY = frozenset((*_NAMES, *SCENARIO_TEXTS, *(f"highbar.{name}" for name in SCENARIO_TEXTS), _SUITE))
_OPERATION = "gen_ai.operation.name"
_RESPONSE = "gen_ai.response.id"
_DROPPED = "droppedAttributesCount"
_AGENT_SPAN = "invoke_agent"
_EVALUATION_KEYS = frozenset(
    {"gen_ai.evaluation.name", "gen_ai.evaluation.score.value", "gen_ai.evaluation.score.label"}
)
_INTEREST = Interest(_FOUND_BY | _EVALUATION_KEYS, _OPERATION, _AGENT_SPAN, _RESPONSE)
_ABOUT = "gen_ai.evaluation"
_READ = _EVALUATION_KEYS | {_RESPONSE}
_KNOWN_PREFIX = ("gen_ai.", "error.", "event.")
_LABELS = {"pass": True, "passed": True, "correct": True, "relevant": True}
_LABELS |= dict.fromkeys(("fail", "failed", "incorrect", "not_relevant", "irrelevant"), False)
_TWICE = "a collector that tried again may have written it twice: keep one"
_TOGETHER = (
    "the evaluations and the spans that they judge must be in one file: cat logs.jsonl traces.jsonl > run.jsonl;"
    " without evaluations, highbar grade FILE --suite SUITE judges the answers"
)


class Evaluation(NamedTuple):
    """The result of one evaluator for one run, or the error with which it broke."""

    name: str
    score: float | None
    label: str | None
    failure: str | None

    @property
    def verdict(self) -> bool | None:
        """The verdict of the label; None if the label is not in the conventions."""
        return _verdict(self.label) if self.label else None


@lru_cache(maxsize=1024)
def _verdict(label: str) -> bool | None:
    return _LABELS.get(label.strip().lower().replace(" ", "_"))


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one file. Reads it twice: for the evaluations and the tree of spans, then for the runs.

    Reads it once if all runs fit into memory and the first pass recognized them.
    """
    survey = _OtelSurvey(path, report)
    trials = Trials()
    for run, item in survey.runs_in_memory() or chosen_spans(path, survey.runs):
        yield _row(run, item, survey, trials, report)
    alone = [run for run in survey.evaluations if run not in survey.runs]
    for run in alone:
        yield _row(run, None, survey, trials, report)
    if not survey.spans:
        message = "there are no spans in this file: runs that crashed before they were judged are missing"
        report.warn(message, urgent=True)
    elif alone:
        runs = "1 run that was judged has" if len(alone) == 1 else f"{len(alone)} runs that were judged have"
        report.warn(f"{runs} no span in this file: if it crashed, and how long it took, is not known")


class _OtelSurvey:
    """What must be known before the first row: who judges, the evaluations of each span, and the runs."""

    def __init__(self, path: str, report: Report) -> None:
        self.scorers = Scorers("otel", report)
        self.evaluations: dict[str, list[Evaluation]] = {}
        self.resources: dict[str, Attributes] = {}
        self._attributes: dict[str, Attributes] = {}  # attributes that describe the scenario, of a span and its events
        self._parents: dict[str, str] = {}
        self._agents: dict[str, str | None] = {}  # the error of each `invoke_agent` span
        self._names: dict[str, str] = {}
        self._cut: Counter[str] = Counter()  # dropped attributes of evaluations, by what they judge
        self._dropped: Counter[str] = Counter()  # dropped events, by span
        self._on_spans = False  # whether evaluations are recorded as events of spans
        self._unread: Counter[str] = Counter()  # records that look like evaluations and are not read, by name
        self._items: dict[str, Item] = {}  # spans that may be runs
        self._room = MEMORY
        self._described: dict[str, Attributes] = {}  # by run, a cache that is filled once all spans are known
        responses: dict[str, str] = {}
        self._read(path, responses, report)
        # Refuses a span whose name is almost that of an evaluation: it would be taken for a part of the run.
        for name in set(self._names.values()):
            _is_event(name, "a span")
        # An evaluation of a response belongs to the span with that response.
        for response, span in responses.items():
            found = self.evaluations.pop(f"response {response}", None)
            if found is not None:
                self.evaluations.setdefault(span, []).extend(found)
                self._attributes.setdefault(span, {}).update(self._attributes.pop(f"response {response}", {}))
                self._cut[span] += self._cut.pop(f"response {response}", 0)
        self.runs = frozenset(self._runs())
        self._warn_of_unread(report)
        if not self.evaluations and not self.runs:
            refuse("results.empty", f"there is no {EVENT} event and no invoke_agent span in this file")
        self._settle_judges(report)

    def runs_in_memory(self) -> list[tuple[str, Item]] | None:
        """The runs in the order of the file; None if not all are in memory."""
        if not self.runs <= self._items.keys():
            return None
        return [(key, item) for key, item in self._items.items() if key in self.runs]

    def _warn_of_unread(self, report: Report) -> None:
        """Warn of records that look like evaluations but are not. Raises InputError if there are no real ones."""
        if not self._unread:
            return
        number_of = self._unread.total()
        names = some([repr(name) for name in sorted(self._unread)], MOST_NAMED)
        one, none, says = "records have", "are no", "they say"
        if number_of == 1:
            one, none, says = "record has", "is no", "it says"
        message = f"{number_of} {one} {_ABOUT} attributes or names and {none} {EVENT} event ({names})"
        if not self.evaluations:
            refuse(
                "judge.undeclared",
                f"nothing in this file declares who judges: {message}",
                hint=f"emit evaluations as {EVENT} events",
            )
        report.warn(f"{message}: what {says} is not read", urgent=True)

    def _read(self, path: str, responses: dict[str, str], report: Report) -> None:
        names, parents = self._names, self._parents
        for key, parent, name, item in scan(path, _INTEREST):
            if key is not None:
                if key in names:
                    place = item.place if isinstance(item, Item) else name
                    refuse("import.duplicate", f"{place}: the span {key} occurs twice in this file", hint=_TWICE)
                names[key] = sys.intern(name)
                if parent is not None:
                    parents[key] = parent
                if isinstance(item, str):
                    responses[item] = key
                elif item is not None:
                    self._add_span(key, item, responses, report)
            elif isinstance(item, Item):
                self._add_log(item, report)

    def _add_log(self, item: Item, report: Report) -> None:
        if _is_evaluation(item):
            self._add(_target(item), item.attributes, item.resource, report)
            self._cut[_target(item)] += dropped_count(item.values.get(_DROPPED))
            return
        report.records += 1
        report.leave_out("log records that are no evaluation")
        name = item.text("eventName") or text_of(item.get("event.name")) or "no name"
        if any(word.startswith(_ABOUT) for word in (name, *item.attributes)):
            self._unread[name] += 1

    def _settle_judges(self, report: Report) -> None:
        """Decide who judges: evaluators whose labels are verdicts by the conventions. The others give scores."""
        if not self.evaluations and not report.answers_only:
            message = f"nothing in this file declares who judges: it has spans and no {EVENT} event"
            refuse("judge.undeclared", message, hint=_TOGETHER)
        silent: dict[str, None] = {}
        for run, evaluations in self.evaluations.items():
            found = self.describe(run)
            scenario = next((str(found[name]) for name in _NAMES if text_of(found.get(name))), run)
            for one in evaluations:
                self.scorers.expect(scenario, one.name)
                if one.score is None and one.label is None:
                    silent[one.name] = None
                else:
                    kind = "it gives scores" if one.label is None else "its labels are not verdicts"
                    self.scorers.declare_by_value(one.name, None if one.verdict is not None else kind)
        for name in silent:
            self.scorers.declare_without_value(name)
        self.scorers.settle()

    def _add_span(self, key: str, item: Item, responses: dict[str, str], report: Report) -> None:
        """Add a span: an evaluation, or one that may be a run, have a response, or describe its scenario."""
        if self._names[key] == EVENT:
            # An evaluation that is a span of its own judges its parent, and is not a part of the run.
            judged = self._parents.pop(key, key)
            self._add(judged, item.attributes, item.resource, report)
            self._cut[judged] += dropped_count(item.values.get(_DROPPED))
            return
        judgments = item.events(_is_event)
        self._on_spans = self._on_spans or bool(judgments)
        self._dropped[key] += sum(map(dropped_count, item.dropped(EVENT)))
        for event in judgments:
            self._add(key, event, item.resource, report)
        self._unread.update(item.events_about(_ABOUT, EVENT))
        if item.any_of(_EVALUATION_KEYS):
            self._unread[self._names[key]] += 1
        is_agent = item.get(_OPERATION) == _AGENT_SPAN
        if is_agent:
            self._agents[key] = span_error(item)
        if (is_agent or judgments) and self._room > 0:
            # A span of unknown size uses up the rest, so that memory stays bounded; the runs are then read again.
            self._room -= item.size or self._room
            self._items[key] = item
        response = item.get(_RESPONSE)
        if isinstance(response, str):
            responses[response] = key
        if item.any_of(_FOUND_BY):
            self._attributes[key] = {**item.some(_FOUND_BY), **self._attributes.get(key, {})}

    def _add(self, judged: str, found: Attributes, resource: Attributes, report: Report) -> None:
        report.records += 1
        self.evaluations.setdefault(judged, []).append(_evaluation(found))
        self.resources[judged] = resource
        report.unread.update(name for name in found if name.startswith("gen_ai.") and name not in _READ)
        own = {name: value for name, value in found.items() if not name.startswith(_KNOWN_PREFIX)}
        if own:
            self._attributes[judged] = {**own, **self._attributes.get(judged, {})}

    @property
    def spans(self) -> int:
        """The number of spans in the file."""
        return len(self._names)

    def dropped(self, key: str) -> int:
        """How many attributes and events were dropped that may have been an evaluation or part of one."""
        return self._cut[key] + (self._dropped[key] if self._on_spans else 0)

    def above(self, key: str) -> Sequence[str]:
        """The spans around a span, the nearest first; ends at a cycle."""
        parent = self._parents.get(key)
        if parent is None:
            return ()
        found: dict[str, None] = {}
        while parent is not None and parent not in found and parent != key:
            found[parent] = None
            parent = self._parents.get(parent)
        return tuple(found)

    def _runs(self) -> Iterator[str]:
        """The spans that become rows: judged ones, and agent spans or namesakes of judged ones outside other runs."""
        judged_names = {self._names[judged] for judged in self.evaluations if judged in self._names} - {EVENT}
        around_judged = {above for judged in self.evaluations for above in self.above(judged)}
        for key, name in self._names.items():
            if key in self.evaluations:
                yield key
            elif key in around_judged or not (key in self._agents or name in judged_names):
                continue
            elif not any(above in self._agents or above in self.evaluations for above in self.above(key)):
                yield key

    def error_around(self, key: str) -> str | None:
        """The error of an agent span around this span: if the agent crashed, so did its parts. None without one."""
        return next((error for above in self.above(key) if (error := self._agents.get(above))), None)

    def describe(self, key: str) -> Attributes:
        """The attributes of a span, its evaluations and the spans around it; of several values the nearest counts."""
        known = self._described.get(key)
        if known is not None:
            return known
        found = self._attributes.get(key, {})
        for place in self.above(key):
            if outer := self._attributes.get(place):
                found = {**outer, **found}
        self._described[key] = found
        return found


def _is_evaluation(item: Item) -> bool:
    """Whether a log record is an evaluation, by its name or, if it has no name, by its attributes."""
    name = item.text("eventName") or item.get("event.name")
    return _is_event(name, item.place) or (not name and item.any_of(_EVALUATION_KEYS))


def _is_event(name: object, place: str) -> bool:
    """Whether this is the name of an evaluation. Refuses a name that differs only in case or spaces."""
    if name != EVENT and isinstance(name, str) and name.strip().lower() == EVENT:
        refuse(
            "import.wrong-value",
            f"{place}: found the name {name!r}, wanted {EVENT}",
            hint="OpenTelemetry has names in small letters",
        )
    return name == EVENT


def _target(item: Item) -> str:
    """What a log event judges: the span in which it was emitted, or else the response that it names."""
    key = span_key(item.text("traceId"), item.text("spanId"))
    if key is not None:
        return key
    response = item.get(_RESPONSE)
    if not isinstance(response, str) or not response:
        refuse(
            "import.missing-value",
            f"{item.place}: this evaluation has no traceId and spanId and no gen_ai.response.id,"
            " so what it judges cannot be told",
            hint="emit it in the context of the span that it judges",
        )
    return f"response {response}"


def _evaluation(found: Attributes) -> Evaluation:
    name, label = found.get("gen_ai.evaluation.name"), found.get("gen_ai.evaluation.score.label")
    failure = found.get("error.type") if "error.type" in found else None
    return Evaluation(
        sys.intern(name) if isinstance(name, str) and name else "evaluation",
        number_value(found.get("gen_ai.evaluation.score.value")),
        label if isinstance(label, str) else None,
        None if "error.type" not in found else text_of(failure) or "error",
    )


def _row(run: str, item: Item | None, survey: _OtelSurvey, trials: Trials, report: Report) -> Row:
    evaluations = survey.evaluations.get(run, [])
    if evaluations:
        report.merged += len(evaluations) - 1
    else:
        report.records += 1
    found = survey.describe(run)
    scenario = _scenario(run, found, item, report)
    error = (span_error(item) if item else None) or survey.error_around(run)
    verdicts = _verdicts(evaluations, survey.scorers)
    if error is None:
        survey.scorers.complete(verdicts, scenario)
        if dropped := survey.dropped(run):
            verdicts.add_broken("OpenTelemetry", _dropped_reason(dropped))
    if error is None or evaluations:
        verdicts.count(report)
    resource = item.resource if item else survey.resources[run]
    # Another service may emit the evaluation; only the span is certainly the agent's.
    version = item.resource.get("service.version") if item else None
    return {
        "id": scenario,
        "trial": trials.number(scenario),
        **{name: text_of(found.get(f"highbar.{name}", found.get(name))) for name in SCENARIO_TEXTS},
        **verdicts.columns(),
        "error": error,
        **(span_columns(item) if item else {}),
        **(span_calls(item) if item and report.calls else {}),
        "suite": text_of(found.get(_SUITE)),
        "agent_version": version if isinstance(version, str) else None,
        "tags": flat_tags({"service": resource.get("service.name"), **found}, skip=_FOUND_BY),
    }


def _dropped_reason(dropped: int) -> str:
    lost = "1 event or attribute was" if dropped == 1 else f"{dropped} events or attributes were"
    return f"{lost} dropped, which may say otherwise"


def _verdicts(evaluations: list[Evaluation], scorers: Scorers) -> Verdicts:
    verdicts = Verdicts()
    for one in evaluations:
        if one.failure or (one.score is None and one.label is None):
            scorers.add_broken(verdicts, one.name, one.failure or "gave no verdict")
            continue
        why = "gave no verdict" if one.label is None else f"said {one.label!r}, which is not a verdict"
        scorers.add(verdicts, one.name, verdict=one.verdict, score=one.score, why=why)
        if one.label and one.verdict is None:
            verdicts.add_score(one.name if one.score is None else f"{one.name} label", one.label)
    return verdicts


def _scenario(run: str, found: Attributes, item: Item | None, report: Report) -> str:
    """The id: an attribute, else the question, else the key of the span, which differs in every run."""
    for name in _NAMES:
        if isinstance(found.get(name), str) and found[name]:
            return scenario_id(str(found[name]))
    question = span_question(item) if item else None
    if question:
        return question_id(question)
    report.warn(f"scenarios without the attribute {_NAMES[1]} are called by their span, another name in every run")
    return scenario_id(run)
