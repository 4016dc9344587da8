"""Two runs → their pairs, the scenarios that are in both; what is in one only is listed, never dropped."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from highbar.model.records import ScenarioRecord


@dataclass(frozen=True, slots=True)
class Pairs:
    """The scenarios of both runs in the order of their ids, and which of them stand or fall together."""

    base: tuple[ScenarioRecord, ...]
    head: tuple[ScenarioRecord, ...]
    units: tuple[Hashable, ...]
    only_in_base: tuple[str, ...] = ()
    only_in_head: tuple[str, ...] = ()

    @property
    def broken(self) -> tuple[str, ...]:
        """Those of which all trials passed in the base, and not all in the head."""
        return tuple(b.id for b, h in zip(self.base, self.head, strict=True) if b.all_passed and not h.all_passed)

    @property
    def fixed(self) -> tuple[str, ...]:
        """Those of which all trials passed in the head, and not all in the base."""
        return tuple(b.id for b, h in zip(self.base, self.head, strict=True) if h.all_passed and not b.all_passed)

    @property
    def flaky(self) -> tuple[str, ...]:
        """Those that passed only sometimes, in either run."""
        return tuple(b.id for b, h in zip(self.base, self.head, strict=True) if b.flaky or h.flaky)

    def chosen(self, kept: Sequence[bool]) -> Pairs:
        """The pairs that are kept."""
        return Pairs(
            tuple(one for one, keep in zip(self.base, kept, strict=True) if keep),
            tuple(one for one, keep in zip(self.head, kept, strict=True) if keep),
            tuple(one for one, keep in zip(self.units, kept, strict=True) if keep),
        )


def pair_up(base: Iterable[ScenarioRecord], head: Iterable[ScenarioRecord]) -> Pairs:
    """Pair the scenarios of the same id."""
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
    """Scenarios stand or fall together that do so in both runs."""
    if base.cluster is None and head.cluster is None:
        return base.id
    return ("cluster", base.cluster, head.cluster)


def _same_columns(
    base: Sequence[ScenarioRecord], head: Sequence[ScenarioRecord]
) -> tuple[tuple[ScenarioRecord, ...], tuple[ScenarioRecord, ...]]:
    """A column that one run does not have at all is taken from the other: what was asked is the same scenario."""
    known, other = (frozenset(column for one in run for column in one.columns) for run in (base, head))
    return (
        tuple(_filled(one, two, other - known) for one, two in zip(base, head, strict=True)),
        tuple(_filled(two, one, known - other) for one, two in zip(base, head, strict=True)),
    )


def _filled(record: ScenarioRecord, other: ScenarioRecord, columns: frozenset[str]) -> ScenarioRecord:
    taken = {column: value for column, value in other.columns.items() if column in columns}
    return replace(record, columns={**record.columns, **taken}) if taken else record
