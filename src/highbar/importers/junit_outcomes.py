"""What attributes, tags and properties of JUnit XML say about how a test ended, in the words of any runner.

A test passes only if nothing about it says otherwise. A name that is a word for an ending counts with its value; a
longer name that contains such a word leaves a test undecided at most, and the name of a setting says nothing.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

SAYS_OUTCOME = frozenset({"status", "result", "outcome", "state", "success", "passed", "verdict", "conclusion", "ok"})
"""Attributes and tags whose value says how a test ended."""
UNCLEAR = "unclear"
"""The kind of what may say that a test did not pass; all other kinds are endings."""

_PASSED = frozenset(
    {"pass", "passed", "passes", "passing", "ok", "okay", "success", "succeeded", "succeeds", "successful"}
)
_STATUS = SAYS_OUTCOME - _PASSED
_RAN = frozenset({"executed", "completed", "finished", "ran", "run", "done", "enabled"})
_NAMES = _STATUS | _PASSED | _RAN
_DESCRIPTIONS = frozenset(
    {"name", "classname", "class", "file", "id", "type", "package", "module", "suite", "group", "category", "tags"}
    | {"level", "severity", "priority", "owner", "author", "description", "message", "type_param", "value_param"}
    | {"expected", "mode"}
)
"""Attributes that may have any value, also the name of an outcome."""
_OF_THE_USER = frozenset({"run", "enabled", "flaky", "flake", "flakes", "rerun", "reruns"})
"""Properties that describe a test rather than its outcome."""
_GOOD_WORDS = _PASSED | _RAN | {"true", "yes", "y"}  # having run is not bad; the endings say how it ended
_BAD_WORDS = {
    **dict.fromkeys(("failed", "fail", "failure", "false", "unsuccessful", "ko", "nok", "notok"), "failure"),
    **dict.fromkeys(("error", "errored", "broken", "crashed", "crash", "timeout", "timedout", "aborted"), "error"),
    **dict.fromkeys(("skipped", "skip", "notrun", "notexecuted", "suppressed", "disabled", "ignored"), "skipped"),
    **dict.fromkeys(("pending", "todo", "cancelled", "canceled", "untested", "undefined", "filtered"), "skipped"),
}
_DOUBTFUL = frozenset({"blocked", "killed", "rejected", "inconclusive", "interrupted", "terminated", "unstable"})
_BAD_NAMES = {
    **{word: kind for word, kind in _BAD_WORDS.items() if word not in ("false", "undefined")},
    **dict.fromkeys(("fails", "failing", "failures"), "failure"),
    **dict.fromkeys(("errors", "exception", "exceptions", "crashes", "abort", "aborts"), "error"),
    **dict.fromkeys(("skips", "skipping", "ignore"), "skipped"),
    **dict.fromkeys((*_DOUBTFUL, "timeouts", "flaky", "flake", "flakes", "rerun", "reruns"), UNCLEAR),
}
_BAD_PART = re.compile(
    "fail|error|exception|abort|crash|broken|timeout|timedout|skip|ignor|disabl|pending|notrun|flak|rerun|cancel"
    "|unsuccess|notok|inconclusive|reject|(?<!un)blocked|(?<!s)killed"
)
_GOOD_PART = re.compile("(?<!not)(?<!un)(passed|success|succeeded)")
_SETTING = re.compile(
    r"skippable|ignorable|fail(ure)?fast|fastfail|mode"
    r"|(max|maximum|allowed|allowable)(fail|error|skip|crash|timeout|rerun|flak|exception)[a-z]*"
    r"|(fail|failure|error|skip|exception|crash|rerun|flaky)s?(level|limit|threshold|mode|policy|tolerance)"
    r"|(stop|fail|continue|exit|bail|abort|retry|rerun|screenshot)(on|after)[a-z]+"
)
_PREFIX = re.compile(r"(is|was|has|had|have|did|does|test|testcase|case)(?=[a-z])")
_DENIAL = re.compile(r"(not|no|non|un|without|never)(?=[a-z])")
_MARKS = str.maketrans(dict.fromkeys("❌✗✘✖", " failed ") | dict.fromkeys("✅✓✔", " passed "))
_STEP_LEFT_OUT = frozenset({"skipped", "skip", "ignored", "disabled"})
_LONGEST_WORD = 30
"""Characters of a value that may be an ending, such as `failed`: a longer one is a text about the test."""
_LONGEST_NAME = 60
"""Letters of a name from which prefixes are taken: a longer one is no name of an ending."""
_ZERO = re.compile(r"[-+]?[0.,]*0[0.,]*(e[-+]?[0-9]+)?%?|0x0+|zero")
_NO = frozenset({"false", "no", "n", "f"})
_DENIED = _NO | {"", "none", "null", "nil", "n/a", "na", "-", "--", "undefined", "never", "off"}
"""Values that say that what an attribute is named after did not happen."""
_MAY_BE_DENIED = re.compile(r"0|(no|not|none|nothing|without)\b")


def attribute_outcome(name: str, value: str) -> str | None:
    """The ending that an attribute says, or UNCLEAR; None if it says that the test passed, or says nothing.

    >>> attribute_outcome("status", "Failed"), attribute_outcome("skipped", "true"), attribute_outcome("errors", "0")
    ('failure', 'skipped', None)
    >>> attribute_outcome("is_ok", "false"), attribute_outcome("error_message", "boom"), attribute_outcome("line", "no")
    ('failure', 'unclear', None)
    """
    if name in _DESCRIPTIONS:
        return None
    core = _core(name)
    if core in _STATUS:
        return _by_status(value) if value.strip() else None
    if core in _PASSED or core in _RAN or _is_good(core):
        return _by_good_name(core, value)
    if _has_good_part(name) and (_plain(value) in _NO or _is_zero(value)):
        return UNCLEAR
    if _is_denied(value) or _SETTING.fullmatch(core) or _is_time_limit(core, value):
        return None
    if kind := _bad_kind(core):
        return _by_bad_name(core, kind, value)
    is_doubtful = core.endswith(tuple(_STATUS)) and _word(value) in _DOUBTFUL
    return UNCLEAR if is_doubtful or _BAD_PART.search(core) or text_is_bad(value) else None


def suite_outcome(name: str, value: str) -> str | None:
    """The ending that an attribute of a suite says; UNCLEAR only for a doubtful word under the name of a status.

    >>> suite_outcome("result", "FAILED"), suite_outcome("status", "unstable"), suite_outcome("hostname", "broken")
    ('failure', 'unclear', None)
    """
    kind = attribute_outcome(name, value)
    is_doubtful = _core(name) in _STATUS and _word(value) in _DOUBTFUL
    return None if kind == UNCLEAR and not is_doubtful else kind


def property_outcome(name: str, value: str) -> str | None:
    """UNCLEAR if a property is named like an outcome and has a bad value; None for all others, which are user data."""
    core = _core(name.lower())
    if core in _OF_THE_USER or not value.strip():
        return None
    if core in _STATUS:
        word = _word(value)
        return UNCLEAR if word in _BAD_WORDS or word in _DOUBTFUL else None
    is_named = core in _PASSED or core in _RAN or _is_good(core) or _bad_kind(core) is not None
    return UNCLEAR if is_named and attribute_outcome(core, value) else None


def tag_ending(tag: str) -> str | None:
    """The ending that a tag without a text means; UNCLEAR if its name only resembles one, None if it does not."""
    core = _core(tag)
    if _SETTING.fullmatch(core) or core in _PASSED or _is_good(core):
        return None
    return _bad_kind(core) or (UNCLEAR if _BAD_PART.search(core) else None)


def tag_outcome(tag: str, text: str) -> str | None:
    """The same of a tag with a text, which is its value as that of an attribute would be."""
    return attribute_outcome(tag, text) if text.strip() else tag_ending(tag)


def is_step_left_out(tag: str, value: str) -> bool:
    """Whether this says that a step of a test was skipped, which does not say how the test ended."""
    return tag == "step" and _word(value) in _STEP_LEFT_OUT


def text_is_bad(text: str) -> bool:
    """Whether a text is nothing but a word for a bad ending; some of them may be the value of anything."""
    word = _word(text)
    return word in _BAD_WORDS and word not in ("false", "undefined")


def undecided_reason(said: str) -> str:
    """The reason why a test is undecided."""
    return f"{said}, which says neither that it passed nor that it failed"


def _by_status(value: str) -> str | None:
    word = _word(value)
    return _BAD_WORDS.get(word) or (None if word in _GOOD_WORDS else UNCLEAR)


def _by_good_name(core: str, value: str) -> str | None:
    """What is denied did not happen; a zero may be a number of something else, and nothing may be a lost value."""
    word, plain = _word(value), _plain(value)
    if plain in _NO or (word in _BAD_WORDS and word != "undefined"):
        return UNCLEAR if core not in _PASSED | _RAN or core == "enabled" else _denial_of(core, word)
    if _is_denied(value):
        return None if core == "run" and _is_zero(value) else UNCLEAR  # the first run may have the number 0
    if core in _RAN or word in _GOOD_WORDS or plain[:1].isdigit():
        return None
    return UNCLEAR


def _denial_of(core: str, word: str) -> str:
    return "skipped" if core in _RAN else _BAD_WORDS.get(word, "failure")


def _by_bad_name(core: str, kind: str, value: str) -> str:
    """The ending, unless the value may deny it: `0/3`, `no error`, `passed`."""
    word = _word(value)
    may_be_limit = core == "timeout" and word not in {"true", "yes", "y"}
    return UNCLEAR if _MAY_BE_DENIED.match(_plain(value)) or word in _PASSED | _RAN or may_be_limit else kind


def _is_good(core: str) -> bool:
    """Whether a name denies a bad ending: `no_errors`."""
    found = _DENIAL.match(core)
    return found is not None and core not in _BAD_NAMES and core[found.end() :] in _BAD_NAMES


def _bad_kind(core: str) -> str | None:
    """The ending that a name is a word for, also as a denial of a good one: `not_passed`."""
    found = _DENIAL.match(core)
    is_denial = found is not None and core[found.end() :] in _PASSED | _RAN
    return _BAD_NAMES.get(core) or (UNCLEAR if is_denial else None)


def _is_time_limit(core: str, value: str) -> bool:
    """Whether this is the longest time that a test may take; a 1 alone may also say that it took longer."""
    is_limit = "timeout" in core and core != "timeouts" and "count" not in core
    return is_limit and value.strip()[:1].isdigit() and value.strip() != "1"


def _is_denied(value: str) -> bool:
    return _plain(value) in _DENIED or _is_zero(value)


def _is_zero(value: str) -> bool:
    plain = _plain(value)
    return len(plain) <= _LONGEST_WORD and _ZERO.fullmatch(plain) is not None


def _has_good_part(name: str) -> bool:
    """Whether a longer name may be that of a good ending, such as `all_passed`."""
    is_bad = _bad_kind(_core(name)) is not None
    return not is_bad and (_GOOD_PART.search(name) is not None or not _PASSED.isdisjoint(re.split("[^a-z]+", name)))


@lru_cache(maxsize=512)
def _core(name: str) -> str:
    """A name without its punctuation, and without `is`, `was`, `has` and `test` before it.

    >>> _core("was_successful"), _core("test-result"), _core("issue")
    ('successful', 'result', 'issue')
    """
    letters = core = re.sub(r"[^a-z]", "", re.split("[:}]", name.lower())[-1])
    while len(letters) <= _LONGEST_NAME:
        if core in _NAMES or _is_good(core) or _bad_kind(core):
            return core
        found = _PREFIX.match(core)
        if found is None:
            break
        core = core[found.end() :]
    return letters


def _plain(value: str) -> str:
    return unicodedata.normalize("NFKC", value.strip()).lower()


def _word(text: str) -> str:
    # A longer text is no word: "the result is not ok" without its spaces must not become one. Nor is "0 failed".
    if len(text.strip()) > _LONGEST_WORD:
        return ""
    plain = _plain(text).translate(_MARKS)
    is_count = re.search(r"(?<![0-9])0(?![0-9])", plain)
    return "" if is_count else re.sub(r"[^a-z]", "", plain)
