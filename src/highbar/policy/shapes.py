"""Reads the short forms (left) of a policy's long forms (right), and suggests how to write what cannot be read.

thresholds: { accuracy: 90% }       thresholds: { blocking: { accuracy: 90% } }
pass_criteria: 80%                  pass_criteria: { overall: 80% }
required_scenarios: [SEC-001]       required_scenarios: { ids: [SEC-001] }
rules: ["accuracy >= 90%"]          rules: [ { metric: accuracy, threshold: ">= 90%" } ]

A rule has the same name in both forms, so that a baseline or an earlier policy in the other form still matches.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from highbar.catalogue import find_metric
from highbar.documents.tree import Node
from highbar.language.exact import NUMBER
from highbar.language.spelling import nearest, spelled_out
from highbar.model import Metric, Place
from highbar.policy.cursor import Cursor
from highbar.policy.metrics import MEANT

_NAME = r"[A-Za-z_][A-Za-z0-9_]*(?:[@^][0-9]+)?"
_OPERATOR = r"(?:≥|>=|>|≤|<=|<|==|=)"
RULE_PATTERN = rf"^\s*{_NAME}\s*{_OPERATOR}\s*-?(?:\${NUMBER}|{NUMBER}\s*(?:%|ms|s|USD)?)\s*$"
"""The pattern of a rule in one text, for the JSON Schema."""
# Compiled only if a policy has a rule in one text, to keep start-up fast.
_RULE = rf"(?s)\s*({_NAME})\s*({_OPERATOR}\s*[^\s=<>].*)"
_TURNED = rf"\s*(\S+)\s*({_OPERATOR})\s*({_NAME})\s*"
_WITHOUT_OPERATOR = rf"\s*({_NAME})\s*:?\s+(\$?[0-9]\S*)\s*"
_JOINED = r"(?i)(?<!\w)(and|or)(?!\w)|&&|\|\||;"
_LONGEST_RULE = 200
"""The longest text, in characters, that is searched for a misspelled rule."""
_MIRRORED = {"≥": "≤", ">=": "<=", ">": "<", "≤": "≥", "<=": ">=", "<": ">"}


def read_rule(item: Cursor) -> tuple[str, Place, Cursor] | None:
    """The metric of a text such as `accuracy >= 90%`, its place, and the threshold; None after noting a problem."""
    text = item.node.text
    found = None if re.search(_JOINED, text) or item.node.block else re.fullmatch(_RULE, text)
    if found is None:
        item.refuse("threshold.unreadable", f"cannot read '{text[:60]}' as a rule", _rule_hint(text))
        return None
    at = item.node.place_at(item.file, found.start(2))
    text_at = (at.line, at.column) if item.node.text_at and at.line and at.column else None
    node = Node("text", found[2].rstrip(), line=at.line, column=at.column, text_at=text_at)
    threshold = Cursor(node, item.path, item.file, item.problems)
    return spelled_out(found[1]), item.node.place_at(item.file, found.start(1)), threshold


def _rule_hint(text: str) -> str:
    if re.search(_JOINED, text):
        return "write each comparison as a rule of its own; a condition with AND or OR goes into composite: pass"
    text = text if len(text) <= _LONGEST_RULE else ""  # with many spaces, the patterns take quadratic time
    turned, bare = re.fullmatch(_TURNED, text), re.fullmatch(_WITHOUT_OPERATOR, text)
    if turned and turned[2] in _MIRRORED:
        return f"write the metric first: {turned[3]} {_MIRRORED[turned[2]]} {turned[1]}"
    if bare:
        return f"write an operator between them: {bare[1]} >= {bare[2]}, or <= if lower is better"
    return "write a metric, an operator and a threshold: accuracy >= 90%"


def is_misspelled_level(entry: Cursor, name: str, levels: Collection[str]) -> bool:
    """Whether an unknown key of `thresholds` is meant as a level: its name is similar, or metrics are below it."""
    below = entry.is_kind("mapping") and all(key.text != "threshold" for key, _ in entry.node.entries)
    return below or nearest(name, levels) is not None


def refuse_between_levels(entry: Cursor, name: str, levels: Collection[str]) -> None:
    """Note a metric beside `blocking` and `warning`: it may be meant to block, or to be indented below one of them."""
    first, second = levels
    value = entry_text(entry)
    message = f"'{name}' is below neither '{first}' nor '{second}', so it could be meant as either"
    options = " or ".join(f"{level}: {{ {name}: {value} }}" for level in levels)
    entry.refuse("policy.unknown-key", message, f"indent it below one of them: {options}", at=entry.key_at)


def top_hints(cursor: Cursor, known: Collection[str]) -> dict[str, str]:
    """For each unknown key at the top of a policy that is a metric or was probably meant to be indented, a hint."""
    hints: dict[str, str] = {}
    above = ""  # the last key without a value, until a known key has one
    for key, value in cursor.node.entries:
        name = spelled_out(key.text)
        if name not in known:
            if above:
                hints[key.text] = f"wrong indentation? Indent it by two spaces if it belongs to '{above}'"
            elif find_metric(name) or name in MEANT:
                entry = Cursor(value, name, cursor.file, cursor.problems)
                metric = MEANT.get(name, name)
                # A latency without a unit is in milliseconds, and nobody means 5 ms.
                unit = "s" if metric.startswith("latency_") and value.kind == "number" and len(value.text) <= 2 else ""
                hints[key.text] = (
                    f"put it under thresholds, as in thresholds: {{ {metric}: {entry_text(entry)}{unit} }}"
                )
        above = key.text if value.kind == "null" else "" if name in known else above
    return hints


def category_hints(cursor: Cursor, known: Collection[str]) -> dict[str, str]:
    """For each unknown key of `pass_criteria` with a threshold, a hint how to demand the pass rate of a category."""
    return {
        key.text: f"for the pass rate of a category: by_category: {{ {key.text}: {value.text[:40]} }}"
        for key, value in cursor.node.entries
        if key.text not in known and value.kind in ("text", "number") and nearest(key.text, known) is None
    }


def entry_hint(entry: Cursor, name: str, metric: Metric) -> str:
    """The hint how to write a rule that was written as `- accuracy: 90%`."""
    operator = "" if re.match(r"\s*[<>=≤≥]", entry.node.text) else ">= " if metric.better == "higher" else "<= "
    return f"write {name} {operator}{entry_text(entry)}"


def entry_text(entry: Cursor) -> str:
    """A value as written, for a hint; `…` for a list or a mapping."""
    return entry.node.text[:40].strip() if entry.is_kind("text", "number") else "…"
