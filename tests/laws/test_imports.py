"""Law L3 on files of every tool and of our own formats: worse never helps. `imports.py` says what is worse.

A few files of each format and fixed seeds; `scripts/fuzz imports` tries all files for as long as there is time.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter

import pytest

from highbar import importers
from tests.laws import imports, junit_trees
from tests.laws.worse import RANK

pytestmark = pytest.mark.slow

FORMATS = [*sorted(importer.name for importer in importers.IMPORTERS), "ours", "select"]
FEW, ATTEMPTS = 2, 12


@pytest.mark.parametrize("tool", FORMATS)
def test_neither_a_worse_value_nor_a_statement_taken_away_helps(tool, tmp_path):
    cases = imports.Cases({tool})
    cases.keep(FEW)
    if not cases.files:
        pytest.skip(f"no sample file of {tool}")
    counts = Counter(cases.attempt(seed, tmp_path) for seed in range(ATTEMPTS))
    assert sum(number for what, number in counts.items() if what.startswith(f"{tool}: ")) > ATTEMPTS // 4, counts


def test_a_made_up_junit_report_is_read_as_its_runner_means_it(tmp_path):
    counts = Counter(junit_trees.attempt(seed, tmp_path).partition(":")[0] for seed in range(40))
    assert set(counts) == set(junit_trees.WRITERS)


def test_the_law_sees_a_statement_that_takes_a_failure_with_it(tmp_path):
    """Were a record without a verdict left out, the law would be broken."""
    path = tmp_path / "results.jsonl"
    path.write_text('{"id": "a", "passed": true}\n{"id": "b", "passed": false}\n')
    case = imports.case_of("ours", path, tmp_path)
    assert case is not None
    case = dataclasses.replace(case, tool="promptfoo")  # of a tool that leaves a trace of everything
    assert case.before["verdict"] == RANK["fail"]
    gone = imports.Change("taken", "line 2", b'{"id": "a", "passed": true}\n')
    folder = tmp_path / "changed"
    folder.mkdir()
    assert "rose" in (imports.broken(case, gone, folder) or "")
    undecided = imports.Change("taken", "passed", b'{"id": "a", "passed": true}\n{"id": "b"}\n')
    assert imports.broken(case, undecided, folder) is None


def test_what_leaves_no_trace_does_not_pass_with_a_suite(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"id": "a", "passed": true}\n{"id": "b", "passed": false}\n')
    case = imports.case_of("ours", path, tmp_path)
    assert case is not None
    assert [entry["id"] for entry in case.suite] == ["a", "b"]
    folder = tmp_path / "changed"
    folder.mkdir()
    gone = imports.Change("taken", "line 2", b'{"id": "a", "passed": true}\n')
    assert imports.broken(case, gone, folder) is None
    (tmp_path / "changed" / "results.jsonl").write_bytes(gone.data)
    after = imports.outcomes(folder / "results.jsonl", {**case.policy, "suite": str(folder / "suite.json")})
    assert json.loads((folder / "suite.json").read_text())
    assert after is not None
    assert after["verdict"] == RANK["fail"]


def test_every_exception_has_a_reason_and_none_is_for_the_verdict(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"id": "a", "passed": false}\n')
    case = imports.case_of("ours", path, tmp_path)
    assert case is not None
    for kind in ("worse", "taken"):
        change = imports.Change(kind, "", b"")
        assert not any(exception(case, change, "") for exception in imports.EXCEPTIONS.values())
    assert all(reason.count(" ") > 3 for reason in (*imports.EXCEPTIONS, *imports.TRACELESS.values()))
