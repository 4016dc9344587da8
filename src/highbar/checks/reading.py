"""A check as a suite writes it → a check as data, with every problem at once.

All checks in one mapping must hold. A plain text is a statement for a judge; under `answer` and under a JSON pointer it
is the wanted value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from highbar.checks import read_calls, read_texts, read_values, schemas
from highbar.checks.limits import DEEPEST_CHECK, MOST_STATEMENT
from highbar.checks.meant import in_example, negated_hint
from highbar.checks.names import CHECKS, LIMITS, MODIFIERS, OTHER_NAMES, VALUE_CHECKS
from highbar.checks.tree import (
    All,
    AnyOf,
    At,
    AtMost,
    Called,
    Check,
    Function,
    IsJson,
    JsonAt,
    Not,
    Statement,
    check_parts,
)
from highbar.checks.values import json_number, read_pointer
from highbar.documents.problems import ValueCursor, ValueProblem
from highbar.language.spelling import did_you_mean

_FUNCTION = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")

_LATIN = "[A-Za-z0-9_\u00c0-\u024f]+"
NAME_PATTERN = rf"{_LATIN}(?:[.:/-]{_LATIN})*"
"""One word, such as the name of a behavior. Only Latin letters: in scripts without spaces, a sentence would match."""
_NAME = re.compile(NAME_PATTERN)


class Reading(Struct, frozen=True):
    """The check, which is None if there is a problem, and all problems."""

    check: Check | None
    problems: tuple[ValueProblem, ...]


def read(value: Any, *, must_not: bool = False, folder: Path | None = None) -> Reading:
    """A check of an answer, as in `expected_behaviors`, `must_not` and the glossary.

    `value` is decoded JSON or YAML. A check that always holds is a problem, and so is a check under `must_not` that
    never holds, since nothing could ever violate it. Schema files must be below `folder`.
    """
    place = ValueCursor(folder=folder)
    return _reading(_answer_check(value, place, 0), place, must_not=must_not)


def read_answer(value: Any, *, folder: Path | None = None) -> Reading:
    """The check under `answer`: as `read`, but a bare value means `equals`."""
    place = ValueCursor(folder=folder)
    check = _answer_check(value if isinstance(value, dict) else {"equals": value}, place, 0)
    if not isinstance(value, dict):  # paths must lead to what the suite says, which has no `equals`
        place.problems[:] = [replace(problem, path=problem.path[1:]) for problem in place.problems]
    return _reading(check, place, must_not=False)


def _reading(check: Check | None, place: ValueCursor, *, must_not: bool) -> Reading:
    if check is not None and not place.problems:
        for text in _constant_faults(check, must_not=must_not):
            place.refuse("check.constant", text)
    return Reading(None if place.problems else check, tuple(place.problems))


def _constant_faults(check: Check, *, must_not: bool) -> Iterator[str]:
    """Combinations of checks that always hold, or never; the readers refuse single checks that do."""
    if _is_constant(check, holds=True):
        yield "this check always holds"
    elif _is_constant(check, holds=False) and must_not:
        yield "this check never holds, so nothing could violate it"
    else:
        values = check.values if isinstance(check, JsonAt) else check.where if isinstance(check, Called) else ()
        for inner in (*check_parts(check), *(at.check for at in values)):
            yield from _constant_faults(inner, must_not=False)


def _is_constant(check: Check, *, holds: bool) -> bool:
    """Whether a check holds for every answer (or, with `holds=False`, for none), whatever its parts find."""
    if isinstance(check, Not):
        return _is_constant(check.check, holds=not holds)
    if isinstance(check, All | AnyOf):
        if isinstance(check, All) != holds:  # one constant part is enough, and so are two that contradict each other
            flat = _flat_parts(check)
            written = {repr(part) for part in flat}
            opposite = any(isinstance(part, Not) and repr(part.check) in written for part in flat)
            return opposite or any(_is_constant(part, holds=holds) for part in flat)
        return all(_is_constant(part, holds=holds) for part in check.checks)
    return False


def _flat_parts(check: All | AnyOf) -> list[Check]:
    """The parts of a check; a part that is combined in the same way is replaced by its own parts."""
    return [
        part
        for inner in check.checks
        for part in (_flat_parts(inner) if isinstance(inner, All | AnyOf) and type(inner) is type(check) else [inner])
    ]


def _answer_check(value: Any, place: ValueCursor, depth: int) -> Check | None:
    if isinstance(value, str):
        if _NAME.fullmatch(value.strip()):
            hint = (
                f"write a check, {{contains: {in_example(value)}}}, or a sentence that is true or not;"
                " names of defined behaviors are a list: [name]"
            )
            place.refuse_value(value, "a check or a statement in plain words, not one word", hint)
            return None
        return _statement(value, place)
    if isinstance(value, list | tuple):
        place.refuse_value(value, "a check", "write `any: […]` or `all: […]`")
        return None
    return _mapping(value, place, depth, CHECKS, _ANSWER_READERS, _answer_check)


def _value_check(value: Any, place: ValueCursor, depth: int) -> Check | None:
    """A check of the JSON value at a pointer; anything but a mapping is the wanted value itself."""
    if not isinstance(value, dict):
        return read_values.read_equals({"equals": value}, place, path=())
    return _mapping(value, place, depth, VALUE_CHECKS, _VALUE_READERS, _value_check)


_Entries = Mapping[str, Any]
_Reader = Callable[[_Entries, ValueCursor], Check | None]
_Inner = Callable[[Any, ValueCursor, int], Check | None]


def _mapping(
    value: Any,
    place: ValueCursor,
    depth: int,
    checks: Mapping[str, tuple[str, ...]],
    readers: Mapping[str, _Reader],
    inner: _Inner,
) -> Check | None:
    """All checks of a mapping, each with its own modifiers."""
    if not isinstance(value, dict):
        place.refuse_value(value, "a check: a mapping such as {contains: …}, or a statement in plain words")
        return None
    if depth > DEEPEST_CHECK:
        place.refuse("suite.too-large", f"checks are nested deeper than {DEEPEST_CHECK} levels")
        return None
    names = [name for name in value if name in checks]
    _refuse_others(value, names, place, checks)
    if not names:
        if not value:
            place.refuse("check.constant", "an empty mapping checks nothing")
        return None
    found: list[Check | None] = []
    for name in names:
        entries = {name: value[name], **{key: value[key] for key in checks[name] if key in value}}
        if name in ("all", "any"):
            found.append(_several(name, value[name], place.at(name), depth, inner))
        elif name == "not":
            negated = inner(value[name], place.at(name), depth + 1)
            found.append(None if negated is None else Not(negated))
        elif name in ("json", "state", "context"):
            found.append(_pointers(name, entries, place, depth))
        elif name == "calls":
            found.append(read_calls.read_calls_check(entries, place, lambda given, at: _at_values(given, at, depth)))
        else:
            found.append(readers[name](entries, place))
    sound = [check for check in found if check is not None]
    return None if len(sound) < len(found) else sound[0] if len(sound) == 1 else All(tuple(sound))


def _refuse_others(
    value: Mapping[Any, Any], names: list[str], place: ValueCursor, checks: Mapping[str, tuple[str, ...]]
) -> None:
    """Refuse unknown names, and modifiers that belong to none or to several of the checks beside them."""
    for key in value:
        if key in checks:
            continue
        inside = place.at(key if isinstance(key, str) else str(key))
        taking = [name for name in names if key in checks[name]]
        if key in MODIFIERS and not taking:
            others = [name for name, taken in checks.items() if key in taken]
            hint = f"it belongs to {_listed(others)}" if others else None
            inside.refuse("suite.misplaced-key", f"'{key}' belongs to none of the checks beside it", hint)
        elif len(taking) > 1:
            inside.refuse(
                "suite.misplaced-key",
                f"'{key}' could belong to {_listed(taking)}",
                "write them as two checks under `all:`",
            )
        elif not taking:
            _refuse_unknown(str(key), value[key], inside, checks)


def _refuse_unknown(key: str, value: Any, place: ValueCursor, checks: Mapping[str, tuple[str, ...]]) -> None:
    spelled = key.lower().replace("-", "_")
    known = {**checks, **dict.fromkeys(MODIFIERS)}
    meant = spelled if spelled in known else OTHER_NAMES.get(spelled)
    if meant not in known:
        meant = next((name for name in LIMITS if spelled and name.startswith(spelled) and name in checks), None)
    if meant is not None:
        place.refuse("check.unknown", f"unknown check '{key[:60]}'", f"did you mean '{meant}'?")
        return
    listed = f"checks are {', '.join(checks)}"
    if checks is VALUE_CHECKS:
        listed = f"to compare with a mapping, write `equals: {{…}}`; {listed}"
    place.refuse(
        "check.unknown",
        f"unknown check '{key[:60]}'",
        negated_hint(key, value, checks) or did_you_mean(key, known) or listed,
    )


def _listed(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _several(name: str, value: Any, place: ValueCursor, depth: int, inner: _Inner) -> Check | None:
    if not isinstance(value, list | tuple) or not value:
        place.refuse_value(value, "a list of at least one check")
        return None
    found = [inner(item, place.at(i), depth + 1) for i, item in enumerate(value)]
    sound = tuple(check for check in found if check is not None)
    if len(sound) < len(found):
        return None
    return All(sound) if name == "all" else AnyOf(sound)


def _pointers(name: str, entries: _Entries, place: ValueCursor, depth: int) -> Check | None:
    reply, whole = read_texts.read_which(entries, place), read_texts.read_flag(entries, "whole", place)
    ignores = read_texts.ignores_reasoning(entries, place)
    values = _at_values(entries[name], place.at(name), depth)
    return None if values is None else JsonAt(name, values, reply, whole, ignores)  # type: ignore[arg-type]  # one of the three


def _at_values(value: Any, place: ValueCursor, depth: int) -> Any:
    """JSON pointers, each with the check of the value that it leads to; None if there is a problem."""
    if not isinstance(value, dict) or not value:
        place.refuse_value(value, "a mapping from JSON pointers to checks", "for example {/total: {at_least: 1}}")
        return None
    found = []
    for pointer, check in value.items():
        parts = read_pointer(pointer) if isinstance(pointer, str) else "a JSON pointer is text"
        inside = place.at(pointer if isinstance(pointer, str) else str(pointer))
        if isinstance(parts, str):
            inside.refuse("check.bad-pointer", f"{parts}, found '{str(pointer)[:60]}'", _pointer_hint(pointer))
            continue
        inner = _value_check(check, inside, depth + 1)
        if inner is not None:
            found.append(At(pointer, parts, inner))
    return tuple(found) if len(found) == len(value) else None


def _pointer_hint(pointer: Any) -> str | None:
    if not isinstance(pointer, str) or not re.fullmatch(r"\$?\.?[\w.]{1,60}", pointer):
        return None
    return f"write /{pointer.removeprefix('$').removeprefix('.').replace('.', '/')}"


def _statement(value: Any, place: ValueCursor) -> Check | None:
    if not isinstance(value, str) or not value.strip():
        place.refuse_value(value, "a statement in plain words")
        return None
    if len(value) > MOST_STATEMENT:
        hint = "make several statements of it, each a behavior of its own"
        place.refuse(
            "suite.too-large",
            f"a statement of {len(value)} characters, and a judge reads at most {MOST_STATEMENT}",
            hint,
        )
        return None
    return Statement(value.strip())


def _is_json(entries: _Entries, place: ValueCursor) -> Check | None:
    value, inside = entries["is_json"], place.at("is_json")
    reply, whole = read_texts.read_which(entries, place), read_texts.read_flag(entries, "whole", place)
    if value is True:
        return IsJson(None, reply, whole)
    if isinstance(value, str):
        if place.folder is None:
            inside.refuse("check.bad-schema", "schema files must be below the suite's folder, and this check has none")
            return None
        try:
            value = schemas.read_file(value, place.folder)
        except ValueError as error:
            inside.refuse("check.bad-schema", str(error))
            return None
    if not isinstance(value, dict):
        hint = "for the opposite, write `not: {is_json: true}`" if value is False else None
        inside.refuse_value(value, "true, a JSON Schema, or the name of a file that holds one", hint)
        return None
    if not read_values.is_json_value(value, inside):
        return None
    faults = list(schemas.schema_faults(value))
    for path, text, hint in faults:
        inside.at(*path).refuse("check.bad-schema", text, hint)
    return None if faults else IsJson(schemas.schema_text(value), reply, whole)


def _function(entries: _Entries, place: ValueCursor) -> Check | None:
    value = entries["python"]
    if not isinstance(value, str) or not _FUNCTION.fullmatch(value):
        place.at("python").refuse_value(value, "module:function")
        return None
    return Function(value)


def _limit(name: str) -> _Reader:
    def read_limit(entries: _Entries, place: ValueCursor) -> Check | None:
        value = entries[name]
        inside = place.at(name)
        if isinstance(value, dict) and list(value) == ["at_most"]:
            value, inside = value["at_most"], inside.at("at_most")
        most = json_number(value)
        if most is None or most < 0:
            inside.refuse_value(value, "a number, 0 or more: the most that is accepted")
            return None
        return AtMost(name, most)

    return read_limit


_TEXT_READERS: Mapping[str, _Reader] = {
    "contains": read_texts.read_texts("contains"),
    "contains_all": read_texts.read_texts("contains_all"),
    "starts_with": read_texts.read_texts("starts_with"),
    "matches": read_texts.read_matches,
    "words": read_texts.read_words,
    "number": read_texts.read_number_is,
}
_ANSWER_READERS: Mapping[str, _Reader] = {
    **_TEXT_READERS,
    "equals": read_texts.read_texts("equals"),
    "is_json": _is_json,
    "calls_in_order": read_calls.read_in_order,
    "calls_only": read_calls.read_only,
    **{name: _limit(name) for name in LIMITS},
    "python": _function,
    "judge": lambda entries, place: _statement(entries["judge"], place.at("judge")),
}
_VALUE_READERS: Mapping[str, _Reader] = {
    **_TEXT_READERS,
    "equals": read_values.read_equals,
    "same_items": read_values.read_same_items,
    "at_least": read_values.read_bound,
    "at_most": read_values.read_bound,
}
