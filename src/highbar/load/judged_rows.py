"""Rows of results that a judge graded: which they are, and what was judged in them; and all rows, divided into parts.

People label random samples of the trials that a judge passed, and of those that it failed. So the rows are divided in
the same way. Judged trials with an error are a part of their own; trials that the judge left open are among the others.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, cast, get_args

import msgspec
from msgspec import Struct, field

from highbar.errors import InputError, Problem
from highbar.language.blank import is_blank
from highbar.load.row_reading import read_rows
from highbar.model import ResultsFile, Where
from highbar.model.judge_quality import SelfConsistency
from highbar.model.judgments import JudgedTrial, LabeledTrial

Stratum = Literal["passed", "failed"]
RowPart = Literal["passed", "failed", "error", "other"]
"""Judged trials that passed; judged trials that failed; judged trials with an error; and all others."""
PARTS: tuple[RowPart, ...] = get_args(RowPart)
OPEN = "judge:"
"""How `unjudged` begins if a judge failed, or could not decide."""
_TEXTS = ("input", "messages", "tool_calls", "found", "missed", "judged", "state", "context")
"""Columns that are not needed to score a row."""


class JudgedPlace(Struct, frozen=True):
    """One trial whose judgment people can label: its conversation and question, its part, and the judge's answers."""

    conversation: str
    digest: str
    stratum: Stratum
    part: RowPart
    answers: Mapping[str, str]


class JudgedRows(Struct):
    """What the rows say about judges. `places` has the trials that people can sample, by id and trial."""

    by: dict[str, None] = field(default_factory=dict)
    trials: int = 0
    statements: int = 0
    undecided: int = 0
    replayed: int = 0
    elsewhere: int = 0
    of_behaviors: int = 0  # trials of which a judge decides more than the answer
    places: dict[tuple[str, int], JudgedPlace] = field(default_factory=dict)
    asked: dict[str, list[Mapping[str, str]]] = field(default_factory=dict)

    @property
    def sizes(self) -> Counter[Stratum]:
        """How many trials people can sample from, by stratum."""
        return Counter(place.stratum for place in self.places.values())

    @property
    def consistency(self) -> SelfConsistency | None:
        """How often the same question to the same judge got the same answer; None if no question was asked twice."""
        same = pairs = 0
        for answers in self.asked.values():
            for name in answers[0] if len(answers) > 1 else ():
                words = Counter(one[name] for one in answers if name in one)
                same += sum(count * (count - 1) // 2 for count in words.values())
                pairs += words.total() * (words.total() - 1) // 2
        return SelfConsistency(same, pairs) if pairs else None

    def agrees(self, trial: LabeledTrial) -> bool:
        """Whether rows and label agree on the judge's answers, if both are about the same question."""
        judged, place = trial.sample.judged, self.places.get((trial.id, trial.trial))
        if place is None or (place.conversation, place.digest) != (judged.conversation, judged.digest):
            return True
        return place.answers == {name: one.judgment for name, one in judged.statements.items()}

    def count_row(self, row: Mapping[str, Any], judged: JudgedTrial | None) -> RowPart:
        """Count a row and return its part."""
        judge, unjudged = row.get("judge"), str(row.get("unjudged", ""))
        is_open = unjudged.strip().startswith(OPEN)
        if judged is None:
            graded = judge is not None and not unjudged.strip() and not str(row.get("error", "")).strip()
            self.elsewhere += graded
            self.of_behaviors += graded
            self.undecided += is_open
            self.trials += graded or is_open
            if judge is not None and (graded or is_open):
                self.by[str(judge)] = None
            return "other"
        self.trials += 1
        self.statements += len(judged.statements)
        self.undecided += is_open
        self.replayed += judged.replayed
        parts = {name for behavior in judged.behaviors.values() for name in behavior.of}
        self.of_behaviors += bool({*judged.behaviors, *(judged.statements.keys() - parts)} - {"answer"})
        if judge is not None:
            self.by[str(judge)] = None
        answers = {name: one.judgment for name, one in judged.statements.items()}
        # A replayed answer is the earlier one, not another answer to the same question.
        if not judged.replayed:
            self.asked.setdefault(judged.digest, []).append(answers)
        if unjudged.strip() and not is_open:
            return "other"  # no label can decide this trial
        stratum = stratum_of(row)
        part: RowPart = "other" if is_open else "error" if str(row.get("error", "")).strip() else stratum
        place = JudgedPlace(judged.conversation, judged.digest, stratum, part, answers)
        self.places[str(row["id"]), row.get("trial", 1)] = place
        return part


def stratum_of(row: Mapping[str, Any]) -> Stratum:
    """`failed` if the row has an error, lacks anything demanded or has anything forbidden; else `passed`."""
    if row.get("error") or row.get("violations") or row.get("correct") is False:
        return "failed"
    behaviors = row.get("behaviors") or {}
    marks = behaviors if isinstance(behaviors, Mapping) else dict.fromkeys(map(str, behaviors), True)
    seen = {name for name, mark in marks.items() if mark}
    if len(seen) < len(marks) or not seen.issuperset(row.get("expected_behaviors") or ()):
        return "failed"
    has_wrong_label = "correct" not in row and "predicted" in row and row["predicted"] != row.get("expected")
    return "failed" if has_wrong_label or row.get("passed") is False else "passed"


def judged_rows(
    files: Sequence[ResultsFile], select: Where = (), *, strict: bool = True, parts: Path | None = None
) -> JudgedRows:
    """What the rows of the files say about judges. Also writes the rows to `parts`, under ids that name their part.

    Raises InputError if a row's `judged` cannot be read; if not `strict`, such a column is taken for the user's own.
    """
    found = JudgedRows()
    with ExitStack() as stack:
        stream = None if parts is None else stack.enter_context(parts.open("wb"))
        for row, judged in _read(files, select, strict=strict):
            part = found.count_row(row, judged)
            if stream is not None:
                stream.write(line({**row, "id": named_part(part, str(row["id"]))}))
    return found


def named_part(part: RowPart, id_: str) -> str:
    """The id of a scenario within one part of the rows."""
    return f"{part} {id_}"


def part_named(id_: str) -> tuple[RowPart, str]:
    """The part and the scenario of an id from `named_part`."""
    part, _, scenario = id_.partition(" ")
    return cast("RowPart", part), scenario


def line(row: Mapping[str, Any]) -> bytes:
    """A row as a line of JSON, without texts and judgments."""
    return json.dumps({name: value for name, value in row.items() if name not in _TEXTS}).encode() + b"\n"


def _read(
    files: Sequence[ResultsFile], select: Where, *, strict: bool
) -> Iterator[tuple[dict[str, Any], JudgedTrial | None]]:
    of_scenarios = _values_of_scenarios(files, select)
    for file in files:
        for row in read_rows(file):
            named = (
                (_text(row, column) or of_scenarios.get((str(row["id"]), column)), values) for column, values in select
            )
            if all(text in values for text, values in named):
                yield row, _judged(row, file, strict=strict)


def _values_of_scenarios(files: Sequence[ResultsFile], select: Where) -> dict[tuple[str, str], str]:
    """By scenario and column: a value of its trials. The engine, which read them before, has refused if they differ."""
    found: dict[tuple[str, str], str] = {}
    for file in files if select else ():
        for row in read_rows(file):
            for column, _ in select:
                text = _text(row, column)
                if text is not None:
                    found[str(row["id"]), column] = text
    return found


def _text(row: Mapping[str, Any], column: str) -> str | None:
    """The text by which a row is selected; None if it is absent or blank."""
    tags = row.get("tags")
    tag = tags.get(column.removeprefix("tags.")) if column.startswith("tags.") and isinstance(tags, Mapping) else None
    texts = (str(value) for value in (tag, row.get(column)) if value is not None)
    return next((text for text in texts if not is_blank(text)), None)


def _judged(row: Mapping[str, Any], file: ResultsFile, *, strict: bool) -> JudgedTrial | None:
    value = row.get("judged")
    if value is None:
        return None
    try:
        if isinstance(value, str):  # a cell of a table
            return msgspec.json.decode(value, type=JudgedTrial)
        return msgspec.convert(value, JudgedTrial)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeError) as error:
        if not strict:
            return None
        message = f"judged of {row.get('id')!r} cannot be read: {error}"
        hint = "highbar run writes this column; rename it if it is one of your own"
        raise InputError(Problem("row.wrong-type", message, file.name, hint=hint)) from None
