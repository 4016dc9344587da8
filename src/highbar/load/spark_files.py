"""The files that Spark reads, if this process can read them too, so that they are counted here, without Spark."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import cast
from urllib.parse import unquote, urlsplit

from highbar.errors import InputError, Problem
from highbar.load import folders
from highbar.load.folders import COMPRESSIONS
from highbar.model import Format, ResultsFile


def local_files(addresses: Sequence[str], paths: Sequence[str], format_: str) -> tuple[ResultsFile, ...] | None:
    """The files at the addresses that Spark reads; None if any of them is elsewhere.

    Refuses files that the paths name but Spark does not read: through a broken link, or in a folder inside a folder.
    """
    places = [urlsplit(url) for url in addresses]
    read = [unquote(place.path) for place in places]
    if not all(place.scheme in ("", "file") and os.path.isfile(path) for place, path in zip(places, read, strict=True)):
        return None
    seen = {os.path.realpath(path) for path in read}
    hint = "check without --engine spark, or name the files themselves"
    left = [
        Problem("spark.cannot-read", "Spark does not read this file", file=path, hint=hint)
        for argument in paths
        for path in _files_of(argument)
        if os.path.realpath(path) not in seen
    ]
    if left:
        raise InputError(*left)
    return tuple(
        ResultsFile(path, path, cast("Format", format_), COMPRESSIONS.get(os.path.splitext(path)[1])) for path in read
    )


def _files_of(argument: str) -> tuple[str, ...]:
    """The files that an argument names on this machine; none if it is an address."""
    return () if "://" in argument or argument.startswith("file:") else folders.expand(argument).files
