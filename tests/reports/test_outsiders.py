"""A format of a report that somebody else adds: a small distribution of its own, really built and really installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import highbar
from tests.commandline import Run, run
from tests.docs.pages import blocks

pytestmark = pytest.mark.process

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "reports.md"
BLOCKS = [block.text for block in blocks(PAGE.read_text("utf-8")) if block.language == "text"]
(ABOUT,) = (text for text in BLOCKS if "[project]" in text)
(MODULE,) = (text for text in BLOCKS if "def render(verdict, display)" in text)
"""The example of the page, as it is there."""
BUILD = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
only-include = ["highbar_shout.py"]
"""
RESULTS = '{"id": "a", "passed": true}\n{"id": "b", "passed": false}\n'
POLICY = "thresholds: { blocking: { pass_rate: 50% } }\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which pip installed the distribution."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    (source / "pyproject.toml").write_text(ABOUT + BUILD, "utf-8")
    (source / "highbar_shout.py").write_text(MODULE, "utf-8")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--target", target, source], check=True)
    return target


@pytest.fixture
def place(installed: Path) -> dict[str, str]:
    """An environment in which it is installed beside Highbar."""
    return {"PYTHONPATH": os.pathsep.join([str(installed), str(Path(highbar.__file__).parents[1])])}


@pytest.fixture
def replaced(installed: Path):
    """Puts another module in the place of the installed one, for a while."""
    module = installed / "highbar_shout.py"
    yield lambda text: module.write_text(text, "utf-8")
    module.write_text(MODULE, "utf-8")


def check(folder: Path, place: dict[str, str], *arguments: str, results: str = RESULTS) -> Run:
    (folder / "highbar.yaml").write_text(POLICY)
    (folder / "results.jsonl").write_text(results)
    return run(folder, "check", "results.jsonl", *arguments, environment=place)


def test_the_format_of_an_installed_package_is_printed_and_written(tmp_path: Path, place: dict[str, str]) -> None:
    outputs = ("--output", "release.SHOUT", "--output", "shout=named.txt", "--output", "page.md")
    done = check(tmp_path, place, "--format", "shout", *outputs)
    assert (done.exit, done.out) == (0, "PASS!\n"), done.err
    assert (tmp_path / "release.SHOUT").read_text() == (tmp_path / "named.txt").read_text() == "PASS!\n"
    assert (tmp_path / "page.md").read_text().startswith("## PASS")


def test_it_says_in_its_own_way_that_nothing_could_be_judged(tmp_path: Path, place: dict[str, str]) -> None:
    done = check(tmp_path, place, "--format", "shout", "--output", "a.shout", results='{"id": 1.5}\n')
    assert done.exit == 2
    assert done.out == (tmp_path / "a.shout").read_text()
    assert done.out.endswith("!\n")
    assert done.out.upper() == done.out


def test_it_is_known_in_python(place: dict[str, str]) -> None:
    program = (
        "import highbar\n"
        "verdict = highbar.check([{'id': 'a', 'passed': True}], {'thresholds': {'blocking': {'pass_rate': '50%'}}})\n"
        "print(highbar.render(verdict, 'shout'), end='')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **place}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "PASS!\n"


def test_a_name_that_no_one_has_is_refused_with_those_that_are(tmp_path: Path, place: dict[str, str]) -> None:
    assert "'shout'" in check(tmp_path, place, "--format", "shoot").err
    done = check(tmp_path, place, "--output", "shoot=a.txt")
    assert (done.exit, "github-comment, shout" in done.err) == (2, True), done.err
    done = check(tmp_path, place, "--output", "a.shoot")
    assert (done.exit, ".xml, .shout" in done.err) == (2, True), done.err


def test_no_package_is_loaded_for_a_format_of_ours(tmp_path: Path, place: dict[str, str], replaced) -> None:
    replaced("raise RuntimeError('an outsider was loaded')\n")
    done = check(tmp_path, place, "--format", "markdown", "--output", "a.json", "--output", "junit=b")
    assert done.exit == 0, done.err
    assert "outsider" not in done.err


@pytest.mark.parametrize("arguments", [("--format", "shout"), ("--output", "a.shout"), ("--output", "shout=a")])
@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("import no_such_module\n", "ModuleNotFoundError"),
        ("def render(verdict, display): return ''\n", "render_problems"),
    ],
)
def test_a_package_that_is_broken_is_named(
    tmp_path: Path, place: dict[str, str], replaced, arguments: tuple[str, str], module: str, reason: str
) -> None:
    replaced(module)
    done = check(tmp_path, place, *arguments)
    assert done.exit == 2, done.err
    assert done.codes == ["plugin.broken"]
    assert "'shout'" in done.err
    assert reason in done.err


@pytest.mark.parametrize(
    ("body", "reason"), [("1 / 0", "failed: ZeroDivisionError"), ("return b'PASS'", "failed: render gave bytes")]
)
def test_a_package_that_fails_keeps_no_other_report_from_being_written(
    tmp_path: Path, place: dict[str, str], replaced, body: str, reason: str
) -> None:
    replaced(MODULE + f"\ndef render(verdict, display):\n    {body}\n")
    done = check(tmp_path, place, "--format", "shout", "--output", "a.shout", "--output", "page.md")
    assert done.exit == 4
    assert "'shout'" in done.err
    assert reason in done.err
    assert "nothing was judged" in (tmp_path / "a.shout").read_text().casefold()
    assert (tmp_path / "page.md").read_text().startswith("## PASS")
