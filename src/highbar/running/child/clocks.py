"""The clocks as they are before any code of the user is loaded: tests of agents often replace those of `time`."""

from __future__ import annotations

from time import monotonic, perf_counter

__all__ = ["monotonic", "perf_counter"]
