"""What holds for every test: generated examples take the time they need, and are the same on every machine.

Random search has its own command, scripts/fuzz, which sets HIGHBAR_FUZZ; what it finds becomes a fixed example.

And the one browser of a process; it is loaded where a test asks for it.
"""

from __future__ import annotations

import os
from contextlib import ExitStack

import pytest
from hypothesis import settings

settings.register_profile("fixed", deadline=None, derandomize=True, print_blob=True, max_examples=50)
settings.register_profile("random", deadline=None, print_blob=True)
settings.load_profile("random" if os.environ.get("HIGHBAR_FUZZ") else "fixed")


@pytest.fixture(scope="session")
def chromium():
    from tests.chromium import launched

    with ExitStack() as stack:
        yield launched(stack)


@pytest.fixture
def open_page(chromium):
    from tests.chromium import opener

    with ExitStack() as stack:
        yield opener(chromium, stack)
