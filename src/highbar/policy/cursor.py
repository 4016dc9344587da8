"""The position of a reader in a policy: a node, its path, and the list that collects every problem."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from fractions import Fraction
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from highbar.documents.tree import KIND_NAMES, Kind, Node
from highbar.errors import Problem
from highbar.language.exact import read_decimal
from highbar.language.formula import FormulaError
from highbar.language.phrases import some
from highbar.language.spelling import did_you_mean, spelled_out
from highbar.language.threshold import ThresholdError
from highbar.model import Place
from highbar.policy.limits import LONGEST_MESSAGE, LONGEST_PATH, MOST_KEYS, MOST_SUGGESTIONS

DESCRIPTION = "description"
_INDENT = "if the lines below belong to it, indent them by two more spaces; if not, remove it"

T = TypeVar("T")
Hints = Callable[[], Mapping[str, str]]
"""Returns a hint for each unknown key that it recognizes."""


class Cursor(Struct):
    """A node of a policy. Its readers return a value, or None after noting a problem."""

    node: Node
    path: str
    file: str | None
    problems: list[Problem]
    key: Node | None = None
    """The key that this node is the value of."""

    @property
    def place(self) -> Place:
        """Where the node begins."""
        return self.node.place(self.file)

    @property
    def key_at(self) -> Place:
        """Where the node's key begins, or the node itself if it has no key (an item of a list)."""
        return self.key.place(self.file) if self.key else self.place

    def refuse(self, code: str, message: str, hint: str | None = None, at: Place | None = None) -> None:
        """Note a problem with this node."""
        place = at or self.place
        path = shortened(self.path, LONGEST_PATH)
        text = shortened(f"{path}: {message}" if path else message, LONGEST_MESSAGE)
        self.problems.append(Problem(code, text, place.file, place.line, place.column, hint and shortened(hint)))

    def refuse_kind(self, wanted: str, hint: str | None = None) -> None:
        """Note that the node is of the wrong kind."""
        shown = f" '{self.node.text[:60]}'" if self.node.text else ""
        self.refuse("policy.wrong-type", f"found {KIND_NAMES[self.node.kind]}{shown}, wanted {wanted}", hint)

    def suggest(self, word: str, candidates: Iterable[str]) -> str | None:
        """The hint for an unknown word; None if nothing is similar, or after MOST_SUGGESTIONS problems."""
        return did_you_mean(word, candidates) if len(self.problems) < MOST_SUGGESTIONS else None

    def is_kind(self, *kinds: Kind) -> bool:
        """Whether the node is of one of these kinds."""
        return self.node.kind in kinds

    def fields(
        self, allowed: Collection[str], hints: Hints | None = None, removed: Mapping[str, str] | None = None
    ) -> dict[str, Cursor]:
        """The entries of a mapping with known keys; an unknown, removed or repeated key is a problem.

        `hints` is called only if a key is unknown. `removed` says what to do instead of a key of an earlier version.
        """
        found = self.entries(keep_description=True)
        unknown = [key for key in found if key not in allowed]
        known_hints = hints() if hints and unknown else {}
        for key in unknown:
            at = found.pop(key).key_at
            if removed and key in removed:
                self.refuse("removed", f"the key '{key}' was removed", removed[key], at)
                continue
            hint = known_hints.get(key) or self.suggest(key, allowed) or f"known: {some(list(allowed), MOST_KEYS)}"
            self.refuse("policy.unknown-key", f"unknown key '{key}'", hint, at)
        return found

    def entries(self, *, keep_description: bool = False, keep_case: bool = False) -> dict[str, Cursor]:
        """The entries of a mapping with any keys. A `description` is checked to be text, and then left out.

        With `keep_case`, keys that differ only in case are two keys.
        """
        if not self.is_kind("mapping"):
            self.refuse_kind("a mapping (key: value)", _INDENT if self.is_kind("null") else None)
            return {}
        found: dict[str, Cursor] = {}
        before: dict[str, Node] = {}
        for key, value in self.node.entries:
            if key.kind in ("mapping", "list", "null"):
                self.refuse(
                    "file.key-not-text", f"found {KIND_NAMES[key.kind]} as a key, wanted text", at=key.place(self.file)
                )
            elif (name := key.text if keep_case else key.text.casefold()) in before:
                self._refuse_again(key, before[name])
            else:
                path = f"{self.path}.{key.text}" if self.path else key.text
                found[key.text] = Cursor(value, path, self.file, self.problems, key)
                before[name] = key
        if not keep_description and DESCRIPTION in found:
            found.pop(DESCRIPTION).text()
        return found

    def metrics(self) -> dict[str, Cursor]:
        """The entries of a mapping whose keys are metrics: `pass@3` is `pass_at_3`. A `description` is left out."""
        found: dict[str, Cursor] = {}
        first: dict[str, str] = {}
        for key, entry in self.entries().items():
            name = spelled_out(key)
            if first.setdefault(name, key) != key:
                entry.refuse(
                    "policy.duplicate-key",
                    f"'{key}' is the same metric as '{first[name]}'",
                    "keep one of the two",
                    at=entry.key_at,
                )
            else:
                found[name] = replace(entry, path=f"{self.path}.{name}")
        return found

    def _refuse_again(self, key: Node, first: Node) -> None:
        """Note a key that repeats `first`, in the same or in another case."""
        line = f", first on line {first.line}" if first.line else ""
        case = "" if key.text == first.text else f": apart from case it is '{first.text}'"
        self.refuse("policy.duplicate-key", f"duplicate key '{key.text}'{case}{line}", at=key.place(self.file))

    def child(self, name: str) -> Cursor | None:
        """The value of one key, the first if it is repeated; None if it is absent. Notes no problem."""
        path = f"{self.path}.{name}"
        found = ((key, value) for key, value in self.node.entries if key.text == name)
        return next((Cursor(value, path, self.file, self.problems, key) for key, value in found), None)

    def items(self) -> list[Cursor]:
        """The items of a list."""
        if not self.is_kind("list"):
            listed = f"write [{self.node.text[:60]}]" if self.is_kind("text", "number") else None
            self.refuse_kind("a list", _INDENT if self.is_kind("null") else listed)
            return []
        return [
            Cursor(item, f"{self.path}[{index}]", self.file, self.problems)
            for index, item in enumerate(self.node.items)
        ]

    def text(self) -> str | None:
        """Text that is not blank. A number or a boolean is a problem: parsers differ in which text it stands for."""
        if not self.is_kind("text"):
            hint = f'quote it: "{self.node.text}"' if self.is_kind("number", "boolean") else None
            self.refuse_kind("text", hint)
            return None
        if not self.node.text.strip():
            self.refuse("policy.empty-value", "found an empty text")
            return None
        return self.node.text

    def scalar(self, wanted: str) -> str | None:
        """The text of a text or a number, as written; anything else is a problem, with `wanted` in its message."""
        if self.is_kind("text", "number"):
            return self.node.text
        self.refuse_kind(wanted)
        return None

    def choice(self, *options: str) -> str | None:
        """The node's text if it is one of `options`; anything else is a problem."""
        if self.is_kind("text") and self.node.text in options:
            return self.node.text
        hint = self.suggest(self.node.text, options) if self.is_kind("text") else None
        self.refuse_kind(" or ".join(options), hint)
        return None

    def texts(self, read: Callable[[Cursor], str | None] | None = None) -> list[tuple[str, Cursor]]:
        """The texts of a list, each once, with their places; `read` reads an item that need not be text."""
        found: dict[str, Cursor] = {}
        for item in self.items():
            text = read(item) if read else item.text()
            if text is not None and text in found:
                item.refuse("policy.listed-twice", f"'{text}' is listed twice")
            elif text is not None:
                found[text] = item
        return list(found.items())

    def number(self, read: Callable[[str], Fraction], wanted: str) -> Fraction | None:
        """The number that `read`, a reader of `language.threshold`, finds in the node's text."""
        text = self.scalar(wanted)
        return None if text is None else self.attempt(lambda: read(text))

    def whole_number(self, least: int, most: int | None = None, hint: str | None = None) -> int | None:
        """A whole number from `least` to `most`, if that is given; `hint` is for a larger one."""
        value = read_decimal(self.node.text) if self.is_kind("number") else None
        if value is None or value.denominator != 1 or value < least or "." in self.node.text:
            self.refuse_kind(f"a whole number, {least} or more")
            return None
        if most is not None and value > most:
            self.refuse("policy.out-of-range", f"found {self.node.text[:40]}, wanted at most {most}", hint)
            return None
        return int(value)

    def signed_number(self, hint: str) -> Fraction | None:
        """The number of a node that is one, of any size and sign."""
        text = self.node.text
        number = read_decimal(text.removeprefix("-"))
        if number is None:
            self.refuse("policy.wrong-type", f"cannot read '{text[:60]}' as a number", hint)
            return None
        return -number if text.startswith("-") else number

    def attempt(self, read: Callable[[], T]) -> T | None:
        """The result of `read`, or None after noting the problem that it raised."""
        try:
            return read()
        except ThresholdError as error:
            self.refuse(error.code, error.message, error.hint)
        except FormulaError as error:
            self.refuse(error.code, error.message, error.hint, at=self.node.place(self.file, error.line, error.column))
        return None

    def key_place(self, name: str) -> Place:
        """The place of the key `name` of this mapping."""
        return next(key.place(self.file) for key, _ in self.node.entries if spelled_out(key.text) == spelled_out(name))


def read_description(fields: Mapping[str, Cursor]) -> str | None:
    """The `description` among these fields; None if it is absent or not text."""
    return fields[DESCRIPTION].text() if DESCRIPTION in fields else None


def shortened(text: str, most: int = LONGEST_MESSAGE) -> str:
    """`text` with its middle left out if it is longer than `most`: a key may be as long as the file."""
    half = most // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"
