"""The figures of `bench/judges.py` as a page of the documentation."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "concepts" / "judge-errors.csv"
PAGE = ROOT / "docs" / "concepts" / "can-you-trust-the-judge.md"
OURS = ("Highbar", "sensitivity", "specificity")
"""What is promised to keep its level."""

Rows = list[dict[str, str]]


def column(method: str, figure: str) -> str:
    """The name of a column: `highbar_false_pass`."""
    return f"{method.lower().replace(' ', '_')}_{figure}"


def page(rows: Rows) -> str:
    """The whole page, in Markdown."""
    return f"{len(rows)}"
