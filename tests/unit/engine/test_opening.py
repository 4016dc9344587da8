"""The table of engines, and engines that other packages add to it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import highbar
from highbar.cli.options import NAMES
from highbar.engine.opening import ENGINES, choose_engine
from tests.commandline import run

MODULE = """
import sys
from highbar.engine.opening import ENGINES, EngineKind

def opened(results):
    print("opened by another package", file=sys.stderr)
    return ENGINES["duckdb"].open(results)

KIND = EngineKind(opened)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = ({"id": f"S{i}", "passed": i < 9} for i in range(10))
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "highbar.json").write_text('{"thresholds": {"blocking": {"pass_rate": 50}}}')
    return tmp_path


def installed(folder: Path, module: str = MODULE) -> dict[str, str]:
    """An environment in which a package with an engine of its own is installed."""
    about = folder / "packages" / "highbar_mine-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: highbar-mine\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[highbar.engines]\nmine = highbar_mine:KIND\n")
    (about.parent / "highbar_mine.py").write_text(module)
    return {"PYTHONPATH": os.pathsep.join([str(about.parent), str(Path(highbar.__file__).parents[1])])}


def test_the_command_line_names_every_engine_of_the_table():
    assert tuple(ENGINES) == NAMES
    assert [choose_engine(name).reads_paths for name in NAMES] == [False, True]


def test_an_engine_that_no_package_has_is_refused(folder: Path):
    done = run(folder, "check", "results.jsonl", "--engine", "mine")
    assert done.exit == 2
    assert done.codes == ["option.bad-value"]
    for name in ("'mine'", "'duckdb'", "'spark'"):
        assert name in done.err
    with pytest.raises(LookupError):
        choose_engine("mine")


@pytest.mark.process
def test_an_installed_package_adds_an_engine(folder: Path):
    environment = installed(folder)
    done = run(folder, "check", "results.jsonl", "--engine", "mine", "--format", "json", environment=environment)
    assert (done.exit, done.json["verdict"]) == (0, "pass")
    assert "opened by another package" in done.err


@pytest.mark.process
@pytest.mark.parametrize(
    ("module", "value"),
    [
        ("raise ImportError('no such library')", "no such library"),
        ("KIND = 5", "int"),
    ],
)
def test_a_broken_package_is_named(folder: Path, module: str, value: str):
    done = run(folder, "check", "results.jsonl", "--engine", "mine", environment=installed(folder, module))
    assert done.exit == 2
    assert done.codes == ["plugin.broken"]
    assert "'mine'" in done.err
    assert value in done.err
