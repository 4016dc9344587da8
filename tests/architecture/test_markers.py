"""The markers by cost, and what stands behind the tests themselves."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.architecture.repository import ROOT
from tests.tables import each

COSTS = ("slow", "process", "browser", "spark", "registry")


def outcome(folder: Path, tests: str, *arguments: str) -> str:
    """What pytest says of these tests, in a project of their own with our conftest and markers."""
    markers = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"]["markers"]
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n" + "".join(f"    {marker}\n" for marker in markers))
    (folder / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text("utf-8"), "utf-8")
    (folder / "test_inner.py").write_text(f"import subprocess, sys, pytest\n{tests}")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments]
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))  # our conftest imports from tests
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout


@pytest.mark.process
def test_what_starts_a_process_without_a_marker_fails(tmp_path: Path) -> None:
    unmarked = "def test_one(): subprocess.run([sys.executable, '-c', ''], check=True)\n"
    marked = unmarked.replace("def test_one", "@pytest.mark.process\ndef test_two")
    done = outcome(tmp_path, unmarked + marked)
    assert "2 passed, 1 error" in done
    assert "ERROR test_inner.py::test_one - AssertionError: mark it: @pytest.mark.process" in done


@pytest.mark.process
def test_what_asks_for_spark_or_a_browser_gets_its_marker(tmp_path: Path) -> None:
    fixtures = "@pytest.fixture\ndef spark(): pass\n@pytest.fixture\ndef page(chromium): pass\n"
    tests = "def test_one(spark): pass\ndef test_two(page): pass\ndef test_three(): pass\n"
    assert "1 passed, 2 deselected" in outcome(tmp_path, fixtures + tests, "-m", "not (spark or browser)")


def test_the_quick_loop_leaves_out_every_marker_of_cost() -> None:
    script = (ROOT / "scripts" / "test").read_text("utf-8")
    assert f'-m "not ({" or ".join(COSTS)})"' in script


def test_a_table_lists_every_row_that_fails() -> None:
    @each([(1, 2), (2, 2), (3, 4)])
    def equal(one: int, other: int) -> None:
        assert one == other

    with pytest.raises(AssertionError, match=r"2 of 3 rows fail:\n\(1, 2\)[^(]*\n\(3, 4\)"):
        equal()


WAITING = re.compile(r"(?<![\w.])timeout\s*=(?!=)\s*(?![\"']|Fraction)")
"""A keyword that limits a wait. `timeout="10s"` and `timeout=Fraction(10)` are settings of a suite."""
OF_AN_AGENT = {
    "tests/unit/running/judging/test_http_judge.py": "a judge that has to time out",
    "tests/unit/running/python_agents.py": "the timeout of the calls that its tests make",
    "tests/unit/running/test_python_replies.py": "a call that has to time out",
}
"""Files in which a timeout is what an agent has for an answer, each with its reason."""


def test_no_test_waits_for_a_number_of_seconds_of_its_own() -> None:
    """`tests/patience.py` has the one limit; a shorter one fails on a busy machine."""
    short = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in sorted(Path(ROOT, "tests").rglob("*.py"))
        if "recipes" not in file.parts and str(file.relative_to(ROOT)) not in OF_AN_AGENT
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if WAITING.search(line) and "PATIENCE" not in line
    ]
    assert short == []
