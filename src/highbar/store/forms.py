"""Forms: a value of the model ↔ JSON, and the JSON Schema of that JSON, each described once.

A `Form` has three parts that must agree: a writer, a reader, and a schema. Documents are composed of forms, so that no
part can be changed alone. Reading is strict, and ends at the first fault.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from operator import attrgetter
from typing import Any, NamedTuple, get_args

from highbar.language.digits import as_float
from highbar.model import Value, Where
from highbar.model.number import Number

MOST_SHOWN = 40  # characters of a wrong value that a message repeats


class Context(NamedTuple):
    """What a field needs to know about the rest of its document.

    `bounds` has the thresholds of each metric: a written number is on the same side of them as the exact one. `here`
    has the thresholds of the metric whose fields are being written or read. `values` has the document's values by
    metric and slice, because a rule repeats only the numbers of its value.
    """

    bounds: Mapping[str, tuple[Fraction, ...]] = {}
    here: tuple[Fraction, ...] = ()
    values: Mapping[tuple[str, Where], Value] = {}

    def of(self, metric: object) -> Context:
        """The context for the fields of one metric."""
        return self._replace(here=self.bounds.get(metric, ()) if isinstance(metric, str) else ())


Path = tuple[str | int, ...]
"""Keys and indexes that lead to a value: ("rules", 0, "level")."""


class DamagedError(Exception):
    """A document does not fit its forms; each fault is a path and a message."""

    def __init__(self, *faults: tuple[Path, str]) -> None:
        super().__init__(faults)
        self.faults = faults

    def below(self, step: str | int) -> Iterator[tuple[Path, str]]:
        """The faults with paths that start at the value that contains this one."""
        return (((step, *path), message) for path, message in self.faults)


class Form(NamedTuple):
    """One kind of value. `write` converts it to JSON; `read` converts it back, or raises DamagedError."""

    schema: Mapping[str, Any]
    write: Callable[[Any, Context], Any]
    read: Callable[[Any, Context], Any]


class Field(NamedTuple):
    """A member of a JSON object: its name, its form, the function that gets its value, and the argument that sets it.

    `argument` is None if the member is not needed to rebuild the object.
    """

    name: str
    form: Form
    get: Callable[[Any], Any]
    argument: str | None


def field(name: str, form: Form, description: str | None = None, *, of: str | Callable[[Any], Any] = "") -> Field:
    """A member whose value is the attribute of the same name, or `of`: another attribute, or a function."""
    if description is not None:
        form = form._replace(schema={**form.schema, "description": description})
    if callable(of):
        return Field(name, form, of, name)
    return Field(name, form, attrgetter(of or name), (of or name).replace(".", "_"))


def constant(name: str, value: str) -> Field:
    """A member that is always the same text."""
    form = Form({"const": value}, lambda *_: value, _reader(repr(value), lambda found: found == value))
    return Field(name, form, lambda _: value, None)


def object_of(build: Callable[..., Any], *fields: Field, description: str | None = None) -> Form:
    """An object with these members; `build` is called with their arguments. Other members are allowed, and ignored."""
    schema: dict[str, Any] = {"type": "object"}
    if description is not None:
        schema["description"] = description
    schema["required"] = [each.name for each in fields]
    schema["properties"] = {each.name: each.form.schema for each in fields}

    def write(value: Any, context: Context) -> dict[str, Any]:
        return {each.name: each.form.write(each.get(value), context) for each in fields}

    def read(found: Any, context: Context) -> Any:
        members = {each.name: each.form.read for each in fields}
        values = read_members(read_object(found), members, context)
        return build(**{each.argument: values[each.name] for each in fields if each.argument is not None})

    return Form(schema, write, read)


def rebuilt(form: Form, build: Callable[[Any, Context], Any]) -> Form:
    """The form, with a reader that passes what `form` reads to `build`, together with the context."""
    return form._replace(read=lambda found, context: build(form.read(found, context), context))


def for_metric(form: Form) -> Form:
    """A form of an object with a `metric`, whose numbers are compared with the thresholds of that metric."""
    return form._replace(
        write=lambda value, context: form.write(value, context.of(value.metric)),
        read=lambda found, context: form.read(found, context.of(read_object(found).get("metric"))),
    )


def by_metric(form: Form) -> Form:
    """An object from metrics to values."""

    def write(values: Mapping[str, Any], context: Context) -> dict[str, Any]:
        return {name: form.write(value, context.of(name)) for name, value in values.items()}

    def read(found: Any, context: Context) -> dict[str, Any]:
        members = {name: _of_metric(form, name) for name in read_object(found)}
        return read_members(found, members, context)

    return Form({"type": "object", "additionalProperties": form.schema}, write, read)


def _of_metric(form: Form, metric: str) -> Callable[[Any, Context], Any]:
    return lambda found, context: form.read(found, context.of(metric))


def list_of(form: Form, **limits: int) -> Form:
    """An array, with `minItems` or `maxItems` if given; a tuple in the model."""
    least, most = limits.get("minItems", 0), limits.get("maxItems", math.inf)

    def read(found: Any, context: Context) -> tuple[Any, ...]:
        if not isinstance(found, list):
            raise _wrong_form(found, "a list")
        if not least <= len(found) <= most:
            wanted = f"at least {least}" if least else f"at most {most}"
            raise DamagedError(((), f"found a list of {len(found)}, wanted {wanted}"))
        members = dict.fromkeys(range(len(found)), form.read)
        return tuple(read_members(found, members, context).values())

    schema = {"type": "array", **limits, "items": form.schema}
    return Form(schema, lambda values, context: [form.write(value, context) for value in values], read)


def optional(form: Form) -> Form:
    """The form, or null."""
    return Form(
        _or_null(form.schema),
        lambda value, context: None if value is None else form.write(value, context),
        lambda found, context: None if found is None else form.read(found, context),
    )


def _or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    if "type" in schema and schema["type"] != "object":
        return {**schema, "type": [schema["type"], "null"]}
    return {"oneOf": [schema, {"type": "null"}]}


def one_of(words: Any) -> Form:
    """One of the words of a Literal."""
    known = get_args(words)
    wanted = " or ".join(known)
    return Form(
        {"enum": list(known)}, _as_it_is, _reader(wanted, lambda found: isinstance(found, str) and found in known)
    )


def shared_form(name: str, form: Form) -> Form:
    """The form, with a schema that refers to the document's `$defs` under this name."""
    return form._replace(schema={"$ref": f"#/$defs/{name}"})


def _as_it_is(value: Any, _context: Context) -> Any:
    return value


def _reader(wanted: str, fits: Callable[[Any], bool]) -> Callable[[Any, Context], Any]:
    def read(found: Any, _context: Context) -> Any:
        if not fits(found):
            raise _wrong_form(found, wanted)
        return found

    return read


_A_NUMBER = "a number within ±1e308"


def _is_number(found: object) -> bool:
    """Whether this is a number that a double can hold; `math.isfinite` raises OverflowError for a larger integer."""
    return isinstance(found, int | float) and not isinstance(found, bool) and abs(found) <= sys.float_info.max


def _plain(schema: Mapping[str, Any], wanted: str, fits: Callable[[Any], bool]) -> Form:
    return Form(schema, _as_it_is, _reader(wanted, fits))


# `type(found) is int` below, and not `isinstance`: in Python, True and False are instances of int.
TEXT = _plain({"type": "string"}, "text", lambda found: isinstance(found, str))
FLAG = _plain({"type": "boolean"}, "true or false", lambda found: isinstance(found, bool))
WHOLE = _plain({"type": "integer"}, "a whole number", lambda found: type(found) is int)
COUNT = _plain(
    {"type": "integer", "minimum": 0}, "a whole number from 0 on", lambda found: type(found) is int and found >= 0
)
NUMBER = _plain({"type": "number"}, _A_NUMBER, _is_number)
SHARE = _plain(
    {"type": "number", "minimum": 0, "maximum": 1},
    "a number from 0 to 1",
    lambda found: _is_number(found) and 0 <= found <= 1,
)
NULL = _plain({"type": "null"}, "null", lambda found: found is None)
TEXTS = list_of(TEXT)
DIGEST = _plain(
    {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "64 hexadecimal digits",
    lambda found: isinstance(found, str) and re.fullmatch("[0-9a-f]{64}", found) is not None,
)


def _rounded(value: Fraction, context: Context) -> float:
    return as_float(value, context.here)


def _exact(found: Any, context: Context) -> Number:
    """An exact number that would be written as `found`: the decimal as it is, or the threshold that it equals."""
    if not _is_number(found):
        raise _wrong_form(found, _A_NUMBER)
    number = float(found)
    # The plain decimal first: 0.9 means nine tenths, although the nearest double is a little more.
    candidates = (Fraction(repr(number)), *context.here, Fraction(number))
    return Number(next((each for each in candidates if as_float(each, context.here) == number), candidates[0]))


EXACT = Form({"type": "number"}, _rounded, _exact)
"""A fraction, written as the nearest double on the same side of the thresholds of its metric."""


def _end(value: float | None, _context: Context) -> float | None:
    return value if value is not None and math.isfinite(value) else None


END = optional(NUMBER)._replace(write=_end)
"""An end of an interval; null if there is no interval, or if the data do not bound this end."""


def read_object(found: Any) -> Mapping[str, Any]:
    """An object as it is. Raises DamagedError for anything else."""
    if not isinstance(found, dict):
        raise _wrong_form(found, "an object")
    return found


def read_members(found: Any, members: Mapping[Any, Callable[[Any, Context], Any]], context: Context) -> dict[Any, Any]:
    """The members of an object or array, read. Raises DamagedError at the first one that is wrong."""
    values: dict[Any, Any] = {}
    for name, read in members.items():
        try:
            values[name] = read(_member(found, name), context)
        except DamagedError as error:
            raise DamagedError(*error.below(name)) from None
    return values


def _member(found: Any, name: str | int) -> Any:
    if isinstance(name, str) and name not in found:
        raise DamagedError(((), "is missing"))
    return found[name]


def _wrong_form(found: object, wanted: str) -> DamagedError:
    return DamagedError(((), f"found {document_value(found)}, wanted {wanted}"))


def document_value(found: object) -> str:
    """A value of a document as messages show it: cut, and with only the kind of an object or list."""
    if isinstance(found, dict | list):
        return "an object" if isinstance(found, dict) else "a list"
    text = (
        {None: "null", True: "true", False: "false"}[found]
        if found is None or isinstance(found, bool)
        else ascii(found)
    )
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "…"
