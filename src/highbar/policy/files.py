"""Paths in, trees out; and where a policy is looked for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from highbar.errors import InputError, Problem
from highbar.policy.json_tree import parse_json
from highbar.policy.tree import MAX_BYTES, Node
from highbar.policy.yaml_tree import parse_yaml

NAMES = ("highbar.yaml", "highbar.yml", "highbar.json")


@dataclass(frozen=True, slots=True)
class Document:
    """A file that was read: its tree, the digest of its bytes, and what is wrong with its form."""

    root: Node
    sha256: str
    problems: tuple[Problem, ...] = ()
    text: str = ""


def find(start: Path | None = None) -> Path | None:
    """The policy that holds in `start`, the working folder unless said: in it, or above it up to the repository's root.

    Outside a repository only the folder itself is looked at. Raises InputError where a folder has two.
    """
    for current in folders(start):
        found = [current / name for name in NAMES if (current / name).is_file()]
        if len(found) > 1:
            names = " and ".join(path.name for path in found)
            raise InputError(Problem(f"{current} has two policies, {names}", hint="keep one, or name it with --policy"))
        if found:
            return found[0]
    return None


def folders(start: Path | None = None) -> list[Path]:
    """Where a policy is looked for, in this order."""
    folder = (start or Path.cwd()).resolve()
    upward = [folder, *folder.parents]
    root = next((index for index, each in enumerate(upward) if (each / ".git").exists()), 0)
    return upward[: root + 1]


def files_named_in(path: Path) -> tuple[str, ...]:
    """The paths of the files that a policy names, its suite and its baseline, however wrong the rest of it is."""
    return tuple(str(path.parent / name) for name in names_in(path))


def names_in(path: Path) -> tuple[str, ...]:
    """The names of those files, as the policy has them."""
    try:
        root = read_document(path).root
    except InputError:
        return ()
    top = {key.text: value for key, value in root.entries}
    baseline = {key.text: value for key, value in top["baseline"].entries} if "baseline" in top else {}
    named = (top.get("suite"), baseline.get("file"))
    return tuple(node.text for node in named if node is not None and node.kind == "text")


def read_document(path: Path, max_bytes: int = MAX_BYTES, data: bytes | None = None) -> Document:
    """The tree of a YAML or JSON file; by its name, JSON where that ends in .json. Raises InputError.

    Where `data` is given it is what the file would hold, and the file itself is not read.
    """
    data = read_bytes(path, max_bytes) if data is None else data
    text = decode(data, path)
    digest = hashlib.sha256(data).hexdigest()
    if path.suffix.lower() == ".json":
        return Document(parse_json(text, str(path)), digest, text=text)
    root, problems = parse_yaml(text, str(path))
    return Document(root, digest, problems, text)


def read_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """The bytes of a file. Raises InputError where there is none, or it is larger than `max_bytes`."""
    try:
        with path.open("rb") as stream:
            data = stream.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(Problem(f"cannot be read: {reason}", str(path))) from None
    if len(data) > max_bytes:
        raise InputError(Problem(f"larger than {max_bytes // 2**20} MiB", str(path)))
    return data


def decode(data: bytes, path: Path) -> str:
    """The text of UTF-8 bytes, with or without a byte order mark, lines ended by line feeds. Raises InputError."""
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = (
            "save it as UTF-8; it looks like UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "save it as UTF-8"
        )
        raise InputError(Problem("the text is not UTF-8", str(path), line, hint=hint)) from None
