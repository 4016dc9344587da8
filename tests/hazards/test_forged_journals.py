"""Journals that somebody wrote by hand, with right checksums: what no run writes in them is refused, and said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from highbar.store import run_document
from tests.commandline import run
from tests.recorded_runs import record
from tests.unit.running.journals import found_in, lines_of

Change = Callable[[list[dict[str, Any]]], None]
COMMANDS = [
    ("check", "run"),
    ("check", "run", "--history", "history"),
    ("history", "add", "run"),
    ("run", "--resume", "run", "--run-all"),
    ("grade", "run", "-o", "again.jsonl"),
]


def plan(**changes: Any) -> Change:
    """Other members of the plan."""
    return lambda records: records[0].update(changes)


def ended(**changes: Any) -> Change:
    """Other members of the record of the first trial."""
    return lambda records: records[1].update(changes)


def forge(folder: Path, change: Change) -> None:
    """Change the records of a journal, and write it and `run.json` as if that had been so from the start."""
    records = [json.loads(payload) for payload in found_in(folder / "journal")]
    change(records)
    lines = lines_of([json.dumps(one).encode() for one in records], 1)
    (folder / "journal").write_bytes(b"".join(lines))
    document = json.loads((folder / "run.json").read_text())
    document["journal"] = {"bytes": sum(map(len, lines)), "lines": len(lines), "checksum": lines[-1][:8].decode()}
    (folder / "run.json").write_text(json.dumps(document))
    assert run_document.read_run_document(folder)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    "change",
    [
        plan(agent={"kind": "python"}),
        plan(agent={"kind": "python", "target": 5}),
        plan(settings={"of_another_version": 1}),
        plan(settings={"concurrency": "many"}),
        plan(settings={"budget": "a lot"}),
        plan(judges=[{"model": 5}]),
        ended(turns="none"),
        ended(turns=[{"reply": True}]),
    ],
)
def test_what_no_run_writes_is_refused_in_words(tmp_path: Path, command: tuple[str, ...], change: Change) -> None:
    scenarios = [{"id": f"S{place}", "input": "Is it?", "answer": {"contains": "yes"}} for place in range(30)]
    (tmp_path / "suite.json").write_text(json.dumps({"scenarios": scenarios}))
    (tmp_path / "highbar.json").write_text('{"evidence": "sequential", "thresholds": {"accuracy": "60%"}}')
    record(tmp_path / "run", tmp_path / "suite.json", lambda *_: "yes")
    forge(tmp_path / "run", change)
    done = run(tmp_path, *command)
    assert "internal error" not in done.err
    assert done.exit == 2 or (done.exit == 0 and command[0] != "run"), done.err  # what is not used may be anything
    assert done.exit == 0 or "journal" in done.err
