"""Unquoted scalars of YAML that another tool reads differently than we do: `yes`, `2026-01-01`, `0x1F`.

We read them by the rules of JSON. A tool that reads one as a date would ask something else than we do.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from highbar.documents.problems import shown
from highbar.documents.scalars import scalar
from highbar.errors import Problem

_CORE_NULL = re.compile(r"|~|null|Null|NULL")
_CORE_BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
_CORE_NUMBER = re.compile(
    r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9_]+)(?:[eE][-+]?[0-9]+)?|[-+]?0[box][0-9a-fA-F_]+"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9].*)?")
_MOST = 20
"""The most problems that are reported for one file: they are all alike."""


def odd_scalars(text: str, tool: str, file: str) -> list[Problem]:
    """A problem for each scalar that the tool reads differently; none if the text is not YAML, which others report."""
    import yaml  # JSON does not need it

    kind_in = _yaml_1_1 if tool == "pydantic-evals" else _core
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: list[Problem] = []
    try:
        for event in yaml.parse(text, Loader=loader):
            if not isinstance(event, yaml.ScalarEvent) or event.style or event.tag is not None:
                continue
            other = kind_in(event.value)
            if other != _kind(scalar(event.value)) and len(found) < _MOST:
                mark: Any = event.start_mark
                message = f"{tool} reads the unquoted {shown(event.value)} as {other}"
                hint = f'quote it if it is text: "{event.value[:40]}"'
                found.append(Problem("yaml.unquoted", message, file, mark.line + 1, mark.column + 1, hint))
    except yaml.YAMLError:
        return []
    return found


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    return "a number" if isinstance(value, int | Decimal) else "text"


def _core(text: str) -> str:
    """The kind by the core schema of YAML 1.2 with dates and merge keys, as in js-yaml, and a wide sense of numbers."""
    if _CORE_NULL.fullmatch(text):
        return "nothing"
    if _CORE_BOOLEAN.fullmatch(text):
        return "true or false"
    if _CORE_NUMBER.fullmatch(text):
        return "a number"
    if text == "<<":
        return "a merge key"
    return "a date" if _DATE.fullmatch(text) else "text"


def _yaml_1_1(text: str) -> str:
    """The kind by YAML 1.1, as in PyYAML and everything that uses it."""
    import yaml  # as above

    resolvers = yaml.SafeLoader.yaml_implicit_resolvers
    for tag, pattern in [*resolvers.get(text[:1], []), *resolvers.get(None, [])]:
        if pattern.match(text):
            return _TAGS.get(tag.rpartition(":")[2], f"a value of its own ({tag[-20:]})")
    return "text"


_TAGS = {
    "null": "nothing",
    "bool": "true or false",
    "int": "a number",
    "float": "a number",
    "timestamp": "a date",
    "merge": "a merge key",
}
