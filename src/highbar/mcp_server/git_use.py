"""What the tools let git do: read objects below the folder, and start no other program.

Git's configuration, which a coding agent can change, names programs that git starts: filters, and the transport of a
partial clone, from which git fetches missing objects. Commands that only read objects can start only the latter, which
`ALONE` prevents.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePosixPath

from highbar.load.revision import ask_git

ALONE = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1"}
"""Environment variables with which git fetches nothing."""
_COMMANDS = frozenset({"cat-file", "ls-files", "ls-tree", "merge-base", "rev-list", "rev-parse", "symbolic-ref"})
"""Commands that look at no file of the working copy, so that git starts no filter."""
_WITH_VALUE = ("-c", "-C")


def is_reading(words: Sequence[str]) -> bool:
    """Whether a git command only reads objects or the index."""
    return _command(words)[0] in _COMMANDS


def path_outside(words: Sequence[str]) -> str | None:
    """A path of the command that is neither below the server's folder nor one of its parents; None if there is none.

    The parents may be listed, but not recursively. Git itself says where in the repository the folder is: looking for a
    folder `.git` could be deceived.
    """
    command, rest = _command(words)
    if command != "ls-tree":
        return None  # Highbar's other commands read no file by path: the digests of files come from ls-tree
    named = rest[rest.index("--") + 1 :] if "--" in rest else []
    prefix = ask_git("rev-parse", "--show-prefix")
    if prefix is None:  # fail closed: the place of the folder is not known
        return "."
    folder = PurePosixPath(os.fsdecode(prefix).rstrip("\n"))
    for name in named or ["."]:
        path = PurePosixPath(os.path.normpath(name))
        if not path.is_relative_to(folder) and ("-r" in rest or not folder.is_relative_to(path)):
            return name
    return None


def _command(words: Sequence[str]) -> tuple[str, list[str]]:
    """The command and the words after it; the words before it are options of git itself."""
    rest = iter(words[1:])
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith("-"):
            return word, list(rest)
    return "", []
