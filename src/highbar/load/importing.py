"""Another tool's files → one file of rows, for users who want to look at them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import BinaryIO

from highbar.errors import InputError
from highbar.load import files, foreign
from highbar.model import ResultsFile


def import_files(
    arguments: Sequence[str],
    tool: str,
    target: str,
    *,
    stdin: BinaryIO | None = None,
    guidance: foreign.Guidance = foreign.NO_GUIDANCE,
) -> Iterator[str]:
    """Write the rows of all files to `target`; yield lines that say what became of the records of each.

    Raises InputError if a file cannot be read, or if a scorer judges in one file and not in another that has it.
    """
    read: list[ResultsFile] = []
    with ExitStack() as stack, open(target, "wb") as rows:
        for found in files.find_foreign(arguments, tool, stack=stack, stdin=stdin, guidance=guidance):
            with open(found.file.path, "rb") as stream:
                shutil.copyfileobj(stream, rows)
            os.unlink(found.file.path)
            yield from found.report.summary(found.file.name, found.title)
            read.append(found.file)
    if problems := foreign.contradictions(read):
        raise InputError(*problems)
