"""What earlier versions had: each removed format, option and key, and what to use in its place."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from highbar.errors import Problem

_JSON = "make it from the JSON verdict, which has every value: --output verdict.json"

REMOVED: Mapping[str, str] = MappingProxyType(
    {
        "highbar judge label --terminal": "the page asks the same: open labels.html in a browser",
        "the format openmetrics": _JSON,
        "the format csv": f"{_JSON}; in Python, verdict.to_frame() makes tables",
        "the format every-eval-ever": f"{_JSON}; highbar still reads such records",
    }
)
"""What was removed, as messages call it, and the hint that names its replacement."""

_FORMAT_OF_ENDING: Mapping[str, str] = MappingProxyType(
    {".prom": "openmetrics", ".om": "openmetrics", ".openmetrics": "openmetrics", ".csv": "csv"}
)


def removed(what: str, place: str = "") -> Problem | None:
    """The problem for something that was removed; None if it never existed. `place` is the option that names it."""
    if what not in REMOVED:
        return None
    return Problem("removed", f"{place}: {what} was removed" if place else f"{what} was removed", hint=REMOVED[what])


def removed_format(name: str, place: str = "") -> Problem | None:
    """The problem for a report format that was removed, named as `csv` or by a file with its ending."""
    ending = next((known for known in _FORMAT_OF_ENDING if name.lower().endswith(known)), "")
    return removed(f"the format {_FORMAT_OF_ENDING.get(ending, name.replace('_', '-'))}", place)
