"""Paths, names in folders and loaded libraries, as they are noted."""

from __future__ import annotations

import os
from typing import Any


def real_of(path: Any) -> str | None:
    """The path without links; None for what is no path."""
    try:
        return os.path.realpath(os.fsdecode(os.fspath(path)))
    except (TypeError, ValueError, OSError):
        return None


def is_in(path: str, folder: str) -> bool:
    """Whether a path is a folder, or below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def names_of(path: Any) -> list[str]:
    """What a folder has; nothing if it cannot be listed."""
    try:
        return sorted(os.fsdecode(name) for name in os.listdir(path))  # noqa: PTH208 - pathlib is slow to load
    except OSError:
        return []


def plain_of(value: Any) -> Any:
    """The value in text that can be stored: the name of a file may be any bytes."""
    if isinstance(value, list):
        return [plain_of(one) for one in value]
    return value.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(value, str) else value


def text_of(value: Any) -> str:
    """A path, or whatever stands for one, as text."""
    try:
        return os.fsdecode(os.fspath(value))
    except TypeError:
        return str(value)[:100]


def libraries_of() -> list[str]:
    """The libraries that this process has loaded, on Linux."""
    try:
        with open("/proc/self/maps", "rb") as file:  # noqa: PTH123 - pathlib is slow to load
            lines = file.read().splitlines()
    except OSError:
        return []
    parts = (line.split(None, 5) for line in lines)
    return list(dict.fromkeys(os.fsdecode(one[5]) for one in parts if len(one) == 6 and one[5].startswith(b"/")))
