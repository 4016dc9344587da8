"""Finders of modules: one that finds those of a repository in its copy, and one that comes after all others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from typing import Any


class MovingFinder:
    """Asks all finders of modules, and moves what they found in the repository into its copy.

    `moved` gives the place of a path there, `quietly` calls a finder without noting what it reads, and `found` is told
    where a module is before it is loaded.
    """

    def __init__(
        self,
        finders: Iterable[Any],
        moved: Callable[[str], str],
        quietly: Callable[..., Any],
        found: Callable[[str, str | None], None],
    ) -> None:
        self._place, self._quietly, self._found = moved, quietly, found
        usual = (BuiltinImporter, FrozenImporter, PathFinder)
        # The finders of installed packages look at the repository as it is now, so they are asked last.
        self.finders = sorted(finders, key=lambda one: one not in usual)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find a module, in the copy if it is one of the repository."""
        for finder in self.finders:
            find = getattr(finder, "find_spec", None)
            spec = None if find is None else self._quietly(find, name, path, target)
            moved = None if spec is None else self._quietly(self._moved, spec)
            if moved is not None:
                self._quietly(self._found, name, moved.origin if moved.has_location else None)
                return moved  # type: ignore[no-any-return]
        return None

    def find_distributions(self, *arguments: Any, **named: Any) -> Iterable[Any]:
        """The installed packages, for `importlib.metadata`."""
        for finder in self.finders:
            if hasattr(finder, "find_distributions"):
                yield from finder.find_distributions(*arguments, **named)

    def invalidate_caches(self) -> None:
        """Forget what folders hold."""
        for finder in self.finders:
            if hasattr(finder, "invalidate_caches"):
                finder.invalidate_caches()

    def _moved(self, spec: ModuleSpec) -> ModuleSpec | None:
        """The same module in the copy; None if it is not there."""
        origin = spec.origin if spec.has_location else None
        inside = None if spec.submodule_search_locations is None else list(spec.submodule_search_locations)
        moved = self._place
        there = None if inside is None else [moved(one) for one in inside]
        file = None if origin is None else moved(origin)
        if (file, there) == (origin, inside):
            return spec
        if there is not None:
            there = [one for one in there if os.path.isdir(one)]  # noqa: PTH112 - pathlib is slow to load
        if file is not None:
            is_there = os.path.isfile(file)  # noqa: PTH113 - likewise
            return spec_from_file_location(spec.name, file, submodule_search_locations=there) if is_there else None
        if not there:
            return None
        found = ModuleSpec(spec.name, None, is_package=True)
        found.submodule_search_locations = there
        return found


class LastFinder:
    """Notes the modules that no finder has found."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> None:
        """Find nothing."""
        self._note(name)
