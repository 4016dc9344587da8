# /// script
# requires-python = ">=3.11"
# dependencies = ["pytest==9.2.0", "pytest-rerunfailures==16.7", "pytest-repeat==0.9.4", "pytest-xdist==3.8.0"]
# ///
"""JUnit XML with everything that pytest writes into it, made by pytest itself.

    python make_junit.py FOLDER

writes `pytest.xml`, `reruns.xml` and `hopeless.xml` (attempts that pytest-rerunfailures made again), `crashes.xml` (of
which the worker of pytest-xdist crashed), `repeat.xml` (pytest-repeat), `subtests.xml` and `passed_subtests.xml`
(pytest 9), and `totals.json`: what pytest itself counts.
"""

import json
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

HOPELESS = """
import pytest


@pytest.mark.parametrize("number", range(10))
def test_never_passes(number):
    assert False, "no"
"""

RERUNS = """
import pytest

attempts = []


@pytest.mark.parametrize("number", range(3))
def test_never_passes(number):
    assert False, "no"


def test_passes_at_the_third_attempt():
    attempts.append(1)
    assert len(attempts) > 2


def test_passes():
    pass


@pytest.fixture
def breaks_late():
    yield
    raise RuntimeError("the tool lost its connection")


def test_breaks_late(breaks_late):
    pass
"""

CRASHES = """
import os
from pathlib import Path


def test_passes():
    pass


def test_crashes():
    os._exit(3)


def test_crashes_once():
    if not Path("crashed").exists():
        Path("crashed").touch()
        os._exit(3)
"""

REPEAT = """
import pytest


def test_passes():
    pass


@pytest.mark.parametrize("word", ["a", "b-c"])
def test_words(word):
    assert word == "a"


@pytest.mark.repeat(2)
@pytest.mark.parametrize(("x", "y"), [(1, 2), (2, 2)])
def test_numbers(x, y):
    pass
"""

SUBTESTS = """
import unittest


def test_one_subtest_fails(subtests):
    for number in range(4):
        with subtests.test("number", number=number):
            assert number != 2


def test_subtest_and_test_fail(subtests):
    with subtests.test(number=1):
        assert False
    assert False, "and the test"


def test_all_subtests_pass(subtests):
    for number in range(3):
        with subtests.test(number=number):
            pass


class TestOld(unittest.TestCase):
    def test_one_fails(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertNotEqual(number, 1)
"""

PASSED_SUBTESTS = """
def test_says_how_many_it_has(subtests, record_property):
    record_property("subtests", 3)
    for number in range(3):
        with subtests.test(number=number):
            pass
"""


COUNTING = """
import json
from pathlib import Path


def pytest_terminal_summary(terminalreporter):
    kinds = ("passed", "failed", "error", "skipped", "xfailed", "rerun")
    found = {kind: len(terminalreporter.stats.get(kind, ())) for kind in kinds}
    Path("totals.json").write_text(json.dumps(found, indent=1) + "\\n")
"""


SUITES = {
    "pytest": (SUITE, []),
    "hopeless": (HOPELESS, ["--reruns", "9"]),
    "reruns": (RERUNS, ["--reruns", "2"]),
    "crashes": (CRASHES, ["--reruns", "2", "-n", "2"]),
    "repeat": (REPEAT, ["--count", "3"]),
    "subtests": (SUBTESTS, []),
    "passed_subtests": (PASSED_SUBTESTS, []),
}


def run(folder: Path, name: str, suite: str, options: list[str]) -> dict:
    """The report of one run, and what pytest counted in it."""
    with tempfile.TemporaryDirectory() as temporary:
        Path(temporary, "test_suite.py").write_text(suite)
        Path(temporary, "counts.py").write_text(COUNTING)
        command = [sys.executable, "-m", "pytest", "-p", "counts", "-q", f"--junitxml={name}.xml", *options]
        subprocess.run([*command, "test_suite.py"], cwd=temporary, check=False, capture_output=True)
        text = Path(temporary, f"{name}.xml").read_text("utf-8")
        (folder / f"{name}.xml").write_text(text.replace(temporary, "suite"), "utf-8")
        return json.loads(Path(temporary, "totals.json").read_text())


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    found = {f"{name}.xml": run(folder, name, *how) for name, how in SUITES.items()}
    (folder / "totals.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
