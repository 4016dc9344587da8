"""Runs for a history that nobody ran, as the benchmark makes them too."""

from __future__ import annotations

from bench.history_runs import DIGEST, add, counts, new_run

__all__ = ["DIGEST", "add", "counts", "new_run"]
