"""Inspect AI logs (`.eval` archives and `.json`, from 2024's schema on) → rows: one per sample and epoch.

A scorer *judges* if the task declares the metric `accuracy` for it, or if the policy names it; a sample is correct when
all who judge give it a 1, and undecided where one of them gave nothing. Every score is a column too. What crashed or
ran into a limit is an error, and so is an epoch that never ran: the log's own metrics leave these out, or count them.
A log that lacks whole samples of its plan is refused, and so is one whose parts contradict each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from highbar.importers import Row
from highbar.importers.aside import Aside
from highbar.importers.inspect_header import PARTS, Found, Header, Key
from highbar.importers.inspect_samples import FROM_METADATA, Sample
from highbar.importers.inspect_scores import ALONE, Judges, judges, number
from highbar.importers.naming import score_column
from highbar.importers.reading import json
from highbar.importers.reading import zip as archives
from highbar.importers.reading.json import Bytes
from highbar.importers.record import refuse
from highbar.importers.report import Report
from highbar.importers.writing import identifier

_WHOLE_SAMPLE = re.compile(r"^samples/.+_epoch_\d+\.json$", re.DOTALL)
_CHUNKED_SAMPLE = re.compile(r"^samples/.+_epoch_\d+/sample\.json$", re.DOTALL)
_CHUNK = re.compile(r"^(samples/.+_epoch_\d+/)(?:\w+\.json|\w+/.+)$", re.DOTALL)
_EVENTS = re.compile(r"^(samples/.+_epoch_\d+/)events/\d+\.json$", re.DOTALL)
_BESIDE = re.compile(r"^(?:(?:header|summaries|reductions|results)\.json|_journal/.+)$", re.DOTALL)
_MEMBERS = frozenset(
    {*PARTS, "plan", "stats", "log_updates", "config_updates", "tags", "metadata", "samples", "reductions", "logging"}
    | {"location", "etag"}
)
_MOST_NAMED = 5


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one log. They are kept aside until the last sample was seen: only then are all scorers known."""
    with Aside() as aside, Path(path).open("rb") as stream:
        log = _Log(report, aside)
        start = stream.read(64)
        if start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") or start.startswith(json.UTF_16):
            stream.seek(0)
            _read_document(stream, log)
        else:
            _read_archive(path, log)
        header = Header(log.header, report)
        header.refuse_unfinished(Found(log.seen, log.crashed, log.invalidated))
        yield from log.rows(header)
        yield from log.missing(header)


def heading(path: str) -> dict[str, Any]:
    """The members of a log that its header is made of, without a look at the samples, as far as they come first."""
    with Path(path).open("rb") as stream:
        if stream.read(2) != b"PK":
            stream.seek(0)
            found: dict[str, Any] = {}
            for place, text in json.parts(stream, {"samples"}):
                if place == "samples[]":
                    break
                found |= {place: json.decode(text)} if place in PARTS else {}
            return found
    with archives.opened(path) as archive:
        name = "header.json" if "header.json" in archive else "_journal/start.json"
        members = json.members(archive.read(name)) if name in archive else {}
        return {key: json.decode(members[key]) for key in PARTS if key in members}


def _read_document(stream: IO[bytes], log: _Log) -> None:
    unknown: list[str] = []
    for place, text in json.parts(stream, {"samples"}):
        if place == "samples[]":
            log.add(text)
        elif place in PARTS:
            log.header[place] = json.decode(text)
        elif place not in _MEMBERS:
            unknown.append(place)
    _warn_of_unknown("members of the log", unknown, log.report)


def _read_archive(path: str, log: _Log) -> None:
    with archives.opened(path) as archive:
        if "header.json" not in archive:
            hint = "let it run to its end, or write what there is with `inspect log recover`"
            refuse("this run has not ended: its log has no header", hint=hint)
        header = json.members(archive.read("header.json"))
        log.header.update({key: json.decode(header[key]) for key in PARTS if key in header})
        if archive.replaced:
            log.report.warn(f"{archive.replaced} members of the archive were written again; the last of each counts")
        _account_for_members(archive, log.report)
        events = _events(archive) if log.judge_roles else {}
        for name in archive:
            if _WHOLE_SAMPLE.match(name):
                log.add(archive.read(name))
            elif _CHUNKED_SAMPLE.match(name):
                log.add(archive.read(name), _chunks(archive, name.removesuffix("sample.json"), events))
        if "summaries.json" in archive:
            log.compare(archive.read("summaries.json"))


def _account_for_members(archive: archives.Archive, report: Report) -> None:
    """Every member is a sample, a part of one, or known to hold nothing else; a sample in disguise is refused."""
    unknown: list[str] = []
    for name in archive:
        part = _CHUNK.match(name)
        whole = _WHOLE_SAMPLE.match(name) or (part and f"{part[1]}sample.json" in archive)
        if whole or _BESIDE.match(name) or name.endswith("/"):
            continue
        if name.lower().startswith("samples") or "_epoch_" in name.lower():
            refuse(f"the member {name!r} of this archive is no sample as Inspect AI writes it", hint="write it again")
        unknown.append(name)
    _warn_of_unknown("members of the archive", unknown, report)


def _warn_of_unknown(what: str, names: list[str], report: Report) -> None:
    if names:
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        report.warn(f"not read: {what} that are not known: {', '.join(names[:_MOST_NAMED])}{more}")


def _events(archive: archives.Archive) -> dict[str, list[str]]:
    """The members that hold the events of each sample, by the folder of the sample."""
    found: dict[str, list[str]] = {}
    for name in archive:
        if events := _EVENTS.match(name):
            found.setdefault(events[1], []).append(name)
    return found


def _chunks(archive: archives.Archive, folder: str, events: dict[str, list[str]]) -> dict[str, Bytes]:
    """The parts of a sample that stand in members of their own, as far as they are read."""
    found: dict[str, Bytes] = {}
    if f"{folder}metadata.json" in archive:
        found["metadata"] = archive.read(f"{folder}metadata.json")
    if folder in events:
        texts = [bytes(one) for name in events[folder] for one in json.elements(archive.read(name))]
        found["events"] = b"[" + b",".join(texts) + b"]"
    return found


@dataclass(slots=True)
class _Log:
    """The samples of one log, on their way from the file to the rows."""

    report: Report
    aside: Aside
    header: dict[str, Any] = field(default_factory=dict)
    scorers: dict[str, bool] = field(default_factory=dict)  # of each that was seen, whether its numbers are all shares
    seen: set[Key] = field(default_factory=set)
    ended: dict[Key, tuple[bool, str | None]] = field(default_factory=dict)  # those with an error, or at a limit
    crashed: int = 0
    invalidated: int = 0
    fixed: dict[str, Row] = field(default_factory=dict)  # what all epochs of a sample share

    @property
    def judge_roles(self) -> frozenset[str]:
        """The roles of models that judge; the header stands before the samples."""
        return Header.judge_roles_of(self.header)

    def add(self, text: Bytes, more: dict[str, Bytes] | None = None) -> None:
        """Take one sample: what a row needs goes aside, the rest is not even decoded."""
        self.report.records += 1
        sample = Sample(json.members(text) | (more or {}), self.report)
        if sample.key in self.seen:
            refuse(f"{sample.place} stands twice in this log")
        self.seen.add(sample.key)
        self.crashed += sample.crashed
        self.invalidated += sample.invalidated
        if sample.crashed or sample.limit:
            self.ended[sample.key] = (sample.crashed, sample.limit)
        scores = {name: self._taken(name, value) for name, value in sample.scores()}
        row = sample.row(self.judge_roles)
        self.fixed[sample.key[0]] = {name: row.get(name) for name in (*FROM_METADATA, "tags")}
        self.aside.put(row, scores)

    def _taken(self, name: str, value: object) -> float | None:
        taken = number(value)
        self.scorers[name] = self.scorers.get(name, True) and (taken is None or 0 <= taken <= 1)
        if isinstance(value, str) and taken is None:
            self.report.unread["scores that are text"] += 1
        return taken

    def compare(self, summaries: Bytes) -> None:
        """Hold the samples against the summary that the archive has of each: what only one of them says is missing."""
        for place, text in enumerate(json.elements(summaries)):
            summary = Sample(json.members(text), self.report)
            if summary.key not in self.seen:
                refuse(f"summaries.json speaks of {summary.place}, which is not in this log")
            crashed, limit = self.ended.get(summary.key, (False, None))
            if summary.crashed and not crashed:
                refuse(f"summaries.json[{place}] says that {summary.place} crashed, and the sample has no error")
            if summary.halted and not limit:
                refuse(f"summaries.json[{place}] says that {summary.place} met a limit, and the sample has none")

    def rows(self, header: Header) -> Iterator[Row]:
        """The rows, now that it is known which scorers judge."""
        alone = self._name_of_the_only(header)
        said_by = judges(header.metrics, [alone.get(name, name) for name in self.scorers], self.report)
        quality = all(self.scorers.get(name, True) for name in said_by.demands)
        for row, given in self.aside:
            scores = {alone.get(name, name): value for name, value in given.items()}
            tags = {**_tags(header), **row["tags"]}
            yield {
                **row,
                "id": identifier(f"{header.task}/{row['id']}"),
                "tags": tags,
                **self._columns(scores, said_by),
                "suite": header.task,
                "agent_version": header.agent_version,
                "judge": ", ".join(said_by.demands),
                "quality_score": said_by.quality(scores) if quality else None,
                **self._judged(row, scores, said_by),
            }

    def _name_of_the_only(self, header: Header) -> dict[str, str]:
        """Old logs give the only score of a sample without a name; the header has it."""
        named = list(header.metrics)
        return {ALONE: named[0]} if ALONE in self.scorers and ALONE not in named and len(named) == 1 else {}

    def _columns(self, scores: dict[str, float | None], said_by: Judges) -> Row:
        lost = [name for name in scores if name not in said_by.columns]
        if lost:
            self.report.unread[f"scores whose scorers would share the column {score_column(lost[0])}"] += len(lost)
        return {said_by.columns[name]: value for name, value in scores.items() if name in said_by.columns}

    def _judged(self, row: Row, scores: dict[str, float | None], said_by: Judges) -> Row:
        """What the judges make of a sample: a crash is wrong whatever they say, and a silent judge decides nothing."""
        if row["error"] is not None:
            return {"correct": False}
        correct, unjudged = said_by.say(scores)
        if correct is None:
            self.report.unscored += 1
            # That the answer equals the target is not for us to demand.
            return {"unjudged": unjudged, "expected": None, "predicted": None}
        return {"correct": correct}

    def missing(self, header: Header) -> Iterator[Row]:
        """A row for each epoch that was planned and that the log lacks: it did not complete, or was never started."""
        for id_, epoch in header.planned():
            if (id_, epoch) in self.seen or (id_, epoch) in header.stops:
                continue
            self.report.missing += 1
            ended = f"this epoch was planned and has no result (the run's status is {header.status})"
            yield self._bare(header, id_, epoch) | {"error": ended}
        for (id_, epoch), reason in header.stops.items():
            if (id_, epoch) in self.seen:
                refuse(f"sample {id_}, epoch {epoch} was stopped early, and has a result")
            self.report.records += 1
            self.report.skipped += 1
            yield self._bare(header, id_, epoch) | {"unjudged": f"not run: the task stopped early: {reason}"}

    def _bare(self, header: Header, id_: str, epoch: int) -> Row:
        """What the log says of an epoch without a result: rows are chosen by model and judge, crashed or not."""
        fixed = self.fixed.get(id_, {})
        own = fixed.get("tags")
        return {
            "id": identifier(f"{header.task}/{id_}"),
            "trial": epoch,
            **fixed,
            "tags": {**_tags(header), **(own if isinstance(own, dict) else {})},
            "suite": header.task,
            "agent_version": header.agent_version,
            "judge": ", ".join(self.report.judges),
        }


def _tags(header: Header) -> dict[str, str]:
    return {"model": header.model} if header.model else {}
