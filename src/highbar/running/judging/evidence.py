"""The evidence that a judge gives → the words in the conversation; None if they are not there.

Quotes are compared in the same way as the texts of checks: case, runs of spaces and kinds of quotes and dashes do not
matter. Longer quotes are also searched without Markdown marks, which judges leave out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from highbar.checks.evidence import cut_evidence
from highbar.checks.folding import plain_form
from highbar.checks.texts import core, find_strictly, find_text
from highbar.running.agents.json_text import STRICT
from highbar.running.agents.replies import without_surrogates
from highbar.running.judging.conversation_text import quotable

_NUMBER = re.compile(r"(?:messages?\s*)?[#\[(]?\s*(?:message\s+)?([0-9]{1,9})\s*[\])]?[.:]?", re.IGNORECASE | re.ASCII)
_AROUND = " \t\n.…\"'“”‘’«»`"
_SHORTEST = 2
"""Letters and digits that a quote must have, unless it is a whole message."""
_CERTAIN = 16
"""A quote with this many letters and digits may begin or end inside of a word."""
_MARKDOWN = re.compile(r"[\s*_`~#>|\\]+")
_ESCAPE = re.compile(r"""\\(?:u([0-9a-fA-F]{4})|([nrt"\\/]))""")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}
_JUDGMENT = re.compile(r'\{\s*"statements"')
_MOST_JUDGMENTS = 100
"""Judgments that are searched in one message: each may be as long as the message."""
_SPACE = re.compile(r"\s+")


class Quotable:
    """The texts of a conversation that may contain a quote."""

    def __init__(self, conversation: Sequence[Mapping[str, Any]]) -> None:
        self._messages = [tuple(quotable(message)) for message in conversation]

    def find_evidence(self, evidence: Any) -> str | None:
        """The evidence as a row shows it: words of the conversation, or `message 3`. None if it is not there."""
        if isinstance(evidence, int) and not isinstance(evidence, bool):
            return self._message(evidence)
        if not isinstance(evidence, str):
            return None
        number = _NUMBER.fullmatch(evidence.strip())
        if number and (named := self._message(int(number[1]))):
            return named
        found = next(filter(None, map(self._find_quote, _spellings(evidence))), None)
        return None if found is None else without_surrogates(found)

    def has_object(self, text: str) -> bool:
        """Whether a message contains this JSON object, also with other spaces, escaped, or with reordered keys."""
        sought = {_SPACE.sub("", one) for one in (text, json.dumps(text)[1:-1])}
        value = STRICT.decode(text)
        for said in self._texts():
            bare = _SPACE.sub("", said)
            if any(one in bare for one in sought) or any(one == value for one in _judgments(said)):
                return True
        return False

    def _message(self, number: int) -> str | None:
        return f"message {number}" if 1 <= number <= len(self._messages) else None

    def _texts(self) -> Iterator[str]:
        for texts in self._messages:
            yield from texts

    def _find_quote(self, quote: str) -> str | None:
        """The part of a message that the quote matches; None if there is none."""
        letters = sum(map(str.isalnum, quote))
        if letters < _SHORTEST:
            return self._find_whole(quote) if letters else None
        part = letters >= _CERTAIN
        for text in self._texts():
            if found := find_text(text, quote, exact=False, part=part):
                return cut_evidence(found)
        for text in self._texts() if part else ():
            if found := find_strictly(text, quote) or _find_without_marks(text, quote):
                return cut_evidence(found)
        return None

    def _find_whole(self, quote: str) -> str | None:
        """The message that consists of this one letter or digit; None if there is none."""
        bare = core(quote)
        return next((cut_evidence(text) for text in self._texts() if core(text) == bare), None)


def _judgments(text: str) -> Iterator[Any]:
    """The JSON objects in a text that look like judgments."""
    for start in islice(_JUDGMENT.finditer(text), _MOST_JUDGMENTS):
        with suppress(ValueError, RecursionError):
            yield STRICT.raw_decode(text, start.start())[0]


def _spellings(quote: str) -> Iterator[str]:
    """The quote as it is, without the punctuation that judges put around it, and with the JSON escapes decoded."""
    for text in dict.fromkeys((quote, _ESCAPE.sub(_unescaped, quote))):
        yield text
        if (bare := text.strip(_AROUND)) != text:
            yield bare


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _ESCAPED.get(found[2], found[2])


def _find_without_marks(text: str, quote: str) -> str | None:
    bare = _MARKDOWN.sub("", plain_form(quote).text)
    return quote.strip() if bare and bare in _MARKDOWN.sub("", plain_form(text).text) else None
