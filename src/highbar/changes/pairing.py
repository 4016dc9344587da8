"""Two runs → their pairs: the scenarios that are in both. Those in one run only are listed, never dropped."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from highbar.model.records import ScenarioRecord


class Pairs(Struct, frozen=True):
    """The scenarios of both runs, sorted by id, and the unit of each: scenarios of one unit are not independent."""

    base: tuple[ScenarioRecord, ...]
    head: tuple[ScenarioRecord, ...]
    units: tuple[Hashable, ...]
    only_in_base: tuple[str, ...] = ()
    only_in_head: tuple[str, ...] = ()

    @property
    def broken(self) -> tuple[str, ...]:
        """Scenarios that passed all trials in the base, but not all in the head."""
        return tuple(b.id for b, h in zip(self.base, self.head, strict=True) if b.all_passed and not h.all_passed)

    @property
    def fixed(self) -> tuple[str, ...]:
        """Scenarios that passed all trials in the head, but not all in the base."""
        return tuple(b.id for b, h in zip(self.base, self.head, strict=True) if h.all_passed and not b.all_passed)

    @property
    def flaky(self) -> tuple[str, ...]:
        """Scenarios that passed some trials and failed others, in either run."""
        return tuple(b.id for b, h in zip(self.base, self.head, strict=True) if b.flaky or h.flaky)

    def over(self, mask: Sequence[bool]) -> Pairs:
        """The pairs whose entry is true."""
        return Pairs(
            tuple(one for one, taken in zip(self.base, mask, strict=True) if taken),
            tuple(one for one, taken in zip(self.head, mask, strict=True) if taken),
            tuple(one for one, taken in zip(self.units, mask, strict=True) if taken),
        )


def pair_up(base: Iterable[ScenarioRecord], head: Iterable[ScenarioRecord]) -> Pairs:
    """The pairs of scenarios with the same id, and the ids that are in one run only."""
    before, after = {one.id: one for one in base}, {one.id: one for one in head}
    both = sorted(before.keys() & after.keys())
    first, second = _same_columns([before[id_] for id_ in both], [after[id_] for id_ in both])
    return Pairs(
        base=first,
        head=second,
        units=tuple(_unit(b, h) for b, h in zip(first, second, strict=True)),
        only_in_base=tuple(sorted(before.keys() - after.keys())),
        only_in_head=tuple(sorted(after.keys() - before.keys())),
    )


def _unit(base: ScenarioRecord, head: ScenarioRecord) -> Hashable:
    """The unit of a pair: scenarios share a unit if they share a cluster in the base and in the head."""
    if base.cluster is None and head.cluster is None:
        return base.id
    return ("cluster", base.cluster, head.cluster)


def _same_columns(
    base: Sequence[ScenarioRecord], head: Sequence[ScenarioRecord]
) -> tuple[tuple[ScenarioRecord, ...], tuple[ScenarioRecord, ...]]:
    """The records, with each column that one run lacks altogether taken from the other run."""
    # A run that was recorded before a column existed must be comparable by slices of that column.
    known, other = (frozenset(column for one in run for column in one.columns) for run in (base, head))
    return (
        tuple(_fill_columns(one, two, other - known) for one, two in zip(base, head, strict=True)),
        tuple(_fill_columns(two, one, known - other) for one, two in zip(base, head, strict=True)),
    )


def _fill_columns(record: ScenarioRecord, other: ScenarioRecord, columns: frozenset[str]) -> ScenarioRecord:
    taken = {column: value for column, value in other.columns.items() if column in columns}
    return replace(record, columns={**record.columns, **taken}) if taken else record
