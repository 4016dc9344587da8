"""A problem with a results file → a hint what to do about it, or None."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from highbar.columns import BY_NAME, Form
from highbar.errors import Problem

CUT_OFF = "did the run end before it had written everything?"
ONE_MARK = "another file was put behind this one: name both, or take the mark (EF BB BF) off the second"
ONE_SPELLING = "write the name in one way, in every row and in the policy"
DUPLICATE = "keep one of the two: which of them counts would be left to chance"
NO_NUMBER = "write null where there is no number"
ONE_RESULT = 'a result is an object: {"id": …}'

_PYTHON_WORDS = (b"True", b"False", b"None")


def of_json(text: bytes) -> str | None:
    """The hint for text that is not JSON, by what it looks like instead."""
    start = text.lstrip()
    if start.startswith(b"version https://git-lfs"):
        return "this is a Git LFS pointer, not the file: run `git lfs pull`"
    if start.startswith((b"{'", b"[{'")):
        return "names and text stand in double quotes: write it with a JSON library"
    if any(word in text for word in _PYTHON_WORDS):
        return "write true, false and null: a JSON library does"
    if start.rstrip() in (b"{", b"["):
        return "one result per line, or name the file .json and write an array"
    if text.rstrip().endswith((b",}", b", }", b",]", b", ]")):
        return "no comma before } or ]"
    return None if start.startswith((b"{", b"[")) else "a .jsonl file has one JSON object per line"


def of_engine(error: Exception) -> Problem:
    """The problem with data that DuckDB or another library cannot read."""
    text = str(error)
    first_line = text.splitlines()[0] if text else type(error).__name__
    if "Map keys must be unique" in text or "duplicate key" in text:
        return Problem("row.duplicate-key", "a key occurs twice in a map, or in an object", hint=DUPLICATE)
    if "Invalid unicode" in text or "invalid UTF-8" in text:
        return Problem("file.not-utf8", "a text is not UTF-8", hint="write text as UTF-8")
    if "byte order mark" in text:
        message = "a byte order mark, which only the beginning of a file may have"
        return Problem("file.bad-character", message, hint=ONE_MARK)
    return Problem("results.unreadable", f"cannot be read: {first_line}")


def hint_for_value(column: str, value: object) -> str | None:
    """The hint for a value that its column cannot have."""
    by_form = _OF_FORM.get(BY_NAME[column].form, _quoted) if column in BY_NAME else _quoted
    return _OF_COLUMN.get(column, by_form)(value)


def of_number(value: object) -> str | None:
    """The hint for a value that should be a number."""
    if not isinstance(value, str):
        return None
    if is_number_text(value):
        return "write it without quotes"
    return "write the number alone, without a unit" if value[:1].isdigit() else None


def is_number_text(text: str | None) -> bool:
    """Whether a text is a number without an exponent."""
    return text is not None and text.replace(".", "", 1).removeprefix("-").isdigit()


def _truth(value: object) -> str | None:
    if isinstance(value, int | float) and value in (0, 1):
        return 'write true or false; a mapping can say it: { path: …, values: { "1": true, "0": false } }'
    return "write it without quotes" if value in ("true", "false") else "write true or false"


def _quoted(value: object) -> str | None:
    """The hint for a number or a truth value where text was wanted: it may be meant as an id or a label."""
    return "write it in quotes" if isinstance(value, bool | int | float) else None


def _listed(value: object) -> str | None:
    if isinstance(value, str):
        return 'write it as a list: ["…"]'
    twice = isinstance(value, list | tuple) and all(isinstance(item, Mapping) and "name" in item for item in value)
    return "say each name once" if twice else None


def _outcome(value: object) -> str | None:
    return "write it in small letters" if str(value).lower() in ("tp", "fp", "fn", "tn") else None


def _tags(value: object) -> str | None:
    if not isinstance(value, Mapping):
        return None
    named = all(str(name).strip(" ") for name in value)
    return "write every value as text" if named else "name the tag, or leave it out"


def _score(value: object) -> str | None:
    return "a score out of 100 is divided by 100 first" if isinstance(value, int | float) else of_number(value)


def _tokens(value: object) -> str | None:
    return "tokens are counted whole" if isinstance(value, float) else of_number(value)


def _weight(value: object) -> str | None:
    return "leave a scenario out that should not count" if value == 0 else of_number(value)


_OF_FORM: Mapping[Form, Callable[[object], str | None]] = {
    "truth": _truth,
    "names": _listed,
    "observed": _listed,
    "violated": _listed,
    "count": _listed,
    "outcome": _outcome,
    "tags": _tags,
    "number": of_number,
    "whole": of_number,
}
_OF_COLUMN: Mapping[str, Callable[[object], str | None]] = {
    "quality_score": _score,
    "tokens_used": _tokens,
    "weight": _weight,
}
"""Common mistakes in these columns, beyond those that their form covers."""
