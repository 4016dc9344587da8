"""Processes whose reads are noted: in a copy of the repository as it was at a commit, or where the repository is.

The facts that such a process notes are described in `child.watching`.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import Struct

import highbar
from highbar.errors import InputError, Problem
from highbar.load.revision import ask_git
from highbar.running.child import frames

Fact = tuple[Any, ...]
_PATHS = ("PYTHONPATH", "PYTHONUSERBASE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables with folders, below which Python and the system find code."""
_DROPPED = ("PYTHONPYCACHEPREFIX", "PYTHONSTARTUP", "PYTHONBREAKPOINT", "PYTHONINSPECT", "PYTHONCASEOK", "OLDPWD")
"""Variables that lead to other code, or to another folder."""


class Elsewhere(Struct, frozen=True, dict=True):
    """A copy of the repository at `root`, in which functions run as if it were the repository.

    `spared` are folders below the root that are no part of the repository, `missing` the places that the copy lacks.
    """

    root: Path
    copy: Path
    spared: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def setup(self) -> dict[str, Any]:
        """What the process is told."""
        there = {"root": str(self.root), "copy": str(self.copy)}
        return {**there, "spared": list(self.spared), "missing": list(self.missing), "digests": True}

    @cached_property
    def folder(self) -> Path:
        """The working folder, at the same place in the copy."""
        here = os.path.relpath(Path.cwd().resolve(), self.root)
        found = self.copy if here.startswith(os.pardir) else self.copy / here
        found.mkdir(parents=True, exist_ok=True)
        return found

    def environment(self) -> dict[str, str]:
        """Our variables, with folders in the repository replaced by those in the copy."""
        found = {name: value for name, value in os.environ.items() if name not in _DROPPED}
        for name in _PATHS:
            if name in found:
                parts = found[name].split(os.pathsep)
                found[name] = os.pathsep.join(self._moved(part) for part in parts if part)
        return {**found, "PWD": str(self.folder)}

    def _moved(self, part: str) -> str:
        real = Path(part).resolve()
        # Our own package must be found, even if it lies in the repository.
        kept = (*map(Path, self.spared), self.copy, Path(highbar.__file__).resolve().parent.parent)
        if not real.is_relative_to(self.root) or any(real == one or one in real.parents for one in kept):
            return str(real)
        return str(self.copy / real.relative_to(self.root))


def facts_in(message: frames.Message) -> list[Fact]:
    """The facts in a message. Raises BrokenMessage if it has something else."""
    value = message[3]
    if not isinstance(value, list) or not all(isinstance(one, list) and len(one) > 1 for one in value):
        raise frames.BrokenMessage("notes that are none")
    return [tuple(one) for one in value]


def repository_around(folder: Path) -> Path | None:
    """The repository that a folder is in; None if it is in none."""
    real = folder.resolve()
    return next((one for one in (real, *real.parents) if (one / ".git").exists()), None)


def spared_folders(root: Path, commits: tuple[str, ...] = ("HEAD",)) -> tuple[str, ...]:
    """The folders below a repository that are no part of it: where this Python, its packages and Highbar are installed.

    A folder of which git tracks a file, now or at one of these commits, is a part of the repository.
    """
    names = [sys.prefix, sys.exec_prefix, sys.base_prefix, *sysconfig.get_paths().values(), site.getusersitepackages()]
    real = dict.fromkeys(os.path.realpath(name) for name in names)
    found = [name for name in real if Path(name).is_relative_to(root) and not _is_tracked(name, root, commits)]
    return (*found, str(Path(highbar.__file__).resolve().parent))


def refuse_startup_code(root: Path, ref: str) -> None:
    """Raise InputError if Python ran code of the repository when it started this process: it may have changed us."""
    spared = spared_folders(root)
    for name in ("sitecustomize", "usercustomize"):
        file = os.path.realpath(getattr(sys.modules.get(name), "__file__", None) or os.sep)
        if Path(file).is_relative_to(root) and not any(Path(file).is_relative_to(one) for one in spared):
            message = f"Python ran this file of the repository at its start, so it may decide instead of {ref}"
            hint = "install Highbar in an environment of its own, without PYTHONPATH or an editable install"
            raise InputError(Problem("ref.startup-code", message, os.path.relpath(file, root), hint=hint))


def _is_tracked(name: str, root: Path, commits: tuple[str, ...]) -> bool:
    """Whether git has anything at that place. Fail closed: so it does unless git says that it does not."""
    place = os.path.relpath(name, root)
    trees = (("ls-tree", "-z", "--full-tree", one, "--", place) for one in commits)
    return place == os.curdir or any(
        ask_git("-C", str(root), *asked) != b"" for asked in (("ls-files", "-z", "--", place), *trees)
    )
