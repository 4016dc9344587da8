"""The text of a suite file that has a problem → its values, with the line and column of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from highbar.documents.json_tree import parse_json
from highbar.documents.limits import MOST_DIGITS
from highbar.documents.problems import ValuePath
from highbar.documents.scalars import scalar, written_number
from highbar.documents.tree import KIND_NAMES, Node, parse_yaml
from highbar.errors import InputError, Problem
from highbar.suite.decoding import Format

Position = tuple[int | None, int | None]
"""Line and column, both from 1."""


class OtherFile(str):
    """The first part of a path that leads into a file other than the suite's own: the path of that file."""

    __slots__ = ()


class Located(Struct, frozen=True):
    """The values of a file, a function that gives the position of a value or its key, and the problems of the form."""

    values: Any
    position: Callable[[ValuePath, bool], Position]
    problems: tuple[Problem, ...] = ()


def locate(text: str, format_: Format, file: str) -> Located:
    """The values of a file, with their positions. Raises InputError if the text is not in that format at all."""
    if format_ == "json":
        return _of_tree(parse_json(text, file), file, ())
    if format_ == "yaml":
        return _of_tree(*_yaml(text, file))
    items, problems = _lines(text, file) if format_ == "jsonl" else (_ids(text), [])
    root = Node("list", items=tuple(node for _, node in items), line=1, column=1)
    # Each line was parsed as a document of its own, so its positions count from its own first line.
    before = [line - 1 for line, _ in items]
    found = _of_tree(root, file, problems, before)

    def position(path: ValuePath, key: bool) -> Position:  # noqa: FBT001  # as the field of Located has it
        line, column = found.position(path, key)
        inside = path and isinstance(path[0], int) and path[0] < len(before) and line is not None
        return (line + before[path[0]], column) if inside else (line, column)  # type: ignore[operator,index]  # asked

    return Located(found.values, position, found.problems)


def _yaml(text: str, file: str) -> tuple[Node, str, Sequence[Problem]]:
    root, problems = parse_yaml(text, file)
    return root, file, problems


def _lines(text: str, file: str) -> tuple[list[tuple[int, Node]], list[Problem]]:
    items: list[tuple[int, Node]] = []
    problems: list[Problem] = []
    for number_, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            items.append((number_, parse_json(line, file)))
        except InputError as error:
            problems += [replace(problem, line=number_) for problem in error.problems]
    return items, problems


def _ids(text: str) -> list[tuple[int, Node]]:
    lines = ((at, line) for at, line in enumerate(text.split("\n"), 1) if line.strip())
    return [(at, Node("text", line.strip(), line=1, column=len(line) - len(line.lstrip()) + 1)) for at, line in lines]


def _of_tree(root: Node, file: str, problems: Sequence[Problem], before: Sequence[int] = ()) -> Located:
    found = list(problems)
    if before:
        values = [_value(item, file, found, above) for item, above in zip(root.items, before, strict=True)]
    else:
        values = _value(root, file, found)

    def position(path: ValuePath, key: bool) -> Position:  # noqa: FBT001  # as the field of Located has it
        return _position(root, path, key=key)

    return Located(values, position, tuple(found))


def _position(root: Node, path: ValuePath, *, key: bool) -> Position:
    node, of_key = root, root
    for part in path:
        if isinstance(part, int) and part < len(node.items):
            node = of_key = node.items[part]
            continue
        inside = next(((name, value) for name, value in node.entries if name.text == str(part)), None)
        if inside is None:  # such as a missing key: the position is that of the mapping
            break
        of_key, node = inside
    chosen = of_key if key else node
    return chosen.line, chosen.column


def _value(node: Node, file: str, problems: list[Problem], above: int = 0) -> Any:
    """The plain value of a tree; repeated keys, and keys that are not text, are problems.

    `above` is the number of lines in the file above the text that the tree was parsed from.
    """
    if node.kind == "list":
        return [_value(item, file, problems, above) for item in node.items]
    if node.kind == "mapping":
        return _entries(node, file, problems, above)
    if node.kind == "text":
        return node.text
    if node.kind == "number" and written_number(node.text) is None and len(node.text) > MOST_DIGITS:
        problems.append(
            Problem(
                "file.too-many-digits", "the number has too many digits", file, (node.line or 1) + above, node.column
            )
        )
    return scalar(node.text)


def _entries(node: Node, file: str, problems: list[Problem], above: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    first: dict[str, Node] = {}
    for key, inner in node.entries:
        value = _value(inner, file, problems, above)
        line = (key.line or 1) + above
        before = first.setdefault(key.text.casefold(), key)
        if key.kind in ("mapping", "list", "null"):
            message = f"found {KIND_NAMES[key.kind]} as a key, wanted text"
            problems.append(Problem("file.key-not-text", message, file, line, key.column))
        elif before is not key:
            case = "" if key.text == before.text else f": apart from case it is '{before.text[:60]}'"
            message = f"duplicate key '{key.text[:60]}'{case}, first on line {(before.line or 1) + above}"
            problems.append(Problem("suite.duplicate-key", message, file, line, key.column))
        else:
            found[key.text] = value
    return found
