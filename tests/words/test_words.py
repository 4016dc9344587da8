"""The words of Highbar stand in one place, so that a better sentence is one diff and no search through tests."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.words.snapshot import HERE, ROOT

MOST_REPEATED = 150
"""How many texts of tests repeat a wording. It only falls: tests ask for codes, places and values."""
_WORDS = re.compile(r"[\w'`{}-]+")


@pytest.mark.process
@pytest.mark.slow
def test_the_snapshot_is_of_today() -> None:
    # A process of its own: other tests of a worker install formats and plugins, which help texts list.
    command = [sys.executable, "-m", "tests.words.snapshot", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}: run scripts/words, and read the diff"


def test_few_tests_repeat_a_wording() -> None:
    known = {words for line in (HERE / "problems.txt").read_text("utf-8").splitlines() for words in _runs(line)}
    found = [place for path in sorted((ROOT / "tests").rglob("*.py")) for place in _repeated(path, known)]
    assert len(found) <= MOST_REPEATED, f"{len(found)} texts repeat a wording of problems.txt"


def _repeated(path: Path, known: set[tuple[str, ...]]) -> Iterator[str]:
    """The places of texts in a file that repeat a wording; documentation of tests is none."""
    tree = ast.parse(path.read_text("utf-8"))
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented
        if is_text and not known.isdisjoint(_runs(node.value)):
            yield f"{path.relative_to(ROOT)}:{node.lineno}"


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    """Every four words in a row that have no value in them."""
    words = _WORDS.findall(text)
    for place in range(len(words) - 3):
        run = tuple(words[place : place + 4])
        if not any("{" in word or "}" in word for word in run):
            yield run
