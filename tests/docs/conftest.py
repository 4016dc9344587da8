"""The product, as a reader of the documentation runs it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.docs.pages import ROOT


@pytest.fixture
def highbar_output() -> Callable[..., str]:
    """What `highbar` with these arguments prints to standard output."""

    def output(*arguments: object) -> str:
        command = [sys.executable, "-m", "highbar", *map(str, arguments)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout

    return output
