"""The blocks `judge` and `judges` → the judges that read the statements in plain words; nothing is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from highbar.documents.problems import ValueCursor
from highbar.suite.amounts import decimal
from highbar.suite.limits import FEWEST_JUDGES, MOST_JUDGES, MOST_RETRIES
from highbar.suite.parts import Judge
from highbar.suite.secrets import secret
from highbar.suite.settings import concurrency, duration, patience, web_address
from highbar.suite.values import choice, entries, function, refuse_unknown, text_value, whole_number

FORMATS = ("openai", "anthropic")
MOST_TOKENS = 10**7
"""The most tokens of a judge's reply: beyond every model."""
LARGEST_TEMPERATURE = 2
"""The highest temperature that any endpoint accepts."""
_OF_A_MODEL = ("model", "base_url", "key", "format", "temperature", "max_tokens")
_COMMON = ("concurrency", "timeout", "retries", "patience")
JUDGE_KEYS = (*_OF_A_MODEL, "python", *_COMMON)


def read_judges(top: Mapping[str, Any], place: ValueCursor) -> tuple[Judge, ...]:
    """The judges of a suite: the one under `judge`, or those under `judges`."""
    if "judge" in top and "judges" in top:
        place.at("judges").refuse("suite.conflict", "'judges' beside 'judge'", "keep one of the two")
        return ()
    if "judges" in top:
        return _several(top["judges"], place.at("judges"))
    judge = read_judge_settings(top["judge"], place.at("judge")) if "judge" in top else None
    return () if judge is None else (judge,)


def _several(value: Any, place: ValueCursor) -> tuple[Judge, ...]:
    if not isinstance(value, list) or not FEWEST_JUDGES <= len(value) <= MOST_JUDGES:
        hint = "one judge is `judge: {…}`" if isinstance(value, dict | list) else None
        place.refuse_value(value, f"a list of {FEWEST_JUDGES} to {MOST_JUDGES} judges", hint)
        return ()
    found: dict[tuple[Any, ...], int] = {}
    judges = [read_judge_settings(item, place.at(index)) for index, item in enumerate(value)]
    for index, judge in enumerate(judges):
        if judge is None:
            continue
        # Without the key: the same model with another key is still the same judge.
        asked = (
            *(getattr(judge, key) for key in ("python", *_OF_A_MODEL) if key not in ("key", "base_url")),
            _asked_at(judge),
        )
        if asked in found:
            first = place.at(found[asked]).path
            place.at(index).refuse(
                "suite.listed-twice", "this judge is listed twice: its vote would count twice", first=first
            )
        found.setdefault(asked, index)
    return tuple(judge for judge in judges if judge is not None)


def _asked_at(judge: Judge) -> str:
    """The address of a judge, the same for all ways to write it that lead to the same questions."""
    path, _, query = (judge.base_url or "").partition("?")
    path = path.rstrip("/").removesuffix("/chat/completions" if judge.format == "openai" else "/messages")
    if judge.format == "anthropic":
        path = path.removesuffix("/v1")
    scheme, separator, rest = path.partition("://")
    host, slash, rest = rest.partition("/")
    host = (host if "${" in host else host.lower()).removesuffix(":443" if scheme == "https" else ":80")
    return f"{scheme}{separator}{host}{slash}{rest}?{query}"


def read_judge_settings(value: Any, place: ValueCursor) -> Judge | None:
    """One judge; None after noting a problem."""
    fields = entries(value, place, "a mapping such as {model: …, base_url: …, key: ${JUDGE_KEY}}")
    before = len(place.problems)
    refuse_unknown(fields, JUDGE_KEYS, place)
    found = {key: read(fields[key], place.at(key)) for key, read in _READERS.items() if key in fields}
    if "python" in fields:
        for key in sorted(found.keys() & {*_OF_A_MODEL}):
            place.at(key).refuse(
                "suite.misplaced-key", f"'{key}' belongs to a judge with a model, and this one has python"
            )
    elif isinstance(value, dict):
        for key in ("model", "base_url"):
            if key not in fields:
                place.refuse("suite.missing-key", f"a judge needs {key}", "or python: module:function")
    return Judge(**found) if len(place.problems) == before and found else None


def _temperature(value: Any, place: ValueCursor) -> Fraction | None:
    number = decimal(value)
    if number is None or not 0 <= number <= LARGEST_TEMPERATURE:
        place.refuse_value(value, f"a number from 0 to {LARGEST_TEMPERATURE}")
        return None
    return Fraction(number)


_READERS: Mapping[str, Callable[[Any, ValueCursor], Any]] = {
    "model": text_value,
    "base_url": web_address,
    "key": lambda given, at: secret(given, at, "JUDGE_KEY"),
    "format": lambda given, at: choice(given, at, *FORMATS),
    "temperature": _temperature,
    "max_tokens": lambda given, at: whole_number(given, at, 1, MOST_TOKENS),
    "python": function,
    "concurrency": concurrency,
    "timeout": duration,
    "retries": lambda given, at: whole_number(given, at, 0, MOST_RETRIES),
    "patience": patience,
}
