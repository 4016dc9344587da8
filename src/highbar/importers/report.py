"""What one import met: the records that came in, and what became of every one of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # most checks read no file of another tool
    from highbar.model.judging import ScorerDemand


@dataclass(slots=True)
class Report:
    """Filled while a file is read. Every record of the tool becomes a row, is merged into one, or is left out.

    `unaccounted` says how many did none of these, and an import that has any is an internal error.
    """

    records: int = 0  # what the tool's file holds: samples, results, test cases
    rows: int = 0  # what came out of them; counted by the writer
    errors: int = 0  # rows with an error; counted by the writer
    unscored: int = 0  # rows that the tool gave no score
    skipped: int = 0  # rows that the tool did not run: they count as not passed
    missing: int = 0  # rows for what the tool planned and has no record of: they count as errors
    merged: int = 0  # records that say more about a row that another record made
    left_out: Counter[str] = field(default_factory=Counter)  # records that made no row, by reason
    unread: Counter[str] = field(default_factory=Counter)  # parts of records that have no column, by what they are
    columns: Counter[str] = field(default_factory=Counter)  # how many rows have a value in each; counted by the writer
    plain: bool = True  # whether every id is text and no value says anything twice; found by the writer
    cut: int = 0  # texts that were longer than is kept; counted by the writer
    warnings: list[str] = field(default_factory=list)
    urgent: set[str] = field(default_factory=set)  # of these, what no option hides
    judged_by: tuple[ScorerDemand, ...] = ()  # what the policy's `judged_by` demands for this tool; the caller sets it
    scorers: dict[str, str] = field(default_factory=dict)  # what became of each scorer: "judges", "a column, …"
    judges: tuple[str, ...] = ()  # the scorers that judged, in the words of the tool; the reader sets it

    @property
    def unaccounted(self) -> int:
        """How many records neither became a row nor were merged or left out (or rows came from none); 0 if sound."""
        return self.records + self.missing - self.rows - self.merged - self.left_out.total()

    def warn(self, text: str, *, urgent: bool = False) -> None:
        """Say something about the whole file, once however often it is met; what is urgent no option hides."""
        if text not in self.warnings:
            self.warnings.append(text)
        if urgent:
            self.urgent.add(text)

    def leave_out(self, reason: str, records: int = 1) -> None:
        """Count records that make no row, with the reason."""
        self.left_out[reason] += records
