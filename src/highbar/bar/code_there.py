"""The functions of checks as they were at a ref: they run in a copy of its commit, and what else they read is noted."""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

from highbar.errors import InputError
from highbar.language.phrases import some_and_more
from highbar.load.commit_copy import CommitCopy, copy_commit
from highbar.load.revision import Revision
from highbar.running.functions import CheckFunctions
from highbar.running.watched import Elsewhere, Fact, spared_folders


class CodeThere:
    """The code of a commit. It is copied when it is needed, once for all suites."""

    def __init__(self, there: Revision) -> None:
        self.there = there
        self.copy: CommitCopy = copy_commit(there)
        root = there.root.resolve()
        missing = (*self.copy.missing, *self.copy.links)
        self._elsewhere = Elsewhere(root, there.folder, spared_folders(root, (there.commit, "HEAD")), missing)

    def functions(self, beside: Path) -> CheckFunctions:
        """The functions of a suite in this folder of the copy, to be used with `with`."""
        return CheckFunctions(beside, elsewhere=self._elsewhere)

    def doubts(self, facts: Iterable[Fact]) -> list[str]:
        """Why it is not certain that functions, which noted these facts, did what they would do at the ref.

        Raises InputError if they need something of the commit that is not in this clone.
        """
        known = module_names(self.copy.paths)
        modules: dict[str, str] = {}
        found: dict[str, None] = {}
        for kind, name, *more in facts:
            self._refuse_missing(kind, name)
            match kind:
                case "missing":
                    found[f"{name}, which is a link out of the repository at {self.there.ref}"] = None
                case "module":
                    modules.setdefault(more[0], name)
                case "installed" if name in known and not self.is_of_others(name):
                    found[f"the installed module {name}, a copy of {known[name]} (install it editable)"] = None
                case "absent" if name in known:
                    found[f"no module {name}, although {self.there.ref} has it ({known[name]})"] = None
                case "program":
                    found[f"the program {name}, whose files are not known"] = None
                case "file" | "listed" | "entered" if not self._is_same(kind, name, *more):
                    found[name] = None
        for place, module in modules.items():
            found.pop(place, None)
            found[f"the module {module} from {place}"] = None
        return [f"checks used more than {self.there.ref} has: {some_and_more(list(found))}"] if found else []

    def _refuse_missing(self, kind: str, name: str) -> None:
        """Raise InputError if this was looked for in the copy, and the commit has it, but this clone does not."""
        place = self._missing_module(name) if kind == "absent" else name
        if kind in {"absent", "missing"} and place is not None and place in self.copy.missing:
            raise InputError(self.copy.missing[place])

    def _is_same(self, kind: str, name: str, seen: object = None) -> bool:
        """Whether what was seen of the repository is what the commit has; `.git` only says where its root is."""
        if kind == "listed" and isinstance(seen, list):
            return names_at(self.copy.folder, name) == set(seen)
        is_there = kind == "file" and seen is not None
        return is_there and (name == ".git" or content_at(self.copy.folder, name) == seen)

    def is_of_others(self, name: str) -> bool:
        """Whether an installed module came from an index of packages, and the commit would not install it itself."""
        tails = [name.replace(".", "/") + ending for ending in (".py", "/__init__.py", ".pyx", ".so")]
        paths = self.copy.paths
        places = [path.removesuffix(tail) for path in paths for tail in tails if f"/{path}".endswith(f"/{tail}")]
        if any(place in {"", "src/"} or place.endswith("/src/") for place in places):
            return False
        if any(f"{place}{file}" in paths for place in places for file in ("pyproject.toml", "setup.py", "setup.cfg")):
            return False
        made = packages_distributions().get(name.partition(".")[0], ())
        return bool(made) and not any(distribution(one).read_text("direct_url.json") for one in made)

    def _missing_module(self, name: str) -> str | None:
        """The place in the commit that is not in this clone and may have the module; None if there is none."""
        for place in self.copy.missing:
            parts = place.split("/")
            names = (".".join(parts[start:]) for start in range(len(parts)))
            if any(name == one or name.startswith(f"{one}.") for one in names):
                return place
        return None


def content_at(folder: Path, name: str) -> str | None:
    """What is at that place in the copy, as it is noted."""
    path = folder / name
    if os.path.realpath(path) != str(Path(os.path.normpath(path))):  # behind a link: elsewhere than in the run
        return "link"
    if path.is_dir():
        return "folder"
    if not path.is_file():
        return None
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def names_at(folder: Path, name: str) -> set[str]:
    """What a folder in the copy has."""
    path = folder / name
    return {one.name for one in path.iterdir()} if path.is_dir() else set()


@lru_cache(maxsize=1)
def code_of(there: Revision) -> CodeThere:
    """The code of a commit. Raises InputError if it cannot be copied."""
    return CodeThere(there)


@lru_cache(maxsize=1)
def module_names(paths: frozenset[str]) -> dict[str, str]:
    """The names by which the modules among these files can be imported, and the file of each.

    A folder without `__init__.py` may be where names begin, or a part of the name of what is in it.

    >>> module_names(frozenset({"src/pets/__init__.py", "src/pets/cat.py"}))["pets.cat"]
    'src/pets/cat.py'
    """
    packages = {posixpath.dirname(path) for path in paths if posixpath.basename(path) == "__init__.py"}
    return {name: path for path in sorted(paths) for name in _names(path, packages)}


def _names(path: str, packages: set[str]) -> Iterator[str]:
    stem, ending = posixpath.splitext(path)
    if ending not in {".py", ".pyx", ".so", ".pyd"}:
        return
    parts = stem.removesuffix("/__init__").split("/")
    for start in range(len(parts)):
        if not start or "/".join(parts[:start]) not in packages:
            yield ".".join(parts[start:]).partition(".cpython-")[0]
