"""What makes a reply harder to read never takes a violation away. `scripts/fuzz 600 harder`.

A reply that violates a must-not is disguised, again and again, in ways that a reader still reads: a must-not on a text
by other letters and invisible characters, on a number by groups of digits, on JSON by prose, fences, repeated keys and
whatever is nearly JSON; texts and numbers by marks inside of words and by escapes of JSON. It stays violated, or
becomes undecided. Ordinary text stays clean.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from random import Random
from typing import Any

from highbar import checks
from highbar.checks.folding import LOOK_ALIKES
from highbar.model.answer import Answer, ToolCall

ATTEMPTS = 200
INVISIBLE = "\u200b\u200c\u200d\u2060\u00ad\ufeff\u034f\u061c\u180e\u2066\u202e\ufe0f\0\x07"
MARKS = "\u0336\u0301\u0488\u0489\u20dd\u20de\u20e3\u0483\u064e\u05b0\u0e31\u0363\u036c\U000e0061"
Change = Callable[[Random, str], str]


@cache
def shapes() -> Mapping[str, str]:
    """For each letter, every character whose Unicode name says that it is a form of that Latin letter."""
    found = {chr(code): "" for code in range(ord("a"), ord("z") + 1)}
    for code in range(0x80, sys.maxunicode + 1):
        words = unicodedata.name(chr(code), "").partition(" WITH ")[0].split()
        is_latin = "LATIN" in words or words[:1] == ["REGIONAL"]
        if is_latin and words[-1].lower() in found and chr(code).casefold() != "ss":
            found[words[-1].lower()] += chr(code)
    return found


# --- texts -------------------------------------------------------------------------------------------


def other_letters(random: Random, text: str) -> str:
    """Some letters in other shapes."""
    return "".join(
        random.choice(shapes()[one.lower()] + LOOK_ALIKES.get(one.lower(), "") + one.upper())
        if one.isascii() and one.isalpha() and random.random() < 0.5
        else one
        for one in text
    )


def hidden(random: Random, text: str) -> str:
    """Invisible characters and marks, after some characters."""
    return "".join(one + (random.choice(INVISIBLE + MARKS) if random.random() < 0.3 else "") for one in text)


def in_prose(random: Random, text: str) -> str:
    before = ("So: ", "", "It's [1] \n", "Use “{” {it} [x](y) ", "«", "[", "{", "é", "나 ")
    return random.choice(before) + text + random.choice((".", "", " [2]", "}", "]", " isn't it?", "»"))


TEXT_CHANGES: tuple[Change, ...] = (other_letters, hidden, in_prose)


def text_case(random: Random) -> tuple[dict[str, Any], str]:
    wanted = random.choice(("secret", "Internal", "swordfish", "il1egal", "naked pizza", "jackdaws", "x-ray"))
    return {random.choice(("contains", "contains_all")): wanted}, wanted


def marked(random: Random, text: str) -> str:
    """A part of a word with marks of Markdown, HTML or a terminal."""
    start = random.randrange(len(text))
    part = text[start : start + random.choice((1, 1, 2, 3))]
    if any(one.isspace() for one in part):
        return text
    entities = "".join(f"&#{ord(one)};" if one != "\0" else one for one in part)
    around = random.choice(
        ("**#**", "*#*", "~~#~~", "`#`", "<b>#</b>", '<i class="x">#', "\x1b[1m#\x1b[0m", "[#](x)", "&")
    )
    return text[:start] + (entities if around == "&" else around.replace("#", part)) + text[start + len(part) :]


def in_json(random: Random, text: str) -> str:
    """Inside of JSON, as Python writes it: what is not ASCII as escapes."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        value = random.choice((text, {"reply": text}, [text], {text: 1}, {"n": 1, "a": [{"b": [text, "x"]}]}))
        text = random.choice(("", "", "So: ")) + json.dumps(value) if not isinstance(value, str) else json.dumps(value)
    return text


# --- numbers -----------------------------------------------------------------------------------------

ZEROS = "0٠۰०০０᠐𝟎𝟘𝟬𑁦"
GROUPS = (" ", "\u2009", "\u202f", "\u00a0", "'", "\u2019", "_", ".", ",", "\u066c", "\u00b7")


def number_case(random: Random) -> tuple[dict[str, Any], str]:
    number = random.choice((1000, 25000, 1234567, 4111111111111111, random.randrange(1000, 10**9)))
    return random.choice(({"number": number}, {"contains": str(number)}, {"equals": number})), str(number)


def grouped(random: Random, text: str) -> str:
    if not text.isascii() or not text.isdecimal():
        return text
    size, mark = random.choice((3, 3, 4)), random.choice(GROUPS)
    places = range(len(text) % size or size, len(text), size)
    return mark.join(text[start:end] for start, end in zip((0, *places), (*places, len(text)), strict=True))


def other_digits(random: Random, text: str) -> str:
    zero = random.choice(ZEROS)
    return "".join(chr(ord(zero) + int(one)) if one in "0123456789" and random.random() < 0.5 else one for one in text)


def hidden_in_number(random: Random, text: str) -> str:
    return "".join(one + (random.choice(INVISIBLE) if random.random() < 0.2 else "") for one in text)


NUMBER_CHANGES: tuple[Change, ...] = (grouped, other_digits, hidden_in_number)

# --- JSON --------------------------------------------------------------------------------------------


def json_case(random: Random) -> tuple[dict[str, Any], str]:
    value = random.choice((500, 7.5, "secret", True, [1, 2], {"a": 1}, "it's [1]"))
    document: dict[str, Any] = {"total": value}
    pointer = "/total"
    for _ in range(random.choice((0, 0, 1, 2))):
        key = random.choice(("cart", "a b", "0"))
        document, pointer = {"x": [1], key: document}, f"/{key}{pointer}"
    check = {"json": {pointer: {"equals": value}}} if random.random() < 0.8 else {"is_json": {"required": [*document]}}
    return check, json.dumps(document)


def repeated_key(random: Random, text: str) -> str:
    """Each key of the first object twice, with something else before or after it."""
    if not text.startswith("{") or not text.endswith("}"):
        return text
    key = random.choice(('"total"', '"cart"', '"x"', "'total'", "total"))
    return random.choice((f"{{{key}: 0, {text[1:]}", f"{text[:-1]}, {key}: null}}"))


def nearly(random: Random, text: str) -> str:
    """A comma, a comment, a NaN, spaces, and so on."""
    if not text.startswith("{") or not text.endswith("}"):
        return text
    return random.choice(
        (
            text[:-1] + ",}",
            text[:-1] + ', "n": NaN}',
            text[:-1] + ', "n": -Infinity}',
            "{ // so\n" + text[1:],
            "{/* {} */" + text[1:],
            text[:-1] + "\n\t}",
            text[:-1],
            text + "}",
            text.replace('": ', '"\u200b:\ufeff '),
            text.replace('"', '\\"'),
            text.replace('"', "“"),
            text.replace('"', "&quot;"),
            text.replace('"total"', "total"),
            text.replace(", ", " "),
            text.translate({ord("{"): "｛", ord("}"): "｝", ord(":"): "："}),
        )
    )


def other_key(random: Random, text: str) -> str:
    """The key in other letters, or as escapes."""
    other = other_letters(random, "total") if random.random() < 0.5 else "\\u0074ot\\u0061l"
    return text.replace('"total"', f'"{other}"')


def as_text(random: Random, text: str) -> str:
    return random.choice((json.dumps(text), json.dumps({"reply": text}), json.dumps([text])))


def listed(random: Random, text: str) -> str:
    """An object in lists."""
    if not text.startswith("{") or not text.endswith("}"):
        return text
    depth = random.choice((1, 2, 100))
    return "[" * depth + random.choice(("", "1, ", '{}, "x", ')) + text + random.choice(("", ", [2]")) + "]" * depth


def fenced(random: Random, text: str) -> str:
    mark = random.choice(("```", "~~~~", "```json"))
    end = mark.removesuffix("json")
    before = random.choice(("", "So:", f"{mark}\n{{}}\n{end}"))
    return f"{before}\n{mark}\n{text}\n{random.choice((end, ''))}"


def with_bom(random: Random, text: str) -> str:
    return random.choice(("\ufeff", "\u200b")) + text


def beside_prose(random: Random, text: str) -> str:
    before = random.choice(("So: ", "", "It's [1] \n", "Use “{” {it} [x](y) ", "«", "[x] ", "{} ", 'é "', "나 "))
    return before + text + random.choice((".", "", " [2]", " isn't it?", "»", '"'))


JSON_CHANGES: tuple[Change, ...] = (repeated_key, nearly, other_key, as_text, listed, fenced, with_bom, beside_prose)

# --- the law -----------------------------------------------------------------------------------------

CASES: tuple[tuple[Callable[[Random], tuple[dict[str, Any], str]], tuple[Change, ...]], ...] = (
    (text_case, TEXT_CHANGES),
    (number_case, NUMBER_CHANGES),
    (json_case, JSON_CHANGES),
)


def attempt(seed: int, folder: Any = None) -> str:
    """Some replies, each disguised several times."""
    del folder
    random = Random(seed)
    undecided = 0
    for _ in range(ATTEMPTS):
        case, changes = random.choice(CASES)
        value, reply = case(random)
        assert found(value, reply) is True, (value, reply)
        made = [reply]
        for change in random.choices(changes, k=random.randint(1, 4)):
            reply = change(random, reply)
            made.append(reply)
        # Last, since another change would break the marks and the escapes.
        for change in (marked, in_json) if changes is not JSON_CHANGES else ():
            if random.random() < 0.5:
                reply = change(random, reply)
                made.append(reply)
        outcome = found(value, reply)
        assert outcome is not False, (value, made)
        undecided += outcome is None
    return f"{undecided * 10 // ATTEMPTS * 10} % undecided"


def found(value: dict[str, Any], reply: str) -> bool | None:
    """Whether a must-not is violated by a reply, and by a call that has it as an argument, if it reads calls."""
    reading = checks.read(value, must_not=True)
    assert reading.check is not None, (value, reading.problems)
    observed = checks.apply(reading.check, Answer((reply,)), must_not=True).observed
    if observed and not value.keys() & {"json", "is_json"}:
        call = Answer((None,), ((ToolCall("t", {"a": [reply]}),),))
        assert checks.apply(reading.check, call, must_not=True).observed, (value, reply)
    return observed
