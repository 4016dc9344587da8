"""What the user's functions read below a folder: files, listings of folders, modules; and programs that they start.

    begin({"root": …, "copy": …, "spared": […], "missing": […], "digests": …})
    facts_message()               what was noted since the last time, as lists of plain values

`root` is a repository. With a `copy` of one of its commits, modules are found there instead: each place below the
repository on the path of modules, and in what an installed finder of modules says, becomes the same place in the copy.
Files below a folder in `spared` are not noted: installed packages may lie in the repository without being part of it.
`missing` are places in the copy that it does not have. With `digests`, the content of every file is noted, too.

    ["file", path, digest]        a file or folder was read or looked for; `folder`, or null if there is nothing
    ["entered", path]             a folder became the working folder, or was opened: what is relative to it is unseen
    ["listed", path, names]       a function listed a folder
    ["searched", path, names]     Python searched a folder for modules: the names that may be some
    ["module", name, path]        a module comes from the repository, and not from its copy
    ["installed", name]           an installed module, or a package as a whole
    ["absent", name]              there is no such module
    ["library", name]             a library in C, which may open files unseen: its package, or its path if it is below
    ["program", name]             another program was started, or this process forked: what they read is not known
    ["missing", path]             something was looked for in the copy that it does not have

Paths are relative to the root. Python reports what it opens; a library in C may open files by itself, unseen.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import _bootstrap_external, invalidate_caches
from typing import Any

from highbar.running.child import frames
from highbar.running.child.asking import is_of_python, is_of_site
from highbar.running.child.finders import LastFinder, MovingFinder
from highbar.running.child.places import is_in, libraries_of, names_of, plain_of, real_of, text_of

Fact = list[Any]
_NOT_ALONE = frozenset({"highbar", "msgspec"})
"""Packages that are loaded here without any function."""
_OF_SITE = ("sitecustomize", "usercustomize")
_OF_IMPORT = "<frozen importlib._bootstrap_external>"
_PROGRAMS = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn")
_FORKS = ("os.fork", "os.forkpty")
_LOOKS = ("stat", "lstat", "access", "readlink")
"""Functions of `os` that look at a file without opening it, about which Python reports nothing."""
_SETS = (os.supports_dir_fd, os.supports_effective_ids, os.supports_fd, os.supports_follow_symlinks)
_OF_PYTHON = ("_dbm", "_gdbm", "_sqlite3", "_tkinter")
"""Modules of Python itself that open files in C."""
_CHUNK = 2**20
_LIBRARIES = (".so", ".pyd")
MODULES = (".py", ".pyc", *_LIBRARIES)
"""Endings of the names of modules."""


_begun: list[Watch] = []


def begin(setup: dict[str, Any] | None, replies: int) -> None:
    """Watch this process, if there is a setup for that.

    Each fact is written to `replies` before anything is read: what is read may be code that would hide it.
    """
    if setup is not None:
        _begun.append(Watch(setup, replies))
        _begun[-1].begin()
        _begun[-1].load_site()


def is_watched() -> bool:
    """Whether this process is watched. Then whoever writes to the pipe of replies must do it by `write_message`."""
    return bool(_begun)


def note_modules() -> None:
    """Note what has been imported, before the message with the answer that it may have led to."""
    for watch in _begun:
        watch.note_modules()


class Watch:
    """Notes what is read. `begin` cannot be undone."""

    def __init__(self, setup: dict[str, Any], replies: int) -> None:
        self._replies = replies
        self._process = os.getpid()
        self._root: str = setup["root"]
        self._copy: str | None = setup.get("copy")
        self._spared: list[str] = setup["spared"]
        self._missing: list[str] = setup.get("missing", [])
        self._digests: bool = setup.get("digests", False)
        self._known: set[tuple[str, ...]] = set()
        self._modules: set[str] = set()
        self._busy = threading.local()

    def begin(self) -> None:
        """Note everything from now on, and what has been loaded already."""
        originals = _bootstrap_external.cache_from_source

        def cache_from_source(path: str, *rest: Any, **named: Any) -> str:
            # Python would read stored bytecode in place of the source, which need not be the same.
            if self._place(path) is not None:
                raise NotImplementedError
            found: str = originals(path, *rest, **named)
            return found

        _bootstrap_external.cache_from_source = cache_from_source  # type: ignore[assignment]
        self._arrange_finders()
        for name in _LOOKS:
            self._wrap(name)
        sys.addaudithook(self._heard)
        self.note_modules()

    def load_site(self) -> None:
        """Do what Python does at its start: add the places of installed packages, and run what they ask for.

        Such as `sitecustomize`, which may lie in the repository. The process was started without it, see `process`.
        """
        import site  # it would be frozen with the folders of now

        ours = [path for path in sys.argv[4:] if path in sys.path]
        sys.path[:] = [path for path in sys.path if path not in ours]
        site.main()
        sys.path += [path for path in ours if path not in sys.path]
        self._arrange_finders()
        self.note_modules()

    def _arrange_finders(self) -> None:
        """Find modules in the copy, and note those that no finder has found."""
        finders: list[Any] = []
        for one in sys.meta_path:
            finders += one.finders if isinstance(one, MovingFinder) else [one]
        finders = [one for one in finders if not isinstance(one, LastFinder)]
        if self._copy is not None:
            sys.path[:] = map(self.moved, sys.path)
            finders = [MovingFinder(finders, self.moved, self.quietly, self._note_installed)]
        sys.meta_path[:] = [*finders, LastFinder(self._absent)]
        sys.path_importer_cache.clear()
        invalidate_caches()

    def note_modules(self) -> None:
        """Note what has been imported since the last time."""
        self.quietly(self._note_modules)

    def quietly(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of ours, and note nothing that it reads."""
        before, self._busy.is_on = self._is_busy, True
        try:
            return function(*arguments)
        finally:
            self._busy.is_on = before

    def moved(self, path: str) -> str:
        """The same place in the copy; the path itself if it is not in the repository."""
        place = self.quietly(self._place, path) if path else None
        if place is None or self._copy is None or not os.path.isabs(path):  # noqa: PTH117 - pathlib is slow to load
            return path
        self._note_missing(place)
        return os.path.normpath(os.path.join(self._copy, place))  # noqa: PTH118 - likewise

    def note(self, kind: str, *values: Any) -> None:
        """Note a fact once."""
        key = (kind, *map(repr, values[:1]))
        if key not in self._known and os.getpid() == self._process:  # a copy of this process has no pipe
            self._known.add(key)
            fact = [kind, *map(plain_of, values)]
            frames.write_message(self._replies, frames.encoded(frames.NOTED, 0, 0.0, [fact]))

    # --- places ----------------------------------------------------------------------------------

    @property
    def _is_busy(self) -> bool:
        return getattr(self._busy, "is_on", False)

    def _place(self, path: Any) -> str | None:
        """Where a path is in the repository; None if it is elsewhere, in the copy, or spared."""
        real = real_of(path)
        if real is None or (self._copy is not None and is_in(real, self._copy)) or not is_in(real, self._root):
            return None
        if any(is_in(real, folder) for folder in self._spared):
            return None
        return os.path.relpath(real, self._root)

    def _note_missing(self, place: str) -> None:
        for one in self._missing:
            if place == one or place.startswith(f"{one}/"):
                self.note("missing", one)

    # --- what is read ----------------------------------------------------------------------------

    def _heard(self, event: str, arguments: Sequence[Any]) -> None:
        heard = _EVENTS.get(event)
        if heard is None or self._is_busy:
            return
        try:
            self.quietly(heard, self, *arguments)
        except Exception:  # noqa: BLE001 - whoever reads must not see it, and what cannot be noted is not known
            self.note("program", f"something that cannot be followed ({event})")

    def _wrap(self, name: str) -> None:
        original = getattr(os, name)

        def look(path: Any, *rest: Any, **named: Any) -> Any:
            if not self._is_busy and not isinstance(path, int) and not is_of_site(sys._getframe(1).f_back):  # noqa: SLF001
                self.quietly(self._looked, path)
            return original(path, *rest, **named)

        look.__name__ = name
        setattr(os, name, look)
        for names in _SETS:
            if original in names:
                names.add(look)

    def _looked(self, path: Any) -> None:
        # Whoever resolves the path of an installed package looks at every folder above it.
        real = real_of(path)
        if real is not None and not any(is_in(one, real) for one in (self._root, *self._spared)):
            self.read(path)

    def opened(self, path: Any, _mode: Any = None, flags: Any = 0, *_: Any) -> None:
        """A file is opened. What is only written tells a function nothing."""
        if isinstance(path, int) or (isinstance(flags, int) and flags & os.O_ACCMODE == os.O_WRONLY):
            return
        self.entered(path)
        real = real_of(path)
        # Whoever holds a folder above the repository can open everything in it by a path relative to that folder.
        if real is not None and os.path.isdir(real) and is_in(self._root, real):  # noqa: PTH112 - pathlib is slow to load
            self.note("program", f"a handle of the folder {real}")

    def read(self, path: Any, *_: Any) -> None:
        """A file is read, or looked at."""
        if isinstance(path, int):
            return
        place = self._place(path)
        if place is not None:
            if ("file", repr(place)) not in self._known:
                self.note("file", place, self._content(path))
            return
        real = real_of(path)
        link = None if real is None else self._link_out(path, real)
        if link is not None:
            self.note("file", link, "link")
        if real is not None and self._missing and self._copy is not None and is_in(real, self._copy):
            self._note_missing(os.path.relpath(real, self._copy))
            named = os.path.abspath(os.fsdecode(os.fspath(path)))  # noqa: PTH100 - it may be a link
            self._note_missing(os.path.relpath(named, self._copy))

    def _link_out(self, path: Any, real: str) -> str | None:
        """Where in the repository a path is as written, if a link there leads out of it to something else."""
        outer = (*self._spared, *map(os.path.realpath, (sys.prefix, sys.base_prefix)), self._copy)
        named = os.path.abspath(os.fsdecode(path))  # noqa: PTH100 - as written
        if is_in(real, self._root) or any(one and (is_in(real, one) or is_in(named, one)) for one in outer):
            return None
        above = named
        while above != (above := os.path.dirname(above)):  # noqa: PTH120 - pathlib is slow to load
            if os.path.realpath(above) == self._root:
                return os.path.relpath(named, above)
        return None

    def entered(self, path: Any, *_: Any) -> None:
        """A folder becomes the working folder, or is opened."""
        self.read(path)
        place = None if isinstance(path, int) else self._place(path)
        if place is not None and os.path.isdir(path):  # noqa: PTH112 - pathlib is slow to load
            self.note("entered", place)

    def _content(self, path: Any) -> str | None:
        if os.path.isdir(path):  # noqa: PTH112 - pathlib is slow to load
            return "folder"
        if not self._digests or not os.path.isfile(path):  # noqa: PTH113 - likewise
            return None
        digest = hashlib.sha256()
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - likewise
                while chunk := file.read(_CHUNK):
                    digest.update(chunk)
        except OSError:
            return None
        return digest.hexdigest()

    def listed(self, path: Any = None) -> None:
        """A folder is listed."""
        if isinstance(path, int):  # it was opened, which was noted
            return
        place = self._place(path or os.curdir)
        frame = sys._getframe(3)  # noqa: SLF001 - there is no other way to know who asks
        is_import = frame.f_code.co_filename == _OF_IMPORT
        if place is None:
            self.read(path or os.curdir)
        elif not is_import or self._copy is None:
            names = names_of(path or os.curdir)
            if is_import:
                names = [name for name in names if "." not in name or name.endswith(MODULES)]
            self.note("searched" if is_import else "listed", place, names)

    def started(self, program: Any, arguments: Any = None, *_: Any) -> None:
        """A program is started."""
        if is_of_python(sys._getframe(3)):  # noqa: SLF001 - see `listed`
            return
        first = program or (arguments[0] if isinstance(arguments, list | tuple) and arguments else arguments)
        self.note("program", text_of(first))

    def forked(self, *_: Any) -> None:
        """This process makes a copy of itself, whose notes are its own."""
        self.note("program", "a copy of its own process")

    def imported(self, name: str, file: Any = None, *_: Any) -> None:
        """A module is imported; there is a file if it is a library."""
        if file:
            self.read(file)
        if file or name in _OF_PYTHON:
            self._note_library(name, file)

    def called(self, _library: Any, name: Any, *_: Any) -> None:
        """A function in C is looked up, to be called."""
        if not str(name).startswith(("Py", "_Py")):
            self.note("library", "ctypes")

    def connected(self, database: Any, *_: Any) -> None:
        """A database is opened."""
        self.read(text_of(database).removeprefix("file:").partition("?")[0])

    def reached(self, _socket: Any, address: Any, *_: Any) -> None:
        """A socket is connected; the address of one that is a file is its path."""
        if isinstance(address, str | bytes):
            self.read(address)

    # --- modules ---------------------------------------------------------------------------------

    def _note_modules(self) -> None:
        new = [name for name in list(sys.modules) if name not in self._modules]
        if not new:
            return
        self._modules.update(new)
        for name in new:
            self._note_module(name, getattr(sys.modules.get(name), "__dict__", None) or {})
        for library in libraries_of():
            self.read(library)

    def _absent(self, name: str) -> None:
        """No finder has found a module. It may be where the copy has nothing."""
        if name not in _OF_SITE:  # Python asks for them wherever it runs
            self.note("absent", name)
        for path in sys.path if self._missing else ():
            self.quietly(self.read, path)

    def _note_module(self, name: str, names: dict[str, Any]) -> None:
        file = names.get("__file__")
        spec = names.get("__spec__")
        places = [file, getattr(spec, "origin", None) if getattr(spec, "has_location", False) else None]
        places += list(names.get("__path__") or ())
        for path in dict.fromkeys(one for one in places if isinstance(one, str)):
            place = self._place(path)
            if place is not None:
                self.note("module", name, place)
                self.read(path)
        if name in _OF_PYTHON or (isinstance(file, str) and file.endswith(_LIBRARIES)):
            self._note_library(name, file)
        self._note_installed(name, file)

    def _note_library(self, name: str, file: Any) -> None:
        top = name.partition(".")[0]
        place = self._place(file) if file else None
        if place is not None or name in _OF_PYTHON or top not in sys.stdlib_module_names:
            self.note("library", place or top)

    def _note_installed(self, name: str, file: Any) -> None:
        """Note a module that is neither in the repository nor of Python itself."""
        top, _, inside = name.partition(".")
        if not isinstance(file, str) or top in _NOT_ALONE or top in sys.stdlib_module_names:
            return
        around = sys.modules.get(name.rpartition(".")[0]) if inside else None
        if getattr(around, "__file__", None) is not None:
            return  # its package is noted
        real = real_of(file)
        is_copied = real is not None and self._copy is not None and is_in(real, self._copy)
        if not is_copied and self._place(file) is None:
            self.note("installed", name)


_EVENTS: dict[str, Callable[..., None]] = {
    "open": Watch.opened,
    "os.chdir": Watch.entered,
    "os.listdir": Watch.listed,
    "os.scandir": Watch.listed,
    "import": Watch.imported,
    "ctypes.dlopen": Watch.read,
    "ctypes.dlsym": Watch.called,
    "sqlite3.connect": Watch.connected,
    "socket.connect": Watch.reached,
    "subprocess.Popen": Watch.started,
    **dict.fromkeys(_PROGRAMS, Watch.started),
    **dict.fromkeys(_FORKS, Watch.forked),
}
