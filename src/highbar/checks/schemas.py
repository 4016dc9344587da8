"""JSON Schema: whether a schema can be used, and whether a value meets it. Offline, and patterns take linear time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from highbar.checks.limits import MOST_SCHEMA_BYTES
from highbar.checks.schema_words import SAY_NOTHING, Fault, ignored_words
from highbar.checks.values import NotJson, Unreadable, decode_json, replace_surrogates

_LATER_FORMATS = ("uuid", "duration")
"""Formats that came after draft 7. Generators of schemas write them in older drafts, too."""
_ADVICE = ". Adjust configuration to ignore unrecognized formats"
"""What the validator advises those who call it, after the name of an unknown format."""


def schema_faults(schema: Mapping[str, Any]) -> Iterator[Fault]:
    """What is wrong with a schema."""
    yield from ignored_words(schema)
    if all(word in SAY_NOTHING or word.startswith("x-") for word in schema):
        yield (), "this schema accepts every value", "write `is_json: true`"
    try:
        _validator(schema_text(schema))
    except ValueError as error:
        hint = "leave it out, or write it as a `pattern`" if "Unknown format" in str(error) else None
        yield (), f"not a valid JSON Schema: {_first_line(error)}", hint


def schema_text(schema: Any) -> str:
    """A schema as JSON text, the form that a check stores."""
    return json.dumps(schema, default=_plain)


def read_file(name: str, folder: Path) -> Any:
    """The schema in a file below `folder`. Raises ValueError that says what is wrong with the file."""
    try:
        path = (folder / name).resolve()
        outside = not path.is_relative_to(folder.resolve())
        if outside or not path.is_file():
            wrong = "is not below the suite's folder" if outside else "does not exist or is not a file"
            raise ValueError(f"the schema file {name!r} {wrong}")
        with path.open("rb") as file:
            content = file.read(MOST_SCHEMA_BYTES + 1)
    except OSError as error:
        raise ValueError(f"the schema file {name!r} cannot be read: {error.strerror}") from None
    if len(content) > MOST_SCHEMA_BYTES:
        raise ValueError(f"the schema file {name!r} is larger than {MOST_SCHEMA_BYTES} bytes")
    try:
        return decode_json(content.decode("utf-8"))
    except (NotJson, Unreadable, UnicodeDecodeError) as error:
        raise ValueError(f"the schema file {name!r} is not JSON: {error}") from None


def meets(value: Any, schema: str) -> str | None:
    """What is wrong with a value by a schema (as JSON text); None if the value meets it."""
    # Loaded only if a suite has a schema.
    from jsonschema_rs import ValidationError

    validator, read = _validator(schema), replace_surrogates(value)
    if validator.is_valid(read):
        return None
    try:
        validator.validate(read)
    except ValidationError as error:
        place = "".join(f"/{part}" for part in error.instance_path)
        return f"{_first_line(error)} (at {place})" if place else _first_line(error)
    except ValueError:  # to show a number of more than 4,300 digits, which Python refuses to write
        pass
    return "the value does not meet the schema"


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    # Only for a suite with schemas.
    from jsonschema_rs import ReferencingError, RegexOptions, ValidationError, validator_for

    try:
        return validator_for(
            json.loads(schema, parse_float=Decimal),
            # The newest drafts leave formats to the validator, which ignores them unless told otherwise.
            validate_formats=True,
            ignore_unknown_formats=False,
            formats={name: _format_of_newest_draft(name) for name in _LATER_FORMATS},
            pattern_options=RegexOptions(),
            offline=True,
        )
    except (ValidationError, ReferencingError) as error:  # a ValueError each
        raise ValueError(_first_line(error).removesuffix(_ADVICE)) from None


@lru_cache
def _format_of_newest_draft(name: str) -> Callable[[str], bool]:
    """Whether a text has a format of the newest draft."""
    # Only for a suite with schemas.
    from jsonschema_rs import Draft202012Validator

    is_valid: Callable[[str], bool] = Draft202012Validator({"format": name}, validate_formats=True).is_valid
    return is_valid


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    raise ValueError(f"{value!r} is no JSON value")


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:300]
