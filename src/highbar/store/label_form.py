"""The form of one line of `labels.jsonl`: its keys, their values, and which of them must agree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from typing import Any

from highbar.language.spelling import near_miss
from highbar.model.judgments import BehaviorTable, JudgedStatement, JudgedTrial, JudgmentWord, Label, Sampling
from highbar.store.forms import (
    COUNT,
    DIGEST,
    FLAG,
    TEXT,
    TEXTS,
    WHOLE,
    Context,
    DamagedError,
    Field,
    Form,
    document_value,
    field,
    list_of,
    object_of,
    one_of,
    optional,
    read_members,
    read_object,
)

GIVEN = "given"
"""The stratum of labels that were written by hand and bound to a run afterwards, not drawn at random."""
STRATA = ("passed", "failed", GIVEN)
LARGEST_WHOLE = 2**63 - 1
"""The largest number of 64 bits, as in results."""
_LONGEST_NAME = 200
"""Characters of a person's name."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


def read_label(found: object) -> Label:
    """The label in one line. Raises DamagedError with all faults of the line."""
    label: Label = _LABEL.read(found, Context())
    faults = list(_contradictions(label))
    if faults:
        raise DamagedError(*faults)
    return label


def _checked(form: Form, wanted: str, fits: Callable[[Any], bool]) -> Form:
    """The form, with a reader that also refuses values that do not fit."""

    def read(found: Any, context: Context) -> Any:
        value = form.read(found, context)
        if not fits(value):
            raise DamagedError(((), f"found {document_value(found)}, wanted {wanted}"))
        return value

    return form._replace(read=read)


def _strict(build: Callable[..., Any], *fields: Field, defaults: Mapping[str, Any] | None = None) -> Form:
    """An object that refuses misspelled keys, which would be ignored; keys with `defaults` may be left out."""
    form = object_of(build, *fields)
    known = [each.name for each in fields]

    def read(found: Any, context: Context) -> Any:
        if isinstance(found, dict):
            faults = [
                ((), f"found the key {document_value(key)}, wanted '{meant}'")
                for key in found
                if (meant := near_miss(key, known)) is not None
            ]
            if faults:
                raise DamagedError(*faults)
            found = {**(defaults or {}), **found}
        return form.read(found, context)

    return form._replace(read=read)


def _by_name(form: Form) -> Form:
    """An object from names to values of one form."""

    def read(found: Any, context: Context) -> dict[str, Any]:
        return read_members(read_object(found), dict.fromkeys(found, form.read), context)

    return Form({"type": "object", "additionalProperties": form.schema}, lambda values, _context: values, read)


def _id(found: Any, _context: Context) -> str:
    """The id as text: results may have whole numbers as ids."""
    if type(found) is int and abs(found) <= LARGEST_WHOLE:
        return str(found)
    if not isinstance(found, str) or not found or _CONTROL.search(found):
        raise DamagedError(((), f"found {document_value(found)}, wanted the id of a scenario"))
    return found


def _observed(found: Any, _context: Context) -> bool | None:
    if found is not None and not isinstance(found, bool):
        raise DamagedError(((), f"found {document_value(found)}, wanted true, false, or null for: cannot tell"))
    return found


def _day(found: Any, _context: Context) -> date | None:
    try:
        if found is None or _DAY.fullmatch(found):
            return None if found is None else date.fromisoformat(found)
    except (TypeError, ValueError):
        pass
    raise DamagedError(((), f"found {document_value(found)}, wanted the day of the label, such as 2026-11-17"))


def _row(found: Any, _context: Context) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise DamagedError(((), f"found {document_value(found)}, wanted an object with the columns of a row"))
    return found


_ID = Form({"type": ["string", "integer"]}, lambda value, _context: value, _id)
_TRIAL = _checked(WHOLE, "a whole number of at most 64 bits", lambda trial: abs(trial) <= LARGEST_WHOLE)
_NAME = _checked(TEXT, "a name", lambda name: bool(name.strip()))
_PERSON = _checked(
    TEXT,
    f"who labeled it: a name of at most {_LONGEST_NAME} characters, on one line",
    lambda name: bool(name.strip()) and len(name) <= _LONGEST_NAME and not _CONTROL.search(name),
)
_JUDGED = _strict(
    JudgedTrial,
    field("digest", DIGEST),
    field("conversation", DIGEST),
    field(
        "statements",
        _by_name(
            _strict(
                JudgedStatement,
                field("statement", TEXT),
                field("judgment", one_of(JudgmentWord)),
                field("evidence", optional(TEXT)),
                field("votes", list_of(one_of(JudgmentWord))),
                defaults={"evidence": None, "votes": []},
            )
        ),
    ),
    field("behaviors", _by_name(_strict(BehaviorTable, field("of", TEXTS), field("table", TEXT)))),
    field("replayed", FLAG),
    defaults={"behaviors": {}, "replayed": False},
)
_SIZE = _checked(COUNT, "a whole number of at most 64 bits", lambda size: size <= LARGEST_WHOLE)
_SAMPLE = _strict(
    Sampling,
    field("run", DIGEST),
    field("seed", _SIZE),
    field("stratum", _checked(TEXT, " or ".join(STRATA), lambda word: word in STRATA)),
    field("drawn", _SIZE),
    field("of", _SIZE),
    field("judge", optional(TEXT)),
    field("row", Form({"type": "object"}, lambda value, _context: value, _row)),
    field("judged", _JUDGED),
)
_LABEL = _strict(
    Label,
    field("id", _ID),
    field("trial", _TRIAL),
    field("behavior", _NAME),
    field("observed", Form({"type": ["boolean", "null"]}, lambda value, _context: value, _observed)),
    field("by", _PERSON),
    field("sample", optional(_SAMPLE)),
    field("on", Form({"type": ["string", "null"]}, lambda value, _context: value, _day)),
    defaults={"sample": None, "on": None},
)


def read_judged(found: object) -> JudgedTrial:
    """The column `judged` of a row. Raises DamagedError with all its faults."""
    judged: JudgedTrial = _JUDGED.read(found, Context())
    faults = list(_judged_contradictions(judged))
    if faults:
        raise DamagedError(*faults)
    return judged


def _contradictions(label: Label) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Contradictions in a label with a sample: its statement, its row and its judgment must be those of its trial."""
    sample = label.sample
    if sample is None:
        return
    if label.behavior not in sample.judged.statements:
        known = " or ".join(document_value(name) for name in sample.judged.statements)
        yield ("behavior",), f"found {document_value(label.behavior)}, wanted {known or 'a judged statement'}"
    if sample.drawn > sample.of or (sample.stratum != GIVEN and sample.drawn < 1):
        yield ("sample", "drawn"), f"found {sample.drawn} of {sample.of} trials"
    row = sample.row
    if (str(row.get("id")), row.get("trial", 1)) != (label.id, label.trial):
        yield ("sample", "row"), f"found the row of another trial than {document_value(label.id)}, trial {label.trial}"
    for path, message in _judged_contradictions(sample.judged):
        yield ("sample", "judged", *path), message
    for name in ("expected_behaviors", "must_not", "violations", "behaviors"):
        value = row.get(name)
        if isinstance(value, list) and not all(isinstance(item, str) for item in value):
            yield ("sample", "row", name), f"found {document_value(value)}, wanted a list of names"


def _judged_contradictions(judged: JudgedTrial) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if not judged.statements:
        yield ("statements",), "found no statement, wanted at least one"
    for name, behavior in judged.behaviors.items():
        unknown = [each for each in behavior.of if each not in judged.statements]
        if unknown:
            yield ("behaviors", name, "of"), f"found {document_value(unknown[0])}, which is not among the statements"
        wanted = 1 << min(len(behavior.of), 64)
        if not behavior.table:  # too many statements to list all combinations
            continue
        if len(behavior.table) != wanted or not set(behavior.table) <= set("01?"):
            found = document_value(behavior.table)
            yield ("behaviors", name, "table"), f"found {found}, wanted {wanted} characters, each 0, 1 or ?"
