"""Who looks at a folder or starts a program: Python itself, which decides nothing by it, or code that it runs."""

from __future__ import annotations

import sys
from types import FrameType

_ASKING = ("platform", "ctypes.util", "uuid")
"""Modules of Python that start programs of the system."""


def is_of_site(frame: FrameType | None) -> bool:
    """Whether Python asks whether a folder is there, before it adds that to the places of modules."""
    return frame is not None and frame.f_globals.get("__name__") == "site" and frame.f_code.co_name == "addpackage"


def is_of_python(frame: FrameType | None) -> bool:
    """Whether Python itself asks the system what it is, as in `platform.uname()`."""
    while frame is not None and frame.f_globals.get("__name__") == "subprocess":
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename in map(_file_of, _ASKING)


def _file_of(name: str) -> str | None:
    return getattr(sys.modules.get(name), "__file__", None)
