"""What holds for every test: generated examples take the time they need, and are the same on every machine in CI."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("development", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "development")
