"""What a user installs, and what a fresh machine needs for it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import highbar
from tests.architecture.repository import ROOT, SOURCE

LOCK = ROOT / "requirements-dev.lock"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def name(requirement: str) -> str:
    """`PyYAML>=6` is about pyyaml."""
    return re.sub(r"[_.]", "-", re.split(r"[^A-Za-z0-9_.-]", requirement)[0].lower())


def test_the_lock_file_pins_every_version_with_hashes_and_names_no_address() -> None:
    text = LOCK.read_text("utf-8")
    assert "://" not in text
    assert "--index" not in text
    entries = re.split(r"\n(?=[a-z])", text.strip())
    assert [entry for entry in entries if not re.match(r"[a-z0-9-]+==[^ ]+ .*--hash=sha256:", entry, re.DOTALL)] == []


def test_the_lock_file_has_every_dependency() -> None:
    pinned = {name(line) for line in LOCK.read_text("utf-8").splitlines() if "==" in line}
    groups = PROJECT["dependency-groups"]
    wanted = {name(one) for one in [*PROJECT["project"]["dependencies"], *groups["dev"], *groups["bench"]]}
    assert wanted <= pinned


def test_every_exception_of_the_linter_has_its_reason() -> None:
    section = (ROOT / "pyproject.toml").read_text("utf-8").partition("[tool.ruff.lint]")[2].partition("[tool.mypy]")[0]
    exceptions = re.findall(r'^  "[A-Z]+[0-9]*",.*$', section, re.MULTILINE)
    assert exceptions
    assert [line for line in exceptions if "# " not in line] == []


def test_ci_runs_exactly_the_test_command_of_the_readme() -> None:
    assert (ROOT / ".ci" / "run").read_text("utf-8").splitlines()[-1] == "exec ./scripts/test"
    assert "\n./scripts/test\n" in (ROOT / "README.md").read_text("utf-8")


def test_the_floor_of_the_coverage_is_one_that_can_fail() -> None:
    assert PROJECT["tool"]["coverage"]["run"]["branch"] is True
    assert PROJECT["tool"]["coverage"]["report"]["fail_under"] > 90
    assert "./scripts/coverage" in (ROOT / ".github" / "workflows" / "test.yml").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.process
def test_the_wheel_holds_the_whole_package_and_works_by_itself(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, ROOT], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    wanted = {
        str(file.relative_to(SOURCE.parent))
        for file in SOURCE.rglob("*")
        if file.suffix in {".css", ".js", ".py", ".typed"}
    }
    assert wanted <= packed
    assert {file for file in packed if not file.startswith("highbar")} == set()

    program = f"import sys; sys.path.insert(0, {str(wheel)!r}); from highbar.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program, "--version"], capture_output=True, text=True, check=True)
    assert highbar.__version__ in done.stdout
