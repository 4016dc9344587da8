"""What the values of Inspect AI's scorers mean: which are numbers, and which scorers say what is right and wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass

from highbar.importers.record import Record

_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


@dataclass(frozen=True, slots=True)
class Part:
    """One of the several values of a score."""

    value: object


def plain(value: object) -> object:
    """The value itself."""
    return value.value if isinstance(value, Part) else value


def declared_metrics(spec: Record, results: Record | None) -> dict[str, set[str]]:
    """The names of the metrics that the task declares for each scorer (`scorer.part` for one of several values)."""
    found: dict[str, set[str]] = {}
    for scorer in spec.records("scorers"):
        name, metrics = scorer.text("name") or "", scorer.value("metrics")
        groups = metrics if isinstance(metrics, list) else [metrics]
        for group in groups:
            if isinstance(group, dict) and "name" not in group:
                for part, listed in group.items():
                    found.setdefault(f"{name}.{part}", set()).update(_metric_names(listed))
            else:
                found.setdefault(name, set()).update(_metric_names([group]))
    for score in results.records("scores") if results else []:
        name, scorer_name = score.text("name") or "", score.text("scorer")
        full = name if scorer_name in (None, name) else f"{scorer_name}.{name}"
        found.setdefault(full, set()).update(score.record("metrics") or ())
    return found


def _metric_names(metrics: object) -> list[str]:
    """`accuracy` of {"name": "inspect_ai/accuracy"}."""
    listed = metrics if isinstance(metrics, list) else []
    return [str(one.get("name")).rpartition("/")[2] for one in listed if isinstance(one, dict)]


@dataclass(slots=True)
class Scorer:
    """What the values of one scorer were like, over the whole log."""

    scalar: bool = True  # not one of several values of a scorer
    graded: bool = False  # some value is a grade or a truth value
    numeric: bool = False  # some value is a number, or stands for one
    binary: bool = True  # no number but 0 and 1
    outside: bool = False  # some number below 0 or above 1

    def take(self, value: object) -> float | None:
        """Look at one value; it comes back as the number that it stands for, or None."""
        number, graded = _as_number(value)
        self.graded |= graded
        if number is not None:
            self.numeric = True
            self.binary &= number in (0, 1)
            self.outside |= not 0 <= number <= 1
        return number

    def judges(self, metrics: set[str]) -> bool:
        """Whether a 1 means right and anything less wrong; whoever was to say and never did judges all as wrong."""
        if "accuracy" in metrics:
            return True
        silent = not self.numeric and (not metrics or "mean" in metrics)
        return self.scalar and (self.graded or silent)


def _as_number(value: object) -> tuple[float | None, bool]:
    """A value as Inspect's metrics read it, and whether it is a grade; None where there is no number in it."""
    if isinstance(value, bool):
        return float(value), True
    if isinstance(value, str):
        if value in _GRADES or value.lower() in _WORDS:
            return _GRADES.get(value, _WORDS.get(value.lower())), True
        try:
            value = float(value) if value.isascii() else None
        except ValueError:
            return None, False
    return (float(value), False) if isinstance(value, int | float) and math.isfinite(value) else (None, False)
