# /// script
# requires-python = ">=3.11"
# dependencies = ["pytest==9.2.0"]
# ///
"""JUnit XML with everything that pytest writes into it, made by pytest itself.

    python make_junit.py FOLDER

writes `pytest.xml`, and `totals.json`: what pytest itself counts.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

SUITE = """
import pytest


@pytest.mark.parametrize("number", range(1, 7))
def test_adds(number, record_property):
    record_property("category", "happy_path" if number < 4 else "edge_case")
    record_property("cluster", f"template-{number % 2}")
    assert number + number != 10


def test_refuses(record_property):
    record_property("category", "adversarial")
    print("I will not do that")


@pytest.fixture
def broken():
    raise RuntimeError("the tool lost its connection")


def test_crashes(broken):
    assert True


@pytest.mark.skip(reason="not today")
def test_skipped():
    assert True


@pytest.mark.xfail(reason="known")
def test_expected_to_fail():
    assert False


class TestNames:
    def test_forbidden_characters(self):
        assert False, "bell \\\\x07 and escape \\\\x1b[31m ]]> & < end"
"""


COUNTING = """
import json
from pathlib import Path


def pytest_terminal_summary(terminalreporter):
    kinds = ("passed", "failed", "error", "skipped", "xfailed")
    found = {kind: len(terminalreporter.stats.get(kind, ())) for kind in kinds}
    Path("totals.json").write_text(json.dumps(found, indent=1) + "\\n")
"""


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        Path(temporary, "test_suite.py").write_text(SUITE)
        Path(temporary, "counts.py").write_text(COUNTING)
        command = [sys.executable, "-m", "pytest", "-p", "counts", "-q", "--junitxml=pytest.xml", "test_suite.py"]
        subprocess.run(command, cwd=temporary, check=False, capture_output=True)
        text = Path(temporary, "pytest.xml").read_text("utf-8")
        (folder / "pytest.xml").write_text(text.replace(temporary, "suite"), "utf-8")
        (folder / "totals.json").write_text(Path(temporary, "totals.json").read_text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
