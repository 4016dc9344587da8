"""A file that people write, as a tree of nodes with their places and raw texts; and YAML text → such a tree.

Nothing is converted here: `1.0` and `1` stay different texts, so that a threshold can be read exactly. YAML's tags,
anchors and aliases are refused, and plain scalars are those of its core schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from highbar.documents.limits import MOST_NESTING, MOST_REPAIRS
from highbar.errors import InputError, Problem
from highbar.model import Place

if TYPE_CHECKING:
    import yaml

Kind = Literal["mapping", "list", "text", "number", "boolean", "null"]

KIND_NAMES: dict[Kind, str] = {
    "mapping": "a mapping",
    "list": "a list",
    "text": "text",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}


class Node(Struct, frozen=True):
    """One value of such a file: its kind, its text if it is a scalar, and where it begins."""

    kind: Kind
    text: str = ""
    items: tuple[Node, ...] = ()
    entries: tuple[tuple[Node, Node], ...] = ()
    line: int | None = None
    column: int | None = None
    text_at: tuple[int, int] | None = None
    """Line and column of the text's first character; None if places in the text cannot be mapped to the file."""
    block: bool = False
    """Whether YAML read it as a block of text, as it does with anything after a `>` or `|`."""

    def place(self, file: str | None, line: int = 1, column: int = 1) -> Place:
        """The place in `file` of a character of this node's text; the node's own place if `text_at` is None."""
        if self.text_at is None or (line, column) == (1, 1):
            return Place(file, self.line, self.column)
        first_line, first_column = self.text_at
        return Place(file, first_line + line - 1, first_column + column - 1)

    def place_at(self, file: str | None, offset: int) -> Place:
        """The place in `file` of the character at `offset` in this node's text."""
        return self.place(file, self.text.count("\n", 0, offset) + 1, offset - self.text.rfind("\n", 0, offset))


# --- of YAML ---------------------------------------------------------------------------------

Event = Any  # the types that PyYAML comes with leave out most of what an event has

_OPERATOR = r"(?:[:\-?]\s+|[\[{,]\s*|^\s*)(>=?)(?=\s*[0-9.])"
_END = r"\s+#|[,\]}]"
_HIDDEN_BREAK = re.compile("[\r\x85\u2028\u2029]")
_NULL = re.compile(r"|~|null|Null|NULL")
_BOOLEAN = re.compile(r"true|True|TRUE|false|False|FALSE")
_NUMBER = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)


def parse_yaml(text: str, file: str) -> tuple[Node, tuple[Problem, ...]]:
    """The tree of a YAML document, and the problems in it that did not stop it from being read.

    An unquoted `>= 95%` stops any YAML parser. It is reported, then read as `≥  95%`, so that the same call finds the
    problems after it. Raises InputError if the text is not YAML for any other reason.
    """
    import yaml  # takes twice as long as everything else here, and a JSON policy does not need it

    lines = text.split("\n")
    problems: list[Problem] = []
    _refuse_hidden_breaks(lines, file)
    while True:
        try:
            reader = _YamlReader("\n".join(lines), file)
            return reader.document(), (*problems, *reader.problems)
        except yaml.MarkedYAMLError as error:
            repaired = _repair(lines, error, file) if len(problems) < MOST_REPAIRS else None
            if not repaired:
                from highbar.documents.yaml_faults import explain_yaml  # only if something is wrong

                raise InputError(*problems, explain_yaml(lines, error, file)) from None
            problems.append(repaired)
        except yaml.YAMLError as error:
            message = str(error).splitlines()[0]
            raise InputError(*problems, Problem("file.not-yaml", f"this is not YAML: {message}", file)) from None


def _refuse_hidden_breaks(lines: list[str], file: str) -> None:
    """Refuse characters that end a line in YAML but in no editor: what looks like a comment would be read."""
    found = [
        Problem(
            "file.bad-character",
            f"the character U+{ord(mark[0]):04X} ends a line in YAML, though most editors do not show it",
            file,
            number,
            mark.start() + 1,
            f'remove it; in text, write "\\u{ord(mark[0]):04x}" in double quotes',
        )
        for number, line in enumerate(lines, 1)
        for mark in _HIDDEN_BREAK.finditer(line)
    ]
    if found:
        raise InputError(*found)


def _repair(lines: list[str], error: yaml.MarkedYAMLError, file: str) -> Problem | None:
    """Replace an unquoted `>` or `>=` near the error by characters that YAML can read; None if there is none."""
    # The parser stops at the operator, or on the line below it, where it expected the block of text.
    marks = [mark.line for mark in (error.problem_mark, error.context_mark) if mark is not None]
    for number in {near for mark in marks for near in (mark, mark - 1) if 0 <= near < len(lines)}:
        found = re.search(_OPERATOR, lines[number])
        if found:
            operator = found.group(1)
            # The same number of characters, so that the columns of later problems on this line stay correct.
            lines[number] = lines[number][: found.start(1)] + "≥".ljust(len(operator)) + lines[number][found.end(1) :]
            message = f"YAML reads an unquoted '{operator}' as the start of a block of text"
            value = re.split(_END, lines[number][found.end(1) :])[0].strip()
            hint = f'quote it: "{operator} {value}"' + (f", or write ≥ {value}" if operator == ">=" else "")
            return Problem("yaml.unquoted", message, file, number + 1, found.start(1) + 1, hint)
    return None


class _YamlReader:
    def __init__(self, text: str, file: str) -> None:
        import yaml  # as above

        self.yaml = yaml
        self.lines = text.split("\n")
        self.file = file
        self.problems: list[Problem] = []
        self.aliases = 0  # and anchors
        # Events rather than a loader: only they have the place of every scalar, and say whether it was quoted.
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self.events: Iterator[Event] = yaml.parse(text, Loader=loader)

    def document(self) -> Node:
        yaml, root = self.yaml, None
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    raise InputError(
                        Problem("yaml.not-allowed", "found a second document", self.file, *_position(event))
                    )
                root = self._node(next(self.events), 0)
        return root or Node("null", line=1, column=1)

    def _node(self, event: Event, depth: int) -> Node:
        yaml = self.yaml
        line, column = _position(event)
        if depth > MOST_NESTING:
            raise InputError(Problem("file.too-deep", f"nested deeper than {MOST_NESTING}", self.file, line, column))
        self._refuse_aliases_and_tags(event)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, line, column)
        if isinstance(event, yaml.SequenceStartEvent):
            return Node("list", items=tuple(self._children(depth)), line=line, column=column)
        if isinstance(event, yaml.MappingStartEvent):
            children = list(self._children(depth))
            pairs = tuple(zip(children[::2], children[1::2], strict=True))
            return Node("mapping", entries=pairs, line=line, column=column)
        return Node("text", f"*{event.anchor}", line=line, column=column)  # an alias: already a problem

    def _children(self, depth: int) -> Iterator[Node]:
        for event in self.events:
            if isinstance(event, self.yaml.CollectionEndEvent):
                return
            yield self._node(event, depth + 1)

    def _refuse_aliases_and_tags(self, event: Event) -> None:
        # A few lines of aliases expand to gigabytes, and what a reviewer sees should be what is read.
        line, column = _position(event)
        if isinstance(event, self.yaml.AliasEvent) or event.anchor is not None:
            self.aliases += 1
            if self.aliases > 1:  # one problem is enough; a file may have thousands of them
                return
            message = "anchors and aliases (& and *) are not allowed"
            sign = "*" if isinstance(event, self.yaml.AliasEvent) else "&"
            hint = f'write the value out; if it is text, quote it: "{sign}{event.anchor[:40]}"'
            self.problems.append(Problem("yaml.not-allowed", message, self.file, line, column, hint))
        elif event.tag is not None:
            hint = "write the value alone, or quote it if it is text"
            self.problems.append(
                Problem("yaml.not-allowed", f"the tag {event.tag[:40]} is not allowed", self.file, line, column, hint)
            )

    def _scalar(self, event: Event, line: int, column: int) -> Node:
        if not event.style:  # None from the Python parser, "" from the C one
            return Node(
                plain_kind(event.value), event.value, line=line, column=column, text_at=self._one_line(event, 0)
            )
        if event.style in ("'", '"'):
            return Node("text", event.value, line=line, column=column, text_at=self._one_line(event, 1))
        at = self._literal(line) if event.style == "|" else None
        return Node("text", event.value, line=line, column=column, text_at=at, block=True)

    def _one_line(self, event: Event, quote: int) -> tuple[int, int] | None:
        line, column = _position(event)
        return (line, column + quote) if event.start_mark.line == event.end_mark.line else None

    def _literal(self, line: int) -> tuple[int, int] | None:
        """Where a literal block's text begins: the first line that is not blank gives the indentation."""
        following = next((text for text in self.lines[line:] if text.strip()), "")
        return line + 1, len(following) - len(following.lstrip(" ")) + 1


def _position(event: Event) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def plain_kind(text: str) -> Kind:
    """The kind of an unquoted scalar by YAML's core schema, in which `yes`, `no`, `on` and `12:30` are text."""
    if _NULL.fullmatch(text):
        return "null"
    if _BOOLEAN.fullmatch(text):
        return "boolean"
    return "number" if _NUMBER.fullmatch(text) else "text"
