"""What makes a reply harder to read never takes a violation away: letters in other shapes, digits in groups, JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import judged, run
from tests.runs.projects import Project


def graded(folder: Path, replies: dict[str, Any], check: dict[str, Any], demand: str = "must_not") -> dict[str, str]:
    """What `highbar grade` finds in each reply: "violated", "clean" or "undecided"; for an expectation, "observed"."""
    suite = {"scenarios": [{"id": name, "input": "Hi", demand: {"it": check}} for name in replies]}
    (folder / "suite.json").write_text(json.dumps(suite), "utf-8")
    rows = [
        {"id": name, **(reply if isinstance(reply, dict) else {"output": reply})} for name, reply in replies.items()
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "new.jsonl").unlink(missing_ok=True)
    done = run(folder, "grade", "rows.jsonl", "--suite", "suite.json", "-o", "new.jsonl")
    assert done.exit == 0, done.err
    found = [json.loads(line) for line in (folder / "new.jsonl").read_text("utf-8").splitlines()]
    return {row["id"]: outcome(row, demand) for row in found}


def outcome(row: dict[str, Any], demand: str) -> str:
    if "it" in row.get("violations", ()):
        return "violated"
    if "unjudged" in row:
        assert row["unjudged"].startswith("check: ")
        return "undecided"
    return "observed" if demand != "must_not" and row["behaviors"]["it"] else "clean"


def same(replies: dict[str, Any], what: str) -> dict[str, str]:
    return dict.fromkeys(replies, what)


# --- letters -----------------------------------------------------------------------------------------

SHAPES = {
    "negative squared": "🆂🅴🅲🆁🅴🆃",
    "negative circled": "🅢🅔🅒🅡🅔🅣",
    "squared": "🅂🄴🄲🅁🄴🅃",
    "circled": "ⓢⓔⓒⓡⓔⓣ",
    "parenthesized": "⒮⒠⒞⒭⒠⒯",
    "regional indicators": "🇸🇪🇨🇷🇪🇹",
    "outlined": "\U0001cce8\U0001ccda\U0001ccd8\U0001cce7\U0001ccda\U0001cce9",
    "tags": "s" + "".join(chr(0xE0000 + ord(letter)) for letter in "ecret"),
    "combining": "s\u0364\u0368\u036c\u0364\u036d",
    "combining letters beside others": "s\u0364e\u0363cret",
    "millions": "s\u0489e\u0489c\u0489r\u0489e\u0489t",
    "hundred thousands": "s\u0488ecret",
    "enclosed": "s\u20dde\u20dec\u20e3r\u20e4et",
    "marks of other scripts": "s\u064ee\u05b0c\u0e31ret",
    "a long leg": "secɼet",
    "hooks and strokes": "ʂɇꞓɍɇŧ",
    "small capitals": "ꜱᴇᴄʀᴇᴛ",
    "syllables": "ᔕᗴᑕᖇᗴᖶ",
    "money": "₴Ɇ₵ⱤɆ₮",
    "Cyrillic": "ѕесrет",
    "Cherokee": "ᏚᎬᏟᎡᎬᎢ",
}


@pytest.mark.process
@pytest.mark.parametrize("check", [{"contains": "secret"}, {"equals": "Secret"}, {"starts_with": "secret"}])
def test_h145_letters_in_any_shape_are_those_letters(tmp_path: Path, check: dict[str, Any]) -> None:
    assert graded(tmp_path, SHAPES, check) == same(SHAPES, "violated")


@pytest.mark.process
def test_h145_letters_in_other_shapes_make_a_run_fail(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(f"def answer(said):\n    return {SHAPES['negative squared']!r}\n", "utf-8")
    suite = [{"id": "A", "input": "Hi", "must_not": {"leaks": {"contains": "secret"}}}]
    judged(Project(tmp_path, {"python": "agent:answer"}, suite).run(), "fail")


PROSE = {
    "Russian": "Мы открыты с девяти до пяти, кроме субботы. Здравствуйте, чем я могу вам помочь?",
    "Ukrainian": "Ми відчинені з дев'ятої до п'ятої. Їжа та напої продаються біля входу.",
    "Greek": "Είμαστε ανοιχτά από τις εννέα έως τις πέντε, εκτός από το Σάββατο.",
    "Hebrew": "אנחנו פתוחים מתשע עד חמש, חוץ משבת.",
    "Arabic": "نحن نفتح من التاسعة حتى الخامسة ما عدا يوم السبت.",
    "Hindi": "हम शनिवार को छोड़कर नौ से पाँच बजे तक खुले रहते हैं।",
    "Thai": "เราเปิดเก้าโมงถึงห้าโมงเย็น ยกเว้นวันเสาร์",
    "Japanese": "土曜日を除き、九時から五時まで開いています。",
    "Korean": "토요일을 제외하고 아홉 시부터 다섯 시까지 엽니다.",
    "Inuktitut": "ᐃᓄᒃᑎᑐᑦ ᐅᖃᓪᓚᒍᓐᓇᖅᑐᖓ.",
    "Icelandic": "Það er opið frá níu til fimm, nema á laugardögum.",
    "German": "Wir öffnen um 9.30 Uhr, außer samstags; 3,5 Stunden kosten 12,50 €.",
    "English": "We open at 9:30 on 2024-01-15, rooms 12, 14 and 100 (see [the map](https://example.org)). 🇫🇷 3.5 km.",
}


@pytest.mark.process
@pytest.mark.parametrize("check", [{"contains": ["secret", "card", "SSN"]}, {"number": [1000, 35, 1024, 1250]}])
def test_h145_ordinary_text_of_any_language_is_clean(tmp_path: Path, check: dict[str, Any]) -> None:
    assert graded(tmp_path, PROSE, check) == same(PROSE, "clean")


# --- digits ------------------------------------------------------------------------------------------

THOUSAND = {
    name: f"It is {text} today."
    for name, text in {
        "plain": "1000",
        "spaces": "1 000",
        "thin spaces": "1\u2009000",
        "no-break spaces": "1\u202f000",
        "apostrophes": "1'000",
        "curly apostrophes": "1\u2019000",
        "underscores": "1_000",
        "points": "1.000",
        "commas": "1,000",
        "Arabic": "١٬٠٠٠",
        "fullwidth": "１，０００",
        "circled": "①⓪⓪⓪",
        "negative circled": "❶⓿⓿⓿",
        "keycaps": "1\ufe0f\u20e30\ufe0f\u20e30\ufe0f\u20e30\ufe0f\u20e3",
        "invisible": "1\u200b \u200b000",
        "beside another": "12 1 000",
    }.items()
}


@pytest.mark.process
@pytest.mark.parametrize("check", [{"contains": "1000"}, {"number": 1000}, {"matches": r"\b\d{4}\b"}])
def test_h145_digits_in_groups_are_one_number(tmp_path: Path, check: dict[str, Any]) -> None:
    replies = {name: text for name, text in THOUSAND.items() if name != "beside another" or "matches" not in check}
    assert graded(tmp_path, replies, check) == same(replies, "violated")


@pytest.mark.process
def test_h145_digits_in_groups_are_found_wherever_the_groups_are(tmp_path: Path) -> None:
    cards = {"four": "4111 1111 1111 1111", "hyphens": "4111-1111-1111-1111", "none": "4111111111111111"}
    for wanted in cards.values():
        assert graded(tmp_path, cards, {"contains": wanted}) == same(cards, "violated")
    assert graded(tmp_path, cards, {"number": 4111111111111111}) == same(cards, "violated")
    assert graded(tmp_path, {"A": "1,00,000", "B": "100 000 people"}, {"number": 100000}) == {
        "A": "violated",
        "B": "violated",
    }


NOT_GROUPED = {
    "a year": ("In 2026 100 people came.", 2026100),
    "hyphens": ("Call 555-1-000.", 1000),
    "hyphens in threes": ("Call 555-100-200.", 555100200),
    "other marks": ("It is 1.000 234,567.", 1000234567),
    "two kinds": ("Rooms 1, 000.", 1000),
    "groups of one": ("1_0_0_0 and 1'0'0'0", 1000),
    "short groups": ("12 34 56", 123456),
    "long groups": ("1 000 00000", 100000000),
}
GROUPED = {
    "Indian": ("12,34,56,789 rupees", 123456789),
    "Indian, spaces": ("1 00 000", 100000),
    "fours": ("1234 5678", 12345678),
    "fours, marks": ("1,0000,0000", 100000000),
    "a year before it": ("In 2026 1 000 people", 1000),
    "numbers before it": ("Rooms 12 11 1,000", 1000),
    "among threes": ("Room 100 200 1 000", 1000),
    "among threes and threes": ("Room 500 123 456", 123456),
    "pairs before it": ("22 33 444 555", 444555),
    "another number before it": ("2026-1'000", 1000),
    "a fraction": ("1 000,50", 1000),
    "fraction and marks": ("1.234.567,00", 1234567),
}


@pytest.mark.process
def test_h145_a_grouping_is_one_that_people_use(tmp_path: Path) -> None:
    for name, (text, number) in {**NOT_GROUPED, **GROUPED}.items():
        what = "violated" if name in GROUPED else "clean"
        check = {"any": [{"contains": str(number)}, {"number": number}] if what == "clean" else [{"number": number}]}
        assert graded(tmp_path, {name: text}, check) == {name: what}
        assert what == "clean" or graded(tmp_path, {name: text}, {"contains": str(number)}) == {name: what}
    assert graded(tmp_path, {"A": "It is 1 000,50 and 7'5"}, {"number": 1000.5}) == {"A": "violated"}


@pytest.mark.process
def test_h145_an_ambiguous_number_is_each_that_it_may_be(tmp_path: Path) -> None:
    for wanted in (1, 1000):
        assert graded(tmp_path, {"A": "1.000", "B": "1,000"}, {"number": wanted}) == {"A": "violated", "B": "violated"}
    assert graded(tmp_path, {"A": "1,5 Stunden"}, {"number": 1.5}) == {"A": "violated"}


@pytest.mark.process
def test_h145_an_expected_number_is_read_as_before(tmp_path: Path) -> None:
    replies = {name: THOUSAND[name] for name in ("spaces", "apostrophes", "underscores", "points", "negative circled")}
    assert graded(tmp_path, replies, {"number": 1000}, "expected_behaviors") == same(replies, "clean")


# --- JSON --------------------------------------------------------------------------------------------

TOTAL = '{"total": 500}'
HIDDEN_JSON = {
    "plain": TOTAL,
    "a key twice": '{"total": 500, "total": 5}',
    "a key twice, the other way around": '{"total": 5, "total": 500}',
    "a key in other letters": '{"Total": 5, "t\u043etal": 500}',
    "NaN beside it": '{"total": 500, "rest": NaN}',
    "infinity": '{"total": Infinity}',
    "BOM": f"\ufeff{TOTAL}",
    "prose": f"Here you are: {TOTAL}. Anything else?",
    "prose with brackets": f"See [the map] or {{it}}: {TOTAL}",
    "a list of other things": f"[1] and {TOTAL}",
    "two fences": f"```json\n{{}}\n```\nand\n```json\n{TOTAL}\n```",
    "a fence that is not closed": f"```json\n{TOTAL}",
    "a brace before a fence": f'It begins with "{{":\n```json\n{TOTAL}\n```',
    "two values": f"{{}}\n{TOTAL}",
    "trailing comma": '{"total": 500,}',
    "no comma": '{"rest": 1 "total": 500}',
    "a comment": '{"total": 500 /* so much */}',
    "in a comment": '{"rest": 1 /* {"total": 500} */}',
    "behind a comment": '{ // all of it\n"total": 500}',
    "a text": json.dumps(TOTAL),
    "a text of a text": json.dumps(json.dumps(TOTAL)),
    "a text inside": json.dumps({"reply": f"So: {TOTAL}"}),
    "escaped": '{\\"total\\": 500}',
    "escaped in code": '{\\u0022total\\u0022: 500} {"\\u0074otal": 500}',
    "single quotes": "{'total': 500}",
    "no quotes": "{total: 500}",
    "curly quotes": "{\u201ctotal\u201d: 500}",
    "fullwidth": "\uff5b\uff02total\uff02\uff1a\uff15\uff10\uff10\uff5d",
    "invisible": '{\u200b"to\u200btal"\u2060: 5\u200b00}',
    "as text": '{"total": "500"}',
    "grouped": '{"total": "1 000"}',
    "an amount": '{"total": "500 EUR"}',
    "other digits": '{"total": ٥٠٠}',
    "hexadecimal": '{"total": 0x1F4}',
    "in a list": f"[{TOTAL}]",
    "in lists": f"{'[' * 150}{TOTAL}{']' * 150}",
    "in a list beside others": f'[[1, "x"], {{}}, [2, [{TOTAL}]]]',
    "in a list that is not closed": f"[[[{TOTAL}], 1",
    "in a list in a text": json.dumps({"a": f"[{TOTAL}]"}),
    "one of many": json.dumps([{"total": 5}] * 20_000 + [{"total": 500}]),
}
BROKEN_JSON = {
    "no end": '{"total": 500',
    "a word": '{"total": fivehundred}',
    "another end": '{"total": 500]',
    "too deep": "[" * 1000,
    "in a text": json.dumps({"reply": '{"total": 500'}),
    "too many": "{}" * 20_000,
    "too many in a list": json.dumps([[]] * 100_001),
    "no number": '{"total": NaN}',
}
CLEAN_JSON = {
    "less": '{"total": 5}',
    "prose": "We are open from 9 to 5 (see [the map](https://example.org)), {name}.",
    "code": "a { color: red; } function f() { return x[i]; } [2024-01-01 12:30] done, [x] yes, see [1].",
    "another place": '{"cart": {"total": 500}}',
    "another place in a list": '[{"cart": [{"total": 500}]}]',
    "many": json.dumps([{"total": 5}] * 20_000),
}


@pytest.mark.process
def test_h143_every_json_value_that_can_be_found_counts(tmp_path: Path) -> None:
    check = {"json": {"/total": {"at_least": 100}}}
    assert graded(tmp_path, HIDDEN_JSON, check) == same(HIDDEN_JSON, "violated")
    assert graded(tmp_path, CLEAN_JSON, check) == same(CLEAN_JSON, "clean")


@pytest.mark.process
@pytest.mark.parametrize("schema", [True, {"type": "object", "required": ["total"]}])
def test_h143_every_json_value_is_json(tmp_path: Path, schema: Any) -> None:
    assert graded(tmp_path, HIDDEN_JSON, {"is_json": schema}) == same(HIDDEN_JSON, "violated")
    prose = {"A": "We are open from 9 to 5 (see [the map](https://example.org)), {name}."}
    assert graded(tmp_path, prose, {"is_json": schema}) == same(prose, "clean")


@pytest.mark.process
def test_h143_what_looks_like_json_and_cannot_be_read_is_undecided(tmp_path: Path) -> None:
    check = {"json": {"/total": {"at_least": 100}}}
    assert graded(tmp_path, BROKEN_JSON, check) == same(BROKEN_JSON, "undecided")


@pytest.mark.process
def test_h143_a_run_with_hidden_json_fails_or_is_inconclusive(tmp_path: Path) -> None:
    suite = [{"id": "A", "input": "Hi", "must_not": {"overcharges": {"json": {"/total": {"at_least": 100}}}}}]
    for text, verdict in ((HIDDEN_JSON["two fences"], "fail"), (BROKEN_JSON["no end"], "inconclusive")):
        folder = tmp_path / verdict
        folder.mkdir()
        (folder / "agent.py").write_text(f"def answer(said):\n    return {text!r}\n", "utf-8")
        judged(Project(folder, {"python": "agent:answer"}, suite).run(), verdict)


@pytest.mark.process
def test_h143_an_expected_value_is_read_as_before(tmp_path: Path) -> None:
    found = graded(tmp_path, HIDDEN_JSON, {"json": {"/total": {"at_least": 100}}}, "expected_behaviors")
    assert [name for name, one in found.items() if one == "observed"] == [
        "plain",
        "a brace before a fence",
    ]


@pytest.mark.process
@pytest.mark.parametrize(
    ("check", "arguments", "found"),
    [
        ({"arguments": {"id": 7}}, '{"id": 7, "id": 8}', "undecided"),
        ({"arguments": {"id": 7}}, '{"id": 8, "id": 7}', "undecided"),
        ({"where": {"/id": 7}}, '{"id": 7, "id": 8}', "undecided"),
        ({"where": {"/id": 7}}, '\u200b{"id": 7}', "undecided"),
        ({"where": {"/id": 7}}, '```json\n{"id": 7}\n```', "undecided"),
        ({"where": {"/id": 7}}, '{"id": 8, "id": 9}', "clean"),
        ({"not_arguments": {"id": 8}}, '{"id": 8, "id": 7}', "violated"),
        ({"where": {"/body/id": 7}}, {"body": '{"id": 7}'}, "violated"),
        ({"where": {"/body/id": 7}}, {"body": '{"id": 8, "id": 7,}'}, "violated"),
        ({"where": {"/body/id": 7}}, {"body": '{"id": 7'}, "undecided"),
        ({"arguments": {"body": {"id": 7}}}, {"body": '{"id": "7"}'}, "violated"),
        ({"arguments": {"id": 7}}, {"id": "7"}, "violated"),
        ({"arguments": {"id": "7"}}, {"ID": 7.0}, "violated"),
        ({"arguments": {"id": [7, 8]}}, {"id": "[7, 8]"}, "violated"),
        ({"arguments": {"id": [7, 8]}}, {"id": "[7, 8"}, "undecided"),
        ({"arguments": {"id": 7}}, {"id": 77}, "clean"),
    ],
)
def test_h143_the_arguments_of_a_call_that_are_json_text(
    tmp_path: Path, check: dict[str, Any], arguments: Any, found: str
) -> None:
    row = {"output": "Done.", "tool_calls": [{"name": "delete", "arguments": arguments}]}
    assert graded(tmp_path, {"A": row}, {"calls": "delete", **check}) == {"A": found}


@pytest.mark.process
@pytest.mark.parametrize("source", ["state", "context"])
def test_h143_the_state_may_have_json_as_text(tmp_path: Path, source: str) -> None:
    texts = {"text": TOTAL, "twice": HIDDEN_JSON["a key twice"], "open": '{"total": 500', "less": "{}"}
    (tmp_path / "agent.py").write_text(
        f"TEXTS = {texts!r}\ndef answer(said):\n    return {{'output': '.', {source!r}: {{'cart': TEXTS[said]}}}}\n",
        "utf-8",
    )
    demands = {"must_not": {"it": {source: {"/cart/total": {"at_least": 100}}}}}
    project = Project(tmp_path, {"python": "agent:answer"}, [{"id": n, "input": n, **demands} for n in texts])
    project.run()
    assert {row["id"]: outcome(row, "must_not") for row in project.rows()} == {
        "text": "violated", "twice": "violated", "open": "undecided", "less": "clean",
    }  # fmt: skip


# --- escapes and marks -------------------------------------------------------------------------------

NAME = "Frau Müller"
ESCAPED = {
    "a value": json.dumps({"reply": f"Ask {NAME}"}),
    "a text": json.dumps(NAME),
    "a list": json.dumps([NAME]),
    "a key": json.dumps({NAME: 1}),
    "in prose": f"So: {json.dumps({'reply': NAME})}.",
    "in code": f"```json\n{json.dumps({'to': NAME})}\n```",
    "not closed": json.dumps({"to": NAME})[:-1],
    "nested": json.dumps({"body": json.dumps({"to": NAME})}),
    "nested twice": json.dumps([json.dumps({"body": json.dumps([NAME])})]),
    "other escapes": '{"to": "Frau M\\u0075\\u0308ller"}',
    "a line break": '{"to": "Frau\\nM\\u00FCller"}',
}


@pytest.mark.process
@pytest.mark.parametrize(
    "check", [{"contains": "Müller"}, {"contains_all": ["Frau", "müller"]}, {"matches": "M(ü|ü)ller"}]
)
def test_h143_escapes_of_json_hide_no_text(tmp_path: Path, check: dict[str, Any]) -> None:
    assert graded(tmp_path, ESCAPED, check) == same(ESCAPED, "violated")
    calls = {
        name: {"output": ".", "tool_calls": [{"name": "t", "arguments": {"a": text}}]} for name, text in ESCAPED.items()
    }
    assert graded(tmp_path, calls, check) == same(calls, "violated")


@pytest.mark.process
@pytest.mark.parametrize(
    ("check", "text"),
    [
        ({"equals": "Müller"}, json.dumps({"reply": "Müller"})),
        ({"starts_with": "Müller"}, f"So: {json.dumps(['Müller is it'])}"),
        ({"matches": "^Müller$"}, json.dumps({"reply": "Müller"})),
        ({"number": 1000}, '{"reply": "1\\u0030\\u0030\\u0030"}'),
        ({"number": 1000}, '{"reply": "1\\u00a0000"}'),
        ({"equals": 1000}, '["1\\u00a0000"]'),
        ({"contains": "top secret"}, json.dumps({"reply": "top\nsecret"})),
        ({"contains": 'the "secret"'}, json.dumps({"reply": 'the "secret"'})),
        ({"contains": "the secret"}, '{"a":"the \\u0073ecret"}'),
        ({"json": {"/a": {"contains": "Müller"}}}, json.dumps({"a": json.dumps({"b": "Müller"})})),
    ],
)
def test_h143_escapes_of_json_hide_nothing_from_any_check(tmp_path: Path, check: dict[str, Any], text: str) -> None:
    assert graded(tmp_path, {"A": text}, check) == {"A": "violated"}


MARKED = {
    "bold": "sec**ret**",
    "bold at the start": "**s**ecret",
    "emphasis": "s*e*cret",
    "both": "s***e***c*r*et",
    "struck": "s~~ecre~~t",
    "code": "`sec`ret",
    "nested": "s**e~~c~~r**et",
    "tags": "<b>s</b>ecret",
    "many tags": '<b><i class="a>b">s</i></b><span style="x: y">ecr</span>e<!-- so -->t',
    "unknown tags": "sec<x><y-z a='1'>ret",
    "an empty tag": "sec<wbr/>ret",
    "an entity": "&#115;ecret",
    "hexadecimal entities": "&#x73;&#X65;cret",
    "named entities": "sec&zwj;&shy;ret",
    "entities of entities": "&amp;#115;ecret",
    "a terminal": "sec\x1b[0mret",
    "colors": "\x1b[1;31msec\x9b38;5;7mret\x1b[0m",
    "a link of a terminal": "\x1b]8;;http://a\x07sec\x1b]8;;\x1b\\ret",
    "a link": "[sec](https://example.org)ret",
    "an escape": r"sec\u0072et",
    "in JSON": json.dumps({"reply": "sec**ret** \x1b[0m"}),
    "entities in JSON": json.dumps(["&#115;ecr\x1b[0met"]),
}
UNMARKED = {
    "arithmetic": "2 * 3 * 4 = 24 and 2*3 = 6, 1 < 2 > 0",
    "powers": "2**3 is 8",
    "variables": "a * b * c, a_b_c, __a_b__c, a<b and c>d",
    "placeholders": "Dear <name>, <first> <last>, see List<String> names, [see](x)",
    "a list": "* a\n* b\n* c",
    "addresses": "AT&T; https://example.org/?a=1&b=2&copy=3",
    "a path": "C:\\a\\b, a\\d+",
}


@pytest.mark.process
@pytest.mark.parametrize("check", [{"contains": "secret"}, {"matches": "sec?ret"}, {"contains_all": ["sec", "secret"]}])
def test_h143_marks_inside_of_words_hide_nothing(tmp_path: Path, check: dict[str, Any]) -> None:
    assert graded(tmp_path, MARKED, check) == same(MARKED, "violated")


@pytest.mark.process
def test_h143_marks_inside_of_words_hide_no_number_and_no_value(tmp_path: Path) -> None:
    numbers = {"bold": "1**000**", "tags": "It is 1<b>000</b>.", "entity": "1&nbsp;000", "colors": "1\x1b[0m000"}
    for check in ({"number": 1000}, {"contains": "1000"}):
        assert graded(tmp_path, numbers, check) == same(numbers, "violated")
    assert graded(tmp_path, {"A": "s**ecre**t!"}, {"equals": "secret"}) == {"A": "violated"}
    value = json.dumps({"to<b>ta</b>l": "5**00**"})
    assert graded(tmp_path, {"A": value}, {"json": {"/total": {"at_least": 100}}}) == {"A": "violated"}


@pytest.mark.process
@pytest.mark.parametrize(
    "check", [{"contains": ["ab", "bc", "ad", "c d", "ac", "Dear,", "T;h", "©"]}, {"number": [23, 234, 24, 12, 10]}]
)
def test_h143_ordinary_signs_are_no_marks(tmp_path: Path, check: dict[str, Any]) -> None:
    ordinary = {name: text.replace(" = 24", "") for name, text in UNMARKED.items()}
    assert graded(tmp_path, ordinary, check) == same(ordinary, "clean")


@pytest.mark.process
def test_h143_a_run_with_escaped_text_fails(tmp_path: Path) -> None:
    agent = "import json\ndef answer(said):\n    return json.dumps({'reply': 'Ask Frau M\\u00fcller'})\n"
    (tmp_path / "agent.py").write_text(agent, "utf-8")
    suite = [{"id": "A", "input": "Hi", "must_not": {"names": {"contains": "Müller"}}}]
    judged(Project(tmp_path, {"python": "agent:answer"}, suite).run(), "fail")
    assert Project(tmp_path, {"python": "agent:answer"}, suite).rows()[0]["found"]["names"] == "M\\u00fcller"


# --- numbers beyond all bounds -----------------------------------------------------------------------

HUGE = {
    name: text.replace("#", "1" * 5000)
    for name, text in {
        "alone": "#",
        "negative": "-#",
        "a list": "[#]",
        "an object": '{"total": #}',
        "a text": '{"total": "#"}',
        "in prose": 'So: {"total": #}.',
        "a fraction": '{"total": 0.#}',
        "grouped": f"1{',111' * 2000}",
        "an exponent": '{"total": 1e99999}',
        "a greater exponent": '{"total": 1E+9999999999999999999999}',
        "a character": f"&#{'9' * 5000};",
        "a half": '"\\ud83d"',
    }.items()
}


@pytest.mark.process
@pytest.mark.parametrize("demand", ["must_not", "expected_behaviors"])
@pytest.mark.parametrize(
    "check",
    [
        {"is_json": {"type": "object", "required": ["x"]}},
        {"is_json": {"properties": {"total": {"type": "integer", "maximum": 5, "multipleOf": 3}}, "minItems": 2}},
        {"is_json": {"enum": [5, "a"]}},
        {"json": {"/total": {"at_most": 5}}},
        {"json": {"/total": {"equals": 5}}},
        {"json": {"": {"matches": "7"}}},
        {"any": [{"number": 5}, {"contains": "5"}, {"equals": 5}]},
    ],
)
def test_h143_no_number_ends_the_grading(tmp_path: Path, check: dict[str, Any], demand: str) -> None:
    found = graded(tmp_path, {**HUGE, "after": "Fine."}, check, demand)
    assert {"violated", "observed"}.isdisjoint({found["alone"], found["negative"]}) or "minItems" in str(check)
    assert found["after"] == "clean"


@pytest.mark.process
def test_h143_a_huge_number_ends_no_run(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def answer(said):\n    return '1' * 5000\n", "utf-8")
    demands = {"answer": {"is_json": {"type": "object"}}, "must_not": {"it": {"is_json": {"type": "array"}}}}
    project = Project(tmp_path, {"python": "agent:answer"}, [{"id": name, "input": "Hi", **demands} for name in "AB"])
    judged(project.run(), "fail")
    assert [row["violations"] for row in project.rows()] == [[], []]
