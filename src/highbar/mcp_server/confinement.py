"""The folder that a server was started for, and what keeps every tool inside of it.

`Workspace.inside` resolves every path argument. While a tool runs, `confined` sees what Python opens, lists, writes and
starts, through its audit events, so it does not matter what named a file: a glob, a link, a policy, or its suite. It
catches mistakes of our own code, and is no sandbox for foreign code: none is run here.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from msgspec import Struct

from highbar import policy as policies
from highbar.errors import InputError, Problem
from highbar.load.changed_files import MAY_LOOK
from highbar.load.revision import ask_git

MOST_BYTES = 2**30
"""Bytes of a file that a tool reads. The command line has no such limit, because it shows its progress."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CODE = (".py", ".pyc")
_ABOUT_PACKAGES = (".dist-info", ".egg-info")
_MAGIC = frozenset("*?[")
_CODE_NEEDED = "this needs code of the suite to be run, or the network, which the tools of this server do not do"
_WORKING_COPY = "this needs git to look at the working copy, where it may run other programs"
_ELSEWHERE = "run the same check on the command line, or in CI: highbar check"
_ALONE = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1"}
"""Environment variables with which git fetches nothing."""
_READING_COMMANDS = frozenset(
    {"cat-file", "ls-files", "ls-tree", "merge-base", "rev-list", "rev-parse", "symbolic-ref"}
)
"""Commands that look at no file of the working copy, so that git starts no filter."""
_WITH_VALUE = ("-c", "-C")


class Workspace(Struct, frozen=True):
    """What a server was started for: its folder, and the policy and git ref if they were fixed at the start.

    The folder is the working folder of the process: the search for a policy and all git commands start there.
    """

    root: Path
    policy: str | None = None
    against_ref: str | None = None

    def inside(self, name: str) -> str:
        """The path argument, unchanged. Raises InputError if it is not below the folder."""
        if name == "-":
            raise InputError(
                Problem(
                    "mcp.outside-folder",
                    "standard input cannot be read: it belongs to the protocol",
                    hint="name a file",
                )
            )
        if not name or "\0" in name or "://" in name:
            raise InputError(
                Problem(
                    "mcp.outside-folder",
                    f"{name!a} is not the path of a file or folder",
                    hint="name one below the folder",
                )
            )
        parts = PurePath(name).parts
        # A glob is expanded later, and the guard below sees what it matches. With `..` it could lead anywhere.
        escapes = os.pardir in parts and not _MAGIC.isdisjoint(name)
        if escapes or not _is_below(os.path.realpath(self.root / name), str(self.root)):
            raise InputError(outside_problem(name, self.root))
        return name

    def chosen_policy(self, named: str | None) -> Path | None:
        """The policy that is fixed, named, or found below the folder; None if there is none.

        Raises InputError if another one than the fixed policy is named, or if the one that is found is outside.
        """
        if self.policy is not None:
            if named not in (None, self.policy):
                message = f"this server judges by {self.policy}, and by no other policy"
                raise InputError(
                    Problem("mcp.not-allowed", message, hint="leave out `policy`; who started the server has fixed it")
                )
            return Path(self.policy)
        if named is not None:
            return Path(named)
        found = policies.find_here()
        return None if found is None else Path(self.inside(str(found)))

    def demanded_policy(self, named: str | None) -> Path:
        """The same, but raises InputError if there is none: nothing is judged without a policy."""
        found = self.chosen_policy(named)
        if found is None:
            names = f"{', '.join(policies.NAMES[:-1])} or {policies.NAMES[-1]}"
            hint = f"name one with `policy`; `{policies.TYPICAL}` judges by the typical thresholds"
            raise InputError(
                Problem("policy.missing", f"no policy: there is no {names} in the folder of the server", hint=hint)
            )
        return found

    def chosen_ref(self, named: str | None) -> str | None:
        """The git ref that is fixed or named; None if there is none. Raises InputError if the two differ."""
        if self.against_ref is not None and named not in (None, self.against_ref):
            message = f"this server judges against {self.against_ref}, and against no other ref"
            raise InputError(
                Problem("mcp.not-allowed", message, hint="leave out `against_ref`; who started the server has fixed it")
            )
        return self.against_ref or named


def outside_problem(name: str, root: Path) -> Problem:
    """The problem of a file that is not below the folder, whatever named it."""
    hint = f"only files below {root} are read; start highbar mcp in a folder that has them all"
    return Problem("mcp.outside-folder", "is outside of the folder that the server was started for", name, hint=hint)


class _Guard(Struct):
    """Allows to read files below `root`, to use its `own` temporary files, and to read installed packages.

    It collects the problems of everything that it refuses in `refused`.
    """

    root: Path
    temporary: str
    installed: tuple[str, ...]
    own: list[str]
    refused: list[Problem]

    def problem(self, event: str, arguments: tuple[Any, ...]) -> Problem | None:
        """Why what Python is about to do is refused; None if it is allowed."""
        named = [os.fsdecode(one) for one in arguments if isinstance(one, str | bytes)]
        if event in _TEMPORARY:
            self.own += map(os.path.realpath, named)
            return None
        if event in _PROGRAMS:
            return self._program(*arguments[:2])
        if event in _NEVER:
            return Problem("mcp.not-allowed", _CODE_NEEDED, hint=_ELSEWHERE)
        # A descriptor, or a file in an open folder: the guard saw it before.
        if isinstance(arguments[0], int) or not named or (event in _REMOVALS and arguments[-1] >= 0):
            return None
        if event in _READS:
            return self._reading(event, named[0], writes=event == "open" and bool(arguments[2] & _WRITING))
        return None if all(self._is_own(os.path.realpath(one)) for one in named) else _writing_problem(named[0])

    def _reading(self, event: str, path: str, *, writes: bool) -> Problem | None:
        real = os.path.realpath(path)
        # Opening the folder of temporary files itself creates a file without a name (O_TMPFILE on Linux).
        if self._is_own(real) or (event == "open" and real in (os.devnull, self.temporary)):
            return None
        if writes:
            return _writing_problem(path)
        if _is_below(real, str(self.root)):
            return _odd_file(path, real) if event == "open" else None
        folder = os.path.dirname(real)  # noqa: PTH120 - a text
        # A name in `installed` itself: python311.zip is on the path of most Pythons, and does not exist.
        is_code = event != "open" or real.endswith(_CODE) or folder.endswith(_ABOUT_PACKAGES) or real in self.installed
        is_installed = is_code and any(_is_below(real, place) for place in self.installed)
        return None if is_installed else outside_problem(path, self.root)

    def _program(self, program: Any, words: Any) -> Problem | None:
        """Why a program may not be started; None for git, if it only reads objects or the index below the folder.

        Git's configuration, which a coding agent can change, names programs that git starts: filters, and the transport
        of a partial clone. Commands that only read objects can start only the latter, which `_ALONE` prevents.
        """
        command = [os.fsdecode(word) for word in words] if isinstance(words, list | tuple) else []
        if (command[0] if command else program) != "git":
            return Problem("mcp.not-allowed", _CODE_NEEDED, hint=_ELSEWHERE)
        name, rest = _git_command(command)
        if name not in _READING_COMMANDS:
            # Not noted as a refusal: a caller that can do without git goes on as if there were no repository.
            raise InputError(Problem("mcp.not-allowed", _WORKING_COPY, hint=_ELSEWHERE))
        outside = _path_outside(rest) if name == "ls-tree" else None  # the digests of files come from it alone
        return None if outside is None else outside_problem(outside, self.root)

    def _is_own(self, real: str) -> bool:
        return any(_is_below(real, made) for made in self.own)


_READS = frozenset({"open", "os.listdir", "os.scandir"})
_TEMPORARY = frozenset({"tempfile.mkdtemp", "tempfile.mkstemp"})
_REMOVALS = frozenset({"os.remove", "os.rmdir"})
_CHANGES = frozenset(
    {"os.mkdir", "os.rename", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown", "os.utime"}
    | {"os.setxattr", "os.removexattr"}
)
_PROGRAMS = frozenset({"subprocess.Popen", "os.posix_spawn"})
_NEVER = frozenset({"os.exec", "os.fork", "os.forkpty", "os.spawn", "os.startfile", "os.system", "socket.connect"})
_EVENTS = _READS | _TEMPORARY | _REMOVALS | _CHANGES | _PROGRAMS | _NEVER
_active: list[_Guard] = []
_one_at_a_time = threading.Lock()
_installed: list[bool] = []


@contextmanager
def confined(workspace: Workspace) -> Iterator[None]:
    """Confine this process to the folder, except for the main thread, which runs the protocol. One call at a time.

    Fail closed: raises InputError if anything was refused, even if the code inside went on without it. An answer that
    lacks a file or a check is not the answer that the command line gives.
    """
    with _one_at_a_time:
        if not _installed:  # an audit hook can never be removed, so that there is one for the whole process
            sys.addaudithook(_watch)
            _installed.append(True)
        places = {sys.prefix, sys.base_prefix, *sys.path} - {""}
        temporary = os.path.realpath(tempfile.gettempdir())
        guard = _Guard(workspace.root, temporary, tuple(map(os.path.realpath, places)), [], [])
        # An import inside of the call must not write a .pyc file, and git must not fetch.
        writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        environment = {name: os.environ.get(name) for name in _ALONE}
        os.environ.update(_ALONE)
        may_look = MAY_LOOK.set(False)
        _active.append(guard)
        try:
            yield
        finally:
            _active.pop()
            MAY_LOOK.reset(may_look)
            sys.dont_write_bytecode = writes_bytecode
            for name, value in environment.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
            if guard.refused:
                raise InputError(*dict.fromkeys(guard.refused))


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    # Not only the thread of the call, which may start others: every thread but the main one, which runs the protocol.
    if event in _EVENTS and _active and threading.get_ident() != threading.main_thread().ident:
        guard = _active[-1]
        problem = guard.problem(event, arguments)
        if problem is not None:
            guard.refused.append(problem)
            raise InputError(problem)


# With a separator at the end, so that `/work-other` is not below `/work`; the folder may be the root `/` itself.
def _is_below(real: str, folder: str) -> bool:
    return real == folder or real.startswith(folder.rstrip(os.sep) + os.sep)


def _writing_problem(path: str) -> Problem:
    return Problem("mcp.not-allowed", "would be written, and the tools of this server only read", path)


def _odd_file(path: str, real: str) -> Problem | None:
    """Why a file inside is not read; None if it is. A device or pipe may never end, and a large file takes too long."""
    try:
        found = Path(real).stat()
    except OSError:  # opening it raises the better error
        return None
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        return Problem("file.not-regular", "not a regular file", path)
    if found.st_size > MOST_BYTES:
        return Problem("file.too-large", f"larger than {MOST_BYTES // 2**20} MiB", path, hint=_ELSEWHERE)
    return None


def _path_outside(rest: Sequence[str]) -> str | None:
    """A path of `git ls-tree` that is neither below the server's folder nor one of its parents; None if there is none.

    The parents may be listed, but not recursively. Git itself says where in the repository the folder is: looking for a
    folder `.git` could be deceived.
    """
    prefix = ask_git("rev-parse", "--show-prefix")
    if prefix is None:  # fail closed: the place of the folder is not known
        return "."
    folder = PurePosixPath(os.fsdecode(prefix).rstrip("\n"))
    for name in (rest[rest.index("--") + 1 :] if "--" in rest else []) or ["."]:
        path = PurePosixPath(os.path.normpath(name))
        if not path.is_relative_to(folder) and ("-r" in rest or not folder.is_relative_to(path)):
            return name
    return None


def _git_command(words: Sequence[str]) -> tuple[str, list[str]]:
    """The command and the words after it; the words before it are options of git itself."""
    rest = iter(words[1:])
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith("-"):
            return word, list(rest)
    return "", []
