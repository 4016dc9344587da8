"""Which rows the numbers about a judge are of: those that the verdict is about, too."""

from __future__ import annotations

from pathlib import Path

import highbar
from highbar.load.judged_rows import judged_rows
from highbar.model import ResultsFile
from tests.judged_results import judged_row, labels_of, write_lines

SELECT = {"select": {"tags.agent": "new"}, "thresholds": {"pass_rate": "10%"}}


def test_a_row_without_the_column_that_selects_has_that_of_its_scenario(tmp_path: Path) -> None:
    rows = [
        judged_row("a", True, trial=1, tags={"agent": "new"}),
        judged_row("a", False, trial=2),
        judged_row("a", False, trial=3, tags={"agent": " "}),
        judged_row("b", True, trial=1, tags={"agent": "old"}),
        judged_row("b", True, trial=2),
        judged_row("c", True),
    ]
    path = tmp_path / "results.jsonl"
    write_lines(path, rows)
    found = judged_rows((ResultsFile(str(path), "results.jsonl", "jsonl"),), (("tags.agent", ("new",)),))
    assert sorted(found.places) == [("a", 1), ("a", 2), ("a", 3)]
    verdict = highbar.check(path, SELECT, subset=True)
    assert verdict.judge is not None
    assert verdict.judge.trials == verdict.counts.trials == 3


def test_such_a_row_is_corrected_with_its_scenario(tmp_path: Path) -> None:
    rows = [judged_row(f"s{n}", n % 5 > 0, trial=1, tags={"agent": "new"}) for n in range(20)]
    rows += [judged_row(f"s{n}", n % 4 > 0, trial=2) for n in range(20)]
    labels = write_lines(tmp_path / "labels.jsonl", labels_of(rows, {f"s{n}": n % 5 > 0 for n in range(20)}))
    policy = SELECT | {"judge": {"labels": str(labels), "correct": True}}
    whole = {key: value for key, value in policy.items() if key != "select"}
    path = write_lines(tmp_path / "results.jsonl", rows)
    selected, everything = (highbar.check(path, one).rules[0] for one in (policy, whole))
    assert selected.value == everything.value
    assert "corrected for the errors of the judge" in selected.reason
