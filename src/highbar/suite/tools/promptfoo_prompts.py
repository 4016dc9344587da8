"""Prompts of promptfoo → templates of what the agent is asked: a text, or a conversation in chat form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from highbar.documents.problems import ValueCursor, ValuePath
from highbar.suite.decoding import NotPlain, decode
from highbar.suite.tools.linked import PREFIX, file_text, files_named, values_of
from highbar.suite.tools.templates import fill_template, is_template

_CODE = (
    ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".py", ".sh", ".bash", ".exe", ".bat", ".cmd", ".ps1", ".rb", ".pl",
)  # fmt: skip
_TEXTS = (".txt", ".md", ".j2")
_VALUES = (".json", ".yaml", ".yml")
_ENDINGS = (*_CODE, *_TEXTS, *_VALUES, ".csv", ".jsonl")
_ELSEWHERE = ("portkey://", "langfuse://", "helicone://", "exec:")
_BETWEEN = re.compile(r"^[^\S\n]*---[^\S\n]*$", re.MULTILINE)
_KEYS = ("raw", "label", "id", "config", "display")


class PromptTemplate(Struct, frozen=True):
    """A prompt: its text, or the messages of a conversation. `path` leads to it in the configuration."""

    label: str
    path: ValuePath
    text: str | None = None
    messages: tuple[Any, ...] = ()
    id: str | None = None

    def is_named_by(self, reference: str) -> bool:
        """Whether a test that lists this reference uses the prompt."""
        for name in (self.label, self.id):
            if name and (name == reference or name.startswith(f"{reference}:")):
                return True
            if name and reference.endswith("*") and name.startswith(reference[:-1]):
                return True
        return False

    def asked(
        self, variables: Mapping[str, Any], test: ValueCursor, prefix: str = "", suffix: str = ""
    ) -> dict[str, Any] | None:
        """The question to the agent in a test, as the keys of a scenario; None after noting a problem."""
        place = ValueCursor(self.path, test.problems)
        if self.text is not None:
            text = fill_template(prefix + self.text + suffix, variables, place, test)
            return None if text is None else {"input": text}
        if prefix or suffix:
            place.refuse(
                "suite.no-counterpart",
                "a prefix or suffix of a conversation has no counterpart",
                "put it into the messages",
            )
            return None
        before = len(place.problems)
        messages = _filled_inside(list(self.messages), variables, place, test)
        return {"messages": messages} if len(place.problems) == before else None


def _filled_inside(value: Any, variables: Mapping[str, Any], place: ValueCursor, test: ValueCursor) -> Any:
    if isinstance(value, str):
        return fill_template(value, variables, place, test)
    if isinstance(value, list):
        return [_filled_inside(item, variables, place, test) for item in value]
    if isinstance(value, dict):
        return {key: _filled_inside(inner, variables, place, test) for key, inner in value.items()}
    return value


def read_prompts(value: Any, place: ValueCursor, folder: Path | None) -> list[PromptTemplate]:
    """All prompts of the configuration."""
    if isinstance(value, dict):
        hint = "write a list of {raw: …, label: …}"
        place.refuse_value(value, "a list of prompts", hint)
        return []
    items = value if isinstance(value, list) else [value]
    if value is None or not items:
        place.refuse(
            "suite.no-question",
            "the configuration has no prompt: there is nothing to ask",
            'add prompts: ["{{question}}"]',
        )
        return []
    found: list[PromptTemplate] = []
    for index, item in enumerate(items):
        inside = place.at(index) if isinstance(value, list) else place
        found += _read_prompt(item, inside, folder)
    labels = [prompt.label for prompt in found]
    for prompt in found:
        if labels.count(prompt.label) > 1:
            ValueCursor(prompt.path, place.problems).refuse(
                "suite.listed-twice", f"two prompts are called '{prompt.label[:60]}'", "give each a label of its own"
            )
    return found


def _read_prompt(item: Any, place: ValueCursor, folder: Path | None) -> Iterator[PromptTemplate]:
    if isinstance(item, dict):
        for key in item:
            if key not in _KEYS:
                place.at(key).refuse("suite.unknown-key", f"unknown key '{key[:60]}'", f"known: {', '.join(_KEYS)}")
                return
    fields = item if isinstance(item, dict) else {"raw": item}
    raw = fields.get("raw", fields.get("id"))
    label, id_ = fields.get("label"), fields.get("id")
    for key, given in (("label", label), ("id", id_)):
        if given is not None and not (isinstance(given, str) and given.strip()):
            place.at(key).refuse_value(given, "text")
            return
    if not isinstance(raw, str) or not raw.strip():
        place.refuse_value(raw, "the text of a prompt, or the name of its file")
        return
    if raw.startswith(_ELSEWHERE) and "\n" not in raw:
        place.refuse(
            "suite.no-counterpart",
            f"a prompt that another program makes ({raw[:40]}) has no counterpart",
            "write the prompt out",
        )
    elif _names_file(raw, folder):
        yield from _in_files(raw, label, place, folder)
    elif "\n" not in raw and ("/" in raw or "*" in raw or "\\" in raw) and not is_template(raw):
        place.refuse(
            "suite.linked-file",
            "promptfoo takes this for the name of a file, and there is none",
            "end the text with a line break",
        )
    else:
        yield from _of_text(raw, label or raw, place, id_)


def _names_file(raw: str, folder: Path | None) -> bool:
    if "\n" in raw:
        return False
    if raw.startswith(PREFIX):
        return True
    bare = raw.rpartition(":")[0] or raw
    if raw.endswith(_ENDINGS) or (bare.endswith(_CODE) and " " not in raw):
        return not is_template(raw)
    return folder is not None and len(raw) < 256 and "/" in raw and (folder / raw).is_file()


def _in_files(raw: str, label: Any, place: ValueCursor, folder: Path | None) -> Iterator[PromptTemplate]:
    bare = raw.removeprefix(PREFIX)
    if bare.endswith(_CODE) or (bare.rpartition(":")[0]).endswith(_CODE):
        place.refuse(
            "suite.no-counterpart",
            f"a prompt that a program makes ('{bare[:60]}') has no counterpart",
            "write the prompt out",
        )
        return
    for path in files_named(raw, place, folder):
        name = bare if path.name in bare else path.name
        if path.suffix in _VALUES:
            yield from _of_values(values_of(path), label or name, place, None)
        elif path.suffix in _TEXTS:
            yield from _texts_in(path, label, name, place)
        else:
            place.refuse(
                "suite.no-counterpart",
                f"a prompt in a file of this kind ('{path.suffix}') has no counterpart",
                "use a .txt file",
            )


def _texts_in(path: Path, label: Any, name: str, place: ValueCursor) -> Iterator[PromptTemplate]:
    """The prompts of a text file; a `.txt` file may have several, with `---` between them."""
    text = file_text(path)
    if path.suffix != ".txt":
        yield from _of_text(text, label or name, place, None)
        return
    parts = [part.strip() for part in _BETWEEN.split(text) if part.strip()]
    for index, part in enumerate(parts):
        own = (label or name) if len(parts) == 1 else f"{label or name}: {index + 1}"
        yield from _of_text(part, own, place, None)
    if not parts:
        place.refuse("file.empty", f"the file '{name[:60]}' is empty")


def _of_text(text: str, label: str, place: ValueCursor, id_: str | None) -> Iterator[PromptTemplate]:
    """A prompt from its text; one that is JSON is a conversation, in which promptfoo fills in each text separately."""
    try:
        values = decode(text, "json")
    except NotPlain:
        yield PromptTemplate(label, place.path, text, id=id_)
        return
    yield from _of_values(values, label, place, id_)


def _of_values(values: Any, label: str, place: ValueCursor, id_: str | None) -> Iterator[PromptTemplate]:
    is_chat = isinstance(values, list) and all(isinstance(one, dict) and "role" in one for one in values)
    if not is_chat or not values:
        hint = "a prompt is text, or a list of {role: …, content: …}"
        place.refuse("suite.no-counterpart", "a prompt that is JSON and no conversation has no counterpart", hint)
        return
    yield PromptTemplate(label, place.path, messages=tuple(values), id=id_)
