"""What attributes and tags of JUnit XML say about how a test ended, in the words of any runner."""

from __future__ import annotations

import re

SAYS_OUTCOME = frozenset({"status", "result", "outcome", "state", "success", "passed", "verdict", "conclusion", "ok"})
"""Attributes and tags whose value says how a test ended."""
UNCLEAR = "unclear"
"""The kind of what may say that a test did not pass; all other kinds are endings."""

_SAYS_RAN = frozenset({"executed", "completed", "finished", "ran", "run"})
_DESCRIBING = frozenset(
    {"name", "classname", "class", "file", "id", "type", "package", "module", "suite", "group", "category", "tags"}
    | {"level", "severity", "priority", "owner", "author", "description", "message", "type_param", "value_param"}
)
"""Attributes that may have any value, also the name of an outcome."""
_GOOD_WORDS = frozenset(
    {"passed", "pass", "success", "succeeded", "successful", "ok", "true"}
    | {"run", "completed", "executed", "finished", "done"}  # these say only that it ran; the endings say how it ended
)
_BAD_WORDS = {
    **dict.fromkeys(("failed", "fail", "failure", "false", "unsuccessful", "ko", "notok"), "failure"),
    **dict.fromkeys(("error", "errored", "broken", "crashed", "crash", "timeout", "timedout", "aborted"), "error"),
    **dict.fromkeys(("skipped", "skip", "notrun", "notexecuted", "suppressed", "disabled", "ignored"), "skipped"),
    **dict.fromkeys(("pending", "todo", "cancelled", "canceled", "untested", "undefined", "filtered"), "skipped"),
}
_BAD_NAMES = {
    **dict.fromkeys(("fail",), "failure"),
    **dict.fromkeys(("error", "exception", "abort", "crash", "broken", "timeout", "timedout"), "error"),
    **dict.fromkeys(("skip", "ignor", "disabl", "pending", "notrun", "not-run", "not_run"), "skipped"),
    **dict.fromkeys(("flak", "rerun"), UNCLEAR),
}
_LONGEST_WORD = 30
"""Characters of a value that may be an ending, such as `failed`: a longer one is a text about the test."""
_BAD_NAME = re.compile("|".join(_BAD_NAMES))
_DENIED = frozenset({"", "0", "false", "no", "none", "null"})
"""Values that say that what an attribute is named after did not happen."""


def has_bad_name(name: str) -> bool:
    """Whether the name of a tag resembles that of an ending."""
    return _BAD_NAME.search(name) is not None


def attribute_outcome(name: str, value: str) -> str | None:
    """The ending that an attribute says, or UNCLEAR; None if it says that the test passed, or says nothing.

    >>> attribute_outcome("status", "Failed"), attribute_outcome("skipped", "true"), attribute_outcome("errors", "0")
    ('failure', 'skipped', None)
    """
    word = _word(value)
    if not value.strip() or name in _DESCRIBING:
        return None
    if name in SAYS_OUTCOME:
        return _BAD_WORDS.get(word) or (None if word in _GOOD_WORDS else UNCLEAR)
    if name in _SAYS_RAN:  # often a time or a number, which says nothing
        return "skipped" if word == "no" or word in _BAD_WORDS else None
    if found := _BAD_NAME.search(name):
        is_setting = found[0] == "timeout" and value.strip()[0].isdigit()
        return None if is_setting or value.strip().lower() in _DENIED else _BAD_NAMES[found[0]]
    return UNCLEAR if text_is_bad(value) else None


def text_is_bad(text: str) -> bool:
    """Whether a text is nothing but a word for a bad ending; false alone may be the value of anything."""
    word = _word(text)
    return word in _BAD_WORDS and word != "false"


def neither(said: str) -> str:
    """The reason why a test is undecided."""
    return f"{said}, which says neither that it passed nor that it failed"


def _word(text: str) -> str:
    # A longer text is no word: "the result is not ok" without its spaces must not become one.
    return re.sub(r"[^a-z]", "", text.lower()) if len(text) <= _LONGEST_WORD else ""
