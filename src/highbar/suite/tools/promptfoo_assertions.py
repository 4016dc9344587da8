"""Assertions of promptfoo → checks of ours that hold exactly if promptfoo lets the assertion pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from msgspec import Struct

from highbar.documents.problems import ValueCursor, ValuePath
from highbar.language.promptfoo_names import RED_TEAM, assertion_name
from highbar.language.spelling import did_you_mean
from highbar.suite.tools import js_patterns
from highbar.suite.tools.linked import PREFIX
from highbar.suite.tools.promptfoo_lists import NotAList, comma_separated
from highbar.suite.tools.promptfoo_schemas import read_schema
from highbar.suite.tools.templates import fill_template, js_text, js_value

SET = "assert-set"
_KEYS = ("type", "value", "threshold", "weight", "metric", "description", "provider")
_JUDGED = ("llm-rubric", "model-graded-closedqa")
_MOST_WORDS = 1000
"""The most words that a pattern counts: RE2 repeats nothing more often."""

_CODE = "write the check in Python, in a suite of Highbar: python: module:function"
RUBRIC_PROMPT = "a judge here has a prompt of its own: write what matters into the statement"
_OTHER_JUDGES = "write a statement for a judge: llm-rubric"
_NO_CHECK = "Highbar has no check that does the same"
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("javascript", "python", "ruby", "webhook"), _CODE),
    **dict.fromkeys(
        (
            "agent-rubric", "answer-relevance", "context-faithfulness", "context-recall", "context-relevance",
            "conversation-relevance", "factuality", "g-eval", "model-graded-factuality", "search-rubric", "pi",
            "trajectory:goal-success", "classifier", "moderation",
        ),
        _OTHER_JUDGES,
    ),
    **dict.fromkeys(
        (
            "bleu", "gleu", "levenshtein", "meteor", "perplexity", "perplexity-score", "rouge-n", "similar",
            "similar:cosine", "similar:dot", "similar:euclidean",
        ),
        _NO_CHECK,
    ),
    **dict.fromkeys(
        (
            "contains-html", "contains-sql", "contains-xml", "finish-reason", "guardrails", "is-html", "is-refusal",
            "is-sql", "is-valid-function-call", "is-valid-openai-function-call", "is-valid-openai-tools-call",
            "is-xml", "skill-used", "tool-call-f1", "trace-error-spans", "trace-span-count", "trace-span-duration",
            "trajectory:step-count", "trajectory:tool-args-match", "trajectory:tool-sequence", "trajectory:tool-used",
        ),
        _NO_CHECK,
    ),
    "contains-json": "use is-json if the whole reply is JSON",
    **dict.fromkeys(("select-best", "max-score"), "it compares the answers of several providers: here is one agent"),
    "human": _NO_CHECK,
}  # fmt: skip
"""Types of assertions that have no counterpart, each with a hint."""


class Asserted(Struct, frozen=True):
    """An assertion as a check. `forbids`: the check must not hold. `path` leads to the assertion in its file."""

    name: str
    kind: str
    check: Any
    path: ValuePath
    forbids: bool = False
    weight: Fraction = Fraction(1)

    @property
    def demanded(self) -> Any:
        """The check that holds if the assertion passes."""
        return {"not": self.check} if self.forbids else self.check


class AssertionReader:
    """Reads the assertions of one test, given its variables, the folder of the suite, and the place of the test."""

    def __init__(self, variables: Mapping[str, Any], folder: Path | None, test: ValueCursor | None = None) -> None:
        self.variables = variables
        self.folder = folder
        self.test = test

    def read(self, assertion: Mapping[str, Any], place: ValueCursor) -> Asserted | None:
        """One assertion that is no set, as a check; None after noting what has no counterpart."""
        kind = assertion.get("type")
        if not isinstance(kind, str):
            place.at("type").refuse_value(kind, "the type of an assertion")
            return None
        base = kind.removeprefix("not-")
        reader = _READERS.get(base)
        if reader is None:
            _refuse_type(base, place.at("type"))
            return None
        before = len(place.problems)
        refuse_keys(assertion, base, place)
        weight = read_weight(assertion.get("weight", 1), place.at("weight"))
        value = self._render(assertion.get("value"), place.at("value"), schema=base == "is-json")
        check = reader(self, value, assertion, place) if len(place.problems) == before else None
        if check is None or weight is None:
            return None
        return Asserted(assertion_name(js_value(assertion)), kind, check, place.path, kind != base, weight)

    def _render(self, value: Any, place: ValueCursor, *, schema: bool = False) -> Any:
        """The value with its templates filled in: promptfoo fills them in texts, and in lists of texts."""
        if isinstance(value, list):
            items = ((item, place.at(index)) for index, item in enumerate(value))
            return [self._render(item, at) if isinstance(item, str) else item for item, at in items]
        if not isinstance(value, str) or (schema and value.startswith(PREFIX)):
            return value
        if value.startswith((PREFIX, "package:")):
            place.refuse("suite.no-counterpart", "a value in another file has no counterpart here", "write it out")
            return None
        return fill_template(value, self.variables, place, self.test)


def refuse_keys(assertion: Mapping[str, Any], base: str, place: ValueCursor) -> None:
    """Note keys that are unknown, or that have no counterpart in this type of assertion."""
    for key in assertion:
        if key == "rubricPrompt":
            place.at(key).refuse("suite.no-counterpart", "'rubricPrompt' has no counterpart", RUBRIC_PROMPT)
        elif key not in _KEYS:
            hint = did_you_mean(key, _KEYS) or "Highbar has no counterpart of it"
            place.at(key).refuse("suite.unknown-key", f"unknown key '{key[:60]}'", hint)
        elif key == "threshold" and base not in ("latency", "cost", "starts-with", SET):  # CSV gives the third one
            why = "a judge here says yes or no" if base in _JUDGED else f"promptfoo ignores it for {base}"
            place.at(key).refuse("suite.misplaced-key", f"'threshold' is not used: {why}", "leave it out")


def read_weight(value: Any, place: ValueCursor) -> Fraction | None:
    """The weight of an assertion; None after noting a problem. With a weight of 0 it never fails in promptfoo."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or value < 0:
        place.refuse_value(value, "a number above 0")
    elif value == 0:
        place.refuse(
            "check.constant", "an assertion with a weight of 0 never fails, and so checks nothing", "remove it"
        )
    else:
        return Fraction(value)
    return None


def _refuse_type(base: str, place: ValueCursor) -> None:
    if base.startswith(RED_TEAM):
        place.refuse(
            "suite.no-counterpart",
            "assertions of red-team plugins are judged by promptfoo's own service",
            _OTHER_JUDGES,
        )
    elif base in REFUSED:
        place.refuse("suite.no-counterpart", f"'{base}' has no counterpart", REFUSED[base])
    else:
        hint = did_you_mean(base, [*_READERS, *REFUSED])
        place.refuse("check.unknown", f"'{base[:60]}' is not a type of assertion that is known", hint)


_Reader = Callable[[AssertionReader, Any, Mapping[str, Any], ValueCursor], Any]


def _texts(name: str, *, any_case: bool) -> _Reader:
    """The reader of `contains` and its relatives, which take a text or a list of texts."""

    def read_texts(_: AssertionReader, value: Any, assertion: Mapping[str, Any], place: ValueCursor) -> Any:
        several = assertion["type"].endswith(("-any", "-all"))
        try:
            items = comma_separated(value) if several and isinstance(value, str) else value
        except NotAList as error:
            place.at("value").refuse("suite.wrong-type", str(error))
            return None
        if several != isinstance(items, list):
            place.at("value").refuse_value(value, "a list of texts" if several else "a text")
            return None
        wanted = [_wanted_text(item, place.at("value")) for item in (items if several else [items])]
        if None in wanted:
            return None
        check = {name: wanted if several else wanted[0], "exact": True, "part": True}
        return {**check, "any_case": True} if any_case else check

    return read_texts


def _wanted_text(value: Any, place: ValueCursor) -> str | None:
    text = js_text(value)
    if text is None:
        place.refuse_value(value, "a text or a number that both tools write in the same way", "quote it")
    return text


def _equals(_: AssertionReader, value: Any, __: Mapping[str, Any], place: ValueCursor) -> Any:
    if isinstance(value, dict | list):
        return {"json": {"": {"equals": value, "exact": True}}, "whole": True}
    wanted = _wanted_text(value, place.at("value"))
    return None if wanted is None else {"equals": wanted, "exact": True}


def _starts_with(_: AssertionReader, value: Any, __: Mapping[str, Any], place: ValueCursor) -> Any:
    if not isinstance(value, str):
        place.at("value").refuse_value(value, "a text")
        return None
    return {"starts_with": value, "exact": True, "part": True}


def _regex(_: AssertionReader, value: Any, __: Mapping[str, Any], place: ValueCursor) -> Any:
    if not isinstance(value, str):
        place.at("value").refuse_value(value, "a regular expression: text")
        return None
    pattern = js_patterns.to_re2(value, place.at("value"))
    return None if pattern is None else {"matches": pattern, "exact": True}


def _is_json(reader: AssertionReader, value: Any, __: Mapping[str, Any], place: ValueCursor) -> Any:
    if value is None or value == "":
        return {"is_json": True, "whole": True}
    schema = read_schema(value, place.at("value"), reader.folder)
    return None if schema is None else {"is_json": schema, "whole": True}


def _limit(column: str) -> _Reader:
    """The reader of `latency` and `cost`: at most the threshold."""

    def read_limit(_: AssertionReader, __: Any, assertion: Mapping[str, Any], place: ValueCursor) -> Any:
        most = assertion.get("threshold")
        if isinstance(most, bool) or not isinstance(most, int | Decimal):
            place.at("threshold").refuse_value(most, "a number: the most that is accepted")
            return None
        return {column: {"at_most": most}}

    return read_limit


def _judge(_: AssertionReader, value: Any, __: Mapping[str, Any], place: ValueCursor) -> Any:
    if not isinstance(value, str) or not value.strip():
        place.at("value").refuse_value(value, "a statement in plain words")
        return None
    return {"judge": value}


def _word_count(_: AssertionReader, value: Any, __: Mapping[str, Any], place: ValueCursor) -> Any:
    least = most = value
    if isinstance(value, dict) and value and value.keys() <= {"min", "max"}:
        least, most = value.get("min", 1), value.get("max")
    for bound in (least, least if most is None else most):
        is_whole = isinstance(bound, int) and not isinstance(bound, bool)
        if not (is_whole and 1 <= bound <= _MOST_WORDS):
            place.at("value").refuse_value(value, f"a whole number from 1 to {_MOST_WORDS}, or {{min: …, max: …}}")
            return None
    at_least = {"matches": _with_words(least), "exact": True}
    if most is None:
        return at_least
    at_most = {"not": {"matches": _with_words(most + 1), "exact": True}}
    return at_most if isinstance(value, dict) and "min" not in value else {"all": [at_least, at_most]}


def _with_words(number: int) -> str:
    """A pattern that matches texts of at least so many words; a word is what is between spaces."""
    word, space = js_patterns.NOT_SPACE, js_patterns.SPACE
    return f"(?:{word}+{space}+){{{number - 1}}}{word}" if number > 1 else word


_READERS: Mapping[str, _Reader] = {
    "contains": _texts("contains", any_case=False),
    "icontains": _texts("contains", any_case=True),
    "contains-any": _texts("contains", any_case=False),
    "icontains-any": _texts("contains", any_case=True),
    "contains-all": _texts("contains_all", any_case=False),
    "icontains-all": _texts("contains_all", any_case=True),
    "equals": _equals,
    "starts-with": _starts_with,
    "regex": _regex,
    "is-json": _is_json,
    "latency": _limit("latency_ms"),
    "cost": _limit("cost_usd"),
    "word-count": _word_count,
    **dict.fromkeys(_JUDGED, _judge),
}
SUPPORTED = tuple(_READERS)
"""Types of assertions that have a counterpart."""
