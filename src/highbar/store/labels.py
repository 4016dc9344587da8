"""`labels.jsonl`: what people said about the statements that a judge judged. Lines in, labeled trials out.

Each line is self-contained: it says which trial it is about, and how the judge judged that trial. So the files of
several people can be joined by appending one to the other.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from highbar.documents.files import decode_text, read_bytes
from highbar.errors import InputError, Problem
from highbar.model.judgments import JudgedTrial, Label, LabeledTrial, Sampling
from highbar.store.forms import DamagedError
from highbar.store.label_form import read_label
from highbar.store.reading import MOST_BYTES, MOST_PROBLEMS, finite_float, path_text, refuse_constant, unique

UNDECIDED = "labels: "
"""How `unjudged` begins in the row of a trial that the labels leave undecided."""
JUDGE_UNDECIDED = "judge: "
"""How `unjudged` begins in the row of a trial that the judge left undecided."""
_HINT = "highbar judge label writes such lines"
_Key = tuple[str, int, str | None]


class Labels(Struct, frozen=True, dict=True):
    """All labels of a file, without repetitions, in the order of the file.

    `trials` has every trial that somebody labeled with `highbar judge label`, complete or not; `unbound` has the
    labels that do not say which conversation they are about.
    """

    file: str
    lines: tuple[Label, ...]
    trials: tuple[LabeledTrial, ...]
    unbound: tuple[Label, ...]

    @cached_property
    def people(self) -> tuple[str, ...]:
        """The names of the people, in the order of the file."""
        return tuple(dict.fromkeys(label.by for label in self.lines))

    @property
    def complete(self) -> tuple[LabeledTrial, ...]:
        """The trials in which people answered every statement, and the answers decide the trial."""
        return tuple(trial for trial in self.trials if trial.is_complete)

    @property
    def incomplete(self) -> int:
        """How many trials lack an answer to a statement, or are left undecided by the answers."""
        return len(self.trials) - len(self.complete)


def read_labels(path: Path | str) -> Labels:
    """The labels in a file. Raises InputError with the first problems of its lines."""
    name = str(path)
    text = decode_text(read_bytes(Path(path), MOST_BYTES), Path(path))
    return parse_labels(text, name)


def parse_labels(text: str, name: str) -> Labels:
    """The labels in a text, which messages call `name`. Raises InputError with the first problems of its lines."""
    problems: list[Problem] = []
    found: list[tuple[int, Label]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found.append((number, read_label(_parse_line(line))))
        except DamagedError as error:
            faults = error.faults
            problems += (
                Problem("label.damaged", path_text(path) + message, name, number, hint=_HINT)
                for path, message in faults
            )
        except (ValueError, RecursionError) as error:
            problems.append(Problem("label.damaged", _not_json(error), name, number, hint=_HINT))
        if len(problems) >= MOST_PROBLEMS:
            break
    kept, contradictions = _each_once(found, name)
    problems += contradictions
    if problems:
        raise InputError(*problems[:MOST_PROBLEMS])
    bound = [label for label in kept if label.sample is not None]
    return Labels(name, tuple(kept), _trials(bound), tuple(label for label in kept if label.sample is None))


def _parse_line(line: str) -> object:
    found = json.loads(line, parse_constant=refuse_constant, parse_float=finite_float, object_pairs_hook=unique)
    json.dumps(found, ensure_ascii=False).encode()  # raises UnicodeEncodeError for half of a surrogate pair
    return found


def _not_json(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} (column {error.colno}), wanted one label as an object"
    if isinstance(error, UnicodeEncodeError):
        return "found half of a surrogate pair, wanted text"
    return "found lists or objects that are nested too deeply" if isinstance(error, RecursionError) else str(error)


def run_digest(judgments: Iterable[tuple[str, int, str]]) -> str:
    """The digest of a run, from the (id, trial, digest) of all its judgments in any order."""
    lines = sorted(json.dumps(judgment) for judgment in judgments)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def line_of(label: Label) -> str:
    """A label as a line of `labels.jsonl`, with its newline; in ASCII, so that a terminal obeys no character of it."""
    return json.dumps(msgspec.to_builtins(label), separators=(",", ":")) + "\n"


# --- the same label twice --------------------------------------------------------------------


def _key(label: Label) -> _Key:
    return label.id, label.trial, None if label.sample is None else label.sample.run


def is_same_judgment(first: Sampling, second: Sampling) -> bool:
    """Whether two labels are about the same judgment of a trial, even if they come from different draws."""
    return _judged_side(first) == _judged_side(second)


def _judged_side(sample: Sampling) -> tuple[Any, ...]:
    """What all labels of one trial must agree on, even if they come from different draws."""
    # Whether a judgment was reused does not make it another judgment.
    return sample.judge, sample.row, msgspec.structs.replace(sample.judged, replayed=False)


def _each_once(found: Iterable[tuple[int, Label]], name: str) -> tuple[list[Label], list[Problem]]:
    """The labels without repetitions, and the problems: contradicting answers, or other judgments of the same trial."""
    kept: list[Label] = []
    problems: list[Problem] = []
    answers: dict[tuple[_Key, str, str], tuple[int, bool | None]] = {}
    sides: dict[_Key, tuple[int, tuple[Any, ...]]] = {}
    for number, label in found:
        key = _key(label)
        if label.sample is not None:
            side = _judged_side(label.sample)
            first, other = sides.setdefault(key, (number, side))
            if other != side:
                problems.append(_other_judgment(label, name, number, first))
                continue
        place = (key, label.behavior, label.by)
        if place not in answers:
            answers[place] = (number, label.observed)
            kept.append(label)
        elif answers[place][1] != label.observed:
            problems.append(_contradiction(label, name, number, answers[place]))
    return kept, problems


def _trial_of(label: Label) -> str:
    return f"{label.id!r}, trial {label.trial}"


def _contradiction(label: Label, name: str, number: int, other: tuple[int, bool | None]) -> Problem:
    words = json.dumps(label.observed), json.dumps(other[1])
    message = f"found {words[0]}, but line {other[0]} says {words[1]} of {label.behavior!r} in {_trial_of(label)}"
    return Problem(
        "label.contradiction",
        f"observed: {message}, by {label.by!r} too",
        name,
        number,
        hint="remove one of the two lines",
    )


def _other_judgment(label: Label, name: str, number: int, first: int) -> Problem:
    message = f"sample: found another judgment of {_trial_of(label)} than in line {first}, of the same run"
    return Problem("label.other-judgment", message, name, number, hint="keep the labels of one judging in a file")


# --- from labels to trials -------------------------------------------------------------------


def _trials(labels: Sequence[Label]) -> tuple[LabeledTrial, ...]:
    by_trial: dict[_Key, list[Label]] = {}
    for label in labels:
        by_trial.setdefault(_key(label), []).append(label)
    return tuple(_trial(group) for group in by_trial.values())


def _trial(labels: Sequence[Label]) -> LabeledTrial:
    sample = labels[0].sample
    if sample is None:
        raise ValueError("only labels with a sample say which trial they are of")
    answers = {name: majority(label.observed for label in labels if label.behavior == name)
               for name in sample.judged.statements}  # fmt: skip
    known = {name: answer for name, answer in answers.items() if answer is not None}
    # What people cannot tell counts as a failure. Leaving such trials out would leave out the hard ones.
    seen = {label.behavior for label in labels}
    unclear = {name for name, answer in answers.items() if answer is None and name in seen}
    return LabeledTrial(
        id=labels[0].id,
        trial=labels[0].trial,
        sample=sample,
        statements={name: (judged.judgment, answers[name]) for name, judged in sample.judged.statements.items()},
        as_judged=sample.row,
        as_labeled=row_with_labels(sample.row, sample.judged, known, unclear),
        on=_oldest(labels),
    )


def _oldest(labels: Iterable[Label]) -> date | None:
    """The day of the oldest label; None if one of them does not say its day."""
    days = [label.on for label in labels]
    known = [day for day in days if day is not None]
    return min(known) if len(known) == len(days) else None


def majority(answers: Iterable[bool | None]) -> bool | None:
    """The answer of most people who could tell; None if nobody could, or if as many said yes as no.

    >>> majority([True, None, True, False]), majority([True, False]), majority([None])
    (True, None, None)
    """
    counted = Counter(answer for answer in answers if answer is not None)
    return None if counted[True] == counted[False] else counted[True] > counted[False]


# --- a row with people's answers -------------------------------------------------------------


def row_with_labels(
    row: Mapping[str, Any], judged: JudgedTrial, observed: Mapping[str, bool], unclear: Collection[str] = ()
) -> dict[str, Any]:
    """The row with what people observed instead of what the judge did.

    It gets `unjudged` if a statement has no answer, or if the answers do not decide a behavior. If only the judge left
    the trial undecided, its `unjudged` is removed. `unclear` are the statements that people could not tell or did not
    agree on: they are taken at their worst.
    """
    new = dict(row)
    missing = [name for name in judged.statements if name not in observed and name not in unclear]
    if missing:
        return _leave_undecided(new, f"{missing[0]} has no answer")
    decided: dict[str, bool] = {}
    for name in _behaviors(row, judged):
        worst = name in _names(row.get("must_not"))
        known = _is_observed_at_worst(name, judged, observed, unclear, worst=worst)
        if known is None:
            return _leave_undecided(new, f"the answers do not decide {name}")
        decided[name] = known
    # A count does not say which violations happened, so that the answers cannot replace the judge's part of it.
    if not isinstance(row.get("violations", []), list):
        return _leave_undecided(new, "violations has a count in place of names")
    if str(new.get("unjudged", "")).startswith(JUDGE_UNDECIDED.strip()):
        del new["unjudged"]
    _set_columns(new, decided)
    return new


def _leave_undecided(row: dict[str, Any], why: str) -> dict[str, Any]:
    return {**row, "unjudged": f"{UNDECIDED}{why}"}


def _behaviors(row: Mapping[str, Any], judged: JudgedTrial) -> Iterator[str]:
    """Every behavior that a judgment decides: those with a table, and those that are one statement."""
    parts = {name for behavior in judged.behaviors.values() for name in behavior.of}
    # A statement that the row demands by name is a behavior, even if it is also a part of another one.
    parts -= {*_names(row.get("must_not")), *_names(row.get("expected_behaviors")), "answer"}
    yield from judged.behaviors
    yield from (name for name in judged.statements if name not in judged.behaviors and name not in parts)


def _is_observed_at_worst(
    name: str, judged: JudgedTrial, observed: Mapping[str, bool], unclear: Collection[str], *, worst: bool
) -> bool | None:
    """Whether a behavior was observed; if unclear statements leave it open, `worst`. None if its table does not say."""
    if name in judged.behaviors and not judged.behaviors[name].table:
        return None  # before the combinations: without a table there can be any number of statements
    open_ = [each for each in _statements_of(name, judged) if each in unclear]
    combinations = product((False, True), repeat=len(open_))
    found = {_is_observed(name, judged, {**observed, **dict(zip(open_, each, strict=True))}) for each in combinations}
    return None if None in found else worst if worst in found else not worst


def _statements_of(name: str, judged: JudgedTrial) -> tuple[str, ...]:
    behavior = judged.behaviors.get(name)
    return (name,) if behavior is None else behavior.of


def _is_observed(name: str, judged: JudgedTrial, observed: Mapping[str, bool]) -> bool | None:
    """Whether a behavior was observed; None if its table does not say."""
    behavior = judged.behaviors.get(name)
    if behavior is None:
        return observed[name]
    place = sum(1 << bit for bit, statement in enumerate(behavior.of) if observed[statement])
    return {"1": True, "0": False}.get(behavior.table[place : place + 1])


def _set_columns(row: dict[str, Any], decided: Mapping[str, bool]) -> None:
    """Set `violations`, `correct` and `behaviors`: each decided name goes into the column of its demand."""
    forbidden, expected = _names(row.get("must_not")), _names(row.get("expected_behaviors"))
    judged_forbidden = [name for name in forbidden if name in decided]
    if judged_forbidden:
        happened = {name for name in row.get("violations", []) if name not in decided}
        happened |= {name for name in judged_forbidden if decided[name]}
        others = [name for name in row.get("violations", []) if name in happened and name not in forbidden]
        row["violations"] = [name for name in forbidden if name in happened] + others
    rest = {name: mark for name, mark in decided.items() if name not in forbidden}
    if "answer" in rest and "answer" not in expected:
        row["correct"] = rest.pop("answer")
    if rest:
        row["behaviors"] = _set_marks(row.get("behaviors", {}), rest)


def _names(demanded: object) -> list[str]:
    """The names in a column of demands: a list of names, an object by name, or a list of objects with names."""
    items = demanded if isinstance(demanded, list | Mapping) else ()
    return [str(item.get("name")) if isinstance(item, Mapping) else str(item) for item in items]


def _set_marks(marks: object, decided: Mapping[str, bool]) -> dict[str, bool] | list[str]:
    """`behaviors` with the decided marks, in the same form; a plain list has only the names that were observed."""
    if isinstance(marks, Mapping):
        return {**marks, **decided}
    items = marks if isinstance(marks, list) else []
    if any(isinstance(item, Mapping) for item in items):
        return {**{str(item["name"]): bool(item.get("observed")) for item in items}, **decided}
    kept = [name for name in items if decided.get(name, True)]
    return kept + [name for name, mark in decided.items() if mark and name not in kept]
