"""The aggregate of an Every Eval Ever evaluation (`UUID.json`) → what it declares about the samples beside it.

Its scores are not read. It has the number and the checksum of the samples, and for each result the scale of its scores,
the model that graded, and the number of samples.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from highbar.errors import InputError, Problem
from highbar.importers import signs
from highbar.importers.folder_check import FOLDER_HINT, FolderCheck
from highbar.importers.json_records import file_head
from highbar.importers.limits import HEAD, LARGEST_VALUE
from highbar.importers.reading import json
from highbar.importers.record import Record, in_file, refuse, shown

NAMELESS = "is_correct"
"""The name of the judge of records without `evaluation_result_id`."""
LOWER = "a lower score is better"
"""Why a result has no full marks."""
_SAMPLES = "_samples.jsonl"
_BY_LENGTH = {64: "sha256", 32: "md5"}
"""The hash algorithms of the schema, by the length of their digests."""
_WHOLE = "restore the samples as they were written with the aggregate"


class _ResultScale(NamedTuple):
    """What the aggregate declares about one result; `full` is the full marks, or why they are not known."""

    name: str
    task: str | None
    full: float | str
    graders: str
    samples: int | None


class Aggregate(NamedTuple):
    """What an aggregate declares about its samples."""

    name: str
    evaluation: str | None
    records: int | None
    checksum: tuple[str, str] | None  # the algorithm, and the digest
    results: tuple[_ResultScale, ...]
    has_samples: bool

    def full_marks(self, result: str, tasks: set[str]) -> float | str:
        """The full marks of a result, or why they are not known. NAMELESS is matched by the name of the evaluation."""
        found = [one for one in self.results if one.name == result or (result == NAMELESS and one.task in tasks)]
        if len(found) != 1:
            return f"{self.name} has {len(found) or 'no'} results of that name"
        return found[0].full

    def missing(self, records: Mapping[str, int], tasks: set[str]) -> Iterator[str]:
        """A message for each result with too few records. Records without a result are matched by their evaluation."""
        by_task = tasks if NAMELESS in records else set()
        for one in self.results:
            number = records.get(one.name, 0)
            if not number and one.task not in by_task:
                yield f"{self.name} has the result {one.name!r}, of which there are no records"
            elif 0 < number < (one.samples or 0):
                found = "is 1 record" if number == 1 else f"are {number} records"
                yield f"{self.name} counts {one.samples} samples of the result {one.name!r}, and there {found}"

    def graders(self, result: str) -> str:
        """The models that graded a result; empty if it was not graded by a model."""
        return next((one.graders for one in self.results if one.name == result), "")

    def refuse_others(self, path: str, records: int, evaluations: set[str]) -> None:
        """Refuse samples of another run, and samples whose number or checksum differs."""
        if self.evaluation is not None and evaluations != {self.evaluation}:
            other = min(evaluations - {self.evaluation})
            refuse(
                "import.contradiction",
                f"these are samples of {other!r}, and {self.name} is of {self.evaluation!r}",
                hint=_WHOLE,
            )
        if self.records is not None and self.records != records:
            refuse(
                "import.incomplete",
                f"the file holds {records} records, and {self.name} counts {self.records}",
                hint=_WHOLE,
            )
        if self.checksum is not None and _digest(path, self.checksum[0]) != self.checksum[1].lower():
            refuse(
                "import.contradiction",
                f"these are not the samples that {self.name} was made of: their checksums differ",
                hint=_WHOLE,
            )


def is_aggregate(path: str) -> bool:
    """Whether the file is an aggregate, by its first bytes."""
    return re.search(signs.EVERY_EVAL_EVER, file_head(path, HEAD), re.DOTALL) is not None


def aggregate_of(path: str) -> Aggregate | None:
    """The aggregate of a samples file; None if it is not in the same folder."""
    name = Path(path).name
    beside = Path(path).with_name(name.removesuffix(_SAMPLES) + ".json")
    return _read_aggregate(str(beside)) if name.endswith(_SAMPLES) and beside.is_file() else None


def check_folder(tools: Mapping[str, str | None], found: FolderCheck) -> None:
    """Leave out the aggregates with samples beside them; an aggregate whose samples are missing is a problem."""
    for path, tool in tools.items():
        if tool != "every-eval-ever" or path.lower().endswith(".jsonl"):
            continue
        try:
            aggregate = _read_aggregate(path)
        except InputError as error:
            found.problems += in_file(error, path)
            continue
        if path.removesuffix(".json") + _SAMPLES in tools:
            found.not_read[path] = f"{path}: read for what it declares of its samples"
        elif aggregate.has_samples:
            message = "the aggregate names a file of samples, and it is not there"
            found.problems.append(Problem("import.incomplete", message, file=path, hint=FOLDER_HINT))


def _read_aggregate(path: str) -> Aggregate:
    file = Path(path)
    if file.stat().st_size > LARGEST_VALUE:
        refuse("file.too-large", f"{file.name} is larger than {LARGEST_VALUE >> 20} MiB")
    try:
        document = Record(json.decode_value(file.read_bytes()), file.name)
    except InputError as error:  # the line is in this file, not in the samples
        raise InputError(*in_file(error, path)) from None
    samples = document.part("detailed_evaluation_results")
    return Aggregate(
        file.name,
        document.text("evaluation_id"),
        samples.whole("total_rows"),
        _checksum(samples),
        tuple(_result(one) for one in document.records("evaluation_results")),
        "detailed_evaluation_results" in document,
    )


def _checksum(samples: Record) -> tuple[str, str] | None:
    """The algorithm and the digest; None if there is no digest. If no algorithm is named, the length decides."""
    digest = samples.text("checksum")
    if not digest:
        return None
    algorithm = samples.text("hash_algorithm") or _BY_LENGTH.get(len(digest))
    if algorithm is None or algorithm not in _BY_LENGTH.values():
        refuse("import.wrong-value", f"{samples.place}: hash_algorithm: found {shown(algorithm)}, wanted sha256 or md5")
    return algorithm, digest


def _result(result: Record) -> _ResultScale:
    task = result.text("evaluation_name")
    metric = result.part("metric_config")
    judges = metric.part("llm_scoring").records("judges")
    graders = ", ".join(filter(None, (one.part("model_info").text("id") for one in judges)))
    samples = result.part("score_details").part("uncertainty").whole("num_samples")
    return _ResultScale(result.text("evaluation_result_id") or NAMELESS, task, _full(metric), graders, samples)


def _full(metric: Record) -> float | str:
    """The full marks by the declared scale, or why they are not known."""
    kind, most = metric.text("score_type"), metric.value("max_score")
    if metric.flag("lower_is_better"):
        return LOWER
    if kind == "binary":
        return 1.0
    if kind != "continuous" or isinstance(most, str) or most is None:
        return "the aggregate declares no highest score"
    found = metric.number("max_score")
    return float(found) if found is not None and math.isfinite(found) else "the aggregate declares no highest score"


def _digest(path: str, algorithm: str) -> str:
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.new(algorithm, usedforsecurity=False)).hexdigest()
