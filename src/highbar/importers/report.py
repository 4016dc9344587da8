"""Counts of one import: the records of the file, and what became of each of them; and the same in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from highbar.language.phrases import count

if TYPE_CHECKING:  # most checks read no file of another tool
    from highbar.model.judging import ScorerDemand


class Report(Struct):
    """The counts, which grow while a file is read. Every record becomes a row, is merged into one, or is left out.

    `unaccounted` is the number of records for which none of this is true; if it is not 0, the importer has a bug.
    """

    records: int = 0  # in the file: samples, results, test cases
    rows: int = 0  # counted by the writer
    errors: int = 0  # rows with an error; counted by the writer
    unscored: int = 0  # rows without a score
    skipped: int = 0  # rows that the tool did not run: they count as not passed
    missing: int = 0  # rows for trials that were planned and have no record: they count as errors
    merged: int = 0  # records that add to the row of another record
    left_out: Counter[str] = field(default_factory=Counter)  # records without a row, by reason
    unread: Counter[str] = field(default_factory=Counter)  # parts of records without a column, by name
    columns: Counter[str] = field(default_factory=Counter)  # rows with a value, by column; counted by the writer
    plain: bool = True  # whether every id is text and no object has a key twice; set by the writer
    cut: int = 0  # texts above LONGEST_TEXT; counted by the writer
    warnings: list[str] = field(default_factory=list)
    urgent: set[str] = field(default_factory=set)  # warnings that no option hides
    judged_by: tuple[ScorerDemand, ...] = ()  # the policy's `judged_by` for this tool; set by the caller
    answers_only: bool = False  # answers will be graded again: nobody has to judge, no answer is cut; set by the caller
    calls: bool = False  # tool calls and messages become columns, too; set by the caller
    scorers: dict[str, str] = field(default_factory=dict)  # "judges" or "a column, …", by name; see `add_scorer`
    judges: tuple[str, ...] = ()  # the scorers that judge, as the tool calls them; set by the importer

    @property
    def unaccounted(self) -> int:
        """Records + missing trials − rows − merged − left out; 0 if every record is accounted for."""
        return self.records + self.missing - self.rows - self.merged - self.left_out.total()

    def warn(self, text: str, *, urgent: bool = False) -> None:
        """Add a warning about the whole file, once; no option hides an urgent one."""
        if text not in self.warnings:
            self.warnings.append(text)
        if urgent:
            self.urgent.add(text)

    def add_scorer(self, name: str, *, judges: bool, why_not: str) -> None:
        """Note whether a scorer judges and, if not, why."""
        self.scorers[name] = "judges" if judges else f"a column, does not judge: {why_not}"

    def leave_out(self, reason: str) -> None:
        """Count a record without a row, with the reason."""
        self.left_out[reason] += 1

    def sentence(self) -> str:
        """`20 records, 20 rows, 3 errors, 1 unscored`; zeros are left out, except for records and rows.

        >>> Report(records=20, rows=20, errors=3).sentence()
        '20 records, 20 rows, 3 errors'
        """
        counts = [count(self.records, "record"), count(self.rows, "row")]
        counts += [count(self.errors, "error")] if self.errors else []
        others = (
            (self.unscored, "unscored"),
            (self.skipped, "skipped"),
            (self.missing, "planned and missing"),
            (self.merged, "merged into other rows"),
            (self.left_out.total(), "left out"),
        )
        return ", ".join(counts + [f"{number} {what}" for number, what in others if number])

    def notes(self) -> tuple[str, ...]:
        """What a verdict based on this file must mention: warnings, records that were left out, and an empty file."""
        lost = [f"{count(number, 'record')} left out: {reason}" for reason, number in sorted(self.left_out.items())]
        empty = () if self.rows else ("there is no result in this file",)
        return (*self.warnings, *lost, *empty)

    def summary(self, name: str, title: str) -> tuple[str, ...]:
        """All lines for `highbar import`: the counts, the columns with values, what was left out and why."""
        columns = sorted(self.columns.items(), key=lambda item: -item[1])  # ties in the order of the rows: id first
        details = [f"judged by: {', '.join(self.judges)}"] if self.judges else []
        details += [f"scorer {name}: {what}" for name, what in sorted(self.scorers.items())]
        details += [f"columns: {_with_counts(columns)}"] if columns else []
        details += [f"unscored: {count(self.unscored, 'row')} without a judgment"] if self.unscored else []
        details += [f"skipped: {count(self.skipped, 'row')}, which count as not passed"] if self.skipped else []
        details += [f"missing: {count(self.missing, 'row')}, which count as errors"] if self.missing else []
        unread = sorted(self.unread.items(), key=lambda item: (-item[1], item[0]))  # ties by name
        details += [f"no column for: {_with_counts(unread)}"] if unread else []
        details += [f"cut short: {count(self.cut, 'long text')}"] if self.cut else []
        details += [f"warning: {note}" for note in self.notes()]
        return (f"{name}: {title}: {self.sentence()}", *(f"  {detail}" for detail in details))


def _with_counts(found: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{what} ({number})" for what, number in found)
