"""Finds the policy of a folder, and the names of the files that a policy needs."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from highbar.documents.files import read_tree
from highbar.errors import InputError, Problem
from highbar.policy.limits import MOST_ALIKE, MOST_FOLDER_ENTRIES

NAMES = ("highbar.yaml", "highbar.yml", "highbar.json")
_ALIKE = re.compile(r"\.?((high[-_ .]?bar|policy)([-_ .]?policy)?)\.(ya?ml|json|toml)(\.\w+)?", re.IGNORECASE)
"""File names that may be meant as a policy: `Highbar.yaml`, `.highbar.yml`, `policy.yaml`, `highbar.yaml.txt`."""


def find_policy(start: Path | None = None) -> Path | None:
    """The policy of `start`, by default the working folder: in it, or above it up to the repository's root, or None.

    Outside a repository, searches only the folder itself. Raises InputError if a folder has two policies, or if
    something with the name of a policy is not a file: a policy further up could set a lower bar than the intended one.
    """
    for current in folders(start):
        # lexists, because a broken link with the name of a policy must not be passed over.
        named = [current / name for name in NAMES if os.path.lexists(current / name)]
        found = [path for path in named if path.is_file()]
        if len(found) < len(named):
            raise InputError(*(_no_file(path) for path in named if path not in found))
        if len(found) > 1:
            names = " and ".join(path.name for path in found)
            raise InputError(
                Problem(
                    "policy.two-files",
                    f"{current} has two policies, {names}",
                    hint="keep one, or name it with --policy",
                )
            )
        if found:
            return found[0]
    return None


def find_here() -> Path | None:
    """The policy of the working folder, as a relative path: reports must not differ between machines."""
    found = find_policy()
    return None if found is None else Path(os.path.relpath(found))


def _no_file(path: Path) -> Problem:
    shown = os.path.relpath(path)
    if path.is_symlink() and not path.exists():
        hint = "restore the file that it points to, or remove the link"
        return Problem("policy.missing", f"is a broken link to {path.readlink()}", shown, hint=hint)
    what = "is a folder" if path.is_dir() else "is not a regular file"
    return Problem(
        "policy.missing", f"{what}, wanted a policy", shown, hint="rename it, or name the policy with --policy"
    )


def missing(start: Path | None = None) -> Problem:
    """The problem to report if `find_policy` finds nothing: where it looked, and which files there may be meant."""
    looked = folders(start)
    shown = [os.path.relpath(folder) for folder in looked]
    where = "the working folder" if start is None else shown[0]
    above = f" or above it, up to {shown[-1]}" if len(shown) > 1 else ""
    above = above or "; folders above it are searched only within a repository"
    names = f"{', '.join(NAMES[:-1])} or {NAMES[-1]}"
    hint = "highbar init --from RESULTS writes one for your results; --policy typical judges by the typical thresholds"
    alike = [path for folder in looked for path in _similar_files(folder)]
    if alike:
        listed = ", ".join(os.path.relpath(path) for path in alike[:MOST_ALIKE])
        hint = f"found {listed}: if that is the policy, name it with --policy; {hint}"
    return Problem("policy.missing", f"no policy: there is no {names} in {where}{above}", hint=hint)


def _similar_files(folder: Path) -> list[Path]:
    """Files of the folder with a name similar to that of a policy, and policies in its subfolders."""
    entries: list[Path] = []
    with suppress(OSError):  # a folder that cannot be listed has nothing to offer
        entries = sorted(path for _, path in zip(range(MOST_FOLDER_ENTRIES), folder.iterdir(), strict=False))
    found = [path for path in entries if _ALIKE.fullmatch(path.name) and path.name not in NAMES]
    with suppress(OSError):
        found += [inside for path in entries for name in NAMES if (inside := path / name).is_file()]
    return found


def folders(start: Path | None = None) -> list[Path]:
    """The folders to search, in order: `start`, then its parents up to the first that has `.git`, if one has it."""
    folder = (start or Path.cwd()).resolve()
    upward = [folder, *folder.parents]
    root = next((index for index, each in enumerate(upward) if (each / ".git").exists()), 0)
    return upward[: root + 1]


def files_named_in(path: Path) -> tuple[str, ...]:
    """The paths of the suite, baseline and labels that a policy names, even if the rest of it is invalid."""
    return tuple(str(path.parent / name) for name in names_in(path))


def names_in(path: Path) -> tuple[str, ...]:
    """The names of those files as the policy writes them; empty if the policy is unreadable."""
    try:
        root = read_tree(path).root
    except InputError:
        return ()
    top = {key.text: value for key, value in root.entries}
    inside = {
        (block, key.text): value for block in ("baseline", "judge") if block in top for key, value in top[block].entries
    }
    named = (top.get("suite"), inside.get(("baseline", "file")), inside.get(("judge", "labels")))
    return tuple(node.text for node in named if node is not None and node.kind == "text")
