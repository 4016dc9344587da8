from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import highbar
from highbar.bar.recording import record
from highbar.model.job import Job

POLICY = {
    "thresholds": {"blocking": {"pass_rate": "10%"}},
    "baseline": {"file": "baseline.json", "margin": {"pass_rate": "5%"}},
}


def rows(passes):
    return [{"id": f"S{i:02}", "passed": i < passes, "latency_ms": 100.0 + i} for i in range(40)]


@pytest.mark.slow
def test_frames_tables_lists_and_files_are_compared_alike(tmp_path: Path):
    frame = pd.DataFrame(rows(38))
    frame.to_json(tmp_path / "base.jsonl", orient="records", lines=True)
    sides = [frame, pa.Table.from_pandas(frame), rows(38), str(tmp_path / "base.jsonl"), [tmp_path / "base.jsonl"]]
    found = [highbar.compare(base, rows(20), POLICY) for base in sides]
    assert all(one.metrics == found[0].metrics for one in found)
    assert {one.verdict for one in found} == {"fail"}
    assert found[0].broken == tuple(f"S{i}" for i in range(20, 38))


@pytest.mark.slow
def test_a_check_takes_a_baseline_and_may_go_without_one(tmp_path: Path):
    file = tmp_path / "results.jsonl"
    pd.DataFrame(rows(38)).to_json(file, orient="records", lines=True)
    kept = str(tmp_path / "kept.json")
    policy = tmp_path / "highbar.yaml"
    policy.write_text("pass_criteria: { overall: 10% }\n")
    done = record(Job((str(file),), policy=str(policy)), file=kept, date="today")
    assert (done.file, done.replaced, done.baseline.date) == (kept, False, "today")
    for results in (rows(38), pd.DataFrame(rows(38))):
        assert highbar.check(results, POLICY, baseline=kept).verdict == "pass"
        assert highbar.check(results, POLICY).verdict == "fail"
        assert highbar.check(results, POLICY, allow_missing_baseline=True).verdict == "pass"
    assert highbar.check(rows(20), POLICY, baseline=Path(kept)).verdict == "fail"
    with pytest.raises(highbar.InputError, match="no such baseline"):
        highbar.check(rows(20), POLICY, baseline="absent.json")
