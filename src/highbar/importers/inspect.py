"""Inspect AI logs (`.eval` archives and `.json`, from 2024's schema on) → rows: one per sample and epoch.

A scorer *judges* if the task declares the metric `accuracy` for it, or if the policy names it. A sample is correct if
all judges give it a 1, and undecided if one of them has no score. Every score is a column too. A sample that crashed or
ran into a limit is an error, and so is an epoch that never ran; the log's own metrics leave some of these out. A log
that lacks planned samples is refused, and so is one whose parts contradict each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from highbar.columns import SCENARIO_TEXTS
from highbar.importers import Row
from highbar.importers.inspect_header import PARTS, Header, Key
from highbar.importers.inspect_samples import EvalSample
from highbar.importers.inspect_scores import ONLY_SCORE, Judges, score_number, settle_judges
from highbar.importers.limits import MOST_NAMED
from highbar.importers.reading import json
from highbar.importers.reading import zip as archives
from highbar.importers.reading.json import Bytes
from highbar.importers.record import quoted, refuse
from highbar.importers.report import Report
from highbar.importers.row_buffer import RowBuffer
from highbar.importers.scorers import meet_demands, unjudged_columns
from highbar.language.phrases import some_and_more
from highbar.language.tool_names import scenario_id, score_column

_WHOLE_SAMPLE = re.compile(r"^samples/.+_epoch_\d+\.json$", re.DOTALL)
_SAMPLE_IN_CHUNKS = re.compile(r"^samples/.+_epoch_\d+/sample\.json$", re.DOTALL)
_CHUNK = re.compile(r"^(samples/.+_epoch_\d+/)(?:\w+\.json|\w+/.+)$", re.DOTALL)
_EVENTS = re.compile(r"^(samples/.+_epoch_\d+/)events/\d+\.json$", re.DOTALL)
_OTHER_MEMBERS = re.compile(r"^(?:(?:header|summaries|reductions|results)\.json|_journal/.+)$", re.DOTALL)
_MEMBERS = frozenset(
    {*PARTS, "plan", "stats", "log_updates", "config_updates", "tags", "metadata", "samples", "reductions", "logging"}
    | {"location", "etag"}
)


def read(path: str, report: Report) -> Iterator[Row]:
    """The rows of one log. They are buffered until all samples are read, because only then are all scorers known."""
    with RowBuffer() as buffer, Path(path).open("rb") as stream:
        log = _Log(report, buffer)
        start = stream.read(64)
        if start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") or start.startswith(json.UTF_16):
            stream.seek(0)
            _read_document(stream, log)
        else:
            _read_archive(path, log)
        header = Header(log.header, report)
        header.refuse_unfinished(log.seen, crashed=log.crashed, invalidated=log.invalidated)
        yield from log.rows(header)
        yield from log.missing(header)


def read_header(path: str) -> dict[str, Any]:
    """The members of the header, without reading samples; in a JSON log, only those that precede the samples."""
    with Path(path).open("rb") as stream:
        if stream.read(2) != b"PK":
            stream.seek(0)
            found: dict[str, Any] = {}
            for place, text in json.json_parts(stream, {"samples"}):
                if place == "samples[]":
                    break
                found |= {place: json.decode_value(text)} if place in PARTS else {}
            return found
    with archives.open_archive(path) as archive:
        name = "header.json" if "header.json" in archive else "_journal/start.json"
        members = json.members(archive.read(name)) if name in archive else {}
        return {key: json.decode_value(members[key]) for key in PARTS if key in members}


def _read_document(stream: IO[bytes], log: _Log) -> None:
    unknown: list[str] = []
    for place, text in json.json_parts(stream, {"samples"}):
        if place == "samples[]":
            log.add(text)
        elif place in PARTS:
            log.header[place] = json.decode_value(text)
        elif place not in _MEMBERS:
            unknown.append(place)
    _warn_of_unknown("members of the log", unknown, log.report)


def _read_archive(path: str, log: _Log) -> None:
    with archives.open_archive(path) as archive:
        if "header.json" not in archive:
            hint = "let it run to its end, or write what there is with `inspect log recover`"
            refuse("import.incomplete", "this run has not ended: its log has no header", hint=hint)
        header = json.members(archive.read("header.json"))
        log.header.update({key: json.decode_value(header[key]) for key in PARTS if key in header})
        if archive.replaced:
            log.report.warn(f"{archive.replaced} members of the archive were written again; the last of each counts")
        _account_for_members(archive, log.report)
        events = _events(archive) if log.judge_roles else {}
        for name in archive:
            if _WHOLE_SAMPLE.match(name):
                log.add(archive.read(name))
            elif _SAMPLE_IN_CHUNKS.match(name):
                log.add(archive.read(name), _chunks(archive, name.removesuffix("sample.json"), events))
        if "summaries.json" in archive:
            log.compare(archive.read("summaries.json"))


def _account_for_members(archive: archives.Archive, report: Report) -> None:
    """Refuse a member that looks like a sample but is not read as one, and warn of other unknown members."""
    unknown: list[str] = []
    for name in archive:
        part = _CHUNK.match(name)
        whole = _WHOLE_SAMPLE.match(name) or (part and f"{part[1]}sample.json" in archive)
        if whole or _OTHER_MEMBERS.match(name) or name.endswith("/"):
            continue
        if name.lower().startswith("samples") or "_epoch_" in name.lower():
            refuse(
                "file.damaged",
                f"the member {name!r} of this archive is no sample as Inspect AI writes it",
                hint="write it again",
            )
        unknown.append(name)
    _warn_of_unknown("members of the archive", unknown, report)


def _warn_of_unknown(what: str, names: list[str], report: Report) -> None:
    if names:
        report.warn(f"not read: {what} that are not known: {some_and_more(names, MOST_NAMED)}")


def _events(archive: archives.Archive) -> dict[str, list[str]]:
    """The members with the events of each sample, by the sample's folder."""
    found: dict[str, list[str]] = {}
    for name in archive:
        if events := _EVENTS.match(name):
            found.setdefault(events[1], []).append(name)
    return found


def _chunks(archive: archives.Archive, folder: str, events: dict[str, list[str]]) -> dict[str, Bytes]:
    """The parts of a chunked sample that are in separate members and that an import needs."""
    found: dict[str, Bytes] = {}
    if f"{folder}metadata.json" in archive:
        found["metadata"] = archive.read(f"{folder}metadata.json")
    if folder in events:
        texts = [bytes(one) for name in events[folder] for one in json.items(archive.read(name))]
        found["events"] = b"[" + b",".join(texts) + b"]"
    return found


class _Log:
    """Collects the samples of one log, then makes the rows."""

    def __init__(self, report: Report, buffer: RowBuffer) -> None:
        self.report = report
        self.header: dict[str, Any] = {}
        self.seen: set[Key] = set()
        self.crashed = 0
        self.invalidated = 0
        self._buffer = buffer
        self._scorers: dict[str, bool] = {}  # whether all numbers of the scorer are from 0 to 1
        self._above: dict[str, tuple[str, float]] = {}  # where the scorer first gave more than 1
        self._ended: dict[Key, tuple[bool, str | None]] = {}  # whether a sample crashed, and the limit that halted it
        self._described: dict[str, Row] = {}  # columns that all epochs of a sample share

    @property
    def judge_roles(self) -> frozenset[str]:
        """The roles of models that judge; known before the first sample, because the header precedes the samples."""
        return Header.judge_roles_of(self.header)

    def add(self, text: Bytes, more: dict[str, Bytes] | None = None) -> None:
        """Put the row of one sample into the buffer. Parts that no row needs are not decoded."""
        self.report.records += 1
        sample = EvalSample(json.members(text) | (more or {}), self.report)
        if sample.key in self.seen:
            refuse("import.duplicate", f"{sample.place} occurs twice in this log")
        self.seen.add(sample.key)
        self.crashed += sample.crashed
        self.invalidated += sample.invalidated
        if sample.crashed or sample.limit:
            self._ended[sample.key] = (sample.crashed, sample.limit)
        scores = {name: self._score(name, value, sample.place) for name, value in sample.scores()}
        row = sample.row(self.judge_roles)
        self._described[sample.key[0]] = {name: row.get(name) for name in (*SCENARIO_TEXTS, "tags")}
        self._buffer.put(row, scores)

    def _score(self, name: str, value: object, place: str) -> float | None:
        score = score_number(value)
        if score is not None and score > 1:
            self._above.setdefault(name, (place, score))
        self._scorers[name] = self._scorers.get(name, True) and (score is None or 0 <= score <= 1)
        if isinstance(value, str) and score is None:
            self.report.unread["scores that are text"] += 1
        return score

    def compare(self, summaries: Bytes) -> None:
        """Refuse a log whose summaries have a sample, a crash or a limit that its samples do not have."""
        for place, text in enumerate(json.items(summaries)):
            summary = EvalSample(json.members(text), self.report)
            if summary.key not in self.seen:
                refuse("import.incomplete", f"summaries.json lists {summary.place}, which is not in this log")
            crashed, limit = self._ended.get(summary.key, (False, None))
            if summary.crashed and not crashed:
                refuse(
                    "import.contradiction",
                    f"summaries.json[{place}] says that {summary.place} crashed, and the sample has no error",
                )
            if summary.halted and not limit:
                refuse(
                    "import.contradiction",
                    f"summaries.json[{place}] says that {summary.place} met a limit, and the sample has none",
                )

    def rows(self, header: Header) -> Iterator[Row]:
        """The rows, once all scorers are known."""
        renamed = self._only_scorer(header)
        scored = [renamed.get(name, name) for name in self._scorers]
        silent = header.silent(scored) if self.crashed < len(self.seen) else []  # a crash leaves nothing to score
        judging = settle_judges(header.metrics, scored, silent, self.report)
        self._refuse_other_scales(judging, renamed)
        bounded = {renamed.get(name, name): known for name, known in self._scorers.items()}
        quality = all(bounded.get(name, True) for name in judging.demands)
        for row, given in self._buffer:
            scores = {renamed.get(name, name): value for name, value in given.items()}
            tags = {**_tags(header), **row["tags"]}
            yield {
                **row,
                "id": scenario_id(f"{header.task}/{row['id']}"),
                "tags": tags,
                **self._columns(scores, judging),
                "suite": header.task,
                "agent_version": header.agent_version,
                "judge": ", ".join(judging.demands),
                "quality_score": judging.quality(scores) if quality else None,
                **self._judgment(row, scores, judging),
            }

    def _refuse_other_scales(self, judging: Judges, renamed: dict[str, str]) -> None:
        """Refuse a judge that gave more than 1, unless the policy says what is good enough on its scale."""
        for given, (place, score) in self._above.items() if not self.report.answers_only else ():
            name = renamed.get(given, given)
            demand = judging.demands.get(name)
            if name in judging.demands and (demand is None or demand.at_least is None):
                judge = f"judged_by: {{ inspect: [ {{ scorer: {quoted(name)}, at_least: … }} ] }}"
                refuse(
                    "judge.undeclared",
                    f"{place}: the scorer {name} judges and gave {score:g}, which is above 1",
                    hint=f"say in the policy what is good enough: {judge}",
                )

    def _only_scorer(self, header: Header) -> dict[str, str]:
        """Maps the nameless score of an old log to the only scorer in the header; empty for other logs."""
        named = list(header.metrics)
        is_nameless = ONLY_SCORE in self._scorers and ONLY_SCORE not in named and len(named) == 1
        return {ONLY_SCORE: named[0]} if is_nameless else {}

    def _columns(self, scores: dict[str, float | None], judging: Judges) -> Row:
        lost = [name for name in scores if name not in judging.columns]
        if lost:
            self.report.unread[f"scores whose scorers would share the column {score_column(lost[0])}"] += len(lost)
        return {judging.columns[name]: value for name, value in scores.items() if name in judging.columns}

    def _judgment(self, row: Row, scores: dict[str, float | None], judging: Judges) -> Row:
        """The judgment of a sample: wrong if it crashed, whatever the scores; undecided if a judge has no score."""
        if row["error"] is not None:
            return {"correct": False}
        correct, silent = meet_demands(judging.demands, scores)
        if correct is None:
            self.report.unscored += 1
            return unjudged_columns(silent)
        return {"correct": correct}

    def missing(self, header: Header) -> Iterator[Row]:
        """A row for each planned epoch without a result: an error, or unjudged if the task stopped early on purpose."""
        for id_, epoch in header.planned():
            if (id_, epoch) in self.seen or (id_, epoch) in header.stops:
                continue
            self.report.missing += 1
            ended = f"this epoch was planned and has no result (the run's status is {header.status})"
            yield self._row_without_result(header, id_, epoch) | {"error": ended}
        for (id_, epoch), reason in header.stops.items():
            if (id_, epoch) in self.seen:
                refuse("import.contradiction", f"sample {id_}, epoch {epoch} was stopped early, and has a result")
            self.report.records += 1
            self.report.skipped += 1
            unjudged = f"not run: the task stopped early: {reason}"
            yield self._row_without_result(header, id_, epoch) | {"unjudged": unjudged}

    def _row_without_result(self, header: Header, id_: str, epoch: int) -> Row:
        """The columns of an epoch without a result, so that `--where` and slices select it like any other."""
        described = self._described.get(id_, {})
        own = described.get("tags")
        return {
            "id": scenario_id(f"{header.task}/{id_}"),
            "trial": epoch,
            **described,
            "tags": {**_tags(header), **(own if isinstance(own, dict) else {})},
            "suite": header.task,
            "agent_version": header.agent_version,
            "judge": ", ".join(self.report.judges),
        }


def _tags(header: Header) -> dict[str, str]:
    return {"model": header.model} if header.model else {}
