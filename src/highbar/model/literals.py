"""Types with a fixed set of words as values, used everywhere."""

from __future__ import annotations

from typing import Literal

Level = Literal["blocking", "warning"]
Outcome = Literal["pass", "fail", "undefined", "inconclusive"]
Decision = Literal["pass", "fail", "inconclusive"]
Unit = Literal["ratio", "ms", "USD", "per token", "number"]
Better = Literal["higher", "lower"]
EvidenceKind = Literal["estimate", "confident", "sequential"]
SpendingKind = Literal["linear", "late"]
Operator = Literal[">=", ">", "<=", "<", "=", "!="]
Format = Literal["jsonl", "json", "csv", "parquet"]

Where = tuple[tuple[str, tuple[str, ...]], ...]
"""Which scenarios count: for each named column, the values to select. Sorted by column; () selects all."""
