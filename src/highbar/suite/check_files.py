"""Checks → the content of the files that they use: schemas, and the modules of Python functions.

The digest of a scenario covers that content, so that a changed file is noticed like a changed check. It does not cover
what those modules import: only running them could tell what that is.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from highbar.checks.tree import All, AnyOf, Check, Function, IsJson, Not


class CheckFiles:
    """The files that the checks of one suite use, each read once. `folder` is that of the suite."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._sources: dict[str, str | None] = {}

    def contents(self, check: Check) -> Iterator[str | None]:
        """Each schema of a check, and for each function the digest of its module's file; None if there is no file."""
        match check:
            case IsJson() if check.schema is not None:
                yield check.schema
            case Function():
                yield self._source(check.name.partition(":")[0])
            case All() | AnyOf():
                for part in check.checks:
                    yield from self.contents(part)
            case Not():
                yield from self.contents(check.check)

    def _source(self, module: str) -> str | None:
        if module not in self._sources:
            self._sources[module] = _digest(self._file(module))
        return self._sources[module]

    def _file(self, module: str) -> Path | None:
        """The file of a module, as a run finds it: beside the suite, then as installed. Nothing is imported."""
        top, *inside = module.split(".")
        beside = None if self.folder is None else _inside(self.folder, (top, *inside))
        if beside is not None:
            return beside
        try:
            # Only the first name: to find a submodule, `find_spec` would import the package around it.
            spec = importlib.util.find_spec(top)
        except (ImportError, ValueError, AttributeError):  # a damaged package, or not the name of a module
            return None
        if spec is None:
            return None
        if not inside:
            return None if spec.origin is None else Path(spec.origin)
        found = (_inside(Path(place), inside) for place in spec.submodule_search_locations or ())
        return next(filter(None, found), None)


def _inside(folder: Path, names: tuple[str, ...] | list[str]) -> Path | None:
    """The file below a folder of the module with these names; None if there is none."""
    path = folder.joinpath(*names)
    candidates = (path / "__init__.py", path.with_name(f"{path.name}.py"))
    return next((one for one in candidates if one.is_file()), None)


def _digest(file: Path | None) -> str | None:
    try:
        return None if file is None else hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:  # such as a module that is built in, or in a zip file
        return None
