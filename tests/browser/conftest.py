"""Reports to open."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.commandline import run

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "support-agent"
POLICY = """
thresholds: { blocking: { accuracy: ≥ 80% } }
baseline: { file: baseline.json, margin: { accuracy: 1%, pass_rate: 2% } }
slices: [category]
"""


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the reports of the example: `v1.html`, which fails, and `v2.html`, which passes."""
    folder = tmp_path_factory.mktemp("example")
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
    for version, code in (("v1", 1), ("v2", 0)):
        done = run(folder, "check", f"{version}.jsonl", "--output", f"{version}.html", "--quiet")
        assert done.exit == code, done.err
    return folder


@pytest.fixture(scope="session")
def compared(example: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `compare.html`, from v2 to v1, and `check.html`, v1 against a baseline of v2."""
    folder = tmp_path_factory.mktemp("compared")
    for name in ("v1.jsonl", "v2.jsonl"):
        (folder / name).write_bytes((example / name).read_bytes())
    (folder / "highbar.yaml").write_text(POLICY, "utf-8")
    assert run(folder, "baseline", "record", "v2.jsonl").exit == 0
    assert run(folder, "compare", "v2.jsonl", "v1.jsonl", "--output", "compare.html", "--output", "it.json").exit == 1
    assert run(folder, "check", "v1.jsonl", "--output", "check.html").exit == 1
    return folder
