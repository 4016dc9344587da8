"""Every real file below ../shared/samples: read whole and judged, or refused with a message; never a crash or nothing.

How many rows each gives is counted again in the tests of its tool, by lines of their own; here it is compared with what
the tools' own readers find, and all of them go the whole way to a verdict.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import highbar
from highbar.errors import InputError
from tests.importers import table
from tests.importers.imported import COUNTS, SAMPLES, imported, recognized, refusal

POLICY = {"thresholds": {"blocking": {"pass_rate": "≥ 1%"}}}
FILES = table.files([str(SAMPLES)]) if SAMPLES.exists() else []
KEPT = json.loads(COUNTS.read_text("utf-8"))
UNFIT = ("cvebench_empty_choices", "cyse2_vuln", "log_tool_call_error", "retry-2-then-success")
"""Logs that Inspect AI reads and no gate can: their results speak of samples that were cut out, or nobody judged."""
FOUND_BY_THE_TOOL = {(folder, name): count for folder, files in KEPT.items() for name, count in files.items()}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name[-60:]}")
def test_a_real_file_is_judged_by_all_of_its_rows_or_refused_with_a_message(path: Path) -> None:
    tool = recognized(path)
    try:
        rows = imported(tool, path)[0] if tool else []
        verdict = highbar.check(path, POLICY)
    except InputError:  # any other exception is a crash
        return
    assert verdict.counts.trials == len(rows) > 0


@pytest.mark.skipif(not FILES, reason="the real files are not at hand")
@pytest.mark.parametrize(("folder", "name"), sorted(FOUND_BY_THE_TOOL), ids=lambda text: text[-60:])
def test_our_reader_finds_what_the_tools_own_reader_finds(folder: str, name: str) -> None:
    path = SAMPLES / folder / name
    tool, found = folder.replace("_", "-"), FOUND_BY_THE_TOOL[folder, name]
    if not found or any(part in name for part in UNFIT):
        assert refusal(tool, path)
        return
    assert imported(tool, path)[1].records == found


@pytest.mark.skipif(not FILES, reason="the real files are not at hand")
def test_the_table_of_all_real_files_is_printed_without_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert table.main([]) == 0
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) == len(FILES) + 2
    assert "CRASHED" not in printed
    assert "READ AS ROWS OF OURS" not in printed
