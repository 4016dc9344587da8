"""Recognizes behaviors: a check as a suite writes it, and an answer → whether it was observed, and the evidence.

`read` turns decoded YAML or JSON into a check, or into all its problems. `apply` carries it out on an answer.
`predicted` makes the column of that name.

    tree                     the checks as data, and what they find
    reading, read_*, names   a suite's words → checks; schemas, schema_words: JSON Schema
    meant                    a name that is no check → how to write what it means
    applying, *_checks       checks → findings, of replies, values and calls, and strictly for must-nots
    folding, texts, patterns, numbers, values   how texts, numbers and JSON values are compared
    found_json, strict_values   every JSON value in a text, and how must-nots read it
    disguises                what else a reader may see in a text: without escapes and marks, the texts in its JSON
    glossary                 behaviors that every suite may name without defining them
    messages                 a message of the agent, in any wire form → what it says and calls
    labels                   the column `predicted`
"""

from __future__ import annotations

from highbar.checks.applying import Functions, apply, as_mapping, function_names, reads_calls, statements
from highbar.checks.glossary import GLOSSARY
from highbar.checks.labels import predicted, read_predict
from highbar.checks.meant import example, meant_check
from highbar.checks.reading import Reading, read, read_answer
from highbar.checks.tree import Check, Finding, Reported, Statement
from highbar.documents.problems import ValueProblem

__all__ = [
    "GLOSSARY",
    "Check",
    "Finding",
    "Functions",
    "Reading",
    "Reported",
    "Statement",
    "ValueProblem",
    "apply",
    "as_mapping",
    "example",
    "function_names",
    "meant_check",
    "predicted",
    "read",
    "read_answer",
    "read_predict",
    "reads_calls",
    "statements",
]
