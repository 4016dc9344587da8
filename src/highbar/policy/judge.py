"""Reads the block `judge`: how good the judge must be, as shown by people's labels.

judge: { labels: labels.jsonl, min_labels: 50, min_sensitivity: 90%, min_specificity: 80%, correct: true }
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path

from highbar.language.threshold import read_share
from highbar.model import JudgeKey, JudgePolicy, JudgeRule, Level
from highbar.policy.cursor import Cursor, read_description
from highbar.policy.settings import read_level

KEYS = ("labels", "min_labels", "min_sensitivity", "min_specificity", "correct", "uncalibrated", "description")
BOUND_KEYS = ("threshold", "level", "description")
_LABELS = "highbar judge label RESULTS makes such a file"


def read_judge(cursor: Cursor, folder: Path) -> tuple[JudgePolicy, tuple[JudgeRule, ...]]:
    """The block's settings and rules; the file of labels is relative to `folder`. Notes every problem."""
    fields = cursor.fields(KEYS)
    read_description(fields)
    rules = [
        *_bound_rule(fields, "min_labels", _label_count),
        *_bound_rule(fields, "min_sensitivity", _rate),
        *_bound_rule(fields, "min_specificity", _rate),
        _calibration_rule(cursor, fields.get("uncalibrated")),
    ]
    labels = _labels(fields["labels"], folder) if "labels" in fields else None
    correct = _is_true(fields["correct"]) if "correct" in fields else False
    return JudgePolicy(labels, correct), tuple(rules)


def _labels(cursor: Cursor, folder: Path) -> str | None:
    name = cursor.text()
    if name is None:
        return None
    path = folder / name
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        cursor.refuse("file.missing", f"the file {path} {what}", _LABELS)
        return None
    return str(path)


def _bound_rule(
    fields: Mapping[str, Cursor], key: JudgeKey, read: Callable[[Cursor], Fraction | None]
) -> tuple[JudgeRule, ...]:
    """The rule of one key, which is a bound, or a mapping with a bound and a level."""
    if key not in fields:
        return ()
    cursor = fields[key]
    inside = cursor.fields(BOUND_KEYS) if cursor.is_kind("mapping") else {"threshold": cursor}
    level, description = read_level(inside), read_description(inside)
    if "threshold" not in inside:
        cursor.refuse(
            "policy.missing-key", "no threshold", "threshold: 50" if key == "min_labels" else "threshold: 90%"
        )
        return ()
    bound = read(inside["threshold"])
    return () if bound is None else (JudgeRule(f"judge.{key}", level, key, bound, cursor.place, description),)


def _label_count(cursor: Cursor) -> Fraction | None:
    found = cursor.whole_number(1)
    return None if found is None else Fraction(found)


def _rate(cursor: Cursor) -> Fraction | None:
    """A rate above 0 and below 1: no number of labels can show that a judge is never wrong."""
    value = cursor.number(read_share, "a share, such as 90%")
    if value is not None and not 0 < value < 1:
        found = f"found {cursor.node.text}, wanted a share above 0 and below 1"
        cursor.refuse("policy.out-of-range", f"{found}: no number of labels shows more", "write 90% or 0.9")
        return None
    return value


def _calibration_rule(cursor: Cursor, entry: Cursor | None) -> JudgeRule:
    """The rule that the judge is calibrated. If it is not: a warning, or with `inconclusive` no pass."""
    word = entry.choice("warn", "inconclusive") if entry is not None else "warn"
    level: Level = "blocking" if word == "inconclusive" else "warning"
    return JudgeRule("judge.uncalibrated", level, "uncalibrated", place=(entry or cursor).place)


def _is_true(cursor: Cursor) -> bool:
    if not cursor.is_kind("boolean"):
        cursor.refuse_kind("true or false")
        return False
    return cursor.node.text.lower() == "true"
