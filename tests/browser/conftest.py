"""Reports to open, and the browser to open them with."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.chromium import chromium, open_page
from tests.commandline import run

__all__ = ["chromium", "open_page"]
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "support-agent"


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the reports of the example: `v1.html`, which fails, and `v2.html`, which passes."""
    folder = tmp_path_factory.mktemp("example")
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
    for version, code in (("v1", 1), ("v2", 0)):
        done = run(folder, "check", f"{version}.jsonl", "--output", f"{version}.html", "--quiet")
        assert done.exit == code, done.err
    return folder
