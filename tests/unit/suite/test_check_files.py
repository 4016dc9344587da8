"""A digest covers the files that checks use: to change a schema or a function is to change the check."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from highbar.suite import read
from tests.commandline import judged, refused, run
from tests.recorded_runs import record

TEN = '{"type": "integer", "minimum": 10}'
ANY = '{"type": "integer"}'
BEGINS = "def begins(answer):\n    return answer['output'].startswith('1')\n"
Suites = Callable[..., Path]


@pytest.fixture
def suite_with(tmp_path: Path) -> Suites:
    """Writes a suite with these keys in its first scenario, and in its glossary; the second uses no file."""

    def written(keys: dict[str, Any], **top: Any) -> Path:
        plain = {"id": "PLAIN", "input": "?", "answer": {"contains": "1", "part": True}}
        path = tmp_path / "suite.json"
        path.write_text(json.dumps({"scenarios": [{"id": "FILES", "input": "?", **keys}, plain], **top}))
        return path

    return written


CHECKS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"answer": {"is_json": "schema.json"}}, {}),
    ({"expected_behaviors": {"counts": {"not": {"any": [{"is_json": "schema.json"}, {"equals": "x"}]}}}}, {}),
    ({"must_not": ["counts"]}, {"behaviors": {"counts": {"is_json": "schema.json"}}}),
    ({"answer": {"python": "mine:begins"}}, {}),
    ({"answer": {"python": "package.inside:begins"}}, {}),
    ({"answer": {"python": "package:begins"}}, {}),
    ({"expected_behaviors": {"one": {"all": [{"python": "mine:begins"}, {"contains": "1"}]}}}, {}),
]


@pytest.mark.parametrize(("keys", "top"), CHECKS)
def test_a_changed_file_changes_the_digest_of_the_scenarios_that_use_it(
    tmp_path: Path, suite_with: Suites, keys: dict[str, Any], top: dict[str, Any]
) -> None:
    path = suite_with(keys, **top)
    (tmp_path / "package").mkdir()
    files = ("schema.json", "mine.py", "package/__init__.py", "package/inside.py")
    for name in files:
        (tmp_path / name).write_text(TEN if name == "schema.json" else BEGINS)
    before = read(path)
    assert read(path).digest == before.digest
    for name in files:
        file = tmp_path / name
        file.write_text(ANY if name == "schema.json" else BEGINS.replace("'1'", "''"))
    after = read(path)
    assert after.sha256 == before.sha256
    assert after.digest != before.digest
    assert after.scenarios["FILES"].digest != before.scenarios["FILES"].digest
    assert after.scenarios["PLAIN"].digest == before.scenarios["PLAIN"].digest


def test_a_module_is_found_as_installed_without_importing_it(suite_with: Suites) -> None:
    installed, absent = ({"answer": {"python": f"{name}:check"}} for name in ("this", "no_such_module"))
    first, second = read(suite_with(installed)).digest, read(suite_with(absent)).digest
    assert first != second
    assert "this" not in sys.modules


def test_a_run_is_not_judged_by_a_schema_that_was_never_applied(tmp_path: Path, suite_with: Suites) -> None:
    (tmp_path / "schema.json").write_text(ANY)
    path = suite_with({"answer": {"is_json": "schema.json"}})
    policy = {"suite": "suite.json", "thresholds": {"blocking": {"pass_rate": "100%"}}}
    (tmp_path / "highbar.json").write_text(json.dumps(policy))
    record(tmp_path / "run", path, lambda _id, _trial: "1")
    judged(run(tmp_path, "check", "run", "--format", "json"), "pass")
    (tmp_path / "schema.json").write_text(TEN)
    done = run(tmp_path, "check", "run", "--format", "json")
    refused(done, "another version of the suite", "the files that its checks use", "--rerun-changed")


@pytest.mark.process
def test_a_resume_notices_a_changed_function(tmp_path: Path, suite_with: Suites) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(BEGINS)
    written = mine.stat()
    (tmp_path / "agent.py").write_text("def answer(said):\n    return '12'\n")
    suite_with({"answer": {"python": "mine:begins"}}, agent={"python": "agent:answer"})
    assert run(tmp_path, "run", "suite.json", "--output", "out", "--no-check").exit == 0
    assert run(tmp_path, "run", "--resume", "out", "--no-check").exit == 0
    mine.write_text(BEGINS.replace("'1'", "'2'"))
    # Python takes stored bytecode for that of a file with the same size and the same second of its last change.
    os.utime(mine, ns=(written.st_atime_ns, written.st_mtime_ns))
    (tmp_path / "agent.py").write_text("def answer(said):\n    raise SystemExit('nobody asks again')\n")
    done = run(tmp_path, "run", "--resume", "out", "--no-check")
    assert done.exit == 0, done.err
    assert "files of checks have changed; the answers are graded anew by them: FILES" in done.err
    rows = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert [row["correct"] for row in rows] == [False, True]
    again = run(tmp_path, "run", "--resume", "out", "--no-check")
    assert (again.exit, "graded anew" in again.err) == (0, False), "the new file is the one that counts now"


@pytest.mark.process
def test_after_a_resume_a_run_is_judged_by_the_file_that_graded_it(tmp_path: Path, suite_with: Suites) -> None:
    (tmp_path / "schema.json").write_text(ANY)
    (tmp_path / "agent.py").write_text("def answer(said):\n    return '1'\n")
    suite_with({"answer": {"is_json": "schema.json"}}, agent={"python": "agent:answer"})
    policy = {"suite": "suite.json", "thresholds": {"blocking": {"pass_rate": "100%"}}}
    (tmp_path / "highbar.json").write_text(json.dumps(policy))
    judged(run(tmp_path, "run", "suite.json", "--output", "out", "--format", "json"), "pass")
    (tmp_path / "schema.json").write_text(TEN)
    refused(run(tmp_path, "check", "out", "--format", "json"), "another version of the suite")
    judged(run(tmp_path, "run", "--resume", "out", "--format", "json"), "fail")
    judged(run(tmp_path, "check", "out", "--format", "json"), "fail")
