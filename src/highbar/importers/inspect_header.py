"""The header of an Inspect AI log: how the run ended, the planned samples, and the log's own counts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from highbar.importers.inspect_scores import Metrics, declared_metrics, silent_scorers
from highbar.importers.record import Record, refuse, shown
from highbar.importers.report import Report

NEWEST = 2
"""The newest version of the log format that this importer knows."""

PARTS = ("version", "status", "eval", "results", "error", "invalidated")
"""The members of a log that the header needs."""

_ENDED = ("success", "error", "cancelled")
_GRADER = "grader"
_RETRY = "complete it with `inspect eval-retry`; with `--no-fail-on-error` a run goes on after a crash"

Key = tuple[str, int]
"""The id of a sample, and its epoch."""


class Header:
    """Everything in a log except its samples."""

    def __init__(self, values: dict[str, Any], report: Report) -> None:
        record = Record(values, "header")
        version = record.whole("version") or 1
        if version > NEWEST:
            report.warn(
                f"written in version {version} of the log format; {NEWEST} is known, and what it shares is read"
            )
        self.status = _status(record)
        spec = record.record("eval") or refuse("import.other-file", "this is no Inspect log: it has no `eval`")
        self.task = spec.text("task") or refuse("import.other-file", "this is no Inspect log: it names no task")
        self.model = spec.text("model")
        metadata = spec.record("metadata")
        self.agent_version = metadata.text("agent_version") if metadata and "agent_version" in metadata else None
        self._config = spec.record("config") or Record({}, "header: config")
        dataset = spec.record("dataset") or Record({}, "header: dataset")
        self._ids = [str(id_) for id_ in dataset.items("sample_ids")]
        self._samples = _count(dataset, "samples")
        self._epochs_given = _count(self._config, "epochs", least=1)
        self._epochs = self._epochs_given or 1
        self._limit = _limit(self._config.value("limit"))
        self._is_merged = "shards" in spec
        self._results = record.record("results") or Record({}, "header: results")
        self.stops = _early_stops(self._results)
        self.metrics: Metrics = declared_metrics(spec, record.record("results"))
        self._spec = spec
        self._invalidated = record.flag("invalidated") or False
        error = record.record("error")
        if self.status != "success":
            why = f": {error.text('message')}" if error and "message" in error else ""
            report.warn(f"the run ended with the status {self.status}{why}"[:500])

    @staticmethod
    def judge_roles_of(values: dict[str, Any]) -> frozenset[str]:
        """The roles of models that only judge: `grader` and roles in the options of scorers, if the log has them."""
        spec = values.get("eval")
        if not isinstance(spec, dict) or not spec.get("model_roles"):
            return frozenset()
        record = Record(spec, "header: eval")
        options = [scorer.record("options") for scorer in record.records("scorers")]
        named = {role for one in options if one and isinstance(role := one.value("model_role"), str)}
        return frozenset({_GRADER, *named} & set(record.record("model_roles") or ()))

    def silent(self, scored: Collection[str]) -> list[str]:
        """The declared scorers that never scored, given those that did."""
        return silent_scorers(self._spec, self._results, scored)

    def planned(self) -> Iterator[Key]:
        """Every planned sample and epoch, if the log names them."""
        return ((id_, epoch) for id_ in self._ids for epoch in range(1, self._epochs + 1))

    def refuse_unfinished(self, keys: Collection[Key], *, crashed: int, invalidated: int) -> None:
        """Refuse a log that lacks samples: their categories are unknown, so that no rule could count them.

        Also refuses a log with unplanned samples, or whose counts contradict its samples.
        """
        if not keys:
            without_samples = self._config.flag("log_samples") is False
            refuse(
                "results.empty",
                "there is no sample in this log" + (": it was written without them" if without_samples else ""),
            )
        ids = {id_ for id_, _ in keys}
        lacking = [id_ for id_ in self._ids if id_ not in ids and not self._is_stopped(id_)]
        ended = f"the run ended with the status {self.status}"
        if lacking:
            refuse(
                "import.incomplete",
                f"{len(lacking)} of {len(self._ids)} planned samples have no result ({lacking[0]} …); {ended}",
                hint=_RETRY,
            )
        planned, number = self._planned_number(), len(keys) + len(self.stops)
        if not self._ids and (number < planned if planned is not None else self.status != "success"):
            refuse(
                "import.incomplete",
                f"the log holds {number} samples of {planned or 'an unknown number'}; {ended}",
                hint=_RETRY,
            )
        self._refuse_other_samples(keys, planned)
        self._refuse_other_counts(len(keys), crashed)
        if self._invalidated and not invalidated:
            refuse("import.contradiction", "the log says that samples were invalidated, and holds none that was")

    def _is_stopped(self, id_: str) -> bool:
        """Whether the task stopped before any epoch of this sample."""
        return all((id_, epoch) in self.stops for epoch in range(1, self._epochs + 1))

    def _refuse_other_samples(self, keys: Collection[Key], planned: int | None) -> None:
        """Refuse a log with samples or epochs that were not planned."""
        ids = set(self._ids)
        if ids:
            named = len(ids) * self._epochs
            if planned is not None and named != planned and not self._is_merged:
                refuse(
                    "import.contradiction",
                    f"the header names {named} samples and epochs, and its dataset and limit give {planned}",
                )
            others = [key for key in keys if key[0] not in ids]
            if others:
                refuse(
                    "import.contradiction",
                    f"sample {others[0][0]} is in this log and not among the samples that were to run",
                )
        others = [key for key in keys if key[1] > self._epochs] if self._epochs_given else []
        if others:
            refuse(
                "import.contradiction",
                f"sample {others[0][0]} has an epoch {others[0][1]}; the header says {self._epochs}",
            )

    def _refuse_other_counts(self, samples: int, crashed: int) -> None:
        """Refuse a log whose counts differ from its samples, since either may be wrong."""
        total, completed = self._results.whole("total_samples"), self._results.whole("completed_samples")
        number = len(set(self._ids)) * self._epochs or samples + len(self.stops)
        if total and total != number:
            refuse("import.contradiction", f"this log is of {number} samples and epochs, and its results count {total}")
        sound = samples - crashed
        if total and completed is not None and completed < sound:
            refuse(
                "import.contradiction",
                f"{sound} samples have no error, and the results count {completed} that completed",
            )

    def _planned_number(self) -> int | None:
        """Samples × epochs, by the size of the dataset and the limit; None if the log does not say."""
        if self._samples is None or "sample_id" in self._config:
            return None
        start, end = self._limit or (0, self._samples)
        return max(0, min(self._samples, end) - start) * self._epochs


def _status(record: Record) -> str:
    status = record.text("status") or "started"
    if status == "started":
        refuse("import.incomplete", "this run has not ended (its status is started)", hint="let it run to its end")
    if status not in _ENDED:
        refuse("import.wrong-value", f"header: status: found {shown(status)}, wanted started, {', '.join(_ENDED)}")
    return status


def _count(record: Record, key: str, least: int = 0) -> int | None:
    number = record.whole(key)
    if number is not None and number < least:
        refuse("import.wrong-value", f"{record.place}: {key}: found {number}, wanted {least} or more")
    return number


def _limit(limit: object) -> tuple[int, int] | None:
    """The range of samples of a limit, which is a number or a pair; 0-based, without the end."""
    if limit is None:
        return None
    start, end = limit if isinstance(limit, list) and len(limit) == 2 else (0, limit)
    if type(start) is not int or type(end) is not int or not 0 <= start < end:
        written = limit if isinstance(limit, list) else shown(limit)
        refuse(
            "import.wrong-value",
            f"header: limit: found {written}, wanted a number above 0, or two of which the second is larger",
        )
    return start, end


def _early_stops(results: Record) -> dict[Key, str]:
    """The samples and epochs that the task decided not to start, with the reason."""
    stopping = results.record("early_stopping")
    stops = stopping.records("early_stops") if stopping else []
    return {(str(one.value("id")), one.whole("epoch") or 1): one.text("reason") or "no reason given" for one in stops}
