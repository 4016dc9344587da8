"""A path in, a tree out: the bytes of a file, their text, and the tree of a YAML or JSON document."""

from __future__ import annotations

import hashlib
from pathlib import Path

from msgspec import Struct

from highbar.documents.limits import MOST_POLICY_BYTES
from highbar.documents.tree import Node, parse_yaml
from highbar.errors import InputError, Problem


class Document(Struct, frozen=True):
    """A file that was read: its tree, the digest of its bytes, and what is wrong with its form."""

    root: Node
    sha256: str
    problems: tuple[Problem, ...] = ()
    text: str = ""


def read_tree(path: Path, data: bytes | None = None) -> Document:
    """The tree of a file: JSON if its name ends in .json, otherwise YAML. Raises InputError.

    If `data` is given, it is the content, and the file is not read.
    """
    data = read_bytes(path) if data is None else data
    text = decode_text(data, path)
    digest = hashlib.sha256(data).hexdigest()
    if path.suffix.lower() == ".json":
        from highbar.documents.json_tree import parse_json  # most policies are YAML

        return Document(parse_json(text, str(path)), digest, text=text)
    root, problems = parse_yaml(text, str(path))
    return Document(root, digest, problems, text)


def read_bytes(path: Path, max_bytes: int = MOST_POLICY_BYTES) -> bytes:
    """The bytes of a file. Raises InputError if it cannot be read or is larger than `max_bytes`."""
    try:
        with path.open("rb") as stream:
            data = stream.read(max_bytes + 1)
    except FileNotFoundError:
        raise InputError(Problem("file.missing", "no such file", str(path), hint=similar_file(path))) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(Problem("file.unreadable", f"cannot be read: {reason}", str(path))) from None
    if len(data) > max_bytes:
        raise InputError(Problem("file.too-large", f"larger than {max_bytes // 2**20} MiB", str(path)))
    return data


def similar_file(path: Path) -> str | None:
    """The hint for a file that does not exist: one in its folder with nearly the same name; None if there is none."""
    from highbar.language.spelling import nearest  # only if a name is wrong

    try:
        found = nearest(path.name, (entry.name for entry in path.parent.iterdir()))
    except OSError:  # the folder does not exist either
        return None
    return f"did you mean '{path.with_name(found)}'?" if found else None


def decode_text(data: bytes, path: Path) -> str:
    """The text of UTF-8 bytes without a byte order mark, with line feeds for CRLF. Raises InputError."""
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = (
            "save it as UTF-8; it looks like UTF-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "save it as UTF-8"
        )
        raise InputError(Problem("file.not-utf8", "the text is not UTF-8", str(path), line, hint=hint)) from None
