"""A path → a path by which DuckDB reads exactly that file."""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def exact_path(path: str, suffix: str = "") -> Iterator[str]:
    """The path, or that of a link to it if it has `*`, `?` or `[`, or starts with `~`.

    DuckDB takes these in a path for a pattern, and for the home folder.

    A link, since DuckDB cannot escape them in every path: it takes a backslash before one for the end of a folder.
    """
    if not glob.has_magic(path) and not path.startswith("~"):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="highbar-") as folder:
        link = os.path.join(folder, f"results{suffix}")
        os.symlink(os.path.abspath(path), link)
        yield link
