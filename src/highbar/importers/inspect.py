"""Inspect AI logs (`.eval` archives and `.json`, from 2024's schema on) → rows: one per sample and epoch.

A scorer *judges* where the task declares `accuracy` for it, or where it gives grades (C, I, P, N) or truth values;
where none does, those do whose numbers are only ever 0 and 1. A sample is correct when all who judge give it a 1: one
that has no number from them is not. Every score is a column too. What crashed is an error, and so is an epoch that
never ran: the log's own metrics leave these out. A log that lacks whole samples of its plan is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from highbar.importers import Row
from highbar.importers.aside import Aside
from highbar.importers.inspect_scores import Part, Scorer, declared_metrics, plain
from highbar.importers.naming import score_column, tags
from highbar.importers.reading import json
from highbar.importers.reading import zip as archives
from highbar.importers.reading.json import Bytes
from highbar.importers.record import Record, refuse
from highbar.importers.report import Report
from highbar.importers.writing import identifier

NEWEST = 2
"""The newest version of the log format that is known."""

_HEADER = ("version", "status", "eval", "results", "error")
_WHOLE_SAMPLE = re.compile(r"^samples/.+_epoch_\d+\.json$", re.DOTALL)
_CHUNKED_SAMPLE = re.compile(r"^samples/.+_epoch_\d+/sample\.json$", re.DOTALL)
_FROM_METADATA = ("category", "capability", "cluster")
_LONGEST_TAG = 200


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one log. They are kept aside until the last sample was seen: only then is it known who judges."""
    with Aside() as aside, Path(path).open("rb") as stream:
        log = _Log(report, aside)
        start = stream.read(64)
        if start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") or start.startswith(json.UTF_16):
            stream.seek(0)
            _read_document(stream, log)
        else:
            _read_archive(path, log)
        header = _Header(log.header, report)
        header.refuse_unfinished(len(log.seen), {id_ for id_, _ in log.seen})
        yield from log.rows(header)
        yield from log.missing(header)


def _read_document(stream: IO[bytes], log: _Log) -> None:
    for place, text in json.parts(stream, {"samples"}):
        if place == "samples[]":
            log.add(text)
        elif place in _HEADER:
            log.header[place] = json.decode(text)


def _read_archive(path: str, log: _Log) -> None:
    with archives.opened(path) as archive:
        if "header.json" not in archive:
            hint = "let it run to its end, or write what there is with `inspect log recover`"
            refuse("this run has not ended: its log has no header", hint=hint)
        header = json.members(archive.read("header.json"))
        log.header.update({key: json.decode(header[key]) for key in _HEADER if key in header})
        if archive.replaced:
            log.report.warn(f"{archive.replaced} members of the archive were written again; the last of each counts")
        for name in archive:
            if _WHOLE_SAMPLE.match(name):
                log.add(archive.read(name))
            elif _CHUNKED_SAMPLE.match(name):
                metadata = name.removesuffix("sample.json") + "metadata.json"
                log.add(archive.read(name), archive.read(metadata) if metadata in archive else None)


class _Header:
    """What the log says about the whole run."""

    def __init__(self, values: dict[str, Any], report: Report) -> None:
        record = Record(values, "header")
        version = record.whole("version") or 1
        if version > NEWEST:
            report.warn(
                f"written in version {version} of the log format; {NEWEST} is known, and what it shares is read"
            )
        self.status = record.text("status") or "started"
        spec = record.record("eval") or refuse("this is no Inspect log: it has no `eval`")
        self.task = spec.text("task") or refuse("this is no Inspect log: it names no task")
        self.model = spec.text("model")
        metadata = spec.record("metadata")
        self.agent_version = metadata.text("agent_version") if metadata and "agent_version" in metadata else None
        self._config = spec.record("config") or Record({}, "header: config")
        dataset = spec.record("dataset") or Record({}, "header: dataset")
        self._ids = [str(id_) for id_ in dataset.items("sample_ids")]
        self._samples = dataset.whole("samples")
        self._epochs = self._config.whole("epochs") or 1
        results = record.record("results")
        self.stopped_early = results is not None and "early_stopping" in results
        self.metrics = declared_metrics(spec, results)
        error = record.record("error")
        if self.status != "success":
            why = f": {error.text('message')}" if error and "message" in error else ""
            report.warn(f"the run ended with the status {self.status}{why}"[:500])

    def planned(self) -> Iterator[tuple[str, int]]:
        """Every sample and epoch that was to run, where the log names them."""
        return ((id_, epoch) for id_ in self._ids for epoch in range(1, self._epochs + 1))

    def refuse_unfinished(self, found: int, ids: set[str]) -> None:
        """Nothing is known of a sample that never ran, its category included, so that no rule could count it."""
        if self.status == "started":
            refuse("this run has not ended (its status is started)", hint="let it run to its end")
        if not found:
            unlogged = self._config.flag("log_samples") is False
            refuse("there is no sample in this log" + (": it was written without them" if unlogged else ""))
        if self.stopped_early:
            return
        lacking = [id_ for id_ in self._ids if id_ not in ids]
        planned = self._planned_number()
        ended = f"the run ended with the status {self.status}"
        hint = "complete it with `inspect eval-retry`; with `--no-fail-on-error` a run goes on after a crash"
        if lacking:
            refuse(
                f"{len(lacking)} of {len(self._ids)} planned samples have no result ({lacking[0]} …); {ended}",
                hint=hint,
            )
        if not self._ids and (found < planned if planned is not None else self.status != "success"):
            refuse(f"the log holds {found} samples of {planned or 'an unknown number'}; {ended}", hint=hint)

    def _planned_number(self) -> int | None:
        """How many samples and epochs were to run, for logs that do not name them."""
        if self._samples is None or "sample_id" in self._config:
            return None
        limit = self._config.value("limit")
        start, end = limit if isinstance(limit, list) and len(limit) == 2 else (0, limit)
        known = isinstance(start, int) and isinstance(end, int)
        return (max(0, min(self._samples, end) - start) if known else self._samples) * self._epochs


@dataclass(slots=True)
class _Log:
    """The samples of one log, on their way from the file to the rows."""

    report: Report
    aside: Aside
    header: dict[str, Any] = field(default_factory=dict)
    scorers: dict[str, Scorer] = field(default_factory=dict)
    seen: set[tuple[str, int]] = field(default_factory=set)
    fixed: dict[str, Row] = field(default_factory=dict)  # what all epochs of a sample share

    def add(self, text: Bytes, metadata: Bytes | None = None) -> None:
        """Take one sample: what a row needs goes aside, the rest is not even decoded."""
        self.report.records += 1
        parts = json.members(text)
        if metadata is not None:
            parts["metadata"] = metadata
        sample = _Sample(parts, self.report)
        if sample.key in self.seen:
            refuse(f"{sample.place} stands twice in this log")
        self.seen.add(sample.key)
        scores = {name: self._scorer(name, value).take(plain(value)) for name, value in sample.scores()}
        row = sample.row()
        self.fixed[sample.key[0]] = {name: row.get(name) for name in (*_FROM_METADATA, "tags")}
        self.aside.put(row, scores)

    def _scorer(self, name: str, value: object) -> Scorer:
        return self.scorers.setdefault(name, Scorer(scalar=not isinstance(value, Part)))

    def rows(self, header: _Header) -> Iterator[Row]:
        """The rows, now that it is known which scorers judge."""
        judging = self._judging(header)
        shares = [name for name, one in self.scorers.items() if one.scalar and one.numeric and not one.outside]
        for row, scores in self.aside:
            row["id"] = identifier(f"{header.task}/{row['id']}")
            row["tags"] = {**({"model": header.model} if header.model else {}), **row["tags"]}
            row |= {score_column(name): value for name, value in scores.items() if value is not None}
            row |= {"suite": header.task, "agent_version": header.agent_version}
            row["judge"] = ", ".join(judging) or None
            row["quality_score"] = scores.get(shares[0]) if len(shares) == 1 else None
            values = [scores.get(name) for name in judging]
            self.report.unscored += not row["error"] and (not values or None in values)
            if judging:
                row["correct"] = not row["error"] and all(value == 1 for value in values)
            else:
                # Nothing says what is right, and that the answer equals the target is not for us to demand.
                row |= {"expected": None, "predicted": None}
            yield row

    def _judging(self, header: _Header) -> list[str]:
        """The scorers that judge: those that are meant to, else those whose numbers can only mean yes or no."""
        for name in header.metrics:
            if "accuracy" in header.metrics[name] and name not in self.scorers:
                self.scorers[name] = Scorer(scalar="." not in name)
        meant = [name for name, scorer in self.scorers.items() if scorer.judges(header.metrics.get(name, set()))]
        able = [name for name, scorer in self.scorers.items() if scorer.numeric and scorer.binary]
        return meant or [name for name in able if self.scorers[name].scalar] or able

    def missing(self, header: _Header) -> Iterator[Row]:
        """A row for each epoch of a sample that was planned and that the log lacks: it did not complete."""
        lacking = [key for key in header.planned() if key not in self.seen]
        if header.stopped_early and lacking:
            self.report.warn(f"{len(lacking)} planned samples or epochs did not run: the task stopped early")
            return
        for id_, epoch in lacking:
            self.report.missing += 1
            yield {
                "id": identifier(f"{header.task}/{id_}"),
                "trial": epoch,
                **self.fixed[id_],
                "error": f"this epoch was planned and has no result (the run's status is {header.status})",
                "suite": header.task,
                "agent_version": header.agent_version,
            }


class _Sample:
    """One sample of a log, of which only what was asked for is decoded."""

    def __init__(self, parts: dict[str, Bytes], report: Report) -> None:
        self._parts = parts
        self._report = report
        id_ = self._value("id")
        if isinstance(id_, bool) or not isinstance(id_, str | int) or id_ == "":
            refuse(f"sample {report.records}: id: found {id_!r}, wanted text or a whole number")
        top = Record({"epoch": self._value("epoch")}, f"sample {id_}")
        self.key = (str(id_), top.whole("epoch") or 1)
        self.place = f"sample {id_}, epoch {self.key[1]}"
        self._answer: str | None = None

    def _value(self, key: str) -> Any:
        text = self._parts.get(key)
        return None if text is None else json.decode(text)

    def _record(self, key: str) -> Record:
        value = self._value(key)
        return Record({} if value is None else value, f"{self.place}: {key}")

    def scores(self) -> Iterator[tuple[str, object]]:
        """Each score by the name of its scorer; of a score with several values each, as `scorer.value`."""
        text = self._parts.get("scores")
        if text is None or bytes(text) == b"null":
            text = b'{"score":%b}' % bytes(self._parts["score"]) if "score" in self._parts else b"{}"
        for name, score in json.members(text).items():
            parts = json.members(score)
            value = json.decode(parts.get("value", b"null"))
            self._answer = self._answer or _short(json.decode(parts.get("answer", b"null")))
            if len(bytes(parts.get("history", b"[]")).strip()) > 2:
                self._report.warn("scores were edited after the run; the edited values count")
            if isinstance(value, dict):
                yield from ((f"{name}.{key}", Part(part)) for key, part in value.items())
            else:
                yield name, value

    def row(self) -> Row:
        """What stands in the sample itself, once its scores were read; they come in later."""
        metadata = self._metadata()
        usage = [Record(one, f"{self.place}: model_usage") for one in self._record("model_usage").values.values()]
        costs = [cost for one in usage if (cost := one.number("total_cost")) is not None]
        times = Record({"total_time": self._value("total_time")}, self.place)
        seconds = times.number("total_time")
        return {
            "id": self.key[0],
            "trial": self.key[1],
            "error": self._error(),
            "input": _asked(self._value("input")),
            "output": self._output(),
            "expected": _short(self._value("target")),
            "predicted": self._answer,
            "latency_ms": None if seconds is None else seconds * 1000,
            "tokens_used": sum(one.whole("total_tokens") or 0 for one in usage) if usage else None,
            "cost_usd": sum(costs) if costs else None,
            **{name: metadata[name] for name in _FROM_METADATA if isinstance(metadata.get(name), str)},
            "tags": {**(tags(metadata, _FROM_METADATA) or {}), **self._circumstances()},
        }

    def _metadata(self) -> dict[str, object]:
        """The metadata that can be sliced by: short, and not nested."""
        text = self._parts.get("metadata")
        if text is None or bytes(text) == b"null":
            return {}
        members = json.members(text)
        short = {key: json.decode(value) for key, value in members.items() if len(value) <= _LONGEST_TAG}
        kept = {key: value for key, value in short.items() if not isinstance(value, dict | list)}
        if len(kept) < len(members):
            self._report.unread["metadata that is long or nested"] += len(members) - len(kept)
        return kept

    def _circumstances(self) -> dict[str, str]:
        """The limit that halted the sample, and how often it was tried again after an error."""
        limit = self._record("limit").text("type")
        retries = self._value("error_retries")
        if retries:
            self._report.warn("samples were run again after an error; only their last attempt counts")
        found = {"limit": limit, "retries": str(len(retries)) if isinstance(retries, list) and retries else None}
        return {key: value for key, value in found.items() if value}

    def _error(self) -> str | None:
        if bytes(self._parts.get("invalidation", b"null")) != b"null":
            return f"invalidated: {self._record('invalidation').text('reason') or 'no reason given'}"
        error = self._value("error")
        if error is None or isinstance(error, str):
            return error
        return Record(error, f"{self.place}: error").text("message") or "an error without a message"

    def _output(self) -> str | None:
        text = self._parts.get("output")
        if text is None or bytes(text) == b"null":
            return None
        output = json.members(text)
        if "completion" in output:
            return _text_of(json.decode(output["completion"]))
        choices = json.decode(output.get("choices", b"[]"))
        first = choices[0] if isinstance(choices, list) and choices else None
        message = first.get("message") if isinstance(first, dict) else None
        return _text_of(message.get("content")) if isinstance(message, dict) else None


def _short(value: object) -> str | None:
    """Text that may be a label: short, without the spaces around it."""
    return value.strip() or None if isinstance(value, str) and len(value) <= _LONGEST_TAG else None


def _asked(value: object) -> str | None:
    """The input as text: of a conversation, what the user said last."""
    if not isinstance(value, list):
        return _text_of(value)
    said = [message for message in value if isinstance(message, dict) and message.get("role") == "user"]
    return _text_of(said[-1].get("content")) if said else None


def _text_of(content: object) -> str | None:
    """The text of a message: as it is, or the texts among its parts."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))
