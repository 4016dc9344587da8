"""What earlier versions had: exit 2 with the code `removed`, and what to use in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commandline import run


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("--format", "openmetrics"), "--output verdict.json"),
        (("--format", "every_eval_ever"), "highbar still reads such records"),
        (("--output", "csv=report.txt"), "verdict.to_frame()"),
        (("--output", "metrics.prom"), "--output verdict.json"),
        (("--output", "metrics.openmetrics"), "--output verdict.json"),
        (("--output", "report.csv"), "verdict.to_frame()"),
    ],
)
def test_a_removed_format_is_refused_with_what_to_use_instead(
    tmp_path: Path, arguments: tuple[str, ...], hint: str
) -> None:
    (tmp_path / "results.jsonl").write_text('{"id": "A", "passed": true}\n')
    done = run(tmp_path, "check", "results.jsonl", "--policy", "typical", *arguments)
    assert done.exit == 2
    assert done.codes == ["removed"]
    assert done.err.splitlines()[0].endswith("was removed")
    assert hint in done.err
    assert not (tmp_path / arguments[1]).exists()
