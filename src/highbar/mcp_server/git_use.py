"""What the tools that only read let git do: read what is below the folder, and start nothing else.

Git's configuration, which a coding agent can alter, names programs: filters, and the other end of a partial clone,
from which git fetches what it lacks. Commands that only read objects need none but the last.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePosixPath

from highbar.load.revision import ask_git

ALONE = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1"}
"""With these in its environment, git fetches nothing."""
_COMMANDS = frozenset({"cat-file", "ls-files", "ls-tree", "merge-base", "rev-list", "rev-parse", "symbolic-ref"})
"""These look at no file of the working copy, so that no filter is asked about it."""
_WITH_VALUE = ("-c", "-C")


def is_reading(words: Sequence[str]) -> bool:
    """Whether a command of git only reads objects, or the index."""
    return _command(words)[0] in _COMMANDS


def path_outside(words: Sequence[str]) -> str | None:
    """A path that the command names and that is neither below the folder nor on the way to it; None if there is none.

    What is on the way (the folders around the folder) may be asked about, but not with all that is in it. Where in the
    repository the folder is, git itself says: a folder `.git` does not make one.
    """
    command, rest = _command(words)
    if command != "ls-tree":
        return None  # to list names in the index reads no file
    named = rest[rest.index("--") + 1 :] if "--" in rest else []
    prefix = ask_git("rev-parse", "--show-prefix")
    if prefix is None:  # then nothing is known
        return "."
    folder = PurePosixPath(os.fsdecode(prefix).rstrip("\n"))
    for name in named or ["."]:
        path = PurePosixPath(os.path.normpath(name))
        if not path.is_relative_to(folder) and ("-r" in rest or not folder.is_relative_to(path)):
            return name
    return None


def _command(words: Sequence[str]) -> tuple[str, list[str]]:
    """The command, and what follows it. What precedes it are options of git itself."""
    rest = iter(words[1:])
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith("-"):
            return word, list(rest)
    return "", []
