"""Every real file below ../shared/samples: read whole and judged, or refused with a message; never a crash or nothing.

How many rows each gives is counted again in the tests of its tool, by lines of their own; here it is compared with what
the tools' own readers find, and all of them go the whole way to a verdict.
"""

from __future__ import annotations

import functools
import json
from contextlib import suppress
from pathlib import Path

import pytest

import highbar
from highbar.errors import InputError
from tests.importers import table
from tests.importers.imported import COUNTS, SAMPLES, Row, imported, recognized, refusal

pytestmark = pytest.mark.xdist_group("test_real_files")  # all of them need the rows of all files
POLICY = {"thresholds": {"blocking": {"pass_rate": "≥ 1%"}}}
FILES = table.files([str(SAMPLES)]) if SAMPLES.exists() else []
KEPT = json.loads(COUNTS.read_text("utf-8"))
UNFIT = ("cvebench_empty_choices", "cyse2_vuln", "log_tool_call_error", "retry-2-then-success")
"""Logs that Inspect AI reads and no gate can: their results speak of samples that were cut out, or nobody judged."""
REFUSED = ("otel",)
"""Tools of which no real file can be judged."""
FOUND_BY_THE_TOOL = {(folder, name): count for folder, files in KEPT.items() for name, count in files.items()}


@functools.cache
def rows_by_file() -> dict[str, dict[Path, list[Row]]]:
    """By tool, the rows of its files; not of those that are refused with a message. Any other exception is a crash."""
    found: dict[str, dict[Path, list[Row]]] = {}
    for path in FILES:
        tool = recognized(path)
        if tool is not None:
            with suppress(InputError):
                found.setdefault(tool, {})[path] = imported(tool, path)[0]
    return found


TOOLS = sorted({tool for path in FILES if (tool := recognized(path)) is not None})


@pytest.mark.parametrize("tool", TOOLS)
def test_the_rows_of_all_real_files_of_a_tool_are_judged(tool: str, tmp_path: Path) -> None:
    """As one file of rows, with the number of their file before each id, and without versions: only one is judged."""
    files = rows_by_file().get(tool, {}).values()
    rows = [
        {**{name: value for name, value in row.items() if name != "agent_version"}, "id": f"{number} {row['id']}"}
        for number, own in enumerate(files)
        for row in own
    ]
    if not rows:
        assert tool in REFUSED
        return
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert highbar.check(path, POLICY).counts.trials == len(rows)


@pytest.mark.parametrize("tool", TOOLS)
def test_real_files_of_a_tool_are_judged_by_all_of_their_rows(tool: str) -> None:
    """The largest and the smallest file with each ending, from the file to the verdict."""
    files: dict[str, list[Path]] = {}
    for path, rows in sorted(rows_by_file().get(tool, {}).items(), key=lambda one: len(one[1])):
        if rows:
            files.setdefault(path.suffix, []).append(path)
    assert files or tool in REFUSED
    for path in {path for found in files.values() for path in (found[0], found[-1])}:
        assert highbar.check(path, POLICY).counts.trials == len(rows_by_file()[tool][path]), path


@pytest.mark.skipif(not FILES, reason="the real files are not at hand")
def test_a_real_file_without_a_row_or_of_no_tool_is_refused_with_a_message() -> None:
    empty = [path for files in rows_by_file().values() for path, rows in files.items() if not rows]
    unknown = [path for path in FILES if recognized(path) is None]
    assert empty
    assert unknown
    for path in (*empty, *unknown):
        with pytest.raises(InputError):
            highbar.check(path, POLICY)


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
