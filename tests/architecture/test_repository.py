"""What stands in the files of the repository, and what must not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.architecture.repository import ROOT, SOURCE, text, tracked

pytestmark = pytest.mark.process

# Written in pieces, so that this file is not found by its own test.
PLACES = ["/" + "work/", "/" + "root/", "/" + "home/", "/" + "Users/", "/" + "tmp/"]
REGISTRIES = [
    "pypi" + ".org",
    "python" + "hosted",
    "npm" + "js.",
    "debian" + ".org",
    "index" + "-url",
    "find" + "-links",
]
BRITISH = re.compile(
    r"\b(behaviour|colour|favour|labell|(?<!\")cancell(?!edError|ed\(\)|ing\(\))|normalis|recognis|summaris|organis|neutralis|initialis|judgement|catalogues|"
    r"grey|centre|licence|honour|neighbour|analys(?:e|ing)\b|artefact|spelt\b|whilst|misspelt)",
    re.IGNORECASE,
)
NOT_OURS = {"LICENSE", "requirements-dev.lock"}
PUBLISHED = ROOT / "tests" / "importers" / "fixtures" / "every_eval_ever" / "schemas"
"""Schemas of another project, as it published them."""


def lines(pattern: re.Pattern[str], files: list[Path]) -> list[str]:
    """Every line of these files in which the pattern stands."""
    return [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for file in files
        for number, line in enumerate((text(file) or "").splitlines(), 1)
        if pattern.search(line)
    ]


def ours(*suffixes: str) -> list[Path]:
    """Our own files, with these endings."""
    own = (file for file in tracked() if file.name not in NOT_OURS and file.parent != PUBLISHED)
    return [file for file in own if file.suffix in suffixes]


@pytest.mark.parametrize("place", PLACES)
def test_no_file_names_a_folder_of_one_machine(place: str) -> None:
    assert lines(re.compile(rf"(?<![\w.}}]){re.escape(place)}"), tracked()) == []


@pytest.mark.parametrize("registry", REGISTRIES)
def test_no_file_names_a_package_registry(registry: str) -> None:
    allowed = {ROOT / "scripts" / "lock"} if registry.startswith(("index", "find")) else set()
    assert lines(re.compile(re.escape(registry)), [file for file in tracked() if file not in allowed]) == []


def test_the_spelling_is_american() -> None:
    # Tests hold misspellings on purpose.
    read = [file for file in ours(".md", ".yaml", ".toml", ".py") if "tests" not in file.relative_to(ROOT).parts]
    assert lines(BRITISH, read) == []


def test_nothing_is_left_for_later() -> None:
    later = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3]) + r")\b")
    assert lines(later, ours(".py", ".md", ".yaml", ".toml", ".json")) == []


def test_contributing_says_what_every_package_does() -> None:
    packages = {file.relative_to(SOURCE).parts[0].removesuffix(".py") for file in SOURCE.rglob("*.py")}
    table = re.findall(r"^\| (`.*?) \|", text(ROOT / "CONTRIBUTING.md") or "", re.MULTILINE)
    described = {name for row in table for name in re.findall(r"`(\w+)`", row)}
    assert {name for name in packages if not name.startswith("__")} == described


def test_every_script_can_be_run() -> None:
    scripts = [file for file in tracked() if file.parent in {ROOT / "scripts", ROOT / ".ci"}]
    assert scripts
    for script in scripts:
        assert script.stat().st_mode & 0o111, f"{script.name} is not executable"
        assert (text(script) or "").startswith("#!/usr/bin/env bash\n")
        assert "set -euo pipefail" in (text(script) or "")
