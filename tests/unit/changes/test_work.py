"""How much is computed for a comparison, counted and not timed."""

from __future__ import annotations

from fractions import Fraction

from highbar.changes.paired_runs import PairedRuns
from highbar.changes.record_sums import RecordSums
from highbar.model import Ratio, Term, Weights
from highbar.model.records import ScenarioRecord


class Counted(dict):
    """Columns of a scenario that count how often they are looked at."""

    looks = 0

    def get(self, key, default=None):
        Counted.looks += 1
        return super().get(key, default)


def run(scenarios, failing):
    records = [
        ScenarioRecord(
            f"S{n}", 1, n % failing != 0, Counted(group=f"g{n % 10}"), {"passed": Fraction(n % failing != 0)}
        )
        for n in range(scenarios)
    ]
    return RecordSums(records, tuple(range(scenarios)), Weights(), 0.05)


def test_a_scenario_is_looked_at_once_for_each_selection_and_run():
    base, head = run(50, 7), run(50, 5)
    Counted.looks = 0
    for group in ("g1", "g2", "g3"):
        where = (("group", ("group", group)),)
        passed, count = Term("passed", where=where), Term("passed", "count", where=where)
        ratio = Ratio(((passed, Fraction(1)),), ((count, Fraction(1)),))
        pair = PairedRuns(base, head, 0.05)
        assert pair.bounds(ratio)[0].low < 0
        assert pair.doubt(ratio) is None
        assert base.has(passed) != head.has(count) or sum(base.has(passed)) == 5
        assert base.ratios[ratio].sums.clusters == 5
    assert Counted.looks == 3 * 2 * 50
