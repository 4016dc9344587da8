"""Reads the demands beside a threshold: its level, and how much evidence there must be.

Each reader returns a checked value, or a default or None after noting a problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, get_args

from msgspec import Struct

from highbar.language.threshold import read_margin as read_amount
from highbar.language.threshold import read_share
from highbar.model import EvidenceKind, Level, Metric, SpendingKind
from highbar.policy.cursor import Cursor
from highbar.policy.limits import MOST_FAILURES, MOST_HORIZON

LEVELS: tuple[Level, ...] = get_args(Level)
EVIDENCE: tuple[EvidenceKind, ...] = get_args(EvidenceKind)
SPENDING: tuple[SpendingKind, ...] = get_args(SpendingKind)
SEQUENTIAL_KEYS = ("spending", "horizon")
"""The keys that only a sequential rule may have."""
SCHEMA: Mapping[str, Any] = {
    "spending": {
        "enum": list(SPENDING),
        "description": "With sequential: whether a run can be decided early from its start, or mostly near its end.",
    },
    "horizon": {
        "type": "integer",
        "minimum": 1,
        "description": "With sequential: how many scenarios are planned in all; as many as there are unless given.",
    },
}
"""Their JSON Schema."""


class Weighing(Struct, frozen=True):
    """How the evidence of one rule, or of all rules, is weighed."""

    evidence: EvidenceKind = "estimate"
    spending: SpendingKind = "linear"
    horizon: int | None = None


def read_weighing(fields: Mapping[str, Cursor], outer: Weighing | None = None) -> Weighing:
    """How these keys weigh the evidence; absent ones come from `outer`, the setting of the whole policy.

    A key without effect on a rule is a problem. The keys of the policy (`outer` is None) are checked later, by
    `sequential.refuse_sequential`, because only the rules tell whether they have an effect.
    """
    base = outer or Weighing()
    word = fields["evidence"].choice(*EVIDENCE) if "evidence" in fields else None
    evidence = next((kind for kind in EVIDENCE if kind == word), base.evidence)
    if outer is not None and evidence != "sequential":
        for key in SEQUENTIAL_KEYS:
            if key in fields:
                refuse_without_effect(fields[key], key)
        return Weighing(evidence)
    spread = fields["spending"].choice(*SPENDING) if "spending" in fields else None
    spending = next((kind for kind in SPENDING if kind == spread), base.spending)
    horizon = fields["horizon"].whole_number(1, MOST_HORIZON) if "horizon" in fields else base.horizon
    return Weighing(evidence, spending, horizon)


def refuse_without_effect(cursor: Cursor, key: str) -> None:
    """Note a key that only a sequential rule may have."""
    cursor.refuse(f"{key} has an effect only with sequential", f"add `evidence: sequential`, or remove {key}")


def read_level(fields: Mapping[str, Cursor]) -> Level:
    """The level of a rule; blocking if it is absent, or after noting that it is unknown."""
    word = fields["level"].choice(*LEVELS) if "level" in fields else None
    return "warning" if word == "warning" else "blocking"


def read_threshold_margin(cursor: Cursor, metric: Metric) -> Fraction | None:
    """How much worse than its threshold a metric may be, in its unit."""
    text = cursor.scalar("a margin")
    margin = None if text is None else cursor.attempt(lambda: read_amount(text, metric))
    if margin and margin.relative:
        cursor.refuse("a threshold's margin cannot be of the baseline", "give it in the metric's unit")
        return None
    return margin.value if margin else None


def read_tolerate(cursor: Cursor) -> Fraction | None:
    """The failure rate that a threshold of 100 % must exclude."""
    value = cursor.number(read_share, "a share, such as 5%")
    if value is not None and not 0 < value < 1:
        cursor.refuse(f"found {cursor.node.text}, wanted a share above 0 and below 1", "write 5% or 0.05")
        return None
    return value


def read_failures(cursor: Cursor, evidence: str | None) -> int | None:
    """An acceptance number. With `evidence: estimate` it has no effect, so it is refused there."""
    value = cursor.whole_number(0, MOST_FAILURES, "demand a rate below 100% instead")
    if value is not None and evidence == "estimate":
        cursor.refuse("failures has no effect by the estimate", "add `evidence: confident`, or remove failures")
        return None
    return value
