"""One object of another tool's file: access to its values by key and wanted type, and the refusal of a file."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from msgspec.structs import replace

from highbar.errors import InputError, Problem
from highbar.importers.limits import LARGEST_NUMBER, LONGEST_SHOWN, MOST_SCORERS
from highbar.language.phrases import some_and_more

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_NUMBERS = (int, float)


def refuse(code: str, message: str, *, line: int | None = None, hint: str | None = None) -> NoReturn:
    """Refuse the file. The caller that opened it adds its name."""
    raise InputError(Problem(code, message, line=line, hint=hint))


def in_file(error: InputError, name: str) -> list[Problem]:
    """The problems of a refusal, with the name of the file."""
    return [replace(one, file=one.file or name) for one in error.problems]


def refuse_without_judge(tool: str, scorers: Iterable[str], why: str = "") -> NoReturn:
    """Refuse a file that declares no judge. The message lists its scorers; the hint can be pasted into the policy."""
    names = sorted(dict.fromkeys(scorers))
    listed = some_and_more([repr(name) for name in names], MOST_SCORERS)
    found = f"its scorers are {listed}" if names else "it has no scorer at all"
    message = f"nothing in this file declares who judges: {found}" + (f", and {why}" if why else "")
    if not names:
        refuse("judge.undeclared", message, hint="run the tool with a scorer")
    key = tool.replace("-", "_")
    word = "metric" if key == "lm_eval" else "scorer"
    least = "…" if why else 1
    judge = f"{{ {key}: {{ {word}: {quoted(names[0])}, at_least: {least} }} }}"
    refuse("judge.undeclared", message, hint=f"say it in the policy: judged_by: {judge}")


def quoted(name: str) -> str:
    """The name as a YAML value within braces."""
    return name if _PLAIN.fullmatch(name) else json.dumps(name, ensure_ascii=False)


class Record:
    """A JSON object and its place in the file. Null counts as absent, and a value of the wrong type is refused.

    >>> Record({"n": 3, "x": None}, "sample 1").whole("n")
    3
    >>> Record({"n": "3"}, "sample 1").whole("n")
    Traceback (most recent call last):
    highbar.errors.InputError: sample 1: n: found '3', wanted a finite number [import.wrong-value]
    """

    __slots__ = ("place", "values")

    def __init__(self, values: object, place: str) -> None:
        if type(values) is not dict and not isinstance(values, Mapping):  # isinstance of an ABC is slow
            refuse("import.wrong-value", f"{place}: found {shown(values)}, wanted an object")
        self.values: Mapping[str, Any] = values
        self.place = place

    def __contains__(self, key: str) -> bool:
        return self.values.get(key) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def value(self, key: str) -> Any:
        """A value of any type."""
        return self.values.get(key)

    def text(self, key: str) -> str | None:
        """Text."""
        value = self.values.get(key)
        return value if value is None or isinstance(value, str) else self._refuse(key, "text")

    def flag(self, key: str) -> bool | None:
        """True or false."""
        value = self.values.get(key)
        return value if value is None or isinstance(value, bool) else self._refuse(key, "true or false")

    def number(self, key: str) -> int | float | None:
        """A finite number. NaN counts as absent, because tools write it if they have no value."""
        value: int | float | None = self.values.get(key)
        if value is None or is_number(value):
            return value
        return None if isinstance(value, float) and math.isnan(value) else self._refuse(key, "a finite number")

    def whole(self, key: str) -> int | None:
        """A whole number; 3.0 is one."""
        value = self.number(key)
        if isinstance(value, float):
            return int(value) if value.is_integer() else self._refuse(key, "a whole number")
        return value

    def record(self, key: str) -> Record | None:
        """An object."""
        value = self.values.get(key)
        return None if value is None else Record(value, f"{self.place}: {key}")

    def part(self, key: str) -> Record:
        """An object; an empty one if it is absent."""
        return self.record(key) or Record({}, self.place)

    def items(self, key: str) -> list[Any]:
        """A list; empty if it is absent."""
        value = self.values.get(key)
        if value is None:
            return []
        return value if isinstance(value, list) else self._refuse(key, "a list")

    def records(self, key: str) -> list[Record]:
        """A list of objects; empty if it is absent."""
        return [Record(item, f"{self.place}: {key}[{index}]") for index, item in enumerate(self.items(key))]

    def others(self, known: Collection[str]) -> Iterator[str]:
        """The keys of values that are neither null nor among the known keys."""
        return (key for key in self.values if key not in known and key in self)

    def _refuse(self, key: str, wanted: str) -> NoReturn:
        refuse("import.wrong-value", f"{self.place}: {key}: found {shown(self.values.get(key))}, wanted {wanted}")


def origin(record: object) -> dict[str, Any]:
    """The column `highbar_run` of a record, if a run of ours wrote it: what is made of it is still of that run."""
    found = record.get("highbar_run") if isinstance(record, Mapping) else None
    return {"highbar_run": found} if found else {}


def is_number(value: object) -> bool:
    """Whether this is a finite number; true and false are not. One expression, as it is called for every value."""
    return type(value) in _NUMBERS and abs(value) <= LARGEST_NUMBER  # type: ignore[arg-type]


def as_object(value: object) -> dict[str, Any]:
    """The object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def refuse_not_finite(value: object, path: str, place: str) -> None:
    """Refuse NaN and infinities at any depth: they are not values, and NaN does not even equal itself."""
    if type(value) is float:
        if not math.isfinite(value):
            hint = f"write null if there is no number; a mapping cannot say what {value} means"
            refuse("import.wrong-value", f"{place}: {path}: found {shown(value)}, wanted a finite number", hint=hint)
    elif isinstance(value, list):
        for item in value:
            refuse_not_finite(item, path, place)
    elif isinstance(value, Mapping):
        for item in value.values():
            refuse_not_finite(item, path, place)


def duplicate(names: Sequence[str]) -> str | None:
    """The first name that occurs twice; None if there is none."""
    return next((name for name, times in Counter(names).items() if times > 1), None)


def shown(value: object) -> str:
    """A value for a message: short, on one line."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"


class Statuses(NamedTuple):
    """The status of a span, a trace or a run: the words of one format, in capitals; `wanted` names them in messages.

    Any other word is refused: it may be how a newer version of the tool says that the agent crashed.
    """

    good: frozenset[str]
    bad: frozenset[str]
    wanted: str

    def failed(self, holder: Record, key: str) -> bool:
        """Whether the status at `key` is an error; an absent one is not. Refuses true, false and unknown words.

        >>> SPAN_CODES.failed(Record({"code": "Status_Code_Error"}, "span"), "code")
        True
        """
        value = holder.value(key)
        if value is None:
            return False
        whole = is_number(value) and value == int(value)
        word = str(int(value)) if whole else value.strip().upper() if isinstance(value, str) else None
        if word not in self.good and word not in self.bad:
            refuse("import.wrong-value", f"{holder.place}: {key}: found {shown(value)}, wanted {self.wanted}")
        return word in self.bad


SPAN_CODES = Statuses(
    frozenset({"", "0", "1", "UNSET", "OK", "STATUS_CODE_UNSET", "STATUS_CODE_OK"}),
    frozenset({"2", "ERROR", "STATUS_CODE_ERROR"}),
    "0, 1 or 2 (unset, ok or error)",
)
"""The status codes of OpenTelemetry. OTLP JSON has numbers; other Protobuf writers use names."""
