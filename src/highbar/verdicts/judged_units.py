"""The scenarios behind one share of trials, with the answers of the judge and of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct, field

from highbar.changes.record_sums import RecordSums
from highbar.load.judged_rows import RowPart
from highbar.model import Ratio, Term, Weights
from highbar.model.records import ScenarioRecord
from highbar.statistics.judges import JudgedCluster
from highbar.verdicts.judged_parts import SCORE, ScoredLabel, ScoredPart

STRATA: tuple[tuple[RowPart, int], ...] = (("passed", 1), ("passed", 0), ("failed", 1), ("failed", 0))
"""Each stratum: from which part a trial was drawn, and what the judge said on the corrected column (1 or 0).

A score is neither: its strata are the parts alone, ("passed", 1) and ("failed", 0).
"""
_SAID = {
    "passed": ("passed", "did not pass"),
    "violated": ("found a violation in", "found no violation in"),
    "correct": ("called correct", "did not call correct"),
    SCORE: ("passed", "failed"),
}
"""For each column, the words for the judge's yes and no on a trial."""


class ScoredParts(Struct, frozen=True):
    """The rows of a check by part, and the labels of their judge, all scored.

    `labels` are of this run. `strata` has the parts of the trials that can be labeled.
    """

    weights: Weights
    parts: tuple[ScoredPart, ...] = ()
    labels: tuple[ScoredLabel, ...] = ()
    strata: Mapping[tuple[str, int], RowPart] = field(default_factory=dict)


class _Piece(Struct, frozen=True):
    """The trials of one scenario in one part, and the share of them that counts, at worst and at best."""

    part: RowPart
    record: ScenarioRecord
    weight: Fraction
    worst: Fraction
    best: Fraction


class _UnitTally(Struct):
    """The sums of one unit; the fields are those of `JudgedCluster`, which it becomes."""

    weight: Fraction = Fraction(0)
    known: Fraction = Fraction(0)
    raw: Fraction = Fraction(0)
    judged: list[Fraction] = field(default_factory=lambda: [Fraction(0)] * len(STRATA))
    labeled: list[Fraction] = field(default_factory=lambda: [Fraction(0)] * len(STRATA))
    ones: list[Fraction] = field(default_factory=lambda: [Fraction(0)] * len(STRATA))


class JudgedUnits:
    """The units behind one share, each a scenario or a cluster of them, with their labels."""

    def __init__(self, rows: ScoredParts, ratio: Ratio, *, best: bool) -> None:
        self.of = rows
        self.term: Term = ratio.z[0][0]
        self.best = best
        self.tallies: dict[object, _UnitTally] = {}
        self.labeled: dict[str, list[ScoredLabel]] = {}
        for label in rows.labels:
            self.labeled.setdefault(label.trial.id, []).append(label)
        for pieces in self._scenarios().values():
            self._add(pieces)

    @property
    def raw(self) -> Fraction | None:
        """The uncorrected share, which must equal that of the results; None without units."""
        weight = sum(one.weight for one in self.tallies.values())
        return Fraction(sum(one.raw for one in self.tallies.values())) / weight if weight else None

    @property
    def is_judged(self) -> bool:
        """Whether a judge decided any of these trials."""
        return any(judged for one in self.tallies.values() for judged in one.judged)

    def clusters(self) -> list[JudgedCluster]:
        """The units for computing bounds, with equal ones counted together."""
        alike = Counter(
            (one.weight, one.known, tuple(one.judged), tuple(one.labeled), tuple(one.ones))
            for one in self.tallies.values()
        )
        return [JudgedCluster(*amounts, number) for amounts, number in alike.items()]

    def corrected(self) -> Fraction:
        """The corrected share, exactly: in each stratum, judged trials count with the share of people's yeses."""
        tallies = self.tallies.values()
        total = sum((one.known for one in tallies), Fraction(0))
        for index in range(len(STRATA)):
            judged, labeled = (sum(column[index] for column in part) for part in self._columns())
            if judged:
                total += judged * sum(one.ones[index] for one in tallies) / labeled
        return total / sum(one.weight for one in tallies)

    def unlabeled(self) -> str | None:
        """Why the labels cannot be used: a stratum with trials has no label, or more labels than trials; else None."""
        for index, (_, judgment) in enumerate(STRATA):
            judged, labeled = (sum(column[index] for column in part) for part in self._columns())
            if judged and not labeled:
                where = "the scenarios that this is about" if self.term.where else "these results"
                words = _SAID[self.term.column][1 - judgment]
                return f"people labeled none of the trials that the judge {words}, in {where}"
            if any(one.labeled[index] > one.judged[index] for one in self.tallies.values()):
                return "labels are of trials that the judge has otherwise in these results"
        return None

    def _columns(self) -> tuple[list[list[Fraction]], list[list[Fraction]]]:
        tallies = self.tallies.values()
        return [one.judged for one in tallies], [one.labeled for one in tallies]

    def _scenarios(self) -> dict[str, list[_Piece]]:
        """The pieces of each scenario that has the share, by id."""
        flat = self.of.parts
        at_worst = self._values([one.worst for one in flat])
        at_best = self._values([one.best for one in flat])
        weights = self._parts([one.worst for one in flat], Term("scenario", "sum", self.term.where, self.term.weighted))
        found: dict[str, list[_Piece]] = {}
        for one, weight, worst, best in zip(flat, weights, at_worst, at_best, strict=True):
            if weight is not None and worst is not None and best is not None:
                found.setdefault(one.worst.id, []).append(_Piece(one.part, one.worst, weight, worst, best))
        return found

    def _values(self, records: Sequence[ScenarioRecord]) -> list[Fraction | None]:
        return self._parts(records, Term(self.term.column, where=self.term.where))

    def _parts(self, records: Sequence[ScenarioRecord], term: Term) -> list[Fraction | None]:
        """What each record adds to a term. Needs all parts at once, since errors count if any scenario has a value."""
        units = tuple(range(len(records)))
        return RecordSums(records, units, self.of.weights, 0.05).parts(term)

    def _add(self, pieces: Sequence[_Piece]) -> None:
        first = pieces[0]
        unit = first.record.id if first.record.cluster is None else ("cluster", first.record.cluster)
        tally = self.tallies.setdefault(unit, _UnitTally())
        # A scenario counts once, however many trials it has: each trial gets an equal part of its weight.
        trials = sum(piece.record.trials for piece in pieces)
        each = first.weight / trials
        tally.weight += first.weight
        for piece in pieces:
            self._add_piece(tally, piece, each)
        for label, index in self._labels(first.record.id):
            tally.labeled[index] += each
            tally.ones[index] += each * label.values[self.term.column][1]

    def _add_piece(self, tally: _UnitTally, piece: _Piece, each: Fraction) -> None:
        ends = piece.worst * piece.record.trials, piece.best * piece.record.trials
        counted = ends[1] if self.best else ends[0]
        tally.raw += each * counted
        stratum = self._stratum(piece.part)
        if stratum is None:
            tally.known += each * counted
            return
        if self.term.column == SCORE:
            self._add_scores(tally, piece, each, stratum)
            return
        # Trials that the judge left undecided count at their worst or best, and have no labels.
        tally.known += each * (counted - min(ends))
        tally.judged[STRATA.index((stratum, 1))] += each * min(ends)
        tally.judged[STRATA.index((stratum, 0))] += each * (piece.record.trials - max(ends))

    def _add_scores(self, tally: _UnitTally, piece: _Piece, each: Fraction, stratum: RowPart) -> None:
        """Add the trials of a piece that have scores. If some are undecided, all are taken at their worst or best."""
        weight = each * piece.record.trials
        if piece.worst == piece.best:
            tally.judged[_index(self.term.column, stratum, piece.worst)] += weight
        else:
            tally.known += weight if self.best else 0

    def _stratum(self, part: RowPart) -> RowPart | None:
        """The stratum of a part; None if no judge decides its trials. An error fails, whatever the judge says."""
        if part == "error":
            return "failed" if self.term.column == "violated" else None
        return None if part == "other" else part

    def _labels(self, id_: str) -> Iterator[tuple[ScoredLabel, int]]:
        for label in self.labeled.get(id_, ()):
            stratum = self._stratum(self.of.strata[label.trial.id, label.trial.trial])
            label_value = label.values.get(self.term.column)
            if stratum is not None and label_value is not None:
                yield label, _index(self.term.column, stratum, label_value[0])


def _index(column: str, stratum: RowPart, said: Fraction) -> int:
    """The index of the stratum of a trial."""
    return STRATA.index((stratum, int(stratum == "passed") if column == SCORE else int(said)))
