"""One row, scored: the oracle's reading of what a trial has. Nothing here comes from the product."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Row = Mapping[str, Any]
INFINITE = math.inf


def exact(number: Any) -> Fraction:
    """The number as it is written: 0.1 is one tenth."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def observed_names(behaviors: Any) -> set[str]:
    """What was seen, in any of the three forms."""
    if isinstance(behaviors, Mapping):
        return {name for name, seen in behaviors.items() if seen}
    return {
        entry if isinstance(entry, str) else entry["name"]
        for entry in behaviors or ()
        if isinstance(entry, str) or entry["observed"]
    }


def forbidden_names(must_not: Any) -> set[str]:
    """What must not happen, in any of the three forms."""
    return {entry if isinstance(entry, str) else entry["name"] for entry in must_not or ()}


def marked_names(must_not: Any) -> set[str]:
    """What `must_not` itself says has happened; a plain list says nothing."""
    if isinstance(must_not, Mapping):
        return {name for name, happened in must_not.items() if happened}
    return {entry["name"] for entry in must_not or () if not isinstance(entry, str) and entry["violated"]}


def says_what_happened(must_not: Any) -> bool:
    """Whether `must_not` has one of the two forms that carry a judgment."""
    return isinstance(must_not, Mapping) or any(not isinstance(entry, str) for entry in must_not)


@dataclass(frozen=True)
class Settings:
    """What of a policy changes how a trial is scored or a metric computed."""

    positive: Any = None
    pass_score: Fraction = Fraction(1)
    latency_limit: Fraction = Fraction(5000)
    by_category: Mapping[str, Fraction] = field(default_factory=dict)
    by_capability: Mapping[str, Fraction] = field(default_factory=dict)
    by_metric: Mapping[str, Fraction] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    output_column: bool = False


def is_violated(row: Row) -> bool:
    """Anything in `violations`, a marked must-not, or a behavior that is both observed and forbidden."""
    forbidden = forbidden_names(row.get("must_not"))
    return bool(
        row.get("violations") or marked_names(row.get("must_not")) or observed_names(row.get("behaviors")) & forbidden
    )


def is_correct(row: Row) -> bool | None:
    """Whether the answer was right; None where none was expected. An error is a wrong answer."""
    if row.get("correct") is None and row.get("outcome") is None and row.get("expected") is None:
        return None
    if row.get("error"):
        return False
    if row.get("correct") is not None:
        return bool(row["correct"])
    if row.get("outcome") is not None:
        return row["outcome"] in ("tp", "tn")
    return same_label(row.get("predicted"), row["expected"])


def same_label(one: Any, other: Any) -> bool:
    """Equal, and of one type."""
    return type(one) is type(other) and one == other


def cell(row: Row, settings: Settings) -> str | None:
    """tp, fp, fn or tn; None where nothing says it. An error finds no positive, and takes back no false alarm."""
    outcome = row.get("outcome")
    expected, predicted = row.get("expected"), row.get("predicted")
    if outcome is None:
        positive = settings.positive if settings.positive is not None else True
        if expected is None or (settings.positive is None and not isinstance(expected, bool)):
            return None
        wanted, found = same_label(expected, positive), same_label(predicted, positive)
        outcome = ("tp" if found else "fn") if wanted else ("fp" if found else "tn")
    return "fn" if outcome == "tp" and row.get("error") else outcome


def must_not_judges(row: Row, settings: Settings) -> bool:
    """Whether a must-not was really checked, on an agent that said something."""
    must_not = row.get("must_not")
    if not must_not:
        return False
    checked = says_what_happened(must_not) or row.get("violations") is not None or row.get("behaviors") is not None
    answered = not settings.output_column or bool((row.get("output") or "").strip())
    return checked and answered


def score(row: Row, settings: Settings) -> dict[str, Any]:
    """Everything that this trial has; what it does not have is not in the dict."""
    error = bool(row.get("error"))
    violated = is_violated(row)
    expected = set(row.get("expected_behaviors") or ())
    observed = set() if error else observed_names(row.get("behaviors")) & expected
    correct = is_correct(row)
    have: dict[str, Any] = {"error": Fraction(error), "violated": Fraction(violated)}

    if violated:
        have["behavior_score"] = Fraction(0)
    elif expected:
        have["behavior_score"] = Fraction(len(observed), len(expected))
    if expected:
        have["observed_behaviors"], have["expected_behaviors"] = Fraction(len(observed)), Fraction(len(expected))
    if correct is not None:
        have["correct"] = Fraction(correct)
    quadrant = cell(row, settings)
    if quadrant is not None:
        have["true_positives"] = Fraction(quadrant == "tp")
        have["false_positives"] = Fraction(quadrant == "fp")
        have["false_negatives"] = Fraction(quadrant == "fn")

    judges = []
    if expected:
        judges.append(have["behavior_score"] >= settings.pass_score)
    if correct is not None:
        judges.append(correct)
    if must_not_judges(row, settings):
        judges.append(True)
    if row.get("passed") is not None:
        judges = [row["passed"]]
    have["passed"] = Fraction(not violated and not error and bool(judges) and all(judges))
    have["unjudged"] = Fraction(not violated and not error and not judges)

    have |= amounts(row, error=error)
    nothing_asked = correct is None and not expected and not row.get("must_not")
    have["bare_error"] = error and nothing_asked
    return have


def amounts(row: Row, *, error: bool) -> dict[str, Any]:
    """The numbers that a trial carries. An error has the quality 0 and ranks above every latency."""
    have: dict[str, Any] = {}
    for column in ("latency_ms", "quality_score", "tokens_used", "cost_usd"):
        if row.get(column) is not None:
            have[column] = exact(row[column])
    both_recorded = "quality_score" in have and "tokens_used" in have
    if error:
        have["latency_ms"], have["quality_score"] = INFINITE, Fraction(0)
    if both_recorded:
        have["quality_beside_tokens"], have["tokens_beside_quality"] = have["quality_score"], have["tokens_used"]
    return have
