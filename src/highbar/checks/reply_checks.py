"""Checks of what a reply says: texts, patterns, words, numbers, JSON. None of them holds for an empty reply."""

from __future__ import annotations

from decimal import Decimal

from msgspec.structs import replace

from highbar.checks import patterns, schemas, texts
from highbar.checks.evidence import cut_evidence
from highbar.checks.folding import simple
from highbar.checks.limits import MOST_TEXT
from highbar.checks.numbers import is_wanted, numbers
from highbar.checks.tree import (
    Finding,
    IsJson,
    Matches,
    Number,
    NumberIs,
    ReplyCheck,
    Texts,
    Which,
    Words,
    no,
    unclear,
    yes,
)
from highbar.checks.values import NotJson, Unreadable, decode_json, json_of_reply
from highbar.model.answer import Answer

NOT_FOUND = no()
TOO_LONG = unclear(f"the reply is longer than {MOST_TEXT} characters")


def find(check: ReplyCheck, answer: Answer) -> Finding:
    """The finding of a check on the replies that it names: true if it holds for one of them."""
    missed = NOT_FOUND
    for text in chosen_replies(check.reply, answer):
        found = in_text(check, text)
        if found.observed:
            return found
        missed = found if found.observed is None or missed.observed is False else missed
    return missed


def chosen_replies(which: Which, answer: Answer) -> list[str]:
    """The replies that a check reads, except empty ones."""
    if which == "any":
        replies = answer.replies
    elif which == "last":
        replies = answer.replies[-1:]
    else:
        replies = answer.replies[which - 1 : which]
    return [text for text in replies if text]


def in_text(check: ReplyCheck, text: str) -> Finding:
    """The finding of a check on one text that is not empty."""
    if len(text) > MOST_TEXT:
        return _in_long_text(check, text)
    match check:
        case Texts():
            return _texts(check, text)
        case Matches():
            return _matches(check, text)
        case Words():
            count = texts.count_words(text)
            return Finding((check.at_least or 0) <= count and (check.at_most is None or count <= check.at_most), count)
        case NumberIs():
            return _number(check, text)
        case IsJson():
            return _is_json(check, text)


def _in_long_text(check: ReplyCheck, text: str) -> Finding:
    """The finding on a text that is too long to read: true if the beginning contains the wanted text, else unclear."""
    if isinstance(check, Texts) and check.kind != "equals":
        whole_words = text[:MOST_TEXT].rpartition(" ")[0]
        found = _texts(check, whole_words) if whole_words else TOO_LONG
        return found if found.observed else TOO_LONG
    return TOO_LONG


def _texts(check: Texts, text: str) -> Finding:
    found = [_one_text(check, wanted, text) for wanted in check.wanted]
    hits = [each for each in found if each is not None]
    if check.kind == "contains_all":
        missing = next((wanted for wanted, each in zip(check.wanted, found, strict=True) if each is None), None)
        if missing is not None:
            return no(cut_evidence(f"'{missing}' is missing"))
        return yes(hits[0] if len(hits) == 1 else hits)
    return yes(hits[0]) if hits else NOT_FOUND


def _one_text(check: Texts, wanted: str | Number, text: str) -> str | None:
    if not isinstance(wanted, str):
        return cut_evidence(text) if is_number(text, wanted) else None
    if check.any_case:
        return _in_lower_case(check, wanted, text)
    if check.kind == "equals":
        return cut_evidence(text) if texts.is_equal(text, wanted, exact=check.exact) else None
    find_text = texts.find_start if check.kind == "starts_with" else texts.find_text
    found = find_text(text, wanted, exact=check.exact, part=check.part)
    return None if found is None else cut_evidence(found)


def _in_lower_case(check: Texts, wanted: str, text: str) -> str | None:
    """What an exact check finds if both texts are in lower case, in the spelling of the original."""
    lower = text.lower()
    found = _one_text(replace(check, any_case=False), wanted.lower(), lower)
    if found is None or len(lower) != len(text):  # a few letters become two in lower case, and shift the places
        return found
    at = 0 if check.kind == "equals" else lower.find(found)
    return text[at : at + len(found)] if at >= 0 else found


def is_number(text: str, wanted: Number) -> bool:
    """Whether the whole text is one number, the wanted one."""
    return whole_number(text) == Decimal(wanted)


def whole_number(text: str) -> Decimal | None:
    """The number that the whole text is; None if it is none."""
    whole = texts.core(text)
    found = list(numbers(whole)) if len(whole) < 1000 else []
    return found[0][0] if len(found) == 1 and found[0][1:] == (0, len(whole)) else None


def _matches(check: Matches, text: str) -> Finding:
    read = text if check.exact else simple(text)
    for pattern in check.patterns:
        span = patterns.search(pattern, read)
        if span is not None:
            return yes(cut_evidence(text[slice(*span)]))
    return NOT_FOUND


def _number(check: NumberIs, text: str) -> Finding:
    found = numbers(text)
    last = None
    for value, start, end in found:
        last = (value, start, end)
        if not check.last and is_wanted(value, check):
            return yes(text[start:end])
    if last is None:
        return no("there is no number")
    return Finding(check.last and is_wanted(last[0], check), text[last[1] : last[2]])


def _is_json(check: IsJson, text: str) -> Finding:
    try:
        value = decode_json(text) if check.whole else json_of_reply(text)
        missed = None if check.schema is None else schemas.meets(value, check.schema)
    except NotJson as error:
        return no(cut_evidence(str(error)))
    except Unreadable as error:
        return unclear(str(error))
    return yes(cut_evidence(text)) if missed is None else no(cut_evidence(missed))
