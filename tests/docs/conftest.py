"""The product, as a reader of the documentation runs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commandline import run


@pytest.fixture
def highbar_output(tmp_path: Path) -> Callable[..., str]:
    """What `highbar` with these arguments prints to standard output."""

    def output(*arguments: object) -> str:
        return run(tmp_path, *map(str, arguments)).out

    return output
